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

use etherweave_topology::LinkClass;

use crate::constants::RunConstants;
use crate::packet::NONE;
use crate::params::Ticks;
use crate::routing::Routing;
use crate::shard::{KIND_SHIFT, SEND, Shard};

/// XOFF and XON thresholds of the input buffers of a class of links [packets per channel].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PauseThresholds {
    pub xoff: u16,
    pub xon: u16,
}

impl PauseThresholds {
    /// Room is left for what is on the link, what is sent until the pause arrives, and a packet that has just begun.
    /// Absent when the buffer has no room for that.
    pub fn of(buffer: u32, below: u32, class: LinkClass, ticks: &Ticks) -> Option<PauseThresholds> {
        let headroom = 2 * ticks.delay(class) / ticks.packet + 1;
        let xoff = buffer.checked_sub(headroom).filter(|&xoff| xoff > 0)?;
        Some(PauseThresholds { xoff: xoff as u16, xon: xoff.saturating_sub(below) as u16 })
    }
}

/// What pauses need; all empty where credits are used.
#[derive(Default)]
pub(crate) struct Pauses {
    /// By output channel.
    pub queues: Vec<Queue>,
    /// By input channel.
    buffers: Vec<Buffer>,
    /// By port.
    senders: Vec<PortSender>,
}

/// Packets that wait for the link of an output channel, and whether it may send.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    first: u32,
    last: u32,
    pub is_paused: bool,
    /// Since when it is paused [ticks].
    since: u32,
    /// How long it was paused in the measured time, until it last went on [ticks].
    paused: u32,
}

/// Packets that arrived and have not left the switch.
#[derive(Clone, Copy, Default)]
struct Buffer {
    held: u16,
    /// Whether the far end is paused.
    is_off: bool,
}

#[derive(Clone, Copy, Default)]
struct PortSender {
    /// The next event of this port [ticks]; in the past, there is none.
    wakes: u32,
    /// The channel whose turn it is.
    turn: u8,
}

impl Pauses {
    /// For so many ports, with their channels.
    pub fn new(ports: usize, channels: usize) -> Pauses {
        let queue = Queue { first: NONE, last: NONE, is_paused: false, since: 0, paused: 0 };
        Pauses {
            queues: vec![queue; channels],
            buffers: vec![Buffer::default(); channels],
            senders: vec![PortSender::default(); ports],
        }
    }

    fn are_used(&self) -> bool {
        !self.queues.is_empty()
    }
}

impl Queue {
    /// How long the queue was paused within a span, at its end [ticks].
    pub fn paused_until(&self, span: &std::ops::Range<u32>) -> u32 {
        let lasts = if self.is_paused { span.end - self.since.clamp(span.start, span.end) } else { 0 };
        self.paused + lasts
    }
}

impl Shard {
    /// Puts a packet that was granted into the queue of its output channel, where its head will be after the crossbar.
    pub fn enqueue<R: Routing>(&mut self, constants: &RunConstants<'_, R>, out: usize, output: usize, id: u32) {
        self.outputs[output].credits -= 1;
        let packet = self.slab.get(id);
        (packet.entered, packet.next) = (self.now + constants.ticks.crossbar, NONE);
        let queue = &mut self.pauses.queues[output];
        let behind = std::mem::replace(&mut queue.last, id);
        if queue.first == NONE {
            queue.first = id;
        } else {
            self.slab.get(behind).next = id;
        }
        self.send_next(constants, out);
    }

    /// Sends a packet of a port whose link is free: channels take turns.
    pub fn send_next<R: Routing>(&mut self, constants: &RunConstants<'_, R>, out: usize) {
        if self.ports[out].link_free > self.now {
            self.wake_sender(out, self.ports[out].link_free);
            return;
        }
        let turn = usize::from(self.pauses.senders[out].turn);
        let mut soonest = u32::MAX;
        for channel in (turn..self.channels).chain(0..turn) {
            let output = (out << self.shift) + channel;
            let queue = &self.pauses.queues[output];
            if queue.first == NONE || queue.is_paused {
                continue;
            }
            let ready = self.slab.get(queue.first).entered;
            if ready <= self.now {
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
        if sender.wakes <= self.now || at < sender.wakes {
            sender.wakes = at;
            self.wheel.put(at, SEND << KIND_SHIFT | out as u32);
        }
    }

    fn transmit<R: Routing>(&mut self, constants: &RunConstants<'_, R>, out: usize, output: usize) {
        let queue = &mut self.pauses.queues[output];
        let id = queue.first;
        let packet = self.slab.get(id);
        let input = packet.place as usize;
        queue.first = packet.next;
        let channel = output - (out << self.shift);
        self.pauses.senders[out].turn = if channel + 1 == self.channels { 0 } else { channel as u8 + 1 };
        let port = &mut self.ports[out];
        port.link_free = self.now + constants.ticks.packet;
        port.sent += u32::from(self.span.contains(&self.now));
        self.release(constants, input);
        if self.is_to_host(out) {
            self.deliver(constants, id, out, self.now);
        } else {
            self.depart(output, self.now, id);
        }
        self.wake_sender(out, self.ports[out].link_free);
        self.credit(constants, output);
    }

    /// A packet has arrived in an input buffer.
    pub fn store<R>(&mut self, constants: &RunConstants<'_, R>, input: usize) {
        let port = input >> self.shift;
        let class = self.ports[port].class;
        let Some(thresholds) = constants.pause_threshold(class).filter(|_| self.pauses.are_used()) else { return };
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
        let Some(thresholds) = constants.pause_threshold(self.ports[input >> self.shift].class) else { return };
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
        self.post_pause(self.now + u32::from(from.delay), from.peer_shard, 2 * output + u32::from(is_paused));
    }

    /// An output channel receives a pause or resume.
    pub fn obey<R: Routing>(&mut self, constants: &RunConstants<'_, R>, output: usize, is_paused: bool) {
        let (now, span) = (self.now, self.span.clone());
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
mod tests {
    use super::*;
    use crate::SwitchParams;

    #[test]
    fn headroom_is_what_two_delays_bring_and_one_packet_more() {
        // 200 ns a packet: 2 x 40 ns bring none more, 2 x 400 ns four.
        let ticks = SwitchParams::default().ticks().unwrap();
        let thresholds = |buffer, class| PauseThresholds::of(buffer, 2, class, &ticks);
        assert_eq!(thresholds(32, LinkClass::Local), Some(PauseThresholds { xoff: 31, xon: 29 }));
        assert_eq!(thresholds(64, LinkClass::Global), Some(PauseThresholds { xoff: 59, xon: 57 }));
        assert_eq!(
            (thresholds(6, LinkClass::Global), thresholds(5, LinkClass::Global)),
            (Some(PauseThresholds { xoff: 1, xon: 0 }), None)
        );
    }
}
