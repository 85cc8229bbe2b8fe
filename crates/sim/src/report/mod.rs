//! Results of a run: rows for tables, totals, and which ports and ranks wait in a stuck run.

mod activities;
mod collect;
mod deadlock;
mod far;
mod left_out;
mod part;
mod samples;
mod waits;

use etherweave_primitives::{BitRate, Duration, Priority, Time};
use etherweave_topology::{LinkClass, Topology};

use etherweave_engine::capture::Capture;
use etherweave_engine::fingerprint::Fingerprint;
use etherweave_engine::paused::PauseCounters;
use etherweave_host::IterationRow;

pub use activities::{ActivityRow, TransferRow};
pub use left_out::LeftOut;
pub use samples::{FlowSampleRow, PortSampleRow, SampledFlowName, SampledPortName, Samples};

/// Names for rows.
pub(crate) struct ReportNames {
    pub topology: Topology,
    pub jobs: Vec<String>,
    /// How many of the sampled ports have rows: those that sent most. Absent: all.
    pub busiest_ports: Option<u32>,
    /// Whether ranks note what they do.
    pub observes_ranks: bool,
}

/// Counters of one port and priority.
#[derive(Clone, PartialEq, Debug)]
pub struct PortRow {
    /// The switch or host of the port.
    pub node: String,
    /// Number of the port on its node.
    pub port: u16,
    /// The node at the other end.
    pub peer: String,
    /// Rate of the channel that the port sends into.
    pub rate: BitRate,
    /// What the link is for.
    pub class: LinkClass,
    /// 802.1Q priority.
    pub priority: Priority,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent, with preamble and gap.
    pub tx_bytes: u64,
    /// Packets that the peer has sent here.
    pub rx_packets: u64,
    /// Bytes that the peer has sent here, with preamble and gap.
    pub rx_bytes: u64,
    /// Pause frames sent that name the priority. A switch sends them because an ingress buffer fills, a NIC because its
    /// receive buffer does.
    pub tx_pauses: PauseCounters,
    /// Pause frames received that name the priority.
    pub rx_pauses: PauseCounters,
    /// How long this port held its peer paused.
    pub tx_pause_duration: Duration,
    /// How long this port was paused.
    pub rx_pause_duration: Duration,
    /// How long the first packet of the priority lacked credits.
    pub credit_wait_duration: Duration,
    /// Packets lost: by a switch on their path to this port, by a NIC when they arrive.
    pub drops_packets: u64,
    /// Bytes lost.
    pub drops_bytes: u64,
    /// Of the packets lost, those that found no buffer in the ring of their receive queue.
    pub rx_out_of_buffer: u64,
    /// Packets received with a wrong frame check sequence, from a degraded link; at a host also those that were damaged
    /// before a cut-through switch.
    pub fcs_errors: u64,
    /// Pause frames received with a wrong frame check sequence that named the priority.
    pub fcs_errors_pause: u64,
    /// Packets marked by ECN on their way out by this port.
    pub ecn_marked_packets: u64,
    /// Most that ever waited in the queue of the priority's traffic class; of a NIC: in its receive buffer
    /// [B].
    pub occupancy_bytes_max: u64,
}

/// A stream, measured at its receiver.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamRow {
    /// Job.
    pub job: String,
    /// Sender.
    pub source_host: String,
    /// Receiver.
    pub destination_host: String,
    /// Number in its job.
    pub stream: u32,
    /// Whole messages received.
    pub messages: u64,
    /// Bytes received, from the end of the warm-up on.
    pub bytes: u64,
    /// Start of the job.
    pub start: Time,
    /// End of the warm-up, or start of the job if that is later: rates count from here on.
    pub measured: Time,
    /// Last byte of a whole stream; end of the run for an endless one.
    pub end: Time,
}

impl StreamRow {
    /// Payload per time after the warm-up [Gb/s]; 0 when nothing was measured.
    pub fn goodput_gbps(&self) -> f64 {
        let span = self.end.since(self.measured.min(self.end));
        if span.is_zero() { 0.0 } else { self.bytes as f64 * 8.0 / span.as_ns_f64() }
    }
}

