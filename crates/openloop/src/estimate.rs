//! Memory of a point before it is simulated: counts times the sizes of what it will keep.

use etherweave_primitives::{InputErrors, SwitchId};
use etherweave_topology::{Channel, LinkClass, Topology};

use crate::links::{LinkKind, LinkKinds, Links};
use crate::port::{Buffer, PortSender, Queue, port_bytes};
use crate::{
    build::cuts, histogram::Histogram, host::Host, packet::Packet, params::FlowControl, params::SwitchParams,
    report::Report, run_length::RunLength, tally::Batch,
};

/// Virtual channels of the routings that have most of them.
const CHANNELS: u8 = 4;
/// Packets in queues and on links for each host below saturation, at most about, if it offered all its link can take.
const PACKETS_PER_HOST: f64 = 64.0;
/// An event in the wheel, and a slot of it, for each nanosecond [B].
const EVENT: u64 = 8;

/// Load that a point offers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PointLoad {
    /// Share of the hosts' links, 0 to 1.
    pub load: f64,
    /// Whether it may be more than the fabric accepts: buffers fill.
    pub may_saturate: bool,
    /// Whether packets are counted by batch and port.
    pub records_steps: bool,
}

/// Memory that a point uses, and memory that stays of it [B].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PointMemory {
    /// Ports with their virtual channels, hosts, and what each shard has.
    pub fabric: u64,
    /// Packets and their events.
    pub packets: u64,
    /// Packets that each port sent in every batch, when that is recorded.
    pub steps: u64,
    /// The report, which is kept until all points are done.
    pub report: u64,
    /// Batches, at most.
    pub batches: u64,
}

impl PointMemory {
    /// The memory of a point.
    ///
    /// # Errors
    /// When a time of the switches is out of range.
    pub fn of(
        topology: &Topology,
        params: &SwitchParams,
        links: &Links,
        length: &RunLength,
        point: PointLoad,
    ) -> Result<PointMemory, InputErrors> {
        let switches = topology.switches() as u64;
        let at = |index| topology.out_channels(SwitchId::from_index(index)).len();
        let ports = switches * (0..topology.switches()).map(at).max().unwrap_or(0) as u64;
        let (batches, hosts) = (batches(length), topology.hosts() as u64);
        let pauses = match params.flow_control {
            FlowControl::Credits => 0,
            FlowControl::Pauses => {
                usize::from(CHANNELS) * (size_of::<Queue>() + size_of::<Buffer>()) + size_of::<PortSender>()
            }
        };
        let kinds = LinkKinds::of(topology, params, links)?.kinds;
        let span = |kind: &LinkKind| kind.full + 2 * kind.packet + 2 * kind.delay;
        let horizon = kinds.iter().map(span).max().unwrap_or(0);
        let shard = (Histogram::default().counts.len() * 8) as u64
            + batches * size_of::<Batch>() as u64
            + u64::from(horizon.next_power_of_two()) * EVENT;
        let shards = cuts(topology).len() as u64 - 1;
        let packets = (hosts as f64 * PACKETS_PER_HOST * point.load.clamp(0.0, 1.0)) as u64;
        let packets = if point.may_saturate { room(topology, params) } else { packets };
        Ok(PointMemory {
            fabric: ports * (port_bytes(CHANNELS) + pauses) as u64
                + hosts * size_of::<Host>() as u64
                + shards.saturating_mul(shard),
            packets: packets * (size_of::<Packet>() as u64 + EVENT),
            // As shards count them, and put together.
            steps: if point.records_steps { 2 * batches.saturating_mul(ports * size_of::<u16>() as u64) } else { 0 },
            report: (size_of::<Report>() + Histogram::default().counts.len() * 8) as u64
                + batches * size_of::<Batch>() as u64
                + ports * 2 * size_of::<f32>() as u64,
            batches,
        })
    }
}

/// Packets for which queues have room.
fn room(topology: &Topology, params: &SwitchParams) -> u64 {
    let room = |channel: &Channel| match channel.class {
        LinkClass::Host => params.injection_queue / 2,
        class => u32::from(CHANNELS) * params.buffer(class) + params.output_queue,
    };
    topology.channels().iter().map(|channel| u64::from(room(channel))).sum()
}

/// How many batches a run of this length has at most.
fn batches(length: &RunLength) -> u64 {
    let fixed = length.warm_up.zip(length.measured).map(|(warm_up, measured)| warm_up + measured);
    let span = fixed.unwrap_or(length.longest + length.measured.unwrap_or_default()).as_ps();
    // A given time has no more than 1,024 of them.
    let batch_min = (length.warm_up.unwrap_or_default() + length.measured.unwrap_or_default()).as_ps() / 1_024;
    span.div_ceil(length.batch.as_ps().max(batch_min).max(1)) + 1
}
