//! The way of a packet through a crossbar: from its arrival at an input until it leaves by the link of an output.

use etherweave_engine::packet::{Handle, NO_PACKET};
use etherweave_engine::{Wires, event::Kind, frame::pause::priorities, frame::size::PREAMBLE_AND_GAP};
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Duration, Priority};

use super::{BufferedPacket, CrossbarPort, Demand, END, InputQueue, InputQueueIndex};
use crate::Switches;

/// Index of an event: the crossbar is free for an input.
const INPUT: u32 = 0;
/// Index of an event: the crossbar is free for an output.
const OUTPUT: u32 = 1;

impl Switches {
    /// A packet has come in by `ingress`. Where it leaves is known from its route, or decided when it leads its queue.
    #[inline(always)]
    pub fn arrive_at_crossbar(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) {
        let entries = u32::from(wires.constants.packet_routing.is_none());
        self.arrive_at_input(wires, ingress, handle, entries);
    }

    /// A packet's head is in the input buffer of a switch; its route goes on by so many entries.
    #[inline(never)]
    pub fn arrive_at_input(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle, entries: u32) {
        let mut packet = BufferedPacket { is_held: false, ..BufferedPacket::of(wires, handle) };
        packet.route += entries;
        let BufferedPacket { priority, wire, units, route, .. } = packet;
        let tail = wires.tail_time_of(ingress, wire);
        let arrived = &mut wires.packets[handle];
        (arrived.ingress, arrived.route) = (ingress, route);
        if cfg!(debug_assertions) {
            self.crossbars.meters[ingress].enter(wires.now, handle);
        }
        let port = &mut self.crossbars.ports[ingress];
        port.newest = handle;
        port.tail = tail;
        let is_free = port.input_free <= wires.now && !port.input_wakes;
        let input = InputQueueIndex::of(ingress, priority);
        if is_free && port.occupied & 1 << priority == 0 {
            let (egress, demand) = self.demand(wires, ingress, packet);
            if self.takes_credits(wires, ingress, egress, handle, demand) {
                self.crossbars.queues[input].packets.pass(wire - PREAMBLE_AND_GAP);
                return self.grant(wires, input, egress, packet, demand);
            }
            self.join_input(wires, input, handle, units);
            self.wait_for_output(wires, input, egress, handle, demand);
        } else {
            self.join_input(wires, input, handle, units);
            if !is_free {
                self.wake_input(wires, ingress);
            }
        }
    }

    fn join_input(&mut self, wires: &mut Wires, input: InputQueueIndex, handle: Handle, units: u32) {
        wires.credits.hold_for(input.port(), input.priority(), units);
        self.crossbars.ports[input.port()].occupied |= 1 << input.priority();
        self.crossbars.queues[input].packets.enqueue(&mut wires.packets, handle);
    }

    /// The crossbar is free for an input or an output.
    pub fn crossbar_free(&mut self, wires: &mut Wires, port: PortIndex, side: u32) {
        let state = &mut self.crossbars.ports[port];
        if side == OUTPUT {
            state.output_wakes = false;
            self.serve_output(wires, port);
        } else {
            state.input_wakes = false;
            self.serve_input(wires, port);
        }
    }

    /// The priorities of a free input take turns.
    fn serve_input(&mut self, wires: &mut Wires, ingress: PortIndex) {
        let CrossbarPort { input_free, occupied, turn, .. } = self.crossbars.ports[ingress];
        if input_free > wires.now {
            return self.wake_input(wires, ingress);
        }
        for step in priorities(occupied.rotate_right(turn.into())) {
            let priority = (turn + step as u8) % Priority::COUNT as u8;
            if self.advance(wires, InputQueueIndex::of(ingress, priority)) {
                return;
            }
        }
    }

    /// Puts the first packet of a free input's queue into the list of its output, and serves that output. Returns
    /// whether the input is busy then.
    fn advance(&mut self, wires: &mut Wires, input: InputQueueIndex) -> bool {
        let (ingress, queue) = (input.port(), &self.crossbars.queues[input]);
        let (handle, egress) = (queue.packets.first(), queue.egress);
        if egress != PortIndex::NONE {
            self.serve_output(wires, egress);
        } else {
            let (egress, demand) = self.demand(wires, ingress, BufferedPacket::of(wires, handle));
            if self.takes_credits(wires, ingress, egress, handle, demand) {
                self.take_from_input(wires, input, egress, demand);
            } else {
                self.wait_for_output(wires, input, egress, handle, demand);
            }
        }
        self.crossbars.ports[ingress].input_free > wires.now
    }

