//! Rates of ports that follow their load.

use etherweave_engine::impaired_link::ImpairedLink;
use etherweave_kernel::rows;
use etherweave_primitives::{ChannelId, Duration};

use crate::{run::Simulation, shard::Shard};

rows! {
    /// A rate of a port whose rate follows its load.
    #[derive(Clone, PartialEq, Debug)]
    pub struct RateRow in (), "rates" {
        /// The switch or host of the port.
        node: String ["node"];
        /// Number of the port on its node.
        port: u16 ["port"];
        /// The node at the other end.
        peer: String ["peer"];
        /// Share of the full rate.
        rate: f64 ["rate_share"];
        /// How long the port had it.
        time: Duration ["time_ns"];
        /// How often the rate of the port changed, the same in all its rows.
        changes: u64 ["changes"];
        /// How much later frames ended than at the full rate, summed over frames, the same in all its rows.
        waited: Duration ["waited_ns"];
    }
}

impl Simulation {
    pub(super) fn rates(&self) -> Vec<(ChannelId, RateRow)> {
        let rows = |shard: &Shard, link: &ImpairedLink| {
            let channel = shard.wires.channels[link.port];
            let mut rates = link.rates.clone()?;
            let (changes, waited) = (rates.changes, rates.waited);
            let row = |(rate, time)| {
                let (node, port, peer) = self.port_names(channel);
                (channel, RateRow { node, port, peer, rate, time, changes, waited })
            };
            Some(rates.times_until(self.end).map(row).collect::<Vec<_>>())
        };
        let links =
            self.shards.iter().flat_map(|shard| shard.wires.impaired_links.iter().map(move |link| (shard, link)));
        links.filter_map(|(shard, link)| rows(shard, link)).flatten().collect()
    }
}
