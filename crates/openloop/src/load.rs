//! What a routing may know of queues.

use crate::port::{Output, Port};

/// The load of one switch, as it sees it itself.
#[derive(Clone, Copy)]
pub struct Load<'a> {
    pub(crate) ports: &'a [Port],
    pub(crate) outputs: &'a [Output],
    pub(crate) shift: u32,
    pub(crate) now: u64,
    /// How long a full output queue takes to send [ticks].
    pub(crate) full: u64,
}

impl Load<'_> {
    /// Packets that the far end of a channel has room for.
    pub fn credits(&self, port: u8, channel: u8) -> u32 {
        u32::from(self.outputs[(usize::from(port) << self.shift) + usize::from(channel)].credits)
    }

    /// Whether a channel takes no packet now: its far end has no room, or its output queue is full.
    pub fn is_paused(&self, port: u8, channel: u8) -> bool {
        self.credits(port, channel) == 0 || self.ports[usize::from(port)].link_free > self.now + self.full
    }
}