    /// The port by which the first packet of an input queue will leave, and the credits that it takes there.
    #[inline(always)]
    fn demand(&mut self, wires: &mut Wires, ingress: PortIndex, packet: BufferedPacket) -> (PortIndex, Demand) {
        let handle = packet.handle;
        let (egress, priority) = match wires.constants.packet_routing {
            // Its route has gone to the next entry when it came.
            None => (wires.constants.routes[packet.route as usize - 1], packet.priority),
            Some(_) => {
                let route = self.decide_route(wires, ingress, handle);
                (route.egress, route.next_priority())
            }
        };
        let units = match wires.constants.rewrites_packets {
            true => wires.credits.units(priority, wires.next_wire(egress, handle)),
            false => packet.units,
        };
        (egress, Demand::new(priority, units))
    }

    /// Takes the credits of the first packet of a free input's queue at an output if it need not wait: no other does,
    /// the output is free and has room, and so has the far end. Whether it did.
    #[inline(always)]
    fn takes_credits(
        &self,
        wires: &mut Wires,
        ingress: PortIndex,
        egress: PortIndex,
        handle: Handle,
        demand: Demand,
    ) -> bool {
        let output = &self.crossbars.ports[egress];
        output.first == END
            && output.output_free <= wires.now
            && self.crossbars.has_room(&wires.ports[egress], wires.now)
            && !self.would_underrun(wires, ingress, egress, handle)
            && wires.credits.take_if_available(egress, demand.priority(), demand.units())
    }

    /// Puts an input queue into the list of the output that its first packet wants, and serves that output.
    fn wait_for_output(
        &mut self,
        wires: &mut Wires,
        input: InputQueueIndex,
        egress: PortIndex,
        handle: Handle,
        demand: Demand,
    ) {
        self.crossbars.enlist(input, egress, demand);
        wires.credits.ports[egress].lacking_min = 0;
        let ingress = input.port();
        if self.would_underrun(wires, ingress, egress, handle) {
            let port = &mut self.crossbars.ports[ingress];
            port.input_free = port.tail;
            return self.wake_input(wires, ingress);
        }
        self.serve_output(wires, egress);
    }

    /// Whether a packet whose tail is not in would leave by a faster link than it comes by.
    #[inline(always)]
    fn would_underrun(&self, wires: &Wires, ingress: PortIndex, egress: PortIndex, handle: Handle) -> bool {
        wires.constants.rates_differ && self.underruns(wires, ingress, egress, handle)
    }

    #[inline(never)]
    fn underruns(&self, wires: &Wires, ingress: PortIndex, egress: PortIndex, handle: Handle) -> bool {
        let input = &self.crossbars.ports[ingress];
        let is_coming = input.newest == handle && input.tail > wires.now;
        is_coming && wires.ports[egress].is_faster_than(&wires.ports[ingress])
    }

    /// Grants one of the input queues that wait for a free output, if one may go.
    #[inline(always)]
    fn serve_output(&mut self, wires: &mut Wires, egress: PortIndex) {
        let output = &self.crossbars.ports[egress];
        if output.first == END {
            return;
        }
        if output.output_free > wires.now {
            if !output.output_wakes {
                self.wake_output(wires, egress);
            }
            return;
        }
        if wires.credits.ports[egress].lacking_min == 0 {
            self.serve_waiting(wires, egress);
        }
    }

    #[inline(never)]
    fn serve_waiting(&mut self, wires: &mut Wires, egress: PortIndex) {
        let output = &wires.ports[egress];
        if !self.crossbars.has_room(output, wires.now) {
            if !output.free_scheduled {
                self.kick(wires, egress);
            }
            return;
        }
        if let Some(input) = self.choose(wires, egress) {
            let demand = self.crossbars.unlist(input);
            wires.credits.take_for(egress, demand.priority(), demand.units());
            self.take_from_input(wires, input, egress, demand);
        }
    }

