//! How large a fabric one needs, and which members of a family are that large.

use crate::TopologyError;
use crate::check::{at_least_one, in_range};

/// A port number has 16 bits.
const RADIX_MAX: u32 = 1 << 16;

/// At least so many hosts, from switches of so many ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeRequest {
    /// Hosts, at least 1.
    pub hosts: u32,
    /// Ports of every switch, 1..=65,536: `P` of Benito et al.
    pub radix: u32,
}

/// The members of a family that fulfil a request, both with the proportions that the family's source recommends.
#[derive(Clone, PartialEq, Debug)]
pub struct FamilyFit<Member> {
    /// The one with the fewest switches.
    pub smallest: Member,
    /// The one with the most hosts, with as many stages or dimensions as the smallest; none where a family has no end.
    pub largest: Option<Member>,
}

impl<Member> FamilyFit<Member> {
    /// Both changed in the same way.
    pub fn map<Other>(self, change: impl Fn(Member) -> Other) -> FamilyFit<Other> {
        FamilyFit { smallest: change(self.smallest), largest: self.largest.map(change) }
    }
}

impl SizeRequest {
    /// The request is one that some fabric can fulfil: the family needs at least `radix` ports.
    pub(crate) fn check(&self, radix: u32) -> Result<(), TopologyError> {
        at_least_one("hosts", self.hosts)?;
        in_range("radix", self.radix, radix..=RADIX_MAX)
    }

    /// There is room: the largest member has `hosts_max` hosts.
    pub(crate) fn check_room(&self, hosts_max: u64) -> Result<(), TopologyError> {
        if u64::from(self.hosts) <= hosts_max {
            return Ok(());
        }
        let expected = format!("1 to {hosts_max} with switches of {} ports", self.radix);
        Err(TopologyError::parameter("hosts", self.hosts, expected))
    }
}
