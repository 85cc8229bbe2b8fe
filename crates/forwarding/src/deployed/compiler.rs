//! Compilation of flow tables to an index and chains of choices, one switch after the other.

use std::collections::HashMap;

use etherweave_primitives::{InputError, Port, SwitchId};
use etherweave_routing::tables::{Chains, ChannelScheme, HopPurpose, NOWHERE, Nodes, RemainingRule, Side, Target};
use etherweave_topology::{LinkClass, Topology};

use crate::{AddressPlan, FlowTable, Region, Rule, Ternary};

/// Addresses travel in 32 bits of a packet; bits above the highest field are shifted in.
const ADDRESS_BITS_MAX: u32 = 31;
/// Half a GiB.
const ENTRIES_MAX: usize = 1 << 27;
/// Source bits that one node looks at, at most.
const SOURCE_BITS_MAX: u32 = 8;

pub(super) struct Compiler<'a> {
    topology: &'a Topology,
    plan: &'a AddressPlan,
    ranks: ChannelScheme,
    chains: Chains,
    nodes: Nodes,
    /// Entries of the switch at hand, by the rules of a region and whether each takes all of it.
    known: HashMap<Vec<(usize, bool)>, u32>,
}

struct SwitchTable<'a> {
    table: &'a FlowTable,
    classes: Vec<LinkClass>,
    /// Addresses in its group.
    own: Ternary,
}

