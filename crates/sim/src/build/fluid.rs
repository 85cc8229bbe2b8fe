//! Flow-level mode: what it cannot simulate, the capacity of links, and which of them packets cross too.

use std::collections::BTreeSet;

use etherweave_engine::params::{FlowControl, SwitchModel, SwitchParams, Threshold};
use etherweave_engine::{constants::RunConstants, impaired_link::Background, port::Owner, port::Port};
use etherweave_fluid::{BesidePackets, Fluid, FluidParams, LinkPlace, QueueLimits, StandingLimits};
use etherweave_host::fluid::{NOWHERE, packet_time};
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{BitRate, InputError, InputErrors};
use etherweave_transport::Transport;

use super::{Experiment, Paths};
use crate::shard::Shard;

/// Whether messages of a job are simulated, and not its packets.
pub(super) fn is_used(experiment: &Experiment) -> bool {
    experiment.jobs.iter().any(|job| !experiment.fidelity(job).is_packet())
}

/// Whether packets of a job are simulated.
pub(super) fn has_packets(experiment: &Experiment) -> bool {
    !is_used(experiment) || experiment.jobs.iter().any(|job| experiment.fidelity(job).is_packet())
}

/// Whether a host has ranks of several jobs.
fn shares_hosts(experiment: &Experiment) -> bool {
    let mut taken = BTreeSet::new();
    experiment.jobs.iter().any(|job| {
        let own: BTreeSet<_> = job.hosts.iter().copied().collect();
        let is_shared = !taken.is_disjoint(&own);
        taken.extend(own);
        is_shared
    })
}

fn classes(experiment: &Experiment) -> BTreeSet<usize> {
    let ets = &experiment.params.ets;
    experiment.jobs.iter().map(|job| usize::from(ets.class_of_priority[job.priority.index()])).collect()
}

/// The name of a transport that flow-level mode has not, or its choice of paths; empty for others.
fn in_packets_alone(transport: &Transport) -> &'static str {
    let named = transport.path_choice_key().map_or(transport.name(), |key| key.trim_start_matches("transport."));
    if transport.has_flow_level() { "" } else { named }
}

/// Rejects what has no meaning without packets.
pub(super) fn check(experiment: &Experiment, processes: usize) -> Result<(), InputErrors> {
    let params = &experiment.params;
    if !is_used(experiment) {
        return Ok(());
    }
    let needs_packets = matches!(&experiment.paths, Paths::PerPacket(prepared) if prepared.needs_packets());
    let alone = in_packets_alone(&params.transport);
    let has_shaper = params.nic.shaper.is_some() || params.switch.shaper.is_some();
    let conditions = [
        ("job.transport", "jobs of several transports", params.other_transports.is_empty()),
        ("transport", &format!("{alone}, which is simulated in packets alone"), alone.is_empty()),
        (
            "job.shared_hosts",
            "hosts of several jobs, some in packets",
            !has_packets(experiment) || !shares_hosts(experiment),
        ),
        ("routing", "one that goes by pauses, by gaps between packets or by what was measured", !needs_packets),
        (
            "switch.model",
            "input_queued beside jobs in packets",
            !has_packets(experiment) || params.switch.model == SwitchModel::SharedBuffer,
        ),
        ("faults", "links that damage frames or fail", experiment.degraded.is_empty() && experiment.outages.is_empty()),
        ("faults.pause_storm", "a host that pauses its switch", experiment.storms.is_empty()),
        ("nic.shaper", "a shaper", !has_shaper),
        ("nic.low_power_idle", "a link that sleeps", params.nic.low_power_idle.is_none()),
        ("switch.low_power_idle", "links that sleep", params.switch.low_power_idle.is_none()),
        ("nic.rate_adaptation", "a rate that changes", params.nic.rate_adaptation.is_none()),
        ("switch.rate_adaptation", "rates that change", params.switch.rate_adaptation.is_none()),
        ("switch.learning", "frames that are flooded", params.switch.learning.is_none()),
        ("switch.outer_header", "headers between switches", params.switch.outer_header.is_none()),
        ("nic.context_cache", "a cache of connections", params.nic.context_cache.is_none()),
        ("nic.dynamic_connections", "initiators", params.nic.dynamic_connections.is_none()),
        ("nic.command_stall", "stops of reception", params.nic.command_stall.is_none()),
        ("observe", "time series", experiment.sampling.is_none()),
        ("--pcap", "captured hosts", experiment.capture.is_empty()),
        ("mpirun", "several processes", processes <= 1),
        (
            "job",
            "jobs in several traffic classes, some in packets",
            !has_packets(experiment) || classes(experiment).len() <= 1,
        ),
    ];
    let mut errors = InputErrors::default();
    for (key, found, holds) in conditions {
        let of = if params.fidelity.is_packet() { "every job.fidelity" } else { "run.fidelity" };
        let expected = format!("{of} = \"packet\" with it: flow-level mode has no packets to do it by");
        errors.check(InputError::unless(holds, key, found, expected));
    }
    errors.into_result()
}

