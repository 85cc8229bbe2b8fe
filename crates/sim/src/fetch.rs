//! Fetching of what events to come will need, before they are served.

use std::ops::Range;

use etherweave_engine::{Wires, event::Event, event::Kind, packet::Handle, port::Owner, port::Port};
use etherweave_host::{Host, Hosts, Nics, Role, Thread, lines};
use etherweave_kernel::LocalIndex;
use etherweave_kernel::indices::{EndpointIndex, PortIndex, ThreadIndex};
use etherweave_kernel::memory::{prefetch, prefetch_lines, prefetch_value};
use etherweave_switch::{Switch, Switches, buffer::Group, input_queued::CrossbarPort};

/// Bytes of the credits of a port: of its first priorities.
const CREDITS: usize = 128;

/// Facts of a run that are the same for all its events, read once a bucket.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Touched {
    /// Whether switches, or senders for them, decide for each packet.
    are_packets_routed: bool,
    /// Whether transports have states beside their endpoints, and answers maybe a class of their own.
    are_states_beside: bool,
}

impl Touched {
    /// Packets of flows with paths, and transports in their endpoints.
    const PLAIN: Touched = Touched { are_packets_routed: false, are_states_beside: false };
    /// Packets that are sprayed over paths, and transports beside their endpoints.
    const SPRAYED: Touched = Touched { are_packets_routed: true, are_states_beside: true };
}

/// Begins to fetch what events to come will need, in three steps from bucket to bucket: what an event names, what
/// is found there, and what is found there in turn. Changes nothing; see `docs/models/engine.md` for what it gains.
#[inline(never)]
pub(super) fn fetch(wires: &Wires, switches: &Switches, hosts: &Hosts) {
    let touched = Touched {
        are_packets_routed: wires.constants.packet_routing.is_some(),
        are_states_beside: hosts.nics.has_states_beside,
    };
    // Chunk by chunk, for `flatten` asks twice whether there is another.
    if switches.crossbars.are_used() {
        let [near, far] = wires.queue.next_buckets();
        for chunk in far {
            for event in chunk {
                fetch_crossbar(wires, switches, hosts, touched, event);
            }
        }
        for chunk in near {
            for event in chunk {
                fetch_behind_crossbar(wires, switches, hosts, touched, event);
            }
        }
        return;
    }
    // Compiled for the facts of most runs, without a question about them.
    if touched == Touched::PLAIN {
        fetch_steps(wires, switches, hosts, Touched::PLAIN);
    } else if touched == Touched::SPRAYED {
        fetch_steps(wires, switches, hosts, Touched::SPRAYED);
    } else {
        fetch_steps(wires, switches, hosts, touched);
    }
}

#[inline(always)]
fn fetch_steps(wires: &Wires, switches: &Switches, hosts: &Hosts, touched: Touched) {
    let [near, far] = wires.queue.next_buckets();
    for chunk in far {
        for event in chunk {
            fetch_first(wires, switches, hosts, touched, event);
        }
    }
    for chunk in near {
        for event in chunk {
            fetch_second(wires, switches, hosts, touched, event);
        }
    }
    for event in wires.queue.bucket() {
        fetch_third(wires, switches, hosts, touched, event);
    }
}

/// Steps of [`fetch_ahead`], and events from one to the next.
const STEPS: usize = 7;
const STRIDE: usize = 4;

/// Begins to fetch what ranks need for the events of a bucket that has more of them than caches hold: of one event
/// after another, each step some events before the next.
pub(super) fn fetch_ahead(wires: &Wires, hosts: &Hosts) {
    let bucket = wires.queue.bucket();
    for step in 0..STEPS {
        let Some(place) = bucket.len().checked_sub(STRIDE * (STEPS - step)) else { continue };
        let Some(event) = bucket.get(place) else { continue };
        let index = event.key.index();
        match (event.key.kind(), step) {
            (Kind::ThreadDone | Kind::Start, 0) => fetch_first_of_rank(wires, hosts, event),
            (Kind::ThreadDone | Kind::Start, 1..5) => fetch_rank(hosts, ThreadIndex::new(index), step - 1),
            (Kind::FluidArrive, 0) => fetch_end(&hosts.nics, EndpointIndex::new(index)),
            (Kind::FluidArrive, 1) => {
                let remote = hosts.nics.endpoints[EndpointIndex::new(index)].remote;
                fetch_endpoint(&hosts.nics, remote, lines::ALL);
                fetch_protocol(&hosts.nics, EndpointIndex::new(index), false);
            }
            (Kind::FluidArrive, _) => {
                let thread = hosts.nics.endpoints[hosts.nics.endpoints[EndpointIndex::new(index)].remote].thread;
                match step {
                    2 => prefetch(&hosts.processors.threads, thread.place(), size_of::<Thread>()),
                    _ => fetch_rank(hosts, thread, step - 3),
                }
            }
            _ => {}
        }
    }
}

fn fetch_rank(hosts: &Hosts, thread: ThreadIndex, step: usize) {
    if let Role::Rank(rank) = &hosts.processors.threads[thread].role {
        match step {
            0 => prefetch_value(&**rank),
            _ => rank.prefetch_work(step - 1),
        }
    }
}

