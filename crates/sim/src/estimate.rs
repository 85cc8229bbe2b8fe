//! Memory of a run before it is built: counts times the sizes of what it will keep.
//!
//! Left out: what the allocator adds beyond a word or two for each piece, lists that grow with congestion, and all but
//! the first message that a connection has under way.

use etherweave_engine::{
    constants::RunConstants, event::Event, packet::Packet, params::SimParams, params::SwitchModel, paused::Paused,
    port::Port,
};
use etherweave_host::{Endpoint, Host, IterationRow, Protocol, RankState, Thread, fluid::FluidState};
use etherweave_primitives::{Bytes, ChannelId, Duration, SwitchId, Time};
use etherweave_switch::{Switch, buffer::Group, input_queued::CrossbarPort};
use etherweave_topology::{Node, Topology};
use etherweave_workload::TrafficSize;

use crate::report::{FlowRow, PortRow, StreamRow};
use crate::{build::credit_memory, build::delays::delay, build::late_flows, shard::Shard};

/// Memory that an allocation takes beside its content [B], about.
const ALLOCATION: u64 = 16;
/// A name of a host or a switch in a row [B]: short texts take the smallest allocation.
const NAME: u64 = 32;
/// A connection while the run is built [B]: its plan, its pair in a tree, its ends and where its paths begin.
const PLAN: u64 = 24 + 16 + 32 + 8;
/// Events that an endpoint has in the queue beside those of its packets: timers.
const TIMERS: u64 = 2;

/// Memory that a run keeps, and memory that it needs for a while [B].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RunMemory {
    /// The topology, ports, switches and hosts.
    pub fabric: u64,
    /// Programs of ranks, their state and their measured iterations.
    pub programs: u64,
    /// Connections with their paths and timers.
    pub connections: u64,
    /// Packets under way and their events, at most.
    pub packets: u64,
    /// While it is built: plans of connections.
    pub building: u64,
    /// Rows of the report, at its end.
    pub report: u64,
    /// Whether rows of flows that are over go to a file while the run goes on.
    pub are_rows_in_file: bool,
}

/// Facts about the connections of a run.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionUse {
    /// Whether nothing but the report looks at them.
    pub may_be_brief: bool,
    /// Whether any moves packets, which flow-level mode has none of.
    pub has_packets: bool,
}

impl RunMemory {
    /// The memory of a run of `traffic`, an entry for each job, whose packets cross `hops` links on average. Of a crowd
    /// of flows that nothing but the report looks at, connections may be brief.
    pub fn of(
        topology: &Topology,
        params: &SimParams,
        traffic: &[TrafficSize],
        hops: f64,
        connections: ConnectionUse,
    ) -> RunMemory {
        let sum = |value: fn(&TrafficSize) -> u64| traffic.iter().map(value).fold(0, u64::saturating_add);
        let ConnectionUse { may_be_brief, has_packets } = connections;
        let connections = sum(|size| size.connections);
        let ranks = sum(|size| size.ranks);
        let streams = traffic.iter().filter(|size| size.rows == 0).map(|size| size.connections).sum::<u64>();
        let (programs, rows) = (sum(|size| size.program_bytes), sum(|size| size.rows));
        let are_brief = may_be_brief && traffic.len() == 1 && late_flows::are_possible_by(topology, params);
        let existing = if are_brief { connections.min(late_flows::EXISTING_MAX as u64) } else { connections };
        let planned = if existing < connections { connections.saturating_mul(PLAN + paths(hops)) } else { 0 };
        let thread = size_of::<Thread>() as u64 + ALLOCATION;
        let rank = thread + size_of::<RankState>() as u64 + ALLOCATION;
        RunMemory {
            fabric: fabric(topology, params),
            programs: programs
                .saturating_add(ranks * rank + 2 * streams.min(existing) * thread)
                .saturating_add(times(rows, size_of::<IterationRow>())),
            connections: existing
                .saturating_mul(connection(params, has_packets, hops))
                .saturating_add(planned)
                .saturating_add(match has_packets {
                    true => existing.saturating_mul(2).saturating_sub(streams).saturating_mul(sending(params)),
                    false => ranks.max(streams).saturating_mul(FluidState::OPEN_BYTES),
                }),
            packets: packets(topology, params, traffic).saturating_mul(packet()),
            building: connections.saturating_mul(PLAN),
            report: report(topology, existing, rows, streams.min(existing)),
            are_rows_in_file: existing < connections,
        }
    }

    /// The most at once.
    pub fn peak(&self) -> u64 {
        let kept = [self.fabric, self.programs, self.connections].into_iter().fold(0, u64::saturating_add);
        kept.saturating_add(self.building.max(self.packets.saturating_add(self.report)))
    }
}

