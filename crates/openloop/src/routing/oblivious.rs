//! Routings whose paths depend on no queue: their exact shares of next hops.

/// Where packets go next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkTarget {
    /// What they visit first: a switch, a group, or what else the routing numbers so.
    Via(u32),
    /// The switch of their destination.
    Switch(u32),
}

/// A routing whose ways depend on hashes, but on no queue.
pub trait Oblivious {
    /// Tells what packets that are made at a switch visit first, whatever their destination, and the share of each;
    /// shares add up to 1. Tells nothing where they go straight. By default nothing.
    fn vias(&self, _from: u32, _each: &mut dyn FnMut(u32, f64)) {}

    /// Tells the ports by which packets leave a switch for their goal, and the share of each; shares add up to 1.
    /// Tells nothing where they are there.
    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64));
}
