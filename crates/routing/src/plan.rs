//! A routing between switches, for single destinations and for whole sets of them by the same code.

use etherweave_primitives::SwitchId;

use crate::joints::Joints;

/// What a switch knows of where packets go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Aim {
    /// To the hosts of one switch.
    Switch(SwitchId),
    /// To any of a set of switches; which one that is, is the plan's to number, and may depend on where it is asked.
    Set(u32),
}

/// A legal step of some of the packets that were asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    /// Any channel of this joint.
    pub joint: u32,
    /// How far the packet has come then; becomes its priority.
    pub stage: u8,
    /// Where those packets that take it go; a switch's aim stays, a set becomes smaller.
    pub aim: Aim,
}

/// The phase of packets that come from a host.
pub(crate) const FRESH: u32 = 0;

/// Where packets may go next, computed from where they are, how they came and where they aim: nothing else, so that
/// it fits the flow table of a switch (destination, ingress port and priority are what that can match).
pub(crate) trait Plan: Send + Sync {
    fn joints(&self) -> &Joints;

    /// How many stages there are: the priorities that it needs.
    fn stages(&self) -> u32;

    /// The most channels between switches on any way.
    fn hops_max(&self) -> u32;

    /// What the arrival by a joint in a stage means for the next step.
    fn phase(&self, _joint: u32, _stage: u8) -> u32 {
        FRESH
    }

    /// Whether the next step depends on the arrival.
    fn has_memory(&self) -> bool {
        false
    }

    /// All destinations as one set; none where the plan can only follow one destination after the other.
    fn everything(&self) -> Option<Aim> {
        None
    }

    /// Whether the steps of sets of destinations are exactly those of their members; otherwise they may be more.
    fn is_exact(&self) -> bool {
        true
    }

    /// Appends every legal step of packets at `at`. For a set: of every destination in it but `at` itself.
    fn steps(&self, at: SwitchId, phase: u32, aim: Aim, out: &mut Vec<Step>);
}
