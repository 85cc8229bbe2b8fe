//! Ideal times of flows, with which completion times of a run are compared.
//!
//! A flow alone takes what its hosts take to post it, the delays of a shortest path (NICs, cables, switches), and its
//! frames from link to link: a switch that cuts through reads their header, one that stores them, or sends faster than
//! it receives, all of each. A kernel's transport also takes the costs of kernels for a first batch of frames; slow
//! start, acknowledgements and later batches are not part of it. [`IdealTime`] has other definitions.

use std::collections::VecDeque;

use etherweave_engine::constants::RunConstants;
use etherweave_engine::params::Transport;
use etherweave_host::flow_costs::{KernelArrivals, kernel_time, post_time};
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
            other => other.insert(IdealTimes::from(topology, constants, ends[0])),
        };
        let flow = Flow { ends, bytes: row.total, ideal, transport: constants.transport(*job), job: *job };
        row.ideal = times.of(&flow).unwrap_or(Duration::ZERO);
    }
}

struct Flow<'r> {
    ends: [HostId; 2],
    /// Payload [B].
    bytes: u64,
    ideal: IdealTime,
    transport: &'r Transport,
    job: u32,
}

/// A link of a path.
#[derive(Clone, Copy)]
struct Link {
    /// Time of a byte.
    byte: Duration,
    /// Bytes of the outer header that frames have on it [B].
    outer: u64,
}

impl Link {
    fn time(self, frame: u64) -> Duration {
        self.byte * (frame + self.outer)
    }
}

/// A shortest path, as far as it is known.
#[derive(Clone, Copy)]
struct Reach {
    hops: u32,
    delay: Duration,
    /// Its last link.
    link: Link,
    /// The switch before; none of the switch of the source.
    behind: Option<SwitchId>,
}

/// Shortest paths from the switch of one host to all switches.
struct IdealTimes<'r> {
    topology: &'r Topology,
    constants: &'r RunConstants,
    from: HostId,
    reached: Vec<Option<Reach>>,
}

impl<'r> IdealTimes<'r> {
    /// Those from a host, whose fabric has one port for each host.
    fn from(topology: &'r Topology, constants: &'r RunConstants, from: HostId) -> IdealTimes<'r> {
        let mut times = IdealTimes { topology, constants, from, reached: vec![None; topology.switches()] };
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
        let params = &self.constants.params;
        let start = Reach { hops: 1, delay: delay(first, params), link: self.link(first), behind: None };
        let mut queue = VecDeque::from([self.topology.switch_of(self.from)]);
        self.reached[queue[0].index()] = Some(start);
        while let Some(switch) = queue.pop_front() {
            let reach = self.reached[switch.index()].expect("what is in the queue is reached");
            for &channel in self.topology.out_channels(switch) {
                let channel = self.topology.channel(channel);
                let Node::Switch(next) = channel.to.node else { continue };
                let (hops, delay) = (reach.hops + 1, reach.delay + delay(channel, params));
                self.relax(next, Reach { hops, delay, link: self.link(channel), behind: Some(switch) }, &mut queue);
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

    fn link(&self, channel: &Channel) -> Link {
        let is_of_host = [channel.from.node, channel.to.node].iter().any(|node| matches!(node, Node::Host(_)));
        let outer = if is_of_host { 0 } else { self.constants.outer_header };
        Link { byte: channel.rate.serialization_time(Bytes::new(1)), outer: outer.into() }
    }

    /// The completion time of a flow from such a host; none where its destination cannot be reached.
    fn of(&self, flow: &Flow<'_>) -> Option<Duration> {
        let last = self.topology.channel(reverse(self.topology.host_channel(flow.ends[1])));
        let reach = |switch: SwitchId| self.reached[switch.index()];
        let end = reach(self.topology.switch_of(flow.ends[1]))?;
        let mut links = vec![self.link(last)];
        let mut next = Some(end);
        while let Some(path) = next {
            links.push(path.link);
            next = path.behind.and_then(reach);
        }
        links.reverse();
        let delays = end.delay + delay(last, &self.constants.params);
        match flow.ideal {
            IdealTime::Fabric => Some(self.alone(flow, &links, delays)),
            IdealTime::Hpcc => Some(delays + delays + hpcc(flow, &links)),
            IdealTime::Abm => Some(delays + delays + links[0].byte * flow.bytes),
        }
    }

    /// Time of a flow that has hosts and fabric for itself.
    fn alone(&self, flow: &Flow<'_>, links: &[Link], delays: Duration) -> Duration {
        let frames = Frames::of(flow);
        let header = self.constants.is_cut_through.then_some(self.constants.header_bytes.into());
        let is_fluid = self.constants.is_fluid[flow.job as usize];
        let last = delays + if is_fluid { frames.flow(links, header) } else { frames.pass(links, header) };
        if !flow.transport.is_in_kernel() {
            return post_time(self.constants, flow.job, flow.bytes) + last;
        }
        let first = delays + frames.first().pass(links, header);
        let arrivals = KernelArrivals { bytes: flow.bytes, frames: frames.count(), first, last };
        kernel_time(&self.constants.params, flow.transport, &arrivals)
    }
}

/// Serialisation as HPCC's simulator counts it: the payload of a full packet on every link, and all bytes with their
/// headers over the slowest.
fn hpcc(flow: &Flow<'_>, links: &[Link]) -> Duration {
    let (payload, header) = (flow.transport.payload().get(), u64::from(flow.transport.headers().later));
    let slowest = links.iter().map(|link| link.byte).max().unwrap_or(Duration::ZERO);
    let packets = links.iter().fold(Duration::ZERO, |sum, link| sum + link.byte * payload);
    packets + slowest * (flow.bytes + flow.bytes.div_ceil(payload) * header)
}

/// Frames of a flow on the wire: the first, equal ones, and the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Frames {
    /// How many before the last.
    full_count: u64,
    /// The first, unless it is the last [B].
    first: u64,
    /// Each other before the last [B].
    full: u64,
    /// The last [B].
    last: u64,
}

impl Frames {
    fn of(flow: &Flow<'_>) -> Frames {
        let (payload, headers) = (flow.transport.payload().get(), flow.transport.headers());
        let [first, later] = [headers.first, headers.later].map(u64::from);
        let full_count = flow.bytes.div_ceil(payload).max(1) - 1;
        let head = if full_count == 0 { first } else { later };
        let padded = (flow.bytes - full_count * payload).next_multiple_of(headers.multiple.into());
        let last = (head + padded).max(wire_bytes(true, 0).into());
        Frames { full_count, first: payload + first, full: payload + later, last }
    }

