//! Parameters of a TCP connection. Defaults are those of Linux 3.10 at an Ethernet MTU of 4500.

use etherweave_primitives::{Bytes, Duration, params};

macro_rules! define_names {
    ($($(#[$doc:meta])* $Name:ident($Algorithm:ty);)*) => {
        /// Algorithm by which the congestion window grows and shrinks.
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

/// Detection of lost segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SegmentLoss {
    /// Three segments beyond a hole have arrived (FACK, RFC 6675): Linux before 4.18.
    Duplicates,
    /// Times of sending (RACK, RFC 8985): Linux from 4.18 on. Needs `sack`.
    Time,
}

params! {
    /// A TCP connection: both ends, both directions.
    pub struct TcpParams {
        /// Algorithm by which the congestion window grows and shrinks.
        pub congestion_control: CongestionControl = CongestionControl::Cubic,
        /// Whether CUBIC leaves slow start early when ACK trains lengthen or delay rises.
        pub hystart: bool = true,
        /// Tick of HyStart's clock. The 1 ms of Linux 3.10 ends slow start at a tick in data centres.
        pub hystart_clock: Duration = Duration::from_ms(1),
        /// Largest payload of a segment: MTU less 20 B IP, 20 B TCP, 12 B timestamps.
        pub mss: Bytes = Bytes::new(4500 - 20 - 20 - 12),
        /// Initial congestion window [segments], 1 or more (RFC 6928: 10).
        pub initial_window: u32 = 10,
        /// Shortest retransmission timeout.
        pub rto_min: Duration = Duration::from_ms(200),
        /// Largest retransmission timeout.
        pub rto_max: Duration = Duration::from_ms(120_000),
        /// Retransmission timeout before the first round trip is measured.
        pub rto_initial: Duration = Duration::from_ms(1_000),
        /// Longest delay of an ACK.
        pub delayed_ack: Duration = Duration::from_ms(40),
        /// Number of full segments after which an ACK is sent at once, 1 or more.
        pub delayed_ack_segments: u32 = 2,
        /// ACKs that are not delayed at the start of a connection, and after a silence of `rto_min` [ACKs].
        pub quick_acks: u32 = 16,
        /// Whether segments carry ECN-capable codepoints and marks are echoed (RFC 3168).
        pub ecn: bool = false,
        /// Whether the receiver reports what it holds out of order (RFC 2018).
        pub sack: bool = true,
        /// Receive buffer that autotuning may reach. Half of it is advertised, the rest is overhead.
        pub receive_buffer: Bytes = Bytes::new(6_291_456),
        /// Receive buffer to start with.
        pub receive_buffer_initial: Bytes = Bytes::new(87_380),
        /// Send buffer that autotuning may reach.
        pub send_buffer: Bytes = Bytes::new(4_194_304),
        /// Whether the window decays when it is not used for a retransmission timeout (RFC 2861).
        pub slow_start_after_idle: bool = true,
        /// Detection of lost segments.
        pub loss_detection: SegmentLoss = SegmentLoss::Duplicates,
        /// Whether a probe is sent when the tail of a flight stays unanswered (RFC 8985, section 7). Needs `sack`.
        pub tail_loss_probe: bool = true,
        /// Shortest wait before that probe. With `loss_detection = "time"` it is added to that wait, and to that for
        /// packets that may only be late.
        pub tail_loss_probe_min: Duration = Duration::from_ms(10),
        /// Whether fewer than three duplicates suffice when fewer than four segments are out (RFC 5827). Needs `sack`.
        pub early_retransmit: bool = true,
        /// Largest data of a connection that is queued below TCP, until the NIC has sent it (TCP small queues).
        pub limit_output: Bytes = Bytes::new(262_144),
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
