//! One step of a packet.

use etherweave_primitives::{ChannelId, Priority};

/// A channel that a packet takes, and how it travels there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChannelHop {
    /// Where it goes.
    pub channel: ChannelId,
    /// Its IEEE 802.1Q priority there: the virtual channel, and what PFC may pause.
    pub priority: Priority,
    /// How far the packet is on its path, by the routing's own count from 0. The same number as the priority, unless
    /// stages were folded into fewer priorities (see [`Legality::with_priorities`](crate::Legality::with_priorities)).
    pub stage: u8,
}

impl ChannelHop {
    /// A hop in the first stage, on priority 0.
    pub const fn first(channel: ChannelId) -> ChannelHop {
        ChannelHop { channel, priority: Priority::new(0), stage: 0 }
    }
}
