//! A switch, a NIC and a rank alone: each on a shard of its own, with nothing at the other end of its links.

use std::sync::Arc;

use etherweave_primitives::{BitRate, Bytes, ChannelId, Duration, Time};
use etherweave_workload::{Block, Op, Program};

use crate::constants::RunConstants;
use crate::engine::event::{EventKey, Kind};
use crate::engine::{Shard, Switch};
use crate::host::{Endpoint, Host, Intake, OWN_CORE, Protocol, RankState, Role, Thread};
use crate::indices::{EndpointIndex, HostIndex, PortIndex, ThreadIndex};
use crate::packet::PacketKind;
use crate::params::{Fidelity, SimParams};
use crate::switch::buffer::{Group, SharedBuffer};
use crate::switch::port::{Owner, Peer, PeerLink, Port};
use crate::transport::ShortQueue;
use crate::transport::roce::Operation;

/// The shard at the far end of all links, which does not exist.
const ELSEWHERE: u32 = 1;
const RATE: BitRate = BitRate::from_gbps(100);
/// From the last bit sent to service at the far end.
const DELAY: Duration = Duration::from_ns(300);
/// Of a packet [B on the wire].
const WIRE: u32 = 1_250;
/// It takes 1,250 · 8 / 100 ns.
const SERVICE: Duration = Duration::from_ns(100);
const END: Time = Time::from_ps(1_000_000_000);

/// A shard with nothing in it; packets of route `n` leave a switch by its port `n`.
fn shard(params: &SimParams, ports: u32) -> Shard {
    let mut constants = RunConstants::new(params, DELAY);
    constants.routes = (0..ports).map(PortIndex::new).collect();
    constants.is_background = vec![false];
    Shard::new(0, 2, &Arc::new(constants))
}

fn add_port(shard: &mut Shard, owner: Owner) -> PortIndex {
    let peer = Peer { link: PeerLink::to_shard(ELSEWHERE), port: shard.ports.next_index(), is_host: true };
    shard.channels.push(ChannelId::from_index(shard.ports.len()));
    shard.groups.extend((0..shard.constants.group_count).map(|_| Group::default()));
    shard.ports.push(Port::new(RATE, owner, peer, DELAY, DELAY))
}

fn add_host(shard: &mut Shard) -> HostIndex {
    let host = shard.hosts.push(Host::new(0, shard.ports.next_index(), None));
    add_port(shard, Owner::Host(host));
    host
}

/// When packets arrive elsewhere, and by which endpoints they were sent.
fn sent(shard: &Shard) -> Vec<(Duration, u32)> {
    let outbox = &shard.outboxes[ELSEWHERE as usize];
    let packets = outbox.events.iter().filter(|event| event.key.kind() == Kind::Deliver);
    packets.map(|event| (event.time.since(Time::ZERO), outbox.packets[event.bits as usize].sender)).collect()
}

fn an_endpoint(shard: &Shard, host: HostIndex, number: u32) -> Endpoint {
    Endpoint {
        host,
        thread: ThreadIndex::NONE,
        remote: EndpointIndex::new(0),
        route: 0,
        first_egress: PortIndex::new(0),
        behind: EndpointIndex::NONE,
        number,
        priority: 0,
        is_in_ring: false,
        behind_first: 0,
        owner_waits_for: u64::MAX,
        intake: Intake::default(),
        protocol: Protocol::new(&shard.constants.params, Fidelity::Packet, RATE),
        resent_last: Time::ZERO,
        incoming: ShortQueue::default(),
        remote_link: PeerLink::to_shard(ELSEWHERE),
        remote_port: PortIndex::new(0),
        hosts: (0, 1),
        warm_up_intake: 0,
    }
}

#[test]
fn a_switch_sends_packets_for_one_port_one_after_the_other_and_those_for_another_beside_them() {
    let mut shard = shard(&SimParams::default(), 4);
    let owner = Owner::Switch(shard.switches.next_index());
    let first_port = shard.ports.next_index();
    for _ in 0..4 {
        add_port(&mut shard, owner);
    }
    let sizes = shard.constants.buffer_sizes(4, 0).expect("the default buffer has room for four ports");
    shard.switches.push(Switch { number: 0, first_port, ports: 4, buffer: SharedBuffer::new(sizes) });
    let host = HostIndex::new(0);
    // By port 1 and 2 for port 0, by port 3 for port 2.
    for (ingress, route) in [(1, 0), (2, 0), (3, 2)] {
        let mut packet = an_endpoint(&shard, host, ingress).packet(PacketKind::Ack, WIRE, 0);
        packet.route = route;
        let handle = shard.packets.insert(packet);
        shard.expect_packet(Time::ZERO, EventKey::new(PortIndex::new(ingress), Kind::Arrive, 0), handle);
    }
    shard.serve(END);
    let mut sent = sent(&shard);
    sent.sort_unstable();
    assert_eq!(sent, [(SERVICE + DELAY, 1), (SERVICE + DELAY, 3), (SERVICE * 2 + DELAY, 2)]);
    assert_eq!((shard.totals.hops, shard.totals.dropped), (3, 0));
}

#[test]
fn a_nic_takes_packets_of_its_connections_in_turn_and_keeps_its_link_busy() {
    // Hosts use RoCE by default.
    let params = SimParams::default();
    let mut shard = shard(&params, 1);
    let host = add_host(&mut shard);
    let ends = [4, 6].map(|number| {
        let end = an_endpoint(&shard, host, number);
        shard.endpoints.push(end)
    });
    let payload = params.transport.payload().get();
    for end in ends {
        shard.roce_post(end, 3 * payload, Operation::Write);
    }
    shard.serve(Time::ZERO + Duration::from_us(5));
    let sent = sent(&shard);
    // The first packet left before the second connection had any; from then on each has its turn.
    assert_eq!(sent.iter().map(|&(_, sender)| sender).collect::<Vec<_>>(), [4, 4, 6, 4, 6, 6]);
    // First packets of messages carry a header more; those behind them are alike.
    let wire = u64::from(shard.constants.overheads.other) + payload;
    let gaps: Vec<Duration> = sent.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert_eq!(gaps[2..], [RATE.serialization_time(Bytes::new(wire)); 3]);
}

#[test]
fn a_rank_computes_and_sleeps_for_as_long_as_its_program_says() {
    let mut shard = shard(&SimParams::default(), 0);
    let host = add_host(&mut shard);
    let (computed, slept) = (Duration::from_us(5), Duration::from_us(7));
    let ops =
        vec![Op::IterationStart, Op::Compute { duration: computed }, Op::Sleep { duration: slept }, Op::IterationEnd];
    let rank = RankState::new(0, Program::new([Block::measured(ops, 2)]));
    let thread = shard.threads.push(Thread::new(host, 0, OWN_CORE, Role::Rank(Box::new(rank))));
    shard.totals.unfinished = 1;
    shard.schedule_at(Time::ZERO, shard.hosts[host].port, Kind::Start, thread.get());
    shard.serve(END);
    let Role::Rank(rank) = &shard.threads[thread].role else { unreachable!("it was made a rank") };
    let expected = computed + slept + shard.constants.params.host.timer_slack;
    assert_eq!(rank.rows.iter().map(|row| row.duration).collect::<Vec<_>>(), [expected; 2]);
    assert_eq!((rank.is_done, shard.totals.unfinished), (true, 0));
}
