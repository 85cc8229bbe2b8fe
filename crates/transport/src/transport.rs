//! Transports of hosts, whichever they are: what networks, checks, captures and estimates ask of their parameters.

use std::ops::{Deref, DerefMut};

use etherweave_primitives::{BitRate, Bytes, Duration, Priority};

use crate::packet::{FrameEnds, SideContent, TransportPacket};
use crate::{entropy::LoadBalancer, frame::size, params::Checked, prototype::Prototype};

/// Bytes that a connection may have in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionWindow {
    /// The key that sets it.
    pub key: &'static str,
    /// How much [B].
    pub bytes: Bytes,
}

/// See [`TransportParams::flow_window`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowWindow {
    /// Full packets that may be in flight.
    pub packets: f64,
    /// Data packets for each acknowledgement.
    pub packets_per_ack: u32,
    /// Part of the rate of a link that congestion control lets it take.
    pub link_share_max: f64,
}

/// Counts of a transport's packets in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResentCounts {
    /// Data packets sent again.
    pub resent: u64,
    /// Packets that the network lost.
    pub lost: u64,
    /// Waits of senders for their retransmission timer.
    pub timeouts: u64,
    /// Whether packets of a flow keep their order.
    pub keeps_order: bool,
}

/// Answers of a transport's parameters. Those that are given here hold for a transport that NICs carry out, that may
/// lose packets, and that heeds nothing.
pub trait TransportParams {
    /// Whether its senders heed marks of switches.
    fn heeds_marks(&self) -> bool {
        false
    }

    /// Whether the kernel sends and receives: threads copy into sockets and out of them, and processors take frames.
    /// Otherwise NICs move messages between memories by themselves.
    fn is_in_kernel(&self) -> bool {
        false
    }

    /// Whether NICs read and write the memories of other hosts by themselves: for rendezvous, and one-sided operations.
    /// Otherwise the libraries at both ends exchange messages for that, by sockets of kernels.
    fn has_remote_access(&self) -> bool {
        !self.is_in_kernel()
    }

    /// Whether it is simulated in flow-level mode as well.
    fn has_flow_level(&self) -> bool {
        false
    }

    /// Whether it is made for networks that lose no packets.
    fn expects_no_loss(&self) -> bool {
        false
    }

    /// Whether senders slow down by what they see of queues before anything is lost, where switches mark or not.
    fn slows_before_loss(&self, _do_switches_mark: bool) -> bool {
        false
    }

    /// Whether packets that others have overtaken may be sent again.
    fn resends_overtaken(&self) -> bool {
        false
    }

    /// Whether the receiver places packets in any order, so that those of a connection may take several paths.
    fn places_any_order(&self) -> bool {
        false
    }

    /// Whether its senders give packets of a connection entropy values, by which switches hash them to several paths.
    fn chooses_paths(&self) -> bool {
        false
    }

    /// Key by which senders are asked to do so, where they do not by themselves: it takes effect by hashes alone.
    fn path_choice_key(&self) -> Option<&'static str> {
        None
    }

    /// Whether its receivers report packets that switches have trimmed.
    fn answers_trimmed(&self) -> bool {
        false
    }

    /// The transport of connections whose packets switches add up, with at most `buffer` bytes in flight; none where
    /// they cannot.
    fn for_sums(&self, _buffer: Bytes) -> Option<Transport> {
        None
    }

    /// Priority of its acknowledgements, where that is not the job's.
    #[inline]
    fn control_priority(&self) -> Option<Priority> {
        None
    }

    /// Its reaction to packets that others overtake, with the key that changes it, where it suffers from them.
    fn overtaken(&self) -> Option<Overtaken> {
        None
    }

    /// Packets that were sent again in vain, and why.
    fn needless(&self, counts: &ResentCounts) -> (u64, &'static str) {
        (counts.resent.saturating_sub(counts.lost), "they came late")
    }

    /// Meaning of timeouts of a sender in a run with losses, so often; nothing where it is one of several
    /// means to find them.
    fn timeouts(&self, _count: u64) -> Option<String> {
        None
    }

    /// Fills in what depends on the network and is left open: whether packets are overtaken and never lost.
    fn complete(&mut self, _is_late_only: bool) {}

    /// Rates among its parameters, by key.
    fn rates(&self) -> Vec<(String, BitRate)> {
        Vec::new()
    }

    /// The most payload of a packet [B].
    fn payload(&self) -> Bytes;

    /// Longest timer by which congestion control changes a rate in cycles; 0 where acknowledgements alone do.
    fn control_cycle(&self) -> Duration {
        Duration::ZERO
    }

    /// Its name in an error: a key where one states it.
    fn payload_name(&self) -> &'static str {
        "the payload of a packet"
    }

    /// Sizes of its headers.
    fn headers(&self) -> Headers;

    /// The largest frame [B on the wire].
    fn frame_max(&self) -> u32 {
        let Headers { first, edge, other, .. } = self.headers();
        first.max(edge).max(other) + self.payload().get() as u32
    }

    /// The congestion control that the caller of a run must bring, where there is one.
    fn prototype(&mut self) -> Option<&mut Prototype> {
        None
    }

    /// The load balancing that the caller of a run must bring, where there is such.
    fn load_balancer(&mut self) -> Option<&mut LoadBalancer> {
        None
    }

    /// Switches for whose telemetry its packets have room: 0 where they have none.
    fn telemetry_switches(&self) -> u8 {
        0
    }

    /// Data packets for each acknowledgement, at least 1.
    fn packets_per_ack(&self) -> u32 {
        1
    }

    /// See [`ConnectionWindow`].
    fn window(&self) -> ConnectionWindow;

    /// Bytes that a connection sends before the first acknowledgement comes.
    fn initial_window(&self) -> Bytes {
        self.window().bytes
    }

    /// Bytes that a connection may have in flight in flow-level mode, where more than its path holds something back.
    fn flow_window(&self) -> Option<FlowWindow> {
        None
    }

    /// How long a connection waits for an answer, the first time, before it sends again.
    fn first_timeout(&self) -> Duration;

    /// Rejects inconsistent parameters, beside switches that mark packets or do not.
    ///
    /// # Errors
    /// With the key.
    fn check(&self, do_switches_mark: bool) -> Checked;

    /// The EtherType of a captured packet, and the octets above.
    fn octets(&self, ends: &FrameEnds, packet: &TransportPacket, side: Option<&SideContent>) -> (u16, Vec<u8>);
}

