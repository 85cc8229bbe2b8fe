//! A NIC and a rank without switches, with nothing at the other end of their link.

use std::sync::Arc;

use etherweave_engine::Wires;
use etherweave_engine::constants::RunConstants;
use etherweave_engine::event::Kind;
use etherweave_engine::params::SimParams;
use etherweave_engine::port::{Owner, Peer, PeerLink, Port};
use etherweave_host::message::MessageKind;
use etherweave_host::{Host, Hosts, OWN_CORE, RankState, Role, Thread};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, PortIndex, ThreadIndex};
use etherweave_primitives::{Bytes, ChannelId, Duration, Time};
use etherweave_topology::LinkClass;
use etherweave_transport::connection::Alarm;
use etherweave_workload::{Block, Op, Program};

use crate::{DELAY, RATE, add_endpoint};

/// The shard at the far end of all links, which does not exist.
const ELSEWHERE: u32 = 1;
const END: Time = Time::from_ps(1_000_000_000);

/// Wires with nothing at their ends.
fn wires(params: &SimParams, ports: u32) -> Wires {
    let mut constants = RunConstants::new(params, DELAY);
    constants.routes = (0..ports).map(PortIndex::new).collect();
    constants.is_background = vec![false];
    Wires::new(0, 2, &Arc::new(constants))
}

fn add_port(wires: &mut Wires, owner: Owner) -> PortIndex {
    let (link, port) = (PeerLink::to_shard(ELSEWHERE), wires.ports.next_index());
    let peer = Peer { link, port, is_host: true, link_class: LinkClass::Host };
    wires.channels.push(ChannelId::from_index(wires.ports.len()));
    wires.ports.push(Port::new(RATE, owner, peer, DELAY, DELAY))
}

/// A host with a wire to itself.
fn add_host(wires: &mut Wires) -> (Hosts, HostIndex) {
    let mut hosts = Hosts::new(&wires.constants);
    let host = hosts.nics.hosts.push(Host::new(0, wires.ports.next_index(), None, 0));
    add_port(wires, Owner::Host(host));
    (hosts, host)
}

/// Serves the events of hosts until `end`.
fn serve(hosts: &mut Hosts, wires: &mut Wires, end: Time) {
    while wires.queue.next_time().is_some_and(|next| next < end) {
        while let Some(event) = wires.queue.pop_current(end) {
            wires.now = event.time;
            match event.key.kind() {
                Kind::TransmitterFree => {
                    wires.ports[event.key.place()].free_scheduled = false;
                    hosts.nics.kick(wires, event.key.place());
                }
                Kind::Start => hosts.thread_start(wires, ThreadIndex::new(event.key.index())),
                Kind::ThreadDone => hosts.thread_done(wires, ThreadIndex::new(event.key.index())),
                Kind::TransportTimer => {
                    hosts.transport_alarm(wires, EndpointIndex::new(event.key.index()), Alarm::Timeout)
                }
                other => unreachable!("a host alone has no {other:?}"),
            }
        }
    }
}

/// When packets arrive elsewhere, and by which endpoints they were sent.
fn sent(wires: &Wires) -> Vec<(Duration, u32)> {
    let outbox = &wires.outboxes[ELSEWHERE as usize];
    let packets = outbox.events.iter().filter(|event| event.key.kind() == Kind::Deliver);
    packets.map(|event| (event.time.since(Time::ZERO), outbox.packets[event.bits as usize].sender)).collect()
}

#[test]
fn a_nic_takes_packets_of_its_connections_in_turn_and_keeps_its_link_busy() {
    // Hosts use RoCE by default.
    let params = SimParams::default();
    let mut wires = wires(&params, 1);
    let (mut hosts, host) = add_host(&mut wires);
    let ends = [4, 6].map(|number| {
        let link = PeerLink::to_shard(ELSEWHERE);
        let end = add_endpoint(&mut hosts.nics, &wires, host, ThreadIndex::NONE, link);
        hosts.nics.endpoints[end].number = number;
        end
    });
    let payload = params.transport.payload().get();
    for end in ends {
        hosts.post_bytes(&mut wires, end, MessageKind::Eager, 0, 3 * payload);
    }
    serve(&mut hosts, &mut wires, Time::ZERO + Duration::from_us(5));
    let sent = sent(&wires);
    // The first packet left before the second connection had any; from then on each has its turn.
    assert_eq!(sent.iter().map(|&(_, sender)| sender).collect::<Vec<_>>(), [4, 4, 6, 4, 6, 6]);
    // First packets of messages carry a header more; those behind them are alike.
    let wire = u64::from(wires.constants.headers.other) + payload;
    let gaps: Vec<Duration> = sent.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert_eq!(gaps[2..], [RATE.serialization_time(Bytes::new(wire)); 3]);
}

#[test]
fn a_rank_computes_and_sleeps_for_as_long_as_its_program_says() {
    let mut wires = wires(&SimParams::default(), 0);
    let (mut hosts, host) = add_host(&mut wires);
    let (computed, slept) = (Duration::from_us(5), Duration::from_us(7));
    let ops =
        vec![Op::IterationStart, Op::Compute { duration: computed }, Op::Sleep { duration: slept }, Op::IterationEnd];
    let rank = RankState::new(0, Program::new([Block::measured(ops, 2)]));
    let thread = hosts.processors.threads.push(Thread::new(
        host,
        &hosts.nics.hosts[host],
        0,
        OWN_CORE,
        Role::Rank(Box::new(rank)),
    ));
    wires.totals.unfinished = 1;
    wires.schedule_at(Time::ZERO, hosts.nics.hosts[host].port, Kind::Start, thread.get());
    serve(&mut hosts, &mut wires, END);
    let Role::Rank(rank) = &hosts.processors.threads[thread].role else { unreachable!("it was made a rank") };
    let expected = computed + slept + wires.constants.params.host.timer_slack;
    assert_eq!(rank.rows.iter().map(|row| row.duration).collect::<Vec<_>>(), [expected; 2]);
    assert_eq!((rank.is_done, wires.totals.unfinished), (true, 0));
}
