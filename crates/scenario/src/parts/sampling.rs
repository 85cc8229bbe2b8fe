//! Time series of ports, flows and hosts: `[observe]`.

use std::collections::BTreeSet;

use etherweave_primitives::{ChannelId, Duration, HostId, InputError, InputErrors, SwitchId, params};
use etherweave_sim::{FlowSelection, Sampling};
use etherweave_topology::{Node, Topology, reverse};

use crate::Scenario;

/// Names that an error proposes, at most.
const PROPOSED: usize = 3;

params! {
    /// Time series of chosen ports, flows and hosts, for `etherweave run`.
    pub struct ObserveSpec {
        /// Time from one sample to the next. Default "10us".
        pub period: Duration = Duration::from_us(10),
        /// Ports, each by its node and its peer: "leaf0 - core0" is every port of leaf0 to core0. In names, `*` stands
        /// for any text: "leaf0 - *". "switches" and "hosts" are all ports of switches and of NICs. Default none.
        pub ports: Vec<String> = Vec::new(),
        /// Number of ports to keep, at least 1: of those in `ports`, or of all ports of switches without it, the ones
        /// that sent most bytes in the sampled time, and of equal ones the first by node and port. Absent: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub busiest: Option<u32> = None,
        /// Flows, each by its hosts: "host0 -> host8"; in names, `*` stands for any text: "* -> host8". Default none.
        pub flows: Vec<String> = Vec::new(),
        /// Hosts, each by its name, in which `*` stands for any text: processor time by kind, table `host_samples`, and
        /// their links both ways, as `ports` has them. Default none.
        pub hosts: Vec<String> = Vec::new(),
        /// Whether to keep what each rank does when, and when its messages leave and arrive: tables `activities` and
        /// `transfers`. Default false.
        pub ranks: bool = false,
        /// Whether to run a second time, on one thread, and divide what messages on the path of each job wait by ports
        /// and causes: table `waits`. Takes `ranks = true`. Default false.
        pub waits: bool = false,
        /// Start of the first period, a multiple of `period`. Default "0s".
        pub from: Duration = Duration::ZERO,
        /// End of the last period, a multiple of `period`. Absent: the end of the run, which `run.end` must bound.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub until: Option<Duration> = None,
    }
}

/// Returns what a run samples, of a scenario whose times have been checked.
///
/// # Errors
/// Every selection of nothing.
pub(crate) fn sampling(scenario: &Scenario, topology: &Topology) -> Result<Option<Sampling>, InputErrors> {
    let Some(spec) = scenario.observe.as_ref().filter(|spec| spec.samples_any()) else { return Ok(None) };
    let mut errors = InputErrors::default();
    let ports = errors.each("observe.ports", spec.selected_ports(), |selection| select_ports(topology, selection));
    let flows = errors.each("observe.flows", &spec.flows, |selection| select_flows(topology, selection));
    let hosts = errors.each("observe.hosts", &spec.hosts, |pattern| select_hosts(topology, pattern));
    errors.into_result()?;
    let mut ports: BTreeSet<ChannelId> = ports.into_iter().flatten().collect();
    let hosts: BTreeSet<HostId> = hosts.into_iter().flatten().collect();
    // A host's own links, and the directions that lead to it.
    ports.extend(
        hosts.iter().flat_map(|&host| topology.host_channels(host)).flat_map(|&channel| [channel, reverse(channel)]),
    );
    let ObserveSpec { period, from, until, busiest, .. } = *spec;
    Ok(Some(Sampling {
        period,
        from,
        until,
        ports: ports.into_iter().collect(),
        busiest,
        flows,
        hosts: hosts.into_iter().collect(),
    }))
}

impl ObserveSpec {
    /// Rejects times that do not fit each other or the end of the run, and samples of nothing.
    ///
    /// # Errors
    /// The first mistake, with the key below `observe`.
    pub(crate) fn check(&self, end: Option<Duration>) -> Result<(), InputError> {
        let ObserveSpec { period, from, until, .. } = *self;
        InputError::unless(!period.is_zero(), "period", period, "more than 0")?;
        for (key, time) in [("from", Some(from)), ("until", until)] {
            let time = time.unwrap_or(Duration::ZERO);
            let is_multiple = time.as_ps().is_multiple_of(period.as_ps());
            InputError::unless(is_multiple, key, time, format!("a multiple of the period, {period}"))?;
        }
        InputError::unless(self.busiest != Some(0), "busiest", 0, "at least 1")?;
        InputError::unless(self.ranks || !self.waits, "waits", true, "false, or ranks = true")?;
        if self.ranks && !self.samples_any() {
            return Ok(());
        }
        let expected = "a list of ports, flows or hosts, such as ports = [\"switches\"] or flows = [\"* -> *\"]";
        InputError::unless(self.samples_any(), "ports", "neither ports, flows, hosts nor ranks", expected)?;
        let expected = "a time that bounds the samples, as `run.end` does not";
        InputError::unless(end.or(until).is_some(), "until", "none", expected)?;
        let last = [until, end].into_iter().flatten().min().unwrap_or(from);
        InputError::unless(from < last, "from", from, format!("less than the end of the samples, {last}"))
    }