    fn count(self) -> u64 {
        self.full_count + 1
    }

    /// The first frame alone.
    fn first(self) -> Frames {
        let last = if self.full_count == 0 { self.last } else { self.first };
        Frames { full_count: 0, last, ..self }
    }

    /// Time of all in flow-level mode, without the delays of links: over the slowest link, the largest frame as if it
    /// came alone.
    fn flow(self, links: &[Link], header: Option<u64>) -> Duration {
        let end = links.len() - 1;
        let Frames { full_count, first, full, last } = self;
        let largest = self.first().last;
        let all = if full_count == 0 { last } else { first + (full_count - 1) * full + last };
        let slowest = links.iter().map(|link| link.byte).max().unwrap_or(Duration::ZERO);
        let ahead = |link: &Link| link.time(header.map_or(largest, |header| header.min(largest)));
        let alone = links[..end].iter().map(ahead).fold(links[end].time(largest), |sum, time| sum + time);
        alone + slowest * (all - largest)
    }

    /// Time until the last has come over all links, without their delays: the longest chain of frames of which each
    /// follows the one before on the same link, or itself on the link before. Switches read so much of a frame before
    /// they send it, where they cut through.
    fn pass(self, links: &[Link], header: Option<u64>) -> Duration {
        let end = links.len() - 1;
        let ahead = |link: usize, frame: u64| match header {
            Some(header) if links[link + 1].byte >= links[link].byte => links[link].time(header.min(frame)),
            _ => links[link].time(frame),
        };
        let over =
            |from: usize, to: usize, frame| (from..to).fold(Duration::ZERO, |sum, link| sum + ahead(link, frame));
        let arrives = |from: usize| over(from, end, self.last) + links[end].time(self.last);
        if self.full_count == 0 {
            return arrives(0);
        }
        // The first frame leads up to link `from`, equal ones from there to `to`, the last one from there on.
        let equal_count = self.full_count - 1;
        let chain = |from: usize, to: usize| {
            let slowest = links[from..=to].iter().map(|link| link.time(self.full)).max().unwrap_or(Duration::ZERO);
            let equal = match equal_count {
                0 => Duration::ZERO,
                count => over(from, to, self.full) + slowest * (count - 1) + links[to].time(self.full),
            };
            over(0, from, self.first) + links[from].time(self.first) + equal + arrives(to)
        };
        let to_max = |from: usize| if equal_count == 0 { from } else { end };
        let chains = (0..=end).flat_map(|from| (from..=to_max(from)).map(move |to| (from, to)));
        chains.map(|(from, to)| chain(from, to)).max().unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_take_what_a_simulation_of_each_frame_takes() {
        for (full_count, first, last) in [(6, 120, 30), (1, 110, 100), (0, 116, 30), (9, 100, 100)] {
            let frames = Frames { full_count, first, full: 100, last };
            for links in [[80, 80, 80], [20, 80, 20], [80, 20, 20], [20, 20, 80], [20, 40, 80], [80, 40, 20]] {
                let links = links.map(|byte| Link { byte: Duration::from_ps(byte), outer: 0 });
                for header in [None, Some(64)] {
                    assert_eq!(frames.pass(&links, header), simulated(frames, &links, header));
                }
            }
        }
    }

    fn simulated(frames: Frames, links: &[Link], header: Option<u64>) -> Duration {
        let mut free = vec![Duration::ZERO; links.len()];
        for number in 0..frames.count() {
            let size = match number {
                last if last == frames.full_count => frames.last,
                0 => frames.first,
                _ => frames.full,
            };
            let mut ready = Duration::ZERO;
            for at in 0..links.len() {
                let start = ready.max(free[at]);
                free[at] = start + links[at].time(size);
                let is_cut = links.get(at + 1).is_some_and(|next| next.byte >= links[at].byte);
                ready = start + links[at].time(header.filter(|_| is_cut).map_or(size, |header| header.min(size)));
            }
        }
        free[links.len() - 1]
    }
}
