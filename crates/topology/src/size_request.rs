//! The size of a fabric that a user needs, and the members of a family that have it.

use crate::check::{at_least_one, in_range};
use etherweave_primitives::InputError;

/// A port number has 16 bits.
const RADIX_MAX: u32 = 1 << 16;

/// A number of hosts at least, from switches of one number of ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeRequest {
    /// Hosts, at least 1.
    pub hosts: u32,
    /// Ports of every switch, 1..=65,536: `P` of Benito et al.
    pub radix: u32,
}

/// The members of a family that satisfy a request, both with the proportions that the family's source recommends.
#[derive(Clone, PartialEq, Debug)]
pub struct FamilyFit<Member> {
    /// The one with the fewest switches.
    pub smallest: Member,
    /// The one with the most hosts, with as many stages or dimensions as the smallest; none where a family has no end.
    pub largest: Option<Member>,
}

impl<Member> FamilyFit<Member> {
    /// Both members, changed by `change`.
    pub fn map<Other>(self, change: impl Fn(Member) -> Other) -> FamilyFit<Other> {
        FamilyFit { smallest: change(self.smallest), largest: self.largest.map(change) }
    }
}

impl SizeRequest {
    /// The request is one that some fabric can satisfy: the family needs at least `radix` ports.
    pub(crate) fn check(&self, radix: u32) -> Result<(), InputError> {
        at_least_one("hosts", self.hosts)?;
        in_range("radix", self.radix, radix..=RADIX_MAX)
    }

    /// There is room: the largest member has `hosts_max` hosts.
    pub(crate) fn check_room(&self, hosts_max: u64) -> Result<(), InputError> {
        if u64::from(self.hosts) <= hosts_max {
            return Ok(());
        }
        let expected = format!("1 to {hosts_max} with switches of {} ports", self.radix);
        Err(InputError::new("hosts", self.hosts, expected))
    }
}
