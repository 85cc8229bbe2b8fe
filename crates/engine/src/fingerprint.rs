//! Fingerprints: the events of a run in four numbers.
//!
//! Every arrival is an ingredient of four sums: time, place, kind and length. A sum does not depend on the order of
//! shards, and a difference shows what changed: `t` alone is a matter of timing, `p` of routes, `k` of protocol.

use etherweave_primitives::{ChannelId, Duration, mix};

use crate::packet::{Packet, PacketKind};

/// Sums over all arrivals.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Fingerprint {
    /// When.
    pub time: u64,
    /// Where.
    pub place: u64,
    /// What.
    pub kind: u64,
    /// How long.
    pub length: u64,
}

impl Fingerprint {
    /// Adds an arrival at the port that sends into `channel`, so long after its start.
    pub fn add(&mut self, time: Duration, channel: ChannelId, packet: &Packet) {
        self.add_arrival(time, channel, packet.kind, packet.wire.into());
    }

    /// Adds the arrival of a message of `wire` bytes, in flow-level mode.
    pub fn add_message(&mut self, time: Duration, channel: ChannelId, wire: u64) {
        self.add_arrival(time, channel, PacketKind::Data, wire);
    }

    fn add_arrival(&mut self, time: Duration, channel: ChannelId, kind: PacketKind, wire: u64) {
        let identity = mix(u64::from(channel.get()));
        self.place = self.place.wrapping_add(identity);
        self.kind = self.kind.wrapping_add(mix(identity ^ kind as u64));
        self.length = self.length.wrapping_add(mix(identity ^ wire << 8));
        self.time = self.time.wrapping_add(mix(identity ^ mix(time.as_ps())));
    }

    /// Adds another shard's sums.
    pub fn merge(&mut self, other: &Fingerprint) {
        self.time = self.time.wrapping_add(other.time);
        self.place = self.place.wrapping_add(other.place);
        self.kind = self.kind.wrapping_add(other.kind);
        self.length = self.length.wrapping_add(other.length);
    }
}

etherweave_kernel::wire! { Fingerprint { time, place, kind, length } }
