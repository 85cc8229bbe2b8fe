use super::*;
use crate::{Column, Fabric};

const DRAGONFLY: &str = "[topology.dragonfly]\n";

fn deployed(text: &str, down: &[&str]) -> Deployment {
    let down: Vec<String> = down.iter().map(|&name| name.to_owned()).collect();
    Fabric::parse(text, "test", &[]).unwrap().deployment(&down).unwrap()
}

fn column<'a>(tables: &'a [Table], table: &str, column: &str) -> &'a Column {
    let table = tables.iter().find(|candidate| candidate.name == table).unwrap();
    &table.columns.iter().find(|(name, _)| *name == column).unwrap().1
}

fn numbers(tables: &[Table], table: &str, name: &str) -> Vec<u64> {
    let Column::Integers(values) = column(tables, table, name) else { panic!("{name} are numbers") };
    values.clone()
}

fn words_of(tables: &[Table], table: &str, name: &str) -> Vec<String> {
    words(tables.iter().find(|candidate| candidate.name == table).unwrap(), name)
}

fn words(table: &Table, name: &str) -> Vec<String> {
    let Column::Texts(values) = column(std::slice::from_ref(table), table.name, name) else { panic!("texts") };
    values.iter().map(str::to_owned).collect()
}

#[test]
fn rules_are_those_that_the_design_counts() {
    let fabric = Fabric::parse(DRAGONFLY, "test", &[]).unwrap();
    let counted = fabric.design(None, &mut |_| true).unwrap().unwrap().tables.unwrap().compacted;
    let tables = fabric.deployment(&[]).unwrap().tables();
    let switches = numbers(&tables, "rules", "switch");
    let of = |at: u64| switches.iter().filter(|&&switch| switch == at).count() as u64;
    let counts: Vec<u64> = (0..36).map(of).collect();
    assert_eq!(counts.iter().max(), Some(&counted.largest.entries));
    assert_eq!(counts.iter().min(), Some(&counted.rules_min));
}

#[test]
fn a_table_decides_as_the_routing_and_without_a_link_nobody_takes_it() {
    let all = |deployment: &Deployment| {
        let hosts = deployment.topology.hosts() as u32;
        let pairs = (0..36).flat_map(|switch| (0..hosts).map(move |dst| (switch, dst)));
        let question = |(switch, dst)| Question { switch, in_port: 0, src: 0, dst };
        let decisions = deployment.decide(&pairs.map(question).collect::<Vec<_>>(), &[]);
        (words(&decisions, "by_table"), words(&decisions, "by_routing"))
    };
    let (by_table, by_routing) = all(&deployed(DRAGONFLY, &[]));
    assert_eq!(by_table, by_routing);
    // The first local link of group 0: the third port of both switches, after two hosts.
    let down = deployed(DRAGONFLY, &["group0.switch0 - group0.switch1"]);
    let (by_table, by_routing) = all(&down);
    assert_eq!(by_table.len(), by_routing.len());
    for (taken, allowed) in by_table.iter().zip(&by_routing) {
        assert!(taken.split(' ').all(|port| allowed.split(' ').any(|other| other == port)), "{taken} of {allowed}");
    }
    let ports = down.tables();
    let is_up = numbers(&ports, "ports", "is_up");
    assert_eq!(is_up.iter().filter(|&&up| up == 0).count(), 2);
    let first = numbers(&ports, "ports", "port")[is_up.iter().position(|&up| up == 0).unwrap()].to_string();
    let hosts = down.topology.hosts();
    assert!(by_routing[..hosts].iter().all(|allowed| allowed.split(' ').all(|port| port != first)), "port {first}");
}

#[test]
fn a_paused_port_hands_over_to_a_non_minimal_and_transit_waits() {
    let text = format!("{DRAGONFLY}\n[control]\nrules = \"conditional\"");
    let deployment = deployed(&text, &[]);
    // From the second host of the first switch to the last group: the first global port is the default one, the
    // second is the second host's non-minimal path.
    let (src, dst) = (1, 71);
    let ask = |in_port, paused: &[(u32, u32)]| {
        let question = Question { switch: 0, in_port, src, dst };
        words(&deployment.decide(&[question], paused), "by_table")[0].clone()
    };
    let default: u32 = ask(2, &[]).parse().unwrap();
    let non_minimal: u32 = ask(2, &[(0, default)]).parse().unwrap();
    assert_ne!(default, non_minimal);
    let transit = deployment.topology.out_channels(SwitchId::new(0)).len() as u32;
    assert_eq!(ask(transit, &[(0, default)]), default.to_string(), "waits");
    let tables = deployment.tables();
    assert!(!numbers(&tables, "rules", "waits").contains(&1), "transit obeys no pause, hosts have alternatives");
    let is_host: Vec<bool> = words_of(&tables, "ports", "class").iter().map(|class| class == "host").collect();
    let diverts: Vec<bool> = numbers(&tables, "ports", "diverts").iter().map(|&diverts| diverts == 1).collect();
    assert_eq!(diverts, is_host);
}

