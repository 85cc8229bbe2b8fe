//! A packet's way through a switch: the lists of those that wait, and what a grant does.

use crate::packet::NONE;
use crate::port::{END, Head};
use crate::routing::Routing;
use crate::shard::Shard;
use crate::tally::Delivery;
use crate::world::World;

impl Shard {
    /// Puts an input channel behind those that wait for the same output channel.
    pub fn enlist(&mut self, input: usize, base: usize) {
        let (out, output) = self.wanted(input, base);
        let first_input = base << self.shift;
        let own = (input - first_input) as u16;
        let before = std::mem::replace(&mut self.outputs[output].last, own);
        match before {
            END => self.outputs[output].first = own,
            before => self.inputs[first_input + usize::from(before)].behind = own,
        }
        let head = &mut self.inputs[input];
        (head.before, head.behind, head.state, head.since) = (before, END, Head::Waiting, self.now as u32);
        self.ports[out].waiting += 1;
    }

    /// Takes an input channel from the list where it waits.
    pub fn unlist(&mut self, input: usize, base: usize) {
        let (out, output) = self.wanted(input, base);
        let first_input = base << self.shift;
        let (before, behind) = (self.inputs[input].before, self.inputs[input].behind);
        match before {
            END => self.outputs[output].first = behind,
            before => self.inputs[first_input + usize::from(before)].behind = behind,
        }
        match behind {
            END => self.outputs[output].last = before,
            behind => self.inputs[first_input + usize::from(behind)].before = before,
        }
        self.ports[out].waiting -= 1;
    }

    /// The first in the list of an output channel whose input is idle, when the channel has credit.
    pub fn first_able(&self, output: usize, base: usize) -> Option<usize> {
        let channel = self.outputs[output];
        if channel.credits == 0 {
            return None;
        }
        let first_input = base << self.shift;
        let mut next = channel.first;
        while next != END {
            let input = first_input + usize::from(next);
            if self.ports[input >> self.shift].input_free <= self.now {
                return Some(input);
            }
            next = self.inputs[input].behind;
        }
        None
    }

    /// Sends the first packet of an input channel through the crossbar to the output it wants, which takes it.
    ///
    /// Nothing can come between the packet and its link, so its way to the next switch is settled here: it leaves the
    /// output queue `crossbar` after this, or when the packets before it are gone.
    pub fn grant<R: Routing>(&mut self, world: &World<'_, R>, input: usize, base: usize) {
        let (out, output) = self.wanted(input, base);
        let id = self.dequeue(input);
        let length = self.crossing(world, id);
        let port = input >> self.shift;
        self.ports[port].input_free = self.now + length;
        if self.ports[port].held > 0 {
            self.wake_input(port);
        }
        let leaves = self.occupy(world, out, length);
        if !self.is_to_host(port) {
            let from = &self.ports[port];
            let channel = input - (port << self.shift);
            let upstream = (from.peer << self.shift) + channel as u32;
            self.return_credit(leaves + u64::from(from.delay), from.peer_shard, upstream);
        }
        self.tally.hops += 1;
        if self.is_to_host(out) {
            self.deliver(world, id, leaves);
        } else {
            self.forward(output, leaves, id);
            self.sense(world, output);
        }
    }

    fn dequeue(&mut self, input: usize) -> u32 {
        let queue = &mut self.inputs[input];
        let id = queue.first;
        queue.state = Head::Undecided;
        queue.first = self.slab.get(id).next;
        if queue.first == NONE {
            queue.last = NONE;
        }
        let port = input >> self.shift;
        let channel = input - (port << self.shift);
        let turn = if channel + 1 == self.channels { 0 } else { channel as u8 + 1 };
        self.ports[port].turn = turn;
        self.ports[port].held -= 1;
        id
    }

    /// How long a packet takes through the crossbar: no shorter than its tail needs to come in.
    fn crossing<R>(&mut self, world: &World<'_, R>, id: u32) -> u64 {
        let age = (self.now as u32).wrapping_sub(self.slab.get(id).entered);
        world.ticks.crossing.max(world.ticks.packet.saturating_sub(u64::from(age)))
    }

    /// Takes an output for a packet; says when the packet's head leaves by the link.
    fn occupy<R>(&mut self, world: &World<'_, R>, out: usize, length: u64) -> u64 {
        let port = &mut self.ports[out];
        port.crossbar_free = self.now + length;
        let leaves = port.link_free.max(self.now + world.ticks.crossbar);
        port.link_free = leaves + world.ticks.packet;
        if port.waiting > 0 {
            self.wake_output(world, out);
        }
        leaves
    }

    fn forward(&mut self, output: usize, leaves: u64, id: u32) {
        self.outputs[output].credits -= 1;
        let out = output >> self.shift;
        let port = &self.ports[out];
        let packet = self.slab.get(id);
        packet.hops += 1;
        packet.place = (port.peer << self.shift) + (output - (out << self.shift)) as u32;
        self.send(leaves + u64::from(port.delay), port.peer_shard, id);
    }

    fn deliver<R>(&mut self, world: &World<'_, R>, id: u32, leaves: u64) {
        let packet = self.slab.remove(id);
        let at = leaves + world.ticks.packet + world.ticks.ejection;
        let delivery = Delivery {
            at,
            host: packet.dst,
            latency: (at as u32).wrapping_sub(packet.born),
            hops: packet.hops + 1,
            is_detoured: packet.is_detoured,
        };
        self.tally.deliver(&delivery, world.measured.clone());
    }
}
