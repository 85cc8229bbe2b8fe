//! Switches behind their ports: what arrives at inputs, waits there, and is granted outputs.

use std::ops::Range;

use etherweave_kernel::QueueMeter;
use etherweave_topology::LinkClass;

use crate::port::{HeadState, Input, Output, Pauses, Port};
use crate::wires::{INPUT_FREE, KIND_SHIFT, MARK, OUTPUT_FREE, Wires};
use crate::{
    constants::RunConstants, load_view::SwitchLoad, notification::Notifications, packet::NONE,
    reordering::WatchedArrival,
};
use etherweave_routing::{InputChannel, PacketRouting};

/// Switches `first_switch..` of a shard.
pub(crate) struct Switches {
    /// Packets and credits between them.
    pub wires: Wires,
    pub first_switch: u32,
    /// Ports of every switch.
    pub radix: usize,
    /// Before it no switch has a global port.
    pub first_global: usize,
    /// Virtual channels of every port.
    pub channels: usize,
    /// Channels of port `n` are `n << shift` and on.
    pub shift: u32,
    pub ports: Vec<Port>,
    /// When each output last served each input of its switch [ticks], by output and input; empty where
    /// the arbiter does not ask.
    pub served: Vec<u32>,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    /// Meters by port; empty where nothing is asserted.
    pub meters: Vec<QueueMeter>,
    pub pauses: Pauses,
    pub notifications: Notifications,
    /// First ports of the switches that match inputs and outputs at the end of this instant.
    pub to_allocate: Vec<u32>,
    /// Outputs and the input channels that ask for them, while a switch matches them.
    pub asking: Vec<(u32, u32)>,
    /// Packets at watched hosts in the measured time.
    pub arrivals_watched: Vec<WatchedArrival>,
}