    fn samples_any(&self) -> bool {
        self.selected_ports().next().is_some() || !self.flows.is_empty() || !self.hosts.is_empty()
    }

    /// Selections of ports: of the busiest ones without any, all ports of switches.
    fn selected_ports(&self) -> impl Iterator<Item = &str> {
        let all = self.ports.is_empty() && self.busiest.is_some();
        self.ports.iter().map(String::as_str).chain(all.then_some("switches"))
    }

    /// How many times a run samples that ends at `end` at the latest.
    pub(crate) fn samples(&self, end: Option<Duration>) -> u64 {
        let bounds = [self.until, end].into_iter().flatten().min().unwrap_or(self.from);
        let span = bounds.as_ps().saturating_sub(self.from.as_ps());
        // At both ends of every period, and at the end of the run.
        (span / self.period.as_ps().max(1)).saturating_add(2)
    }
}

/// Whether a name is that of a pattern, in which `*` stands for any text.
fn is_match(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

/// Both sides of every place where a selection can be divided.
fn divisions<'a>(selection: &'a str, separator: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    selection.match_indices(separator).map(move |(at, _)| (&selection[..at], &selection[at + separator.len()..]))
}

fn select_ports(topology: &Topology, selection: &str) -> Result<Vec<ChannelId>, InputError> {
    let channels = |is_selected: &dyn Fn(Node, Node) -> bool| {
        let all = topology.channels().iter().enumerate();
        let selected = all.filter(|(_, channel)| is_selected(channel.from.node, channel.to.node));
        selected.map(|(number, _)| ChannelId::from_index(number)).collect::<Vec<_>>()
    };
    match selection {
        "switches" => return Ok(channels(&|from, _| matches!(from, Node::Switch(_)))),
        "hosts" => return Ok(channels(&|from, _| matches!(from, Node::Host(_)))),
        _ => {}
    }
    let between = |(from, to): (&str, &str)| {
        channels(&|own, peer| is_match(from, topology.name(own)) && is_match(to, topology.name(peer)))
    };
    let ports = divisions(selection, " - ").map(between).find(|ports| !ports.is_empty());
    ports.ok_or_else(|| no_port(topology, selection))
}

/// Returns the error that names what is there instead: peers of the node, or nodes with similar names.
fn no_port(topology: &Topology, selection: &str) -> InputError {
    let mistake = format!("no port \"{selection}\"");
    let Some((from, to)) = divisions(selection, " - ").next() else {
        let example = topology.channel(topology.out_channels(SwitchId::new(0))[0]);
        let (node, peer) = (topology.name(example.from.node), topology.name(example.to.node));
        let expected = format!("\"switches\", \"hosts\", or a node and its peer, such as \"{node} - {peer}\"");
        return InputError::new("", mistake, expected);
    };
    let is_named = |pattern: &str| nodes(topology).any(|node| is_match(pattern, topology.name(node)));
    if let Some(missing) = [from, to].into_iter().find(|name| !is_named(name)) {
        let similar = similar(nodes(topology).map(|node| topology.name(node)), missing);
        return InputError::new("", mistake, format!("nodes of the fabric; similar to {missing}: {similar}"));
    }
    let node = nodes(topology).find(|&node| is_match(from, topology.name(node))).expect("one is named so");
    let peers = topology.out_channels(node).iter().map(|&channel| topology.name(topology.channel(channel).to.node));
    let (name, similar) = (topology.name(node), similar(peers, to));
    InputError::new("", mistake, format!("a peer of {name}; similar to {to}: {similar}"))
}

