//! RoCE reliable connection parameters.

use etherweave_primitives::{BitRate, Bytes, Duration};

/// Which encapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoceVersion {
    /// EtherType 0x8915 with a global route header: one broadcast domain.
    V1,
    /// UDP over IPv4: routable.
    V2,
}

/// How a connection repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reliability {
    /// The responder discards what follows a gap; the requester starts again at the gap.
    GoBackN,
    /// The responder places every packet where it belongs; the requester sends again what is missing.
    SelectiveRepeat,
}

/// Reliable connection (InfiniBand Architecture volume 1, 9.7) over Ethernet.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoceParams {
    /// Which encapsulation.
    pub version: RoceVersion,
    /// Largest payload of a packet: 256 B to 4096 B.
    pub path_mtu: Bytes,
    /// The responder acknowledges every so many packets, and every end of a message.
    pub ack_every: u32,
    /// Most that one connection may have unacknowledged.
    pub window: Bytes,
    /// Without any acknowledgement for so long, the requester starts again from the last one.
    pub retransmission_timeout: Duration,
    /// How a connection repairs losses. Go-back-N takes a packet that another overtakes for lost.
    pub reliability: Reliability,
    /// Selective repeat: packets that may be out, counted from the oldest that is not acknowledged, as many as the
    /// responder tracks.
    pub psn_range: u32,
    /// Selective repeat: least wait before the last packet is sent again to ask what has arrived.
    pub tail_loss_probe_min: Duration,
    /// Congestion control. Absent: off, as in the testbed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcqcn: Option<Dcqcn>,
}

impl Default for RoceParams {
    fn default() -> Self {
        RoceParams {
            version: RoceVersion::V2,
            path_mtu: Bytes::new(4096),
            ack_every: 16,
            window: Bytes::new(1 << 20),
            retransmission_timeout: Duration::from_us(67_109),
            reliability: Reliability::GoBackN,
            psn_range: 1024,
            tail_loss_probe_min: Duration::from_us(100),
            dcqcn: None,
        }
    }
}

/// DCQCN at the NIC (Zhu et al., SIGCOMM 2015, section 3).
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dcqcn {
    /// At most one congestion notification packet per connection in so long (`N` in the paper).
    pub cnp_interval: Duration,
    /// Gain of the congestion estimate (`g`), as 1/2^k: k.
    pub gain_shift: u32,
    /// Timer of the congestion estimate (`K`).
    pub alpha_timer: Duration,
    /// Timer of the rate increase (`T`).
    pub rate_timer: Duration,
    /// Byte counter of the rate increase (`B`).
    pub rate_bytes: Bytes,
    /// Fast recovery steps (`F`).
    pub fast_recovery: u32,
    /// Additive step (`R_AI`).
    pub rate_step: BitRate,
    /// Lowest rate.
    pub rate_min: BitRate,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Dcqcn {
            cnp_interval: Duration::from_us(50),
            gain_shift: 8,
            alpha_timer: Duration::from_us(55),
            rate_timer: Duration::from_us(55),
            rate_bytes: Bytes::new(10_000_000),
            fast_recovery: 5,
            rate_step: BitRate::from_bps(40_000_000),
            rate_min: BitRate::from_bps(10_000_000),
        }
    }
}
