//! The way from one shard to another.

use etherweave_kernel::{Wire, wire};
use etherweave_primitives::Time;
use etherweave_routing::RoutedPacket;
use etherweave_transport::{SackBlocks, telemetry::PathTelemetry};

use super::event::{Event, EventKey};
use crate::packet::{Packet, PacketRoute};

/// Events of one shard for entities of another, and the packets and SACK blocks that they name by their place here.
#[derive(Default)]
pub struct RemoteOutbox {
    /// Events, each naming its packet by the place below.
    pub events: Vec<Event>,
    /// Packets of these events.
    pub packets: Vec<Packet>,
    /// SACK blocks of these packets.
    pub sides: Vec<SackBlocks>,
    /// Telemetry of each of these, where switches write it.
    pub paths: Vec<PathTelemetry>,
    /// Route of each packet, where packets are routed one by one.
    pub routes: Vec<PacketRoute>,
    /// Queues that have changed or packets between groups, where a routing knows of those of other switches.
    pub loads: Vec<LoadReport>,
}

wire! { RemoteOutbox { events, packets, sides, paths, routes, loads } }

impl RemoteOutbox {
    /// Whether nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.loads.is_empty()
    }

    /// Removes everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.packets.clear();
        self.sides.clear();
        self.paths.clear();
        self.routes.clear();
        self.loads.clear();
    }
}

/// A queue has changed, or a group has sent to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadReport {
    /// When.
    pub time: Time,
    /// Its number in the run, or that of the two groups.
    pub queue: u32,
    /// Bytes that it holds now, or that were sent [B].
    pub bytes: u32,
}

/// Without the hint, which the receiver finds itself.
impl Wire for Event {
    fn write(&self, words: &mut Vec<u32>) {
        (self.time, self.key.bits(), self.bits).write(words);
    }

    fn read(words: &mut &[u32]) -> Event {
        let (time, key, handle) = Wire::read(words);
        Event::new(time, EventKey::from_bits(key), handle)
    }
}

wire! {
    Packet {
        next, endpoint, route, ingress, offset, acknowledged, sent, wire, payload, word, side, sender, kind, priority,
        flags, header_bits
    }
    LoadReport { time, queue, bytes }
    PacketRoute { egress, base, channel; routed: RoutedPacket::words => RoutedPacket::of_words }
}
