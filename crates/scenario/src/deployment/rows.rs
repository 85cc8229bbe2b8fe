//! The rules of a switch as rows for deployment, with what the packets of each in-port may find inactive.

use std::collections::BTreeSet;

use etherweave_forwarding::{FlowTable, Rule};
use etherweave_primitives::Port;

pub(super) struct Row<'a> {
    pub switch: usize,
    pub rule: Rule,
    pub ports: &'a [Port],
    /// Whether it stands in for a rule before it.
    pub is_alternative: bool,
    /// Whether packets that obey pauses may find this rule and all other matching ones inactive, this one first.
    pub waits: bool,
    /// The virtual channel that it writes.
    pub written: Option<u8>,
}

impl<'a> Row<'a> {
    /// The rows of a switch whose ports `hosts` lead to hosts, with what each rule writes.
    pub fn all(switch: usize, table: &'a FlowTable, hosts: &[Port], written: &[Option<u8>]) -> Vec<Row<'a>> {
        let obeying = InPorts::of(table).obeying(hosts);
        let rules = table.rules();
        let row = |(place, rule): (usize, &Rule)| {
            let is_covered = rules[..place].iter().any(|other| covers(other, rule, rule.in_port));
            let is_alternative = is_covered || rule.in_port.is_some();
            let waits = rule.unless_paused.is_some()
                && obeying.iter().any(|&in_port| admits(rule, in_port) && is_last(rules, place, in_port));
            Row { switch, rule: *rule, ports: table.ports(rule), is_alternative, waits, written: written[place] }
        };
        rules.iter().enumerate().map(row).collect()
    }
}

/// Whether packets of an in-port may match the rule at a place first, and after it none that is always active.
fn is_last(rules: &[Rule], place: usize, in_port: Option<Port>) -> bool {
    let rule = &rules[place];
    let takes_all = |other: &Rule| covers(other, rule, in_port);
    let mut behind = rules[place + 1..].iter();
    !rules[..place].iter().any(takes_all) && !behind.any(|other| other.unless_paused.is_none() && takes_all(other))
}

/// Whether a rule matches every packet of an in-port that another matches.
fn covers(a: &Rule, b: &Rule, in_port: Option<Port>) -> bool {
    admits(a, in_port) && a.dst.covers(b.dst) && a.src.covers(b.src)
}

/// Whether a rule matches packets of an in-port, of whose rules none or some are for it alone.
fn admits(rule: &Rule, in_port: Option<Port>) -> bool {
    rule.in_port.is_none() || rule.in_port == in_port
}

/// Ports of arrival whose packets may take another rule while the first that they match is inactive.
pub(super) struct InPorts {
    named: BTreeSet<Port>,
    /// Those that divert; none stands for all ports that no rule names.
    diverting: BTreeSet<Option<Port>>,
}

impl InPorts {
    pub fn of(table: &FlowTable) -> InPorts {
        let named: BTreeSet<Port> = table.rules().iter().filter_map(|rule| rule.in_port).collect();
        let all = named.iter().copied().map(Some).chain([None]);
        let diverting = all.filter(|&in_port| diverts(table.rules(), in_port)).collect();
        InPorts { named, diverting }
    }

    /// Whether pauses may divert what arrives by a port.
    pub fn diverts(&self, port: Port) -> bool {
        self.diverting.contains(&self.class(port))
    }

    /// Ports of arrival whose packets obey pauses: those that divert, and all of hosts.
    fn obeying(&self, hosts: &[Port]) -> BTreeSet<Option<Port>> {
        let hosts = hosts.iter().map(|&port| self.class(port));
        self.diverting.iter().copied().chain(hosts).collect()
    }

    fn class(&self, port: Port) -> Option<Port> {
        self.named.get(&port).copied()
    }
}

fn diverts(rules: &[Rule], in_port: Option<Port>) -> bool {
    let rules: Vec<&Rule> = rules.iter().filter(|rule| admits(rule, in_port)).collect();
    let meets = |a: &Rule, b: &Rule| a.dst.meets(b.dst) && a.src.meets(b.src);
    let has_next = |(place, rule): (usize, &&Rule)| {
        rule.unless_paused.is_some() && rules[place + 1..].iter().any(|next| meets(next, rule))
    };
    rules.iter().enumerate().any(has_next)
}
