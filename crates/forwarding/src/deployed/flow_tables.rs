//! The flow tables of a fabric, made one switch after the other.

use etherweave_primitives::{ChannelId, HostId, InputError, Port, SwitchId};
use etherweave_routing::tables::{ChannelRule, ChannelScheme, CompiledTables, Trigger};
use etherweave_topology::{LinkClass, Node, Topology, TopologyKind, reverse};

use super::compiler::{Compiler, hop_purpose, own_group};
use crate::{
    AddressPlan, FlowTable, MinimalRouting, NonMinimalPort, NonMinimalPorts, RegionRoutes, Rule, Strategy, Ternary,
    compaction::Sources, prove, with_alternatives, with_non_minimal_ports,
};

/// Rules that stand behind the default ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conditions {
    /// None: minimal tables.
    None,
    /// Folded Clos: so many other uplinks for every share of the sources.
    Uplinks(u32),
    /// Behind the rules for smaller regions, where these overlap: for every host some ports of the own switch to other
    /// places.
    NonMinimal {
        /// Coordinates, the most significant first, that such ports change: the group of a dragonfly, all of a
        /// flattened butterfly.
        axes: usize,
        /// Ports for every host and coordinate.
        alternatives: u32,
    },
}

/// Generator of the table of each switch.
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
        let plan = strategy.address_plan(topology, &[]).map_err(unsuited)?;
        Ok(FlowTables { topology, minimal, plan, strategy, conditions, avoided: Vec::new() })
    }

    /// The same with fields of these widths [bits], most significant first; none: as narrow as possible.
    ///
    /// # Errors
    /// When they do not suit the fabric.
    pub fn with_widths(mut self, widths: &[u32]) -> Result<FlowTables<'a>, InputError> {
        self.plan = self.strategy.address_plan(self.topology, widths).map_err(unsuited)?;
        Ok(self)
    }

    /// The same around links that are down: by shortest paths of those that are left, on the same ports, to the same
    /// addresses.
    pub fn around(mut self, kind: &TopologyKind, down: &[ChannelId]) -> FlowTables<'a> {
        if !down.is_empty() {
            self.minimal = MinimalRouting::around(kind, self.topology, down);
            self.avoided = down.iter().flat_map(|&channel| [channel, reverse(channel)]).collect();
            if let Conditions::NonMinimal { axes, .. } = self.conditions {
                let returning = self.returning(axes);
                self.avoided.extend(returning);
            }
        }
        self
    }

    /// Channels to another place whose far switch sends back packets for a third one, because its own path there is
    /// down: no non-minimal path may begin with them.
    fn returning(&self, axes: usize) -> Vec<ChannelId> {
        let switches = (0..self.topology.switches()).map(SwitchId::from_index);
        let back = |at| {
            let row = RegionRoutes::of(&self.minimal, &self.plan, at);
            let back = |part: OwnPart| {
                let onward = self.across(at, part.axis);
                let back = onward.into_iter().filter(|&port| self.sends_back(&row, part, port));
                back.map(|port| self.topology.out_channel(at, port)).collect::<Vec<_>>()
            };
            self.own_parts(at, axes).into_iter().flat_map(back).collect()
        };
        switches.flat_map(|at| -> Vec<ChannelId> { back(at) }).map(reverse).collect()
    }

    /// Whether packets for a place other than that behind a port may leave by it.
    fn sends_back(&self, row: &RegionRoutes<'_>, part: OwnPart, port: Port) -> bool {
        let Node::Switch(far) = self.topology.channel(self.topology.out_channel(row.at, port)).to.node else {
            return false;
        };
        let there = self.own_parts(far, part.axis + 1).into_iter().find(|other| other.axis == part.axis);
        let is_for_third =
            |cube: Ternary| part.region.meets(cube) && there.is_some_and(|there| !there.own.covers(cube));
        row.entries.iter().any(|entry| is_for_third(entry.cube) && row.sets.get(entry.action).contains(&port))
    }

    /// Whether minimal paths are those of the family, for which channels are known to suffice: no link is down, and
    /// what was built does not depart from the plan, or is a tree.
    pub fn is_regular(&self) -> bool {
        !self.minimal.is_searched()
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

    /// Change of the channel that a rule of a switch makes under a scheme, as [`FlowTables::compile`] has it;
    /// none for a rule that sends to hosts or nowhere.
    pub fn channel_rule(
        &self,
        ranks: ChannelScheme,
        at: SwitchId,
        table: &FlowTable,
        rule: &Rule,
    ) -> Option<ChannelRule> {
        let class = table.ports(rule).first().map(|&port| self.class(at, port))?;
        let own = own_group(self.topology, &self.plan, at);
        (class != LinkClass::Host).then(|| ranks.rank(class, hop_purpose(own, rule)))
    }

    /// The address plan.
    pub fn plan(&self) -> &AddressPlan {
        &self.plan
    }

    fn with_conditions(&self, at: SwitchId, table: FlowTable) -> FlowTable {
        match self.conditions {
            Conditions::None => table,
            Conditions::Uplinks(alternatives) => with_alternatives(&table, alternatives as usize),
            Conditions::NonMinimal { axes, alternatives } => {
                let ports = |part| self.non_minimal_ports(at, part, alternatives as usize);
                let regions: Vec<NonMinimalPorts> = self.own_parts(at, axes).into_iter().map(ports).collect();
                with_non_minimal_ports(&table, &regions)
            }
        }
    }

    /// The parts around a switch of the fabric, by its leading coordinates, each within the one before. A coordinate
    /// that all switches share divides nothing.
    fn own_parts(&self, at: SwitchId, axes: usize) -> Vec<OwnPart> {
        let mut region = Ternary::ANY;
        let place = self.topology.axes().iter().zip(self.topology.coordinates(at)).enumerate().take(axes);
        let part = |(axis, (name, &value)): (usize, (&String, &u32))| {
            let field = self.plan.fields().iter().find(|field| field.name == *name)?;
            let own = field.matching(value).and(region).expect("fields do not overlap");
            Some(OwnPart { axis, region: std::mem::replace(&mut region, own), own })
        };
        place.filter_map(part).collect()
    }

    /// The ports that change one coordinate of a switch, perhaps others that are less significant.
    fn across(&self, at: SwitchId, axis: usize) -> Vec<Port> {
        let own = self.topology.coordinates(at);
        let is_across = |port: &Port| match self.topology.channel(self.topology.out_channel(at, *port)).to.node {
            Node::Switch(far) => {
                let place = self.topology.coordinates(far);
                own[..axis] == place[..axis] && own[axis] != place[axis]
            }
            Node::Host(_) => false,
        };
        (0..self.topology.out_channels(at).len()).map(Port::from_index).filter(is_across).collect()
    }

    /// The host of port `i` leaves by the `i`-th port across, then by the following ones.
    fn non_minimal_ports(&self, at: SwitchId, part: OwnPart, alternatives: usize) -> NonMinimalPorts {
        let mut across = self.across(at, part.axis);
        across.retain(|&port| !self.avoided.contains(&self.topology.out_channel(at, port)));
        let all = (0..self.topology.out_channels(at).len()).map(Port::from_index);
        let hosts = all.filter(|&port| self.class(at, port) == LinkClass::Host);
        let levels = alternatives.min(across.len());
        let port =
            |place: usize, in_port, level| NonMinimalPort { in_port, out_port: across[(place + level) % across.len()] };
        let ports = hosts.enumerate().flat_map(|(place, host)| (0..levels).map(move |level| (place, host, level)));
        let ports = ports.map(|(place, host, level)| port(place, host, level)).collect();
        NonMinimalPorts { region: part.region, own: part.own, ports }
    }

    fn class(&self, at: SwitchId, port: Port) -> LinkClass {
        self.topology.channel(self.topology.out_channel(at, port)).class
    }
}

/// A part of the fabric around a switch.
#[derive(Clone, Copy)]
struct OwnPart {
    /// The coordinate that divides the region.
    axis: usize,
    /// Addresses that are alike in the coordinates before.
    region: Ternary,
    /// Those of them with the switch's own coordinate as well.
    own: Ternary,
}

fn unsuited(error: InputError) -> InputError {
    if error.key == "group_coordinates" {
        return error;
    }
    let expected = "one whose switches can be given flow tables".to_owned();
    InputError::new("topology", format!("one for which {}", error.reason()), expected)
}
