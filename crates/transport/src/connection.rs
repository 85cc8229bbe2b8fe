//! One end of a connection, whichever the transport: a pure state machine that NICs carry out.
//!
//! ```text
//!   post ─► next_packet, after_sending ──► network ──► on_data, answer ─► bytes for the owner
//!               ▲                                          │
//!               └── on_answer, on_alarm ◄── network ◄──────┘
//! ```
//!
//! It owns no clock and sends nothing. A host passes the time, transmits what it is given, and schedules what is due.

use etherweave_primitives::{BitRate, Time};

use crate::packet::{PacketKind, TransportPacket};
use crate::roce::{Answer, Operation, Reception};
use crate::tcp::Limits;
use crate::telemetry::PathTelemetry;
use crate::uet::GrantPace;
use crate::{Headers, Ranges, SackBlocks, Transport, TransportParams};

/// Counters of the sending side of a connection.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SentCounts {
    /// Bytes acknowledged.
    pub bytes: u64,
    /// Data packets sent, again included.
    pub packets: u64,
    /// Data packets (RoCE) or segments (TCP) sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// When an acknowledgement of new data last arrived, or data began to wait for one; 0 of TCP.
    pub acknowledged_at: Time,
}

/// How much the sending side of a connection may send, and how fast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendState {
    /// Congestion window (TCP), or the window of the transport [B].
    pub window: u64,
    /// Bytes in the network, as far as the sender knows [B].
    pub in_flight: u64,
    /// Rate of the rate limiter, if there is one.
    pub rate: Option<BitRate>,
}

/// Counters of the receiving side of a connection.
#[derive(Clone, Copy, Default)]
pub struct ReceivedCounts {
    /// Data packets (RoCE) or segments (TCP) that arrived before one that was sent before them.
    pub out_of_order: u64,
    /// Negative acknowledgements sent.
    pub naks: u64,
    /// When a packet that was sent again last arrived; 0 if none did.
    pub resent_last: Time,
}

etherweave_kernel::wire! { ReceivedCounts { out_of_order, naks, resent_last } }

/// Numbers of a state that may go on to change for as long as a connection is used.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SlowState {
    /// Limits of the sender that have delayed data.
    pub limits: Limits,
    /// Data in flight of a transport that acknowledges every message [B].
    pub in_flight: u64,
    /// Last acknowledgement that was sent, where data has arrived that waits for the next.
    pub waits_since: Option<Time>,
    /// Acknowledgements that are still sent at once.
    pub quick_acks: u64,
}

/// Message of which bytes are still to be sent for the first time, while all before it is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenMessage {
    /// First byte [offset in the stream].
    pub start: u64,
    /// All below is acknowledged.
    pub acknowledged: u64,
    /// Next byte never sent.
    pub next: u64,
    /// Behind its last byte.
    pub end: u64,
}

impl OpenMessage {
    /// Bytes that are still to be sent [B].
    pub fn left(&self) -> u64 {
        self.end - self.next
    }
}

/// Reason why nothing is shortened while messages begin or end.
pub const CHANGES: &str = "messages begin or end, or packets are sent again";

/// Questions of reports, samples and owners to one end of a connection, in packets or in flow-level mode.
pub trait ConnectionState {
    /// Bytes of the state before what taking data touches, which sending and answers touch: none where both touch all.
    const SENDING: Option<usize> = None;

    /// Memory apart from the state that taking data touches first, or sending and answers: addresses, null where there
    /// are fewer. By default none.
    fn apart(&self, _is_data: bool) -> [*const u8; 4] {
        [std::ptr::null(); 4]
    }

    /// Values beside the state that taking data touches, or sending and answers: the address and the bytes of each,
    /// null where there are fewer. By default none.
    fn beside(&self, _is_data: bool) -> [(*const u8, usize); 2] {
        [(std::ptr::null(), 0); 2]
    }

    /// Counts of the sending side.
    fn sent(&self) -> SentCounts;

