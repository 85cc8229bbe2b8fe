//! Shares of hops on a tree: all ports up alike, and all ports down to the same subtree.
//!
//! Where a flow keeps its way, some ports carry more than their share. Those beside them carry less, so that the most
//! loaded one has the expected load at least, and the bound holds.

use super::{Goal, Oblivious};
use crate::routing::UpByLot;

impl Oblivious for UpByLot {
    fn hops(&self, at: u32, goal: Goal, each: &mut dyn FnMut(u8, f64)) {
        let (Goal::Via(leaf) | Goal::Switch(leaf)) = goal;
        if at != leaf {
            let ports = self.plan.ways(at, self.plan.first_host(leaf));
            ports.clone().for_each(|port| each(port, 1.0 / ports.len() as f64));
        }
    }
}
