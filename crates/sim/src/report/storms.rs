//! Storms of pauses that watchdogs of switches have found.

use etherweave_kernel::rows;
use etherweave_primitives::{ChannelId, Priority, Time};
use etherweave_switch::watchdog::Storm;

use crate::{run::Simulation, shard::Shard};

rows! {
    /// A storm of pauses that a watchdog has detected.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct StormRow in (), "storms" {
        /// The switch of the port.
        node: String ["node"];
        /// Number of the port on its switch.
        port: u16 ["port"];
        /// The node that pauses it.
        peer: String ["peer"];
        /// 802.1Q priority.
        priority: Priority ["priority"];
        /// Time of its detection.
        detected: Time ["detected_ns"];
        /// Time at which the queue was restored; absent, not until the end of the run.
        restored: Option<Time> ["restored_ns"];
        /// Packets that the port sent during it.
        tx_ok: u64 ["tx_ok_packets"];
        /// Packets for the port that were discarded.
        tx_drops: u64 ["tx_drops_packets"];
        /// Packets from the port that were accepted during it.
        rx_ok: u64 ["rx_ok_packets"];
        /// Packets from the port that were discarded.
        rx_drops: u64 ["rx_drops_packets"];
    }
}

impl Simulation {
    pub(super) fn storms(&self) -> Vec<(ChannelId, StormRow)> {
        let row = |shard: &Shard, storm: &Storm| {
            let channel = shard.wires.channels[storm.port];
            let (node, port, peer) = self.port_names(channel);
            let Storm { detected, restored, tx_drops, rx_ok, rx_drops, .. } = *storm;
            let (priority, tx_ok) = (Priority::new(storm.priority), storm.tx_ok(&shard.wires));
            (channel, StormRow { node, port, peer, priority, detected, restored, tx_ok, tx_drops, rx_ok, rx_drops })
        };
        let watched = self.shards.iter().filter_map(|shard| Some((shard, shard.switches.watchdog.as_ref()?)));
        watched.flat_map(|(shard, watchdog)| watchdog.storms.iter().map(move |storm| row(shard, storm))).collect()
    }
}
