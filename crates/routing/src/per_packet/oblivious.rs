//! Routings whose paths depend on no queue: their exact shares of next hops.

/// Where packets go next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkTarget {
    /// Target that they visit first: a switch, a group, or what else the routing numbers so.
    Via(u32),
    /// The switch of their destination.
    Switch(u32),
}

/// A routing whose paths depend on hashes, but on no queue.
pub trait Oblivious {
    /// Calls `each` with what packets from a switch visit first, whatever their destination, and the share of each;
    /// shares add up to 1. Not at all where they go straight. By default not at all.
    fn vias(&self, _from: u32, _each: &mut dyn FnMut(u32, f64)) {}

    /// Calls `each` with the ports by which packets leave a switch for their target, and the share of each; shares add
    /// up to 1. Not at all at the target.
    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64));
}
