//! A listed fabric before it is a topology: nodes by number, checked links between them.

use std::collections::VecDeque;

use etherweave_primitives::InputError;

use super::{link_text::Edge, switch_places::SwitchPlaces};
use crate::{LinkClass, Node, builder::Builder, check};

pub(super) struct ListedGraph {
    /// Names and whether they are hosts, in order.
    nodes: Vec<(String, bool)>,
    edges: Vec<Edge>,
    /// How many of the nodes are hosts.
    pub hosts: u32,
    /// Where the switches are, as far as the text gives it.
    places: SwitchPlaces,
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
    pub fn builder(mut self) -> Result<Builder, InputError> {
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