#[inline(always)]
fn fetch_first(wires: &Wires, switches: &Switches, hosts: &Hosts, touched: Touched, event: &Event) {
    let place = event.key.place();
    if event.key.is(Kind::Arrive) {
        let (egress, priority) = event.hint.as_egress();
        wires.packets.prefetch(event.packet());
        if touched.are_packets_routed {
            wires.packets.prefetch_route(event.packet());
            if !event.hint.has_egress() {
                // The switch decides when the packet is there.
                return fetch_common(wires, place);
            }
            wires.prefetch_far_end(egress);
        }
        prefetch(&wires.ports, egress.place(), size_of::<Port>());
        return fetch_group(switches, wires, place, priority);
    }
    if event.key.is(Kind::TransmitterFree) {
        prefetch(&wires.ports, place.place(), size_of::<Port>());
        if touched.are_packets_routed {
            wires.prefetch_far_end(place);
        }
        if let (endpoint, true) = event.hint.as_endpoint() {
            fetch_endpoint(&hosts.nics, endpoint, lines::COMMON);
            fetch_state(&hosts.nics, touched, endpoint, false);
        }
    } else if event.key.is(Kind::Deliver) {
        wires.packets.prefetch(event.packet());
        fetch_common(wires, place);
        let (endpoint, is_data) = event.hint.as_endpoint();
        let has_messages = is_data || touched.are_states_beside;
        fetch_endpoint(&hosts.nics, endpoint, if has_messages { lines::ALL } else { lines::COMMON });
        fetch_state(&hosts.nics, touched, endpoint, is_data);
    } else {
        fetch_first_of_rank(wires, hosts, event);
    }
}

/// Fetches for events of ranks, once a message: a call, so that comparisons are enough for packets.
#[inline(never)]
fn fetch_first_of_rank(wires: &Wires, hosts: &Hosts, event: &Event) {
    if event.key.is(Kind::Announce) {
        wires.packets.prefetch(event.packet());
        fetch_endpoint(&hosts.nics, event.hint.as_endpoint().0, lines::MESSAGES);
    } else if event.key.is(Kind::ThreadDone) || event.key.is(Kind::Start) {
        let threads = &hosts.processors.threads;
        prefetch(threads, threads.place(ThreadIndex::new(event.key.index())), size_of::<Thread>());
        if let (endpoint, true) = event.hint.as_endpoint() {
            prefetch(&wires.ports, event.key.place().place(), size_of::<Port>());
            fetch_end(&hosts.nics, endpoint);
        }
    }
}

/// The first step where switches have crossbars: an event at a port needs both sides of the port and its credits.
#[inline(always)]
fn fetch_crossbar(wires: &Wires, switches: &Switches, hosts: &Hosts, touched: Touched, event: &Event) {
    let (key, place) = (event.key, event.key.place().place());
    if key.is(Kind::Arrive) {
        wires.packets.prefetch(event.packet());
        prefetch(&switches.crossbars.ports, place, size_of::<CrossbarPort>());
    } else if key.is(Kind::CreditsArrive) || key.is(Kind::CrossbarFree) || key.is(Kind::TransmitterFree) {
        prefetch(&switches.crossbars.ports, place, size_of::<CrossbarPort>());
        prefetch(&wires.credits.ports, place, CREDITS);
        // Mostly nothing waits for credits.
        if !key.is(Kind::CreditsArrive) {
            prefetch(&wires.ports, place, size_of::<Port>());
        }
    } else {
        fetch_first(wires, switches, hosts, touched, event);
    }
}

/// The second: the queue that a packet joins, and the credits that it holds.
#[inline(always)]
fn fetch_behind_crossbar(wires: &Wires, switches: &Switches, hosts: &Hosts, touched: Touched, event: &Event) {
    if event.key.is(Kind::Arrive) {
        let place = event.key.place();
        fetch_common(wires, place);
        prefetch(&wires.credits.ports, place.place(), CREDITS);
        wires.packets.prefetch_route(event.packet());
        if let Some(packet) = wires.packets.get(event.packet()) {
            switches.crossbars.prefetch_queue(place, packet.priority);
        }
    } else if event.key.is(Kind::Deliver) || event.key.is(Kind::ThreadDone) {
        fetch_second(wires, switches, hosts, touched, event);
    }
}

