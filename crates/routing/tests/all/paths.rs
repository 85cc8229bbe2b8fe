//! Paths whose lengths and numbers are derived by hand.

use std::collections::BTreeSet;

use crate::common::ring;
use etherweave_primitives::{ChannelId, HostId, SwitchId};
use etherweave_routing::{FlowKey, Routing, RoutingKind, SelectionKind, dependency_cycle, path};
use etherweave_topology::{Custom, Family, FatTree, KAryFatTree, Node, SingleSwitch, SlimFly, Topology};

fn key(src: u32, dst: u32, entropy: u64) -> FlowKey {
    FlowKey { src: HostId::new(src), dst: HostId::new(dst), entropy }
}

/// How many channels the path from `src` to `dst` has, with the routings for every fabric.
fn check_length(topology: &Topology, src: u32, dst: u32, expected: usize) {
    let selection = SelectionKind::default().build(topology);
    for kind in [RoutingKind::UpDown, RoutingKind::ShortestPath] {
        let routing = kind.build(topology).unwrap();
        assert_eq!(path(topology, &routing, &selection, &key(src, dst, 0)).unwrap().len(), expected, "{kind:?}");
    }
}

#[test]
fn one_switch_is_two_channels() {
    check_length(&SingleSwitch::default().generate().unwrap(), 0, 1, 2);
}

#[test]
fn on_the_testbed_neighbours_are_two_channels_apart_and_others_four() {
    let topology = FatTree::default().generate().unwrap();
    check_length(&topology, 0, 11, 2);
    check_length(&topology, 0, 12, 4);
    check_length(&topology, 95, 0, 4);
}

#[test]
fn in_three_levels_a_pod_is_four_channels_wide_and_the_fabric_six() {
    // k = 8: 4 hosts per leaf, 16 per pod.
    let topology = KAryFatTree::default().generate().unwrap();
    check_length(&topology, 0, 3, 2);
    check_length(&topology, 0, 4, 4);
    check_length(&topology, 0, 15, 4);
    check_length(&topology, 0, 16, 6);
}

#[test]
fn the_most_hops_of_a_table_are_those_of_its_longest_path() {
    // A Slim Fly has diameter 2; of a ring of six switches, opposite ones are three links apart.
    let slim_fly = SlimFly::default().generate().unwrap();
    assert_eq!(RoutingKind::ShortestPath.legality(&slim_fly).unwrap().hops_max(), 2);
    assert_eq!(RoutingKind::ShortestPath.legality(&ring(6)).unwrap().hops_max(), 3);
}

#[test]
fn flows_between_pods_use_every_core() {
    // (k/2)² paths between pods, one per core; 16 cores and 1,000 flows: all but certain that each core is hit.
    let topology = KAryFatTree::default().generate().unwrap();
    let (routing, selection) =
        (RoutingKind::UpDown.build(&topology).unwrap(), SelectionKind::default().build(&topology));
    let core = |entropy| {
        let channels = path(&topology, &routing, &selection, &key(0, 127, entropy)).unwrap();
        topology.channel(channels[2]).to.node
    };
    assert_eq!((0..1_000).map(core).collect::<BTreeSet<_>>().len(), 4 * 4);
}

#[test]
fn a_ring_of_four_has_a_dependency_cycle_with_shortest_paths_and_none_with_up_down() {
    let topology = ring(4);
    let cycle = dependency_cycle(&topology, &RoutingKind::ShortestPath.build(&topology).unwrap()).unwrap();
    assert_eq!(cycle.len(), 4);
    let head = |i: usize| topology.channel(cycle[i % 4]).to.node;
    (0..4).for_each(|i| assert_eq!(topology.channel(cycle[(i + 1) % 4]).from.node, head(i)));
    assert_eq!(dependency_cycle(&topology, &RoutingKind::UpDown.build(&topology).unwrap()), None);
}

#[test]
fn a_ring_of_three_has_no_dependency_cycle_since_every_path_between_switches_is_one_channel() {
    let topology = ring(3);
    assert_eq!(dependency_cycle(&topology, &RoutingKind::ShortestPath.build(&topology).unwrap()), None);
}

