//! Data of a deployment: the flow tables of a fabric and the addresses of its hosts, as columns; and the decisions of
//! each table, for comparison with switches that have been programmed.
//!
//! Ports are numbered as in OpenFlow: port 0 of the fabric is 1, and 0 is none. Addresses are whole MAC addresses, one
//! for each port of a host; the bits above those of the address plan are the number of its plane.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use etherweave_forwarding::{
    ADDRESS_BITS, AddressPlan, ConditionalTables, FlowTable, Mac, MinimalTables, PacketHeader, PlanKind, Sharing,
    Strategy, Ternary,
};
use etherweave_primitives::{ChannelId, HostId, InputError, Port, SwitchId};
use etherweave_routing::tables::{ChannelRule, ChannelScheme};
use etherweave_topology::{LinkClass, Node, Shape, Topology, TopologyKind, reverse};

use crate::{
    Table, parts::control::ControlSpec, parts::control::RuleKind, result::tables::integers, result::tables::texts,
};
use plane::{PlaneSpec, PlaneTables};
use rows::{InPorts, Row};

/// A fabric's flow tables, made and proved, with links that are down left out.
pub struct Deployment {
    topology: Topology,
    kind: TopologyKind,
    spec: ControlSpec,
    /// Addresses of the ports of hosts, equal in all planes.
    plan: AddressPlan,
    /// Tables by plane; planes with the same links down share theirs.
    planes: Vec<Arc<PlaneTables>>,
    /// How the routing uses virtual channels, where that is known.
    ranks: Option<ChannelScheme>,
    warnings: Vec<String>,
}

/// A port of a host, which routing sees as a host.
#[derive(Clone, Copy)]
struct HostPort {
    host: HostId,
    number: usize,
    plane: usize,
    /// Number in the fabric by port, where each port is a host.
    seen: HostId,
}

