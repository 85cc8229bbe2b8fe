//! Parameters of a TCP connection. Defaults are those of Linux 3.10 at an Ethernet MTU of 4500.

use etherweave_primitives::{Bytes, Duration};

/// Defines the names of congestion controls.
macro_rules! define_names {
    ($($(#[$doc:meta])* $Name:ident($Algorithm:ty);)*) => {
        /// How the congestion window grows and shrinks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum CongestionControl {
            $($(#[$doc])* $Name,)*
        }

        impl CongestionControl {
            /// Every member.
            pub const ALL: &[CongestionControl] = &[$(CongestionControl::$Name),*];
        }
    };
}
tcp_congestion_controls!(define_names);

/// How lost segments are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SegmentLoss {
    /// Three segments beyond a hole have arrived (FACK, RFC 6675): Linux before 4.18.
    Duplicates,
    /// By the times of sending (RACK, RFC 8985): Linux from 4.18 on. Needs `sack`.
    Time,
}

/// A TCP connection: both ends, both directions.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpParams {
    /// How the congestion window grows and shrinks.
    pub congestion_control: CongestionControl,
    /// Whether CUBIC leaves slow start early when ACK trains lengthen or delay rises.
    pub hystart: bool,
    /// Tick of HyStart's clock. The 1 ms of Linux 3.10 ends slow start at a tick in data centres.
    pub hystart_clock: Duration,
    /// Largest payload of a segment: MTU less 20 B IP, 20 B TCP, 12 B timestamps.
    pub mss: Bytes,
    /// Initial congestion window [segments], 1 or more (RFC 6928: 10).
    pub initial_window: u32,
    /// Least retransmission timeout.
    pub rto_min: Duration,
    /// Largest retransmission timeout.
    pub rto_max: Duration,
    /// Retransmission timeout before the first round trip is measured.
    pub rto_initial: Duration,
    /// How long an ACK may wait for company.
    pub delayed_ack: Duration,
    /// At most every so many full segments are acknowledged at once, 1 or more.
    pub delayed_ack_segments: u32,
    /// The first so many ACKs of a connection, and after a silence of `rto_min`, are not delayed [ACKs].
    pub quick_acks: u32,
    /// Whether segments carry ECN-capable codepoints and marks are echoed (RFC 3168).
    pub ecn: bool,
    /// Whether the receiver reports what it holds out of order (RFC 2018).
    pub sack: bool,
    /// Receive buffer that autotuning may reach. Half of it is advertised, the rest is overhead.
    pub receive_buffer: Bytes,
    /// Receive buffer to start with.
    pub receive_buffer_initial: Bytes,
    /// Send buffer that autotuning may reach.
    pub send_buffer: Bytes,
    /// Whether the window decays when it is not used for a retransmission timeout (RFC 2861).
    pub slow_start_after_idle: bool,
    /// How lost segments are found.
    pub loss_detection: SegmentLoss,
    /// Whether a probe is sent when the tail of a flight stays unanswered (RFC 8985, section 7). Needs `sack`.
    pub tail_loss_probe: bool,
    /// Least wait before that probe. With `loss_detection = "time"` it is added to that wait, and to that for packets
    /// that may only be late.
    pub tail_loss_probe_min: Duration,
    /// Whether fewer than three duplicates suffice when fewer than four segments are out (RFC 5827). Needs `sack`.
    pub early_retransmit: bool,
    /// Most that a connection has queued below TCP, until the NIC has sent it (TCP small queues).
    pub limit_output: Bytes,
}

impl Default for TcpParams {
    fn default() -> Self {
        TcpParams {
            congestion_control: CongestionControl::Cubic,
            hystart: true,
            hystart_clock: Duration::from_ms(1),
            mss: Bytes::new(4500 - 20 - 20 - 12),
            initial_window: 10,
            rto_min: Duration::from_ms(200),
            rto_max: Duration::from_ms(120_000),
            rto_initial: Duration::from_ms(1_000),
            delayed_ack: Duration::from_ms(40),
            delayed_ack_segments: 2,
            quick_acks: 16,
            ecn: false,
            sack: true,
            receive_buffer: Bytes::new(6_291_456),
            receive_buffer_initial: Bytes::new(87_380),
            send_buffer: Bytes::new(4_194_304),
            slow_start_after_idle: true,
            loss_detection: SegmentLoss::Duplicates,
            tail_loss_probe: true,
            tail_loss_probe_min: Duration::from_ms(10),
            early_retransmit: true,
            limit_output: Bytes::new(262_144),
        }
    }
}

impl TcpParams {
    /// Initial congestion window [B].
    pub(super) fn initial_bytes(&self) -> u64 {
        u64::from(self.initial_window) * self.segment()
    }

    /// Largest payload of a segment [B].
    pub(super) fn segment(&self) -> u64 {
        self.mss.get()
    }
}
