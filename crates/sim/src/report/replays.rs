//! Frames that links with link-level retry have sent again, and what retry has cost beside that.

use etherweave_engine::{impaired_link::ImpairedLink, link_retry::MESSAGE, link_retry::Replays};
use etherweave_kernel::rows;
use etherweave_primitives::{ChannelId, Duration};

use crate::{run::Simulation, shard::Shard};

rows! {
    /// A direction of a link with retry that has cost something.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct ReplayRow in (), "replays" {
        /// The switch or host that sends.
        node: String ["node"];
        /// Number of the port on its node.
        port: u16 ["port"];
        /// The node at the other end.
        peer: String ["peer"];
        /// Frames that were damaged and sent again.
        frames: u64 ["frames"];
        /// Times that they were sent again.
        replays: u64 ["replays"];
        /// Frames that were lost, damaged as often as they may be sent.
        given_up: u64 ["lost_frames"];
        /// Bytes sent again, with preamble and gap.
        bytes: u64 ["replayed_bytes"];
        /// Time that the transmitter has lost, the way to the far end and back included.
        lost: Duration ["lost_ns"];
        /// Time that frames have waited for room in the replay buffer.
        held: Duration ["held_ns"];
        /// Bytes of control messages that frames have waited for.
        message_bytes: u64 ["message_bytes"];
    }
}

impl Simulation {
    pub(super) fn replays(&self) -> Vec<(ChannelId, ReplayRow)> {
        let row = |shard: &Shard, link: &ImpairedLink| {
            let Replays { frames, replays, given_up, bytes, lost, held, messages } = link.damage.as_ref()?.replays;
            let channel = shard.wires.channels[link.port];
            let (node, port, peer) = self.port_names(channel);
            let message_bytes = messages * MESSAGE;
            let has_cost = frames > 0 || messages > 0 || !held.is_zero();
            let row = ReplayRow { node, port, peer, frames, replays, given_up, bytes, lost, held, message_bytes };
            has_cost.then_some((channel, row))
        };
        let links =
            self.shards.iter().flat_map(|shard| shard.wires.impaired_links.iter().map(move |link| (shard, link)));
        links.filter_map(|(shard, link)| row(shard, link)).collect()
    }
}
