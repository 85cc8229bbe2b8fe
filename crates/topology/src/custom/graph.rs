//! A listed fabric before it is a topology: nodes by number, checked links between them.

use std::collections::{HashSet, VecDeque};

use etherweave_primitives::{BitRate, Length};

use super::switch_places::SwitchPlaces;
use crate::builder::Builder;
use crate::{Cable, Custom, LinkClass, Medium, Node, TextPlace, TopologyError, check};

/// Nodes and links of a text.
pub(super) struct ListedGraph {
    /// Names and whether they are hosts, in order.
    nodes: Vec<(String, bool)>,
    edges: Vec<Edge>,
    /// How many of the nodes are hosts.
    pub hosts: u32,
    /// Where the switches are, as far as that is said.
    places: SwitchPlaces,
}

/// A link, or several parallel ones.
pub(super) struct Edge {
    /// Numbers of its nodes.
    pub ends: [usize; 2],
    pub rate: BitRate,
    pub cable: Cable,
    /// What it is for, when it is said.
    pub class: Option<LinkClass>,
    /// Parallel links.
    pub links: u32,
}

impl ListedGraph {
    pub fn new(nodes: Vec<(String, bool)>, edges: Vec<Edge>) -> ListedGraph {
        let hosts = nodes.iter().filter(|(_, is_host)| *is_host).count() as u32;
        ListedGraph { nodes, edges, hosts, places: SwitchPlaces::default() }
    }

    /// The graph whose switches have places, one per node.
    pub fn with_places(self, places: SwitchPlaces) -> ListedGraph {
        ListedGraph { places, ..self }
    }

    /// The plan of the topology.
    ///
    /// # Errors
    /// When there are more links than memory is meant for.
    pub fn builder(mut self) -> Result<Builder, TopologyError> {
        check::links(self.edges.iter().map(|edge| u64::from(edge.links)).sum())?;
        let levels = self.places.levels.take().unwrap_or_else(|| self.levels());
        let places = self.places;
        let axes = places.axes.len();
        let mut builder = Builder::with_axes(places.axes);
        builder.radix = places.radix;
        builder.breakout = places.breakout;
        let add = |(number, ((name, is_host), level)): (usize, ((String, bool), u8))| match is_host {
            true => Node::Host(builder.add_host(name)),
            false => {
                let coordinates = &places.coordinates[number * axes..][..axes];
                Node::Switch(builder.add_switch_at(name, level, coordinates))
            }
        };
        let nodes: Vec<Node> = self.nodes.into_iter().zip(levels).enumerate().map(add).collect();
        for edge in self.edges {
            let ends = edge.ends.map(|end| nodes[end]);
            let is_host_link = ends.iter().any(|end| matches!(end, Node::Host(_)));
            let between = edge.class.unwrap_or(LinkClass::Local);
            let class = if is_host_link { LinkClass::Host } else { between };
            for _ in 0..edge.links {
                builder.link(ends[0], ends[1], edge.rate, edge.cable, class);
            }
        }
        Ok(builder)
    }

    /// Distance of every switch from the nearest switch with a host, at most 255.
    fn levels(&self) -> Vec<u8> {
        let mut levels = vec![None; self.nodes.len()];
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        let mut frontier = VecDeque::new();
        for &[a, b] in self.edges.iter().map(|edge| &edge.ends) {
            for (from, to) in [(a, b), (b, a)] {
                match (self.nodes[from].1, self.nodes[to].1) {
                    (false, false) => neighbours[from].push(to),
                    (true, false) => {
                        levels[to] = Some(0);
                        frontier.push_back((to, 0));
                    }
                    (false | true, true) => {}
                }
            }
        }
        while let Some((at, level)) = frontier.pop_front() {
            for &next in &neighbours[at] {
                if levels[next].is_none() {
                    let above = u8::saturating_add(level, 1);
                    levels[next] = Some(above);
                    frontier.push_back((next, above));
                }
            }
        }
        // A switch that no host reaches makes the build fail, whatever its level.
        levels.into_iter().map(Option::unwrap_or_default).collect()
    }
}

/// What a text says of one link, before it is understood; absent fields have the defaults of [`Custom`].
#[derive(Default)]
pub(super) struct LinkAttributes<'a> {
    pub rate: Option<&'a str>,
    pub to_rate: Option<&'a str>,
    pub length: Option<&'a str>,
    pub medium: Option<&'a str>,
    pub class: Option<&'a str>,
    pub links: Option<u64>,
}

