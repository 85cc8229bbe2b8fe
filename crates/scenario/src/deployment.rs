//! What deployment is made of: the flow tables of a fabric and the addresses of its hosts, as columns; and what each
//! table decides, for comparison with switches that have been programmed.
//!
//! Ports are numbered as in OpenFlow: port 0 of the fabric is 1, and 0 is none. Addresses are whole MAC addresses.

use std::collections::{BTreeSet, HashMap, VecDeque};

use etherweave_forwarding::{
    AddressPlan, ConditionalTables, Conditions, FlowTable, FlowTables, Mac, MinimalRouting, MinimalTables,
    PacketHeader, PlanKind, Sharing, Strategy, Ternary,
};
use etherweave_primitives::{ChannelId, HostId, InputError, Port, SwitchId};
use etherweave_routing::tables::{ChannelRule, ChannelScheme, Trigger};
use etherweave_topology::{LinkClass, Node, Shape, Topology, TopologyKind, reverse};

use crate::control::{ControlSpec, RuleKind};
use crate::tables::{integers, texts};
use crate::{Table, conversions};
use rows::{InPorts, Row};

/// A fabric's flow tables, made and proved, with links that are down left out.
pub struct Deployment {
    topology: Topology,
    kind: TopologyKind,
    spec: ControlSpec,
    plan: AddressPlan,
    /// By switch.
    tables: Vec<FlowTable>,
    /// Both directions of links that are down.
    down: BTreeSet<ChannelId>,
    /// How the routing uses virtual channels, where that is known.
    ranks: Option<ChannelScheme>,
    /// The virtual channel that each rule of each switch writes.
    written: Vec<Vec<Option<u8>>>,
    /// What its rules were found to do under pauses, where it is lossless and no proof of its family is about them.
    deadlock: Option<String>,
    warnings: Vec<String>,
}

/// A question to a table: where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// Number of the switch.
    pub switch: u32,
    /// The ingress port of the packet; 0: not known.
    pub in_port: u32,
    /// Number of the host that sent it.
    pub src: u32,
    /// Number of the host that it is for.
    pub dst: u32,
}

impl Deployment {
    pub(crate) fn of(
        kind: &TopologyKind,
        topology: &Topology,
        spec: &ControlSpec,
        strategy: Strategy,
        widths: &[u32],
        down: &[ChannelId],
        is_lossless: bool,
    ) -> Result<Deployment, InputError> {
        let error = conversions::deployment;
        let flow_tables = match spec.rules {
            RuleKind::Minimal => FlowTables::new(kind, topology, strategy, Conditions::None).map_err(error)?,
            RuleKind::Conditional => conditional(spec, strategy, kind)?.tables(kind, topology).map_err(error)?.0,
        };
        let flow_tables = flow_tables.with_widths(widths).map_err(error)?.around(kind, down);
        let ranks = ranks(spec, kind, topology);
        let writing = ranks.filter(|ranks| ranks.channels() > 1 && !spec.priorities.is_empty());
        let (mut tables, mut written) = (Vec::with_capacity(topology.switches()), Vec::new());
        let each = flow_tables.each(|at, table| {
            let rules = table.rules().iter();
            written.push(rules.map(|rule| fixed(flow_tables.channel_rule(writing?, at, table, rule)?)).collect());
            tables.push(table.clone());
            Ok(())
        });
        each.map_err(error)?;
        let is_followed = is_lossless && !(flow_tables.is_regular() && ranks.is_some());
        let deadlock = is_followed.then(|| deadlock(&flow_tables, writing.unwrap_or(ChannelScheme::One), topology));
        let deadlock = deadlock.flatten();
        let (topology, kind, spec, plan) = (topology.clone(), kind.clone(), spec.clone(), flow_tables.plan().clone());
        let down = down.iter().flat_map(|&channel| [channel, reverse(channel)]).collect();
        Ok(Deployment { topology, kind, spec, plan, tables, down, ranks, written, deadlock, warnings: Vec::new() })
    }

    /// The same with what a user is warned of.
    pub(crate) fn with_warnings(self, warnings: Vec<String>) -> Deployment {
        Deployment { warnings, ..self }
    }

    /// What its rules do under pauses, where it is lossless and its family's proof is not about them: wait for each
    /// other, or not known.
    pub(crate) fn deadlock(&self) -> Option<String> {
        let (problem, down) = (self.deadlock.as_ref()?, !self.down.is_empty());
        let (key, more) = if down { ("failed", ", or these cables mended") } else { ("flow_control", "") };
        Some(format!("{key}: {problem}; expected flow_control.none{more}"))
    }

