//! Flow control by pauses, as in PFC: input buffers pause the far end, output queues obey.
//!
//! ```text
//!   crossbar ──► queue of a channel ──► link ──► buffer of the channel
//!                     ▲                              │ XOFF at the threshold, XON below it
//!                     └───────── after its delay ────┘
//! ```
//!
//! With credits a grant fixes the path to the next switch. A pause may arrive before, so that here a packet waits in
//! the queue of its output channel until its link is free and not paused.

use crate::{constants::RunConstants, packet::NONE, switches::Switches, wires::KIND_SHIFT, wires::SEND};
use etherweave_routing::PacketRouting;

impl Switches {
    /// Puts a packet that was granted into the queue of its output channel, where its head will be after the crossbar.
    pub fn enqueue<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, port: usize, output: usize, id: u32) {
        let out = output >> self.shift;
        let through = self.through(constants, port, out, id);
        self.outputs[output].credits -= 1;
        let packet = self.wires.slab.get(id);
        (packet.entered, packet.next) = (through, NONE);
        let queue = &mut self.pauses.queues[output];
        let behind = std::mem::replace(&mut queue.last, id);
        if queue.first == NONE {
            queue.first = id;
        } else {
            self.wires.slab.get(behind).next = id;
        }
        self.send_next(constants, out);
    }

    /// Sends a packet of a port whose link is free, of the channel that the scheduler prefers.
    pub fn send_next<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, out: usize) {
        if self.ports[out].link_free > self.wires.now {
            self.wake_sender(out, self.ports[out].link_free);
            return;
        }
        let turn = usize::from(self.pauses.senders[out].turn);
        let mut soonest = u32::MAX;
        for place in 0..self.channels {
            let channel = constants.params.scheduler.channel(place, turn, self.channels);
            let output = (out << self.shift) + channel;
            let queue = &self.pauses.queues[output];
            if queue.first == NONE || queue.is_paused {
                continue;
            }
            let ready = self.wires.slab.get(queue.first).entered;
            if ready <= self.wires.now {
                self.transmit(constants, out, output);
                return;
            }
            soonest = soonest.min(ready);
        }
        if soonest != u32::MAX {
            self.wake_sender(out, soonest);
        }
    }

    fn wake_sender(&mut self, out: usize, at: u32) {
        let sender = &mut self.pauses.senders[out];
        if sender.wakes <= self.wires.now || at < sender.wakes {
            sender.wakes = at;
            self.wires.wheel.put(at, SEND << KIND_SHIFT | out as u32);
        }
    }

    fn transmit<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, out: usize, output: usize) {
        let queue = &mut self.pauses.queues[output];
        let id = queue.first;
        let packet = self.wires.slab.get(id);
        let input = packet.place as usize;
        queue.first = packet.next;
        let channel = output - (out << self.shift);
        self.pauses.senders[out].turn = if channel + 1 == self.channels { 0 } else { channel as u8 + 1 };
        let port = &mut self.ports[out];
        port.occupy(self.wires.now, constants.link(port.link).packet, &self.wires.span);
        self.release(constants, input);
        if self.is_to_host(out) {
            self.deliver(constants, id, out, self.wires.now);
        } else {
            self.depart(output, self.wires.now, id);
        }
        self.wake_sender(out, self.ports[out].link_free);
        self.credit(constants, output);
    }

    /// A packet has arrived in an input buffer.
    pub fn store<R>(&mut self, constants: &RunConstants<'_, R>, input: usize) {
        let port = input >> self.shift;
        let class = self.ports[port].class;
        let Some(thresholds) = constants.link(self.ports[port].link).thresholds else { return };
        let buffer = &mut self.pauses.buffers[input];
        buffer.held += 1;
        assert!(
            u32::from(buffer.held) <= constants.params.buffer(class),
            "a buffer that pauses its sender never overflows"
        );
        if !buffer.is_off && buffer.held >= thresholds.xoff {
            buffer.is_off = true;
            self.send_pause(input, true);
        }
    }

    /// A packet has left the switch that it entered by an input buffer.
    fn release<R>(&mut self, constants: &RunConstants<'_, R>, input: usize) {
        let Some(thresholds) = constants.link(self.ports[input >> self.shift].link).thresholds else { return };
        let buffer = &mut self.pauses.buffers[input];
        buffer.held -= 1;
        if buffer.is_off && buffer.held <= thresholds.xon {
            buffer.is_off = false;
            self.send_pause(input, false);
        }
    }

    /// Sends a pause or resume to the far end of an input channel.
    fn send_pause(&mut self, input: usize, is_paused: bool) {
        let from = &self.ports[input >> self.shift];
        let channel = input - (input >> self.shift << self.shift);
        let output = (from.peer << self.shift) + channel as u32;
        self.wires.post_pause(
            self.wires.now + u32::from(from.delay),
            from.peer_shard,
            2 * output + u32::from(is_paused),
        );
    }

    /// An output channel receives a pause or resume.
    pub fn obey<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, output: usize, is_paused: bool) {
        let (now, span) = (self.wires.now, self.wires.span.clone());
        let queue = &mut self.pauses.queues[output];
        if is_paused {
            queue.since = now;
        } else {
            queue.paused += now.clamp(span.start, span.end) - queue.since.clamp(span.start, span.end);
        }
        queue.is_paused = is_paused;
        self.send_next(constants, output >> self.shift);
    }
}

#[cfg(test)]
pub(crate) mod tests;
