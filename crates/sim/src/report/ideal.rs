//! Ideal times of flows, with which completion times of a run are compared.
//!
//! A flow alone takes the delays of a shortest path (NICs, cables, switches), and all its frames once over the slowest
//! link of that path; where switches store frames, each link begins a frame when the one before has all of it. Costs of
//! hosts, acknowledgements and the start of congestion control are not part of it. [`IdealTime`] has other definitions.

use std::collections::VecDeque;

use etherweave_engine::constants::RunConstants;
use etherweave_engine::params::{Forwarding, SimParams, Transport};
use etherweave_primitives::{Bytes, Duration, HostId, SwitchId};
use etherweave_topology::{Channel, Node, Topology, reverse};
use etherweave_transport::frame::size::wire_bytes;
use etherweave_workload::IdealTime;

use super::StreamRow;
use crate::build::delays::delay;

/// Adds the ideal times of flows to the rows at these places, source by source, where hosts have one port.
pub(crate) fn add_ideals(
    topology: &Topology,
    constants: &RunConstants,
    rows: &mut [(u32, StreamRow)],
    mut flows: Vec<(usize, IdealTime)>,
) {
    if !topology.is_single_homed() {
        return;
    }
    flows.sort_by_key(|&(place, _)| rows[place].1.source);
    let mut times: Option<IdealTimes<'_>> = None;
    for (place, ideal) in flows {
        let (job, row) = &mut rows[place];
        let ends = [row.source, row.destination].map(HostId::new);
        let times = match &mut times {
            Some(times) if times.serves(ends[0]) => times,
            other => other.insert(IdealTimes::from(topology, &constants.params, ends[0])),
        };
        let flow = Flow { ends, bytes: row.total, ideal, transport: constants.transport(*job) };
        row.ideal = times.of(&flow).unwrap_or(Duration::ZERO);
    }
}

struct Flow<'r> {
    ends: [HostId; 2],
    /// Payload [B].
    bytes: u64,
    ideal: IdealTime,
    transport: &'r Transport,
}

/// A shortest path, as far as it is known.
#[derive(Clone, Copy)]
struct Reach {
    hops: u32,
    delay: Duration,
    /// Time of a byte on its last link.
    byte: Duration,
    /// The switch before; none of the switch of the source.
    behind: Option<SwitchId>,
}

/// Shortest paths from the switch of one host to all switches.
struct IdealTimes<'r> {
    topology: &'r Topology,
    params: &'r SimParams,
    from: HostId,
    reached: Vec<Option<Reach>>,
}

