//! Shares of hops on a flattened butterfly: by dimension order, of several ports to the same place all alike.

use super::{ButterflyDimensionOrder, Valiant};
use crate::per_packet::{ButterflyPlan, Oblivious, WalkTarget};

impl Oblivious for ButterflyDimensionOrder {
    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        hops(&self.plan, at, target, each);
    }
}

impl Oblivious for Valiant {
    /// Every switch alike, the own one and that of the destination included.
    fn vias(&self, _from: u32, each: &mut dyn FnMut(u32, f64)) {
        let switches = self.plan.switches();
        (0..switches).for_each(|switch| each(switch, 1.0 / f64::from(switches)));
    }

    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        hops(&self.plan, at, target, each);
    }
}

fn hops(plan: &ButterflyPlan, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
    let (WalkTarget::Via(to) | WalkTarget::Switch(to)) = target;
    if let Some(ports) = plan.in_order(at, to) {
        ports.clone().for_each(|port| each(port, 1.0 / ports.len() as f64));
    }
}
