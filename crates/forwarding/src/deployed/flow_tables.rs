//! The flow tables of a fabric, made one switch after the other.

use etherweave_primitives::{ChannelId, HostId, InputError, Port, SwitchId};
use etherweave_routing::tables::{ChannelScheme, CompiledTables, Trigger};
use etherweave_topology::{LinkClass, Node, Topology, TopologyKind, reverse};

use super::compiler::{Compiler, own_group};
use crate::compaction::Sources;
use crate::{
    AddressPlan, FlowTable, MinimalRouting, NonMinimalPort, RegionRoutes, Strategy, prove, while_unpaused,
    with_alternatives, with_non_minimal_ports,
};

/// Which rules stand behind the default ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conditions {
    /// None: minimal tables.
    None,
    /// Folded Clos: so many other uplinks for every share of the sources.
    Uplinks(u32),
    /// Flattened butterfly: the rules for smaller regions, which are there already.
    Dimensions,
    /// Dragonfly: so many global ports of the own switch for every host.
    NonMinimal(u32),
}

/// What makes the table of each switch.
pub struct FlowTables<'a> {
    topology: &'a Topology,
    minimal: MinimalRouting<'a>,
    plan: AddressPlan,
    strategy: Strategy,
    conditions: Conditions,
    /// Channels that no non-minimal path may begin with.
    avoided: Vec<ChannelId>,
}

impl<'a> FlowTables<'a> {
    /// The tables of `topology`, which `kind` has generated.
    ///
    /// # Errors
    /// When the fabric has no such addresses or no minimal routing.
    pub fn new(
        kind: &TopologyKind,
        topology: &'a Topology,
        strategy: Strategy,
        conditions: Conditions,
    ) -> Result<FlowTables<'a>, InputError> {
        let minimal = MinimalRouting::of(kind, topology).map_err(unsuited)?;
        let plan = strategy.plan.plan(topology).map_err(unsuited)?;
        Ok(FlowTables { topology, minimal, plan, strategy, conditions, avoided: Vec::new() })
    }

    /// The same with fields of these widths [bits], most significant first; none: as narrow as possible.
    ///
    /// # Errors
    /// When they do not suit the fabric.
    pub fn with_widths(mut self, widths: &[u32]) -> Result<FlowTables<'a>, InputError> {
        self.plan = self.strategy.plan.plan_with(self.topology, widths).map_err(unsuited)?;
        Ok(self)
    }

    /// The same around links that are down: by shortest paths of those that are left, on the same ports, to the same
    /// addresses.
    pub fn around(mut self, kind: &TopologyKind, down: &[ChannelId]) -> FlowTables<'a> {
        if !down.is_empty() {
            self.minimal = MinimalRouting::around(kind, self.topology, down);
            self.avoided = down.iter().flat_map(|&channel| [channel, reverse(channel)]).collect();
            if matches!(self.conditions, Conditions::NonMinimal(_)) {
                let returning = self.returning();
                self.avoided.extend(returning);
            }
        }
        self
    }

    /// Global channels whose far switch sends back packets for a third group, because its own path there is down: no
    /// non-minimal path may begin with them.
    fn returning(&self) -> Vec<ChannelId> {
        let switches = (0..self.topology.switches()).map(SwitchId::from_index);
        let back = |at| {
            let row = RegionRoutes::of(&self.minimal, &self.plan, at);
            let ports = (0..self.topology.out_channels(at).len()).map(Port::from_index);
            let onward = ports.filter(|&port| self.class(at, port) == LinkClass::Global);
            onward.filter(|&port| self.sends_back(&row, port)).map(|port| self.topology.out_channel(at, port)).collect()
        };
        switches.flat_map(|at| -> Vec<ChannelId> { back(at) }).map(reverse).collect()
    }

    /// Whether packets for a group other than that behind a port may leave by it.
    fn sends_back(&self, row: &RegionRoutes<'_>, port: Port) -> bool {
        let Node::Switch(far) = self.topology.channel(self.topology.out_channel(row.at, port)).to.node else {
            return false;
        };
        let home = own_group(self.topology, &self.plan, far);
        row.entries.iter().any(|entry| !home.covers(entry.cube) && row.sets.get(entry.action).contains(&port))
    }

    /// Hands over the table of every switch; without its conditions each is proved equal to minimal routing.
    ///
    /// # Errors
    /// When a table is not, and those of `take`.
    pub fn each(&self, mut take: impl FnMut(SwitchId, &FlowTable) -> Result<(), InputError>) -> Result<(), InputError> {
        let mut sources = Sources::of(&self.plan);
        (0..self.topology.switches()).map(SwitchId::from_index).try_for_each(|at| {
            let row = RegionRoutes::of(&self.minimal, &self.plan, at);
            let table = self.strategy.table(&row, &mut sources, self.topology);
            prove(&row, &table, self.topology).map_err(unsuited)?;
            take(at, &self.with_conditions(at, table))
        })
    }

    /// The routing by these tables.
    ///
    /// # Errors
    /// When a table is not equal to minimal routing, or all together are too large.
    pub fn compile(&self, ranks: ChannelScheme, trigger: Trigger) -> Result<CompiledTables, InputError> {
        let mut compiler = Compiler::new(self.topology, &self.plan, ranks)?;
        self.each(|at, table| compiler.add(at, table))?;
        let (nodes, chains) = compiler.finish();
        let address = |host| self.plan.address(HostId::from_index(host)) as u32;
        let addresses = (0..self.topology.hosts()).map(address).collect();
        Ok(CompiledTables::new(nodes, chains, addresses, ranks, trigger))
    }

    /// The address plan.
    pub fn plan(&self) -> &AddressPlan {
        &self.plan
    }

    fn with_conditions(&self, at: SwitchId, table: FlowTable) -> FlowTable {
        match self.conditions {
            Conditions::None => table,
            Conditions::Uplinks(alternatives) => with_alternatives(&table, alternatives as usize),
            Conditions::Dimensions => while_unpaused(&table, |port| self.class(at, port) != LinkClass::Host),
            Conditions::NonMinimal(alternatives) => {
                let own = own_group(self.topology, &self.plan, at);
                with_non_minimal_ports(&table, own, &self.alternatives(at, alternatives as usize))
            }
        }
    }

    /// The host of port `i` leaves by global port `i`, then by the following ones.
    fn alternatives(&self, at: SwitchId, alternatives: usize) -> Vec<NonMinimalPort> {
        let ports = |class| -> Vec<Port> {
            let all = (0..self.topology.out_channels(at).len()).map(Port::from_index);
            all.filter(|&port| self.class(at, port) == class).collect()
        };
        let [hosts, mut global] = [LinkClass::Host, LinkClass::Global].map(ports);
        global.retain(|&port| !self.avoided.contains(&self.topology.out_channel(at, port)));
        let alternative = |place: usize, level| NonMinimalPort {
            in_port: hosts[place],
            out_port: global[(place + level) % global.len()],
        };
        let levels = alternatives.min(global.len());
        (0..hosts.len()).flat_map(|place| (0..levels).map(move |level| alternative(place, level))).collect()
    }

    fn class(&self, at: SwitchId, port: Port) -> LinkClass {
        self.topology.channel(self.topology.out_channel(at, port)).class
    }
}

fn unsuited(error: InputError) -> InputError {
    let expected = "one whose switches can be given flow tables".to_owned();
    InputError::new("topology", format!("one for which {}", error.reason()), expected)
}
