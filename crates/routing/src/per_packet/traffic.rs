//! Traffic that a central controller measures or knows.

use etherweave_primitives::Duration;
use etherweave_workload::Destinations;

/// Groups of hosts between which a controller measures traffic: hosts are numbered group by group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredGroups {
    /// How many there are.
    pub groups: u32,
    /// Hosts of each.
    pub hosts: u32,
}

/// What hosts will send, and when a controller has reacted to it.
pub struct KnownTraffic {
    /// When which phase is active, and whom its packets are for.
    pub destinations: Destinations,
    /// What every host sends [share of its link].
    pub load: f64,
    /// From a change of the traffic until the rules for it are active at all switches.
    pub reaction: Duration,
}