    /// Chooses, of the input queues that wait for an output and may go, the one to serve. Those that lack credits begin
    /// to wait for them: if all do, nothing goes before so many have come.
    fn choose(&mut self, wires: &mut Wires, egress: PortIndex) -> Option<InputQueueIndex> {
        let (mut least, mut chosen, mut lacking) = (u64::MAX, END, 0u8);
        let (mut lacking_min, mut is_input_busy) = (u32::MAX, false);
        let (credits, mut next) = (&wires.credits.ports[egress], self.crossbars.ports[egress].first);
        while next != END && least > 0 {
            let (input, InputQueue { demand, behind, .. }) = (next, self.crossbars.queues[next]);
            next = behind;
            if self.crossbars.ports[input.port()].input_free > wires.now {
                is_input_busy = true;
                continue;
            }
            if credits.channels[usize::from(demand.priority())].available < demand.units() {
                lacking |= 1 << demand.priority();
                lacking_min = lacking_min.min(demand.units());
                continue;
            }
            let turn = self.crossbars.turn_of(input, egress);
            if turn < least {
                (least, chosen) = (turn, input);
            }
        }
        priorities(lacking).for_each(|priority| wires.credits.begin_wait(egress, priority as u8, wires.now));
        if chosen == END && !is_input_busy {
            wires.credits.ports[egress].lacking_min = lacking_min;
        }
        (chosen != END).then_some(chosen)
    }

    /// Sends the first packet of an input queue, which has its credits, through the crossbar to an output.
    #[inline(never)]
    fn take_from_input(&mut self, wires: &mut Wires, input: InputQueueIndex, egress: PortIndex, demand: Demand) {
        let packet = self.dequeue_input(wires, input);
        self.grant(wires, input, egress, packet, demand);
    }

    /// Sends a packet that has left an input queue, and has its credits, through the crossbar to an output.
    #[inline(always)]
    fn grant(
        &mut self,
        wires: &mut Wires,
        input: InputQueueIndex,
        egress: PortIndex,
        packet: BufferedPacket,
        demand: Demand,
    ) {
        let (ingress, BufferedPacket { handle, wire, .. }) = (input.port(), packet);
        if cfg!(debug_assertions) {
            self.crossbars.meters[ingress].leave(wires.now, handle);
        }
        let port = &mut self.crossbars.ports[ingress];
        let until_tail = if port.newest == handle { port.tail.since(wires.now) } else { Duration::ZERO };
        let free = wires.now + port.byte.of(wire).max(until_tail);
        port.input_free = free;
        port.turn = (input.priority() + 1) % Priority::COUNT as u8;
        let (must_wake_input, number) = (port.occupied != 0 && !port.input_wakes, port.number);
        port.input_wakes |= must_wake_input;
        let must_wake_output = self.crossbars.serve(egress, number, free, wires.now);
        self.report_queue(wires, egress, demand.priority());
        if must_wake_input {
            wires.schedule_at(free, ingress, Kind::CrossbarFree, INPUT);
        }
        if must_wake_output {
            wires.schedule_at(free, egress, Kind::CrossbarFree, OUTPUT);
        }
        self.enter_output(wires, input, egress, packet, demand.priority());
    }

    #[inline(always)]
    fn dequeue_input(&mut self, wires: &mut Wires, input: InputQueueIndex) -> BufferedPacket {
        let queue = &mut self.crossbars.queues[input].packets;
        // It is read before anything is written, so that it is looked up once.
        let packet = BufferedPacket::of(wires, queue.first());
        queue.dequeue(&wires.packets);
        if queue.is_empty() {
            self.crossbars.ports[input.port()].occupied &= !(1 << input.priority());
        }
        packet
    }

    /// A packet that has its credits goes to its link, or waits for it in the queue of the output.
    #[inline(always)]
    fn enter_output(
        &mut self,
        wires: &mut Wires,
        input: InputQueueIndex,
        egress: PortIndex,
        packet: BufferedPacket,
        priority: u8,
    ) {
        let port = &mut wires.ports[egress];
        if port.busy_until <= wires.now && port.waiting == 0 && !port.free_scheduled {
            return self.leave_output(wires, input, egress, packet, false);
        }
        if !packet.is_held {
            wires.credits.hold_for(input.port(), input.priority(), packet.units);
        }
        let port = &wires.ports[egress];
        let is_awaited = port.free_scheduled;
        let class = wires.constants.scheduler.class(priority);
        wires.ports[egress].enqueue(class, &mut wires.packets, packet.handle);
        if !is_awaited {
            self.kick(wires, egress);
        }
    }