#[test]
fn hosts_without_an_alternative_wait_and_so_do_all_packets_of_a_butterfly() {
    let text = format!("{DRAGONFLY}arrangement = \"palm_tree\"\n[control]\nrules = \"conditional\"");
    // Both global cables of the first switch: its hosts cannot leave the group by other ports.
    let tables = deployed(&text, &["group0.switch0 - group8.switch3", "group0.switch0 - group7.switch3"]).tables();
    let [switch, waits, unless] = ["switch", "waits", "unless_paused"].map(|name| numbers(&tables, "rules", name));
    let rows = |at: u64| (0..switch.len()).filter(|&row| switch[row] == at).collect::<Vec<_>>();
    assert!(rows(0).iter().all(|&row| (waits[row] == 1) == (unless[row] > 0)), "no rule stands behind");
    assert!(rows(1).iter().all(|&row| waits[row] == 0));
    let butterfly = "[topology.flattened_butterfly]\n[control]\nrules = \"conditional\"";
    let tables = deployed(butterfly, &[]).tables();
    let [waits, unless] = ["waits", "unless_paused"].map(|name| numbers(&tables, "rules", name));
    assert!(waits.iter().zip(unless).all(|(&waits, unless)| (waits == 1) == (unless > 0)));
    assert!(!numbers(&tables, "ports", "diverts").contains(&0), "another dimension, at every switch");
}

#[test]
fn rules_of_a_conditional_dragonfly_write_two_priorities_where_they_are_given() {
    let written = |priorities: &str, rules: &str| {
        let text = format!("{DRAGONFLY}\n[control]\nrules = \"{rules}\"\npriorities = {priorities}");
        let deployment = deployed(&text, &[]);
        (deployment.priorities(), numbers(&deployment.tables(), "rules", "written"))
    };
    let (needed, places) = written("[3, 4]", "conditional");
    assert_eq!(needed, Some(2));
    assert_eq!(places.iter().copied().collect::<BTreeSet<u64>>(), BTreeSet::from([0, 1, 2]));
    assert!(written("[]", "conditional").1.iter().all(|&place| place == 0));
    // By the links that a frame has used: ports raise it.
    assert!(written("[3, 4]", "minimal").1.iter().all(|&place| place == 0));
}

#[test]
fn a_spanning_tree_joins_all_switches_and_has_no_ring() {
    for kind in TopologyKind::examples() {
        let topology = kind.generate().unwrap();
        let tree = Forest::of(&topology, &BTreeSet::new()).channels;
        assert_eq!(tree.len(), 2 * (topology.switches() - 1), "{}: as many links as switches less one", kind.name());
    }
}

#[test]
fn islands_have_trees_of_their_own() {
    // Four leaves and two cores with one cable each way; each core keeps two leaves.
    let text = "[topology.fat_tree]\nleaves = 4\ncores = 2\nhosts_per_leaf = 1\nlinks_per_core = 1\n";
    let down = ["leaf0 - core0", "leaf1 - core0", "leaf2 - core1", "leaf3 - core1"];
    let tables = deployed(text, &down).tables();
    let on_tree: u64 = numbers(&tables, "ports", "is_on_tree").iter().sum();
    // Four hosts, and both ends of the four cables that are left.
    assert_eq!(on_tree, 4 + 2 * 4);
}

#[test]
fn one_of_parallel_cables_is_named_by_its_port() {
    // 12 hosts come first on a leaf, then four links to the first core: OpenFlow's ports 13 to 16.
    let down = |names: &[&str]| {
        let tables = deployed("[topology.fat_tree]\n", names).tables();
        let [up, switch, port] = ["is_up", "switch", "port"].map(|name| numbers(&tables, "ports", name));
        let gone = (0..up.len()).filter(|&row| up[row] == 0 && switch[row] == 0);
        gone.map(|row| port[row]).collect::<Vec<_>>()
    };
    assert_eq!(down(&["leaf0:15 - core0"]), [15]);
    assert_eq!(down(&["leaf0 - core0", "leaf0 - core0"]), [13, 14]);
    let fabric = Fabric::parse("[topology.fat_tree]\n", "test", &[]).unwrap();
    for wrong in ["leaf0:17 - core0", "leaf0:0 - core0", "leaf0:x - core0"] {
        assert!(fabric.deployment(&[wrong.to_owned()]).is_err(), "{wrong}");
    }
}

