//! `topology.conf` of Slurm's topology/tree plugin: slurm.schedmd.com/topology.conf.html and …/topology.html.
//!
//! ```text
//! # Fabric: 10 switches; cables: 112 of 100Gb/s
//! SwitchName=leaf0 Nodes=host[0-11] LinkSpeed=100000
//! SwitchName=stage1-0 Switches=leaf[0-7]
//! ```
//!
//! The plugin supports trees, in which a switch has one parent; a fabric with several uplinks is none. Following the
//! topology guide ("one top level switch should result in good performance"), written are the switches with hosts, and
//! above them virtual ones that stand for what several real switches join:
//!
//! - in trees a `stageL-N` for whatever links between different levels up to `L` join: pods, and last the whole;
//! - in flat fabrics an `AXIS-N` for each place on the first axis: the groups of a dragonfly, the planes of a grid;
//! - a `fabric` on top of what is still apart: the groups of a dragonfly+, the switches of a listed ring.
//!
//! Both kinds of dragonfly also want `TopologyParam=dragonfly` in `slurm.conf`, which spreads jobs that exceed a leaf.

use std::collections::{BTreeMap, HashMap};

use etherweave_primitives::{BitRate, HostId, InputError, SwitchId};

use super::slurm_names::{SlurmNames, hostlist, is_no_host};
use super::{ExportFile, ExportNames, text::check_names, text::names};
use crate::{Node, Topology};

/// Longer than most lines, but for the lists in them.
const LINE: usize = 64;
const NODE: usize = 4;
/// Most characters of a `SwitchName`.
const NAME_MAX: usize = 64;

pub(super) fn files(topology: &Topology, _: &ExportNames) -> Result<Vec<ExportFile>, InputError> {
    topology.single_homed("the export for Slurm's topology/tree")?;
    let is_long = |name: &str| name.len() > NAME_MAX;
    check_names(names(topology), "Slurm", "at most 64 characters", is_long)?;
    let expected = "letters, digits, dots, underscores and hyphens in names of hosts";
    check_names(topology.host_names.iter(), "Slurm", expected, is_no_host)?;
    let mut text = String::with_capacity(LINE * (8 + topology.switches()) + NODE * topology.hosts());
    text.push_str("# For TopologyPlugin=topology/tree. Names with -N above the leaves stand for several switches.\n");
    text.extend([&fabric_line(topology), "\n"]);
    if topology.axes.iter().any(|axis| axis == "group") {
        text.push_str("# In slurm.conf: TopologyParam=dragonfly\n");
    }
    let mut tree = SwitchTree::of_leaves(topology, &mut text);
    if topology.levels.iter().any(|&level| level > 0) {
        tree.join_stages(topology, &mut text);
    } else if topology.axes.len() > 1 {
        let place = |at: SwitchId| topology.coordinates(at)[0];
        tree.join(place, |place| format!("{}-{place}", topology.axes[0]), &mut text);
    }
    tree.join(|_| 0, |_| "fabric".to_owned(), &mut text);
    Ok(vec![ExportFile::new("-topology.conf", text)])
}

/// Describes the fabric, so that a reader of the tree can say what it lacks.
fn fabric_line(topology: &Topology) -> String {
    let mut counts = BTreeMap::new();
    topology.links().for_each(|link| *counts.entry(link.rate).or_insert(0) += 1);
    let cables: Vec<String> = counts.iter().map(|(rate, count)| format!("{count} of {rate}")).collect();
    format!("# Fabric: {} switches; cables: {}", topology.switches(), cables.join(", "))
}

/// The lines that have no parent yet.
struct SwitchTree {
    names: SlurmNames,
    roots: Vec<Root>,
}

/// A line by its name, and a switch with hosts that is in it.
struct Root {
    name: String,
    leaf: SwitchId,
}

impl SwitchTree {
    /// Every switch with hosts.
    fn of_leaves(topology: &Topology, text: &mut String) -> SwitchTree {
        let mut tree = SwitchTree { names: SlurmNames::default(), roots: Vec::new() };
        for (leaf, hosts) in leaves(topology) {
            let name = tree.names.unique(topology.switch_name(leaf));
            let speed = hosts.iter().map(|&host| topology.channel(topology.host_channel(host)).rate).min();
            let speed = speed.map_or(0, BitRate::as_bps) / 1_000_000;
            let nodes = hostlist(hosts.iter().map(|&host| topology.host_name(host)));
            text.extend(["SwitchName=", &name, " Nodes=", &nodes, " LinkSpeed=", &speed.to_string(), "\n"]);
            tree.roots.push(Root { name, leaf });
        }
        tree
    }

    /// Joins the lines that are in the same part of the fabric under a new one; what is alone in its part stays.
    fn join(&mut self, part: impl Fn(SwitchId) -> u32, name: impl Fn(u32) -> String, text: &mut String) {
        let mut place_of: HashMap<u32, usize> = HashMap::new();
        let mut parts: Vec<(u32, Vec<Root>)> = Vec::new();
        for root in std::mem::take(&mut self.roots) {
            let part = part(root.leaf);
            let place = *place_of.entry(part).or_insert(parts.len());
            if place == parts.len() {
                parts.push((part, Vec::new()));
            }
            parts[place].1.push(root);
        }
        for (part, mut children) in parts {
            if children.len() > 1 {
                let name = self.names.unique(&name(part));
                let list = hostlist(children.iter().map(|child| child.name.as_str()));
                text.extend(["SwitchName=", &name, " Switches=", &list, "\n"]);
                children = vec![Root { name, leaf: children[0].leaf }];
            }
            self.roots.append(&mut children);
        }
    }

