//! RoCE reliable connection parameters.

use etherweave_primitives::{BitRate, Bytes, Duration, params};

use crate::entropy::LoadBalancing;

/// Encapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoceVersion {
    /// EtherType 0x8915 with a global route header: one broadcast domain.
    V1,
    /// UDP over IPv4: routable.
    V2,
}

/// Repair of losses by a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reliability {
    /// The responder discards what follows a gap; the requester starts again at the gap.
    GoBackN,
    /// The responder places every packet where it belongs; the requester sends again what is missing.
    SelectiveRepeat,
}

/// Detection of losses by selective repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossDetection {
    /// A packet is lost when one sent after it has arrived and a round trip and the reordering window have passed.
    Time,
    /// Timeout: what has not arrived is lost when nothing is acknowledged for `retransmission_timeout`. For lossless
    /// networks.
    Timeout,
}

/// Order in which messages of a connection complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletionOrder {
    /// The order in which they were posted: a message waits for those before it (InfiniBand Architecture vol. 1, 9.7).
    #[default]
    Posted,
    /// Any: a message is complete once all its bytes are there, as on a reliable connection without order (Shalev et
    /// al., "A cloud-optimized transport protocol for elastic and scalable HPC", IEEE Micro 2020).
    Any,
}

/// Defines the parameters of a connection, with a table for each congestion control.
macro_rules! define_params {
    ($($(#[$doc:meta])* $key:ident: $Params:path => $Name:ident($Control:path);)*) => {
        /// Reliable connection (InfiniBand Architecture volume 1, 9.7) over Ethernet.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct RoceParams {
            /// Encapsulation.
            pub version: RoceVersion,
            /// Largest payload of a packet: 256 B to 4096 B.
            pub path_mtu: Bytes,
            /// Packets until the responder acknowledges; it acknowledges every end of a message, too.
            pub ack_every: u32,
            /// Largest in-flight data of a connection.
            pub window: Bytes,
            /// Time without an acknowledgement after which the requester retransmits from the last one.
            pub retransmission_timeout: Duration,
            /// Repair of losses by a connection. Go-back-N takes a packet that another overtakes for lost.
            pub reliability: Reliability,
            /// Selective repeat: packets that the responder tracks; the requester has no more in flight, counted from
            /// the oldest that is not acknowledged.
            pub psn_range: u32,
            /// Selective repeat: how it finds losses. Absent: "timeout" where flow control loses nothing, the routing
            /// decides for every packet and no link has a fault, so that what is late is not lost; otherwise "time".
            #[serde(skip_serializing_if = "Option::is_none")]
            pub loss_detection: Option<LossDetection>,
            /// Selective repeat: order in which messages of a connection complete, at both ends. MPI matches them in
            /// the order in which they were sent either way.
            pub completion_order: CompletionOrder,
            /// Selective repeat that finds losses by time: shortest wait before a probe, which is the last packet
            /// again.
            pub tail_loss_probe_min: Duration,
            /// Selective repeat under the routing "ecmp": how a connection chooses entropy values, by which switches
            /// hash its packets to paths. Absent: all packets of a connection take one path.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub load_balancing: Option<LoadBalancing>,
            /// Beside `load_balancing`: entropy values of a connection, a power of two up to 16,384. Default 64.
            #[serde(skip_serializing_if = "is_default_entropies")]
            pub entropies: u32,
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$Params>,
            )*
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
                    loss_detection: None,
                    completion_order: CompletionOrder::Posted,
                    tail_loss_probe_min: Duration::from_us(100),
                    load_balancing: None,
                    entropies: ENTROPIES,
                    $($key: None,)*
                }
            }
        }

        /// Every congestion control of RoCE; the tests that transports share go through this list.
        pub static CONGESTION_CONTROLS: &[CongestionControlKey] = &[
            $(CongestionControlKey { key: stringify!($key), insert: |roce| roce.$key = Some(Default::default()) },)*
        ];
    };
}
roce_congestion_controls!(define_params);

/// A congestion control of RoCE, as a key of its parameters.
pub struct CongestionControlKey {
    /// Name of the key.
    pub key: &'static str,
    /// Adds it with its defaults.
    pub insert: fn(&mut RoceParams),
}