    /// Counts of the receiving side, but for packets sent again.
    fn received(&self) -> ReceivedCounts {
        ReceivedCounts::default()
    }

    /// Window and rate of the sending side.
    fn send_state(&self, now: Time, transport: &Transport) -> SendState;

    /// Parts that may go on to change from message to message, beside the rate: limits that have delayed data, and
    /// data that has arrived, since a time. By default window and data in flight.
    fn slow_state(&self, _since: Time, sending: SendState) -> SlowState {
        let SendState { window, in_flight, .. } = sending;
        SlowState { limits: Limits { window, ..Limits::default() }, in_flight, ..SlowState::default() }
    }

    /// State that decides what it will do, beside the above, as a word that is the same whenever that is and however
    /// much has been sent before. It leaves out so many bytes that are still to be sent of its open message.
    ///
    /// # Errors
    /// The key of what such a word would leave out, or of what never is the same again.
    fn repeatable_state(&self, _now: Time, _left: u64) -> Result<u64, &'static str> {
        Err("transport")
    }

    /// The message that it is sending, if there is one.
    ///
    /// # Errors
    /// The reason why what it sends cannot be shortened now.
    fn open_message(&self) -> Result<Option<OpenMessage>, &'static str> {
        Err("messages of this transport are not shortened (transport)")
    }

    /// Takes bytes that are still to be sent away from its open message: what stands behind them comes earlier.
    fn shorten(&mut self, _bytes: u64) {
        unreachable!("only open messages are shortened");
    }

    /// Bytes that have arrived beyond the first missing one, where messages complete in any order. A transport that
    /// gives none delivers in order.
    fn received_ahead(&self) -> Option<&Ranges> {
        None
    }

    /// Bytes that are acknowledged beyond the first that is not, where messages complete in any order.
    fn acknowledged_ahead(&self) -> Option<&Ranges> {
        None
    }

    /// Whether later messages go before answers to READs that have not been sent.
    fn moves_answers(&self) -> bool {
        false
    }

    /// The longest message that has not been acknowledged, where later ones wait for it [B].
    fn longest_message(&self) -> Option<u64> {
        None
    }
}

/// Reason to look at a connection at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alarm {
    /// The retransmission timer.
    Timeout,
    /// Its rate may let the next packet out, or it is no longer held.
    Pacing,
    /// All was sent a while ago by a connection that had gone back so often, at least once; or a grant is due.
    Tail(u8),
}

/// Alarms that a sent packet makes due.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Alarms {
    /// When [`Alarm::Timeout`] is.
    pub timeout: Option<Time>,
    /// When [`Alarm::Pacing`] is.
    pub pacing: Option<Time>,
    /// When [`Alarm::Tail`] is, and how often the connection had gone back.
    pub tail: Option<(Time, u8)>,
    /// End of the answer whose last packet was sent, maybe before, where [`ConnectionState::moves_answers`].
    pub answered: Option<u64>,
}

/// An answer to a data packet, with the blocks of a selective acknowledgement if it has such.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerPacket {
    /// The packet.
    pub packet: TransportPacket,
    /// Its blocks; their bytes are counted already.
    pub blocks: Option<SackBlocks>,
}

/// Both directions of a connection at one end. Offsets count the bytes of the stream. What is given here holds for a
/// transport without rates, without notifications of congestion and with one timer.
pub trait ConnectionEnd: ConnectionState + Sized {
    /// Its parameters.
    type Params: TransportParams;
    /// Whether its ends send control packets beside answers, such as grants of credits.
    const HAS_CONTROL_PACKETS: bool = false;

    /// The parameters of a transport, if this is its state.
    fn params(transport: &Transport) -> Option<&Self::Params>;

    /// A fresh connection at a NIC of `rate`.
    fn begin(params: &Self::Params, rate: BitRate) -> Self;

    /// Memory of an end beside itself [B].
    fn memory(_params: &Self::Params) -> u64 {
        0
    }

