//! Results of a run: rows for tables, totals, and which ports and ranks wait in a stuck run.

mod activities;
mod calls;
mod collect;
mod deadlock;
mod drops;
mod failures;
mod far;
mod flows;
mod groups;
mod ideal;
mod latency;
mod learning;
mod left_out;
mod observed;
mod part;
mod path;
mod port_waits;
mod ports;
mod rank_log;
mod rates;
mod repeated;
mod replays;
mod samples;
mod sleeps;
mod storms;
mod streams;
mod waits;

use etherweave_engine::{capture::Capture, fingerprint::Fingerprint};
use etherweave_host::{IterationRow, RepetitionRow};
use etherweave_primitives::Time;
use etherweave_topology::Topology;

pub use activities::{ActivityRow, TransferRow};
pub use drops::LosslessDrop;
pub use failures::FailureRow;
pub use flows::FlowRow;
pub(crate) use ideal::add_ideals;
pub use learning::LearningRow;
pub use left_out::LeftOut;
pub use observed::Observed;
pub(crate) use part::ReportPart;
pub use path::{PathMessage, PathPart, PathRow};
pub use port_waits::WaitRow;
pub use ports::PortRow;
pub use rates::RateRow;
pub(crate) use repeated::Repeated;
pub use repeated::SkipRow;
pub use replays::ReplayRow;
pub use samples::{FlowSampleRow, HostSampleRow, PortSampleRow, SampledFlowName, SampledPortName, Samples};
pub use sleeps::SleepRow;
pub use storms::StormRow;
pub use streams::StreamRow;

/// Takes rows of flows, of which there may be too many for the memory. The caller brings it: a simulation has no files.
pub type FlowWriter = Box<dyn FnMut(Vec<StreamRow>, Vec<FlowRow>) + Send>;

pub(crate) struct ReportNames {
    pub topology: Topology,
    pub jobs: Vec<String>,
    /// How many of the sampled ports have rows: those that sent most. Absent: all.
    pub busiest_ports: Option<u32>,
    /// Whether ranks note what they do.
    pub observes_ranks: bool,
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
    /// Rounds that repetitions stand for, by job and rank.
    pub repetitions: Vec<RepetitionRow>,
    /// Logs and paths of ranks, where they are observed.
    pub observed: Option<Observed>,
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
    /// Addresses that switches have learnt, by switch.
    pub learning: Vec<LearningRow>,
    /// Storms of pauses that watchdogs found, by node, port and time.
    pub storms: Vec<StormRow>,
    /// Frames that links have sent again, by node and port.
    pub replays: Vec<ReplayRow>,
    /// Rates of ports that follow their load, by node and port.
    pub rates: Vec<RateRow>,
    /// Losses in lossless priorities.
    pub lossless_drops: Vec<LosslessDrop>,
    /// Sums.
    pub totals: Totals,
    /// Fingerprint of all events.
    pub fingerprint: Option<Fingerprint>,
    /// Effects that flow-level mode leaves out.
    pub left_out: LeftOut,
    /// Ports that wait for each other for ever, if any do.
    pub deadlock: Option<String>,
    /// Parts of the run that were skipped, in order.
    pub skips: Vec<SkipRow>,
    /// Reason not to skip at the last turn of a loop, where skips are asked for.
    pub skip_obstacle: Option<String>,
    /// Frames at the captured ports that were not written to files, in no order of the ports.
    pub captured: Vec<Capture>,
}
