//! Proof that a table equals the routing for every host and source, while nothing is paused.
//!
//! Nothing is enumerated that need not be. A row of the routing is a few hundred regions; for each, the rules are read
//! in their order. The first that matches all of it, from all sources, ends the search; the rules before it have
//! shares of the sources. A rule that matches only a part of the region makes the search descend into the region, down
//! to single hosts; rules for a part of the sources make it halve the sources bit by bit. What remains are unions of
//! ports, which must be those of the routing, none more and none less. A rule with its share of the destinations has
//! one of these ports, and names all that it is a share of.

use etherweave_primitives::{HostId, InputError, Port};
use etherweave_topology::Topology;

use crate::{FlowTable, Region, RegionRoutes, Rule, SetId, Ternary};

/// Checks a table against the row that it was made of; returns how many regions were checked.
///
/// # Errors
/// The first destination whose packets take other ports, or none.
pub fn prove(routes: &RegionRoutes<'_>, table: &FlowTable, topology: &Topology) -> Result<u64, InputError> {
    let mut proof = TableCheck {
        table,
        word: (1 << routes.plan.bits()) - 1,
        regions: 0,
        rules: Vec::new(),
        next: Vec::new(),
        ports: Vec::new(),
    };
    for entry in &routes.entries {
        let expected = routes.sets.get(entry.action);
        proof.region(entry.region, entry.cube, expected).map_err(|dst| {
            let name = |ports: &[Port]| describe(topology, routes, ports);
            let (at, dst) = (topology.switch_name(routes.at), topology.host_name(dst));
            let mistake = format!("the table of {at} sends packets for {dst} to {}", name(&proof.ports));
            InputError::new("", mistake, name(expected))
        })?;
    }
    Ok(proof.regions)
}

/// "spine0, spine1", or "no port".
fn describe(topology: &Topology, routes: &RegionRoutes<'_>, ports: &[Port]) -> String {
    let far = |&port: &Port| topology.name(topology.channel(topology.out_channel(routes.at, port)).to.node);
    let names: Vec<&str> = ports.iter().map(far).collect();
    if names.is_empty() { "no port".to_owned() } else { names.join(", ") }
}

struct TableCheck<'a> {
    table: &'a FlowTable,
    /// All address bits.
    word: u64,
    regions: u64,
    /// The rules that `ports` was found for, by place.
    rules: Vec<usize>,
    /// Those of the region at hand.
    next: Vec<usize>,
    /// Ports that packets take, ascending.
    ports: Vec<Port>,
}

impl TableCheck<'_> {
    /// All hosts of a region go to `expected`, or the first that does not is the error.
    fn region(&mut self, region: Region<'_>, cube: Ternary, expected: &[Port]) -> Result<(), HostId> {
        self.regions += 1;
        let host = region.host();
        let cube = if host.is_some() { Ternary::new(cube.value(), self.word) } else { cube };
        if !deciding(self.table.rules(), cube, &mut self.next) {
            return region.children().try_for_each(|child| self.region(child, child.cube(), expected));
        }
        if self.next != self.rules {
            std::mem::swap(&mut self.next, &mut self.rules);
            self.ports = ports(self.table, &self.rules);
        }
        if self.ports == expected { Ok(()) } else { Err(region.hosts()[0]) }
    }
}

/// Lists the rules that may decide about a pattern of destinations, in order; says false when one matches a part of it
/// only.
pub(crate) fn deciding(rules: &[Rule], cube: Ternary, places: &mut Vec<usize>) -> bool {
    places.clear();
    for (place, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.dst.meets(cube)) {
        if !rule.dst.covers(cube) {
            return false;
        }
        places.push(place);
        if rule.src == Ternary::ANY && rule.in_port.is_none() {
            break;
        }
    }
    true
}

/// Where packets of all sources go by some rules, ascending; none when those of some source go nowhere.
pub(crate) fn ports(table: &FlowTable, rules: &[usize]) -> Vec<Port> {
    let mut actions = Vec::new();
    let rules: Vec<&Rule> = rules.iter().map(|&place| &table.rules()[place]).collect();
    if !sources(Ternary::ANY, &rules, &mut actions) {
        return Vec::new();
    }
    // A rule with its share of the destinations stands for all ports that it is a share of.
    let full_set = |&(own, all): &(SetId, Option<SetId>)| match all {
        Some(all) if table.sets().get(own).iter().all(|port| table.sets().get(all).contains(port)) => all,
        Some(_) | None => own,
    };
    let mut ports: Vec<Port> = actions.iter().flat_map(|action| table.sets().get(full_set(action))).copied().collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Adds the actions that a pattern of sources meets, each with the ports that it has a share of the destinations of;
/// says whether every source meets one.
fn sources(cube: Ternary, rules: &[&Rule], actions: &mut Vec<(SetId, Option<SetId>)>) -> bool {
    for (place, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.src.meets(cube)) {
        if !rule.src.covers(cube) {
            let apart = rule.src.mask() & !cube.mask();
            let halves = cube.halves(1 << apart.ilog2());
            return halves.into_iter().all(|half| sources(half, &rules[place..], actions));
        }
        actions.push((rule.action, rule.share_of.filter(|_| rule.src == Ternary::ANY)));
        if rule.in_port.is_none() {
            return true;
        }
    }
    false
}