/// Latency of a path of so many links: of each as long as the links take on average, with what is behind them.
pub fn path_latency(topology: &Topology, params: &SimParams, links: f64) -> Duration {
    let sum: u64 = topology.channels().iter().map(|channel| delay(channel, params).as_ps()).sum();
    Duration::from_ps((sum as f64 / topology.channels().len().max(1) as f64 * links) as u64)
}

fn times(count: u64, bytes: usize) -> u64 {
    count.saturating_mul(bytes as u64)
}

/// The topology twice (the report names ports by its own), and a state for each port and node.
fn fabric(topology: &Topology, params: &SimParams) -> u64 {
    let constants = RunConstants::new(params, Duration::ZERO);
    let crossbar = match params.switch.model {
        SwitchModel::SharedBuffer => 0,
        SwitchModel::InputQueued => CrossbarPort::BYTES,
    };
    let port = size_of::<Port>()
        + size_of::<Paused>()
        + size_of::<ChannelId>()
        + constants.group_count * size_of::<Group>()
        + crossbar;
    let nodes = (topology.hosts() + topology.switches()) as u64;
    let node = size_of::<Host>().max(size_of::<Switch>()) + 2 * size_of::<u32>();
    times(topology.channels().len() as u64, port)
        .saturating_add(times(nodes, node))
        .saturating_add(services(topology, params))
        .saturating_add(2 * topology.memory_bytes())
        .saturating_add(size_of::<Shard>() as u64)
}

/// When outputs of crossbars served the inputs of their nodes, where the arbiter asks.
fn services(topology: &Topology, params: &SimParams) -> u64 {
    if params.switch.model != SwitchModel::InputQueued || !params.switch.arbiter.notes_service() {
        return 0;
    }
    let pairs = |at: usize| (topology.out_channels(SwitchId::from_index(at)).len() as u64).pow(2);
    times((0..topology.switches()).map(pairs).sum(), size_of::<Time>())
}

/// Returns the memory that an end has beside itself that sends; one end of a stream does not.
fn sending(params: &SimParams) -> u64 {
    params.transports().map(Protocol::memory).max().unwrap_or_default()
}

/// Both ends, both paths, timers.
fn connection(params: &SimParams, has_packets: bool, hops: f64) -> u64 {
    let peers = 2 * size_of::<u32>() as u64;
    let timers = TIMERS * size_of::<Event>() as u64;
    let slots = params.transports().map(|transport| Protocol::slot_bytes(transport, has_packets));
    2 * (size_of::<Endpoint>() as u64 + slots.max().unwrap_or_default() + peers + timers) + paths(hops)
}

fn paths(hops: f64) -> u64 {
    2 * (hops.ceil() as u64) * size_of::<u32>() as u64
}

/// A packet, its place in the list of free ones, its event.
fn packet() -> u64 {
    (size_of::<Packet>() + size_of::<u32>() + size_of::<Event>()) as u64
}

/// Bounds packets by those that ranks send before they wait, windows admit, and buffers hold; as many answers.
fn packets(topology: &Topology, params: &SimParams, traffic: &[TrafficSize]) -> u64 {
    let window = params.transports().map(|transport| transport.window().bytes.get()).max().unwrap_or_default();
    let mtu = params.transports().map(|transport| transport.payload().get()).min().unwrap_or(1);
    let admitted = traffic.iter().map(|size| size.burst_bytes.min(size.connections.saturating_mul(window)));
    let admitted = admitted.fold(0, u64::saturating_add);
    let switches = switch_buffers(topology, params);
    let hosts = (topology.hosts() as u64).saturating_mul(params.nic.receive_buffer.get() + 4 * mtu);
    let connections = traffic.iter().map(|size| size.connections).fold(0, u64::saturating_add);
    (admitted.min(switches.saturating_add(hosts)) / mtu.max(1))
        .saturating_add(connections.min(topology.hosts() as u64))
        .saturating_mul(2)
}

/// Returns the data that all switches can hold [B].
fn switch_buffers(topology: &Topology, params: &SimParams) -> u64 {
    match params.switch.model {
        SwitchModel::SharedBuffer => (topology.switches() as u64).saturating_mul(params.switch.buffer.get()),
        SwitchModel::InputQueued => {
            let constants = RunConstants::new(params, etherweave_primitives::Duration::ZERO);
            let switches = (0..topology.switches()).map(SwitchId::from_index);
            let memory = |at| credit_memory(topology, topology.out_channels(Node::Switch(at)), &constants);
            switches.map(memory).sum::<Bytes>().get()
        }
    }
}

/// Ports of nodes in use, a priority each; two directions of connections; streams; iterations.
fn report(topology: &Topology, connections: u64, rows: u64, streams: u64) -> u64 {
    times(topology.channels().len() as u64, size_of::<PortRow>() + 2 * NAME as usize)
        .saturating_add(times((2 * connections).saturating_sub(streams), size_of::<FlowRow>()))
        .saturating_add(times(streams, size_of::<StreamRow>()))
        .saturating_add(times(rows, size_of::<IterationRow>()))
}
