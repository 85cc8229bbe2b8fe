//! DOT (graphviz.org/doc/info/lang.html): for the eye, so for small fabrics.
//!
//! Levels become ranks, hosts at the bottom. The switches of one group, or of one first coordinate, become a cluster.
//! Parallel links of one kind are one edge with their number; optical ones are dashed. Attributes that Graphviz passes
//! over (`kind` of a node; `rate`, `length`, `links` and `class` of an edge) are for programs that read the fabric
//! back.

use std::{collections::BTreeMap, fmt::Write};

use etherweave_primitives::{BitRate, ChannelId, InputError, Length, SwitchId};

use super::{ExportFile, ExportNames, text::Dot};
use crate::{LinkClass, Medium, Node, Topology};

/// Longer than most nodes and edges.
const NODE: usize = 48;
const EDGE: usize = 96;

pub(super) fn files(topology: &Topology, names: &ExportNames) -> Result<Vec<ExportFile>, InputError> {
    let nodes = topology.hosts() + topology.switches();
    let mut text = String::with_capacity(NODE * (8 + 2 * nodes) + EDGE * topology.port_channels() / 2);
    write(topology, names, &mut text).expect("a string takes any text");
    Ok(vec![ExportFile::new(".dot", text)])
}

fn write(topology: &Topology, names: &ExportNames, text: &mut String) -> std::fmt::Result {
    writeln!(text, "graph {} {{", Dot(&names.fabric))?;
    // From the last rank to the first is from the hosts up; ranks hold across clusters.
    text.push_str("  graph [rankdir=BT, newrank=true, ranksep=1];\n");
    text.push_str("  node [kind=switch, shape=box, style=filled, fillcolor=white];\n");
    switches(topology, text)?;
    ranks(topology, text)?;
    text.push_str("  node [kind=host, shape=ellipse, fontsize=8, width=0.2, height=0.2, margin=0.02];\n");
    topology.host_names.iter().try_for_each(|name| writeln!(text, "  {};", Dot(name)))?;
    edges(topology, text)?;
    text.write_str("}\n")
}

/// Switches, those of a cluster within it.
fn switches(topology: &Topology, text: &mut String) -> std::fmt::Result {
    let all = (0..topology.switches()).map(SwitchId::from_index);
    let Some(axis) = cluster_axis(topology) else {
        return all.into_iter().try_for_each(|at| writeln!(text, "  {};", Dot(topology.switch_name(at))));
    };
    let mut clusters: BTreeMap<u32, Vec<SwitchId>> = BTreeMap::new();
    all.for_each(|at| clusters.entry(topology.coordinates(at)[axis]).or_default().push(at));
    for (place, members) in clusters {
        let label = format!("{} {place}", topology.axes[axis]);
        writeln!(text, "  subgraph cluster_{place} {{\n    label={};", Dot(&label))?;
        members.into_iter().try_for_each(|at| writeln!(text, "    {};", Dot(topology.switch_name(at))))?;
        text.push_str("  }\n");
    }
    Ok(())
}

/// The coordinate that makes clusters: the group within levels, the first of several otherwise.
fn cluster_axis(topology: &Topology) -> Option<usize> {
    match topology.axes.first().map(String::as_str) {
        Some("level") => topology.axes.iter().position(|axis| axis == "group"),
        Some(_) if topology.axes.len() > 1 => Some(0),
        Some(_) | None => None,
    }
}

/// Where switches are on several levels, each is a rank.
fn ranks(topology: &Topology, text: &mut String) -> std::fmt::Result {
    let mut levels: BTreeMap<u8, Vec<SwitchId>> = BTreeMap::new();
    let all = (0..topology.switches()).map(SwitchId::from_index);
    all.for_each(|at| levels.entry(topology.level(at)).or_default().push(at));
    if levels.len() == 1 {
        return Ok(());
    }
    for members in levels.into_values() {
        text.push_str("  { rank=same;");
        members.into_iter().try_for_each(|at| write!(text, " {};", Dot(topology.switch_name(at))))?;
        text.push_str(" }\n");
    }
    Ok(())
}

/// One edge per pair of joined nodes and kind of cable, from the lower to the higher.
fn edges(topology: &Topology, text: &mut String) -> std::fmt::Result {
    for first in (0..topology.channels.len()).map(ChannelId::from_index) {
        let (parallel, link) = (topology.parallel(first), topology.channel(first));
        let height = |node: Node| match node {
            Node::Host(_) => (None, node),
            Node::Switch(switch) => (Some(topology.level(switch)), node),
        };
        if parallel[0] == first && height(link.from.node) < height(link.to.node) {
            let [from, to] = [link.from.node, link.to.node].map(|node| Dot(topology.name(node)));
            for (cable, links) in counted(topology, parallel) {
                writeln!(text, "  {from} -- {to} [{}];", attributes(cable, links))?;
            }
        }
    }
    Ok(())
}

/// Rate, length and class, which Graphviz passes over, and how it draws media.
fn attributes((rate, length, medium, class): CableKind, links: usize) -> String {
    let mut attributes = format!("rate=\"{rate}\", length=\"{length}\"");
    if links > 1 {
        attributes.push_str(&format!(", links={links}, label=\"{links} x {rate}\""));
    }
    if class == LinkClass::Global {
        attributes.push_str(", class=global");
    }
    if medium == Medium::Optical {
        attributes.push_str(", style=dashed");
    }
    attributes
}

/// Properties that parallel links may differ in.
type CableKind = (BitRate, Length, Medium, LinkClass);

/// How many links there are of each kind, in the order of ports.
fn counted(topology: &Topology, parallel: &[ChannelId]) -> Vec<(CableKind, usize)> {
    let mut kinds: Vec<(CableKind, usize)> = Vec::new();
    for link in parallel.iter().map(|&channel| topology.channel(channel)) {
        let kind = (link.rate, link.length, link.medium, link.class);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, links)) => *links += 1,
            None => kinds.push((kind, 1)),
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dragonfly, DragonflyPlus, Family, FatTree};

    fn text(family: &impl Family) -> String {
        files(&family.generate().unwrap(), &ExportNames::default()).unwrap().remove(0).text
    }

    #[test]
    fn parallel_links_of_a_tree_are_one_edge_between_ranks() {
        let tree = FatTree { leaves: 2, hosts_per_leaf: 1, cores: 1, links_per_core: 4, ..FatTree::default() };
        let text = text(&tree);
        assert!(text.contains("  { rank=same; \"leaf0\"; \"leaf1\"; }\n  { rank=same; \"core0\"; }\n"), "{text}");
        let uplink = text.lines().find(|line| line.starts_with("  \"leaf1\" --")).unwrap();
        assert!(uplink.ends_with("length=\"20m\", links=4, label=\"4 x 100Gb/s\", style=dashed];"), "{uplink}");
        assert_eq!(text.matches(" -- ").count(), 4);
    }

    #[test]
    fn groups_are_clusters_with_and_without_levels() {
        let dragonfly = text(&Dragonfly { p: 1, a: 2, h: 1, ..Dragonfly::default() });
        assert_eq!((dragonfly.matches("subgraph cluster_").count(), dragonfly.matches("rank=same").count()), (3, 0));
        let plus = text(&DragonflyPlus::examples()[0]);
        assert!(plus.contains("label=\"group 0\"") && plus.matches("rank=same").count() == 2, "{plus}");
    }
}