/// What is wrong, and what would do.
pub(super) type Wrong = (String, String);

impl LinkAttributes<'_> {
    /// The link between two nodes.
    pub fn edge(&self, ends: [usize; 2], defaults: &Custom) -> Result<Edge, Wrong> {
        let rate = self.rate.map_or(Ok(defaults.rate), read_rate)?;
        let to_rate = self.to_rate.map_or(Ok(rate), read_rate)?;
        if to_rate != rate {
            return Err((format!("port speeds {rate} and {to_rate} differ"), "the same rate at both ends".to_owned()));
        }
        let links = self.links.unwrap_or(1);
        if !(1..=1024).contains(&links) {
            return Err((format!("links is {links}"), "1 to 1024".to_owned()));
        }
        let class = self.class.map(read_class).transpose()?;
        Ok(Edge { ends, rate, cable: self.cable(defaults)?, class, links: links as u32 })
    }

    fn cable(&self, defaults: &Custom) -> Result<Cable, Wrong> {
        let length: Option<Length> = self.length.map(read_length).transpose()?;
        let medium = self.medium.map(read_medium).transpose()?;
        Ok(match (length, medium) {
            (None, None) => defaults.cable,
            (Some(length), None) => length.into(),
            (length, Some(medium)) => Cable::new(length.unwrap_or(defaults.cable.length()), medium),
        })
    }
}

fn read_rate(text: &str) -> Result<BitRate, Wrong> {
    text.parse().map_err(|error| (format!("{error}"), "a rate such as 100Gb/s".to_owned()))
}

fn read_length(text: &str) -> Result<Length, Wrong> {
    text.parse().map_err(|error| (format!("{error}"), "a length such as 3m".to_owned()))
}

fn read_medium(text: &str) -> Result<Medium, Wrong> {
    let medium = Medium::ALL.into_iter().find(|medium| medium.name() == text);
    medium.ok_or_else(|| (format!("\"{text}\" is not a medium"), "copper or optical".to_owned()))
}

fn read_class(text: &str) -> Result<LinkClass, Wrong> {
    let class = LinkClass::ALL.into_iter().find(|class| class.name() == text);
    class.ok_or_else(|| (format!("\"{text}\" is not a link class"), "host, local or global".to_owned()))
}

/// Cables and ports that have been listed, to find those listed twice.
#[derive(Default)]
pub(super) struct ListedCables {
    /// Pairs of nodes, without and with ports.
    bare: HashSet<[usize; 2]>,
    joined: HashSet<[usize; 2]>,
    ports: HashSet<(usize, String)>,
}

impl ListedCables {
    /// Lists one more cable by its nodes and, where they are named, its ports.
    pub fn add(&mut self, ends: [usize; 2], ports: [Option<&str>; 2], names: [&str; 2]) -> Result<(), Wrong> {
        for ((end, port), name) in ends.into_iter().zip(ports).zip(names) {
            if port.is_some_and(|port| !self.ports.insert((end, port.to_owned()))) {
                let found = format!("port {} of {name} has two cables", port.unwrap_or_default());
                return Err((found, "one cable per port".to_owned()));
            }
        }
        let pair = if ends[0] <= ends[1] { ends } else { [ends[1], ends[0]] };
        let is_bare = ports == [None, None];
        let is_known = if is_bare { self.joined.contains(&pair) } else { self.bare.contains(&pair) };
        if is_bare {
            self.bare.insert(pair);
        }
        self.joined.insert(pair);
        if is_known {
            let found = format!("the cable {} - {} is listed twice", names[0], names[1]);
            let expected = "each pair once with its number of links, or different ports".to_owned();
            return Err((found, expected));
        }
        Ok(())
    }
}

/// Whether a node is a host.
pub(super) fn read_kind(kind: Option<&str>) -> Result<bool, Wrong> {
    match kind {
        Some("host") => Ok(true),
        Some("switch") | None => Ok(false),
        Some(other) => Err((format!("\"{other}\" is not a kind of node"), "host or switch".to_owned())),
    }
}

/// The error about a place in a text.
pub(super) fn wrong(name: &'static str, place: TextPlace, (found, expected): Wrong) -> TopologyError {
    TopologyError::Text { name, place, found, expected }
}
