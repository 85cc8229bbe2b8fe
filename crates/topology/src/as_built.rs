//! The fabric as it was built, where that differs from the regular plan.

use std::collections::HashMap;

use etherweave_primitives::{BitRate, HostId, InputError, SwitchId, params};

use crate::builder::{Builder, PlannedLink};
use crate::check::{at_least_one, in_range};
use crate::topology::node_index;
use crate::{Cable, LinkClass, Node, Topology, cable_name};

/// Hosts on one breakout cable at most: eight lanes of a port.
pub(crate) const BREAKOUT_MAX: u32 = 8;

params! {
    /// Departures from the regular plan: what every real installation has some of. The default departs in nothing.
    pub struct AsBuilt {
        /// Ports of every switch: no switch may need more, what it does not use is free. Absent: as many as it uses.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub radix: Option<u32> = None,
        /// Hosts that are there, 1 to what the plan has room for; they fill the switches in order. Absent: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hosts: Option<u32> = None,
        /// Hosts that share one port of their switch by a breakout cable, 1..=8. A host link's rate is that of its
        /// share. Default 1.
        pub breakout: u32 = 1,
        /// Links beyond the plan, in spare ports. Default none.
        pub extra: Vec<ExtraLink> = Vec::new(),
        /// Failed parts: nodes by name (`"leaf3"`), or cables by their ends (`"leaf0 - core0"`; listed twice, two
        /// of several parallel ones). Hosts without another link are gone too. Default none.
        pub failed: Vec<String> = Vec::new(),
        /// Directions of links that are slower than the plan. Default none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub slow: Vec<SlowLink> = Vec::new(),
    }
}

/// One direction of all links between two nodes, at another rate.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowLink {
    /// The node that sends, by name.
    pub from: String,
    /// The node that receives, by name.
    pub to: String,
    /// Rate of each [bit/s].
    pub rate: BitRate,
}

/// Links between two switches beyond the plan.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtraLink {
    /// One switch, by name.
    pub from: String,
    /// The other switch, by name.
    pub to: String,
    /// Parallel links, at least 1. Default 1.
    #[serde(default = "one")]
    pub links: u32,
    /// Rate of each [bit/s]. Default "100Gb/s".
    #[serde(default = "extra_rate")]
    pub rate: BitRate,
    /// Cable of each. Default "20m".
    #[serde(default = "extra_cable")]
    pub cable: Cable,
}

fn one() -> u32 {
    1
}

fn extra_rate() -> BitRate {
    BitRate::from_gbps(100)
}

fn extra_cable() -> Cable {
    Cable::from_m(20)
}

impl AsBuilt {
    /// Whether it is the default: no departures.
    pub fn is_default(&self) -> bool {
        *self == AsBuilt::default()
    }

    /// Whether hosts and links are those of the plan, so that formulas about it hold.
    pub fn is_regular(&self) -> bool {
        self.hosts.is_none() && self.extra.is_empty() && self.failed.is_empty() && self.slow.is_empty()
    }

    /// Changes the plan into what was built.
    pub(crate) fn apply(&self, builder: &mut Builder) -> Result<(), InputError> {
        in_range("as_built.breakout", self.breakout, 1..=BREAKOUT_MAX)?;
        // A list may have set it itself.
        builder.breakout = if self.breakout == 1 { builder.breakout } else { self.breakout };
        builder.radix = self.radix.or(builder.radix);
        if let Some(hosts) = self.hosts {
            keep_hosts(builder, hosts)?;
        }
        if !self.is_regular() {
            self.rewire(builder)?;
        }
        Ok(())
    }

