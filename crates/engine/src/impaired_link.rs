//! Links with bit errors, a shaper, outages, a transmitter that sleeps or changes its rate, or messages of flow-level
//! mode beside packets.

use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Duration, Time};

use super::{port::PeerLink, shaper::Shaper, sleep::SleepingTransmitter, stepped::SteppedTransmitter};
use crate::{degraded::DegradedChannel, degraded::Passage, losses::LostData, packet::Packet};

/// Those that leave a shard, by number.
#[derive(Default)]
pub struct ImpairedLinks(Vec<ImpairedLink>);

impl ImpairedLinks {
    /// Adds one. Returns its number.
    pub fn push(&mut self, link: ImpairedLink) -> usize {
        self.0.push(link);
        self.0.len() - 1
    }

    /// All.
    pub fn iter(&self) -> std::slice::Iter<'_, ImpairedLink> {
        self.0.iter()
    }

    /// The shard at the far end of a link, impaired or not.
    pub fn shard_at(&self, link: PeerLink) -> u32 {
        link.resolve().unwrap_or_else(|number| self.0[number].shard)
    }

    /// A link, if it is impaired.
    pub fn get_mut(&mut self, link: PeerLink) -> Option<&mut ImpairedLink> {
        link.resolve().err().map(|number| &mut self.0[number])
    }

    /// Whether a link is down at any instant of a span.
    pub fn is_cut(&self, link: PeerLink, begin: Time, end: Time) -> bool {
        link.resolve().is_err_and(|number| self.0[number].is_down(begin, end))
    }

    /// The passage over a link of a frame of `wire` bytes that begins at `time` and takes `duration`.
    pub fn pass(&mut self, link: PeerLink, time: Time, wire: u32, duration: Duration) -> Passage {
        let damage = self.get_mut(link).and_then(|link| link.damage.as_mut());
        let intact = Passage { is_damaged: false, late: Duration::ZERO };
        damage.map_or(intact, |damage| damage.pass(time, wire, duration))
    }
}

/// Such a link, seen from its sending port.
#[derive(Debug)]
pub struct ImpairedLink {
    /// The shard of the port at its end.
    pub shard: u32,
    /// The port that sends, numbered in its shard.
    pub port: PortIndex,
    /// Bit errors.
    pub damage: Option<DegradedChannel>,
    /// Token bucket.
    pub shaper: Option<Shaper>,
    /// Low-power idle.
    pub sleep: Option<SleepingTransmitter>,
    /// Rates that follow the load.
    pub rates: Option<SteppedTransmitter>,
    /// When the link is down, and what that cost.
    pub outages: Vec<LinkOutage>,
    /// Messages of flow-level mode that cross it too.
    pub background: Option<Background>,
}

/// State of a link that packets beside messages of flow-level mode need.
#[derive(Clone, Copy, Default, Debug)]
pub struct Background {
    /// When the next can arrive: none overtakes another.
    pub next_arrival: Time,
}

/// A time for which a link is down, and what it has lost in one direction.
#[derive(Clone, Debug)]
pub struct LinkOutage {
    /// When the link fails.
    pub from: Time,
    /// When it returns; the largest time if it does not.
    pub until: Time,
    /// Packets lost.
    pub packets: u64,
    /// Packets lost [B on the wire].
    pub bytes: u64,
    /// When the last of them was sent.
    pub last_loss: Option<Time>,
    /// Data that has to arrive again.
    pub losses: Vec<LostData>,
}

impl LinkOutage {
    /// An outage that has lost nothing yet.
    pub fn new(from: Time, until: Time) -> LinkOutage {
        LinkOutage { from, until, packets: 0, bytes: 0, last_loss: None, losses: Vec::new() }
    }

    fn touches(&self, begin: Time, end: Time) -> bool {
        self.from <= end && begin < self.until
    }
}

impl ImpairedLink {
    /// Whether the link is down at any instant of a span.
    pub fn is_down(&self, begin: Time, end: Time) -> bool {
        self.outages.iter().any(|outage| outage.touches(begin, end))
    }

    /// Counts a packet that the first outage of a span has lost.
    pub fn lose(&mut self, begin: Time, end: Time, packet: &Packet) {
        if let Some(outage) = self.outages.iter_mut().find(|outage| outage.touches(begin, end)) {
            outage.packets += 1;
            outage.bytes += u64::from(packet.wire);
            outage.last_loss = Some(begin);
            outage.losses.extend(LostData::of(packet, begin));
        }
    }
}
