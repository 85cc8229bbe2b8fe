//! Patterns that divide the source addresses of a plan among ports.

use std::collections::BTreeMap;

use etherweave_primitives::HostId;

use super::shares::Share;
use crate::{AddressPlan, Ternary};

/// Patterns of sources, by level and number of ports.
pub struct SourcePatterns<'a> {
    plan: &'a AddressPlan,
    known: BTreeMap<(usize, usize), Option<Vec<Ternary>>>,
}

impl<'a> SourcePatterns<'a> {
    /// Those of a plan.
    pub fn of(plan: &'a AddressPlan) -> SourcePatterns<'a> {
        SourcePatterns { plan, known: BTreeMap::new() }
    }

    /// A pattern for each port, each word in exactly one; none when there are fewer sources.
    pub fn of_level(&mut self, level: usize, ports: usize) -> Option<&[Ternary]> {
        let plan = self.plan;
        self.known.entry((level, ports)).or_insert_with(|| patterns(plan, level, ports)).as_deref()
    }

    /// These patterns, each for the port of its place.
    pub fn published(&mut self, level: usize, ports: usize) -> Option<Vec<Share>> {
        let patterns = self.of_level(level, ports)?;
        Some(patterns.iter().enumerate().map(|(port, &src)| Share { src, dst: Ternary::ANY, port }).collect())
    }

    /// The plan.
    pub fn plan(&self) -> &'a AddressPlan {
        self.plan
    }
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
        let mut sources = SourcePatterns::of(&plan);
        for level in [0, 1] {
            let patterns = sources.of_level(level, 3).unwrap().to_vec();
            let count =
                |pattern: &Ternary| (0..54).filter(|&host| pattern.matches(plan.address(HostId::new(host)))).count();
            assert_eq!(patterns.iter().map(count).collect::<Vec<_>>(), [18, 18, 18], "level {level}");
        }
        assert_eq!(sources.of_level(0, 55), None, "more ports than sources");
    }
}
