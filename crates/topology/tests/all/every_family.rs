//! Properties of every family, checked on every example of every family.

use std::collections::BTreeSet;

use etherweave_primitives::{ChannelId, HostId, Port, SwitchId};
use etherweave_topology::{LinkClass, Metrics, Node, Shape, SizeRequest, Topology, TopologyKind, reverse};

fn check(promise: impl Fn(&Topology)) {
    for kind in TopologyKind::examples() {
        promise(&kind.generate().unwrap_or_else(|error| panic!("{kind:?}: {error}")));
    }
}

fn nodes(topology: &Topology) -> impl Iterator<Item = Node> {
    let hosts = (0..topology.hosts()).map(|host| Node::Host(HostId::from_index(host)));
    hosts.chain((0..topology.switches()).map(|switch| Node::Switch(SwitchId::from_index(switch))))
}

fn channels(topology: &Topology) -> impl Iterator<Item = ChannelId> {
    (0..topology.channels().len()).map(ChannelId::from_index)
}

#[test]
fn reverse_is_an_involution_that_swaps_the_ends_and_keeps_the_link() {
    check(|topology| {
        for id in channels(topology) {
            let (there, back) = (topology.channel(id), topology.channel(reverse(id)));
            assert_eq!(reverse(reverse(id)), id);
            assert_eq!((there.from, there.to), (back.to, back.from));
            assert_eq!((there.rate, there.length, there.class), (back.rate, back.length, back.class));
            assert_eq!(there.medium, back.medium);
        }
    });
}

#[test]
fn ports_are_dense_and_every_channel_leaves_by_exactly_one() {
    check(|topology| {
        for node in nodes(topology) {
            for (port, &id) in topology.out_channels(node).iter().enumerate() {
                let from = topology.channel(id).from;
                assert_eq!((from.node, from.port), (node, Port::from_index(port)));
            }
        }
        let leaving: usize = nodes(topology).map(|node| topology.out_channels(node).len()).sum();
        assert_eq!(leaving, topology.channels().len());
    });
}

#[test]
fn a_host_has_one_link_of_class_host_to_its_switch() {
    check(|topology| {
        for host in (0..topology.hosts()).map(HostId::from_index) {
            let channel = topology.channel(topology.host_channel(host));
            assert_eq!(topology.out_channels(host).len(), 1);
            assert_eq!(channel.to.node, Node::Switch(topology.switch_of(host)));
            assert_eq!(channel.class, LinkClass::Host);
        }
        let of_class_host = topology.channels().iter().filter(|channel| channel.class == LinkClass::Host).count();
        assert_eq!(of_class_host, 2 * topology.hosts());
    });
}

#[test]
fn a_port_channel_is_all_channels_between_the_same_two_nodes_by_port() {
    check(|topology| {
        for id in channels(topology) {
            let ends = |id| (topology.channel(id).from.node, topology.channel(id).to.node);
            let leaving = topology.out_channels(topology.channel(id).from.node);
            let expected: Vec<_> = leaving.iter().copied().filter(|&other| ends(other) == ends(id)).collect();
            assert_eq!(topology.parallel(id), expected);
            assert!(topology.port_channel(id) < topology.port_channels());
        }
    });
}

#[test]
fn switches_with_hosts_are_at_level_zero_and_names_are_unique() {
    check(|topology| {
        for host in (0..topology.hosts()).map(HostId::from_index) {
            assert_eq!(topology.level(topology.switch_of(host)), 0);
        }
        let mut names: Vec<_> = nodes(topology).map(|node| topology.name(node)).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    });
}

#[test]
fn generating_twice_gives_the_same_fabric() {
    for kind in TopologyKind::examples() {
        assert_eq!(kind.generate(), kind.generate());
    }
}

#[test]
fn planned_hosts_are_those_of_the_fabric() {
    for kind in TopologyKind::examples() {
        let counted = kind.generate().unwrap().hosts() as u64;
        let is_counted_later = kind.shape() == (Shape::Graph { is_listed: true }) && kind.hosts_planned() == 0;
        assert!(is_counted_later || kind.hosts_planned() == counted, "{kind:?}");
    }
}

