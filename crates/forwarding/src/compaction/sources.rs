//! One port instead of several: a static share of the traffic for each (Benito et al. 2015, section III-B: "a hash of
//! the source fields can be used for static balancing of the uplinks").
//!
//! A TCAM cannot divide by 36, but it can match bits of the source address. The published form: a switch of level `l`
//! uses the field of sources that the levels below do not: hosts on leaves, leaves in the level above, and so on. Its
//! values are halved bit by bit, and the ports with them, until each port has a pattern of its own. All patterns
//! together match every word.
//!
//! Destinations can be divided by the same patterns ("equally possible", section V-C): each host is then reached by one
//! of the ports.
//!
//! That is even where every source passes the switch, as in a full tree. Elsewhere [`TreeFlows`] knows which do, and
//! the ports get shares of those.

use etherweave_primitives::{Port, SwitchId};
use etherweave_topology::Topology;

use super::{shares::Share, source_patterns::SourcePatterns, tree_flows::TreeFlows};
use crate::{AddressPlan, FlowTable, Rule, Ternary, table::Interner};

/// Shares of the sources of a plan.
pub struct Sources<'a> {
    patterns: SourcePatterns<'a>,
    /// Flows that pass the switches of a tree; none of other fabrics, and before a table of the fabric was shared.
    flows: Option<Option<TreeFlows>>,
}

impl<'a> Sources<'a> {
    /// The sources of a plan.
    pub fn of(plan: &'a AddressPlan) -> Sources<'a> {
        Sources { patterns: SourcePatterns::of(plan), flows: None }
    }

    /// The table with a rule per port where a rule had several, by all sources of the fabric; unchanged where there are
    /// fewer sources than ports. `level` is that of the switch.
    pub fn share(&mut self, table: &FlowTable, level: u8) -> FlowTable {
        shared(table, |ports| self.patterns.published(level.into(), ports.len()))
    }

    /// The same by what passes the switch, where that is known: as even as the room of a table allows.
    pub fn share_passing(&mut self, table: &FlowTable, topology: &Topology, at: SwitchId) -> FlowTable {
        if self.flows.is_none() {
            self.flows = Some(TreeFlows::of(topology, &mut self.patterns));
        }
        shared(table, |ports| {
            let known = self.flows.iter().flatten().find_map(|flows| flows.shares(at, ports));
            known.map(<[Share]>::to_vec).or_else(|| self.patterns.published(topology.level(at).into(), ports.len()))
        })
    }

    /// The table with a rule per port where a rule had several, by destinations; `level` is that of the switch. Ports
    /// to a region that is in one pattern of this level divide its hosts instead.
    pub fn share_destinations(&mut self, table: &FlowTable, level: u8) -> FlowTable {
        let patterns = |patterns: &mut SourcePatterns<'_>, level: usize, ports: usize| {
            let shares = patterns.published(level, ports)?;
            Some(
                shares
                    .into_iter()
                    .map(|share| Share { src: Ternary::ANY, dst: share.src, ..share })
                    .collect::<Vec<_>>(),
            )
        };
        shared_by(table, |dst, ports| {
            let shares = patterns(&mut self.patterns, level.into(), ports.len())?;
            if shares.iter().all(|share| share.dst.meets(dst)) {
                return Some(shares);
            }
            patterns(&mut self.patterns, 0, ports.len())
        })
    }

    /// Returns as many patterns as ports, each word in exactly one; none when there are fewer sources.
    pub fn patterns(&mut self, level: usize, ports: usize) -> Option<&[Ternary]> {
        self.patterns.of_level(level, ports)
    }
}

/// A table with a rule per share where a rule has several ports, whatever its destinations.
fn shared(table: &FlowTable, mut shares: impl FnMut(&[Port]) -> Option<Vec<Share>>) -> FlowTable {
    shared_by(table, |_, ports| shares(ports))
}

/// A table with a rule per share where a rule has several ports.
fn shared_by(table: &FlowTable, mut shares: impl FnMut(Ternary, &[Port]) -> Option<Vec<Share>>) -> FlowTable {
    let mut sets = Interner::over(table.sets().clone());
    let mut rules = Vec::with_capacity(table.rules().len());
    for rule in table.rules() {
        let ports = table.ports(rule);
        match if ports.len() > 1 { shares(rule.dst, ports) } else { None } {
            Some(shares) => rules.extend(shares.iter().filter_map(|share| {
                let (dst, action) = (rule.dst.and(share.dst)?, sets.number(&[ports[share.port]]));
                Some(Rule { dst, src: share.src, action, share_of: Some(rule.action), ..*rule })
            })),
            None => rules.push(*rule),
        }
    }
    FlowTable::new(rules, sets.sets)
}
