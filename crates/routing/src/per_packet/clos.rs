//! Fat trees and folded Clos networks: which leaves are below a switch, and the ports that lead there.
//!
//! ```text
//!   ports of a switch:  hosts, or down: to the first subtree below, to the second, ... | up
//! ```
//!
//! A packet climbs until its destination is below, and descends: upward channels depend on upward and downward ones,
//! downward on downward ones only, each on those further along. So there is no deadlock on one channel.

use std::ops::Range;

use etherweave_primitives::{HostId, SwitchId};
use etherweave_topology::{Node, Topology};

use super::{Divisor, FabricPlan, OutputChannel, unsuited};
use etherweave_primitives::InputError;

#[derive(Clone, Copy, Debug, Default)]
struct TreeSwitch {
    first_leaf: u32,
    /// How many leaves are below, itself included.
    leaves: u32,
    /// Where its ports down start in [`ClosPlan::down`].
    down: u32,
    level: u8,
    /// The first port that leads up.
    up: u8,
    ports: u8,
}

/// Where everything is on a tree of switches of which all that lead up from one reach everything it reaches.
#[derive(Clone, Debug)]
pub struct ClosPlan {
    hosts_per_leaf: Divisor,
    /// Leaves that hosts in a row are on, one each, before the first leaf has the next: the NICs of a server on rails.
    /// Else 1.
    rails: Divisor,
    /// Leaves below a full switch, by level.
    spans: Vec<Divisor>,
    stations: Vec<TreeSwitch>,
    /// Ports of every switch but leaves: the first port to each subtree below, and the one after the last.
    down: Vec<u8>,
}

/// Where a host is: its leaf, of which there are fewer than 2^22, and its port there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostPlace {
    leaf: u32,
    port: u8,
}

impl HostPlace {
    /// The place as state of a packet.
    pub(crate) fn state(self) -> [u16; 2] {
        [self.leaf as u16, (self.leaf >> 16) as u16 | u16::from(self.port) << 8]
    }

    /// The place of this state.
    #[inline]
    pub(crate) fn of_state([low, high]: [u16; 2]) -> HostPlace {
        HostPlace { leaf: u32::from(high & 0xff) << 16 | u32::from(low), port: (high >> 8) as u8 }
    }
}

impl FabricPlan for ClosPlan {
    const FABRIC: &'static str = "a fat tree or folded Clos network whose switches reach all hosts by every uplink";

    /// # Errors
    /// When links join other than neighbouring levels, hosts are not on the leaves in their order, or from somewhere
    /// not every uplink leads to all hosts.
    fn of(topology: &Topology) -> Result<ClosPlan, InputError> {
        let unsuited = |mistake: String| unsuited(mistake, ClosPlan::FABRIC);
        let mut order: Vec<SwitchId> = (0..topology.switches()).map(SwitchId::from_index).collect();
        order.sort_by_key(|&at| topology.level(at));
        let leaves = order.iter().filter(|&&at| topology.level(at) == 0).count();
        let most = topology.hosts().div_ceil(leaves.max(1));
        if leaves == 0 || most == 0 || most > 255 || topology.hosts() >= Divisor::DIVIDEND_END as usize {
            return Err(unsuited(format!("{} hosts below {leaves} leaves", topology.hosts())));
        }
        let hosts_per_leaf = fullest(topology).max(1);
        let mut plan = ClosPlan {
            hosts_per_leaf: Divisor::new(hosts_per_leaf),
            rails: Divisor::new(rails(topology)),
            spans: vec![Divisor::new(1)],
            stations: vec![TreeSwitch::default(); topology.switches()],
            down: Vec::new(),
        };
        for &at in &order {
            let wrong = || unsuited(format!("one whose {} has other links", topology.switch_name(at)));
            let station = plan.station(topology, at).ok_or_else(wrong)?;
            let is_top = station.up == station.ports;
            if is_top && station.leaves as usize != leaves {
                return Err(wrong());
            }
            plan.widen(station).ok_or_else(wrong)?;
            plan.stations[at.index()] = station;
        }
        Ok(plan)
    }
}

