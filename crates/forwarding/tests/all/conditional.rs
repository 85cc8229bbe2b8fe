//! Conditional rules: Benito et al. 2015, sections V-B to V-D, figures 9 and 10.

use etherweave_forwarding::{
    AddressPlan, CompactionKind, FlowTable, MinimalRouting, NonMinimalPort, PacketHeader, PlanKind, RegionRoutes,
    Sources, Ternary, while_unpaused, with_alternatives, with_non_minimal_ports,
};
use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_topology::{
    Dragonfly, FatTree, FlattenedButterfly, FoldedClos, LinkClass, Node, Topology, TopologyKind,
};

struct Fabric {
    kind: TopologyKind,
    topology: Topology,
    plan: AddressPlan,
}

impl Fabric {
    fn of(kind: TopologyKind) -> Fabric {
        let topology = kind.generate().unwrap();
        let plan = PlanKind::Coordinates.plan(&topology).unwrap();
        Fabric { kind, topology, plan }
    }

    fn table(&self, at: SwitchId, compaction: CompactionKind) -> FlowTable {
        let minimal = MinimalRouting::of(&self.kind, &self.topology).unwrap();
        compaction.table(&RegionRoutes::of(&minimal, &self.plan, at))
    }

    fn packet(&self, src: HostId, dst: HostId, in_port: Option<Port>) -> PacketHeader {
        PacketHeader { dst: self.plan.address(dst), src: self.plan.address(src), in_port }
    }

    fn far(&self, at: SwitchId, port: Port) -> Node {
        self.topology.channel(self.topology.out_channel(at, port)).to.node
    }

    /// Ports of a switch to links of a class.
    fn ports(&self, at: SwitchId, class: LinkClass) -> Vec<Port> {
        let leaving = self.topology.out_channels(at).iter().map(|&channel| self.topology.channel(channel));
        leaving.filter(|channel| channel.class == class).map(|channel| channel.from.port).collect()
    }

    fn hosts(&self) -> impl Iterator<Item = HostId> {
        (0..self.topology.hosts()).map(HostId::from_index)
    }
}

#[test]
fn a_leaf_of_k_uplinks_takes_any_that_is_not_paused_with_k_times_as_many_uplink_rules() {
    let fabric = Fabric::of(TopologyKind::FoldedClos(FoldedClos::default()));
    let leaf = SwitchId::new(0);
    let shared = Sources::of(&fabric.plan).share(&fabric.table(leaf, CompactionKind::PrefixesNested), 0);
    assert_eq!(shared.rules().len(), 4 + 4);
    let table = with_alternatives(&shared, 3);
    assert_eq!(table.rules().len(), 4 + 4 * 4);
    let (src, far, near) = (HostId::new(1), HostId::new(31), HostId::new(2));
    for paused in 0u16..1 << 4 {
        let is_paused = |port: Port| port.get() >= 4 && paused >> (port.get() - 4) & 1 == 1;
        let port = |dst| table.ports(table.lookup(&fabric.packet(src, dst, None), is_paused).unwrap())[0];
        assert_eq!(port(near), Port::new(2), "a host below is not elsewhere");
        assert!(port(far).get() >= 4);
        // The share of host 1 is the second uplink, for which it waits when all are paused.
        assert!(if paused == 0b1111 { port(far) == Port::new(5) } else { !is_paused(port(far)) }, "{paused:04b}");
    }
}

#[test]
fn fewer_alternatives_are_fewer_rules() {
    let fabric = Fabric::of(TopologyKind::FoldedClos(FoldedClos::default()));
    let shared = Sources::of(&fabric.plan).share(&fabric.table(SwitchId::new(0), CompactionKind::PrefixesNested), 0);
    for (alternatives, rules) in [(0, 8), (1, 12), (2, 16), (3, 20), (usize::MAX, 20)] {
        assert_eq!(with_alternatives(&shared, alternatives).rules().len(), rules, "{alternatives} alternatives");
    }
}

