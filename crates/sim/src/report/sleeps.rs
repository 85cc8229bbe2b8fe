//! Ports that sleep between frames.

use etherweave_engine::impaired_link::ImpairedLink;
use etherweave_kernel::rows;
use etherweave_primitives::{ChannelId, Duration};

use crate::{run::Simulation, shard::Shard};

rows! {
    /// A port whose transmitter sleeps between frames.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct SleepRow in (), "sleeps" {
        /// The switch or host of the port.
        node: String ["node"];
        /// Number of the port on its node.
        port: u16 ["port"];
        /// The node at the other end.
        peer: String ["peer"];
        /// How often it was woken.
        wakes: u64 ["wakes"];
        /// How long it was asleep.
        asleep: Duration ["asleep_ns"];
        /// How long frames waited for it, summed over frames.
        waited: Duration ["waited_ns"];
    }
}

impl Simulation {
    pub(super) fn sleeps(&self) -> Vec<(ChannelId, SleepRow)> {
        let row = |shard: &Shard, link: &ImpairedLink| {
            let channel = shard.wires.channels[link.port];
            let (node, port, peer) = self.port_names(channel);
            let sleep = link.sleep.as_ref()?;
            let (wakes, asleep, waited) = (sleep.wakes, sleep.asleep_until(self.end), sleep.waited);
            Some((channel, SleepRow { node, port, peer, wakes, asleep, waited }))
        };
        let links =
            self.shards.iter().flat_map(|shard| shard.wires.impaired_links.iter().map(move |link| (shard, link)));
        links.filter_map(|(shard, link)| row(shard, link)).collect()
    }
}
