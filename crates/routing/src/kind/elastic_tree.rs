//! A tree whose traffic uses as few links as it needs, so that the others can sleep.

use etherweave_primitives::{HostId, InputError, Time, params};
use etherweave_topology::{LinkClass, Topology};
use etherweave_workload::Destinations;

use super::RoutingParams;
use crate::per_packet::{
    FabricPlan, HashScope, InputChannel, KnownTraffic, LoadView, MeasuredGroups, NextHop, OutputChannel, PacketRouting,
    RoutedPacket, unsuited,
};
use crate::{per_packet::choice::any, per_packet::clos::ClosPlan};

/// A nanosecond [ps].
const NS: u64 = 1_000;

/// Flows go up by the first of a switch's uplinks alone, as many as a controller finds that the tree needs: the
/// topology-aware heuristic of Heller et al., "ElasticTree: saving energy in data center networks", NSDI 2010.
///
/// ```text
/// uplinks(level) = ⌈ busiest(level) / (load_max · uplinks(level − 1) · … · uplinks(0)) ⌉, at least 1
/// ```
///
/// `busiest` is what the subtree with most traffic, of those below switches of a level, sends to others or receives
/// from them, in links. Every switch of a level uses as many uplinks, since the same switches above lead down. Before
/// its first rules the controller knows nothing, and all links are in use.
pub struct ElasticTree {
    plan: ElasticPlan,
    params: ElasticTreeParams,
    known: Option<KnownClimbs>,
}

params! {
    /// Parameters of a tree that uses few links.
    #[derive(Copy, Eq)]
    pub struct ElasticTreeParams {
        /// Share of its rate that a link may carry before another link is used [percent], 1..=100; the rest is a safety
        /// margin. Default 90: hosts that flow control holds back never send more than the links take.
        pub load_percent_max: u32 = 90,
    }
}

impl RoutingParams for ElasticTreeParams {
    fn check(&self) -> Result<(), InputError> {
        let load = self.load_percent_max;
        InputError::unless((1..=100).contains(&load), "load_percent_max", load, "1 to 100")
    }
}

/// A tree, and the rate of a host in links between switches.
#[derive(Clone)]
pub struct ElasticPlan {
    tree: ClosPlan,
    hosts: u32,
    host_links: f64,
    /// Most uplinks of a switch, by level.
    uplinks_max: [u32; MeasuredGroups::LEVELS],
}

impl FabricPlan for ElasticPlan {
    const FABRIC: &'static str = ClosPlan::FABRIC;

    fn of(topology: &Topology) -> Result<ElasticPlan, InputError> {
        let tree = ClosPlan::of(topology)?;
        if !tree.is_in_rows() {
            return Err(unsuited("one whose leaves have no hosts in a row".to_owned(), Self::FABRIC));
        }
        let rates = |of_hosts: bool| {
            let channels = topology.channels().iter();
            let of_class = channels.filter(move |channel| (channel.class == LinkClass::Host) == of_hosts);
            of_class.map(|channel| channel.rate.as_bps() as f64)
        };
        let (fastest, slowest) = (rates(true).fold(0.0, f64::max), rates(false).fold(f64::INFINITY, f64::min));
        let uplinks_max = std::array::from_fn(|level| tree.uplinks_max(level).max(1));
        Ok(ElasticPlan { tree, hosts: topology.hosts() as u32, host_links: fastest / slowest, uplinks_max })
    }
}

/// Traffic that the controller of an open loop knows.
struct KnownClimbs {
    destinations: Destinations,
    reaction_ps: u64,
    /// Traffic of the busiest subtree, by phase and level [percent of a link].
    busiest: Vec<[u32; MeasuredGroups::LEVELS]>,
}

impl ElasticTree {
    /// A tree whose controller measures, until [`PacketRouting::learn`].
    pub fn new(plan: ElasticPlan, params: ElasticTreeParams) -> ElasticTree {
        ElasticTree { plan, params, known: None }
    }

    /// Traffic of the busiest subtree below switches of a level, as the rules that are active now know it [percent of a
    /// link].
    fn busiest(&self, level: usize, load: impl LoadView) -> Option<u32> {
        let Some(known) = &self.known else { return load.busiest_percent(level) };
        let then = (load.now_ns() * NS).checked_sub(known.reaction_ps)?;
        known.busiest[known.destinations.phase(Time::from_ps(then))].get(level).copied()
    }

