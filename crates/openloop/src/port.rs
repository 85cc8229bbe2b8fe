//! The state of ports and their channels, in flat vectors.

use std::ops::Range;

use etherweave_topology::LinkClass;

use crate::{cache::every_line, packet::NONE};

/// No member of a list within a switch.
pub(crate) const END: u16 = u16::MAX;

/// Both directions of a port: the input from the far end, the output towards it.
#[derive(Clone, Copy)]
pub(crate) struct Port {
    /// When the link's last packet so far has left the output queue.
    pub link_free: u32,
    /// When the output takes another packet from the crossbar.
    pub crossbar_free: u32,
    /// When the input gives another packet to the crossbar.
    pub input_free: u32,
    /// How long the link is busy from the start of the measured time until its last packet so far has left [ticks].
    pub busy: u32,
    /// The port at the far end, counted within its shard; [`NONE`] where a host is.
    pub peer: u32,
    pub peer_shard: u16,
    /// Its switch, counted within the shard.
    pub home: u16,
    /// Delay of the link [ticks].
    pub delay: u16,
    /// Number of the link's kind.
    pub link: u16,
    pub class: LinkClass,
    /// Whether the link ever fails.
    pub fails: bool,
    pub input_wakes: bool,
    pub output_wakes: bool,
    /// Whether this global port is marked as saturated.
    pub is_saturated: bool,
    /// The same as other switches know it.
    pub seems_saturated: bool,
    /// The channel whose turn it is when the input is free.
    pub turn: u8,
    /// The input port of this switch that the output served last.
    pub served: u8,
    /// How many input channels wait for this output.
    pub waiting: u16,
    /// How many packets the input channels hold.
    pub held: u16,
}

impl Port {
    /// Reserves the link for a packet that begins to leave at an instant and takes so long.
    #[inline]
    pub fn occupy(&mut self, leaves: u32, packet: u32, span: &Range<u32>) {
        self.link_free = leaves + packet;
        self.busy += self.link_free.saturating_sub(leaves.max(span.start));
    }

    /// How long the link was busy in the measured time until an instant [ticks]. A packet that is still on its way
    /// through the crossbar then, to an idle link, takes as much off as it will wait.
    pub fn busy_until(&self, end: u32) -> u32 {
        self.busy.saturating_sub(self.link_free.saturating_sub(end))
    }

    pub fn unused() -> Port {
        Port {
            link_free: 0,
            crossbar_free: 0,
            input_free: 0,
            busy: 0,
            peer: NONE,
            peer_shard: 0,
            home: 0,
            delay: 0,
            link: 0,
            class: LinkClass::Host,
            fails: false,
            input_wakes: false,
            output_wakes: false,
            is_saturated: false,
            seems_saturated: false,
            turn: 0,
            served: 0,
            waiting: 0,
            held: 0,
        }
    }
}

/// A virtual channel of an input: a queue of packets, the first of which may wait for an output.
#[derive(Clone, Copy)]
pub(crate) struct Input {
    pub first: u32,
    pub last: u32,
    /// Since when the first packet waits [ticks].
    pub since: u32,
    /// Neighbours in the list of those that wait for the same output and channel, counted within the switch.
    pub before: u16,
    pub behind: u16,
    /// Where the first packet goes.
    pub port: u8,
    pub channel: u8,
    pub state: HeadState,
}

/// How far the first packet of a queue is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadState {
    /// It has not been asked where it goes.
    Undecided,
    /// It waits in the list of an output and channel.
    Waiting,
}

impl Input {
    pub const EMPTY: Input = Input {
        first: NONE,
        last: NONE,
        since: 0,
        before: END,
        behind: END,
        port: 0,
        channel: 0,
        state: HeadState::Undecided,
    };
}

/// A virtual channel of an output: the room at the far end, and the inputs that wait for it.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    /// Packets that the far end has room for.
    pub credits: u16,
    /// The input channels that wait, the longest waiting first, counted within the switch.
    pub first: u16,
    pub last: u16,
}

/// Memory of a port with its virtual channels [bytes]; there is room for a power of two of them.
pub fn port_bytes(channels: u8) -> usize {
    size_of::<Port>() + usize::from(channels).next_power_of_two() * (size_of::<Input>() + size_of::<Output>())
}

/// State that pauses need; all empty where credits are used.
#[derive(Default)]
pub(crate) struct Pauses {
    /// Queues by output channel.
    pub queues: Vec<Queue>,
    /// Buffers by input channel.
    pub buffers: Vec<Buffer>,
    /// Senders by port.
    pub senders: Vec<PortSender>,
}

/// Packets that wait for the link of an output channel, and whether it may send.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    pub first: u32,
    pub last: u32,
    pub is_paused: bool,
    /// Since when it is paused [ticks].
    pub since: u32,
    /// How long it was paused in the measured time, until it last went on [ticks].
    pub paused: u32,
}

/// Packets that arrived and have not left the switch.
#[derive(Clone, Copy, Default)]
pub(crate) struct Buffer {
    pub held: u16,
    /// Whether the far end is paused.
    pub is_off: bool,
}

/// The transmitter of a port, where pauses are used.
#[derive(Clone, Copy, Default)]
pub(crate) struct PortSender {
    /// The next event of this port [ticks]; in the past, there is none.
    pub wakes: u32,
    /// The channel whose turn it is.
    pub turn: u8,
}

impl Pauses {
    /// Creates the state for so many ports, with their channels.
    pub fn new(ports: usize, channels: usize) -> Pauses {
        let queue = Queue { first: NONE, last: NONE, is_paused: false, since: 0, paused: 0 };
        Pauses {
            queues: vec![queue; channels],
            buffers: vec![Buffer::default(); channels],
            senders: vec![PortSender::default(); ports],
        }
    }

    /// Reads a word of every cache line.
    pub fn touch(&self) -> u32 {
        let queues = every_line(&self.queues).fold(0, |sum, queue| sum ^ queue.first);
        let buffers = every_line(&self.buffers).fold(queues, |sum, buffer| sum ^ u32::from(buffer.held));
        every_line(&self.senders).fold(buffers, |sum, sender| sum ^ sender.wakes)
    }
}

impl Queue {
    /// How long the queue was paused within a span, at its end [ticks].
    pub fn paused_until(&self, span: &Range<u32>) -> u32 {
        let lasts = if self.is_paused { span.end - self.since.clamp(span.start, span.end) } else { 0 };
        self.paused + lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_three_or_four_channels_takes_144_bytes_and_one_of_two_takes_92() {
        assert_eq!([2, 3, 4].map(port_bytes), [92, 144, 144]);
    }
}
