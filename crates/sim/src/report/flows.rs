//! Directions of connections.

use etherweave_host::{Nics, Protocol, ReceivedCounts};
use etherweave_kernel::{RowNames, indices::EndpointIndex, rows};
use etherweave_primitives::Time;

use super::far::FarEnds;
use crate::run::Simulation;

rows! {
    /// One direction of a connection.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct FlowRow in RowNames<'n>, "flows" {
        /// Number of the sender.
        source: u32 ["source_host" = |row, names| names.host(row.source)];
        /// Number of the receiver.
        destination: u32 ["destination_host" = |row, names| names.host(row.destination)];
        /// "roce", "uet" or "tcp".
        transport: &'static str ["transport"] wire transport_name => transport_of;
        /// Bytes acknowledged.
        bytes: u64 ["bytes"];
        /// Data packets sent, again included.
        packets: u64 ["packets"];
        /// Data packets (RoCE) or segments (TCP) sent again.
        retransmissions: u64 ["retransmissions"];
        /// Expiries of the retransmission timer.
        timeouts: u64 ["timeouts"];
        /// Data packets (RoCE) or segments (TCP) that arrived before one that was sent before them.
        out_of_order: u64 ["out_of_order"];
        /// Negative acknowledgements that the receiver sent (RoCE).
        naks: u64 ["naks"];
        /// When the receiver last took a packet that was sent again: losses are made good by then. 0 if none was.
        recovered: Time ["recovered_ns"];
        /// When the sender got the last acknowledgement of new data, or data began to wait for one. 0 of TCP.
        acknowledged: Time ["acknowledged_ns"];
    }
}

impl Simulation {
    pub(super) fn flows(&mut self, far: &FarEnds) -> Vec<((u32, u32, u32), FlowRow)> {
        let mut all = self.late_flows().map(|late| std::mem::take(&mut late.flows)).unwrap_or_default();
        let shards = &self.shards;
        let ends = || shards.iter().flat_map(|shard| shard.hosts.nics.endpoints.indices().map(move |end| (shard, end)));
        let senders = || ends().filter(|(shard, end)| shard.hosts.nics.state(*end).sent().packets > 0);
        // Connections may be millions: their rows stand in memory once.
        all.reserve_exact(senders().count());
        for (shard, end) in senders() {
            all.push(FlowRow::of(&shard.hosts.nics, end, far.received(self, shard.wires.id, end)));
        }
        if let Some(write) = self.late_flows().and_then(|late| late.writer.as_mut()) {
            write(Vec::new(), all.drain(..).map(|(_, row)| row).collect());
        }
        all
    }
}

impl FlowRow {
    /// Place among the rows of a table: by hosts, then by what was carried.
    pub fn order(&self) -> (u32, u32, u64, u64) {
        (self.source, self.destination, self.bytes, self.packets)
    }

    /// Counts of the sending side, and of what the other end has received, with both hosts and the number of the end.
    pub(crate) fn of(nics: &Nics, endpoint: EndpointIndex, received: ReceivedCounts) -> ((u32, u32, u32), FlowRow) {
        let end = &nics.endpoints[endpoint];
        let ((source, destination), sent) = (end.hosts, nics.state(endpoint).sent());
        let row = FlowRow {
            source,
            destination,
            transport: end.protocol.name(),
            bytes: sent.bytes,
            packets: sent.packets,
            retransmissions: sent.retransmissions,
            timeouts: sent.timeouts,
            out_of_order: received.out_of_order,
            naks: received.naks,
            recovered: received.resent_last,
            acknowledged: sent.acknowledged_at,
        };
        ((source, destination, end.number), row)
    }
}

fn transport_name(transport: &&'static str) -> String {
    (*transport).to_owned()
}

fn transport_of(name: String) -> &'static str {
    Protocol::NAMES.iter().find(|known| **known == name).expect("what is read was written")
}