    /// Puts a packet on the wire; its room in the buffer of its input is free.
    #[inline(always)]
    fn leave_output(
        &mut self,
        wires: &mut Wires,
        input: InputQueueIndex,
        egress: PortIndex,
        packet: BufferedPacket,
        others_wait: bool,
    ) {
        self.rewrite(wires, egress, packet.handle);
        wires.start(egress, packet.handle, others_wait);
        match packet.is_held {
            true => wires.free_credits(input.port(), input.priority(), packet.units, wires.now),
            false => wires.pass_credits(input.port(), input.priority(), packet.units, wires.now),
        }
    }

    /// The link of an output is free.
    #[inline(never)]
    pub fn transmit_from_output(&mut self, wires: &mut Wires, egress: PortIndex) {
        let waiting = wires.ports[egress].waiting;
        if waiting != 0 {
            let (handle, others_wait) = wires.take_next(egress, waiting);
            let packet = BufferedPacket::of(wires, handle);
            let input = InputQueueIndex::of(wires.packets[handle].ingress, packet.priority);
            self.leave_output(wires, input, egress, packet, others_wait);
        }
        self.serve_output(wires, egress);
    }

    /// Credits of an output have come back, which its first packet may have awaited.
    #[inline(always)]
    pub fn credits_at_output(&mut self, wires: &mut Wires, egress: PortIndex, priority: u8, is_awaited: bool) {
        self.report_queue(wires, egress, priority);
        let credits = &mut wires.credits.ports[egress];
        let is_short = credits.channels[usize::from(priority)].available < credits.lacking_min;
        if is_short && self.still_waits(wires, egress, priority) {
            return;
        }
        wires.credits.ports[egress].lacking_min = 0;
        if is_awaited {
            wires.credits.end_wait(egress, priority, wires.now);
        }
        self.serve_output(wires, egress);
    }

    /// Whether a packet of a priority could leave by an output, which has room, but for its credits.
    fn still_waits(&self, wires: &Wires, egress: PortIndex, priority: u8) -> bool {
        let crossbars = &self.crossbars;
        let is_free = |input: InputQueueIndex| crossbars.ports[input.port()].input_free <= wires.now;
        let waits = |input| crossbars.queues[input].demand.priority() == priority && is_free(input);
        crossbars.waiting(egress).any(waits)
    }

    fn wake_input(&mut self, wires: &mut Wires, port: PortIndex) {
        let state = &mut self.crossbars.ports[port];
        if !std::mem::replace(&mut state.input_wakes, true) {
            let time = state.input_free;
            wires.schedule_at(time, port, Kind::CrossbarFree, INPUT);
        }
    }

    fn wake_output(&mut self, wires: &mut Wires, port: PortIndex) {
        let state = &mut self.crossbars.ports[port];
        if !std::mem::replace(&mut state.output_wakes, true) {
            let time = state.output_free;
            wires.schedule_at(time, port, Kind::CrossbarFree, OUTPUT);
        }
    }

    /// Output of the first packet of an input queue, with the priority that it has there, if the queue waits
    /// for that output; `None` of an empty queue.
    pub fn head_of_input(&self, input: PortIndex, priority: u8) -> Option<Option<(PortIndex, u8)>> {
        let queue = &self.crossbars.queues[InputQueueIndex::of(input, priority)];
        if queue.packets.is_empty() {
            return None;
        }
        Some(queue.is_waiting().then_some((queue.egress, queue.demand.priority())))
    }

    /// Returns the bytes in input queues whose first packet wants to leave by a port with a priority, as buffers count.
    pub fn bytes_waiting_for(&self, egress: PortIndex, priority: usize) -> u32 {
        let crossbars = &self.crossbars;
        let queues = crossbars.waiting(egress).map(|input| &crossbars.queues[input]);
        let wanting = queues.filter(|queue| usize::from(queue.demand.priority()) == priority);
        wanting.map(|queue| queue.packets.bytes).sum()
    }

    /// Credits that packets in the queue of an output have taken, by priority.
    pub fn granted(&self, wires: &Wires, egress: PortIndex) -> [u32; Priority::COUNT] {
        let mut units = [0; Priority::COUNT];
        let port = &wires.ports[egress];
        let is_output = self.crossbars.are_used() && wires.host_of_port(egress).is_none();
        for class in priorities(if is_output { port.waiting } else { 0 }) {
            let next = |&handle: &Handle| Some(wires.packets[handle].next).filter(|&next| next != NO_PACKET);
            for handle in std::iter::successors(Some(port.first(class)), next) {
                let priority = usize::from(wires.next_priority(egress, handle));
                units[priority] += wires.credits.units(priority as u8, wires.next_wire(egress, handle));
            }
        }
        units
    }
}
