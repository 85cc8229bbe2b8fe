//! Every transport over a channel that loses, delays, repeats and holds back what it is given: all bytes reach the
//! application once and in order, and the transfer ends.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_primitives::{BitRate, Bytes, Duration, Purpose, Stream, Time};
use proptest::prelude::*;

use super::ranges::{ByteRange, Ranges};
use super::roce::{Operation, RoceEnd};
use super::tcp::{
    Ack, AckAction, CongestionControl, Receiver, Segment, SegmentArrival, SegmentLoss, Sender, TcpParams,
};
use crate::connection::{Alarm, Alarms, AnswerPacket, ConnectionState};
use crate::entropy::LoadBalancing;
use crate::packet::{PacketKind, TransportPacket, flags};
use crate::params::{CONGESTION_CONTROLS, Dcqcn, LossDetection, Reliability, RoceParams};
use crate::uet::{Delivery, GrantPace, Nscc, Rccc, UetEnd, UetParams};
use crate::{ConnectionEnd, Headers, TransportParams};

/// Rate of both NICs.
const RATE: BitRate = BitRate::from_gbps(100);
/// One packet on the link, and from one end to the other: a round trip of 26 packets.
const PACKET_TIME: Duration = Duration::from_ns(400);
const DELAY: Duration = Duration::from_us(5);
/// Payload of a full packet [B].
const MTU: u64 = 1024;

/// Both ends of one direction of a connection.
trait Ends {
    type Data: Copy;
    type Answer: Copy;

    fn post(&mut self, now: Time, bytes: u64);
    /// The next packet, and the bytes in it.
    fn next_packet(&mut self, now: Time) -> Option<(Self::Data, ByteRange)>;
    /// A packet as switches trim it, where the receiver reports that; otherwise they drop it.
    fn trimmed(&self, _data: Self::Data) -> Option<Self::Data> {
        None
    }
    /// A packet arrives; returns what is answered.
    fn on_data(&mut self, now: Time, data: Self::Data, sent: Time, is_marked: bool) -> Option<Self::Answer>;
    fn on_answer(&mut self, now: Time, answer: Self::Answer);
    /// When a timer of either end is due.
    fn timer(&self) -> Option<Time>;
    fn on_timer(&mut self, now: Time) -> Option<Self::Answer>;
    /// Returns the data that has arrived in order at the application [offset].
    fn delivered(&self) -> u64;
    /// Known to the sender to be there [offset].
    fn acknowledged(&self) -> u64;
    fn retransmissions(&self) -> u64;
}

/// A transport that NICs carry out.
struct ByNics<E: ConnectionEnd> {
    params: E::Params,
    headers: Headers,
    sender: E,
    receiver: E,
    timers: BTreeSet<Time>,
    pacing: Option<Time>,
    /// Control packets of the sender that wait for the link.
    control: Vec<TransportPacket>,
    /// Time of the grant of credits that is due.
    grant: Option<Time>,
    pace: GrantPace,
}

impl<E: ConnectionEnd> ByNics<E> {
    fn new(params: E::Params) -> ByNics<E> {
        let [sender, receiver] = [(); 2].map(|()| E::begin(&params, RATE));
        let (headers, timers, control) = (params.headers(), BTreeSet::new(), Vec::new());
        let (pacing, grant, pace) = (None, None, GrantPace::new(0, 0));
        ByNics { params, headers, sender, receiver, timers, pacing, control, grant, pace }
    }
}

impl<E: ConnectionEnd> ByNics<E> {
    fn schedule_grant(&mut self, now: Time, arrival: Option<&TransportPacket>) {
        self.grant = self.receiver.schedule_grant(now, arrival, &mut self.pace, &self.params).or(self.grant);
    }
}

impl<E: ConnectionEnd> Ends for ByNics<E> {
    type Data = TransportPacket;
    /// An acknowledgement, and whether a congestion notification comes with it.
    type Answer = (Option<AnswerPacket>, bool);

