//! A routing between switches, for single destinations and for whole sets of them by the same code.

use etherweave_primitives::SwitchId;

use crate::adjacencies::Adjacencies;

/// Where packets go, as far as a switch needs it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum DestinationSet {
    Switch(SwitchId),
    /// Any of a set of switches. The plan numbers its sets; what a number means may depend on the switch.
    Set(u32),
}

/// A legal step of some of the packets in a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RoutingStep {
    /// Any channel of this adjacency.
    pub adjacency: u32,
    /// How far the packet is then; becomes its priority.
    pub stage: u8,
    /// Where the packets that take it go: one switch stays the same, a set becomes smaller.
    pub destinations: DestinationSet,
}

/// The phase of packets that come from a host.
pub(crate) const FRESH: u32 = 0;

/// Where packets may go next, computed from where they are, how they arrived and where they go: nothing else, so that
/// the flow table of a switch can express it (destination, ingress port and priority are what it can match).
pub(crate) trait RoutingPlan: Send + Sync {
    fn adjacencies(&self) -> &Adjacencies;

    /// How many stages there are: the priorities that it needs.
    fn stages(&self) -> u32;

    /// The most channels between switches on any path.
    fn hops_max(&self) -> u32;

    /// Returns the phase that the arrival by an adjacency in a stage means for the next step.
    fn phase(&self, _joint: u32, _stage: u8) -> u32 {
        FRESH
    }

    /// Whether the next step depends on the arrival.
    fn has_memory(&self) -> bool {
        false
    }

    /// All destinations as one set; none where the plan can only follow one destination after the other.
    fn everything(&self) -> Option<DestinationSet> {
        None
    }

    /// Whether the steps of sets of destinations are exactly those of their members; otherwise they may be more.
    fn is_exact(&self) -> bool {
        true
    }

    /// Appends every legal step of packets at `at`. For a set: of every destination in it but `at` itself.
    fn steps(&self, at: SwitchId, phase: u32, destinations: DestinationSet, out: &mut Vec<RoutingStep>);
}