/// Hosts of the leaf with most of them.
fn fullest(topology: &Topology) -> u32 {
    let hosts = |at: usize| {
        let ends = topology.out_channels(SwitchId::from_index(at)).iter().map(|&id| topology.channel(id).to.node);
        ends.filter(|end| matches!(end, Node::Host(_))).count() as u32
    };
    (0..topology.switches()).map(hosts).max().unwrap_or(0)
}

/// Distance of the first two hosts of the first leaf.
fn rails(topology: &Topology) -> u32 {
    let hosts = (0..topology.hosts()).map(HostId::from_index);
    let mut own = hosts.filter(|&host| topology.switch_of(host) == SwitchId::new(0));
    let apart = own.next().zip(own.next()).map_or(1, |(first, second)| second.get() - first.get());
    if apart <= Divisor::MAX { apart } else { 1 }
}

impl ClosPlan {
    /// A switch whose lower levels are known already; none where it does not belong to a tree.
    fn station(&mut self, topology: &Topology, at: SwitchId) -> Option<TreeSwitch> {
        let ends: Vec<Node> = topology.out_channels(at).iter().map(|&id| topology.channel(id).to.node).collect();
        let level = topology.level(at);
        let is_up = |end: &Node| matches!(end, Node::Switch(there) if topology.level(*there) == level + 1);
        let up = ends.iter().position(is_up).unwrap_or(ends.len());
        if !ends[up..].iter().all(is_up) || ends.len() > 255 || u32::from(level) > self.spans.len() as u32 {
            return None;
        }
        let below = &ends[..up];
        let bare = TreeSwitch { level, up: up as u8, ports: ends.len() as u8, ..TreeSwitch::default() };
        if level == 0 {
            return self.has_hosts(at, below).then_some(TreeSwitch { first_leaf: at.get(), leaves: 1, ..bare });
        }
        self.join(topology, bare, below)
    }

    /// Whether the hosts of a leaf are those that follow from its number.
    fn has_hosts(&self, at: SwitchId, below: &[Node]) -> bool {
        let hosts = (self.first_host(at.get())..).step_by(self.rails.get() as usize);
        below.iter().zip(hosts).all(|(&end, host)| end == Node::Host(HostId::new(host)))
    }

    /// A switch above others: its subtrees follow one another without a gap, all full but the last.
    fn join(&mut self, topology: &Topology, bare: TreeSwitch, below: &[Node]) -> Option<TreeSwitch> {
        let span = self.spans[usize::from(bare.level) - 1].get();
        let mut joined = TreeSwitch { down: self.down.len() as u32, ..bare };
        let mut last = None;
        for (port, &end) in below.iter().enumerate() {
            let Node::Switch(child) = end else { return None };
            let child_station = self.stations[child.index()];
            if topology.level(child) + 1 != bare.level {
                return None;
            }
            let subtree = (child_station.first_leaf, child_station.leaves);
            if last == Some(subtree) {
                continue;
            }
            let (first, leaves) = last.unwrap_or((subtree.0, 0));
            let is_next = subtree.0 == first + leaves && (last.is_none() || leaves == span);
            if !is_next || !subtree.0.is_multiple_of(span) {
                return None;
            }
            joined.first_leaf = if last.is_none() { subtree.0 } else { joined.first_leaf };
            joined.leaves += subtree.1;
            self.down.push(port as u8);
            last = Some(subtree);
        }
        self.down.push(bare.up);
        last.is_some().then_some(joined)
    }

    /// Takes the first switch of a level for a full one.
    fn widen(&mut self, station: TreeSwitch) -> Option<()> {
        let level = usize::from(station.level);
        if level == self.spans.len() {
            self.spans.push(Divisor::new(station.leaves));
        }
        (station.leaves <= self.spans[level].get()).then_some(())
    }

