//! Rules that a paused port makes inactive: adaptive routing without a controller, by Benito et al. 2015, sections
//! V-B to V-D.
//!
//! | Variant | Default rules | Alternatives | More rules |
//! |---|---|---|---|
//! | [`with_alternatives`], folded Clos | uplinks by sources | the other uplinks, in turn | up to `k - 1` per uplink |
//! | [`while_unpaused`], flattened butterfly | larger regions | smaller regions | none |
//! | [`with_non_minimal_ports`], Valiant | remote regions | by ingress port, in turn | one per host and non-minimal
//! port |

use std::collections::BTreeMap;

use etherweave_primitives::Port;

use crate::table::SetId;
use crate::{FlowTable, Rule, Ternary};

/// Lower priorities that alternatives may take.
const ALTERNATIVES_MAX: usize = 255;

/// Where several rules share the traffic among ports, each is a default rule for its port, and up to `alternatives` of
/// the other ports follow as alternatives, in turn and conditional as well: a packet that finds all paused waits for
/// its default. Where a rule for more destinations would take it instead, one more rule behind the alternatives keeps
/// it.
pub fn with_alternatives(table: &FlowTable, alternatives: usize) -> FlowTable {
    let levels = alternatives.min(ALTERNATIVES_MAX);
    // Room below every priority for its alternatives and for the rule that keeps what would wait.
    let priority = |rule: &Rule, level: usize| rule.priority * (levels as u16 + 2) + (levels + 1 - level) as u16;
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
        let others = (0..=levels.min(ports.len() - 1)).map(|level| (level, ports[(place + level) % ports.len()]));
        rules.extend(others.map(|(level, port)| {
            let (action, unless_paused) = (actions[&port], Some(port));
            Rule { priority: priority(rule, level), action, unless_paused, ..*rule }
        }));
        if would_uncover(table, rule) {
            rules.push(Rule { priority: priority(rule, levels + 1), ..*rule });
        }
    }
    FlowTable::new(rules, table.sets().clone())
}

/// Whether a rule behind this one matches some of its packets.
fn would_uncover(table: &FlowTable, rule: &Rule) -> bool {
    let behind = table.rules().iter().rev().take_while(|other| other.priority < rule.priority);
    behind.into_iter().any(|other| other.dst.meets(rule.dst) && other.src.meets(rule.src))
}

/// Every rule by a single port that `is_onward` admits is inactive while that port is paused.
///
/// After [`Wildcards`](crate::CompactionKind::Wildcards) the rules for smaller regions take over, which lead to another
/// dimension in which the destination is still apart.
pub fn while_unpaused(table: &FlowTable, is_onward: impl Fn(Port) -> bool) -> FlowTable {
    let conditional = |rule: &Rule| match *table.ports(rule) {
        [port] if is_onward(port) => Rule { unless_paused: Some(port), ..*rule },
        _ => *rule,
    };
    FlowTable::new(table.rules().iter().map(conditional).collect(), table.sets().clone())
}

/// The non-minimal output port for what one host sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NonMinimalPort {
    /// The port of the host.
    pub in_port: Port,
    /// The port to the intermediate region.
    pub out_port: Port,
}

/// Rules by a single port for destinations outside `own` are inactive while that port is paused; then a host's
/// packets take its non-minimal port. Of several for the same host each but the last is conditional too, and the next
/// one follows (section V-E: "varying levels of low priority"). Rules must be disjoint
/// ([`Prefixes`](crate::CompactionKind::Prefixes)) or meant to stand in for each other
/// ([`Wildcards`](crate::CompactionKind::Wildcards)): behind nested prefixes wrong ones would match.
pub fn with_non_minimal_ports(table: &FlowTable, own: Ternary, alternatives: &[NonMinimalPort]) -> FlowTable {
    let left = |place: usize| {
        alternatives[place + 1..].iter().filter(|next| next.in_port == alternatives[place].in_port).count()
    };
    let levels = (0..alternatives.len()).map(left).max().unwrap_or(0) as u16;
    let conditional = |rule: &Rule| {
        let rule = Rule { priority: rule.priority + levels, ..*rule };
        match *table.ports(&rule) {
            [port] if !rule.dst.meets(own) => Rule { unless_paused: Some(port), ..rule },
            _ => rule,
        }
    };
    let mut rules: Vec<Rule> = table.rules().iter().map(conditional).collect();
    let mut sets = table.sets().clone();
    let mut numbers: BTreeMap<Port, SetId> = BTreeMap::new();
    for (place, alternative) in alternatives.iter().enumerate() {
        let action = *numbers.entry(alternative.out_port).or_insert_with(|| sets.push(&[alternative.out_port]));
        let unless_paused = (left(place) > 0).then_some(alternative.out_port);
        let in_port = Some(alternative.in_port);
        rules.push(Rule { in_port, unless_paused, ..Rule::to(left(place) as u16, Ternary::ANY, action) });
    }
    FlowTable::new(rules, sets)
}