    /// Hosts of the parts into which links that are down divide the fabric, which neither rules nor groups leave.
    pub(crate) fn division(&self) -> Option<String> {
        let parts = Forest::of(&self.topology, &self.down).hosts;
        let key = if self.down.is_empty() { "topology" } else { "failed" };
        let sizes = parts.iter().take(PARTS_MAX).map(u64::to_string).collect::<Vec<_>>().join(", ");
        let more = if parts.len() > PARTS_MAX { ", ..." } else { "" };
        let text = format!("{key}: {} parts without a cable between them, of {sizes}{more} hosts", parts.len());
        (parts.len() > 1).then(|| format!("{text}, which neither rules nor groups connect; expected one part"))
    }

    /// How pauses can deadlock what is deployed, and what failed cables divide, each with its key.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The table `[control]`, every default written out, as JSON.
    pub fn spec(&self) -> String {
        serde_json::to_string(&self.spec).expect("parameters are JSON")
    }

    /// Fields of the addresses: "group 4 | switch 2 | host 1 (7 of 46 bits)".
    pub fn layout(&self) -> String {
        self.plan.to_string()
    }

    /// How many address bits hosts differ in.
    pub fn address_bits(&self) -> u32 {
        self.plan.bits()
    }

    /// How many priorities keep lossless traffic from deadlock while nothing is down; none where that is not known.
    pub fn priorities(&self) -> Option<u8> {
        self.ranks.map(ChannelScheme::channels)
    }

    /// `rules`, `hosts`, `ports`, and `known`: patterns of the addresses that hosts have.
    pub fn tables(&self) -> Vec<Table> {
        vec![self.rules(), self.hosts(), self.ports(), self.known()]
    }

    fn rules(&self) -> Table {
        let of_switch = |(at, table)| {
            let hosts = self.host_ports(SwitchId::from_index(at));
            Row::all(at, table, &hosts, &self.written[at])
        };
        let rows: Vec<Row<'_>> = self.tables.iter().enumerate().flat_map(of_switch).collect();
        Table {
            name: "rules",
            columns: vec![
                ("switch", integers(&rows, |row| row.switch as u64)),
                ("priority", integers(&rows, |row| row.rule.priority.into())),
                ("eth_dst", integers(&rows, |row| matching(row.rule.dst).0)),
                ("eth_dst_mask", integers(&rows, |row| matching(row.rule.dst).1)),
                ("eth_src", integers(&rows, |row| matching(row.rule.src).0)),
                ("eth_src_mask", integers(&rows, |row| matching(row.rule.src).1)),
                ("in_port", integers(&rows, |row| number(row.rule.in_port))),
                ("unless_paused", integers(&rows, |row| number(row.rule.unless_paused))),
                ("ports", texts(&rows, |row| listed(row.ports))),
                ("is_alternative", integers(&rows, |row| row.is_alternative.into())),
                ("waits", integers(&rows, |row| row.waits.into())),
                ("written", integers(&rows, |row| place(row.written))),
            ],
        }
    }

    fn host_ports(&self, at: SwitchId) -> Vec<Port> {
        let leaving = self.topology.out_channels(at).iter().map(|&id| self.topology.channel(id));
        leaving.filter(|channel| channel.class == LinkClass::Host).map(|channel| channel.from.port).collect()
    }

    fn hosts(&self) -> Table {
        let topology = &self.topology;
        let rows: Vec<HostId> = (0..topology.hosts()).map(HostId::from_index).collect();
        let port = |&host: &HostId| topology.channel(topology.host_channel(host)).to.port;
        Table {
            name: "hosts",
            columns: vec![
                ("host", texts(&rows, |&host| topology.host_name(host).to_owned())),
                ("switch", integers(&rows, |&host| topology.switch_of(host).get().into())),
                ("port", integers(&rows, |host| number(Some(port(host))))),
                ("eth", integers(&rows, |&host| self.plan.mac(host).get())),
            ],
        }
    }

    fn ports(&self) -> Table {
        let tree = Forest::of(&self.topology, &self.down).channels;
        let switches = (0..self.topology.switches()).map(SwitchId::from_index);
        let rows: Vec<ChannelId> = switches.flat_map(|at| self.topology.out_channels(at)).copied().collect();
        let channel = |&id: &ChannelId| *self.topology.channel(id);
        let switch = |id: &ChannelId| match channel(id).from.node {
            Node::Switch(at) => u64::from(at.get()),
            Node::Host(_) => unreachable!("the channels of switches leave switches"),
        };
        let is_on_tree = |id: &ChannelId| tree.contains(id) || channel(id).class == LinkClass::Host;
        let in_ports: Vec<InPorts> = self.tables.iter().map(InPorts::of).collect();
        let diverts = |id: &ChannelId| in_ports[switch(id) as usize].diverts(channel(id).from.port);
        Table {
            name: "ports",
            columns: vec![
                ("switch", integers(&rows, switch)),
                ("port", integers(&rows, |id| number(Some(channel(id).from.port)))),
                ("node", texts(&rows, |id| self.topology.name(channel(id).to.node).to_owned())),
                ("node_port", integers(&rows, |id| number(Some(channel(id).to.port)))),
                ("class", texts(&rows, |id| channel(id).class.name().to_owned())),
                ("is_up", integers(&rows, |id| (!self.down.contains(id)).into())),
                ("is_on_tree", integers(&rows, |id| is_on_tree(id).into())),
                ("raises", integers(&rows, |id| self.raises(channel(id).class).into())),
                ("diverts", integers(&rows, |id| diverts(id).into())),
            ],
        }
    }