#[test]
fn names_of_shapes_are_different_and_some_family_has_each() {
    let names: BTreeSet<_> = TopologyKind::examples().iter().map(|kind| kind.shape().name()).collect();
    assert_eq!(names, BTreeSet::from(Shape::NAMES));
}

#[test]
fn parameters_read_back_as_they_were_written() {
    for kind in TopologyKind::examples() {
        let text = toml::to_string(&kind).unwrap();
        assert_eq!(toml::from_str::<TopologyKind>(&text).unwrap(), kind, "{text}");
    }
}

#[test]
fn every_family_has_examples_and_its_name_is_its_key() {
    let names: Vec<&str> = TopologyKind::examples().iter().map(TopologyKind::name).collect();
    assert!(TopologyKind::NAMES.iter().all(|name| names.contains(name)));
    for kind in TopologyKind::examples() {
        assert!(toml::to_string(&kind).unwrap().starts_with(&format!("[{}", kind.name())), "{kind:?}");
    }
}

#[test]
fn switches_have_one_coordinate_per_axis_and_no_two_share_a_place() {
    check(|topology| {
        let switches = (0..topology.switches()).map(SwitchId::from_index);
        let mut places: Vec<_> = switches.map(|switch| topology.coordinates(switch).to_vec()).collect();
        assert!(places.iter().all(|place| place.len() == topology.axes().len()));
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        assert!(topology.axes().is_empty() || places.len() == count);
    });
}

#[test]
fn switches_of_one_level_and_with_as_many_hosts_have_equally_many_links_in_direct_families() {
    const REGULAR: [&str; 6] = ["flattened_butterfly", "hyperx", "dragonfly", "slim_fly", "torus", "k_ary_fat_tree"];
    for kind in TopologyKind::examples().into_iter().filter(|kind| REGULAR.contains(&kind.name())) {
        let topology = kind.generate().unwrap();
        let degree = |switch: usize| topology.out_channels(SwitchId::from_index(switch)).len();
        assert!((0..topology.switches()).all(|switch| degree(switch) == degree(0)), "{kind:?}");
    }
}

#[test]
fn metrics_count_every_host_switch_link_and_pair_once() {
    for kind in TopologyKind::examples() {
        let topology = kind.generate().unwrap();
        let metrics = Metrics::of(&kind, &topology);
        assert_eq!((metrics.hosts, metrics.switches), (topology.hosts(), topology.switches()));
        let links: u64 = metrics.cables.iter().map(|cables| cables.links).sum();
        assert_eq!(2 * links as usize, topology.channels().len(), "{kind:?}");
        let pairs: u64 = metrics.distances.pairs.iter().sum();
        assert_eq!(pairs as usize, topology.hosts() * (topology.hosts() - 1), "{kind:?}");
        assert!(metrics.distances.mean <= f64::from(metrics.distances.diameter));
        assert!(topology.hosts() == 1 || !metrics.bisection.rate.is_zero(), "{kind:?}");
        assert!(metrics.paths.is_exact);
    }
}

#[test]
fn a_family_that_cannot_satisfy_a_request_reports_its_range() {
    let errors = |hosts, radix| -> Vec<String> {
        let fits = TopologyKind::fits(&SizeRequest { hosts, radix });
        fits.into_iter().filter_map(|(name, fit)| Some(format!("{name}: {}", fit.err()?))).collect()
    };
    let at_1 = errors(2, 1);
    assert!(at_1.iter().any(|error| error == "dragonfly: radix: 1; expected 3 to 65536"), "{at_1:?}");
    let many = errors(300_000, 16);
    assert!(
        many.iter().any(|error| error == "single_switch: hosts: 300000; expected 1 to 16 with switches of 16 ports")
    );
    assert!(many.iter().any(|error| error.starts_with("dragonfly: hosts: 300000; expected 1 to 1056 ")), "{many:?}");
    assert!(errors(0, 16).iter().all(|error| error.contains("hosts: 0") || error.starts_with("custom")));
}
