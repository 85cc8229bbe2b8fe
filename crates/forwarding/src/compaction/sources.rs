//! One port instead of several: a static share of the traffic for each (Benito et al. 2015, section III-B: "a hash of
//! the source fields can be used for static balancing of the uplinks").
//!
//! A TCAM cannot divide by 36, but it can match bits of the source address. The published form: a switch of level `l`
//! uses the field of sources that the levels below do not: hosts on leaves, leaves in the level above, and so on. Its
//! values are halved bit by bit, and the ports with them, until each port has a pattern of its own. All patterns
//! together match every word.
//!
//! That is even where every source passes the switch, as in a full tree. Elsewhere [`TreeFlows`] knows which do, and
//! the ports get shares of those.

use std::collections::BTreeMap;

use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_topology::Topology;

use super::shares::Share;
use super::tree_flows::TreeFlows;
use crate::table::Interner;
use crate::{AddressPlan, FlowTable, Rule, Ternary};

/// Patterns of sources, by level and number of ports.
pub struct Sources<'a> {
    plan: &'a AddressPlan,
    known: BTreeMap<(usize, usize), Option<Vec<Ternary>>>,
    /// What passes the switches of a tree; none of other fabrics, and before a table of the fabric was shared.
    flows: Option<Option<TreeFlows>>,
}

impl<'a> Sources<'a> {
    /// The sources of a plan.
    pub fn of(plan: &'a AddressPlan) -> Sources<'a> {
        Sources { plan, known: BTreeMap::new(), flows: None }
    }

    /// The table with a rule per port where a rule had several, by all sources of the fabric; unchanged where there are
    /// fewer sources than ports. `level` is that of the switch.
    pub fn share(&mut self, table: &FlowTable, level: u8) -> FlowTable {
        shared(table, |ports| self.published(level.into(), ports.len()))
    }

    /// The same by what passes the switch, where that is known: as even as the room of a table allows.
    pub fn share_passing(&mut self, table: &FlowTable, topology: &Topology, at: SwitchId) -> FlowTable {
        if self.flows.is_none() {
            self.flows = Some(TreeFlows::of(topology, self));
        }
        shared(table, |ports| {
            let known = self.flows.iter().flatten().find_map(|flows| flows.shares(at, ports));
            known.map(<[Share]>::to_vec).or_else(|| self.published(topology.level(at).into(), ports.len()))
        })
    }

    /// As many patterns as ports, each word in exactly one; none when there are fewer sources.
    pub fn patterns(&mut self, level: usize, ports: usize) -> Option<&[Ternary]> {
        let plan = self.plan;
        self.known.entry((level, ports)).or_insert_with(|| patterns(plan, level, ports)).as_deref()
    }

    /// These patterns, each for the port of its place.
    pub(super) fn published(&mut self, level: usize, ports: usize) -> Option<Vec<Share>> {
        let patterns = self.patterns(level, ports)?;
        Some(patterns.iter().enumerate().map(|(port, &src)| Share { src, dst: Ternary::ANY, port }).collect())
    }

    pub(super) fn plan(&self) -> &'a AddressPlan {
        self.plan
    }
}

/// A table with a rule per share where a rule has several ports.
fn shared(table: &FlowTable, mut shares: impl FnMut(&[Port]) -> Option<Vec<Share>>) -> FlowTable {
    let mut sets = Interner::over(table.sets().clone());
    let mut rules = Vec::with_capacity(table.rules().len());
    for rule in table.rules() {
        let ports = table.ports(rule);
        match if ports.len() > 1 { shares(ports) } else { None } {
            Some(shares) => rules.extend(shares.iter().filter_map(|share| {
                let (dst, action) = (rule.dst.and(share.dst)?, sets.number(&[ports[share.port]]));
                Some(Rule { dst, src: share.src, action, share_of: Some(rule.action), ..*rule })
            })),
            None => rules.push(*rule),
        }
    }
    FlowTable::new(rules, sets.sets)
}

fn patterns(plan: &AddressPlan, level: usize, ports: usize) -> Option<Vec<Ternary>> {
    let fields = plan.fields();
    let top = fields.len() - 1 - level.min(fields.len() - 1);
    let high = fields[top].shift + fields[top].bits;
    // Where the field has too few values, those of the fields below are added.
    let candidates = fields[top..].iter().map(|field| values(plan, field.shift, high));
    let values = candidates.chain([values(plan, 0, plan.bits())]).find(|values| values.len() >= ports)?;
    let mut patterns = Vec::with_capacity(ports);
    split(&values, Ternary::ANY, ports, &mut patterns);
    Some(patterns)
}

/// The values of some address bits, ascending.
fn values(plan: &AddressPlan, low: u32, high: u32) -> Vec<u64> {
    let mask = ((1u64 << high) - 1) >> low << low;
    let mut values: Vec<u64> = (0..plan.hosts()).map(|host| plan.address(HostId::from_index(host)) & mask).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Halves values that differ, and shares the ports among the halves by how many values each has.
fn split(values: &[u64], pattern: Ternary, ports: usize, patterns: &mut Vec<Ternary>) {
    if ports == 1 {
        patterns.push(pattern);
        return;
    }
    let bit = 1 << (values[0] ^ values[values.len() - 1]).ilog2();
    let middle = values.partition_point(|value| value & bit == 0);
    let low = (ports * middle + values.len() / 2) / values.len();
    // Each half has a port, and no more ports than values.
    let low = low.max(1).max(ports.saturating_sub(values.len() - middle)).min(middle).min(ports - 1);
    let [zero, one] = pattern.halves(bit);
    split(&values[..middle], zero, low, patterns);
    split(&values[middle..], one, ports - low, patterns);
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Family, FoldedClos, Topology, Uplinks};

    use super::*;
    use crate::PlanKind;

    fn shares(values: &[u64], ports: usize) -> Vec<usize> {
        let mut patterns = Vec::new();
        split(values, Ternary::ANY, ports, &mut patterns);
        patterns.iter().map(|pattern| values.iter().filter(|value| pattern.matches(**value)).count()).collect()
    }

    #[test]
    fn shares_of_sources_are_even_where_their_number_allows() {
        let values: Vec<u64> = (0..36).collect();
        assert_eq!(shares(&values, 36), [1; 36]);
        assert_eq!(shares(&values, 18), [2; 18]);
        assert_eq!(shares(&values, 1), [36]);
        let uneven = shares(&values, 7);
        assert!(uneven.iter().sum::<usize>() == 36 && uneven.iter().all(|share| (4..=8).contains(share)), "{uneven:?}");
    }

    #[test]
    fn every_port_of_a_full_tree_has_as_many_sources_as_any_other() {
        let uplinks = vec![Uplinks::default(); 2];
        let clos: Topology = FoldedClos { radix: 6, hosts: 54, uplinks, ..FoldedClos::default() }.generate().unwrap();
        let plan = PlanKind::Coordinates.plan(&clos).unwrap();
        let mut sources = Sources::of(&plan);
        for level in [0, 1] {
            let patterns = sources.patterns(level, 3).unwrap().to_vec();
            let count =
                |pattern: &Ternary| (0..54).filter(|&host| pattern.matches(plan.address(HostId::new(host)))).count();
            assert_eq!(patterns.iter().map(count).collect::<Vec<_>>(), [18, 18, 18], "level {level}");
        }
        assert_eq!(sources.patterns(0, 55), None, "more ports than sources");
    }
}