/// Entropy values of a connection, by default.
const ENTROPIES: u32 = 64;

fn is_default_entropies(count: &u32) -> bool {
    *count == ENTROPIES
}

impl RoceParams {
    /// Whether its senders heed marks of switches.
    pub fn heeds_marks(&self) -> bool {
        self.controls_heed_marks() || self.avoids_marked_paths()
    }

    /// Whether marks decide which paths packets take.
    #[inline]
    pub fn avoids_marked_paths(&self) -> bool {
        self.load_balancing.is_some_and(|scheme| scheme != LoadBalancing::Oblivious)
    }

    /// Whether selective repeat finds losses by time.
    pub fn finds_by_time(&self) -> bool {
        self.loss_detection != Some(LossDetection::Timeout)
    }
}

/// Time at which a congestion notification moves the estimate `alpha` of DCQCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlphaUpdate {
    /// Update at the end of every `dce_tcp_rtt`: up if a notification has come in it, else down. As NICs do.
    Period,
    /// Up at once; down after every `dce_tcp_rtt` without one. As in the paper.
    Notification,
}

params! {
    /// DCQCN at the NIC, by the names and with the defaults of NVIDIA, *DCQCN CC Parameters* (ConnectX-4 and later).
    pub struct Dcqcn {
        /// Shortest time between congestion notification packets of a connection (`N` in the paper).
        pub min_time_between_cnps: Duration = Duration::from_us(4),
        /// Time at which a notification moves the congestion estimate.
        pub alpha_update: AlphaUpdate = AlphaUpdate::Period,
        /// Share of the congestion estimate that an update keeps, in 1024ths: 1 - `g` of the paper.
        pub dce_tcp_g: u32 = 1019,
        /// Period of the congestion estimate (`K`).
        pub dce_tcp_rtt: Duration = Duration::from_us(1),
        /// Congestion estimate at the first notification, in 1024ths; 1023 stands for 1.
        pub initial_alpha_value: u32 = 1023,
        /// Present and target rate when a connection becomes limited, before the cut. Absent: those that it has.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rate_to_set_on_first_cnp: Option<BitRate> = None,
        /// Largest part of the rate that one cut takes [%].
        pub rpg_min_dec_fac: u32 = 50,
        /// Lowest rate.
        pub rpg_min_rate: BitRate = BitRate::from_bps(1_000_000),
        /// A cut takes `alpha` / 2^`rpg_gd` of the rate, with `alpha` in 1024ths: 11 halves it at most.
        pub rpg_gd: u32 = 11,
        /// Shortest time between two cuts; a notification in between waits.
        pub rate_reduce_monitor_period: Duration = Duration::from_us(4),
        /// Every cut lowers the target to the rate before it. Otherwise only the first cut after an increase does.
        pub clamp_tgt_rate: bool = false,
        /// Increases by the timer count as such, not only those by the byte counter.
        pub clamp_tgt_rate_after_time_inc: bool = true,
        /// Timer of the rate increase (`T`).
        pub rpg_time_reset: Duration = Duration::from_us(300),
        /// Byte counter of the rate increase (`B`).
        pub rpg_byte_reset: Bytes = Bytes::new(32_767),
        /// Expiries of timer or byte counter that are fast recovery (`F`).
        pub rpg_threshold: u32 = 1,
        /// Step of the additive increase (`R_AI`).
        pub rpg_ai_rate: BitRate = BitRate::from_bps(5_000_000),
        /// Step of the hyper increase (`R_HAI`).
        pub rpg_hai_rate: BitRate = BitRate::from_bps(50_000_000),
    }
}

impl Dcqcn {
    /// Its rates, by their keys.
    pub fn rates(&self) -> impl Iterator<Item = (&'static str, BitRate)> {
        let first = self.rate_to_set_on_first_cnp.map(|rate| ("rate_to_set_on_first_cnp", rate));
        let others = [
            ("rpg_min_rate", self.rpg_min_rate),
            ("rpg_ai_rate", self.rpg_ai_rate),
            ("rpg_hai_rate", self.rpg_hai_rate),
        ];
        others.into_iter().chain(first)
    }
}