    /// Messages of an odd length answer READs: others go between their packets.
    fn post(&mut self, now: Time, bytes: u64) {
        self.sender.open(&self.params, RATE);
        let operation = if bytes % 2 == 1 { Operation::ReadResponse } else { Operation::Write };
        self.sender.post(now, bytes, operation, &self.params);
    }

    fn next_packet(&mut self, now: Time) -> Option<(TransportPacket, ByteRange)> {
        if let Some(packet) = self.control.pop() {
            return Some((packet, ByteRange::default()));
        }
        let packet = self.sender.next_packet(now, &self.params, &self.headers)?;
        let Alarms { timeout, pacing, .. } = self.sender.after_sending(now, &self.params);
        self.timers.extend(timeout);
        self.pacing = pacing;
        Some((packet, ByteRange::new(packet.offset, packet.offset + u64::from(packet.payload))))
    }

    fn trimmed(&self, data: TransportPacket) -> Option<TransportPacket> {
        let flags = data.flags | flags::TRIMMED;
        (self.params.answers_trimmed() && data.kind == PacketKind::Data).then_some(TransportPacket {
            flags,
            payload: 0,
            ..data
        })
    }

    fn on_data(&mut self, now: Time, data: TransportPacket, sent: Time, is_marked: bool) -> Option<Self::Answer> {
        if data.kind == PacketKind::Cnp {
            self.receiver.on_congestion(now, &data);
            self.schedule_grant(now, None);
            let kind = self.receiver.takes_control();
            return kind.map(|kind| (Some(self.receiver.answer(kind, &self.headers)), false));
        }
        let notifies = is_marked && self.receiver.notifies_congestion(now, &self.params);
        assert_eq!(data.sent, sent);
        let marked = if is_marked { flags::CONGESTION } else { 0 };
        let data = TransportPacket { flags: data.flags | marked, ..data };
        let before = self.receiver.arrived();
        let reception = self.receiver.on_data(&data, false, &self.params);
        assert_eq!(self.receiver.arrived(), before + reception.bytes);
        self.schedule_grant(now, Some(&data));
        let answer = reception.answer.kind().map(|kind| self.receiver.answer(kind, &self.headers));
        (answer.is_some() || notifies).then_some((answer, notifies))
    }

    fn on_answer(&mut self, now: Time, (answer, notifies): Self::Answer) {
        if notifies {
            self.sender.on_congestion(now, &TransportPacket::new(PacketKind::Cnp, 0, 0));
        }
        if let Some(AnswerPacket { packet, .. }) = answer.filter(|answer| answer.packet.kind == PacketKind::Cnp) {
            self.sender.on_congestion(now, &packet);
        } else if let Some(AnswerPacket { packet, blocks }) = answer {
            self.timers.extend(self.sender.on_answer(now, &packet, blocks, &self.params));
            let kind = self.sender.takes_control();
            self.control.extend(kind.map(|kind| self.sender.answer(kind, &self.headers).packet));
        }
    }

    fn timer(&self) -> Option<Time> {
        [self.timers.first().copied(), self.pacing, self.grant].into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Time) -> Option<Self::Answer> {
        if self.grant.take_if(|due| *due <= now).is_some() {
            self.receiver.on_alarm(now, Alarm::Tail(1), &self.params);
            let kind = self.receiver.takes_control();
            let grant = kind.map(|kind| self.receiver.answer(kind, &self.headers));
            self.schedule_grant(now, None);
            return grant.map(|grant| (Some(grant), false));
        }
        if self.pacing.take_if(|until| *until <= now).is_some() {
            self.pacing = self.sender.on_alarm(now, Alarm::Pacing, &self.params);
        } else {
            self.timers.pop_first();
            self.timers.extend(self.sender.on_alarm(now, Alarm::Timeout, &self.params));
        }
        None
    }

    fn delivered(&self) -> u64 {
        self.receiver.arrived()
    }

    fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    fn retransmissions(&self) -> u64 {
        self.sender.sent().retransmissions
    }
}

struct Tcp {
    sender: Sender,
    receiver: Receiver,
    mss: u32,
    read: u64,
}

impl Tcp {
    fn new(params: &TcpParams) -> Tcp {
        let mss = params.mss.get() as u32;
        Tcp { sender: Sender::new(params), receiver: Receiver::new(params), mss, read: 0 }
    }
}

impl Ends for Tcp {
    type Data = Segment;
    type Answer = Ack;

    fn post(&mut self, _now: Time, bytes: u64) {
        self.sender.write(bytes);
    }

    fn next_packet(&mut self, now: Time) -> Option<(Segment, ByteRange)> {
        let segment = self.sender.next_segment(now, self.mss)?;
        Some((segment, ByteRange::new(segment.seq, segment.seq + u64::from(segment.len))))
    }

    fn on_data(&mut self, now: Time, data: Segment, sent: Time, is_marked: bool) -> Option<Ack> {
        let Segment { seq, len, window_reduced, .. } = data;
        let arrival = SegmentArrival { seq, len, congestion_experienced: is_marked, window_reduced, timestamp: sent };
        let is_due = self.receiver.on_segment(now, &arrival) == AckAction::Now;
        let bytes = self.receiver.readable();
        self.read += bytes;
        let has_opened = self.receiver.read(bytes);
        (is_due || has_opened).then(|| self.receiver.make_ack(now))
    }

    fn on_answer(&mut self, now: Time, answer: Ack) {
        self.sender.on_ack(now, &answer);
    }

    fn timer(&self) -> Option<Time> {
        [self.sender.timer(), self.receiver.timer()].into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if self.sender.timer().is_some_and(|due| due <= now) {
            self.sender.on_timer(now);
        }
        let is_due = self.receiver.timer().is_some_and(|due| due <= now);
        is_due.then(|| self.receiver.make_ack(now))
    }

    fn delivered(&self) -> u64 {
        self.read
    }

    fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    fn retransmissions(&self) -> u64 {
        self.sender.counters().retransmissions
    }
}

/// Faults of the channel, in parts of a thousand.
#[derive(Clone, Copy, Default, Debug)]
struct Faults {
    lost: u64,
    late: u64,
    repeated: u64,
    marked: u64,
    /// Share of data that is trimmed, where trimming can be reported.
    trimmed: u64,
    /// Longest delay by which a late packet falls behind.
    lateness: Duration,
    /// Packets after which the channel stops for a while; never if 0.
    pause_every: u64,
}

/// A packet on its way.
enum Item<E: Ends> {
    Data { data: E::Data, range: ByteRange, sent: Time, is_marked: bool },
    Answer(E::Answer),
}

impl<E: Ends> Clone for Item<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Ends> Copy for Item<E> {}

/// A connection over a channel.
struct Channel<E: Ends> {
    ends: E,
    faults: Faults,
    random: Stream,
    now: Time,
    /// The sender's link is free.
    free_at: Time,
    /// The channel carries nothing before.
    paused_until: Time,
    in_flight: BTreeMap<(Time, u64), Item<E>>,
    numbers: u64,
    packets: u64,
    /// Bytes posted by all transfers [B].
    posted: u64,
    arrived: Ranges,
}

impl<E: Ends> Channel<E> {
    fn new(ends: E, faults: Faults, seed: u64) -> Channel<E> {
        let random = Stream::new(seed, Purpose::Traffic, 0);
        let (now, in_flight) = (Time::ZERO, BTreeMap::new());
        let (numbers, packets, arrived) = (0, 0, Ranges::default());
        let (free_at, paused_until, posted) = (now, now, 0);
        Channel { ends, faults, random, now, free_at, paused_until, in_flight, numbers, packets, posted, arrived }
    }

