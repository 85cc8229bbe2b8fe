//! Conditional rules: Benito et al. 2015, sections V-B to V-D, figures 9 and 10.

use etherweave_forwarding::{
    AddressPlan, CompactionKind, ConditionalTables, FlowTable, MinimalRouting, NonMinimalPort, NonMinimalPorts,
    PacketHeader, PlanKind, RegionRoutes, Sources, Ternary, with_alternatives, with_non_minimal_ports,
};
use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_topology::{
    Dimension, Dragonfly, FatTree, FlattenedButterfly, FoldedClos, HyperX, LinkClass, Node, Topology, TopologyKind,
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
    let shares = table.rules().iter().filter(|rule| rule.share_of.is_some());
    assert_eq!(shares.filter(|rule| rule.unless_paused.is_none()).count(), 4, "the last alternative of each");
    for paused in 0u16..1 << 4 {
        let is_paused = |port: Port| port.get() >= 4 && paused >> (port.get() - 4) & 1 == 1;
        let port = |dst| table.ports(table.lookup(&fabric.packet(src, dst, None), is_paused).unwrap())[0];
        assert_eq!(port(near), Port::new(2), "a host below is not elsewhere");
        assert!(port(far).get() >= 4);
        // The share of host 1 is the second uplink; the last that follows is the first, for which it waits when all
        // are paused.
        assert!(if paused == 0b1111 { port(far) == Port::new(4) } else { !is_paused(port(far)) }, "{paused:04b}");
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

/// A flattened butterfly of these rows, first dimension first.
fn butterfly(hosts_per_switch: u32, sizes: &[u32]) -> Fabric {
    let sizes = sizes.to_vec();
    let family = FlattenedButterfly { hosts_per_switch, sizes, ..FlattenedButterfly::default() };
    Fabric::of(TopologyKind::FlattenedButterfly(family))
}

impl Fabric {
    fn conditional(&self, alternatives: u32) -> Vec<FlowTable> {
        let params = ConditionalTables { alternatives: Some(alternatives), ..ConditionalTables::default() };
        let mut tables = Vec::new();
        let each = params.tables(&self.kind, &self.topology).unwrap().0.each(|_, table| {
            tables.push(table.clone());
            Ok(())
        });
        each.unwrap();
        tables
    }

    /// The port that the host of a port injects a packet to, while some ports are paused.
    fn injected(&self, table: &FlowTable, host: Port, dst: HostId, paused: &[Port]) -> Port {
        let packet = self.packet(dst, dst, Some(host));
        table.ports(table.lookup(&packet, |port| paused.contains(&port)).unwrap())[0]
    }

    fn onward(&self, at: SwitchId) -> Vec<Port> {
        let all = (0..self.topology.out_channels(at).len()).map(Port::from_index);
        all.filter(|&port| matches!(self.far(at, port), Node::Switch(_))).collect()
    }

    fn row(&self, at: SwitchId, axis: usize) -> Vec<Port> {
        let is_along = |far| self.apart(at, far) == [axis];
        let onward = self.onward(at).into_iter();
        onward.filter(|&port| matches!(self.far(at, port), Node::Switch(far) if is_along(far))).collect()
    }

    fn switches(&self) -> impl Iterator<Item = SwitchId> {
        (0..self.topology.switches()).map(SwitchId::from_index)
    }

    /// The coordinates in which two switches differ, the most significant first.
    fn apart(&self, a: SwitchId, b: SwitchId) -> Vec<usize> {
        let [a, b] = [a, b].map(|at| self.topology.coordinates(at));
        (0..a.len()).filter(|&axis| a[axis] != b[axis]).collect()
    }
}

#[test]
fn a_butterfly_s_packets_get_closer_whatever_is_paused_without_any_more_rules() {
    for fabric in [butterfly(2, &[3, 2, 2]), butterfly(1, &[3, 3])] {
        for (at, table) in fabric.switches().zip(fabric.conditional(0)) {
            assert_eq!(table.rules().len(), fabric.topology.out_channels(at).len(), "as many rules as ports");
            let onward = fabric.onward(at);
            for (dst, paused) in fabric.hosts().flat_map(|dst| states(&onward).map(move |paused| (dst, paused))) {
                let port = fabric.injected(&table, Port::new(0), dst, &paused);
                let egress = nearer(&fabric, at, dst);
                assert!(egress.contains(&port), "{at} to {dst}, paused {paused:?}");
                let all_are = egress.iter().all(|port| paused.contains(port));
                assert!(!paused.contains(&port) || all_are, "{at} to {dst}, paused {paused:?}");
            }
        }
    }
}

fn nearer(fabric: &Fabric, at: SwitchId, dst: HostId) -> Vec<Port> {
    let home = fabric.topology.switch_of(dst);
    let is_nearer = |port: &Port| match fabric.far(at, *port) {
        Node::Switch(far) => fabric.apart(far, home).len() + 1 == fabric.apart(at, home).len(),
        Node::Host(host) => host == dst,
    };
    (0..fabric.topology.out_channels(at).len()).map(Port::from_index).filter(is_nearer).collect()
}

#[test]
fn a_host_of_a_butterfly_leaves_by_its_own_place_of_the_row_when_all_minimal_ports_are_paused() {
    // Figure 10b: four hosts, three other groups, so that the last host repeats the first one's.
    for fabric in [butterfly(4, &[4, 4]), butterfly(2, &[3, 3, 3])] {
        let hosts = fabric.topology.hosts() / fabric.topology.switches();
        for (at, table) in fabric.switches().zip(fabric.conditional(1)) {
            let (ports, axes) = (fabric.topology.out_channels(at).len(), fabric.topology.axes().len());
            assert_eq!(table.rules().len(), ports + hosts * axes, "one more for each host and dimension");
            let onward = fabric.onward(at);
            let apart = |dst| fabric.apart(at, fabric.topology.switch_of(dst));
            for (host, dst) in (0..hosts).flat_map(|host| fabric.hosts().map(move |dst| (host, dst))) {
                let Some(&axis) = apart(dst).first() else { continue };
                let row = fabric.row(at, axis);
                let egress = nearer(&fabric, at, dst);
                for paused in states(&onward) {
                    let port = fabric.injected(&table, Port::from_index(host), dst, &paused);
                    match egress.iter().all(|port| paused.contains(port)) {
                        true => assert_eq!(port, row[host % row.len()], "{at} host {host} to {dst}, {paused:?}"),
                        false => assert!(egress.contains(&port) && !paused.contains(&port), "{at} to {dst}"),
                    }
                    let transit = fabric.injected(&table, onward[0], dst, &paused);
                    assert!(egress.contains(&transit), "packets in transit stay minimal: {at} to {dst}");
                }
            }
        }
    }
}

#[test]
fn a_second_place_of_the_row_takes_over_where_the_first_is_paused_too() {
    let fabric = butterfly(2, &[4, 4]);
    let table = &fabric.conditional(2)[0];
    assert_eq!(table.rules().len(), 2 + 3 + 3 + 2 * 2 * 2, "two for each host and dimension");
    // Ports: hosts 0 and 1; x to places 1, 2, 3 by 2, 3, 4; y by 5, 6, 7. Host 2 is at x 1, host 8 at y 1.
    let port = |dst, paused: &[u16]| {
        let paused: Vec<Port> = paused.iter().map(|&port| Port::new(port)).collect();
        fabric.injected(table, Port::new(1), HostId::new(dst), &paused).get()
    };
    assert_eq!([port(2, &[]), port(2, &[2]), port(2, &[2, 3]), port(2, &[2, 3, 4])], [2, 3, 4, 4]);
    assert_eq!([port(8, &[]), port(8, &[5]), port(8, &[5, 6]), port(8, &[5, 6, 7])], [5, 6, 7, 7]);
    assert_eq!(port(2, &[2, 3, 5, 6, 7]), 4, "no packet for its own row leaves it");
}

#[test]
fn a_row_of_two_switches_has_no_alternative_and_its_packets_wait_for_their_only_port() {
    // x has two places and y three; behind y's rules for other places those for x must not leave by y.
    let fabric = butterfly(2, &[2, 3]);
    let table = &fabric.conditional(1)[0];
    // Host 2 is on the neighbour along x, by port 2; ports 3 and 4 lead along y.
    assert_eq!(table.rules().len(), 2 + 1 + 2 + 2 + 1, "ports, two hosts along y, and one that keeps x");
    let everything = [2, 3, 4].map(Port::new);
    for host in [0, 1] {
        assert_eq!(fabric.injected(table, Port::new(host), HostId::new(2), &everything), Port::new(2));
    }
    assert_eq!(fabric.injected(table, Port::new(1), HostId::new(4), &everything), Port::new(4), "along y");
}

#[test]
fn several_links_to_each_place_of_a_row_are_shared_and_have_no_alternative() {
    let dimensions = vec![Dimension::of(3), Dimension { lag: 2, ..Dimension::of(3) }];
    let fabric = Fabric::of(TopologyKind::HyperX(HyperX { hosts_per_switch: 2, dimensions, ..HyperX::default() }));
    let table = &fabric.conditional(1)[0];
    // Hosts, x by single links, y by two rules of two ports; alternatives along x only.
    assert_eq!(table.rules().len(), 2 + 2 + 2 + 2);
    assert!(table.rules().iter().all(|rule| table.ports(rule).len() == 1 || rule.unless_paused.is_none()));
}

#[test]
fn a_non_minimal_hop_of_a_butterfly_is_followed_by_minimal_ones() {
    for fabric in [butterfly(4, &[4, 4]), butterfly(2, &[3, 2, 3])] {
        let (tables, axes) = (fabric.conditional(1), fabric.topology.axes().len());
        for (src, dst) in fabric.hosts().flat_map(|src| fabric.hosts().map(move |dst| (src, dst))) {
            // A hop more than there are dimensions, and the one to the host.
            assert!(hops_under_pause(&fabric, &tables, src, dst) <= axes + 2, "{src} to {dst}");
        }
    }
}

/// Links that a packet crosses when all is paused where it is injected, so that it leaves by its non-minimal port if
/// it may.
fn hops_under_pause(fabric: &Fabric, tables: &[FlowTable], src: HostId, dst: HostId) -> usize {
    let mut at = fabric.topology.switch_of(src);
    let mut in_port = Some(fabric.topology.channel(fabric.topology.host_channel(src)).to.port);
    for hops in 1.. {
        let table = &tables[at.index()];
        let rule = table.lookup(&fabric.packet(src, dst, in_port), |_| hops == 1).unwrap();
        let channel = fabric.topology.channel(fabric.topology.out_channel(at, table.ports(rule)[0]));
        in_port = Some(channel.to.port);
        assert!(hops < 16, "{src} to {dst} goes nowhere");
        match channel.to.node {
            Node::Switch(next) => at = next,
            Node::Host(host) => {
                assert_eq!(host, dst);
                return hops;
            }
        }
    }
    unreachable!("a packet ends at a host")
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
    let groups = NonMinimalPorts { region: Ternary::ANY, own, ports: alternatives };
    with_non_minimal_ports(&fabric.table(at, CompactionKind::Prefixes), &[groups])
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
        // One global link away, then local, global, local, host.
        assert!(hops_under_pause(&fabric, &tables, src, dst) <= 5, "{src} to {dst}");
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
