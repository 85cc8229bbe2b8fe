//! Constants of a run, shared by all shards: derived once from the parameters, and the routes.

use std::ops::Range;
use std::sync::Arc;

use etherweave_fluid::{Branches, Tables};
use etherweave_kernel::LocalIndex;
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{BitRate, Bytes, Duration, Priority, Time};
use etherweave_routing::{FullPorts, HashScope, InputChannel, NextHop, PacketRouting, RoutedPacket};

use crate::aggregation::AggregationTrees;
use crate::captured_port::connection;
use crate::decided_ahead::{DecisionsAhead, FarEnd, decide_ahead};
use crate::event::PrefetchHint;
use crate::frame::size;
use crate::packet::PacketRoute;
use crate::params::{EcnMarking, FlowControl, Forwarding, Headers, MpiParams, PfcWatchdog, SimParams, Transport};
use crate::port::Peer;
use crate::schedule::Scheduler;

/// Part of a routing that decides for every packet which hosts need.
pub trait RouteStart: Send + Sync {
    /// How long packets keep their hash.
    fn hash_scope(&self) -> HashScope;
    /// Prepares a packet that is about to be sent.
    fn start(&self, packet: &mut RoutedPacket);
    /// Decides where a packet leaves a switch that it has not reached.
    fn decide_beforehand(&self, at: InputChannel, packet: &mut RoutedPacket, load: FullPorts<'_>) -> NextHop;
    /// The same of the switch at the far end of a port, by whose link the packet goes there: one call, in which the
    /// decision is inlined.
    fn decide_ahead(&self, far: &FarEnd, peer: &Peer, route: &mut PacketRoute, hops_max: u32) -> PrefetchHint;
}

impl<R: PacketRouting> RouteStart for R {
    fn hash_scope(&self) -> HashScope {
        PacketRouting::hash_scope(self)
    }

    fn start(&self, packet: &mut RoutedPacket) {
        PacketRouting::start(self, packet);
    }

    fn decide_beforehand(&self, at: InputChannel, packet: &mut RoutedPacket, load: FullPorts<'_>) -> NextHop {
        PacketRouting::decide(self, at, packet, load)
    }

    fn decide_ahead(&self, far: &FarEnd, peer: &Peer, route: &mut PacketRoute, hops_max: u32) -> PrefetchHint {
        decide_ahead(self, far, peer, route, hops_max)
    }
}

/// See the module.
pub struct RunConstants {
    /// The parameters in full.
    pub params: SimParams,
    /// Egress ports along all paths, one path after another; each numbered in its switch's shard.
    pub routes: Vec<PortIndex>,
    /// Hosts of both ends of each connection; empty unless switches learn addresses.
    pub connection_hosts: Vec<[u32; 2]>,
    /// Where copies of flooded frames stand in the routes, which lead nowhere.
    pub flood_route: u32,
    /// Branches that connections use in flow-level mode where switches decide for every packet.
    pub branches: Option<Branches>,
    /// Aggregation trees of jobs that reduce in the network.
    pub trees: Option<AggregationTrees>,
    /// The routing that decides for every packet, as far as hosts need it; none where paths are chosen per flow.
    pub packet_routing: Option<Arc<dyn RouteStart>>,
    /// Decisions that it makes when a packet leaves for a switch, if it makes any.
    pub decisions_ahead: Option<DecisionsAhead>,
    /// Scheduler that selects the class that sends next.
    pub scheduler: Scheduler,
    /// Priority group of each priority.
    pub group_of_priority: [usize; Priority::COUNT],
    /// How many groups there are.
    pub group_count: usize,
    /// Priorities that a group pauses; 0 for the lossy group.
    pub pause_mask_of_group: [u8; Priority::COUNT + 1],
    /// Whether all lossless groups of a port pause together.
    pub is_coupled: bool,
    /// Priorities that a NIC pauses when its receive buffer fills.
    pub nic_pause_mask: u8,
    /// Pause time in each frame [512 bit times].
    pub pause_quanta: u16,
    /// Watchdog at the ports of switches.
    pub watchdog: Option<PfcWatchdog>,
    /// Shared by all switches.
    pub ecn: Option<EcnMarking>,
    /// Rate of the ports that thresholds are for, where others have their own.
    pub threshold_rate: Option<BitRate>,
    /// Switches for whose telemetry packets have room: 0 where they have none.
    pub telemetry_switches: u8,
    /// Whether switches forward before the tail is in.
    pub is_cut_through: bool,
    /// Whether some link is faster than another.
    pub rates_differ: bool,
    /// Whether a cut-through switch with a shared buffer may have to wait for a packet's tail.
    pub may_underrun: bool,
    /// Bytes that a cut-through switch needs.
    pub header_bytes: u32,
    /// Bytes of the header that frames have more between switches; 0 without.
    pub outer_header: u32,
    /// Whether switches change the priority or the header of packets.
    pub rewrites_packets: bool,
    /// Shortest delay between two entities: announcements arrive that much earlier.
    pub lookahead: Duration,
    /// Sizes of headers of the run's transport.
    pub headers: Headers,
    /// Those of the others.
    other_headers: Vec<Headers>,
    /// The largest frame of hosts [B on the wire].
    pub largest_frame: u32,
    /// Streams are measured from here on.
    pub warm_up: Time,
    /// Flag of each job: whether the run may end without it.
    pub is_background: Vec<bool>,
    /// Jobs in flow-level mode.
    pub is_fluid: Vec<bool>,
    /// Whether any is.
    pub has_background: bool,
    /// Number of each job's transport; empty where all have the same.
    pub transports: Vec<u8>,
    /// Whether links fail, so that it is noted when what they lose arrives again.
    pub notes_losses: bool,
    /// Longest vector that ranks reduce in their caches [B].
    pub vector_cached_max: u64,
    /// Whether packets of any job are simulated: without them, switches and NICs have neither buffers nor credits.
    pub has_packets: bool,
}

impl RunConstants {
    /// The priorities' classes, as a mask.
    pub fn classes(&self, priorities: u8) -> u8 {
        crate::frame::pause::priorities(priorities)
            .fold(0, |mask, priority| mask | 1 << self.scheduler.class_of_priority[priority])
    }

