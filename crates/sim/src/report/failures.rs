//! Links that were down, and what they lost.

use etherweave_engine::{impaired_link::ImpairedLink, impaired_link::LinkOutage, losses::LostData};
use etherweave_kernel::rows;
use etherweave_primitives::{ChannelId, Time};

use crate::{run::Simulation, shard::Shard};

rows! {
    /// A time for which a link is down, in one direction.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct FailureRow in (), "failures" {
        /// The node that sends.
        node: String ["node"];
        /// Its port.
        port: u16 ["port"];
        /// The node at the other end.
        peer: String ["peer"];
        /// When the link fails.
        from: Time ["from_ns"];
        /// When it returns, if it does.
        until: Option<Time> ["until_ns"];
        /// Packets that it has lost.
        packets_lost: u64 ["packets_lost"];
        /// Packets that it has lost [B on the wire].
        bytes_lost: u64 ["bytes_lost"];
        /// When the last of them was sent.
        last_loss: Option<Time> ["last_loss_ns"];
        /// Directions of connections that had to send data again.
        connections: u64 ["connections"];
        /// When the last of it had arrived again, if all had.
        recovered: Option<Time> ["recovered_ns"];
    }
}

impl Simulation {
    pub(super) fn failures(&self) -> Vec<(ChannelId, FailureRow)> {
        let rows = |shard: &Shard, link: &ImpairedLink| {
            let channel = shard.wires.channels[link.port];
            let (node, port, peer) = self.port_names(channel);
            let row = move |outage: &LinkOutage| FailureRow {
                node: node.clone(),
                port,
                peer: peer.clone(),
                from: outage.from,
                until: (outage.until < Time::MAX).then_some(outage.until),
                packets_lost: outage.packets,
                bytes_lost: outage.bytes,
                last_loss: outage.last_loss,
                connections: 0,
                recovered: None,
            };
            link.outages.iter().map(|outage| (channel, row(outage))).collect::<Vec<_>>()
        };
        let links =
            self.shards.iter().flat_map(|shard| shard.wires.impaired_links.iter().map(move |link| (shard, link)));
        links.flat_map(|(shard, link)| rows(shard, link)).collect()
    }

    pub(super) fn losses(&self) -> Vec<((ChannelId, Time), LostData)> {
        let links =
            self.shards.iter().flat_map(|shard| shard.wires.impaired_links.iter().map(move |link| (shard, link)));
        let outages =
            links.flat_map(|(shard, link)| link.outages.iter().map(|outage| (shard.wires.channels[link.port], outage)));
        outages
            .flat_map(|(channel, outage)| outage.losses.iter().map(move |&lost| ((channel, outage.from), lost)))
            .collect()
    }

    /// Returns the bytes of each sender that have reached its receiver, where links fail.
    pub(super) fn received(&self) -> Vec<(u32, u64)> {
        let ends = self
            .shards
            .iter()
            .filter(|shard| shard.wires.constants.notes_losses)
            .flat_map(|shard| &shard.hosts.nics.endpoints);
        ends.map(|end| (end.number ^ 1, end.intake.bytes)).collect()
    }
}