    /// Uplinks in use of a switch of a level with so many; all while nothing is known.
    fn uplinks(&self, level: u8, count: u8, load: impl LoadView) -> u8 {
        let mut below = 1_u32;
        let mut used = count;
        for each in 0..=usize::from(level) {
            let Some(percent) = self.busiest(each, load) else { return count };
            let room = self.params.load_percent_max * below;
            let needed = percent.div_ceil(room).clamp(1, self.plan.uplinks_max[each]);
            (used, below) = (needed as u8, below * needed);
        }
        used.min(count)
    }
}

impl PacketRouting for ElasticTree {
    fn channels(&self) -> u8 {
        1
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(self.plan.tree.rank(out))
    }

    fn hash_scope(&self) -> HashScope {
        HashScope::PerFlow
    }

    fn measures(&self) -> Option<MeasuredGroups> {
        let tree = &self.plan.tree;
        let spans = std::array::from_fn(|level| tree.span_below_top(level).unwrap_or(0));
        Some(MeasuredGroups { groups: tree.leaves(), hosts: tree.hosts_per_leaf(), spans })
    }

    fn learn(&mut self, traffic: impl FnOnce() -> Result<KnownTraffic, InputError>) -> Result<(), InputError> {
        let Some(groups) = self.measures().filter(|groups| groups.groups > 1) else { return Ok(()) };
        let KnownTraffic { destinations, load, reaction } = traffic()?;
        let links = load * self.plan.host_links;
        let phases = destinations.phases();
        let busiest = |phase: &&Destinations| {
            groups.spans.map(|span| busiest_percent(self.plan.hosts, span * groups.hosts, phase, links))
        };
        let busiest = phases.iter().map(busiest).collect();
        self.known = Some(KnownClimbs { destinations, reaction_ps: reaction.as_ps(), busiest });
        Ok(())
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let ports = self.plan.tree.ports_towards(at.switch, packet.dst);
        let count = ports.end - ports.start;
        if count == 1 {
            return NextHop { port: ports.start, channel: 0 };
        }
        let used = self.uplinks(self.plan.tree.lower_level(at.switch, ports.start), count, load);
        NextHop { port: any(ports.start..ports.start + used, packet), channel: 0 }
    }
}