fn select_flows(topology: &Topology, selection: &str) -> Result<FlowSelection, InputError> {
    let hosts = |pattern: &str| matching_hosts(topology, pattern);
    let sides = divisions(selection, " -> ").map(|(from, to)| (hosts(from), hosts(to)));
    let pair = sides.into_iter().find(|(from, to)| !from.is_empty() && !to.is_empty());
    if let Some((sources, destinations)) = pair {
        return Ok(FlowSelection { sources, destinations });
    }
    let mistake = format!("no flow \"{selection}\"");
    let Some((from, to)) = divisions(selection, " -> ").next() else {
        let names = [0, topology.hosts() - 1].map(|host| topology.host_name(HostId::from_index(host)));
        let expected = format!("two hosts, such as \"{} -> {}\", or \"* -> *\"", names[0], names[1]);
        return Err(InputError::new("", mistake, expected));
    };
    let missing = if hosts(from).is_empty() { from } else { to };
    Err(no_host(topology, mistake, missing))
}

fn select_hosts(topology: &Topology, pattern: &str) -> Result<Vec<HostId>, InputError> {
    let hosts = matching_hosts(topology, pattern);
    if hosts.is_empty() { Err(no_host(topology, format!("no host \"{pattern}\""), pattern)) } else { Ok(hosts) }
}

fn no_host(topology: &Topology, mistake: String, missing: &str) -> InputError {
    let similar = similar(all_hosts(topology).map(|host| topology.host_name(host)), missing);
    InputError::new("", mistake, format!("hosts of the fabric; similar to {missing}: {similar}"))
}

fn matching_hosts(topology: &Topology, pattern: &str) -> Vec<HostId> {
    all_hosts(topology).filter(|&host| is_match(pattern, topology.host_name(host))).collect()
}

fn all_hosts(topology: &Topology) -> impl Iterator<Item = HostId> + use<> {
    (0..topology.hosts()).map(HostId::from_index)
}

fn nodes(topology: &Topology) -> impl Iterator<Item = Node> + use<> {
    let switches = (0..topology.switches()).map(|number| Node::Switch(SwitchId::from_index(number)));
    all_hosts(topology).map(Node::Host).chain(switches)
}

/// The names that begin most like another, in their order.
fn similar<'a>(names: impl Iterator<Item = &'a str>, other: &str) -> String {
    let common = |name: &str| name.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let mut names: Vec<&str> = names.collect();
    names.sort_by_key(|name| std::cmp::Reverse(common(name)));
    names.truncate(PROPOSED);
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Family, FatTree};

    use super::*;

    fn ports(selection: &str) -> Result<usize, String> {
        let topology = FatTree::default().generate().unwrap();
        select_ports(&topology, selection).map(|ports| ports.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name) in [("leaf*", "leaf12"), ("*", ""), ("*f1*", "leaf12"), ("l*f*2", "leaf12"), ("a", "a")] {
            assert!(is_match(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("leaf", "leaf12"), ("*3", "leaf12"), ("leaf1*12", "leaf12"), ("*ab*ab", "ab")] {
            assert!(!is_match(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn ports_are_selected_by_node_and_peer() {
        // Eight leaves of 12 hosts with four uplinks each.
        let topology = FatTree::default().generate().unwrap();
        let hosts = topology.hosts();
        assert_eq!(ports("hosts"), Ok(hosts));
        assert_eq!(ports("switches"), Ok(topology.channels().len() - hosts));
        assert_eq!(ports("leaf0 - host0"), Ok(1));
        assert_eq!(ports("host0 - leaf0"), Ok(1));
        assert_eq!(ports("* - *"), Ok(topology.channels().len()));
        assert_eq!(ports("* - host*"), Ok(hosts));
        assert_eq!(ports("leaf0 - core*"), Ok(4));
        assert_eq!(ports("leaf* - core*"), Ok(8 * 4));
    }

    #[test]
    fn what_is_not_there_is_answered_with_names_that_are() {
        let error = |selection| ports(selection).unwrap_err();
        assert_eq!(
            error("leaf99 - core0"),
            "no port \"leaf99 - core0\"; expected nodes of the fabric; similar to leaf99: leaf0, leaf1, leaf2"
        );
        assert!(
            error("leaf0 - leaf1").contains("expected a peer of leaf0; similar to leaf1: "),
            "{}",
            error("leaf0 - leaf1")
        );
        assert!(
            error("leaf0").contains("expected \"switches\", \"hosts\", or a node and its peer, such as \"leaf0 - ")
        );
        let topology = FatTree::default().generate().unwrap();
        let flow = |selection| select_flows(&topology, selection).unwrap_err().to_string();
        assert!(flow("host0 -> hots1").contains("hosts of the fabric; similar to hots1: host0, host1, host2"));
        assert!(flow("host0").contains("expected two hosts, such as \"host0 -> host95\", or \"* -> *\""));
    }
}
