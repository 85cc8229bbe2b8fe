//! Completion times of flows on an idle fabric, with which those of a run are compared.
//!
//! A flow alone takes the delays of a shortest path (NICs, cables, switches), and all its frames once over the slowest
//! link of that path; where switches store frames, its last frame once over each further link as well. Costs of hosts,
//! acknowledgements and the start of congestion control are not part of it.

use std::collections::VecDeque;

use etherweave_engine::params::{Forwarding, SimParams, Transport};
use etherweave_primitives::{BitRate, Bytes, Duration, HostId, SwitchId};
use etherweave_topology::{Channel, Node, Topology, reverse};
use etherweave_transport::frame::size::wire_bytes;

use crate::build::delays::delay;

/// A flow whose time is asked for.
pub(super) struct Flow<'r> {
    /// Both hosts.
    pub ends: [HostId; 2],
    /// Payload [B].
    pub bytes: u64,
    /// Transport.
    pub transport: &'r Transport,
}

/// A shortest path, as far as it is known.
#[derive(Clone, Copy)]
struct Reach {
    hops: u32,
    delay: Duration,
    /// Time of a byte on all links behind the first.
    byte: Duration,
    rate: BitRate,
}

impl Reach {
    fn through(self, channel: &Channel, params: &SimParams) -> Reach {
        Reach {
            hops: self.hops + 1,
            delay: self.delay + delay(channel, params),
            byte: self.byte + channel.rate.serialization_time(Bytes::new(1)),
            rate: self.rate.min(channel.rate),
        }
    }
}

/// Shortest paths from the switch of one host to all switches.
pub(super) struct IdealTimes<'r> {
    topology: &'r Topology,
    params: &'r SimParams,
    from: HostId,
    reached: Vec<Option<Reach>>,
}

impl<'r> IdealTimes<'r> {
    /// Those from a host, whose fabric has one port for each host.
    pub(super) fn from(topology: &'r Topology, params: &'r SimParams, from: HostId) -> IdealTimes<'r> {
        let mut times = IdealTimes { topology, params, from, reached: vec![None; topology.switches()] };
        times.search();
        times
    }

    /// Whether they serve a host as well: that of the same switch, by an equal link.
    pub(super) fn serves(&self, host: HostId) -> bool {
        let [own, other] = [self.from, host].map(|host| self.topology.channel(self.topology.host_channel(host)));
        (own.to.node, own.rate, own.length) == (other.to.node, other.rate, other.length)
    }

    /// Breadth first: of paths with equally few links the one with the shortest delay.
    fn search(&mut self) {
        let first = self.topology.channel(self.topology.host_channel(self.from));
        let start = Reach { hops: 1, delay: delay(first, self.params), byte: Duration::ZERO, rate: first.rate };
        let mut queue = VecDeque::from([self.topology.switch_of(self.from)]);
        self.reached[queue[0].index()] = Some(start);
        while let Some(switch) = queue.pop_front() {
            let reach = self.reached[switch.index()].expect("what is in the queue is reached");
            for &channel in self.topology.out_channels(switch) {
                let channel = self.topology.channel(channel);
                let Node::Switch(next) = channel.to.node else { continue };
                self.relax(next, reach.through(channel, self.params), &mut queue);
            }
        }
    }

    fn relax(&mut self, switch: SwitchId, path: Reach, queue: &mut VecDeque<SwitchId>) {
        match &mut self.reached[switch.index()] {
            Some(known) if known.hops == path.hops && path.delay < known.delay => *known = path,
            Some(_) => {}
            unknown => {
                *unknown = Some(path);
                queue.push_back(switch);
            }
        }
    }

    /// The completion time of a flow from such a host; none where its destination cannot be reached.
    pub(super) fn of(&self, flow: &Flow<'_>) -> Option<Duration> {
        let last = self.topology.channel(reverse(self.topology.host_channel(flow.ends[1])));
        let path = self.reached[self.topology.switch_of(flow.ends[1]).index()]?.through(last, self.params);
        let (all, frame) = wire(flow);
        let stored = match self.params.switch.forwarding {
            Forwarding::StoreAndForward => path.byte * frame,
            Forwarding::CutThrough => Duration::ZERO,
        };
        Some(path.delay + path.rate.serialization_time(Bytes::new(all)) + stored)
    }
}

/// Bytes of a flow on the wire, and those of its last frame.
fn wire(flow: &Flow<'_>) -> (u64, u64) {
    let (payload, headers) = (flow.transport.payload().get(), flow.transport.headers());
    let packets = flow.bytes.div_ceil(payload).max(1);
    let (later, last) = (packets - 1, flow.bytes - (packets - 1) * payload);
    let head = u64::from(if later == 0 { headers.first } else { headers.later });
    let frame = (head + last).max(wire_bytes(true, 0).into());
    let full = later * (payload + u64::from(headers.later));
    let first = if later == 0 { 0 } else { u64::from(headers.first) - u64::from(headers.later.min(headers.first)) };
    (full + first + frame, frame)
}
