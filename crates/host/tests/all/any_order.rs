//! Two hosts at the ends of a link that loses the first packet of the first message of some length: which messages
//! complete before it has come again.

use std::sync::Arc;

use etherweave_engine::Wires;
use etherweave_engine::constants::RunConstants;
use etherweave_engine::event::{Event, Kind};
use etherweave_engine::packet::{PacketKind, flags};
use etherweave_engine::params::{CompletionOrder, LossDetection, Reliability, RoceParams, SimParams, Transport};
use etherweave_engine::port::{Owner, Peer, PeerLink, Port};
use etherweave_host::{Host, Hosts, OWN_CORE, RankState, Role, SinkState, SourceState, Thread};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, PortIndex, ThreadIndex};
use etherweave_primitives::{ChannelId, Duration, Rank, Time};
use etherweave_topology::LinkClass;
use etherweave_transport::connection::Alarm;
use etherweave_workload::{Access, Block, Op, Program};

use crate::{DELAY, RATE, add_endpoint};

/// More than an eager message, so that the receiver reads it.
const LONG: u64 = 64 << 10;

/// Two hosts, a thread on each, and a connection between them.
struct Pair {
    wires: Wires,
    hosts: Hosts,
    /// The first data packet with as much payload is lost.
    loses: Option<u32>,
    /// State when the lost packet came again: receives that host 1 has completed, and messages that host 0 has open.
    before_repair: Option<(Vec<u64>, u64)>,
}

impl Pair {
    fn new(completion_order: CompletionOrder, loses: u32, roles: [Role; 2]) -> Pair {
        // The lost packet comes again long after all others have come.
        let roce = RoceParams {
            reliability: Reliability::SelectiveRepeat,
            loss_detection: Some(LossDetection::Timeout),
            retransmission_timeout: Duration::from_ms(1),
            completion_order,
            ack_every: 1,
            ..RoceParams::default()
        };
        let params = SimParams { transport: Transport::Roce(roce), ..SimParams::default() };
        let mut constants = RunConstants::new(&params, DELAY);
        constants.routes = [0, 1].map(PortIndex::new).to_vec();
        constants.is_background = vec![false];
        let mut wires = Wires::new(0, 1, &Arc::new(constants));
        let mut hosts = Hosts::new(&wires.constants);
        (hosts.processors.observes_ranks, hosts.processors.notes_tasks) = (true, true);
        for (side, role) in (0..).zip(roles) {
            let host = hosts.nics.hosts.push(Host::new(side, PortIndex::new(side), None, 0));
            let (link, port) = (PeerLink::to_shard(0), PortIndex::new(1 - side));
            let peer = Peer { link, port, is_host: true, link_class: LinkClass::Host };
            wires.channels.push(ChannelId::new(side));
            wires.ports.push(Port::new(RATE, Owner::Host(host), peer, DELAY, DELAY));
            let thread = hosts.processors.threads.push(Thread::new(host, &hosts.nics.hosts[host], 0, OWN_CORE, role));
            let endpoint = add_endpoint(&mut hosts.nics, &wires, host, thread, link);
            if let Role::Rank(rank) = &mut hosts.processors.threads[thread].role {
                rank.connect(1 - side, None, endpoint);
            }
            wires.totals.unfinished += 1;
            wires.schedule_at(Time::ZERO, PortIndex::new(side), Kind::Start, thread.get());
        }
        hosts.nics.wait_for(EndpointIndex::new(0), 1);
        Pair { wires, hosts, loses: Some(loses), before_repair: None }
    }

    /// Lengths of messages whose receives are complete, in this order.
    fn received(&self) -> Vec<u64> {
        let received = self.hosts.processors.records.received.iter();
        received.filter(|end| end.thread == ThreadIndex::new(1)).map(|end| end.bytes).collect()
    }

    /// Requests or messages that host 0 has open.
    fn open(&self) -> u64 {
        match &self.hosts.processors.threads[ThreadIndex::new(0)].role {
            Role::Rank(rank) => rank.open_requests().into(),
            Role::Source(source) => source.posted - source.completed,
            Role::GraphStream(_) | Role::Sink(_) => unreachable!("it sends"),
        }
    }

    /// Serves all events.
    fn run(mut self) -> Pair {
        let end = Time::ZERO + Duration::from_ms(50);
        while self.wires.queue.next_time().is_some_and(|next| next < end) {
            while let Some(event) = self.wires.queue.pop_current(end) {
                self.wires.now = event.time;
                self.serve(event);
            }
        }
        self
    }

    fn serve(&mut self, event: Event) {
        let (hosts, wires) = (&mut self.hosts, &mut self.wires);
        let (port, index) = (event.key.place(), event.key.index());
        match event.key.kind() {
            Kind::TransmitterFree => {
                wires.ports[port].free_scheduled = false;
                hosts.nics.kick(wires, port);
            }
            Kind::Start => hosts.thread_start(wires, ThreadIndex::new(index)),
            Kind::ThreadDone => hosts.thread_done(wires, ThreadIndex::new(index)),
            Kind::TransportTimer => hosts.transport_alarm(wires, EndpointIndex::new(index), Alarm::Timeout),
            Kind::Announce => hosts.nics.announce(wires, event.packet()),
            Kind::Deliver => self.deliver(event, HostIndex::new(port.get())),
            other => unreachable!("two hosts have no {other:?}"),
        }
    }

