//! Why there is no address plan, or a table is not what it should be.

use std::fmt;

use crate::ADDRESS_BITS;

/// What is wrong, where, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ForwardingError {
    /// The fields of a plan do not fit a MAC address.
    TooManyBits {
        /// The fields with their widths: "group 40 | switch 9 | host 5".
        fields: String,
        /// Their sum [bits].
        bits: u32,
    },
    /// A field was given fewer bits than its values need, or more than an address has.
    Width {
        /// The field's name.
        field: String,
        /// What was given [bits].
        bits: u32,
        /// What its values need [bits].
        needed: u32,
    },
    /// Widths were given for another number of fields.
    Widths {
        /// How many were given.
        found: usize,
        /// The fields of the plan.
        fields: String,
    },
    /// The plan needs coordinates that distinguish switches.
    NoCoordinates {
        /// The plan.
        plan: &'static str,
        /// Two switches that have the same, or none.
        switches: [String; 2],
    },
    /// A fabric without a regular plan is too large to list its routing.
    TooLarge {
        /// Switches times switches with hosts.
        pairs: u64,
        /// The limit.
        limit: u64,
    },
    /// Some host has no path to some other.
    Routing(etherweave_routing::RoutingError),
    /// A table forwards otherwise than the routing.
    Mismatch {
        /// The switch.
        at: String,
        /// The first host that is concerned.
        dst: String,
        /// Where the table sends packets for it.
        found: String,
        /// Where the routing does.
        expected: String,
    },
}

impl fmt::Display for ForwardingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyBits { fields, bits } => {
                write!(f, "the address fields {fields} need {bits} bits; expected at most {ADDRESS_BITS}")
            }
            Self::Width { field, bits, needed } => {
                write!(f, "the address field {field} has {bits} bits; expected {needed} to {ADDRESS_BITS}")
            }
            Self::Widths { found, fields } => write!(f, "{found} widths are given; expected one each for {fields}"),
            Self::NoCoordinates { plan, switches: [a, b] } => write!(
                f,
                "the address plan {plan} cannot distinguish {a} and {b}; expected a fabric with coordinates, or the \
                 plan flat or per_switch"
            ),
            Self::TooLarge { pairs, limit } => write!(
                f,
                "an irregular fabric has {pairs} pairs of a switch and a switch with hosts; expected at most {limit}"
            ),
            Self::Routing(error) => error.fmt(f),
            Self::Mismatch { at, dst, found, expected } => {
                write!(f, "the table of {at} sends packets for {dst} to {found}; expected {expected}")
            }
        }
    }
}

impl std::error::Error for ForwardingError {}

impl From<etherweave_routing::RoutingError> for ForwardingError {
    fn from(error: etherweave_routing::RoutingError) -> ForwardingError {
        ForwardingError::Routing(error)
    }
}