    /// Classes whose queues may have packets of a priority: that of its map, and of trimmed packets the static one.
    pub fn queues_of(&self, priority: u8) -> impl Iterator<Item = usize> {
        let trimming = self.params.switch.trimming.filter(|trimming| trimming.priority.get() == priority);
        let fixed = trimming.map(|trimming| trimming.class(&self.params.ets));
        std::iter::once(self.scheduler.class(priority)).chain(fixed)
    }

    /// Whether switches change the header of packets: an outer one, or the payload of sums.
    #[inline]
    pub fn rewrites_headers(&self) -> bool {
        self.rewrites_packets && (self.outer_header > 0 || self.trees.is_some())
    }

    /// The groups that pause together with `group`.
    pub fn coupled_groups(&self, group: usize) -> Range<usize> {
        if self.is_coupled { 1..self.group_count } else { group..group + 1 }
    }

    /// Whether the kernel sends and receives for a job.
    pub fn is_in_kernel(&self, job: u32) -> bool {
        self.transport(job).is_in_kernel()
    }

    /// The transport of a job.
    pub fn transport(&self, job: u32) -> &Transport {
        self.params.transport_of(self.transports.get(job as usize).copied().unwrap_or_default())
    }

    /// Sizes of headers of a transport, by its number.
    #[inline]
    pub fn headers_of(&self, number: u8) -> &Headers {
        match number.checked_sub(1) {
            None => &self.headers,
            Some(place) => &self.other_headers[usize::from(place)],
        }
    }

    /// The MPI library of a job.
    pub fn mpi(&self, job: u32) -> &MpiParams {
        self.params.host.mpi(self.transport(job)).0
    }

    /// Headroom of a group at a port that needs `bytes` of it: a lossy group has none.
    pub fn headroom_limit(&self, group: usize, bytes: u32) -> u32 {
        if self.pause_mask_of_group[group] != 0 { bytes } else { 0 }
    }

    /// Where the counters of a port's priority stand among the groups of its shard.
    #[inline]
    pub fn group(&self, port: PortIndex, priority: u8) -> usize {
        port.place() * self.group_count + self.group_of_priority[usize::from(priority)]
    }

    /// Where the counters of all groups of a port stand among those of its shard.
    pub fn groups(&self, port: PortIndex) -> Range<usize> {
        let first = port.place() * self.group_count;
        first..first + self.group_count
    }

    /// How many groups of a port have headroom.
    pub fn lossless_groups(&self) -> usize {
        self.pause_mask_of_group[..self.group_count].iter().filter(|&&mask| mask != 0).count()
    }

    /// Returns the memory that reserves and headroom of a switch take [B].
    pub fn reserved(&self, ports: u64, headroom_total: u64) -> u64 {
        ports * self.group_count as u64 * self.params.switch.reserve.get() + headroom_total
    }

    /// The hosts of source and destination of what a connection end sends, by its number.
    pub fn hosts_of(&self, sender: u32) -> [u32; 2] {
        let [first, second] = self.connection_hosts[connection(sender) as usize];
        if sender & 1 == 0 { [first, second] } else { [second, first] }
    }

    /// The largest frame on any link [B on the wire].
    pub fn largest_on_wire(&self) -> u32 {
        self.largest_frame + self.outer_header
    }