#[test]
fn rules_for_more_destinations_do_not_take_what_waits_for_paused_ports() {
    // A core with two links to each leaf: the last leaf's are the rule for all that no longer prefix matches.
    let fabric = Fabric::of(TopologyKind::FatTree(FatTree {
        leaves: 6,
        hosts_per_leaf: 6,
        cores: 2,
        links_per_core: 2,
        ..FatTree::default()
    }));
    let core = SwitchId::new(6);
    let mut sources = Sources::of(&fabric.plan);
    let shared = sources.share(&fabric.table(core, CompactionKind::PrefixesNested), 0);
    let table = with_alternatives(&shared, usize::MAX);
    for (src, dst) in fabric.hosts().flat_map(|src| fabric.hosts().map(move |dst| (src, dst))) {
        let leads_home = |port: Port| fabric.far(core, port) == Node::Switch(fabric.topology.switch_of(dst));
        let rule = table.lookup(&fabric.packet(src, dst, None), leads_home).unwrap();
        assert!(table.ports(rule).iter().all(|&port| leads_home(port)), "{src} to {dst}");
    }
}

/// All states of pauses of a few ports.
fn states(ports: &[Port]) -> impl Iterator<Item = Vec<Port>> {
    let chosen = |state: u32, ports: &[Port]| {
        ports.iter().enumerate().filter(|(place, _)| state >> place & 1 == 1).map(|(_, &port)| port).collect()
    };
    (0..1u32 << ports.len()).map(move |state| chosen(state, ports))
}

#[test]
fn a_butterfly_s_packets_get_closer_whatever_is_paused_without_any_more_rules() {
    for (hosts_per_switch, sizes) in [(2, vec![3, 2, 2]), (1, vec![3, 3])] {
        let butterfly = FlattenedButterfly { hosts_per_switch, sizes, ..FlattenedButterfly::default() };
        let fabric = Fabric::of(TopologyKind::FlattenedButterfly(butterfly));
        for at in (0..fabric.topology.switches()).map(SwitchId::from_index) {
            let plain = fabric.table(at, CompactionKind::Wildcards);
            let is_onward = |port: Port| matches!(fabric.far(at, port), Node::Switch(_));
            let table = while_unpaused(&plain, is_onward);
            assert_eq!(table.rules().len(), fabric.topology.out_channels(at).len(), "as many rules as ports");
            let onward: Vec<Port> =
                (0..table.rules().len()).map(Port::from_index).filter(|&port| is_onward(port)).collect();
            for (dst, paused) in fabric.hosts().flat_map(|dst| states(&onward).map(move |paused| (dst, paused))) {
                closer(&fabric, at, dst, &table, &paused);
            }
        }
    }
}

/// A packet goes to its host, or to a switch in one more coordinate of its destination; to a paused port only when all
/// that lead there are paused.
fn closer(fabric: &Fabric, at: SwitchId, dst: HostId, table: &FlowTable, paused: &[Port]) {
    let rule = table.lookup(&fabric.packet(dst, dst, None), |port| paused.contains(&port)).unwrap();
    let port = table.ports(rule)[0];
    let goal = fabric.topology.coordinates(fabric.topology.switch_of(dst));
    let apart = |switch| fabric.topology.coordinates(switch).iter().zip(goal).filter(|(a, b)| a != b).count();
    let is_closer = |far| match far {
        Node::Switch(far) => apart(far) + 1 == apart(at),
        Node::Host(host) => host == dst,
    };
    assert!(is_closer(fabric.far(at, port)), "{at} to {dst}, paused {paused:?}");
    let egress = (0..table.rules().len()).map(Port::from_index).filter(|&port| is_closer(fabric.far(at, port)));
    assert!(!paused.contains(&port) || egress.into_iter().all(|port| paused.contains(&port)), "{at} to {dst}");
}

/// The table of a dragonfly's switch with Valiant's non-minimal ports: host port `i` leaves by global port `i`, then by
/// the next ones.
fn with_valiant(fabric: &Fabric, at: SwitchId, alternatives: usize) -> FlowTable {
    let out = fabric.ports(at, LinkClass::Global);
    let hosts = fabric.ports(at, LinkClass::Host);
    let alternative =
        |place: usize, level| NonMinimalPort { in_port: hosts[place], out_port: out[(place + level) % out.len()] };
    let places = (0..hosts.len()).flat_map(|place| (0..alternatives).map(move |level| (place, level)));
    let alternatives: Vec<NonMinimalPort> = places.map(|(place, level)| alternative(place, level)).collect();
    let own = fabric.plan.fields()[0].matching(fabric.topology.coordinates(at)[0]);
    with_non_minimal_ports(&fabric.table(at, CompactionKind::Prefixes), own, &alternatives)
}