    /// Whether a frame that arrives by a link of a class goes on in the next priority.
    fn raises(&self, class: LinkClass) -> bool {
        match (self.ranks, class) {
            (None | Some(ChannelScheme::One | ChannelScheme::ByRule), _) | (_, LinkClass::Host) => false,
            (Some(ChannelScheme::ByLink(_)), class) => class == LinkClass::Global,
            (Some(ChannelScheme::ByHop(_)), _) => true,
        }
    }

    fn known(&self) -> Table {
        let rows = self.plan.cover();
        Table {
            name: "known",
            columns: vec![
                ("eth", integers(&rows, |&pattern| Mac::matching(pattern).0.get())),
                ("eth_mask", integers(&rows, |&pattern| Mac::matching(pattern).1.get())),
            ],
        }
    }

    /// The ports of every question by the flow table, while some ports are paused (numbers of switch and port), those
    /// that the routing itself allows, whatever is paused, and the place from 1 of the priority that the rule writes.
    ///
    /// # Panics
    /// When a question names what the fabric does not have.
    pub fn decide(&self, questions: &[Question], paused: &[(u32, u32)]) -> Table {
        let paused: BTreeSet<(u32, u32)> = paused.iter().copied().collect();
        let by_routing = self.by_routing(questions);
        let is_paused = |at: u32| {
            let paused = &paused;
            move |port: Port| paused.contains(&(at, u32::from(port.get()) + 1))
        };
        let by_table = |question: &Question| {
            let table = &self.tables[question.switch as usize];
            let rule = table.lookup(&self.packet(question), is_paused(question.switch));
            let number = rule.and_then(|rule| table.rules().iter().position(|other| std::ptr::eq(other, rule)));
            let written = number.and_then(|number| self.written[question.switch as usize][number]);
            (rule.map_or(String::new(), |rule| listed(table.ports(rule))), place(written))
        };
        let decided: Vec<(String, u64)> = questions.iter().map(by_table).collect();
        let rows: Vec<usize> = (0..questions.len()).collect();
        Table {
            name: "decisions",
            columns: vec![
                ("by_table", texts(&rows, |&row| decided[row].0.clone())),
                ("by_routing", texts(&rows, |&row| by_routing[row].clone())),
                ("written", integers(&rows, |&row| decided[row].1)),
            ],
        }
    }

    fn packet(&self, question: &Question) -> PacketHeader {
        let [dst, src] = [question.dst, question.src].map(|host| self.plan.address(HostId::new(host)));
        let in_port = question.in_port.checked_sub(1).map(|port| Port::from_index(port as usize));
        PacketHeader { dst, src, in_port }
    }

    /// One switch after the other, because a view of it may take a search.
    fn by_routing(&self, questions: &[Question]) -> Vec<String> {
        let down: Vec<ChannelId> = self.down.iter().copied().collect();
        let minimal = match down.as_slice() {
            [] => MinimalRouting::of(&self.kind, &self.topology).expect("the tables were made of it"),
            down => MinimalRouting::around(&self.kind, &self.topology, down),
        };
        let mut by_switch: HashMap<u32, Vec<usize>> = HashMap::new();
        for (row, question) in questions.iter().enumerate() {
            by_switch.entry(question.switch).or_default().push(row);
        }
        let hosts = self.plan.hosts_as_regions();
        let mut answers = vec![String::new(); questions.len()];
        let mut ports = Vec::new();
        for at in (0..self.tables.len() as u32).filter(|at| by_switch.contains_key(at)) {
            let view = minimal.view(SwitchId::new(at));
            for &row in &by_switch[&at] {
                let is_uniform = view.ports(&hosts[questions[row].dst as usize], &mut ports);
                assert!(is_uniform, "a single host's packets are treated alike");
                answers[row] = listed(&ports);
            }
        }
        answers
    }
}