/// Traffic that the busiest of subtrees of `size` hosts sends to others or receives from them, when every host sends
/// as much as `links` links take [percent of a link]; 0 without a size.
fn busiest_percent(hosts: u32, size: u32, destinations: &Destinations, links: f64) -> u32 {
    if size == 0 {
        return 0;
    }
    let mut sent = vec![0.0; hosts.div_ceil(size) as usize];
    let mut received = vec![0.0; sent.len()];
    // What every host receives, as the change from the one before.
    let mut steps = vec![0.0; hosts as usize + 1];
    for src in 0..hosts {
        let own = src / size;
        destinations.shares(HostId::new(src), Time::ZERO, &mut |range, share| {
            let (first, end) = (range.first, range.first + range.hosts);
            let inside = end.min((own + 1) * size).saturating_sub(first.max(own * size));
            sent[own as usize] += share * f64::from(range.hosts - inside);
            received[own as usize] -= share * f64::from(inside);
            steps[first as usize] += share;
            steps[end as usize] -= share;
        });
    }
    let mut of_host = 0.0;
    for (host, step) in (0..hosts).zip(&steps) {
        of_host += step;
        received[(host / size) as usize] += of_host;
    }
    let busiest = sent.iter().chain(&received).fold(0.0_f64, |busiest, &share| busiest.max(share));
    (100.0 * links * busiest).round() as u32
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Family, FatTree, KAryFatTree};
    use etherweave_workload::{HostGroups, Pattern, Share, pattern::Adversarial, pattern::GroupLocal};

    use super::*;
    use crate::per_packet::Idle;

    /// A switch of a tree whose subtrees are so busy, by level [percent of a link].
    fn climbs(busiest: [u32; 2]) -> Idle {
        Idle(busiest.map(Some))
    }

    fn elastic(topology: &Topology) -> ElasticTree {
        ElasticTree::new(ElasticPlan::of(topology).unwrap(), ElasticTreeParams::default())
    }

    /// Ports by which packets of many flows from host 0 leave a switch.
    fn ports(tree: &ElasticTree, switch: u32, dst: u32, load: impl LoadView) -> Vec<u8> {
        let at = InputChannel { switch, port: 0, channel: 0, class: LinkClass::Host };
        let port = |hash| tree.decide(at, &mut RoutedPacket { dst, hash, ..RoutedPacket::default() }, load).port;
        let mut ports: Vec<u8> = (0..200).map(port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// k 8: 4 hosts and 4 uplinks a leaf, 4 leaves and 4 spines a pod. Leaf 0 has spines at ports 4 to 7; spine 32,
    /// the first of pod 0, has cores there.
    #[test]
    fn a_switch_uses_the_fewest_uplinks_that_carry_the_busiest_subtree() {
        let topology = KAryFatTree { k: 8, ..KAryFatTree::default() }.generate().unwrap();
        let tree = elastic(&topology);
        let up = |load| [0, 32].map(|switch| ports(&tree, switch, 127, load));
        assert_eq!(up(climbs([0, 0])), [vec![4], vec![4]], "one path remains");
        assert_eq!(up(climbs([90, 90])), [vec![4], vec![4]]);
        // Leaves need two of their links; pods 5.4 links of load, 6 links of 90 %: three from each of two spines.
        assert_eq!(up(climbs([180, 540])), [vec![4, 5], vec![4, 5, 6]]);
        assert_eq!(up(climbs([181, 181])), [vec![4, 5, 6], vec![4]]);
        // Of full leaves and pods all links: 1,100 % of 4 · 90 % are more than three.
        assert_eq!(up(climbs([400, 1_100])), [vec![4, 5, 6, 7], vec![4, 5, 6, 7]]);
        assert_eq!(ports(&tree, 0, 3, climbs([0, 0])), [3], "a host of the leaf");
    }

    #[test]
    fn a_controller_without_rules_uses_all_links() {
        let topology = KAryFatTree { k: 4, ..KAryFatTree::default() }.generate().unwrap();
        assert_eq!(ports(&elastic(&topology), 0, 15, Idle::default()), [2, 3]);
    }

    /// Two cores with two links to each leaf: 2 of 4 uplinks are those to core 0, which has as many down.
    #[test]
    fn parallel_links_down_are_used_as_those_up() {
        let tree = FatTree { leaves: 4, hosts_per_leaf: 4, cores: 2, links_per_core: 2, ..FatTree::default() };
        let topology = tree.generate().unwrap();
        let tree = elastic(&topology);
        assert_eq!(ports(&tree, 0, 15, climbs([90, 0])), [4]);
        assert_eq!(ports(&tree, 4, 15, climbs([90, 0])), [6]);
        assert_eq!(ports(&tree, 0, 15, climbs([270, 0])), [4, 5, 6]);
        assert_eq!(ports(&tree, 4, 15, climbs([270, 0])), [6, 7]);
    }

    /// 16 hosts in leaves of 4: of uniform traffic, 12 of 15 packets of a host leave its leaf.
    #[test]
    fn known_traffic_says_what_leaves_subtrees_and_comes_to_them() {
        let busiest = |pattern: &Pattern, links| {
            let destinations = pattern.plan(&HostGroups::new(&[4; 4]).unwrap(), 1).unwrap();
            [4, 8].map(|size| busiest_percent(16, size, &destinations, links))
        };
        // 100 · 0.5 · 4 · 12/15 and 100 · 0.5 · 8 · 8/15.
        assert_eq!(busiest(&Pattern::default(), 0.5), [160, 213]);
        // All to the next leaf: 4 hosts of a leaf, and the 4 of 8 whose next leaf is in the other half.
        assert_eq!(busiest(&Pattern::Adversarial(Adversarial::default()), 0.5), [200, 200]);
        assert_eq!(
            busiest(&Pattern::GroupLocal(GroupLocal { share: Share::ALL, ..GroupLocal::default() }), 0.5),
            [0, 0]
        );
    }
}