#[test]
fn valiant_takes_as_many_more_rules_as_hosts_and_only_where_they_inject() {
    // Figure 9: 2 hosts, 3 neighbours, 2 global ports; groups 1 to 8 by conditional rules.
    let fabric = Fabric::of(TopologyKind::Dragonfly(Dragonfly::default()));
    let at = SwitchId::new(0);
    let minimal = fabric.table(at, CompactionKind::Prefixes);
    let table = with_valiant(&fabric, at, 1);
    assert_eq!(table.rules().len(), minimal.rules().len() + 2);
    let remote = HostId::new(71);
    let packet = |in_port| fabric.packet(HostId::new(0), remote, in_port);
    let port = |in_port, paused: &[Port]| {
        table.ports(table.lookup(&packet(in_port), |port| paused.contains(&port)).unwrap())[0]
    };
    let default = port(Some(Port::new(0)), &[]);
    let global = fabric.ports(at, LinkClass::Global);
    assert_eq!(port(Some(Port::new(0)), &[default]), global[0], "injected by host 0");
    assert_eq!(port(Some(Port::new(1)), &[default]), global[1], "injected by host 1");
    assert_eq!(port(Some(global[0]), &[default]), default, "packets in transit wait");
}

#[test]
fn a_second_non_minimal_path_takes_over_where_the_first_is_paused_too() {
    let fabric = Fabric::of(TopologyKind::Dragonfly(Dragonfly::default()));
    let at = SwitchId::new(0);
    let [one, two] = [1, 2].map(|alternatives| with_valiant(&fabric, at, alternatives));
    assert_eq!(two.rules().len(), one.rules().len() + 2);
    let global = fabric.ports(at, LinkClass::Global);
    let packet = fabric.packet(HostId::new(1), HostId::new(71), Some(Port::new(1)));
    let port = |paused: &[Port]| two.ports(two.lookup(&packet, |port| paused.contains(&port)).unwrap())[0];
    // In a palm tree switch 0 of group 0 has links to groups 8, where host 71 is, and 7.
    let default = port(&[]);
    assert_eq!(default, global[0]);
    assert_eq!(port(&[default]), global[1], "host 1 has the second one");
    assert_eq!(port(&[default, global[1]]), global[0], "and then, unconditionally, the first");
}

#[test]
fn a_non_minimal_hop_is_followed_by_the_minimal_path() {
    let fabric = Fabric::of(TopologyKind::Dragonfly(Dragonfly::default()));
    let tables: Vec<FlowTable> =
        (0..fabric.topology.switches()).map(|at| with_valiant(&fabric, SwitchId::from_index(at), 1)).collect();
    for (src, dst) in fabric.hosts().flat_map(|src| fabric.hosts().map(move |dst| (src, dst))) {
        // Everything is paused where the packet is injected, so that it leaves by its non-minimal port when it may.
        let (mut at, mut in_port, mut hops) = (fabric.topology.switch_of(src), None, 0);
        in_port = in_port.or(Some(fabric.topology.channel(fabric.topology.host_channel(src)).to.port));
        loop {
            let table = &tables[at.index()];
            let rule = table.lookup(&fabric.packet(src, dst, in_port), |_| hops == 0).unwrap();
            let channel = fabric.topology.channel(fabric.topology.out_channel(at, table.ports(rule)[0]));
            in_port = Some(channel.to.port);
            hops += 1;
            match channel.to.node {
                Node::Switch(next) => at = next,
                Node::Host(host) => break assert_eq!(host, dst),
            }
            // One global link away, then local, global, local, host.
            assert!(hops <= 5, "{src} to {dst}");
        }
    }
}

#[test]
fn rules_for_every_source_stay_unconditional_without_shares() {
    let fabric = Fabric::of(TopologyKind::FoldedClos(FoldedClos::default()));
    let table = fabric.table(SwitchId::new(0), CompactionKind::PrefixesNested);
    assert!(table.rules().iter().all(|rule| rule.src == Ternary::ANY));
    let with = with_alternatives(&table, 3);
    assert_eq!(with.rules().len(), table.rules().len());
    assert!(with.rules().iter().all(|rule| rule.unless_paused.is_none()));
}
