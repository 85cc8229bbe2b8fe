//! Typed ids: a host cannot be passed where a switch belongs.

use std::fmt;

macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident($width:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct $name($width);

        impl $name {
            /// The id with this number.
            pub const fn new(number: $width) -> Self {
                Self(number)
            }

            /// The id of the entry at `index` of a vector.
            ///
            /// # Panics
            /// When the index does not fit the id's width.
            pub fn from_index(index: usize) -> Self {
                Self(<$width>::try_from(index).expect(concat!(stringify!($name), " out of range")))
            }

            /// The number.
            pub const fn get(self) -> $width {
                self.0
            }

            /// The place in a vector by this id.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

typed_id!(
    /// A host: a computer with one network port, a source and sink of traffic.
    HostId(u32), "host"
);
typed_id!(
    /// A switch.
    SwitchId(u32), "switch"
);
typed_id!(
    /// One direction of a link.
    ChannelId(u32), "channel"
);
typed_id!(
    /// A port, counted from 0 on its switch or host.
    Port(u16), "port"
);
typed_id!(
    /// A process of an MPI job, counted from 0 within the job.
    Rank(u32), "rank"
);

/// An IEEE 802.1Q priority, 0-7: what PFC pauses.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Debug,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(#[schemars(range(max = 7))] u8);

impl Priority {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// The priority with this number.
    ///
    /// # Panics
    /// When the number is above 7.
    pub const fn new(number: u8) -> Priority {
        assert!(number < Self::COUNT as u8, "an 802.1Q priority is 0-7");
        Priority(number)
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The place in an array by priority.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// All eight, lowest first.
    pub fn all() -> impl Iterator<Item = Priority> {
        (0..Self::COUNT as u8).map(Priority)
    }
}

impl TryFrom<u8> for Priority {
    type Error = String;
    fn try_from(number: u8) -> Result<Self, String> {
        if usize::from(number) < Self::COUNT {
            Ok(Priority(number))
        } else {
            Err(format!("priority {number} does not exist; expected 0 to 7"))
        }
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> u8 {
        priority.0
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "priority {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_nine_is_refused_with_the_range_that_would_do() {
        assert_eq!(Priority::try_from(9).unwrap_err(), "priority 9 does not exist; expected 0 to 7");
    }

    #[test]
    fn ids_name_themselves() {
        assert_eq!(HostId::new(7).to_string(), "host7");
        assert_eq!(SwitchId::from_index(3).index(), 3);
    }
}