#[test]
fn no_non_minimal_begins_towards_a_switch_that_would_send_it_back() {
    let down = ["group0.switch0 - group0.switch1", "group0.switch0 - group8.switch3"];
    let text = format!("{DRAGONFLY}\n[control]\nrules = \"conditional\"");
    let deployment = deployed(&text, &down);
    let topology = &deployment.topology;
    for host in (0..topology.hosts()).map(HostId::from_index) {
        let (at, port) = (topology.switch_of(host), topology.channel(topology.host_channel(host)).to.port);
        let table = deployment.table(at.index()).0;
        for non_minimal in table.rules().iter().filter(|rule| rule.in_port == Some(port)) {
            let out = topology.channel(topology.out_channel(at, table.ports(non_minimal)[0]));
            let (Node::Switch(far), back) = (out.to.node, u32::from(out.to.port.get()) + 1) else { unreachable!() };
            let group = topology.coordinates(at)[0];
            let abroad = |dst: &u32| topology.coordinates(topology.switch_of(HostId::new(*dst)))[0] != group;
            let question = |dst| Question { switch: far.get(), in_port: back, src: host.get(), dst };
            let questions: Vec<Question> = (0..topology.hosts() as u32).filter(abroad).map(question).collect();
            let taken = words(&deployment.decide(&questions, &[]), "by_table");
            assert!(taken.iter().all(|ports| ports.split(' ').all(|port| port != back.to_string())), "{host}");
        }
    }
}

#[test]
fn what_cannot_be_deployed_is_error_where_it_stands() {
    let error = |text: &str, down: &[&str]| {
        let down: Vec<String> = down.iter().map(|&name| name.to_owned()).collect();
        Fabric::parse(text, "test", &[]).unwrap().deployment(&down).err().unwrap().to_string()
    };
    let text = format!("{DRAGONFLY}\n[control]\nalternatives = 2");
    assert_eq!(
        error(&text, &[]),
        "test:4:1: control.alternatives: given beside minimal rules; expected rules = \"conditional\""
    );
    let wide = format!("{DRAGONFLY}\n[design.tables]\nwidths = [18, 20, 9]");
    assert!(error(&wide, &[]).contains("need 47 bits; expected at most 46"), "{}", error(&wide, &[]));
    assert!(
        error(DRAGONFLY, &["group0.switch0 - group9.switch9"]).contains("no cable \"group0.switch0 - group9.switch9\"")
    );
    let flat = format!("{DRAGONFLY}\n[control]\nrules = \"conditional\"\n[design.tables]\nplan = \"flat\"");
    let expected = "test:6:1: design.tables.plan: flat; expected coordinates, under conditional rules";
    assert_eq!(error(&flat, &[]), expected);
    let torus = "[topology.torus]\n[control]\nrules = \"conditional\"";
    assert!(error(torus, &[]).contains("torus; expected a dragonfly"), "{}", error(torus, &[]));
}

const TREE: &str = "[topology.fat_tree]\nleaves = 2\nhosts_per_leaf = 2\ncores = 1\nlinks_per_core = 1\n";

/// The ports by table and by routing from every switch to every port of a host.
fn decisions(deployment: &Deployment) -> Vec<(u32, u32, String, String)> {
    let ports = deployment.host_ports().len() as u32;
    let switches = 0..deployment.topology.switches() as u32;
    let pairs: Vec<(u32, u32)> = switches.flat_map(|at| (0..ports).map(move |dst| (at, dst))).collect();
    let question = |&(switch, dst): &(u32, u32)| Question { switch, in_port: 0, src: dst, dst };
    let decided = deployment.decide(&pairs.iter().map(question).collect::<Vec<_>>(), &[]);
    let answers = words(&decided, "by_table").into_iter().zip(words(&decided, "by_routing"));
    pairs.into_iter().zip(answers).map(|((at, dst), (table, routing))| (at, dst, table, routing)).collect()
}

