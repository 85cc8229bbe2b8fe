//! Arbitration among the inputs that wait for an output of a crossbar.

/// Order in which inputs that wait for an output are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arbiter {
    /// Input first whose first packet has waited longest for this output, the default.
    #[default]
    Age,
    /// The next input port after the last one served.
    RoundRobin,
    /// The input port whose last turn at this output is the longest ago; takes 4 bytes in open loops, 8 in runs, for
    /// every two ports of a switch.
    LeastRecentlyServed,
}

impl Arbiter {
    /// Returns the rank of an input before others, the least first: since when it waits, how many turns it is from
    /// being next, or when it was last served.
    #[inline]
    pub fn order<T>(self, since: impl FnOnce() -> T, turns: impl FnOnce() -> T, served: impl FnOnce() -> T) -> T {
        match self {
            Arbiter::Age => since(),
            Arbiter::RoundRobin => turns(),
            Arbiter::LeastRecentlyServed => served(),
        }
    }

    /// Whether an output must know when it served each input.
    pub const fn notes_service(self) -> bool {
        matches!(self, Arbiter::LeastRecentlyServed)
    }

    /// How many turns an input port of a switch is from being next, when `last` was served last.
    #[inline]
    pub const fn turns(port: u32, last: u32, ports: u32) -> u32 {
        (port + ports - last - 1) % ports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_after_the_last_one_is_next_and_that_one_the_last() {
        assert_eq!([3, 4, 0, 1, 2].map(|port| Arbiter::turns(port, 2, 5)), [0, 1, 2, 3, 4]);
        assert_eq!(Arbiter::turns(0, 4, 5), 0);
    }

    #[test]
    fn each_arbiter_goes_by_one_thing() {
        let order = |arbiter: Arbiter| arbiter.order(|| "age", || "turns", || "service");
        assert_eq!(order(Arbiter::Age), "age");
        assert_eq!(order(Arbiter::RoundRobin), "turns");
        assert_eq!(order(Arbiter::LeastRecentlyServed), "service");
    }
}