/// Sizes of a transport's headers [B on the wire]: what they add to a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// First packet of a message.
    pub first: u32,
    /// Later packets of a message that is written.
    pub later: u32,
    /// First and last packet of an answer to a READ.
    pub edge: u32,
    /// All other packets.
    pub other: u32,
    /// Acknowledgement, whole.
    pub ack: u32,
    /// Congestion notification, whole.
    pub notification: u32,
    /// The flag of packets with room for telemetry, where data packets have it.
    pub telemetry: u8,
    /// Payloads are padded to a multiple of so many bytes.
    pub multiple: u32,
}

impl Headers {
    /// Headers of `bytes` above Ethernet on every packet.
    pub const fn equal(bytes: u32) -> Headers {
        let (other, ack) = (size::wire_overhead(true) + bytes, size::wire_bytes(true, bytes));
        Headers { first: other, later: other, edge: other, other, ack, notification: ack, telemetry: 0, multiple: 1 }
    }

    /// A packet of `payload` bytes that is neither first nor last of its message.
    #[inline]
    pub fn packet(&self, payload: u32) -> u32 {
        (self.other + payload).max(size::PREAMBLE_AND_GAP + size::SHORTEST_FRAME)
    }
}

/// See [`TransportParams::overtaken`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken {
    /// The key.
    pub key: &'static str,
    /// The value that takes them for lost.
    pub value: &'static str,
    /// The value that does not.
    pub remedy: &'static str,
}

macro_rules! define_transports {
    ($($carrier:ident { $($(#[$doc:meta])* $module:ident: $transport:ident($params:ty) = $name:literal
        $(, $end:ty as $kept:ty)?;)* })*) => {
        /// Transport protocol of hosts.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[expect(clippy::large_enum_variant, reason = "a job has one")]
        pub enum Transport {
            $($($(#[$doc])* #[serde(rename = $name)] $transport($params),)*)*
        }

        impl Transport {
            /// Its name in a scenario, below `transport`.
            pub fn name(&self) -> &'static str {
                match self {
                    $($(Transport::$transport(_) => $name,)*)*
                }
            }

            $($(
                /// Its parameters, where it is this transport.
                #[inline]
                pub fn $module(&self) -> Option<&$params> {
                    if let Transport::$transport(params) = self { Some(params) } else { None }
                }
            )*)*
        }

        $($(
            impl From<$params> for Transport {
                fn from(params: $params) -> Transport {
                    Transport::$transport(params)
                }
            }
        )*)*

        impl Deref for Transport {
            type Target = dyn TransportParams;

            fn deref(&self) -> &Self::Target {
                match self {
                    $($(Transport::$transport(params) => params,)*)*
                }
            }
        }

        impl DerefMut for Transport {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $($(Transport::$transport(params) => params,)*)*
                }
            }
        }
    };
}

transports!(define_transports);

impl Default for Transport {
    fn default() -> Self {
        Transport::Roce(Default::default())
    }
}
