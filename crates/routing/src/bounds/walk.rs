//! Flows through a fabric, hop by hop.

use crate::{Oblivious, WalkTarget};
use etherweave_primitives::{Port, SwitchId};
use etherweave_topology::{Node, Topology};

struct Flows {
    /// Amounts by switch; zero where there is none.
    amounts: Vec<f64>,
    /// The switches that have some, in the order in which they got it.
    places: Vec<u32>,
}

impl Flows {
    fn add(&mut self, switch: u32, amount: f64) {
        let held = &mut self.amounts[switch as usize];
        if *held == 0.0 {
            self.places.push(switch);
        }
        *held += amount;
    }
}

pub(super) struct FlowWalk<'a> {
    topology: &'a Topology,
    routing: &'a dyn Oblivious,
    now: Flows,
    next: Flows,
}

impl<'a> FlowWalk<'a> {
    pub fn new(topology: &'a Topology, routing: &'a dyn Oblivious) -> FlowWalk<'a> {
        let none = || Flows { amounts: vec![0.0; topology.switches()], places: Vec::new() };
        FlowWalk { topology, routing, now: none(), next: none() }
    }

    /// How many switches there are.
    pub fn switches(&self) -> usize {
        self.topology.switches()
    }

    /// Puts a flow, more than nothing, at a switch.
    pub fn start(&mut self, switch: u32, amount: f64) {
        self.now.add(switch, amount);
    }

    /// Takes all flows to their target: adds `scale` times what passes to the loads of channels, and calls `arrive`
    /// with what arrives where.
    pub fn run(&mut self, target: WalkTarget, scale: f64, loads: &mut [f64], arrive: &mut dyn FnMut(u32, f64)) {
        let mut hops = 0;
        while !self.now.places.is_empty() {
            assert!(hops < self.topology.switches(), "a path to {target:?} passes no switch twice");
            hops += 1;
            for number in 0..self.now.places.len() {
                let at = self.now.places[number];
                let amount = std::mem::take(&mut self.now.amounts[at as usize]);
                if !self.leave(at, target, amount, scale, loads) {
                    arrive(at, amount);
                }
            }
            self.now.places.clear();
            std::mem::swap(&mut self.now, &mut self.next);
        }
    }

    /// Sends a flow on by the routing's hops; false when it is there.
    fn leave(&mut self, at: u32, target: WalkTarget, amount: f64, scale: f64, loads: &mut [f64]) -> bool {
        let FlowWalk { topology, routing, next, .. } = self;
        let mut is_left = false;
        routing.hops(at, target, &mut |port, share| {
            let channel = topology.out_channel(SwitchId::new(at), Port::new(u16::from(port)));
            let Node::Switch(there) = topology.channel(channel).to.node else {
                unreachable!("hops to a target lead from switch to switch");
            };
            loads[channel.index()] += scale * amount * share;
            next.add(there.get(), amount * share);
            is_left = true;
        });
        is_left
    }
}