    fn rewire(&self, builder: &mut Builder) -> Result<(), InputError> {
        let names = NodeNames::of(builder);
        let mut extra = Vec::new();
        for (number, link) in self.extra.iter().enumerate() {
            extra.extend(link.links(number, builder, &names)?);
        }
        builder.links.extend(extra);
        for (number, link) in self.slow.iter().enumerate() {
            link.slow_down(number, builder, &names)?;
        }
        // A port that fails was needed before.
        builder.check_radix()?;
        let mut failures = Failures::none(builder);
        for (number, failed) in self.failed.iter().enumerate() {
            failures.add(builder, &names, number, failed)?;
        }
        failures.remove(builder);
        Ok(())
    }
}

impl Builder {
    /// Applies the departures from the plan, checks the whole and freezes it.
    ///
    /// # Errors
    /// As [`build`](Builder::build), and when `as_built` names what is not there.
    pub fn build_as(mut self, as_built: &AsBuilt) -> Result<Topology, InputError> {
        as_built.apply(&mut self)?;
        self.build()
    }
}

impl ExtraLink {
    fn links(&self, number: usize, builder: &Builder, names: &NodeNames) -> Result<Vec<PlannedLink>, InputError> {
        let key = |part: &str| format!("as_built.extra.{number}.{part}");
        at_least_one(key("links"), self.links)?;
        // More than a switch can have ports is refused before it fills the memory.
        in_range(key("links"), self.links, 1..=1024)?;
        let end = |part: &str, name: &str| match names.node(name) {
            Some(switch @ Node::Switch(_)) => Ok(switch),
            _ => Err(InputError::new(key(part), format!("\"{name}\""), names.expected_switch(builder))),
        };
        let ends = [end("from", &self.from)?, end("to", &self.to)?];
        let group = |node: Node| builder.group(node);
        let class = if group(ends[0]) == group(ends[1]) { LinkClass::Local } else { LinkClass::Global };
        let medium = self.cable.medium(self.rate);
        let link = PlannedLink { ends, rates: [self.rate; 2], length: self.cable.length(), medium, class };
        Ok(vec![link; self.links as usize])
    }
}

impl SlowLink {
    fn slow_down(&self, number: usize, builder: &mut Builder, names: &NodeNames) -> Result<(), InputError> {
        let ends = names.node(&self.from).zip(names.node(&self.to));
        let mut is_there = false;
        for link in &mut builder.links {
            let [a, b] = link.ends;
            if let Some(side) = [Some((a, b)), Some((b, a))].iter().position(|&pair| pair == ends) {
                (link.rates[side], is_there) = (self.rate, true);
            }
        }
        let ends = format!("\"{}\" to \"{}\"", self.from, self.to);
        InputError::unless(is_there, format!("as_built.slow.{number}"), ends, "two nodes with a cable")
    }
}

/// The first `hosts` hosts stay.
fn keep_hosts(builder: &mut Builder, hosts: u32) -> Result<(), InputError> {
    in_range("as_built.hosts", hosts, 1..=builder.host_names.len() as u32)?;
    builder.host_names.truncate(hosts as usize);
    let is_kept = |node: Node| !matches!(node, Node::Host(host) if host.get() >= hosts);
    builder.links.retain(|link| link.ends.into_iter().all(is_kept));
    Ok(())
}

struct NodeNames(HashMap<String, Node>);

impl NodeNames {
    fn of(builder: &Builder) -> NodeNames {
        let hosts = builder.host_names.iter().zip((0..).map(|id| Node::Host(HostId::new(id))));
        let switches = builder.switch_names.iter().zip((0..).map(|id| Node::Switch(SwitchId::new(id))));
        NodeNames(hosts.chain(switches).map(|(name, node)| (name.clone(), node)).collect())
    }

    fn node(&self, name: &str) -> Option<Node> {
        self.0.get(name.trim()).copied()
    }

    fn ends(&self, text: &str) -> Option<[Node; 2]> {
        cable_name::ends(text, |name| self.node(name))
    }

    fn expected_switch(&self, builder: &Builder) -> String {
        let ends = builder.switch_names.first().zip(builder.switch_names.last());
        ends.map_or("a fabric with switches".to_owned(), |(first, last)| format!("a switch, {first} to {last}"))
    }
}