    /// Joins, level by level, what links between different levels join.
    fn join_stages(&mut self, topology: &Topology, text: &mut String) {
        let top = topology.levels.iter().copied().max().unwrap_or_default();
        let mut by_level = vec![Vec::new(); usize::from(top) + 1];
        for [a, b] in switch_links(topology) {
            let (low, high) = (topology.level(a).min(topology.level(b)), topology.level(a).max(topology.level(b)));
            if low < high {
                by_level[usize::from(high)].push([a, b]);
            }
        }
        let mut joined = Joined((0..topology.switches() as u32).collect());
        for (level, links) in by_level.into_iter().enumerate().skip(1) {
            links.into_iter().for_each(|[a, b]| joined.join(a.get(), b.get()));
            let parts = joined.numbered(&self.roots);
            self.join(|leaf| parts[&leaf], |part| format!("stage{level}-{part}"), text);
        }
    }
}

/// Switches with hosts in their order, and those hosts in theirs.
fn leaves(topology: &Topology) -> Vec<(SwitchId, Vec<HostId>)> {
    let mut hosts = vec![Vec::new(); topology.switches()];
    (0..topology.hosts()).map(HostId::from_index).for_each(|host| hosts[topology.switch_of(host).index()].push(host));
    let leaves = hosts.into_iter().enumerate().map(|(switch, hosts)| (SwitchId::from_index(switch), hosts));
    leaves.filter(|(_, hosts)| !hosts.is_empty()).collect()
}

fn switch_links(topology: &Topology) -> impl Iterator<Item = [SwitchId; 2]> {
    topology.links().filter_map(|link| match (link.from.node, link.to.node) {
        (Node::Switch(a), Node::Switch(b)) => Some([a, b]),
        (Node::Host(_), _) | (_, Node::Host(_)) => None,
    })
}

/// Sets of switches that are joined: each points towards the first of its part.
struct Joined(Vec<u32>);

impl Joined {
    /// Halves the path on each walk (Tarjan and van Leeuwen, JACM 1984), so that all walks take nearly linear time.
    fn first(&mut self, mut at: u32) -> u32 {
        while self.0[at as usize] != at {
            let next = self.0[at as usize];
            self.0[at as usize] = self.0[next as usize];
            at = next;
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.first(a), self.first(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// The part of each line, numbered in their order.
    fn numbered(&mut self, roots: &[Root]) -> HashMap<SwitchId, u32> {
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let mut number = |root: &Root| {
            let next = numbers.len() as u32;
            (root.leaf, *numbers.entry(self.first(root.leaf.get())).or_insert(next))
        };
        roots.iter().map(&mut number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Custom, Dragonfly, DragonflyPlus, Family, FatTree, KAryFatTree, SingleSwitch};

    fn lines(family: &impl Family) -> Vec<String> {
        let files = files(&family.generate().unwrap(), &ExportNames::default()).unwrap();
        files[0].text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    #[test]
    fn two_levels_are_leaves_under_one_virtual_core() {
        let lines = lines(&FatTree { leaves: 8, hosts_per_leaf: 12, cores: 2, ..FatTree::default() });
        assert_eq!(lines.len(), 9);
        assert!(lines[7].starts_with("SwitchName=leaf7 Nodes=host[84-95] LinkSpeed="), "{}", lines[7]);
        assert_eq!(lines[8], "SwitchName=stage1-0 Switches=leaf[0-7]");
    }

    #[test]
    fn a_k_ary_fat_tree_has_its_pods_under_one_virtual_core() {
        let lines = lines(&KAryFatTree { k: 4, ..KAryFatTree::default() });
        // Eight edge switches in four pods of two.
        assert_eq!(lines[8], "SwitchName=stage1-0 Switches=leaf[0-1]");
        assert_eq!(
            lines[11..],
            ["SwitchName=stage1-3 Switches=leaf[6-7]", "SwitchName=stage2-0 Switches=stage1-[0-3]"]
        );
    }

    #[test]
    fn a_dragonfly_has_its_groups_and_so_has_dragonfly_plus() {
        let flat = lines(&Dragonfly { p: 1, a: 2, h: 1, ..Dragonfly::default() });
        assert_eq!(
            flat[6..],
            [
                "SwitchName=group-0 Switches=group0-switch[0-1]",
                "SwitchName=group-1 Switches=group1-switch[0-1]",
                "SwitchName=group-2 Switches=group2-switch[0-1]",
                "SwitchName=fabric Switches=group-[0-2]",
            ]
        );
        let plus = lines(&DragonflyPlus::examples()[0]);
        assert!(plus.contains(&"SwitchName=stage1-0 Switches=group0-leaf[0-1]".to_owned()), "{plus:?}");
        assert!(plus.last().unwrap().starts_with("SwitchName=fabric Switches=stage1-[0-"), "{plus:?}");
    }

    #[test]
    fn one_switch_is_one_line_and_names_that_slurm_cannot_read_are_refused() {
        assert_eq!(lines(&SingleSwitch { hosts: 3, ..SingleSwitch::default() }).len(), 1);
        let json = r#"{"nodes": [{"id": "a[1]", "kind": "host"}, {"id": "s"}],
            "links": [{"source": "s", "target": "a[1]"}]}"#;
        let topology = Custom { json: json.to_owned(), ..Custom::default() }.generate().unwrap();
        let error = files(&topology, &ExportNames::default()).unwrap_err().to_string();
        assert!(error.starts_with("Slurm cannot express the name \"a[1]\"; expected letters"), "{error}");
    }
}