    /// Posts messages of these sizes one after another, and goes on until all are there and acknowledged.
    fn transfer(&mut self, messages: &[u64]) {
        let total = self.posted + messages.iter().sum::<u64>();
        let mut messages = messages.iter();
        for number in 0..4_000_000 {
            let is_turn = number % 4 == 0 || self.ends.delivered() == self.posted;
            if let Some(&bytes) = is_turn.then(|| messages.next()).flatten() {
                self.ends.post(self.now, bytes);
                self.posted += bytes;
            }
            self.send();
            if self.ends.delivered() == total && self.ends.acknowledged() == total {
                return;
            }
            self.step();
        }
        panic!("the transfer goes on for ever");
    }

    fn happens(&mut self, thousandths: u64) -> bool {
        self.random.below(1000) < thousandths
    }

    fn send(&mut self) {
        if self.free_at > self.now {
            return;
        }
        let Some((data, range)) = self.ends.next_packet(self.now) else { return };
        self.free_at = self.now + PACKET_TIME;
        self.packets += 1;
        if self.faults.pause_every > 0 && self.packets.is_multiple_of(self.faults.pause_every) {
            self.paused_until = self.now + Duration::from_us(1 + self.random.below(200));
        }
        let is_marked = self.happens(self.faults.marked);
        let trimmed = self.ends.trimmed(data).filter(|_| self.faults.trimmed > 0 && self.happens(self.faults.trimmed));
        let range = if trimmed.is_some() { ByteRange::default() } else { range };
        self.carry(Item::Data { data: trimmed.unwrap_or(data), range, sent: self.now, is_marked });
    }

    fn carry(&mut self, item: Item<E>) {
        if self.happens(self.faults.lost) {
            return;
        }
        for _ in 0..1 + u64::from(self.happens(self.faults.repeated)) {
            let is_late = self.happens(self.faults.late);
            let lateness = self.random.below(self.faults.lateness.as_ps().max(1));
            let extra = if is_late { Duration::from_ps(lateness) } else { Duration::ZERO };
            self.numbers += 1;
            let time = self.now.max(self.paused_until) + DELAY + extra;
            self.in_flight.insert((time, self.numbers), item);
        }
    }

    /// Advances to the next arrival, timer, or end of a transmission.
    fn step(&mut self) {
        let arrival = self.in_flight.keys().next().map(|&(time, _)| time);
        let free = (self.free_at > self.now).then_some(self.free_at);
        let next = [arrival, self.ends.timer(), free].into_iter().flatten().min().expect("something is pending");
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let (_, item) = self.in_flight.pop_first().expect("just seen");
            self.take(item);
        } else if self.ends.timer() == Some(next) {
            let answer = self.ends.on_timer(self.now);
            answer.into_iter().for_each(|answer| self.carry(Item::Answer(answer)));
        }
    }

    fn take(&mut self, item: Item<E>) {
        match item {
            Item::Answer(answer) => self.ends.on_answer(self.now, answer),
            Item::Data { data, range, sent, is_marked } => {
                let before = self.ends.delivered();
                self.arrived.insert(range);
                let answer = self.ends.on_data(self.now, data, sent, is_marked);
                let prefix = self.arrived.first().filter(|range| range.start == 0).map_or(0, |range| range.end);
                let delivered = self.ends.delivered();
                assert!((before..=prefix).contains(&delivered), "{before} to {delivered}, of {prefix} there");
                answer.into_iter().for_each(|answer| self.carry(Item::Answer(answer)));
            }
        }
    }

    /// Packets sent again for each that was needed.
    fn retransmitted_share(&self) -> f64 {
        let again = self.ends.retransmissions();
        again as f64 / (self.packets - again) as f64
    }
}

/// How RoCE repairs losses, and how it finds them.
type Repair = (Reliability, LossDetection);

