//! Latency between hosts: that of the quickest path on which nothing waits.

use std::{cell::RefCell, cmp::Reverse, collections::BTreeMap, collections::BinaryHeap};

use etherweave_engine::constants::RunConstants;
use etherweave_primitives::{Bytes, Duration, HostId, SwitchId};
use etherweave_topology::{Channel, Node, Topology, reverse};

use crate::build::delays::delay;

/// Smallest frame with preamble and gap: what a switch that stores frames takes in at least [B].
const FRAME_MIN: u64 = 84;

/// Latencies of a fabric, each worked out when it is asked for.
pub(super) struct Latencies<'s> {
    topology: &'s Topology,
    constants: &'s RunConstants,
    /// Times from a switch to all others; those that it does not reach have none.
    from: RefCell<BTreeMap<SwitchId, Vec<Option<Duration>>>>,
}

impl<'s> Latencies<'s> {
    pub(super) fn new(topology: &'s Topology, constants: &'s RunConstants) -> Latencies<'s> {
        Latencies { topology, constants, from: RefCell::default() }
    }

    /// Time from the first bit that leaves one host to its arrival in another; zero where no path leads there.
    pub(super) fn between(&self, source: u32, destination: u32) -> Duration {
        let channels = |host| self.topology.host_channels(HostId::new(host)).iter();
        let first = channels(source).map(|&channel| self.topology.channel(channel));
        let last: Vec<&Channel> =
            channels(destination).map(|&channel| self.topology.channel(reverse(channel))).collect();
        let through = |first: &Channel| {
            let Node::Switch(switch) = first.to.node else { return None };
            let ends = last.iter().filter_map(|last| match last.from.node {
                Node::Switch(end) => Some(self.between_switches(switch, end)? + delay(last, &self.constants.params)),
                Node::Host(_) => None,
            });
            Some(self.hop(first) + ends.min()?)
        };
        first.filter_map(through).min().unwrap_or(Duration::ZERO)
    }

    fn between_switches(&self, from: SwitchId, to: SwitchId) -> Option<Duration> {
        let mut known = self.from.borrow_mut();
        known.entry(from).or_insert_with(|| self.to_all(from))[to.index()]
    }

    /// Times from one switch to all, by Dijkstra's algorithm.
    fn to_all(&self, from: SwitchId) -> Vec<Option<Duration>> {
        let mut times: Vec<Option<Duration>> = vec![None; self.topology.switches()];
        let mut next = BinaryHeap::from([Reverse((Duration::ZERO, from))]);
        while let Some(Reverse((time, switch))) = next.pop() {
            if times[switch.index()].is_some() {
                continue;
            }
            times[switch.index()] = Some(time);
            for &channel in self.topology.out_channels(switch) {
                let channel = self.topology.channel(channel);
                if let Node::Switch(end) = channel.to.node
                    && times[end.index()].is_none()
                {
                    next.push(Reverse((time + self.hop(channel), end)));
                }
            }
        }
        times
    }

    /// Time from the first bit on a channel to the first on the next.
    fn hop(&self, channel: &Channel) -> Duration {
        let taken_in = match self.constants.is_cut_through {
            true => u64::from(self.constants.header_bytes),
            false => FRAME_MIN,
        };
        delay(channel, &self.constants.params) + channel.rate.serialization_time(Bytes::new(taken_in))
    }
}
