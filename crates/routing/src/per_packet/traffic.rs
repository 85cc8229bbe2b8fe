//! Traffic that a central controller measures or knows.

use etherweave_primitives::Duration;
use etherweave_workload::Destinations;

/// Groups of hosts between which a controller measures traffic: hosts are numbered group by group. In a tree groups are
/// leaves, and what it measures is what the busiest subtree of each level sends or receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredGroups {
    /// How many there are.
    pub groups: u32,
    /// Hosts of each.
    pub hosts: u32,
    /// Leaves below a switch of each level with uplinks, of a tree; all 0 where traffic is measured pair by pair.
    pub spans: [u32; MeasuredGroups::LEVELS],
}

impl MeasuredGroups {
    /// Levels of a tree that are measured, from the leaves on.
    pub const LEVELS: usize = 4;

    /// Groups whose traffic is measured pair by pair.
    pub const fn in_pairs(groups: u32, hosts: u32) -> MeasuredGroups {
        MeasuredGroups { groups, hosts, spans: [0; MeasuredGroups::LEVELS] }
    }

    /// Whether they are leaves of a tree.
    pub const fn are_leaves(&self) -> bool {
        self.spans[0] > 0
    }
}

/// Traffic that hosts will send, and when a controller has reacted to it.
pub struct KnownTraffic {
    /// When which phase is active, and whom its packets are for.
    pub destinations: Destinations,
    /// Load that every host sends [share of its link].
    pub load: f64,
    /// Time from a change of the traffic until the rules for it are active at all switches.
    pub reaction: Duration,
}
