//! Compiled tables decide as the tables themselves: rule by rule, whatever is paused.

use etherweave_primitives::{HostId, InputError, Port, SwitchId};
use etherweave_routing::tables::{ChannelScheme, CompiledTables, Target, Trigger};
use etherweave_topology::{Dragonfly, FlattenedButterfly, FoldedClos, TopologyKind, Uplinks};
use proptest::{prelude::*, sample::Index};

use super::{ConditionalTables, MinimalTables, flow_tables::Conditions, flow_tables::FlowTables};
use crate::{CompactionKind, FlowTable, PacketHeader, PlanKind, Sharing, Strategy};

/// Small fabrics with all kinds of rules: parallel links, several dimensions, several levels.
fn fabrics() -> [TopologyKind; 5] {
    let clos = FoldedClos { radix: 4, hosts: 16, uplinks: vec![Uplinks::default(); 2], ..FoldedClos::default() };
    let sizes = vec![3, 2, 3];
    [
        TopologyKind::Dragonfly(Dragonfly::default()),
        TopologyKind::Dragonfly(Dragonfly { groups: Some(3), ..Dragonfly::default() }),
        TopologyKind::FlattenedButterfly(FlattenedButterfly { hosts_per_switch: 2, sizes, ..Default::default() }),
        TopologyKind::FoldedClos(clos),
        TopologyKind::FoldedClos(FoldedClos::default()),
    ]
}

/// Every set of tables that a fabric can have.
fn every_set(kind: &TopologyKind, check: impl Fn(&str, &FlowTables<'_>)) {
    let topology = kind.generate().unwrap();
    let all = || CompactionKind::ALL.iter().copied();
    for (plan, compaction) in PlanKind::ALL.iter().flat_map(|&plan| all().map(move |compaction| (plan, compaction))) {
        for sharing in [Sharing::Hash, Sharing::Source, Sharing::Destination] {
            let strategy = Strategy { plan, compaction, sharing, group_coordinates: None };
            let tables = FlowTables::new(kind, &topology, strategy, Conditions::None).unwrap();
            check(&format!("{strategy:?}"), &tables);
        }
    }
    for (compaction, alternatives) in
        all().flat_map(|compaction| [None, Some(1), Some(2)].map(|most| (compaction, most)))
    {
        let params = ConditionalTables { compaction: Some(compaction), alternatives, ..Default::default() };
        if let Ok((tables, _)) = params.tables(kind, &topology) {
            check(&format!("{params:?}"), &tables);
        }
    }
}

/// The ports that a table and its compiled form give a packet while the ports of a bit set are paused.
fn both(
    compiled: &CompiledTables,
    at: u32,
    table: &FlowTable,
    packet: &PacketHeader,
    paused: u64,
) -> [Option<Vec<u16>>; 2] {
    let is_paused = |port: u16| paused >> port & 1 == 1;
    let rule = table.lookup(packet, |port| is_paused(port.get()));
    let expected = rule.map(|rule| table.ports(rule).iter().map(|port| port.get()).collect());
    let in_port = packet.in_port.map_or(254, |port| port.get() as u8);
    let is_out = |watched: Target| is_paused(u16::from(watched.port));
    let targets = compiled.look_up(at, [packet.src as u32, packet.dst as u32], in_port, is_out);
    [targets.map(|targets| targets.iter().map(|target| u16::from(target.port)).collect()), expected]
}

#[test]
fn every_rule_of_every_table_decides_as_in_the_table() {
    for kind in fabrics() {
        every_set(&kind, |name, tables| {
            let compiled = tables.compile(ChannelScheme::One, Trigger::Pause).unwrap();
            tables.each(|at, table| every_packet(name, tables, &compiled, at, table)).unwrap();
        });
    }
}

/// Every destination, every port of arrival, and none, one or all of the ports paused.
fn every_packet(
    name: &str,
    tables: &FlowTables<'_>,
    compiled: &CompiledTables,
    at: SwitchId,
    table: &FlowTable,
) -> Result<(), InputError> {
    let hosts = tables.plan().hosts();
    let address = |host: usize| tables.plan().address(HostId::from_index(host));
    let ports = table.rules().iter().flat_map(|rule| table.ports(rule)).map(|port| port.get());
    let last = ports.max().expect("a table has rules");
    for (host, in_port) in (0..hosts).flat_map(|host| (0..=last + 1).map(move |port| (host, port))) {
        let in_port = (in_port <= last).then_some(Port::new(in_port));
        let packet = PacketHeader { dst: address(host), src: address((7 * host + at.index()) % hosts), in_port };
        for paused in (0..=last).map(|port| 1 << port).chain([0, u64::MAX]) {
            let [found, expected] = both(compiled, at.get(), table, &packet, paused);
            assert_eq!(found, expected, "{name} {at} {packet:?} {paused:b}");
        }
    }
    Ok(())
}

/// Asks a table and its compiled form about packets given by destination, source, port of arrival and pauses.
fn check(tables: &FlowTables<'_>, hosts: usize, questions: &[(Index, Index, u16, u64)]) {
    let compiled = tables.compile(ChannelScheme::One, Trigger::Pause).unwrap();
    let address = |host: &Index| tables.plan().address(HostId::from_index(host.index(hosts)));
    let ask = |at: SwitchId, table: &FlowTable| {
        for (dst, src, in_port, paused) in questions {
            let packet = PacketHeader { dst: address(dst), src: address(src), in_port: Some(Port::new(*in_port)) };
            let [found, expected] = both(&compiled, at.get(), table, &packet, *paused);
            assert_eq!(found, expected, "{at} {packet:?} {paused:b}");
        }
        Ok(())
    };
    tables.each(ask).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_packet_is_decided_as_in_the_table_whatever_is_paused(
        fabric in 0usize..5,
        questions in proptest::collection::vec((any::<Index>(), any::<Index>(), 0u16..9, any::<u64>()), 64),
    ) {
        let kind = &fabrics()[fabric];
        let topology = kind.generate().unwrap();
        let conditional = ConditionalTables::default().tables(kind, &topology).unwrap().0;
        let minimal = MinimalTables::default().tables(kind, &topology).unwrap().0;
        [conditional, minimal].iter().for_each(|tables| check(tables, topology.hosts(), &questions));
    }
}
