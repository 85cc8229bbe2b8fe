//! Rules that a paused port makes inactive: adaptive routing without a controller, by Benito et al. 2015, sections
//! V-B to V-D.
//!
//! | Variant | Default rules | Alternatives | More rules |
//! |---|---|---|---|
//! | [`with_alternatives`], folded Clos | uplinks by sources | the other uplinks, in turn | up to `k - 1` per uplink |
//! | [`with_non_minimal_ports`], dragonfly | other groups | by ingress port, in turn | one per host and port in turn |
//! | the same, flattened butterfly | larger regions | smaller ones, then by ingress port | the same per dimension |

use std::collections::BTreeMap;

use etherweave_primitives::Port;

use crate::{FlowTable, Rule, Ternary, table::Interner, table::SetId};

/// Lower priorities that alternatives may take.
const ALTERNATIVES_MAX: usize = 255;

/// Where several rules share the traffic among ports, each is a default rule for its port, and up to `alternatives` of
/// the other ports follow as alternatives, in turn. All but the last are conditional: a packet that finds all of them
/// paused waits for the last, so that no rule for more destinations takes it instead.
pub fn with_alternatives(table: &FlowTable, alternatives: usize) -> FlowTable {
    let levels = alternatives.min(ALTERNATIVES_MAX);
    // Room below every priority for its alternatives.
    let priority = |rule: &Rule, level: usize| rule.priority * (levels as u16 + 1) + (levels - level) as u16;
    let single = |rule: &Rule| rule.share_of.map(|_| (table.ports(rule)[0], rule.action));
    let actions: BTreeMap<Port, SetId> = table.rules().iter().filter_map(single).collect();
    let mut rules = Vec::new();
    for rule in table.rules() {
        let Some(set) = rule.share_of else {
            rules.push(Rule { priority: priority(rule, 0), ..*rule });
            continue;
        };
        let (own, ports) = (table.ports(rule)[0], table.sets().get(set));
        let place = ports.iter().position(|&port| port == own).expect("a share is that of a port of its set");
        let last = levels.min(ports.len() - 1);
        rules.extend((0..=last).map(|level| {
            let port = ports[(place + level) % ports.len()];
            let unless_paused = (level < last).then_some(port);
            Rule { priority: priority(rule, level), action: actions[&port], unless_paused, ..*rule }
        }));
    }
    FlowTable::new(rules, table.sets().clone())
}

/// The non-minimal output port for what one host sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NonMinimalPort {
    /// The port of the host.
    pub in_port: Port,
    /// The port to the intermediate region.
    pub out_port: Port,
}

/// Non-minimal output ports of a switch for destinations in a region, outside the part of it around the switch: other
/// groups, or other places of a dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NonMinimalPorts {
    /// The region that the ports lead into.
    pub region: Ternary,
    /// The part of it where the switch is.
    pub own: Ternary,
    /// The ports, for each host in the order in which they are tried. Where they are no others than those of default
    /// rules, packets wait for these.
    pub ports: Vec<NonMinimalPort>,
}

impl NonMinimalPorts {
    /// Whether the condition of a default rule gives way to these ports: it sends by one port to destinations outside
    /// the own part.
    fn stand_in_for(&self, table: &FlowTable, rule: &Rule) -> bool {
        table.ports(rule).len() == 1 && rule.dst.meets(self.region) && !rule.dst.meets(self.own)
    }

    /// Whether some port is not that of some default rule: in a row of two switches there is no other.
    fn differ_from(&self, table: &FlowTable, defaults: &[&Rule]) -> bool {
        self.ports.iter().any(|port| defaults.iter().any(|rule| table.ports(rule)[0] != port.out_port))
    }

    /// Ports that follow one of the same host.
    fn left(&self, place: usize) -> usize {
        self.ports[place + 1..].iter().filter(|next| next.in_port == self.ports[place].in_port).count()
    }
}

/// Rules by a single port for destinations outside the own part of a region are inactive while that port is paused.
/// Then the rules for smaller regions take over, where they match as well
/// ([`Wildcards`](crate::CompactionKind::Wildcards)): they lead to another dimension in which the destination is
/// apart. Behind all of them a host's packets take its non-minimal port, those of the smallest region that matches.
/// Each of several ports for the same host but the last is conditional too, and the next one follows (section V-E:
/// "varying levels of low priority").
///
/// `regions` lie in each other, the largest first. Rules must be disjoint
/// ([`Prefixes`](crate::CompactionKind::Prefixes)) or meant to stand in for each other: behind nested prefixes wrong
/// ones would match.
pub fn with_non_minimal_ports(table: &FlowTable, regions: &[NonMinimalPorts]) -> FlowTable {
    let mut alternatives = Alternatives { rules: Vec::new(), levels: 0, sets: Interner::over(table.sets().clone()) };
    for region in regions {
        let replaced: Vec<&Rule> = table.rules().iter().filter(|rule| region.stand_in_for(table, rule)).collect();
        match region.differ_from(table, &replaced) {
            true => alternatives.add(region),
            false => alternatives.wait(region, &replaced),
        }
    }
    let shift = alternatives.levels.saturating_sub(1);
    let is_conditional = |rule: &Rule| regions.iter().any(|region| region.stand_in_for(table, rule));
    let default = |rule: &Rule| Rule {
        priority: rule.priority + shift,
        unless_paused: is_conditional(rule).then(|| table.ports(rule)[0]),
        ..*rule
    };
    let rules = table.rules().iter().map(default).chain(alternatives.rules).collect();
    FlowTable::new(rules, alternatives.sets.sets)
}

/// Rules behind the default ones, in the making.
struct Alternatives {
    rules: Vec<Rule>,
    /// Priorities in use, from 0.
    levels: u16,
    sets: Interner,
}

impl Alternatives {
    /// The ports of a region, before those of larger ones.
    fn add(&mut self, region: &NonMinimalPorts) {
        let levels = (0..region.ports.len()).map(|place| region.left(place) as u16 + 1).max().unwrap_or(0);
        for (place, port) in region.ports.iter().enumerate() {
            let (left, action) = (region.left(place), self.sets.number(&[port.out_port]));
            let unless_paused = (left > 0).then_some(port.out_port);
            let rule = Rule::to(self.levels + left as u16, region.region, action);
            self.rules.push(Rule { in_port: Some(port.in_port), unless_paused, ..rule });
        }
        self.levels += levels;
    }

    /// The default rules of a region once more, always active, so that ports of larger regions do not take its packets.
    fn wait(&mut self, region: &NonMinimalPorts, defaults: &[&Rule]) {
        if self.levels == 0 || defaults.is_empty() {
            return;
        }
        let kept = |rule: &&Rule| Some(Rule::to(self.levels, rule.dst.and(region.region)?, rule.action));
        self.rules.extend(defaults.iter().filter_map(kept));
        self.levels += 1;
    }
}