    fn deliver(&mut self, event: Event, host: HostIndex) {
        let packet = self.wires.packets[event.packet()];
        if packet.kind == PacketKind::Data && Some(packet.payload) == self.loses {
            self.loses = None;
            self.wires.packets.remove(event.packet());
            return;
        }
        if packet.has(flags::RETRANSMISSION) && self.before_repair.is_none() {
            self.before_repair = Some((self.received(), self.open()));
        }
        self.hosts.arrive_at_host(&mut self.wires, host, event.packet());
    }
}

fn rank(number: u32, ops: Vec<Op>) -> Role {
    let block = Block::unmeasured([ops, vec![Op::WaitAll]].concat());
    Role::Rank(Box::new(RankState::new(number, Program::new([block]))))
}

/// Rank 0 sends messages of these lengths with one tag, and rank 1 receives them.
fn messages(completion_order: CompletionOrder, loses: u32, lengths: [u64; 3]) -> Pair {
    let sends = lengths.map(|bytes| Op::Isend { peer: Rank::new(1), tag: 7, bytes });
    let receives = lengths.map(|bytes| Op::Irecv { peer: Rank::new(0), tag: 7, bytes });
    Pair::new(completion_order, loses, [rank(0, sends.to_vec()), rank(1, receives.to_vec())]).run()
}

/// The receiver reads three messages; a packet of the first, the only one of 4,095 B, is lost.
#[test]
fn what_is_read_completes_before_an_earlier_message_that_lacks_a_packet_where_any_order_will_do() {
    let lengths = [LONG + 4_095, 2 * LONG, 3 * LONG];
    let of = |order| messages(order, 4_095, lengths);
    let (posted, any) = (of(CompletionOrder::Posted), of(CompletionOrder::Any));
    assert_eq!(posted.received(), lengths);
    assert_eq!(any.received(), [lengths[1], lengths[2], lengths[0]]);
    assert_eq!([&posted, &any].map(|pair| pair.before_repair.clone().unwrap().0.len()), [0, 2]);
    assert_eq!([posted.open(), any.open()], [0, 0]);
}

/// Eager messages carry a header of MPI. The first is lost: those behind it are there and match after it.
#[test]
fn messages_match_in_the_order_in_which_they_were_sent_whatever_order_they_complete_in() {
    for order in [CompletionOrder::Posted, CompletionOrder::Any] {
        let header = SimParams::default().host.mpi_roce.header.get() as u32;
        let pair = messages(order, 100 + header, [100, 200, 300]);
        assert_eq!(pair.received(), [100, 200, 300]);
        assert_eq!(pair.before_repair.clone().unwrap(), (Vec::new(), 0));
    }
}

#[test]
fn writes_complete_before_an_earlier_one_that_lacks_a_packet_where_any_order_will_do() {
    let put = |bytes| Op::OneSided { peer: Rank::new(1), access: Access::Put, bytes };
    let open = |order| {
        let puts = [100, 200, LONG, 300].map(put).to_vec();
        let pair = Pair::new(order, 200, [rank(0, puts), rank(1, Vec::new())]).run();
        assert_eq!(pair.open(), 0);
        pair.before_repair.unwrap().1
    };
    assert_eq!([CompletionOrder::Posted, CompletionOrder::Any].map(open), [3, 1]);
}

/// Six messages of a packet and a bit, of which two may be open.
#[test]
fn a_stream_goes_on_behind_a_message_that_lacks_a_packet_where_any_order_will_do() {
    let of = |order| {
        let (bytes, endpoint) = (4_106, EndpointIndex::new);
        let (outstanding, left, done_at, start) = (2, Some(6), None, Time::ZERO);
        let source = SourceState {
            endpoint: endpoint(0),
            bytes,
            outstanding,
            left,
            posted: 0,
            completed: 0,
            done_at,
            start,
            is_flow: false,
            follows: None,
            skipped: 0,
        };
        let total = Some(6 * bytes);
        let sink = SinkState { endpoint: endpoint(1), bytes, stream: 0, start, total, skipped: 0, ideal: None };
        Pair::new(order, 10, [Role::Source(source), Role::Sink(sink)]).run()
    };
    let [posted, any] = [CompletionOrder::Posted, CompletionOrder::Any].map(of);
    let left = |pair: &Pair| pair.hosts.nics.endpoints[EndpointIndex::new(1)].intake.bytes;
    assert_eq!([left(&posted), left(&any)], [6 * 4_106; 2]);
    assert_eq!([&posted, &any].map(|pair| pair.open()), [0, 0]);
    // All others are complete, one after the other, while the first waits; or none.
    assert_eq!([posted, any].map(|pair| pair.before_repair.unwrap().1), [2, 1]);
}