impl<'r> IdealTimes<'r> {
    /// Those from a host, whose fabric has one port for each host.
    fn from(topology: &'r Topology, params: &'r SimParams, from: HostId) -> IdealTimes<'r> {
        let mut times = IdealTimes { topology, params, from, reached: vec![None; topology.switches()] };
        times.search();
        times
    }

    /// Whether they serve a host as well: that of the same switch, by an equal link.
    fn serves(&self, host: HostId) -> bool {
        let [own, other] = [self.from, host].map(|host| self.topology.channel(self.topology.host_channel(host)));
        (own.to.node, own.rate, own.length) == (other.to.node, other.rate, other.length)
    }

    /// Breadth first: of paths with equally few links the one with the shortest delay.
    fn search(&mut self) {
        let first = self.topology.channel(self.topology.host_channel(self.from));
        let start = Reach { hops: 1, delay: delay(first, self.params), byte: byte_time(first), behind: None };
        let mut queue = VecDeque::from([self.topology.switch_of(self.from)]);
        self.reached[queue[0].index()] = Some(start);
        while let Some(switch) = queue.pop_front() {
            let reach = self.reached[switch.index()].expect("what is in the queue is reached");
            for &channel in self.topology.out_channels(switch) {
                let channel = self.topology.channel(channel);
                let Node::Switch(next) = channel.to.node else { continue };
                let (hops, delay) = (reach.hops + 1, reach.delay + delay(channel, self.params));
                self.relax(next, Reach { hops, delay, byte: byte_time(channel), behind: Some(switch) }, &mut queue);
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
    fn of(&self, flow: &Flow<'_>) -> Option<Duration> {
        let last = self.topology.channel(reverse(self.topology.host_channel(flow.ends[1])));
        let reach = |switch: SwitchId| self.reached[switch.index()];
        let end = reach(self.topology.switch_of(flow.ends[1]))?;
        let mut bytes = vec![byte_time(last)];
        let mut next = Some(end);
        while let Some(path) = next {
            bytes.push(path.byte);
            next = path.behind.and_then(reach);
        }
        bytes.reverse();
        let delays = end.delay + delay(last, self.params);
        match flow.ideal {
            IdealTime::Fabric => Some(delays + self.serialised(flow, &bytes)),
            IdealTime::Hpcc => Some(delays + delays + hpcc(flow, &bytes)),
            IdealTime::Abm => Some(delays + delays + bytes[0] * flow.bytes),
        }
    }

    /// Time of all frames of a flow over the links of its path.
    fn serialised(&self, flow: &Flow<'_>, bytes: &[Duration]) -> Duration {
        let frames = Frames::of(flow);
        match self.params.switch.forwarding {
            Forwarding::StoreAndForward => frames.stored(bytes),
            Forwarding::CutThrough => frames.cut_through(bytes),
        }
    }
}

/// Serialisation as HPCC's simulator counts it: a full packet on every link, and all bytes over the slowest.
fn hpcc(flow: &Flow<'_>, bytes: &[Duration]) -> Duration {
    let (payload, header) = (flow.transport.payload().get(), u64::from(flow.transport.headers().later));
    let slowest = bytes.iter().copied().max().unwrap_or(Duration::ZERO);
    let packets = bytes.iter().fold(Duration::ZERO, |sum, &byte| sum + byte * (payload + header));
    packets + slowest * (flow.bytes + flow.bytes.div_ceil(payload) * header)
}

fn byte_time(channel: &Channel) -> Duration {
    channel.rate.serialization_time(Bytes::new(1))
}

/// Frames of a flow on the wire: equal ones, and the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Frames {
    /// How many before the last.
    full_count: u64,
    /// Each of them [B].
    full: u64,
    /// The last [B].
    last: u64,
    /// Bytes that the first has more than the others [B].
    first_more: u64,
}

impl Frames {
    fn of(flow: &Flow<'_>) -> Frames {
        let (payload, headers) = (flow.transport.payload().get(), flow.transport.headers());
        let [first, later] = [headers.first, headers.later].map(u64::from);
        let full_count = flow.bytes.div_ceil(payload).max(1) - 1;
        let head = if full_count == 0 { first } else { later };
        let last = (head + flow.bytes - full_count * payload).max(wire_bytes(true, 0).into());
        let first_more = if full_count == 0 { 0 } else { first.saturating_sub(later) };
        Frames { full_count, full: payload + later, last, first_more }
    }

    /// Time of all over the slowest of links, by the times of a byte on each.
    fn cut_through(self, bytes: &[Duration]) -> Duration {
        let slowest = bytes.iter().copied().max().unwrap_or(Duration::ZERO);
        slowest * (self.full_count * self.full + self.first_more + self.last)
    }

    /// Time of all over links, each of which stores frames: the last waits for those before it at some link, and for
    /// none behind that.
    fn stored(self, bytes: &[Duration]) -> Duration {
        let sum = |bytes: &[Duration]| bytes.iter().fold(Duration::ZERO, |sum, &byte| sum + byte);
        if self.full_count == 0 {
            return sum(bytes) * self.last;
        }
        let waits = |link: usize| {
            let before = &bytes[..=link];
            let slowest = before.iter().copied().max().unwrap_or(Duration::ZERO);
            sum(before) * self.full + slowest * ((self.full_count - 1) * self.full) + sum(&bytes[link..]) * self.last
        };
        (0..bytes.len()).map(waits).max().unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_frames_take_what_a_simulation_of_each_frame_takes() {
        let frames = Frames { full_count: 6, full: 100, last: 30, first_more: 0 };
        for links in [[80, 80, 80], [20, 80, 20], [80, 20, 20], [20, 20, 80], [20, 40, 80], [80, 40, 20]] {
            let bytes = links.map(Duration::from_ps);
            let mut free = [Duration::ZERO; 3];
            for frame in 0..=frames.full_count {
                let size = if frame < frames.full_count { frames.full } else { frames.last };
                let mut arrived = Duration::ZERO;
                for (free, byte) in free.iter_mut().zip(bytes) {
                    arrived = arrived.max(*free) + byte * size;
                    *free = arrived;
                }
            }
            assert_eq!(frames.stored(&bytes), free[2], "{links:?}");
        }
    }
}