#[inline(always)]
fn fetch_second(wires: &Wires, switches: &Switches, hosts: &Hosts, touched: Touched, event: &Event) {
    let place = event.key.place();
    if event.key.is(Kind::Arrive) {
        let is_decided = !touched.are_packets_routed || event.hint.has_egress();
        let port = &wires.ports[if is_decided { event.hint.as_egress().0 } else { place }];
        if let Owner::Switch(switch) = port.owner {
            prefetch(&switches.switches, switch.place(), size_of::<Switch>());
        }
        return match wires.packets.get(event.packet()).filter(|_| !is_decided) {
            Some(packet) => fetch_group(switches, wires, place, packet.priority),
            None => {
                wires.packets.prefetch(port.ends_of_queue().1);
                if touched.are_states_beside {
                    port.prefetch_second(1 << wires.constants.scheduler.class(event.hint.as_egress().1));
                }
                if !touched.are_packets_routed {
                    fetch_route(wires, touched, event.packet(), 1);
                }
            }
        };
    }
    if event.key.is(Kind::TransmitterFree) {
        let port = &wires.ports[place];
        wires.packets.prefetch(port.ends_of_queue().0);
        if touched.are_states_beside {
            port.prefetch_second(port.waiting);
            if let (endpoint, true) = event.hint.as_endpoint() {
                fetch_protocol(&hosts.nics, endpoint, false);
            }
        }
        fetch_host(&hosts.nics, wires, place);
    } else if event.key.is(Kind::Deliver) {
        fetch_host(&hosts.nics, wires, place);
        if touched.are_states_beside {
            let (endpoint, is_data) = event.hint.as_endpoint();
            fetch_protocol(&hosts.nics, endpoint, is_data);
        }
    } else if event.key.is(Kind::ThreadDone) {
        if let Role::Rank(rank) = &hosts.processors.threads[ThreadIndex::new(event.key.index())].role {
            prefetch_value(&**rank);
        }
        if event.hint.as_endpoint().1 {
            fetch_host(&hosts.nics, wires, place);
        }
    }
}

#[inline(always)]
fn fetch_third(wires: &Wires, switches: &Switches, hosts: &Hosts, touched: Touched, event: &Event) {
    if event.key.is(Kind::TransmitterFree) {
        let port = &wires.ports[event.key.place()];
        let first = port.ends_of_queue().0;
        fetch_route(wires, touched, first, 0);
        if touched.are_states_beside {
            let second = port.first_of_second();
            wires.packets.prefetch(second);
            wires.packets.prefetch_route(second);
        }
        if let Some(packet) = wires.packets.get(first) {
            fetch_group(switches, wires, packet.ingress, packet.priority);
        }
        if let (endpoint, true) = event.hint.as_endpoint()
            && touched.are_states_beside
        {
            fetch_apart(&hosts.nics, endpoint, false);
        }
    } else if event.key.is(Kind::Deliver) && touched.are_states_beside {
        let (endpoint, is_data) = event.hint.as_endpoint();
        fetch_apart(&hosts.nics, endpoint, is_data);
    } else if event.key.is(Kind::ThreadDone) {
        hosts.processors.threads[ThreadIndex::new(event.key.index())].prefetch_next();
    }
}

#[inline(always)]
fn fetch_endpoint(nics: &Nics, endpoint: EndpointIndex, lines: Range<usize>) {
    prefetch_lines(&nics.endpoints, nics.endpoints.place(endpoint), lines);
}

/// An endpoint that sends a message.
#[inline(always)]
fn fetch_end(nics: &Nics, endpoint: EndpointIndex) {
    fetch_endpoint(nics, endpoint, lines::ALL);
    nics.states.prefetch(endpoint, false);
}

/// The state of a transport for packets, or where it is.
#[inline(always)]
fn fetch_state(nics: &Nics, touched: Touched, endpoint: EndpointIndex, is_data: bool) {
    match touched.are_states_beside {
        true => nics.states.prefetch(endpoint, is_data),
        false => nics.states.prefetch_plain(endpoint, is_data),
    }
}

/// The state of a transport that stands beside its endpoint, as far as an arrival of data needs it, or another event.
#[inline(always)]
fn fetch_protocol(nics: &Nics, endpoint: EndpointIndex, is_data: bool) {
    if nics.endpoints.get(endpoint).is_some() {
        nics.state(endpoint).prefetch(is_data);
    }
}

/// The memory apart from that state which the same event needs.
#[inline(always)]
fn fetch_apart(nics: &Nics, endpoint: EndpointIndex, is_data: bool) {
    if nics.endpoints.get(endpoint).is_some() {
        nics.state(endpoint).prefetch_apart(is_data);
    }
}

/// The part of a port that does not depend on its classes: its owner and its link.
#[inline(always)]
fn fetch_common(wires: &Wires, port: PortIndex) {
    prefetch_lines(&wires.ports, port.place(), 0..1);
}

#[inline(always)]
fn fetch_host(nics: &Nics, wires: &Wires, port: PortIndex) {
    if let Owner::Host(host) = wires.ports[port].owner {
        prefetch(&nics.hosts, host.place(), size_of::<Host>());
    }
}

#[inline(always)]
fn fetch_group(switches: &Switches, wires: &Wires, port: PortIndex, priority: u8) {
    prefetch(&switches.groups, wires.constants.group(port, priority), size_of::<Group>());
}

/// The entry of the route table that a packet needs after `further` others, or what it carries for its routing.
#[inline(always)]
fn fetch_route(wires: &Wires, touched: Touched, handle: Handle, further: usize) {
    if touched.are_packets_routed {
        wires.packets.prefetch_route(handle);
    } else if let Some(packet) = wires.packets.get(handle) {
        prefetch(&wires.constants.routes, packet.route as usize + further, size_of::<u32>());
    }
}
