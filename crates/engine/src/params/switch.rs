//! Switch parameters. Defaults are those of a Spectrum-class switch.

use etherweave_kernel::Arbiter;
use etherweave_primitives::{BitRate, Bytes, Duration, params};

use super::{
    AddressLearning, Cells, EpochRates, LowPowerIdleTimes, OuterHeader, ReductionParams, TokenBucket, Trimming,
};

/// Start of the forwarding of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// When the whole packet is in.
    StoreAndForward,
    /// When the header is in, if the output is idle and not faster than the input.
    CutThrough,
}

/// Place of waiting packets in a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwitchModel {
    /// Queues of the output, in memory that all ports share, the default.
    #[default]
    SharedBuffer,
    /// Queue of the input for each priority, under credits, before a crossbar.
    InputQueued,
}

/// Share of the pool that one ingress priority (or egress queue) may take.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// `alpha` times what is free in the pool (Choudhury and Hahne, 1998). Multiples of 1/128.
    Alpha(f64),
    /// A fixed size.
    Static(Bytes),
}

/// Time at which a switch compares the queue with the thresholds of ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkAt {
    /// When a packet leaves the queue, by what it leaves behind: the default, as switches do.
    #[default]
    Dequeue,
    /// When a packet joins the queue, by what it finds there.
    Enqueue,
}

/// ECN marking by the instantaneous queue (RFC 3168; the ramp of DCQCN, Zhu et al. 2015, fig. 5).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnMarking {
    /// Below this queue nothing is marked.
    pub queue_min: Bytes,
    /// Queue from which on everything is marked.
    pub queue_max: Bytes,
    /// Share of packets marked just below `queue_max`, 0..=1.
    pub share_max: f64,
    /// Time at which the queue is compared. Default "dequeue".
    #[serde(default)]
    pub mark_at: MarkAt,
    /// Whether queues before hosts are compared, too. Where receivers grant credits, they are not. Default true.
    #[serde(default = "is_marked")]
    pub last_hop: bool,
}

fn is_marked() -> bool {
    true
}

params! {
    /// One switch. Either a shared packet buffer, with ingress accounting per port and priority and a queue per egress
    /// port and traffic class, or a queue per ingress port and priority before a crossbar.
    pub struct SwitchParams {
        /// Place of waiting packets. `input_queued` goes with `flow_control.credits`. Default "shared_buffer"; open
        /// loops know "input_queued" alone.
        pub model: SwitchModel = SwitchModel::SharedBuffer,
        /// Start of the forwarding of a packet.
        pub forwarding: Forwarding = Forwarding::CutThrough,
        /// Pipeline latency, first bit in to first bit out of an idle switch, header time excluded; in open loops whole
        /// ns.
        pub latency: Duration = Duration::from_ns(300),
        /// Bytes that must be in before a cut-through switch can forward.
        pub header: Bytes = Bytes::new(64),
        /// Speed-up, with `input_queued`: how much faster than the fastest link of the switch packets cross from input
        /// to output, 1..=16. Default 2.
        pub speed_up: u32 = 2,
        /// Order in which inputs are served at an output, with `input_queued`. Default "age".
        pub arbiter: Arbiter = Arbiter::Age,
        /// Depth of the queue of an output, at least the largest frame. With `input_queued` no more packets cross, and
        /// 0 lets them cross when the link is free; open loops take 1 to 64 whole packets. In a shared buffer,
        /// conditional rules take the output for full from that depth on, and nothing else asks. Default "40KiB".
        pub output_queue: Bytes = Bytes::new(40 << 10),
        /// Whole packet memory: reserves, shared pool and headroom are taken from it.
        pub buffer: Bytes = Bytes::new(16 << 20),
        /// Reserve of each port and lossless priority; of each port for all lossy priorities together.
        pub reserve: Bytes = Bytes::new(10 << 10),
        /// Share of the pool that one ingress port and priority may take before XOFF (lossless) or drop (lossy).
        pub ingress_threshold: Threshold = Threshold::Alpha(8.0),
        /// Share of the pool that one lossy egress queue may take before tail drop.
        pub egress_threshold: Threshold = Threshold::Alpha(8.0),
        /// Rate of the ports that `ingress_threshold`, `egress_threshold` and the queues of `ecn` are for: those of a
        /// port of another rate are in proportion, of as many bandwidth-delay products. Absent: every port has the
        /// same.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub threshold_rate: Option<BitRate> = None,
        /// Fall of the occupancy below XOFF until XON; in open loops whole packets.
        pub xon_offset: Bytes = Bytes::new(2 * 4608),
        /// Cells of the packet memory, and the headroom that follows from them. Absent: memory is counted in bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub cells: Option<Cells> = None,
        /// Headroom of each port and lossless priority. Absent: computed by `cells`, otherwise from rate, cable and
        /// reaction time.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub headroom: Option<Bytes> = None,
        /// ECN marking. Absent: off.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ecn: Option<EcnMarking> = None,
        /// Trimming of lossy data packets that find no room. Absent: they are dropped.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub trimming: Option<Trimming> = None,
        /// Aggregation trees. Absent: it adds up nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reduction: Option<ReductionParams> = None,
        /// Shaper that slows every port below the rate of its link. Absent: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub shaper: Option<TokenBucket> = None,
        /// Times that the transmitters of its ports take to sleep and to wake. Absent: they never sleep.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub low_power_idle: Option<LowPowerIdleTimes> = None,
        /// Rates between which the transmitters of its ports choose by their load, with store-and-forward. Absent: the
        /// full rate.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rate_adaptation: Option<EpochRates> = None,
        /// Addresses that switches learn, in fabrics without loops and without flow control. Absent: they know all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub learning: Option<AddressLearning> = None,
        /// Header that frames have more between switches. Absent: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub outer_header: Option<OuterHeader> = None,
    }
}
