//! The load that a routing may see.

/// The load of one switch, as it sees it itself. The unit of queues is the simulation's: packets or bytes, the same
/// everywhere, as decisions only compare them.
pub trait LoadView: Copy {
    /// The time since the start of the run [ns].
    fn now_ns(&self) -> u64;

    /// Returns the queue of a channel of a port, and what of it the far end has not yet passed on where the switch
    /// knows that from credits.
    fn occupancy(&self, port: u8, channel: u8) -> u32;

    /// The same of all channels of a port together.
    fn queued(&self, port: u8) -> u32;

    /// [`LoadView::occupancy`] of a global port of a switch of the neighbourhood: the own one at once, others as late
    /// as the simulation says.
    fn occupancy_at(&self, switch: u32, port: u8, channel: u8) -> u32;

    /// Whether a global port of a switch of the same neighbourhood is marked as saturated: its own marks a switch knows
    /// at once, those of others later.
    fn is_saturated(&self, switch: u32, port: u8) -> bool;

    /// Returns the load that hosts of a group sent to those of another, as a share of one link between groups, while a
    /// controller whose rules are now active measured [percent]. By default nothing was measured.
    fn sent_percent(&self, _from: u16, _to: u16) -> u32 {
        0
    }

    /// Whether what the host at a port sent to a group while that controller measured is a flow that it reroutes. By
    /// default it is.
    fn is_large_flow(&self, _port: u8, _to: u16) -> bool {
        true
    }

    /// Traffic that the busiest subtree of a level of a tree sent to others or received from them while that controller
    /// measured [percent of a link]; absent before its first rules. By default nothing is known.
    fn busiest_percent(&self, _level: usize) -> Option<u32> {
        None
    }

    /// Whether the link of a port is down now, which its switch sees at once. By default none is.
    fn is_down(&self, _port: u8) -> bool {
        false
    }

    /// Whether a channel may not send now: its link is down, its far end has paused it or has no room.
    fn is_paused(&self, port: u8, channel: u8) -> bool;

    /// Whether a channel takes no packet now: it is [paused](LoadView::is_paused), or its queue at the own switch is
    /// full. By default no queue ever is.
    fn is_blocked(&self, port: u8, channel: u8) -> bool {
        self.is_paused(port, channel)
    }

    /// Whether a congestion notification about a packet for a host came in by a port lately. By default none did.
    fn is_notified(&self, _port: u8, _dst: u32) -> bool {
        false
    }

    /// The largest packet in the unit of queues. By default packets are counted.
    fn packet_max(&self) -> u32 {
        1
    }
}

/// The load of a switch of a fabric where some ports, each with its switch, are full, and all else is idle.
#[derive(Clone, Copy)]
pub struct FullPorts<'a> {
    /// The switch.
    pub switch: u32,
    /// Full ports.
    pub full: &'a [(u32, u8)],
}

impl FullPorts<'_> {
    /// Bytes queued for a full port, and traffic that hosts sent towards it [percent].
    const FULL: u32 = 1 << 20;
}

impl LoadView for FullPorts<'_> {
    fn now_ns(&self) -> u64 {
        0
    }

    fn occupancy(&self, port: u8, _channel: u8) -> u32 {
        self.queued(port)
    }

    fn queued(&self, port: u8) -> u32 {
        self.occupancy_at(self.switch, port, 0)
    }

    fn occupancy_at(&self, switch: u32, port: u8, _channel: u8) -> u32 {
        if self.is_saturated(switch, port) { FullPorts::FULL } else { 0 }
    }

    fn is_saturated(&self, switch: u32, port: u8) -> bool {
        self.full.contains(&(switch, port))
    }

    fn sent_percent(&self, _from: u16, _to: u16) -> u32 {
        if self.full.is_empty() { 0 } else { FullPorts::FULL }
    }

    fn is_paused(&self, port: u8, _channel: u8) -> bool {
        self.is_saturated(self.switch, port)
    }
}

/// The load of a switch at which no decision looks at one.
#[derive(Clone, Copy)]
pub struct NoLoad;

impl NoLoad {
    #[cold]
    #[inline(never)]
    fn reject(self) -> ! {
        unreachable!("a decision that is made ahead looks at no load")
    }
}

impl LoadView for NoLoad {
    fn now_ns(&self) -> u64 {
        self.reject()
    }

    fn occupancy(&self, _port: u8, _channel: u8) -> u32 {
        self.reject()
    }

    fn queued(&self, _port: u8) -> u32 {
        self.reject()
    }

    fn occupancy_at(&self, _switch: u32, _port: u8, _channel: u8) -> u32 {
        self.reject()
    }

    fn is_saturated(&self, _switch: u32, _port: u8) -> bool {
        self.reject()
    }

    fn is_paused(&self, _port: u8, _channel: u8) -> bool {
        self.reject()
    }
}

/// A switch without queues, of a tree whose subtrees are so busy, by level [percent of a link].
#[cfg(test)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Idle(pub [Option<u32>; 2]);

#[cfg(test)]
impl LoadView for Idle {
    fn now_ns(&self) -> u64 {
        0
    }

    fn occupancy(&self, _port: u8, _channel: u8) -> u32 {
        0
    }

    fn queued(&self, _port: u8) -> u32 {
        0
    }

    fn occupancy_at(&self, _switch: u32, _port: u8, _channel: u8) -> u32 {
        0
    }

    fn is_saturated(&self, _switch: u32, _port: u8) -> bool {
        false
    }

    fn busiest_percent(&self, level: usize) -> Option<u32> {
        self.0.get(level).copied().flatten()
    }

    fn is_paused(&self, _port: u8, _channel: u8) -> bool {
        false
    }
}
