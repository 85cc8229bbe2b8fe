//! The way from one shard to another.

use etherweave_kernel::wire;

use super::event::Event;
use crate::packet::{Packet, PacketRoute};
use crate::switch::neighbour_loads::LoadReport;
use crate::transport::SackBlocks;
use crate::transport::telemetry::PathTelemetry;

/// Events of one shard for entities of another, and the packets and SACK blocks that they name by their place here.
#[derive(Default)]
pub(crate) struct ShardOutbox {
    pub events: Vec<Event>,
    pub packets: Vec<Packet>,
    pub sides: Vec<SackBlocks>,
    /// Telemetry of each of these, where switches write it.
    pub paths: Vec<PathTelemetry>,
    /// Route of each packet, where packets are routed one by one.
    pub routes: Vec<PacketRoute>,
    /// Queues that have changed or packets between groups, where a routing knows of those of other switches.
    pub loads: Vec<LoadReport>,
}

wire! { ShardOutbox { events, packets, sides, paths, routes, loads } }

impl ShardOutbox {
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.loads.is_empty()
    }

    pub fn clear(&mut self) {
        self.events.clear();
        self.packets.clear();
        self.sides.clear();
        self.paths.clear();
        self.routes.clear();
        self.loads.clear();
    }
}