impl Switches {
    /// A packet's head is at the input it goes to.
    pub fn arrive<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, id: u32) {
        let input = self.wires.slab.get(id).place as usize;
        if self.ports[input >> self.shift].fails && self.is_cut(constants, input >> self.shift) {
            self.lose(constants, id);
            return;
        }
        let packet = self.wires.slab.get(id);
        packet.entered = self.wires.now;
        packet.next = NONE;
        self.store(constants, input);
        let port = input >> self.shift;
        if cfg!(debug_assertions) {
            self.meters[port].enter(self.wires.now.into(), self.ports[port].held.into());
        }
        self.ports[port].held += 1;
        let queue = &mut self.inputs[input];
        let behind = std::mem::replace(&mut queue.last, id);
        if queue.first != NONE {
            self.wires.slab.get(behind).next = id;
            return;
        }
        queue.first = id;
        if self.ports[port].input_free > self.wires.now {
            self.wake_input(port);
        } else {
            self.advance(constants, input);
        }
    }

    /// Whether the link of a port was down while the packet that arrives now was on it.
    fn is_cut<R>(&self, constants: &RunConstants<'_, R>, port: usize) -> bool {
        let from = &self.ports[port];
        let switch = self.first_switch + u32::from(from.home);
        let delay = if self.is_to_host(port) { constants.link(from.link).injection } else { u32::from(from.delay) };
        let sent = self.wires.now - delay;
        constants.outages.touch(switch, port - self.base(port), sent..=self.wires.now)
    }

    /// Drops a packet; with credits, its credit is returned as if it had crossed the switch.
    fn lose<R>(&mut self, constants: &RunConstants<'_, R>, id: u32) {
        let input = self.wires.slab.remove(id).place as usize;
        self.wires.tally.lose(self.wires.now);
        let port = input >> self.shift;
        if !constants.has_pauses && !self.is_to_host(port) {
            let from = &self.ports[port];
            let upstream = (from.peer << self.shift) + (input - (port << self.shift)) as u32;
            let at = self.wires.now + constants.crossbar + u32::from(from.delay);
            self.wires.return_credit(at, from.peer_shard, upstream);
        }
    }

    /// The crossbar is free for an input: its channels take turns.
    pub fn input_free<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, port: usize) {
        self.ports[port].input_wakes = false;
        if self.ports[port].input_free > self.wires.now {
            self.wake_input(port);
            return;
        }
        let turn = usize::from(self.ports[port].turn);
        for channel in (turn..self.channels).chain(0..turn) {
            let input = (port << self.shift) + channel;
            if self.inputs[input].first != NONE && self.advance(constants, input) {
                return;
            }
        }
    }

    /// Grants the first packet of an idle input's queue if it is eligible and no other waits; enlists it if
    /// not. Returns whether the input is busy then.
    fn advance<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, input: usize) -> bool {
        let port = input >> self.shift;
        let base = self.base(port);
        let is_new = self.inputs[input].state == HeadState::Undecided;
        if is_new {
            self.decide(constants, input, base);
        }
        let (out, channel) = self.wanted(input, base);
        let is_open = self.is_open(constants, out);
        let is_greedy = constants.params.allocation_rounds.is_none();
        if is_greedy && is_new && is_open && self.outputs[channel].credits > 0 && self.ports[out].waiting == 0 {
            self.grant(constants, input, base);
            return true;
        }
        if is_new {
            self.enlist(input, base);
        }
        if is_open {
            self.serve_output(constants, out);
        } else {
            self.wake_output(constants, out);
        }
        self.ports[port].input_free > self.wires.now
    }

    fn decide<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, input: usize, base: usize) {
        let port = input >> self.shift;
        // Queues of a host are no virtual channels.
        let channel = if self.is_to_host(port) { 0 } else { (input - (port << self.shift)) as u8 };
        let at = InputChannel {
            switch: self.first_switch + u32::from(self.ports[port].home),
            port: (port - base) as u8,
            channel,
            class: self.ports[port].class,
        };
        let load = SwitchLoad {
            ports: &self.ports,
            outputs: &self.outputs,
            base,
            radix: self.radix,
            first_switch: self.first_switch,
            room: constants.rooms(),
            shift: self.shift,
            channel_last: constants.channel_last,
            queues: &self.pauses.queues,
            notifications: constants.notifications.as_ref().map(|plan| (plan, &self.notifications)),
            now: self.wires.now,
            links: &constants.links,
            outages: &constants.outages,
        };
        let head = &mut self.inputs[input];
        let hop = constants.routing.decide(at, &mut self.wires.slab.get(head.first).route, load);
        debug_assert!(hop.channel < constants.routing.channels(), "a routing keeps to its channels");
        (head.port, head.channel) = (hop.port, hop.channel.min(constants.channel_last));
    }

    #[inline]
    fn base(&self, port: usize) -> usize {
        usize::from(self.ports[port].home) * self.radix
    }

    /// The output port and output channel that the first packet of an input wants.
    #[inline]
    pub fn wanted(&self, input: usize, base: usize) -> (usize, usize) {
        let head = &self.inputs[input];
        let out = base + usize::from(head.port);
        (out, (out << self.shift) + usize::from(head.channel))
    }

    /// Whether an output takes a packet from the crossbar.
    pub fn is_open<R>(&self, constants: &RunConstants<'_, R>, out: usize) -> bool {
        let out = &self.ports[out];
        out.crossbar_free <= self.wires.now && out.link_free <= self.wires.now + constants.link(out.link).full
    }

    /// The far end of an output channel has room for one more.
    pub fn credit<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, output: usize) {
        let out = output >> self.shift;
        let channel = &mut self.outputs[output];
        channel.credits += 1;
        assert!(channel.credits <= constants.room(self.ports[out].class), "no buffer gives more room than it has");
        self.sense(constants, output);
        let channel = &self.outputs[output];
        // Before this credit there was none, or the waiting inputs wait for something else.
        if channel.credits == 1 && self.ports[out].waiting > 0 {
            self.serve_output(constants, out);
        }
    }

    /// Grants one of the inputs that wait for a free output, if one is eligible.
    pub fn serve_output<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, out: usize) {
        if self.ports[out].waiting == 0 {
            return;
        }
        if !self.is_open(constants, out) {
            self.wake_output(constants, out);
            return;
        }
        let base = self.base(out);
        if constants.params.allocation_rounds.is_some() {
            self.allocate_later(base);
        } else if let Some(input) = self.next_input(constants.params, out, base) {
            self.unlist(input, base);
            self.grant(constants, input, base);
        }
    }

    fn allocate_later(&mut self, base: usize) {
        if !self.to_allocate.contains(&(base as u32)) {
            self.to_allocate.push(base as u32);
        }
    }

    /// Marks the global ports of a switch after the credits of one have changed.
    pub fn sense<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, output: usize) {
        let out = output >> self.shift;
        let Some(saturation) = constants.routing.saturation() else { return };
        if self.ports[out].class != LinkClass::Global || output != out << self.shift {
            return;
        }
        let base = self.base(out);
        let room = u32::from(constants.room(LinkClass::Global));
        let own = base + self.first_global..base + self.radix;
        let channels = self.outputs[own.start << self.shift..own.end << self.shift].iter().step_by(1 << self.shift);
        let global = self.ports[own.clone()].iter().zip(channels).filter(|(port, _)| port.class == LinkClass::Global);
        let (mut count, mut sum, mut held_max, mut has_marks) = (0, 0, 0, false);
        for (port, channel) in global {
            let held = room - u32::from(channel.credits);
            (count, sum, held_max, has_marks) =
                (count + 1, sum + held, held_max.max(held), has_marks | port.is_saturated);
        }
        // 100 · count · (held − packets) > mean_percent · sum, in whole packets.
        let limit = saturation.packets + saturation.mean_percent * sum / (100 * count);
        if has_marks || held_max > limit {
            self.mark(constants, own, room, limit);
        }
    }

    /// Marks the global ports among those of a switch that hold more than a limit, and no others.
    fn mark<R>(&mut self, constants: &RunConstants<'_, R>, own: Range<usize>, room: u32, limit: u32) {
        for port in own {
            let held = room.saturating_sub(u32::from(self.outputs[port << self.shift].credits));
            let is_saturated = self.ports[port].class == LinkClass::Global && held > limit;
            if std::mem::replace(&mut self.ports[port].is_saturated, is_saturated) != is_saturated {
                let mark = 2 * port as u32 + u32::from(is_saturated);
                self.wires.wheel.put(self.wires.now + constants.local_delay(), MARK << KIND_SHIFT | mark);
            }
        }
    }

    #[inline]
    pub fn wake_input(&mut self, port: usize) {
        if !std::mem::replace(&mut self.ports[port].input_wakes, true) {
            self.wires.wheel.put(self.ports[port].input_free, INPUT_FREE << KIND_SHIFT | port as u32);
        }
    }

    pub fn wake_output<R>(&mut self, constants: &RunConstants<'_, R>, out: usize) {
        let port = &self.ports[out];
        self.wake_output_at(out, port.crossbar_free.max(port.link_free.saturating_sub(constants.link(port.link).full)));
    }

    #[inline]
    pub fn wake_output_at(&mut self, out: usize, at: u32) {
        if !std::mem::replace(&mut self.ports[out].output_wakes, true) {
            self.wires.wheel.put(at, OUTPUT_FREE << KIND_SHIFT | out as u32);
        }
    }

    /// Whether a port leads to a host.
    #[inline]
    pub fn is_to_host(&self, port: usize) -> bool {
        self.ports[port].class == LinkClass::Host
    }

    /// Before a port holds one packet less, which has waited so long.
    #[inline]
    pub fn meter_departure(&mut self, port: usize, waited: u32) {
        if cfg!(debug_assertions) {
            self.meters[port].leave(self.wires.now.into(), self.ports[port].held.into(), waited.into());
        }
    }
}