/// Nodes and links that do not work, by index.
struct Failures {
    nodes: Vec<bool>,
    links: Vec<bool>,
    /// Working links by their ends, the first of parallel ones last.
    by_ends: HashMap<[Node; 2], Vec<usize>>,
}

impl Failures {
    fn none(builder: &Builder) -> Failures {
        let mut by_ends: HashMap<[Node; 2], Vec<usize>> = HashMap::new();
        for (index, link) in builder.links.iter().enumerate().rev() {
            by_ends.entry(sorted(link.ends)).or_default().push(index);
        }
        let nodes = builder.host_names.len() + builder.switch_names.len();
        Failures { nodes: vec![false; nodes], links: vec![false; builder.links.len()], by_ends }
    }

    fn add(&mut self, builder: &Builder, names: &NodeNames, number: usize, failed: &str) -> Result<(), InputError> {
        if let Some(node) = names.node(failed) {
            self.nodes[node_index(node, builder.host_names.len())] = true;
            return Ok(());
        }
        let working = names.ends(failed).and_then(|ends| self.by_ends.get_mut(&sorted(ends)));
        match working.and_then(Vec::pop) {
            Some(link) => {
                self.links[link] = true;
                Ok(())
            }
            None => {
                let expected = format!("{}, a host, or a working cable as \"A - B\"", names.expected_switch(builder));
                Err(InputError::new(format!("as_built.failed.{number}"), format!("\"{failed}\""), expected))
            }
        }
    }

    /// Takes everything out of the plan that has failed, and the hosts that have no link left; ids move up.
    fn remove(mut self, builder: &mut Builder) {
        let hosts = builder.host_names.len();
        let mut has_link = vec![None; hosts];
        for (index, link) in builder.links.iter().enumerate() {
            self.links[index] |= link.ends.into_iter().any(|node| self.nodes[node_index(node, hosts)]);
            for node in link.ends {
                if let Node::Host(host) = node {
                    *has_link[host.index()].get_or_insert(false) |= !self.links[index];
                }
            }
        }
        has_link.iter().zip(&mut self.nodes).for_each(|(has_link, is_gone)| *is_gone |= *has_link == Some(false));
        let moved = moved(&self.nodes[..hosts], &self.nodes[hosts..]);
        let axes = builder.axes.len();
        retain(&mut builder.host_names, |index| !self.nodes[index]);
        retain(&mut builder.switch_names, |index| !self.nodes[hosts + index]);
        retain(&mut builder.levels, |index| !self.nodes[hosts + index]);
        retain(&mut builder.coordinates, |index| !self.nodes[hosts + index / axes]);
        retain(&mut builder.links, |index| !self.links[index]);
        for link in &mut builder.links {
            link.ends = link.ends.map(|node| moved[node_index(node, hosts)]);
        }
    }
}

fn sorted([a, b]: [Node; 2]) -> [Node; 2] {
    if a <= b { [a, b] } else { [b, a] }
}

/// Every node under its new id.
fn moved(hosts: &[bool], switches: &[bool]) -> Vec<Node> {
    let ranks = |gone: &[bool]| -> Vec<u32> {
        let mut next = 0;
        let rank = |is_gone: &bool| {
            let rank = next;
            next += u32::from(!*is_gone);
            rank
        };
        gone.iter().map(rank).collect()
    };
    let hosts = ranks(hosts).into_iter().map(|id| Node::Host(HostId::new(id)));
    hosts.chain(ranks(switches).into_iter().map(|id| Node::Switch(SwitchId::new(id)))).collect()
}

fn retain<T>(list: &mut Vec<T>, is_kept: impl Fn(usize) -> bool) {
    let mut index = 0;
    list.retain(|_| {
        index += 1;
        is_kept(index - 1)
    });
}
