//! A switch without hosts, with nothing at the other ends of its links.

use std::sync::Arc;

use etherweave_engine::packet::{Handle, NO_PACKET, NO_SIDE, Packet, PacketKind};
use etherweave_engine::port::{Owner, Peer, PeerLink, Port};
use etherweave_engine::{Wires, constants::RunConstants, event::Kind, params::SimParams};
use etherweave_kernel::indices::{EndpointIndex, PortIndex};
use etherweave_primitives::{BitRate, ChannelId, Duration, Time};
use etherweave_switch::buffer::{BufferSizes, Group, SharedBuffer};
use etherweave_switch::{Switch, Switches};
use etherweave_topology::LinkClass;

/// The shard at the far end of all links, which does not exist.
const ELSEWHERE: u32 = 1;
const RATE: BitRate = BitRate::from_gbps(100);
/// Time from the last bit sent to service at the far end.
const DELAY: Duration = Duration::from_ns(300);
/// Size of a packet [B on the wire].
const WIRE: u32 = 1_250;
/// It takes 1,250 · 8 / 100 ns.
const SERVICE: Duration = Duration::from_ns(100);
const END: Time = Time::from_ps(1_000_000_000);

/// Wires with nothing at their ends; packets of route `n` leave a switch by its port `n`.
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

/// Serves the events of a switch until `end`.
fn serve(switches: &mut Switches, wires: &mut Wires, end: Time) {
    while wires.queue.next_time().is_some_and(|next| next < end) {
        while let Some(event) = wires.queue.pop_current(end) {
            assert_eq!(event.key.kind(), Kind::TransmitterFree);
            wires.now = event.time;
            wires.ports[event.key.place()].free_scheduled = false;
            switches.kick(wires, event.key.place());
        }
    }
}

/// When packets arrive elsewhere, and by which endpoints they were sent.
fn sent(wires: &Wires) -> Vec<(Duration, u32)> {
    let outbox = &wires.outboxes[ELSEWHERE as usize];
    let packets = outbox.events.iter().filter(|event| event.key.kind() == Kind::Deliver);
    packets.map(|event| (event.time.since(Time::ZERO), outbox.packets[event.bits as usize].sender)).collect()
}

/// A packet that has come in by `ingress`.
fn packet(ingress: u32, route: u32) -> Packet {
    Packet {
        next: NO_PACKET,
        endpoint: EndpointIndex::new(0),
        route,
        ingress: PortIndex::new(ingress),
        offset: 0,
        acknowledged: 0,
        sent: Time::ZERO,
        wire: WIRE,
        payload: 0,
        word: 0,
        side: NO_SIDE,
        sender: ingress,
        kind: PacketKind::Ack,
        priority: 0,
        flags: 0,
        header_bits: 0,
    }
}

#[test]
fn a_switch_sends_packets_for_one_port_one_after_the_other_and_those_for_another_beside_them() {
    let mut wires = wires(&SimParams::default(), 4);
    let mut switches = Switches::default();
    let (owner, first_port) = (Owner::Switch(switches.switches.next_index()), wires.ports.next_index());
    for _ in 0..4 {
        add_port(&mut wires, owner);
        switches.groups.extend((0..wires.constants.group_count).map(|_| Group::default()));
    }
    let sizes = BufferSizes::of(&wires.constants, 4, 0).expect("the default buffer has room for four ports");
    switches.switches.push(Switch { number: 0, in_plane: 0, first_port, ports: 4, buffer: SharedBuffer::new(sizes) });
    // By port 1 and 2 for port 0, by port 3 for port 2.
    for (ingress, route) in [(1, 0), (2, 0), (3, 2)] {
        let handle: Handle = wires.packets.insert(packet(ingress, route));
        switches.arrive_at_switch(&mut wires, PortIndex::new(ingress), PortIndex::new(route), 0, handle);
    }
    serve(&mut switches, &mut wires, END);
    let mut sent = sent(&wires);
    sent.sort_unstable();
    assert_eq!(sent, [(SERVICE + DELAY, 1), (SERVICE + DELAY, 3), (SERVICE * 2 + DELAY, 2)]);
    assert_eq!((wires.totals.hops, wires.totals.dropped), (3, 0));
}
