//! The flow table of a switch: rules by priority, each with what it matches, when it is active, and where it sends.

use std::collections::HashMap;

use etherweave_primitives::Port;

use crate::Ternary;

/// A set of ports, by its number in a table's [`PortSets`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SetId(pub(crate) u32);

/// Sets of ports, each stored once: the actions of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSets {
    ports: Vec<Port>,
    /// Set `i` is `ports[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
}

impl Default for PortSets {
    fn default() -> Self {
        PortSets { ports: Vec::new(), starts: vec![0] }
    }
}

impl PortSets {
    /// The ports of a set, ascending.
    pub fn get(&self, set: SetId) -> &[Port] {
        let [start, end] = [set.0, set.0 + 1].map(|at| self.starts[at as usize] as usize);
        &self.ports[start..end]
    }

    /// How many sets there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn push(&mut self, ports: &[Port]) -> SetId {
        self.ports.extend_from_slice(ports);
        self.starts.push(self.ports.len() as u32);
        SetId(self.len() as u32 - 1)
    }
}

/// Numbers sets of ports in the order of their first use.
#[derive(Default)]
pub(crate) struct Interner {
    pub sets: PortSets,
    numbers: HashMap<Vec<Port>, SetId>,
}

impl Interner {
    /// The sets of a table that is to have more.
    pub fn over(sets: PortSets) -> Interner {
        let numbers = (0..sets.len() as u32).map(|set| (sets.get(SetId(set)).to_vec(), SetId(set))).collect();
        Interner { sets, numbers }
    }

    pub fn number(&mut self, ports: &[Port]) -> SetId {
        if let Some(&number) = self.numbers.get(ports) {
            return number;
        }
        let number = self.sets.push(ports);
        self.numbers.insert(ports.to_vec(), number);
        number
    }
}

/// An entry of a flow table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The highest that matches and is active decides; of equals, the first.
    pub priority: u16,
    /// Destination addresses that match.
    pub dst: Ternary,
    /// Source addresses that match: a static share of the sources.
    pub src: Ternary,
    /// The ingress port that matches; none, any.
    pub in_port: Option<Port>,
    /// The rule is inactive while this port is paused (Benito et al. 2015, section V-B: *default* rules); none,
    /// always active.
    pub unless_paused: Option<Port>,
    /// Where to: any of these ports.
    pub action: SetId,
    /// The ports of which this is the share of one; none where the rule is for all traffic to its destinations.
    pub share_of: Option<SetId>,
}

impl Rule {
    /// A rule for destinations, whatever the source, in-port and pauses.
    pub fn to(priority: u16, dst: Ternary, action: SetId) -> Rule {
        Rule { priority, dst, src: Ternary::ANY, in_port: None, unless_paused: None, action, share_of: None }
    }

    /// Whether the rule matches a packet, active or not.
    #[inline]
    pub fn matches(&self, packet: &PacketHeader) -> bool {
        let in_port = self.in_port.is_none() || self.in_port == packet.in_port;
        self.dst.matches(packet.dst) && self.src.matches(packet.src) && in_port
    }
}

/// The fields of a packet that a switch matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketHeader {
    /// Destination address.
    pub dst: u64,
    /// Source address.
    pub src: u64,
    /// Its ingress port, where that matters.
    pub in_port: Option<Port>,
}

/// The rules of one switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowTable {
    rules: Vec<Rule>,
    sets: PortSets,
}

impl FlowTable {
    /// Rules in any order; those of equal priority stay in theirs.
    pub fn new(mut rules: Vec<Rule>, sets: PortSets) -> FlowTable {
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
        FlowTable { rules, sets }
    }

    /// The rules, highest priority first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The actions.
    pub fn sets(&self) -> &PortSets {
        &self.sets
    }

    /// The ports of a rule.
    pub fn ports(&self, rule: &Rule) -> &[Port] {
        self.sets.get(rule.action)
    }

    /// The rule that decides about a packet while some ports are paused; none when no rule matches.
    ///
    /// When all rules that match are inactive, the first of them decides: the packet waits for its default port
    /// instead of being lost.
    pub fn lookup(&self, packet: &PacketHeader, is_paused: impl Fn(Port) -> bool) -> Option<&Rule> {
        let matching = || self.rules.iter().filter(|rule| rule.matches(packet));
        let is_active = |rule: &&Rule| !rule.unless_paused.is_some_and(&is_paused);
        matching().find(is_active).or_else(|| matching().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: PacketHeader = PacketHeader { dst: 0b101, src: 0, in_port: None };

    /// Where a packet goes by two conditional rules and a fallback, while some ports are paused.
    fn check(paused: &[u16], expected: u16) {
        let mut sets = PortSets::default();
        let ports = [7, 8, 9].map(|port| sets.push(&[Port::new(port)]));
        let rule = |priority, place: usize| Rule {
            unless_paused: Some(Port::new(7 + place as u16)),
            ..Rule::to(priority, Ternary::new(0b100, 0b100), ports[place])
        };
        let in_port = Rule { in_port: Some(Port::new(3)), ..rule(9, 2) };
        let table = FlowTable::new(vec![rule(1, 1), rule(2, 0), in_port], sets);
        let chosen = table.lookup(&PACKET, |port| paused.contains(&port.get())).unwrap();
        assert_eq!(table.ports(chosen), [Port::new(expected)], "{paused:?}");
    }

    #[test]
    fn with_a_paused_port_the_next_rule_decides_and_with_all_paused_the_first() {
        check(&[], 7);
        check(&[8], 7);
        check(&[7], 8);
        check(&[7, 8], 7);
    }

    #[test]
    fn a_packet_that_no_rule_matches_has_no_port() {
        let table = FlowTable::new(Vec::new(), PortSets::default());
        assert_eq!(table.lookup(&PACKET, |_| false), None);
    }
}