#[test]
fn up_down_on_a_ring_goes_over_the_highest_switch_and_never_through_the_lowest() {
    // s3 - s0 closes the ring. From s1 to s3 the paths s1-s2-s3 (up, up) and s1-s0-s3 (down, up) are equally short.
    let topology = ring(4);
    let routing = RoutingKind::UpDown.build(&topology).unwrap();
    let next: Vec<Node> =
        routing.legal(SwitchId::new(1), HostId::new(3)).iter().map(|&c| topology.channel(c).to.node).collect();
    assert_eq!(next, [Node::Switch(SwitchId::new(2))]);
}

#[test]
fn where_levels_have_no_single_summit_up_leads_to_a_root() {
    // s0 and s2 share no switch above: by levels the path would go up to s3, down to s1, up to s4.
    let hosts = "h0,s0,1Gb/s,3m\nh1,s1,1Gb/s,3m\nh2,s2,1Gb/s,3m\n";
    let links = "s0,s3,1Gb/s,3m\ns3,s1,1Gb/s,3m\ns1,s4,1Gb/s,3m\ns4,s2,1Gb/s,3m\n";
    let topology = Custom { links: format!("{hosts}{links}"), ..Custom::default() }.generate().unwrap();
    let routing = RoutingKind::UpDown.build(&topology).unwrap();
    let selection = SelectionKind::default().build(&topology);
    // The highest, s4, is the root: s0 - s3 - s1 - s4 climb to it, s2 is below.
    let channels = path(&topology, &routing, &selection, &key(0, 2, 0)).unwrap();
    let names: Vec<&str> = channels.iter().map(|&channel| topology.name(topology.channel(channel).to.node)).collect();
    assert_eq!(names, ["s0", "s3", "s1", "s4", "s2", "host2"]);
    assert_eq!(dependency_cycle(&topology, &routing), None);
}

/// Always on to the next switch of a ring, even from the destination.
struct EndlessRing(Topology);

impl Routing for EndlessRing {
    fn candidates(&self, at: SwitchId, _: HostId, out: &mut Vec<ChannelId>) {
        let next = SwitchId::from_index((at.index() + 1) % self.0.switches());
        let leaving = self.0.out_channels(at).iter().copied();
        out.extend(leaving.filter(|&channel| self.0.channel(channel).to.node == Node::Switch(next)));
    }
}

#[test]
fn a_path_with_a_loop_is_named() {
    let endless = EndlessRing(ring(3));
    let selection = SelectionKind::default().build(&endless.0);
    let error = path(&endless.0, &endless, &selection, &key(0, 2, 0)).unwrap_err();
    assert!(error.to_string().contains("host2 loop through s0 - s1 - s2 - s0"), "{error}");
}

struct Nowhere;

impl Routing for Nowhere {
    fn candidates(&self, _: SwitchId, _: HostId, _: &mut Vec<ChannelId>) {}
}

#[test]
fn a_path_that_ends_is_named() {
    let topology = ring(3);
    let error = path(&topology, &Nowhere, &SelectionKind::default().build(&topology), &key(0, 2, 0)).unwrap_err();
    assert!(error.to_string().contains("from s0 to host2"), "{error}");
}

#[test]
fn kinds_parse_from_their_scenario_names() {
    #[derive(Debug, serde::Deserialize)]
    struct Scenario {
        routing: RoutingKind,
        selection: SelectionKind,
    }
    let read = |routing: &str| {
        toml::from_str::<Scenario>(&format!("routing = \"{routing}\"\n[selection.ecmp_hash]\nseed = 3"))
    };
    let scenario = read("up_down").unwrap();
    assert_eq!(scenario.routing, RoutingKind::UpDown);
    let SelectionKind::EcmpHash(hash) = scenario.selection else { panic!("a hash is stated") };
    assert_eq!((hash.seed, hash.polarised), (3, false));
    let error = read("ugall").unwrap_err().to_string();
    assert!(error.contains("up_down") && error.contains("shortest_path"), "{error}");
}
