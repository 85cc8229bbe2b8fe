//! Routing by flow tables, so that what is simulated is what would be deployed.

use etherweave_primitives::{ChannelId, HostId, InputError, Port, SwitchId};
use etherweave_routing::{EcmpHash, FlowKey, HashSelection, Routing, Selection};
use etherweave_topology::Topology;

use crate::compaction::Sources;
use crate::{AddressPlan, FlowTable, MinimalRouting, PacketHeader, RegionRoutes, Strategy, Ternary, proof, prove};

/// Flow tables as a routing, while nothing is paused: as a routing and, by the rules for shares of the sources, as a
/// selection.
#[derive(Clone, Debug)]
pub struct FlowTableRouting {
    tables: Vec<FlowTable>,
    addresses: Vec<u64>,
    /// All address bits.
    word: u64,
    channels: Vec<Vec<ChannelId>>,
    port_channels: Vec<u32>,
    /// Among several ports of one rule.
    hash: HashSelection,
}

impl FlowTableRouting {
    /// Tables of a strategy, proved, with a hash among the ports that a rule leaves open.
    ///
    /// # Errors
    /// When the plan does not suit the fabric, or a table is not equal to the routing.
    pub fn build(
        minimal: &MinimalRouting<'_>,
        strategy: Strategy,
        hash: &EcmpHash,
    ) -> Result<FlowTableRouting, InputError> {
        let topology = minimal.topology();
        let plan = strategy.plan.plan(topology)?;
        let mut sources = Sources::of(&plan);
        let mut tables = Vec::with_capacity(topology.switches());
        for at in (0..topology.switches()).map(SwitchId::from_index) {
            let routes = RegionRoutes::of(minimal, &plan, at);
            let table = strategy.table(&routes, &mut sources, topology);
            prove(&routes, &table, topology)?;
            tables.push(table);
        }
        Ok(FlowTableRouting::of(topology, &plan, tables, hash))
    }

    /// Any tables, one per switch.
    ///
    /// # Panics
    /// When there is not one table per switch and one address per host.
    pub fn of(topology: &Topology, plan: &AddressPlan, tables: Vec<FlowTable>, hash: &EcmpHash) -> FlowTableRouting {
        assert_eq!((tables.len(), plan.hosts()), (topology.switches(), topology.hosts()), "a table per switch");
        let leaving = |at| topology.out_channels(SwitchId::from_index(at)).to_vec();
        let channels = topology.channels().len();
        FlowTableRouting {
            addresses: (0..plan.hosts()).map(|host| plan.address(HostId::from_index(host))).collect(),
            word: (1 << plan.bits()) - 1,
            channels: (0..tables.len()).map(leaving).collect(),
            port_channels: (0..channels).map(|at| topology.port_channel(ChannelId::from_index(at)) as u32).collect(),
            hash: hash.build(topology),
            tables,
        }
    }

    /// The table of a switch.
    pub fn table(&self, at: SwitchId) -> &FlowTable {
        &self.tables[at.index()]
    }

    fn channel(&self, at: SwitchId, port: Port) -> ChannelId {
        self.channels[at.index()][port.index()]
    }
}

impl Routing for FlowTableRouting {
    fn candidates(&self, at: SwitchId, dst: HostId, out: &mut Vec<ChannelId>) {
        let (table, mut rules) = (self.table(at), Vec::new());
        let is_decided =
            proof::deciding(table.rules(), Ternary::new(self.addresses[dst.index()], self.word), &mut rules);
        assert!(is_decided, "a rule matches a single address or does not");
        let first = out.len();
        out.extend(proof::ports(table, &rules).into_iter().map(|port| self.channel(at, port)));
        out[first..].sort_by_key(|channel| self.port_channels[channel.index()]);
    }
}

impl Selection for FlowTableRouting {
    fn pick(&self, at: SwitchId, key: &FlowKey, candidates: &[ChannelId]) -> ChannelId {
        let [dst, src] = [key.dst, key.src].map(|host| self.addresses[host.index()]);
        let rule = self.table(at).lookup(&PacketHeader { dst, src, in_port: None }, |_| false);
        let ports = rule.map(|rule| self.table(at).ports(rule)).unwrap_or_default();
        let mut taken: Vec<ChannelId> = ports.iter().map(|&port| self.channel(at, port)).collect();
        taken.sort_by_key(|channel| self.port_channels[channel.index()]);
        taken.retain(|channel| candidates.contains(channel));
        self.hash.pick(at, key, if taken.is_empty() { candidates } else { &taken })
    }
}