#[test]
fn planes_have_equal_tables_and_addresses_that_differ_in_the_number_of_the_plane() {
    let (single, planes) = (deployed(TREE, &[]), deployed(&format!("host_ports.planes = 2\n{TREE}"), &[]));
    // Two leaves with two hosts: a bit each, and one for the plane.
    assert_eq!(single.layout(), "x1 1 | host 1 (2 of 46 bits)");
    assert_eq!(planes.layout(), "plane 1 | x1 1 | host 1 (3 of 46 bits)");
    let tables = planes.tables();
    assert_eq!(words_of(&tables, "hosts", "name")[..4], ["host0.0", "host0.1", "host1.0", "host1.1"]);
    assert_eq!(words_of(&tables, "hosts", "host")[..3], ["host0", "host0", "host1"]);
    let local = 0x0200_0000_0000;
    let eth: Vec<u64> = numbers(&tables, "hosts", "eth").iter().map(|eth| eth - local).collect();
    assert_eq!(eth, [0, 4, 1, 5, 2, 6, 3, 7]);
    assert_eq!(numbers(&tables, "hosts", "switch"), [0, 3, 0, 3, 1, 4, 1, 4]);
    let (rules, of_single) = (numbers(&tables, "rules", "switch"), numbers(&single.tables(), "rules", "switch"));
    assert_eq!(rules.len(), 2 * of_single.len());
    let known: Vec<u64> = numbers(&tables, "known", "eth").iter().map(|eth| eth - local).collect();
    assert_eq!((numbers(&tables, "known", "plane"), known), (vec![0, 1], vec![0, 4]));
}

#[test]
fn a_port_is_reached_in_its_own_plane_as_the_routing_says_and_in_no_other() {
    let planes = deployed(&format!("host_ports.planes = 2\n{TREE}"), &[]);
    for (at, dst, table, routing) in decisions(&planes) {
        let is_own = at / 3 == dst % 2;
        assert_eq!(table.is_empty(), !is_own, "switch {at} to port {dst}");
        assert_eq!(table, routing, "switch {at} to port {dst}");
    }
}

#[test]
fn a_cable_that_fails_in_a_plane_changes_the_tables_of_that_plane_only() {
    let text = format!("host_ports.planes = 2\n{TREE}").replace("cores = 1", "cores = 2");
    let (whole, failed) = (deployed(&text, &[]), deployed(&text, &["plane1.leaf0 - plane1.core0"]));
    let (before, after) = (decisions(&whole), decisions(&failed));
    let changed: Vec<u32> = before.iter().zip(&after).filter(|(a, b)| a != b).map(|(a, _)| a.0).collect();
    // Two leaves and two cores a plane: the second plane's switches are 4 to 7.
    assert!(!changed.is_empty() && changed.iter().all(|at| (4..8).contains(at)), "{changed:?}");
    let is_up = numbers(&failed.tables(), "ports", "is_up");
    assert_eq!(is_up.iter().filter(|&&up| up == 0).count(), 2);
}

#[test]
fn ports_of_a_host_in_one_fabric_have_addresses_by_their_switches() {
    // By leaves, by rails, and as listed: a row of `hosts` for each port, on the switch of its link.
    let rails = "host_ports.leaves = 2\n[topology.rail_optimised]\nrails = 2\nservers = 4\nservers_per_pod = 2\n";
    let listed = "topology.custom.links = \"h0,s0\\nh0,s1\\nh1,s1\\nh1,s0\\ns0,s1\\n\"\n";
    for text in [&format!("host_ports.leaves = 2\n{TREE}"), rails, listed] {
        let deployment = deployed(text, &[]);
        let tables = deployment.tables();
        let eth: BTreeSet<u64> = numbers(&tables, "hosts", "eth").into_iter().collect();
        let switches = numbers(&tables, "hosts", "switch");
        assert_eq!(eth.len(), switches.len(), "an address for each port: {text}");
        let hosts = words_of(&tables, "hosts", "host");
        assert_eq!(hosts.len(), 2 * hosts.iter().collect::<BTreeSet<_>>().len(), "{text}");
        assert!(switches.chunks(2).all(|ports| ports[0] != ports[1]), "{switches:?}");
        for (at, dst, table, routing) in decisions(&deployment) {
            assert!(!table.is_empty() && table.split(' ').all(|port| routing.contains(port)), "{at} to {dst}: {table}");
        }
    }
}

#[test]
fn addresses_leave_room_for_the_number_of_the_plane() {
    let text = format!("host_ports.planes = 2\n{TREE}[design.tables]\nwidths = [38, 8]");
    let error = Fabric::parse(&text, "test", &[]).unwrap().deployment(&[]).err().unwrap().to_string();
    assert!(error.contains("design.tables.widths: the address fields of 2 planes need 47 bits"), "{error}");
}
