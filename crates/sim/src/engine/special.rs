//! Ways that only few packets take: over links that damage frames, from ports behind shapers.
//!
//! What every packet would have to ask is put where those ask that leave their shard anyway.

use etherweave_primitives::Time;

use super::Shard;
use super::event::{Key, Kind};
use crate::degraded::DegradedChannel;
use crate::packet::{Handle, Packet};
use crate::switch::port::Way;
use crate::switch::shaper::Shaper;

/// One of them.
#[derive(Debug)]
pub(crate) struct SpecialWay {
    /// The shard of the port at its end.
    pub shard: u32,
    /// The port that sends, numbered in its shard.
    pub port: u32,
    /// Damages frames.
    pub damage: Option<DegradedChannel>,
    /// Holds them back.
    pub shaper: Option<Shaper>,
}

impl Shard {
    /// The special way out of a port; from now on it has one.
    pub fn special_way(&mut self, port: u32) -> &mut SpecialWay {
        let way = self.ports[port as usize].peer.way;
        let number = way.resolve().map_or_else(|number| number, |_| self.specials.len());
        if number == self.specials.len() {
            self.specials.push(SpecialWay { shard: self.shard_at(way), port, damage: None, shaper: None });
            self.ports[port as usize].peer.way = Way::by_special(number);
        }
        &mut self.specials[number]
    }

    /// What a packet that begins its way does at the other end, where `key` says what an intact one does.
    pub(super) fn go_specially(&mut self, number: usize, key: Key, handle: Handle) -> Key {
        let Packet { wire, .. } = self.packets[handle];
        let way = &mut self.specials[number];
        if let Some(shaper) = &mut way.shaper {
            let port = &mut self.ports[way.port as usize];
            port.busy_until = shaper.charge(self.now, port.busy_until, wire);
        }
        let packet = &mut self.packets[handle];
        packet.is_damaged |= way.damage.as_mut().is_some_and(|damage| damage.is_hit(self.now, wire));
        if packet.is_damaged { self.key(key.place(), Kind::ArriveDamaged, 0) } else { key }
    }

    /// Whether a frame of `wire` bytes that begins its way at `time` is damaged on it.
    pub(crate) fn is_hit(&mut self, way: Way, time: Time, wire: u32) -> bool {
        let damage = way.resolve().map_or_else(|number| self.specials[number].damage.as_mut(), |_| None);
        damage.is_some_and(|damage| damage.is_hit(time, wire))
    }

    /// A pause frame of `wire` bytes leaves a port as soon as its wire is free; no shaper holds it back. When?
    pub(crate) fn start_of_pause(&mut self, port: u32, wire: u32) -> Time {
        let port = &mut self.ports[port as usize];
        let shaper = port.peer.way.resolve().map_or_else(|number| self.specials[number].shaper.as_mut(), |_| None);
        let duration = port.serialization_time(wire);
        let wire_until = shaper.map_or(&mut port.busy_until, |shaper| &mut shaper.wire_until);
        let start = self.now.max(*wire_until);
        *wire_until = start + duration;
        port.busy_until = port.busy_until.max(start + duration);
        start
    }
}
