//! Constants of a run, which all shards share.

use etherweave_topology::LinkClass;
use etherweave_workload::{ArrivalPlan, pattern::Destinations};

use crate::{links::LinkKind, notification::NotificationPlan, outage::Outages, params::SwitchParams};

pub(crate) struct RunConstants<'a, R> {
    pub routing: &'a R,
    pub params: &'a SwitchParams,
    /// Whether input buffers pause the far end, instead of giving it credits.
    pub has_pauses: bool,
    /// Delay of a packet's head through a crossbar [ticks].
    pub crossbar: u32,
    /// Kinds of links, by the number that ports have of them.
    pub links: Vec<LinkKind>,
    /// Links that fail.
    pub outages: Outages,
    /// Congestion notifications, where conditional rules depend on them.
    pub notifications: Option<NotificationPlan>,
    /// The highest channel there is.
    pub channel_last: u8,
    /// When hosts make packets, by the kind of their link; absent for links between switches.
    pub arrivals: Vec<Option<ArrivalPlan>>,
    /// Whom they are for.
    pub destinations: Destinations,
    pub hosts: u32,
    /// Packets that the links of all hosts carry in a tick.
    pub packets_per_ns: f64,
    /// Hosts with none of these bits in their number are watched for packets out of order.
    pub watch_mask: u32,
    pub seed: u64,
}

impl<R> RunConstants<'_, R> {
    /// The kind of a port's link.
    #[inline]
    pub fn link(&self, number: u16) -> &LinkKind {
        &self.links[usize::from(number)]
    }

    /// Returns the room of an output channel [packets]: with credits that of the far end, with pauses its queue.
    pub fn room(&self, class: LinkClass) -> u16 {
        if self.has_pauses {
            return self.params.output_queue as u16;
        }
        match class {
            // A host takes all that comes.
            LinkClass::Host => u16::MAX,
            LinkClass::Local | LinkClass::Global => self.params.buffer(class) as u16,
        }
    }

    /// [`RunConstants::room`] of every class.
    pub fn rooms(&self) -> [u16; 3] {
        LinkClass::ALL.map(|class| self.room(class))
    }

    /// When hosts on links of a kind make packets.
    #[inline]
    pub fn arrivals(&self, number: u16) -> &ArrivalPlan {
        self.arrivals[usize::from(number)].as_ref().expect("a host's link has a plan of arrivals")
    }

    /// The largest of a span of all kinds of links [ticks].
    fn largest(&self, of: fn(&LinkKind) -> u32) -> u32 {
        self.links.iter().map(of).max().unwrap_or(0)
    }

    /// Returns the time from the last grant of a packet to its delivery, at the most [ticks].
    pub fn lead(&self) -> u32 {
        let to_host = |link: &LinkKind| if link.class == LinkClass::Host { link.delay } else { 0 };
        self.after_grant() + self.largest(to_host)
    }

    /// Further ahead than any event [ticks].
    pub fn horizon(&self) -> u32 {
        1 + self.after_grant() + 2 * self.largest(|link| link.delay)
    }

    /// Longest time from a grant until the packet has left [ticks].
    fn after_grant(&self) -> u32 {
        self.crossbar + self.largest(|link| link.full) + 2 * self.largest(|link| link.packet)
    }

    /// Delay of the longest local link [ticks].
    pub fn local_delay(&self) -> u32 {
        self.largest(|link| if link.class == LinkClass::Local { link.delay } else { 0 })
    }
}
