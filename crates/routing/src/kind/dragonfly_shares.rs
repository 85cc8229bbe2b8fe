//! Shares of hops on a dragonfly, as [`DragonflyPlan`] takes them by hash.

use super::{DragonflyMinimal, ValiantGroup, ValiantSwitch};
use crate::per_packet::{DragonflyPlan, Oblivious, WalkTarget};

impl Oblivious for DragonflyMinimal {
    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        hops(&self.plan, at, target, each);
    }
}

impl Oblivious for ValiantGroup {
    /// Every other group alike, that of the destination included; packets within the group go by another one too.
    fn vias(&self, from: u32, each: &mut dyn FnMut(u32, f64)) {
        let groups = self.plan.groups();
        let others = (0..groups).filter(|&group| !self.plan.is_in(from, group as u16));
        others.for_each(|group| each(group, 1.0 / f64::from(groups - 1)));
    }

    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        hops(&self.plan, at, target, each);
    }
}

impl Oblivious for ValiantSwitch {
    /// Every switch of every other group alike.
    fn vias(&self, from: u32, each: &mut dyn FnMut(u32, f64)) {
        let switches = self.plan.groups() * self.plan.switches_per_group();
        let [group, _] = self.plan.place(from);
        let others = switches - self.plan.switches_per_group();
        let elsewhere = (0..switches).filter(|&switch| !self.plan.is_in(switch, group));
        elsewhere.for_each(|switch| each(switch, 1.0 / f64::from(others)));
    }

    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        let (WalkTarget::Via(to) | WalkTarget::Switch(to)) = target;
        hops(&self.plan, at, WalkTarget::Switch(to), each);
    }
}

fn hops(plan: &DragonflyPlan, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
    let [group, place] = plan.place(at);
    match target {
        WalkTarget::Via(target) if target != u32::from(group) => out(plan, at, target as u16, each),
        WalkTarget::Via(_) => {}
        WalkTarget::Switch(to) => match plan.place(to) {
            [target, _] if target != group => out(plan, at, target, each),
            [_, to] if to != place => each(plan.local(place, to), 1.0),
            _ => {}
        },
    }
}

/// Visits the hops to another group: a gateway, then its ports, all alike.
fn out(plan: &DragonflyPlan, at: u32, target: u16, each: &mut dyn FnMut(u8, f64)) {
    let [group, place] = plan.place(at);
    let gateways = plan.gateways(group, place, target);
    let share = 1.0 / gateways.len() as f64;
    for gateway in gateways {
        if gateway.switch == place {
            gateway.ports().for_each(|port| each(port, share / gateway.ports().len() as f64));
        } else {
            each(plan.local(place, gateway.switch), share);
        }
    }
}