/// One direction of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowRow {
    /// Sender.
    pub source_host: String,
    /// Receiver.
    pub destination_host: String,
    /// "roce" or "tcp".
    pub transport: &'static str,
    /// Bytes acknowledged.
    pub bytes: u64,
    /// Data packets sent, again included.
    pub packets: u64,
    /// Data packets (RoCE) or segments (TCP) sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Data packets (RoCE) or segments (TCP) that arrived before one that was sent before them.
    pub out_of_order: u64,
    /// Negative acknowledgements that the receiver sent (RoCE).
    pub naks: u64,
    /// When the receiver last took a packet that was sent again: losses are made good by then. 0 if none was.
    pub recovered: Time,
}

/// A time for which a link is down, in one direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailureRow {
    /// The node that sends.
    pub node: String,
    /// Its port.
    pub port: u16,
    /// The node at the other end.
    pub peer: String,
    /// When the link fails.
    pub from: Time,
    /// When it returns, if it does.
    pub until: Option<Time>,
    /// Packets that it has lost.
    pub packets_lost: u64,
    /// Packets that it has lost [B on the wire].
    pub bytes_lost: u64,
    /// When the last of them was sent.
    pub last_loss: Option<Time>,
    /// Directions of connections that had to send data again.
    pub connections: u64,
    /// When the last of it had arrived again, if all had.
    pub recovered: Option<Time>,
}

/// A port whose transmitter sleeps between frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SleepRow {
    /// The switch or host of the port.
    pub node: String,
    /// Number of the port on its node.
    pub port: u16,
    /// The node at the other end.
    pub peer: String,
    /// How often it was woken.
    pub wakes: u64,
    /// How long it was asleep.
    pub asleep: Duration,
    /// How long frames waited for it, summed over frames.
    pub waited: Duration,
}

/// Packets lost in a priority that flow control protects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LosslessDrop {
    /// The node that lost them.
    pub node: String,
    /// Their ingress port.
    pub port: u16,
    /// The node that sent them.
    pub peer: String,
    /// Priorities of the group, a bit each.
    pub priorities: u8,
    /// How many.
    pub packets: u64,
    /// How much [B].
    pub bytes: u64,
    /// Pause frames from here that a degraded link has damaged.
    pub pauses_damaged: u64,
    /// Packets among these that found no buffer in the ring of their receive queue.
    pub out_of_ring: u64,
}

/// Sums over the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Events served.
    pub events: u64,
    /// One packet over one link each.
    pub packet_hops: u64,
    /// Packets made, acknowledgements included.
    pub created: u64,
    /// Packets that reached their host.
    pub delivered: u64,
    /// Packets dropped because a buffer was full.
    pub dropped: u64,
    /// Packets discarded because of a wrong frame check sequence.
    pub damaged: u64,
    /// Packets lost on links that were down.
    pub lost: u64,
    /// Packets in queues, on wires or in NICs at the end.
    pub in_flight: u64,
    /// Messages between ranks of different hosts over RoCE.
    pub messages: u64,
    /// Those that began behind one of at least eight times their length on the connection of their pair of ranks.
    pub messages_behind: u64,
    /// When the run ended.
    pub end: Time,
    /// Largest number of packets that ever existed at once.
    pub packets_max: u64,
}

/// Everything that was measured.
#[derive(Clone, Debug)]
pub struct Report {
    /// Names of the jobs, by number.
    pub jobs: Vec<String>,
    /// Measured iterations, by job, rank and iteration.
    pub iterations: Vec<IterationRow>,
    /// What ranks did when, by job, rank and time, and messages between them, by job and time; where that is observed.
    pub observed: Option<(Vec<ActivityRow>, Vec<TransferRow>)>,
    /// Counters of ports that counted anything.
    pub ports: Vec<PortRow>,
    /// Streams.
    pub streams: Vec<StreamRow>,
    /// Directions of connections that carried data.
    pub flows: Vec<FlowRow>,
    /// Time series, where they are asked for.
    pub samples: Option<Samples>,
    /// Links that were down, by node, port and time.
    pub failures: Vec<FailureRow>,
    /// Ports that sleep between frames, by node and port.
    pub sleeps: Vec<SleepRow>,
    /// Losses in lossless priorities.
    pub lossless_drops: Vec<LosslessDrop>,
    /// Sums.
    pub totals: Totals,
    /// Fingerprint of all events.
    pub fingerprint: Option<Fingerprint>,
    /// What flow-level mode leaves out.
    pub left_out: LeftOut,
    /// Ports that wait for each other for ever, if any do.
    pub deadlock: Option<String>,
    /// Frames at the captured ports that were not written to files, in no order of the ports.
    pub captured: Vec<Capture>,
}