    /// Constants without routes.
    pub fn new(params: &SimParams, lookahead: Duration) -> RunConstants {
        let groups = PriorityGroups::new(&params.flow_control);
        let largest_frame = largest_frame(params);
        RunConstants {
            params: params.clone(),
            routes: Vec::new(),
            connection_hosts: Vec::new(),
            flood_route: 0,
            branches: None,
            trees: None,
            packet_routing: None,
            decisions_ahead: None,
            scheduler: Scheduler::new(&params.ets, largest_frame),
            largest_frame,
            group_of_priority: groups.of_priority,
            group_count: groups.count,
            pause_mask_of_group: groups.pause_mask,
            is_coupled: groups.is_coupled,
            nic_pause_mask: groups.pause_mask.iter().fold(0, |all, mask| all | mask),
            pause_quanta: groups.quanta,
            watchdog: params.flow_control.watchdog().cloned(),
            ecn: params.switch.ecn,
            threshold_rate: params.switch.threshold_rate,
            telemetry_switches: params
                .transports()
                .map(|transport| transport.telemetry_switches())
                .max()
                .unwrap_or_default(),
            is_cut_through: params.switch.forwarding == Forwarding::CutThrough,
            rates_differ: true,
            may_underrun: true,
            header_bytes: params.switch.header.get() as u32,
            outer_header: outer_header(params),
            rewrites_packets: params.switch.outer_header.is_some(),
            lookahead,
            headers: params.transport.headers(),
            other_headers: params.other_transports.iter().map(|transport| transport.headers()).collect(),
            warm_up: Time::ZERO,
            is_background: Vec::new(),
            is_fluid: Vec::new(),
            has_background: false,
            transports: Vec::new(),
            notes_losses: false,
            vector_cached_max: 0,
            has_packets: true,
        }
    }

    /// Adds a transport that no job has by itself; gives its number.
    pub fn add_transport(&mut self, transport: Transport) -> u8 {
        self.other_headers.push(transport.headers());
        self.params.other_transports.push(transport);
        self.params.other_transports.len() as u8
    }

    /// Where connections go, in flow-level mode.
    pub fn fluid_tables(&self) -> Tables<'_> {
        Tables { routes: &self.routes, branches: self.branches.as_ref() }
    }
}

/// A pause quantum: 512 bit times (IEEE 802.3 Annex 31B).
const QUANTUM_BYTES: u32 = 64;

/// The largest frame of hosts, on the wire [B].
pub fn largest_frame(params: &SimParams) -> u32 {
    params.transports().map(|transport| transport.frame_max()).max().unwrap_or_default()
}

/// Bytes of the header that frames have more between switches.
pub fn outer_header(params: &SimParams) -> u32 {
    params.switch.outer_header.map_or(0, |header| header.bytes.get() as u32)
}

/// The largest packet of hosts above Ethernet: what an MTU must let through.
pub fn largest_packet(params: &SimParams) -> Bytes {
    Bytes::new(u64::from(largest_frame(params) - size::wire_overhead(true)))
}

/// Fewest quanta of a pause that cannot end before its refresh comes. A pause is refreshed after half of its time; the
/// refresh waits at most for the largest frame, which is being sent.
pub fn pause_quanta_min(params: &SimParams) -> u32 {
    let frame = largest_frame(params) + outer_header(params) + size::pause_wire_bytes();
    (2 * frame).div_ceil(QUANTUM_BYTES)
}

/// Priority groups of a flow control.
struct PriorityGroups {
    of_priority: [usize; Priority::COUNT],
    count: usize,
    pause_mask: [u8; Priority::COUNT + 1],
    is_coupled: bool,
    quanta: u16,
}

impl PriorityGroups {
    fn new(flow_control: &FlowControl) -> PriorityGroups {
        let mut groups =
            PriorityGroups { of_priority: [0; 8], count: 1, pause_mask: [0; 9], is_coupled: false, quanta: 0 };
        match flow_control {
            FlowControl::None {} | FlowControl::Credits(_) => {}
            FlowControl::GlobalPause(pause) => {
                groups.pause_mask[0] = u8::MAX;
                groups.quanta = pause.quanta;
            }
            FlowControl::Pfc(pfc) => {
                for priority in &pfc.priorities {
                    groups.of_priority[priority.index()] = groups.count;
                    groups.pause_mask[groups.count] = 1 << priority.get();
                    groups.count += 1;
                }
                groups.is_coupled = pfc.coupled;
                groups.quanta = pfc.quanta;
            }
        }
        groups
    }
}

/// The headroom that loses nothing: all that can still be admitted after a group decided to pause its peer
/// (after IEEE 802.1Q-2018 Annex N; the sum is derived in `docs/models/flow-control.md`).
pub fn headroom(rate: BitRate, into_switch: Duration, pause_delay: Duration, frame: Bytes) -> Bytes {
    let in_flight = rate.bytes_in(into_switch + pause_delay);
    in_flight + frame * 3 + Bytes::new(u64::from(size::pause_wire_bytes()))
}
