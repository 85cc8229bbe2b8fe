//! Parameters of Ultra Ethernet's transport.

use etherweave_primitives::{Bytes, Duration, Priority, params};

use super::{nscc::Nscc, rccc::Rccc};
use crate::entropy::{LoadBalancer, LoadBalancing};
use crate::frame::size::{IPV4, UDP};

/// Delivery of the packets of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// RUD, reliable and unordered: packets take many paths, and only what is missing is sent again. The default.
    #[default]
    Rud,
    /// ROD, reliable and ordered: packets take one path, the receiver discards what follows a gap, and the sender goes
    /// back to it.
    Rod,
    /// RUDI, reliable and unordered for operations that may be repeated: the receiver keeps nothing of a source, and
    /// answers each packet.
    Rudi,
    /// UUD, unreliable and unordered: datagrams that nobody answers.
    Uud,
}

/// Sizes of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UetFrames {
    /// Ethernet with a tag, IPv4, UDP and the headers of the specification, the default.
    #[default]
    Udp,
    /// Sizes that are stated, as simulators of others have.
    Fixed(FixedFrames),
}

/// Sizes of frames on the wire, with all that a link carries for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedFrames {
    /// Headers of a data packet: what it takes of a link beside its payload, 44 B to 1 KiB.
    pub header: Bytes,
    /// Acknowledgement, 44 B to 1 KiB.
    pub control: Bytes,
}

/// Header of packet delivery on a request of RUD or ROD [B].
const PDS_REQUEST: u32 = 12;
/// The same of RUDI, and of its answer [B].
pub(super) const PDS_RUDI: u32 = 8;
/// The same of UUD [B].
const PDS_UUD: u32 = 4;
/// Bytes that a target of credits adds to it [B].
const CREDIT_TARGET: u32 = 4;
/// Header of packet delivery on an acknowledgement with the state of congestion control, or a negative one [B].
pub(super) const PDS_ACK: u32 = 32;
/// Header of packet delivery on a control packet, such as one about credits, or a negative acknowledgement of RUDI [B].
pub(super) const PDS_CONTROL: u32 = 16;
/// Unit in which a receiver states its range of packet numbers (mpr) [packets].
pub(super) const RANGE_UNIT: u32 = 128;
/// Semantic header of a standard request [B].
pub(super) const SES_REQUEST: u32 = 44;

params! {
    /// Ultra Ethernet's transport (Ultra Ethernet Specification 1.0, section 3).
    pub struct UetParams {
        /// Delivery of packets. Default "rud".
        pub delivery: Delivery = Delivery::Rud,
        /// Largest payload of a packet: "1KiB", "2KiB", "4KiB" or "8KiB"; with fixed frames 256 B to 64 KiB. Default
        /// "4KiB".
        pub payload_mtu: Bytes = Bytes::new(4096),
        /// Sizes of frames. Default "udp".
        pub frames: UetFrames = UetFrames::Udp,
        /// Packets that may be outstanding, counted from the oldest that is not acknowledged: 2 to 32,767. Default
        /// 1024, eight units of 128.
        pub psn_range: u32 = 8 * RANGE_UNIT,
        /// Bytes of packets after which the receiver acknowledges, 1 B to 32 KiB. Default "16KiB".
        pub ack_trigger: Bytes = Bytes::new(16 << 10),
        /// Least that a packet counts towards `ack_trigger`, 0 to 2 KiB. Default "1KiB".
        pub ack_packet_min: Bytes = Bytes::new(1 << 10),
        /// Time after which a packet without an acknowledgement is sent again. Default "1ms".
        pub retransmission_timeout: Duration = Duration::from_ms(1),
        /// Largest number of doublings of that time for a packet that is sent again and again, 0 to 15. Default 5.
        pub timeout_doublings_max: u32 = 5,
        /// Packets that may overtake one of "rud" or "rudi" before it is taken for lost, up to 32,767. 0: the timer
        /// alone decides. Default: those of one and a half windows, 5 at least; 64 without a window.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reordering_packets: Option<u32> = None,
        /// Priority of acknowledgements. Default: that of the job.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub control_priority: Option<Priority> = None,
        /// Choice of entropy values by a sender, by which switches hash packets to paths. Default "mixed".
        pub load_balancing: LoadBalancing = LoadBalancing::Mixed,
        /// Load balancing of the caller, for exploration, in place of `load_balancing`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub load_balancer: Option<LoadBalancer> = None,
        /// Entropy values among which a sender chooses, a power of two up to 65,536. Default 64.
        pub entropies: u32 = 64,
        /// Window of the sender by marks and delay. Absent: `psn_range` alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub nscc: Option<Nscc> = None,
        /// Credits of the receiver, alone or beside `nscc`. Absent: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rccc: Option<Rccc> = None,
    }
}

impl UetParams {
    /// Whether marks decide which paths packets take.
    pub(super) fn avoids_marked_paths(&self) -> bool {
        let heeds = self.load_balancer.is_some() || self.load_balancing != LoadBalancing::Oblivious;
        heeds && matches!(self.delivery, Delivery::Rud | Delivery::Rudi)
    }

    /// Returns the bytes that a packet counts beside its payload for windows and acknowledgements [B]: the length of
    /// UDP and 40 (section 3.6.12), or all of a fixed frame.
    pub(super) fn counted_header(&self) -> u32 {
        match self.frames {
            UetFrames::Udp => UDP + self.pds_request() + SES_REQUEST + 40,
            UetFrames::Fixed(frames) => frames.header.get() as u32,
        }
    }

    /// Above Ethernet, beside the payload of a data packet [B].
    pub(super) fn request_headers(&self) -> u32 {
        IPV4 + UDP + self.pds_request() + SES_REQUEST
    }

    fn pds_request(&self) -> u32 {
        match self.delivery {
            Delivery::Rud | Delivery::Rod => PDS_REQUEST + if self.rccc.is_some() { CREDIT_TARGET } else { 0 },
            Delivery::Rudi => PDS_RUDI,
            Delivery::Uud => PDS_UUD,
        }
    }

    /// A full packet, as windows count it [B].
    pub(super) fn counted_packet(&self) -> u64 {
        self.payload_mtu.get() + u64::from(self.counted_header())
    }
}
