//! The load that a routing may see.

use crate::outage::Outages;
use crate::port::{Output, Port, Queue};

/// The load of one switch, as it sees it itself.
#[derive(Clone, Copy)]
pub struct LoadView<'a> {
    /// Ports of the shard.
    pub(crate) ports: &'a [Port],
    /// Output channels of the shard.
    pub(crate) outputs: &'a [Output],
    /// The first port of the switch.
    pub(crate) base: usize,
    /// Ports of every switch.
    pub(crate) radix: usize,
    /// The first switch of the shard.
    pub(crate) first_switch: u32,
    /// Room of each far end [packets per channel], by class.
    pub(crate) room: [u16; 3],
    /// Queues of output channels; empty where credits are used.
    pub(crate) queues: &'a [Queue],
    pub(crate) shift: u32,
    /// The last channel there is: later ones are this one.
    pub(crate) channel_last: u8,
    pub(crate) now: u32,
    /// How long a full output queue takes to send [ticks].
    pub(crate) full: u32,
    /// Links that fail.
    pub(crate) outages: &'a Outages,
}

impl LoadView<'_> {
    /// The time since the start of the run [ticks].
    pub fn now(&self) -> u32 {
        self.now
    }

    /// Packets that the far end of a channel has room for.
    pub fn credits(&self, port: u8, channel: u8) -> u32 {
        u32::from(self.outputs[self.output(port, channel)].credits)
    }

    fn output(&self, port: u8, channel: u8) -> usize {
        ((self.base + usize::from(port)) << self.shift) + usize::from(channel.min(self.channel_last))
    }

    /// Packets in flight to the far end of a channel, there, or not yet known to have left it.
    pub fn occupancy(&self, port: u8, channel: u8) -> u32 {
        let room = self.room[self.ports[self.base + usize::from(port)].class as usize];
        u32::from(room) - self.credits(port, channel)
    }

    /// The same of all channels of a port together.
    pub fn queued(&self, port: u8) -> u32 {
        let port = self.base + usize::from(port);
        let room = u32::from(self.room[self.ports[port].class as usize]);
        let channels = &self.outputs[port << self.shift..(port + 1) << self.shift];
        channels.iter().map(|channel| room - u32::from(channel.credits)).sum()
    }

    /// [`LoadView::occupancy`] of a port of another switch of the neighbourhood, at once.
    pub fn occupancy_at(&self, switch: u32, port: u8, channel: u8) -> u32 {
        let base = (switch - self.first_switch) as usize * self.radix;
        LoadView { base, ..*self }.occupancy(port, channel)
    }

    /// Whether a global port of a switch of the same neighbourhood is marked as saturated: its own marks a switch knows
    /// at once, those of others a local delay later.
    pub fn is_saturated(&self, switch: u32, port: u8) -> bool {
        let base = (switch - self.first_switch) as usize * self.radix;
        let state = &self.ports[base + usize::from(port)];
        if base == self.base { state.is_saturated } else { state.seems_saturated }
    }

    /// Whether the link of a port is down now, which its switch sees at once.
    pub fn is_down(&self, port: u8) -> bool {
        let state = &self.ports[self.base + usize::from(port)];
        let switch = self.first_switch + u32::from(state.home);
        state.fails && self.outages.touch(switch, usize::from(port), self.now..=self.now)
    }

    /// Whether a channel takes no packet now: its link is down; with pauses, its far end has paused it; with
    /// credits, as the far end has no room or the output queue is full.
    pub fn is_paused(&self, port: u8, channel: u8) -> bool {
        if self.is_down(port) {
            return true;
        }
        if let Some(queue) = self.queues.get(self.output(port, channel)) {
            return queue.is_paused;
        }
        self.credits(port, channel) == 0 || self.ports[self.base + usize::from(port)].link_free > self.now + self.full
    }
}