    /// Up from level to level, then down.
    pub(crate) fn rank(&self, out: OutputChannel) -> u32 {
        let station = &self.stations[out.switch as usize];
        let level = u32::from(station.level);
        if out.port >= station.up { level } else { 2 * (self.spans.len() as u32 - 1) - level }
    }

    pub(crate) fn leaves(&self) -> u32 {
        self.spans.last().map_or(1, |span| span.get())
    }

    pub(crate) fn hosts_per_leaf(&self) -> u32 {
        self.hosts_per_leaf.get()
    }

    /// Leaves below a switch of a level, where switches of the level have uplinks.
    pub(crate) fn span_below_top(&self, level: usize) -> Option<u32> {
        (level + 1 < self.spans.len()).then(|| self.spans[level].get())
    }

    /// The most uplinks of a switch of a level.
    pub(crate) fn uplinks_max(&self, level: usize) -> u32 {
        let of_level = self.stations.iter().filter(|station| usize::from(station.level) == level);
        of_level.map(|station| u32::from(station.ports - station.up)).max().unwrap_or(0)
    }

    /// The level of the lower end of a port's link.
    #[inline]
    pub(crate) fn lower_level(&self, at: u32, port: u8) -> u8 {
        let station = &self.stations[at as usize];
        if port >= station.up { station.level } else { station.level.saturating_sub(1) }
    }

    pub(crate) fn first_host(&self, leaf: u32) -> u32 {
        let pod = self.rails.quotient(leaf);
        pod * self.rails.get() * self.hosts_per_leaf.get() + leaf - pod * self.rails.get()
    }

    /// Whether hosts in a row are on a leaf.
    pub(crate) fn is_in_rows(&self) -> bool {
        self.rails.get() == 1
    }

    #[inline]
    pub(crate) fn place(&self, host: u32) -> HostPlace {
        let rails = self.rails.get();
        let server = if rails == 1 { host } else { self.rails.quotient(host) };
        let pod = self.hosts_per_leaf.quotient(server);
        let port = (server - pod * self.hosts_per_leaf.get()) as u8;
        HostPlace { leaf: pod * rails + host - server * rails, port }
    }

    /// The ports by which a packet may go on, all as near to its host.
    #[inline]
    pub(crate) fn ports_towards(&self, at: u32, host: u32) -> Range<u8> {
        self.ports_to(at, self.place(host))
    }

