//! Shares of hops on a tree: all ports up alike, and all ports down to the same subtree.
//!
//! Where a flow keeps its way, some ports carry more than their share. Those beside them carry less, so that the most
//! loaded one has the expected load at least, and the bound holds.

use crate::routing::{Oblivious, UpByHash, WalkTarget};

impl Oblivious for UpByHash {
    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        let (WalkTarget::Via(leaf) | WalkTarget::Switch(leaf)) = target;
        if at != leaf {
            let ports = self.plan.ports_towards(at, self.plan.first_host(leaf));
            ports.clone().for_each(|port| each(port, 1.0 / ports.len() as f64));
        }
    }
}