/// Prepares the one shard of a run in flow-level mode. Beside packets, no two jobs share the links of a host.
pub(super) fn add(experiment: &Experiment, connections: usize, shards: &mut [Shard]) {
    let ([shard], true) = (shards, is_used(experiment)) else { return };
    let has_packets = has_packets(experiment);
    shard.wires.fluid = Some(Box::new(fluid(experiment, shard, has_packets)));
    if has_packets {
        shard.hosts.nics.places_in_packets.resize(2 * connections, NOWHERE);
        let is_between = |port: &PortIndex| place(&shard.wires.ports[*port]) == LinkPlace::Between;
        let ports: Vec<PortIndex> = shard.wires.ports.indices().filter(is_between).collect();
        ports.into_iter().for_each(|port| shard.wires.impaired_link(port).background = Some(Background::default()));
    }
}

fn place(port: &Port) -> LinkPlace {
    match port.owner {
        Owner::Host(_) => LinkPlace::FromHost,
        Owner::Switch(_) if port.peer.is_host => LinkPlace::ToHost,
        Owner::Switch(_) => LinkPlace::Between,
    }
}

fn fluid(experiment: &Experiment, shard: &Shard, has_packets: bool) -> Fluid {
    let (topology, ets) = (&experiment.topology, &experiment.params.ets);
    let bytes_per_ps = |rate: BitRate| rate.as_bps() as f64 / 8e12;
    // What a NIC takes is no more than what reaches the memory of its host.
    let capacity = |(port, &channel): (_, &_)| {
        let rate = topology.channel(channel).rate;
        bytes_per_ps(if shard.wires.ports[port].peer.is_host { rate.min(shard.hosts.nics.times.rate) } else { rate })
    };
    let capacities = shard.wires.channels.entries().map(capacity).collect();
    let rates = topology.host_ports().map(|(host, port)| topology.channel(topology.host_channels(host)[port]).rate);
    let branches = shard.wires.constants.branches.as_ref().map_or(1, |branches| branches.most);
    let classes = classes(experiment).into_iter().map(|class| (class, ets.weights[class])).collect();
    let beside = has_packets.then(|| {
        let (queue, packet) = (queue_max(&shard.wires.constants), f64::from(shard.wires.constants.largest_frame));
        BesidePackets::new(shard.wires.channels.len(), queue, packet)
    });
    let switch = &experiment.params.switch;
    Fluid::new(FluidParams {
        capacities,
        places: shard.wires.ports.iter().map(place).collect(),
        packet: packet_time(&shard.wires.constants, rates),
        hosts: topology.host_ports().count(),
        branches,
        classes,
        queue_limits: QueueLimits {
            egress: most_waiting(switch, switch.egress_threshold),
            ingress: most_waiting(switch, switch.ingress_threshold),
        },
        standing_limits: standing_limits(&shard.wires.constants),
        beside,
    })
}

/// Most that may wait for one port of a switch: under congestion control by marks no more than where every packet is
/// marked.
fn queue_max(constants: &RunConstants) -> f64 {
    let switch = &constants.params.switch;
    let marked = switch.ecn.filter(|_| reacts(constants)).map_or(f64::INFINITY, |ecn| ecn.queue_max.get() as f64);
    most_waiting(switch, switch.ingress_threshold).min(marked)
}

/// Most that long messages leave waiting for one port of a switch. Under congestion control by marks as much as may
/// wait before the first mark, for none slows senders until then; without marks nothing is known.
fn standing_limits(constants: &RunConstants) -> StandingLimits {
    let switch = &constants.params.switch;
    let is_lossless = constants.nic_pause_mask != 0;
    let room = match switch.ingress_threshold {
        Threshold::Static(_) if is_lossless => switch.buffer.get() as f64,
        _ if is_lossless => most_waiting(switch, switch.ingress_threshold),
        _ => most_waiting(switch, switch.egress_threshold),
    };
    let marked = match reacts(constants) {
        true => switch.ecn.map_or(0.0, |ecn| ecn.queue_min.get() as f64),
        false => f64::INFINITY,
    };
    let of_connection = match &constants.params.flow_control {
        // Computed buffers are those that a cable keeps full.
        FlowControl::Credits(credits) => credits.buffer.map_or(0.0, |buffer| buffer.get() as f64),
        FlowControl::None {} | FlowControl::GlobalPause(_) | FlowControl::Pfc(_) => {
            most_waiting(switch, switch.ingress_threshold)
        }
    };
    StandingLimits { all: room.min(marked), of_connection }
}

fn reacts(constants: &RunConstants) -> bool {
    constants.params.transports().any(|transport| transport.slows_before_loss(true))
}

/// Most that a threshold lets wait: of alpha, alpha / (1 + alpha) of the buffer (Choudhury and Hahne, *Dynamic queue
/// length thresholds*, 1998, equation 3).
fn most_waiting(switch: &SwitchParams, threshold: Threshold) -> f64 {
    match threshold {
        Threshold::Alpha(alpha) => switch.buffer.get() as f64 * alpha / (1.0 + alpha),
        Threshold::Static(size) => size.get() as f64,
    }
}
