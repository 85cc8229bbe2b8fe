//! What every family promises, asked of every example of every family.

use etherweave_primitives::{ChannelId, HostId, Port, SwitchId};
use etherweave_topology::{LinkClass, Node, Topology, TopologyKind, reverse};

/// Runs one check on every example.
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
fn every_node_reaches_every_other() {
    check(|topology| {
        let mut reached = vec![Node::Host(HostId::new(0))];
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            for &id in topology.out_channels(node) {
                let to = topology.channel(id).to.node;
                if !reached.contains(&to) {
                    reached.push(to);
                }
            }
            next += 1;
        }
        assert_eq!(reached.len(), topology.hosts() + topology.switches());
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
fn no_link_is_slower_than_one_bit_per_second_or_a_loop() {
    check(|topology| {
        for channel in topology.channels() {
            assert!(!channel.rate.is_zero());
            assert_ne!(channel.from.node, channel.to.node);
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
fn parameters_read_back_as_they_were_written() {
    for kind in TopologyKind::examples() {
        let text = toml::to_string(&kind).unwrap();
        assert_eq!(toml::from_str::<TopologyKind>(&text).unwrap(), kind, "{text}");
    }
}