const GO_BACK_N: Repair = (Reliability::GoBackN, LossDetection::Time);
const BY_TIME: Repair = (Reliability::SelectiveRepeat, LossDetection::Time);
const BY_TIMEOUT: Repair = (Reliability::SelectiveRepeat, LossDetection::Timeout);
const REPAIRS: [Repair; 3] = [GO_BACK_N, BY_TIME, BY_TIMEOUT];

fn roce((reliability, loss_detection): Repair) -> RoceParams {
    let (retransmission_timeout, ack_every) = (Duration::from_ms(1), 1);
    let (path_mtu, window) = (Bytes::new(MTU), Bytes::new(64 * MTU));
    let loss_detection = Some(loss_detection);
    let defaults = RoceParams { reliability, loss_detection, ack_every, ..RoceParams::default() };
    RoceParams { path_mtu, window, retransmission_timeout, ..defaults }
}

/// Defines a transfer of `messages` over every transport that NICs carry out, with its defaults.
macro_rules! define_transfer {
    (nics { $($(#[$doc:meta])* $module:ident: $transport:ident($params:ty) = $name:literal, $end:ty as $kept:ty;)* }
     kernels { $($kernel:tt)* }) => {
        fn transfer_by_defaults(seed: u64, messages: &[u64], faults: Faults) {
            $(Channel::new(ByNics::<$end>::new(<$params>::default()), faults, seed).transfer(messages);)*
        }
    };
}

transports!(define_transfer);

/// Ultra Ethernet's transport with each delivery, load balancing and congestion control.
fn each_uet() -> Vec<UetParams> {
    let defaults = UetParams { payload_mtu: Bytes::new(MTU), ..UetParams::default() };
    let schemes = [LoadBalancing::Oblivious, LoadBalancing::Bitmap, LoadBalancing::Reps, LoadBalancing::Mixed];
    let spread = schemes.map(|load_balancing| UetParams { load_balancing, ..defaults.clone() });
    let ordered = UetParams { delivery: Delivery::Rod, ..defaults.clone() };
    let short = UetParams { psn_range: 2, ..defaults.clone() };
    let repeated = UetParams { delivery: Delivery::Rudi, ..defaults.clone() };
    let windows =
        [&ordered, &defaults, &repeated].map(|params| UetParams { nscc: Some(Nscc::default()), ..params.clone() });
    let granted =
        [&ordered, &defaults, &windows[1]].map(|params| UetParams { rccc: Some(Rccc::default()), ..params.clone() });
    [spread.to_vec(), vec![ordered, short, repeated], windows.to_vec(), granted.to_vec()].concat()
}

/// Selective repeat of RoCE with each load balancing, with marks that nothing else heeds, and beside DCQCN.
fn each_balanced() -> Vec<RoceParams> {
    let of = |load_balancing, repair| RoceParams {
        load_balancing: Some(load_balancing),
        ack_every: 16,
        entropies: 16,
        ..roce(repair)
    };
    let schemes = [LoadBalancing::Oblivious, LoadBalancing::Bitmap, LoadBalancing::Reps, LoadBalancing::Mixed];
    let alone = schemes.into_iter().flat_map(|scheme| [BY_TIME, BY_TIMEOUT].map(|repair| of(scheme, repair)));
    let limited = RoceParams { dcqcn: Some(Dcqcn::default()), ..of(LoadBalancing::Mixed, BY_TIME) };
    alone.chain([limited]).collect()
}

/// Transfers `messages` over every transport.
fn transfer_by_every_transport(seed: u64, messages: &[u64], faults: Faults) {
    transfer_by_defaults(seed, messages, faults);
    for repair in REPAIRS {
        for (ack_every, psn_range) in [(1, 1024), (16, 1024), (8, 16)] {
            let psn_range = if repair == GO_BACK_N { RoceParams::default().psn_range } else { psn_range };
            let dcqcn = (faults.marked > 0).then(Dcqcn::default);
            let params = RoceParams { ack_every, psn_range, dcqcn, ..roce(repair) };
            Channel::new(ByNics::<RoceEnd>::new(params), faults, seed).transfer(messages);
        }
    }
    for repair in REPAIRS.into_iter().filter(|&repair| repair != GO_BACK_N) {
        for control in CONGESTION_CONTROLS {
            let mut params = roce(repair);
            (control.insert)(&mut params);
            let marked = if params.heeds_marks() { faults.marked } else { 0 };
            Channel::new(ByNics::<RoceEnd>::new(params), Faults { marked, ..faults }, seed).transfer(messages);
        }
    }
    for params in each_balanced() {
        Channel::new(ByNics::<RoceEnd>::new(params), faults, seed).transfer(messages);
    }
    for params in each_uet() {
        Channel::new(ByNics::<UetEnd>::new(params), faults, seed).transfer(messages);
    }
    let datagrams = UetParams { delivery: Delivery::Uud, payload_mtu: Bytes::new(MTU), ..UetParams::default() };
    let lossless = Faults { lost: 0, trimmed: 0, ..faults };
    Channel::new(ByNics::<UetEnd>::new(datagrams), lossless, seed).transfer(messages);
    for &congestion_control in CongestionControl::ALL {
        for loss_detection in [None, Some(SegmentLoss::Duplicates), Some(SegmentLoss::Time)] {
            let sack = loss_detection.is_some();
            let defaults = TcpParams { tail_loss_probe: sack, early_retransmit: sack, ..TcpParams::default() };
            let (mss, ecn) = (Bytes::new(MTU), faults.marked > 0);
            let loss_detection = loss_detection.unwrap_or(defaults.loss_detection);
            let params = TcpParams { congestion_control, loss_detection, sack, mss, ecn, ..defaults };
            Channel::new(Tcp::new(&params), faults, seed).transfer(messages);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_transport_delivers_all_bytes_once_and_in_order(
        seed: u64, messages in prop::collection::vec(1u64..60_000, 1..8),
        lost in 0u64..200, late in 0u64..400, repeated in 0u64..100, marked in 0u64..100,
        trimmed in 0u64..200, lateness in 1u64..100, pause_every in 0u64..50,
    ) {
        let lateness = Duration::from_us(lateness);
        let faults = Faults { lost, late, repeated, marked, trimmed, lateness, pause_every };
        transfer_by_every_transport(seed, &messages, faults);
    }
}

/// The retransmitted share of a connection of 20,000 packets.
fn share(repair: Repair, faults: Faults) -> f64 {
    let mut channel = Channel::new(ByNics::<RoceEnd>::new(roce(repair)), faults, 1);
    channel.transfer(&[1000 * MTU; 20]);
    channel.retransmitted_share()
}

#[test]
fn without_faults_nothing_is_sent_again() {
    for repair in REPAIRS {
        assert_eq!(share(repair, Faults::default()), 0.0);
    }
}

/// A packet that falls behind the next one costs go-back-N what is out by then. The NAK arrives a round trip after the
/// packet after it left, which is D / t packets of t, and the late one goes out again too. In selective repeat it costs
/// nothing, as long as it is late by less than the reordering window, a quarter of a round trip.
#[test]
fn go_back_n_suffers_from_reordering_and_selective_repeat_does_not() {
    let round_trip = DELAY * 2 + PACKET_TIME;
    let lateness = Duration::from_ps(round_trip.as_ps() / 5);
    let faults = Faults { late: 10, lateness, ..Faults::default() };
    let (back, selective) = (share(GO_BACK_N, faults), share(BY_TIME, faults));
    let packets = 2.0 + round_trip.as_ps() as f64 / PACKET_TIME.as_ps() as f64;
    assert!((0.5..1.1).contains(&(back / (0.01 * packets))), "{back}");
    assert_eq!(selective, 0.0);
}

/// Marks cut the rate to 10 Mb/s, a packet in 0.8 ms, and sixteen share an acknowledgement: the silence between is no
/// sign of loss.
#[test]
fn a_connection_that_its_rate_holds_back_sends_nothing_again() {
    for repair in REPAIRS {
        let defaults = RoceParams { ack_every: 16, dcqcn: Some(Dcqcn::default()), ..roce(repair) };
        let params = RoceParams { retransmission_timeout: Duration::from_ms(67), ..defaults };
        let faults = Faults { marked: 1000, ..Faults::default() };
        let mut channel = Channel::new(ByNics::<RoceEnd>::new(params), faults, 1);
        channel.transfer(&[200 * MTU]);
        assert_eq!(channel.retransmitted_share(), 0.0, "{repair:?}");
    }
}

/// A packet in a hundred is lost: selective repeat sends it again, and go-back-N all that was out.
#[test]
fn selective_repeat_sends_again_what_was_lost() {
    let faults = Faults { lost: 10, ..Faults::default() };
    let (back, selective) = (share(GO_BACK_N, faults), share(BY_TIME, faults));
    assert!((0.008..0.013).contains(&selective), "{selective}");
    assert!(back > 10.0 * selective, "{back} against {selective}");
}

/// Ultra Ethernet sends a packet again once the 64th sent after it has arrived; the timer, what nothing follows. Of
/// RUDI, one in a hundred answers is lost too, and no other says what it said.
#[test]
fn unordered_contexts_send_again_what_was_lost() {
    for (delivery, share) in [(Delivery::Rud, 0.01), (Delivery::Rudi, 0.02)] {
        let params = UetParams { delivery, payload_mtu: Bytes::new(MTU), ..UetParams::default() };
        let faults = Faults { lost: 10, ..Faults::default() };
        let mut channel = Channel::new(ByNics::<UetEnd>::new(params), faults, 1);
        channel.transfer(&[20_000 * MTU]);
        let (again, timeouts) = (channel.retransmitted_share(), channel.ends.sender.sent().timeouts);
        assert!((0.8..1.3).contains(&(again / share)), "{again}");
        assert!(timeouts < 3, "{timeouts}");
    }
}

/// Packets fall behind by up to two round trips. What was sent again in vain widens the window up to a round trip.
#[test]
fn the_reordering_window_grows_with_packets_sent_again_in_vain() {
    let lateness = (DELAY * 2 + PACKET_TIME) * 2;
    let faults = Faults { late: 100, lateness, ..Faults::default() };
    let (back, selective) = (share(GO_BACK_N, faults), share(BY_TIME, faults));
    // Half of them are late by more than a round trip.
    assert!(selective < 0.06, "{selective}");
    assert!(back > 10.0 * selective, "{back} against {selective}");
}

/// The timer alone takes no packet for lost that is late by many round trips, but by less than the timeout of 1 ms. It
/// sends again what was lost, and now and then what was on its way when it expired.
#[test]
fn the_timer_alone_takes_no_late_packet_for_lost() {
    let faults = Faults { late: 300, lateness: Duration::from_us(400), ..Faults::default() };
    assert_eq!(share(BY_TIMEOUT, faults), 0.0);
    assert!(share(BY_TIME, faults) > 0.1);
    let again = share(BY_TIMEOUT, Faults { lost: 10, ..Faults::default() });
    assert!((0.008..0.013).contains(&again), "{again}");
}

/// A timer that finds everything acknowledged is gone: the next packet sets another, without which its loss would never
/// be noticed.
#[test]
fn a_loss_after_a_rest_is_noticed() {
    for repair in REPAIRS {
        let mut channel = Channel::new(ByNics::<RoceEnd>::new(roce(repair)), Faults::default(), 1);
        channel.transfer(&[10 * MTU]);
        while channel.ends.timer().is_some() {
            channel.step();
        }
        channel.ends.post(channel.now, MTU);
        channel.posted += MTU;
        channel.faults.lost = 1000;
        channel.send();
        channel.faults.lost = 0;
        channel.transfer(&[]);
        assert!(channel.ends.retransmissions() > 0, "{repair:?}");
    }
}