impl<'a> Compiler<'a> {
    /// # Errors
    /// When addresses are too long.
    pub fn new(
        topology: &'a Topology,
        plan: &'a AddressPlan,
        ranks: ChannelScheme,
    ) -> Result<Compiler<'a>, InputError> {
        if plan.bits() > ADDRESS_BITS_MAX {
            let expected = format!("at most {ADDRESS_BITS_MAX} bits of addresses");
            return Err(InputError::new("address_plan", plan, expected));
        }
        let (chains, nodes) = (Chains::default(), Nodes::default());
        Ok(Compiler { topology, plan, ranks, chains, nodes, known: HashMap::new() })
    }

    /// Adds the table of the next switch.
    ///
    /// # Errors
    /// When the fabric's tables do not fit.
    pub fn add(&mut self, at: SwitchId, table: &FlowTable) -> Result<(), InputError> {
        let leaving = self.topology.out_channels(at).iter();
        let classes = leaving.map(|&channel| self.topology.channel(channel).class).collect();
        let switch_table = SwitchTable { table, classes, own: own_group(self.topology, self.plan, at) };
        let rules: Vec<usize> = (0..table.rules().len()).collect();
        self.known.clear();
        let root = self.region(&switch_table, self.plan.root(), &rules);
        self.nodes.add_root(root);
        if self.nodes.entries() > ENTRIES_MAX {
            let expected = format!("one with at most {ENTRIES_MAX} entries in the index of its tables");
            return Err(InputError::new("address_plan", self.plan, expected));
        }
        Ok(())
    }

    pub fn finish(self) -> (Nodes, Chains) {
        (self.nodes, self.chains)
    }

    /// An entry for a region; `above` are the rules that meet the region around it.
    fn region(&mut self, switch_table: &SwitchTable<'_>, region: Region<'_>, above: &[usize]) -> u32 {
        let word = (1 << self.plan.bits()) - 1;
        let cube = region.host().map_or(region.cube(), |host| Ternary::new(self.plan.address(host), word));
        let all = switch_table.table.rules();
        let rules: Vec<usize> = above.iter().copied().filter(|&place| all[place].dst.meets(cube)).collect();
        if is_decided(rules.iter().map(|&place| &all[place]), cube) {
            let key: Vec<(usize, bool)> = rules.iter().map(|&place| (place, all[place].dst.covers(cube))).collect();
            if let Some(&entry) = self.known.get(&key) {
                return entry;
            }
            let rules: Vec<&Rule> = rules.iter().map(|&place| &all[place]).collect();
            let entry = self.sources(switch_table, &rules, cube, Ternary::ANY);
            self.known.insert(key, entry);
            return entry;
        }
        let field = &self.plan.fields()[region.depth()];
        let mut entries = vec![NOWHERE; 1 << field.bits];
        for child in region.children() {
            let value = child.cube().value() >> field.shift & ((1 << field.bits) - 1);
            entries[value as usize] = self.region(switch_table, child, &rules);
        }
        self.nodes.add(Side::Destination, field.shift, entries)
    }

    /// An entry for a region and the sources of a pattern, taken apart until no rule matches only a part of it.
    fn sources(&mut self, switch_table: &SwitchTable<'_>, rules: &[&Rule], cube: Ternary, src: Ternary) -> u32 {
        let rules: Vec<&Rule> = rules.iter().copied().filter(|rule| rule.src.meets(src)).collect();
        let open = rules.iter().fold(0, |open, rule| open | rule.src.mask() & !src.mask());
        if open == 0 {
            let rests: Vec<RemainingRule> = rules.iter().map(|rule| self.rest(switch_table, rule, cube)).collect();
            let last = rests.iter().position(RemainingRule::always_decides).map_or(rests.len(), |last| last + 1);
            let first = self.chains.add(&rests[..last]);
            return self.nodes.chain(first);
        }
        let high = u64::BITS - open.leading_zeros();
        let bits = (high - open.trailing_zeros()).min(SOURCE_BITS_MAX);
        let shift = high - bits;
        let mask = ((1u64 << bits) - 1) << shift;
        let entries = (0..1 << bits).map(|value: u64| {
            let part = Ternary::new(value << shift, mask).and(src);
            part.map_or(NOWHERE, |part| self.sources(switch_table, &rules, cube, part))
        });
        let entries = entries.collect();
        self.nodes.add(Side::Source, shift, entries)
    }

    /// Returns the rest of a rule that the region has not decided.
    fn rest(&self, switch_table: &SwitchTable<'_>, rule: &Rule, cube: Ternary) -> RemainingRule {
        let dst = if rule.dst.covers(cube) { Ternary::ANY } else { rule.dst };
        let target = |port: Port| {
            let purpose = hop_purpose(switch_table.own, rule);
            let rank = self.ranks.rank(switch_table.classes[port.index()], purpose);
            Target { port: port.get() as u8, rank }
        };
        RemainingRule {
            dst_value: dst.value() as u32,
            dst_mask: dst.mask() as u32,
            in_port: rule.in_port.map(|port| port.get() as u8),
            watched: rule.unless_paused.map(target),
            targets: switch_table.table.ports(rule).iter().map(|&port| target(port)).collect(),
        }
    }
}

/// Purpose of a switch's rule, by the addresses of its group.
pub(super) fn hop_purpose(own: Ternary, rule: &Rule) -> HopPurpose {
    match rule.in_port {
        Some(_) => HopPurpose::NonMinimal,
        None if own.covers(rule.dst) => HopPurpose::Home,
        None => HopPurpose::Away,
    }
}

/// The addresses that share the first field with those of a switch; of a plan without a first coordinate, all.
pub(super) fn own_group(topology: &Topology, plan: &AddressPlan, at: SwitchId) -> Ternary {
    match (topology.coordinates(at), plan.fields()) {
        ([group, _, ..], [field, _, _, ..]) => field.matching(*group),
        _ => Ternary::ANY,
    }
}

/// Whether the rules that meet a region, up to one that takes all of it from everywhere, take all of it; a rule for a
/// part of it has it taken apart.
fn is_decided<'a>(mut rules: impl Iterator<Item = &'a Rule>, cube: Ternary) -> bool {
    let is_last = |rule: &&Rule| !rule.dst.covers(cube) || rule.src == Ternary::ANY && rule.in_port.is_none();
    rules.find(is_last).is_none_or(|rule| rule.dst.covers(cube))
}
