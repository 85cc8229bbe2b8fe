//! Routing by tables obeys the routing crate's traits: what is simulated is what would be deployed.

use etherweave_forwarding::{FlowTableRouting, MinimalRouting, Strategy};
use etherweave_primitives::{ChannelId, HostId, SwitchId};
use etherweave_routing::{EcmpHash, FlowKey, Routing, RoutingKind, dependency_cycle, path};
use etherweave_topology::{Family, FoldedClos, Topology, TopologyKind, Uplinks};

fn built(kind: &TopologyKind, topology: &Topology) -> FlowTableRouting {
    let minimal = MinimalRouting::of(kind, topology).unwrap();
    FlowTableRouting::build(&minimal, Strategy::fitting(kind), &EcmpHash::default()).unwrap()
}

fn candidates(routing: &dyn Routing, at: SwitchId, dst: HostId) -> Vec<ChannelId> {
    let mut channels = Vec::new();
    routing.candidates(at, dst, &mut channels);
    channels
}

#[test]
fn the_tables_of_trees_offer_what_up_down_offers() {
    let uplinks = vec![Uplinks { lag: 2, ports: Some(4), ..Uplinks::default() }; 2];
    let clos = FoldedClos { radix: 8, hosts: 32, uplinks, ..FoldedClos::default() };
    for kind in [TopologyKind::FoldedClos(clos), TopologyKind::FatTree(etherweave_topology::FatTree::default())] {
        let topology = kind.generate().unwrap();
        let (tables, up_down) = (built(&kind, &topology), RoutingKind::UpDown.build(&topology).unwrap());
        for at in (0..topology.switches()).map(SwitchId::from_index) {
            for dst in (0..topology.hosts()).map(HostId::from_index) {
                assert_eq!(candidates(&tables, at, dst), candidates(&up_down, at, dst), "{} {at} {dst}", kind.name());
            }
        }
    }
}

#[test]
fn every_flow_of_every_family_arrives_by_the_tables() {
    for kind in TopologyKind::examples() {
        let topology = kind.generate().unwrap();
        let tables = built(&kind, &topology);
        for (src, dst) in (0..topology.hosts()).flat_map(|src| (0..topology.hosts()).map(move |dst| (src, dst))) {
            let key = FlowKey { src: HostId::from_index(src), dst: HostId::from_index(dst), entropy: 7 };
            let channels = path(&topology, &tables, &tables, &key).unwrap();
            let last = topology.channel(channels[channels.len() - 1]).to.node;
            assert_eq!(last, key.dst.into(), "{}", kind.name());
        }
    }
}

#[test]
fn tables_of_trees_and_butterflies_cannot_deadlock() {
    for kind in TopologyKind::examples() {
        let is_safe = matches!(
            kind,
            TopologyKind::FoldedClos(_) | TopologyKind::FatTree(_) | TopologyKind::FlattenedButterfly(_)
        );
        let topology = kind.generate().unwrap();
        if is_safe {
            assert_eq!(dependency_cycle(&topology, &built(&kind, &topology)), None, "{}", kind.name());
        }
    }
}

#[test]
fn sources_share_the_uplinks_of_a_full_tree_evenly() {
    // Every leaf has 4 hosts and 4 uplinks: each host has its own.
    let kind = TopologyKind::FoldedClos(FoldedClos::default());
    let topology = kind.generate().unwrap();
    let tables = built(&kind, &topology);
    let up = |src: u32| {
        let key = FlowKey { src: HostId::new(src), dst: HostId::new(31), entropy: 0 };
        path(&topology, &tables, &tables, &key).unwrap()[1]
    };
    let mut uplinks = [0, 1, 2, 3].map(up);
    uplinks.sort_unstable();
    assert_eq!(
        uplinks.windows(2).filter(|pair| pair[0] != pair[1]).count(),
        3,
        "four hosts, four uplinks: {uplinks:?}"
    );
    assert_eq!(FoldedClos::default().generate().unwrap(), topology);
}