/// Conditional tables as `[design.tables]` allows them.
fn conditional(spec: &ControlSpec, strategy: Strategy, kind: &TopologyKind) -> Result<ConditionalTables, InputError> {
    let fitting = Strategy::fitting(kind);
    if strategy.plan != PlanKind::Coordinates && strategy.plan != fitting.plan {
        let expected = "coordinates, under conditional rules";
        return Err(InputError::new("design.tables.plan", strategy.plan.name(), expected));
    }
    if strategy.sharing != fitting.sharing {
        let name = |sharing: Sharing| serde_json::to_string(&sharing).expect("names are JSON");
        let expected = format!("{}, which conditional rules require", name(fitting.sharing));
        return Err(InputError::new("design.tables.share_by", name(strategy.sharing), expected));
    }
    // Dragonflies have a compaction of their own under conditional rules unless the scenario says one.
    let compaction = (strategy.compaction != fitting.compaction).then_some(strategy.compaction);
    Ok(ConditionalTables { compaction, alternatives: spec.alternatives, ..ConditionalTables::default() })
}

/// How the routing uses virtual channels, as it is simulated and proved.
fn ranks(spec: &ControlSpec, kind: &TopologyKind, topology: &Topology) -> Option<ChannelScheme> {
    let tables = match spec.rules {
        _ if kind.shape() == Shape::Single => return Some(ChannelScheme::One),
        RuleKind::Minimal => MinimalTables::default().tables(kind, topology),
        RuleKind::Conditional => {
            let alternatives = spec.alternatives;
            ConditionalTables { alternatives, ..ConditionalTables::default() }.tables(kind, topology)
        }
    };
    tables.ok().map(|(_, ranks)| ranks)
}

/// The channel that a rule writes whatever a packet had; none where that depends on how the packet arrived.
fn fixed(rule: ChannelRule) -> Option<u8> {
    match rule {
        ChannelRule::Fixed(channel) => Some(channel),
        ChannelRule::Above | ChannelRule::SameOrAbove => None,
    }
}

/// A channel from 1; 0: none.
fn place(channel: Option<u8>) -> u64 {
    channel.map_or(0, |channel| u64::from(channel) + 1)
}

/// The value and the mask of a match; two zeros for every address.
fn matching(pattern: Ternary) -> (u64, u64) {
    let (value, mask) = Mac::matching(pattern);
    if pattern == Ternary::ANY { (0, 0) } else { (value.get(), mask.get()) }
}

/// OpenFlow's number of a port.
fn number(port: Option<Port>) -> u64 {
    port.map_or(0, |port| u64::from(port.get()) + 1)
}

/// Numbers of ports: "3 4".
fn listed(ports: &[Port]) -> String {
    ports.iter().map(|&port| number(Some(port)).to_string()).collect::<Vec<_>>().join(" ")
}

/// How pauses may deadlock tables on some channels; none where they cannot.
fn deadlock(tables: &FlowTables<'_>, ranks: ChannelScheme, topology: &Topology) -> Option<String> {
    match tables.compile(ranks, Trigger::default()) {
        Ok(compiled) => compiled.deadlock(topology),
        Err(error) => Some(format!("not proved: {}", error.reason())),
    }
}

/// Parts of a divided fabric whose hosts a warning counts.
const PARTS_MAX: usize = 4;

/// A tree of each part of the fabric, along which groups go.
struct Forest {
    /// Channels between switches that join all that can be reached from one another, without a ring: each switch by
    /// the first shortest path to the first switch of the highest level there. Both directions.
    channels: BTreeSet<ChannelId>,
    /// Hosts of each part that has any.
    hosts: Vec<u64>,
}

impl Forest {
    fn of(topology: &Topology, down: &BTreeSet<ChannelId>) -> Forest {
        let mut roots: Vec<SwitchId> = (0..topology.switches()).map(SwitchId::from_index).collect();
        roots.sort_by_key(|&at| std::cmp::Reverse(topology.level(at)));
        let mut is_reached = vec![false; topology.switches()];
        let (mut channels, mut hosts) = (BTreeSet::new(), Vec::new());
        for root in roots {
            if is_reached[root.index()] {
                continue;
            }
            is_reached[root.index()] = true;
            let (mut queue, mut below) = (VecDeque::from([root]), 0);
            while let Some(at) = queue.pop_front() {
                for &id in topology.out_channels(at) {
                    let Node::Switch(far) = topology.channel(id).to.node else {
                        below += 1;
                        continue;
                    };
                    if !down.contains(&id) && !std::mem::replace(&mut is_reached[far.index()], true) {
                        channels.extend([id, reverse(id)]);
                        queue.push_back(far);
                    }
                }
            }
            hosts.push(below);
        }
        hosts.retain(|&below| below > 0);
        Forest { channels, hosts }
    }
}

mod rows;
#[cfg(test)]
mod tests;