    /// Prepares to send, before the first message, at a NIC of `rate`. An end that only receives never does.
    fn open(&mut self, _params: &Self::Params, _rate: BitRate) {}

    /// Releases what only further messages would need: all are acknowledged, and none follows.
    fn finish(&mut self) {}

    /// Lets nothing out until [`Alarm::Pacing`] if it has nothing to send, as while the NIC reads memory. Whether it
    /// does.
    fn hold(&mut self) -> bool {
        false
    }

    /// Adds a message to the stream; returns where it ends: an answer that later messages may go before, no earlier.
    fn post(&mut self, now: Time, bytes: u64, operation: Operation, params: &Self::Params) -> u64;

    /// Whether a packet may be sent now.
    fn may_send(&self, params: &Self::Params) -> bool;

    /// The next packet, if one may be sent.
    fn next_packet(&mut self, now: Time, params: &Self::Params, headers: &Headers) -> Option<TransportPacket>;

    /// Starts the timers that the packet needs which was sent last.
    fn after_sending(&mut self, now: Time, params: &Self::Params) -> Alarms;

    /// Does what is due, which may complete messages that nobody acknowledges. Returns when that is due again.
    fn on_alarm(&mut self, now: Time, alarm: Alarm, params: &Self::Params) -> Option<Time>;

    /// Takes a data packet, which none behind it has overtaken where the network `keeps_order`.
    fn on_data(&mut self, packet: &TransportPacket, keeps_order: bool, params: &Self::Params) -> Reception;

    /// All below has arrived [offset].
    fn arrived(&self) -> u64;

    /// The packet of an answer that [`ConnectionEnd::on_data`] asked for.
    fn answer(&mut self, kind: PacketKind, headers: &Headers) -> AnswerPacket;

    /// Takes an answer to data, with its blocks. Returns when [`Alarm::Timeout`] is due, unless that is known.
    fn on_answer(
        &mut self,
        now: Time,
        packet: &TransportPacket,
        blocks: Option<SackBlocks>,
        params: &Self::Params,
    ) -> Option<Time>;

    /// All below is acknowledged [offset].
    fn acknowledged(&self) -> u64;

    /// Whether all that was posted is acknowledged.
    fn is_idle(&self) -> bool;

    /// A marked packet has arrived. Whether to notify the sender now.
    fn notifies_congestion(&mut self, _now: Time, _params: &Self::Params) -> bool {
        false
    }

    /// Takes a congestion notification, or a control packet.
    fn on_congestion(&mut self, _now: Time, _packet: &TransportPacket) {}

    /// Whether receivers grant credits.
    #[inline]
    fn grants(_params: &Self::Params) -> bool {
        false
    }

    /// Time of the next grant of credits, where one must be scheduled, as [`Alarm::Tail`] at that end: once grants to
    /// others leave the link free. A data packet may have arrived just now.
    fn schedule_grant(
        &mut self,
        _now: Time,
        _arrival: Option<&TransportPacket>,
        _pace: &mut GrantPace,
        _params: &Self::Params,
    ) -> Option<Time> {
        None
    }

    /// The kind of the control packet to send now, if there is one: [`ConnectionEnd::answer`] makes it.
    fn takes_control(&mut self) -> Option<PacketKind> {
        None
    }

    /// Entropy value of a packet, by which switches hash it in addition to its connection.
    #[inline]
    fn entropy(_packet: &TransportPacket) -> u16 {
        0
    }

    /// Takes what switches wrote into the packet that an acknowledgement of all below `acknowledged` answers.
    fn on_telemetry(&mut self, _path: &PathTelemetry, _acknowledged: u64) {}
}

impl Answer {
    /// The kind of its packet, if there is one.
    #[inline]
    pub fn kind(self) -> Option<PacketKind> {
        match self {
            Answer::None => None,
            Answer::Positive => Some(PacketKind::Ack),
            Answer::Negative => Some(PacketKind::Nak),
        }
    }
}