/// A question to a table: where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// Number of the switch.
    pub switch: u32,
    /// The ingress port of the packet; 0: not known.
    pub in_port: u32,
    /// Row in the table of hosts of the port that sent it.
    pub src: u32,
    /// Row in the table of hosts of the port that it is for.
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
        let fabric = topology.by_port();
        let ranks = ranks(spec, kind, fabric);
        let plane_spec = PlaneSpec { kind, fabric, spec, strategy, widths, ranks, is_lossless };
        let (mut planes, mut plan) = (Vec::<Arc<PlaneTables>>::new(), None);
        for plane in 0..topology.planes() {
            let is_own = |&&channel: &&ChannelId| topology.channel_in_plane(channel).0 == plane;
            let down: Vec<ChannelId> =
                down.iter().filter(is_own).map(|&channel| topology.channel_in_plane(channel).1).collect();
            let same = planes.iter().find(|other| other.down == down).cloned();
            planes.push(match same {
                Some(same) => same,
                None => {
                    let (tables, addresses) = PlaneTables::of(&plane_spec, down)?;
                    plan.get_or_insert(addresses);
                    Arc::new(tables)
                }
            });
        }
        let (topology, kind, spec) = (topology.clone(), kind.clone(), spec.clone());
        let plan = plan.expect("a fabric has a plane");
        let deployment = Deployment { topology, kind, spec, plan, planes, ranks, warnings: Vec::new() };
        deployment.check_addresses().map(|()| deployment)
    }

    /// Rejects addresses without room for the number of the plane, and two ports of hosts with one name.
    fn check_addresses(&self) -> Result<(), InputError> {
        let mistake = format!("the address fields of {} planes need {} bits", self.planes.len(), self.address_bits());
        let is_within = self.address_bits() <= ADDRESS_BITS;
        InputError::unless(is_within, "design.tables.widths", mistake, format!("at most {ADDRESS_BITS}"))?;
        let mut names = BTreeSet::new();
        let mut ports = self.topology.host_ports().map(|(host, port)| self.topology.host_port_name(host, port));
        let twice = if self.topology.is_single_homed() { None } else { ports.find(|name| !names.insert(name.clone())) };
        let expected = "another name of the host: ports of hosts with several are called host.0, host.1";
        let name = twice.as_deref().unwrap_or_default();
        InputError::unless(twice.is_none(), "topology.custom", format!("two ports of hosts called {name}"), expected)
    }

    pub(crate) fn with_warnings(self, warnings: Vec<String>) -> Deployment {
        Deployment { warnings, ..self }
    }

    /// Returns the problem of its rules under pauses, where it is lossless and its family's proof is not about them:
    /// they wait for each other, or it is not known.
    pub(crate) fn deadlock(&self) -> Option<String> {
        let problem = self.planes.iter().find_map(|plane| plane.deadlock.as_ref())?;
        let (key, more) = if self.has_down() { ("failed", ", or these cables mended") } else { ("flow_control", "") };
        Some(format!("{key}: {problem}; expected flow_control.none{more}"))
    }

    fn has_down(&self) -> bool {
        self.planes.iter().any(|plane| !plane.down.is_empty())
    }

    /// Ports of hosts in the parts into which links that are down divide a plane, which neither rules nor groups
    /// leave.
    pub(crate) fn division(&self) -> Option<String> {
        let (number, parts) =
            self.forests().map(|forest| forest.hosts).enumerate().find(|(_, parts)| parts.len() > 1)?;
        let key = if self.has_down() { "failed" } else { "topology" };
        let plane = if self.planes.len() > 1 { format!(" of plane {number}") } else { String::new() };
        let sizes = parts.iter().take(PARTS_MAX).map(u64::to_string).collect::<Vec<_>>().join(", ");
        let more = if parts.len() > PARTS_MAX { ", ..." } else { "" };
        let text = format!("{key}: {} parts{plane} without a cable between them, of {sizes}{more} hosts", parts.len());
        Some(format!("{text}, which neither rules nor groups connect; expected one part"))
    }

    /// Trees of each plane.
    fn forests(&self) -> impl Iterator<Item = Forest> {
        self.planes.iter().map(|plane| Forest::of(self.topology.by_port(), &plane.both_down()))
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
        match self.plane_bits() {
            0 => self.plan.to_string(),
            bits => {
                let fields = self.plan.to_string();
                let fields = fields.rsplit_once(" (").map_or(fields.as_str(), |(fields, _)| fields);
                format!("plane {bits} | {fields} ({} of {ADDRESS_BITS} bits)", self.address_bits())
            }
        }
    }

    /// How many address bits ports of hosts differ in.
    pub fn address_bits(&self) -> u32 {
        self.plan.bits() + self.plane_bits()
    }

    /// Equal fabrics, each of which has a port of every host.
    pub fn planes(&self) -> usize {
        self.planes.len()
    }

    fn plane_bits(&self) -> u32 {
        usize::BITS - (self.planes.len() - 1).leading_zeros()
    }

    /// The address bits that name a plane.
    fn plane_word(&self, plane: usize) -> u64 {
        (plane as u64) << self.plan.bits()
    }

    /// A pattern of addresses of one plane, of those that the address plan has.
    fn in_plane(&self, plane: usize, pattern: Ternary) -> Ternary {
        Ternary::new(pattern.value() | self.plane_word(plane), pattern.mask())
    }

    /// The plane of a switch, and its number there.
    fn switch(&self, at: usize) -> (usize, usize) {
        let switches = self.topology.by_port().switches();
        (at / switches, at % switches)
    }

    /// The table of a switch, and what its rules write.
    fn table(&self, at: usize) -> (&FlowTable, &[Option<u8>]) {
        let (plane, own) = self.switch(at);
        (&self.planes[plane].tables[own], &self.planes[plane].written[own])
    }

    /// Ports of all hosts, in the order of rows.
    fn host_ports(&self) -> Vec<HostPort> {
        let topology = &self.topology;
        let port = |(host, number)| {
            let (plane, seen) = (topology.plane_of_port(number), topology.port_host(host, number));
            HostPort { host, number, plane, seen }
        };
        topology.host_ports().map(port).collect()
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
        let of_switch = |at| {
            let (table, written) = self.table(at);
            Row::all(at, table, &self.ports_of_hosts(SwitchId::from_index(at)), written)
        };
        let rows: Vec<Row<'_>> = (0..self.topology.switches()).flat_map(of_switch).collect();
        let matching = |row: &Row<'_>, pattern| matching(self.in_plane(self.switch(row.switch).0, pattern));
        Table {
            name: "rules",
            columns: vec![
                ("switch", integers(&rows, |row| row.switch as u64)),
                ("priority", integers(&rows, |row| row.rule.priority.into())),
                ("eth_dst", integers(&rows, |row| matching(row, row.rule.dst).0)),
                ("eth_dst_mask", integers(&rows, |row| matching(row, row.rule.dst).1)),
                ("eth_src", integers(&rows, |row| matching(row, row.rule.src).0)),
                ("eth_src_mask", integers(&rows, |row| matching(row, row.rule.src).1)),
                ("in_port", integers(&rows, |row| number(row.rule.in_port))),
                ("unless_paused", integers(&rows, |row| number(row.rule.unless_paused))),
                ("ports", texts(&rows, |row| listed(row.ports))),
                ("is_alternative", integers(&rows, |row| row.is_alternative.into())),
                ("waits", integers(&rows, |row| row.waits.into())),
                ("written", integers(&rows, |row| place(row.written))),
            ],
        }
    }

    fn ports_of_hosts(&self, at: SwitchId) -> Vec<Port> {
        let leaving = self.topology.out_channels(at).iter().map(|&id| self.topology.channel(id));
        leaving.filter(|channel| channel.class == LinkClass::Host).map(|channel| channel.from.port).collect()
    }

    fn hosts(&self) -> Table {
        let topology = &self.topology;
        let rows = self.host_ports();
        let end = |row: &HostPort| topology.channel(topology.host_channels(row.host)[row.number]).to;
        let switch = |row: &HostPort| match end(row).node {
            Node::Switch(at) => at.get().into(),
            Node::Host(_) => unreachable!("a built topology has no link between hosts"),
        };
        let eth = |row: &HostPort| Mac::of_address(self.plan.address(row.seen) | self.plane_word(row.plane)).get();
        Table {
            name: "hosts",
            columns: vec![
                ("name", texts(&rows, |row| topology.host_port_name(row.host, row.number))),
                ("host", texts(&rows, |row| topology.host_name(row.host).to_owned())),
                ("host_port", integers(&rows, |row| row.number as u64)),
                ("plane", integers(&rows, |row| row.plane as u64)),
                ("switch", integers(&rows, switch)),
                ("port", integers(&rows, |row| number(Some(end(row).port)))),
                ("eth", integers(&rows, eth)),
                ("source", integers(&rows, |row| row.seen.get().into())),
            ],
        }
    }

    fn ports(&self) -> Table {
        let in_plane = |(plane, forest): (usize, Forest)| {
            forest.channels.into_iter().map(move |channel| self.topology.plane_channel(plane, channel))
        };
        let tree: BTreeSet<ChannelId> = self.forests().enumerate().flat_map(in_plane).collect();
        let is_down = |id: &ChannelId| {
            let (plane, own) = self.topology.channel_in_plane(*id);
            self.planes[plane].is_down(own)
        };
        let switches = (0..self.topology.switches()).map(SwitchId::from_index);
        let rows: Vec<ChannelId> = switches.flat_map(|at| self.topology.out_channels(at)).copied().collect();
        let channel = |&id: &ChannelId| *self.topology.channel(id);
        let switch = |id: &ChannelId| match channel(id).from.node {
            Node::Switch(at) => u64::from(at.get()),
            Node::Host(_) => unreachable!("the channels of switches leave switches"),
        };
        let is_on_tree = |id: &ChannelId| tree.contains(id) || channel(id).class == LinkClass::Host;
        let in_ports: Vec<InPorts> = (0..self.topology.switches()).map(|at| InPorts::of(self.table(at).0)).collect();
        let diverts = |id: &ChannelId| in_ports[switch(id) as usize].diverts(channel(id).from.port);
        Table {
            name: "ports",
            columns: vec![
                ("switch", integers(&rows, switch)),
                ("port", integers(&rows, |id| number(Some(channel(id).from.port)))),
                ("node", texts(&rows, |id| self.topology.name(channel(id).to.node).to_owned())),
                ("node_port", integers(&rows, |id| number(Some(channel(id).to.port)))),
                ("class", texts(&rows, |id| channel(id).class.name().to_owned())),
                ("is_up", integers(&rows, |id| (!is_down(id)).into())),
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

    /// Patterns of the addresses in each plane.
    fn known(&self) -> Table {
        let cover = self.plan.cover();
        let of_plane = |plane| cover.iter().map(move |&pattern| (plane, Mac::matching(self.in_plane(plane, pattern))));
        let rows: Vec<(usize, (Mac, Mac))> = (0..self.planes.len()).flat_map(of_plane).collect();
        Table {
            name: "known",
            columns: vec![
                ("plane", integers(&rows, |&(plane, _)| plane as u64)),
                ("eth", integers(&rows, |&(_, (value, _))| value.get())),
                ("eth_mask", integers(&rows, |&(_, (_, mask))| mask.get())),
            ],
        }
    }

    /// The ports of every question by the flow table, while some ports are paused (numbers of switch and port), those
    /// that the routing itself allows, whatever is paused, and the place from 1 of the priority that the rule writes.
    /// None lead to another plane.
    ///
    /// # Panics
    /// When a question names what the fabric does not have.
    pub fn decide(&self, questions: &[Question], paused: &[(u32, u32)]) -> Table {
        let paused: BTreeSet<(u32, u32)> = paused.iter().copied().collect();
        let ports = self.host_ports();
        let by_routing = self.by_routing(&ports, questions);
        let is_paused = |at: u32| {
            let paused = &paused;
            move |port: Port| paused.contains(&(at, u32::from(port.get()) + 1))
        };
        let by_table = |question: &Question| {
            let (table, written) = self.table(question.switch as usize);
            if self.is_elsewhere(&ports, question) {
                return (String::new(), place(None));
            }
            let rule = table.lookup(&self.packet(&ports, question), is_paused(question.switch));
            let number = rule.and_then(|rule| table.rules().iter().position(|other| std::ptr::eq(other, rule)));
            let written = number.and_then(|number| written[number]);
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

    /// Whether a packet is for a port in another plane than the switch is.
    fn is_elsewhere(&self, ports: &[HostPort], question: &Question) -> bool {
        ports[question.dst as usize].plane != self.switch(question.switch as usize).0
    }

    fn packet(&self, ports: &[HostPort], question: &Question) -> PacketHeader {
        let [dst, src] = [question.dst, question.src].map(|row| self.plan.address(ports[row as usize].seen));
        let in_port = question.in_port.checked_sub(1).map(|port| Port::from_index(port as usize));
        PacketHeader { dst, src, in_port }
    }

    /// One switch after the other, because a view of it may take a search.
    fn by_routing(&self, ports: &[HostPort], questions: &[Question]) -> Vec<String> {
        let mut by_switch: Vec<HashMap<usize, Vec<usize>>> = vec![HashMap::new(); self.planes.len()];
        for (row, question) in questions.iter().enumerate().filter(|(_, question)| !self.is_elsewhere(ports, question))
        {
            let (plane, own) = self.switch(question.switch as usize);
            by_switch[plane].entry(own).or_default().push(row);
        }
        let hosts = self.plan.hosts_as_regions();
        let mut answers = vec![String::new(); questions.len()];
        let mut taken = Vec::new();
        for (plane, mut rows) in self.planes.iter().zip(by_switch) {
            let minimal = plane.routing(&self.kind, self.topology.by_port());
            for at in (0..plane.tables.len()).map(SwitchId::from_index) {
                let Some(rows) = rows.remove(&at.index()) else { continue };
                let view = minimal.view(at);
                for row in rows {
                    let seen = ports[questions[row].dst as usize].seen;
                    let is_uniform = view.ports(&hosts[seen.index()], &mut taken);
                    assert!(is_uniform, "a single host's packets are treated alike");
                    answers[row] = listed(&taken);
                }
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

/// Parts of a divided fabric whose hosts a warning counts.
const PARTS_MAX: usize = 4;

/// A tree of each part of the fabric, along which groups go.
struct Forest {
    /// Channels between switches that join all that can be reached from one another, without a ring: each switch by
    /// the first shortest path to the first switch of the highest level there. Both directions.
    channels: BTreeSet<ChannelId>,
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

mod plane;
mod rows;
#[cfg(test)]
mod tests;