    /// The same for the place of a host.
    #[inline]
    pub(crate) fn ports_to(&self, at: u32, HostPlace { leaf, port }: HostPlace) -> Range<u8> {
        let station = &self.stations[at as usize];
        let within = leaf.wrapping_sub(station.first_leaf);
        if within >= station.leaves {
            return station.up..station.ports;
        }
        if station.level == 0 {
            return port..port + 1;
        }
        let subtree = self.spans[usize::from(station.level) - 1].quotient(within);
        let row = (station.down + subtree) as usize;
        self.down[row]..self.down[row + 1]
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{
        Dragonfly, Family, FatTree, FlattenedButterfly, FoldedClos, KAryFatTree, RailOptimised, StagedFatTree, Uplinks,
    };

    use super::*;

    #[test]
    fn every_member_of_the_tree_families_has_a_plan() {
        let of =
            |topologies: Vec<Topology>| topologies.iter().for_each(|topology| drop(ClosPlan::of(topology).unwrap()));
        of(FatTree::examples().iter().map(|family| family.generate().unwrap()).collect());
        of(KAryFatTree::examples().iter().map(|family| family.generate().unwrap()).collect());
        of(RailOptimised::examples().iter().map(|family| family.generate().unwrap()).collect());
        of(StagedFatTree::examples().iter().map(|family| family.generate().unwrap()).collect());
        // Of 19 hosts on 4 levels of 4 ports, the last two pods' four uplinks do not reach all five cores.
        let folded = FoldedClos::examples().into_iter().filter(|folded| folded.hosts != 19);
        of(folded.map(|family| family.generate().unwrap()).collect());
    }

    #[test]
    fn a_switch_knows_its_ports_up_down_and_to_hosts() {
        // k 4: 2 hosts and 2 ports up per leaf; leaves 0 and 1 below spines 8 and 9, cores from 16 on.
        let plan = ClosPlan::of(&KAryFatTree { k: 4, ..KAryFatTree::default() }.generate().unwrap()).unwrap();
        assert_eq!((plan.ports_towards(0, 1), plan.ports_towards(0, 2), plan.ports_towards(0, 15)), (1..2, 2..4, 2..4));
        assert_eq!((plan.ports_towards(8, 1), plan.ports_towards(8, 2), plan.ports_towards(8, 4)), (0..1, 1..2, 2..4));
        assert_eq!((plan.ports_towards(16, 0), plan.ports_towards(16, 15)), (0..1, 3..4));
    }

    #[test]
    fn places_are_states_of_packets() {
        for place in [(0, 0), (65_535, 1), (65_536, 254), (Divisor::DIVIDEND_END - 1, 255)] {
            let place = HostPlace { leaf: place.0, port: place.1 };
            assert_eq!(HostPlace::of_state(place.state()), place);
        }
    }

    /// Two rails of three servers in a pod, in two pods: leaves 0 to 3, and two spines from 4 on, two links each.
    /// Host 7 is the second interface of the first server of the second pod, on leaf 3.
    #[test]
    fn interfaces_of_a_server_are_on_leaves_of_their_own() {
        let fabric = RailOptimised { rails: 2, servers: 5, servers_per_pod: 3, spines: 2, ..RailOptimised::default() };
        let plan = ClosPlan::of(&RailOptimised { links_per_spine: 2, ..fabric }.generate().unwrap()).unwrap();
        assert_eq!((0..4).map(|leaf| plan.first_host(leaf)).collect::<Vec<_>>(), [0, 1, 6, 7]);
        assert_eq!((plan.ports_towards(0, 4), plan.ports_towards(1, 4), plan.ports_towards(3, 9)), (2..3, 3..7, 1..2));
        assert_eq!((plan.ports_towards(4, 0), plan.ports_towards(4, 5), plan.ports_towards(5, 7)), (0..2, 2..4, 6..8));
    }

    #[test]
    fn parallel_links_down_are_equal_ports() {
        // 8 leaves of 12 hosts below one core, 4 links each.
        let plan = ClosPlan::of(&FatTree::default().generate().unwrap()).unwrap();
        assert_eq!(
            (plan.ports_towards(8, 0), plan.ports_towards(8, 95), plan.ports_towards(0, 95)),
            (0..4, 28..32, 12..16)
        );
    }

    #[test]
    fn a_tree_whose_last_pod_is_linked_to_some_of_the_top_switches_is_rejected() {
        // Two full pods of 16 hosts and 4 spines, and one of 1 host and 1 spine: its 4 uplinks end at 4 of 5 cores.
        let uplinks = vec![Uplinks::default(); 2];
        let topology = FoldedClos { radix: 8, hosts: 33, uplinks, ..FoldedClos::default() }.generate().unwrap();
        let error = ClosPlan::of(&topology).unwrap_err().to_string();
        assert!(error.ends_with(&format!("expected {}", ClosPlan::FABRIC)), "{error}");
    }

    #[test]
    fn fabrics_that_are_no_trees_are_rejected() {
        for topology in [Dragonfly::default().generate(), FlattenedButterfly::default().generate()] {
            let error = ClosPlan::of(&topology.unwrap()).unwrap_err().to_string();
            assert!(error.contains("has other links"), "{error}");
        }
    }
}
