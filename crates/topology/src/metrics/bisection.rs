//! The bisection: the least rate between two halves of the hosts, in one direction.
//!
//! Hosts stay with their switch, unless there is only one. Where a family has a formula, that is exact; otherwise the best
//! of some cuts is an upper bound.

use etherweave_primitives::BitRate;

/// The rate between two halves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bisection {
    /// In one direction [bit/s].
    pub rate: BitRate,
    /// How it is known.
    pub basis: Basis,
}

/// How a bisection is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// A formula that holds for this member.
    Exact {
        /// The formula.
        formula: &'static str,
    },
    /// No bisection is larger than this cut; a smaller one may exist.
    UpperBound {
        /// How the cut was made.
        cut: &'static str,
    },
}

impl Bisection {
    /// By formula, for so many bits per second.
    pub fn exact(bps: u128, formula: &'static str) -> Bisection {
        Bisection { rate: saturated(bps), basis: Basis::Exact { formula } }
    }
}

fn saturated(bps: u128) -> BitRate {
    BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}
