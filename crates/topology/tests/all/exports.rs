//! Properties of every export, checked on every example of every family and on fabrics with arbitrary names.

use etherweave_primitives::{BitRate, HostId, SwitchId};
use etherweave_topology::{
    Builder, Cable, Custom, Dragonfly, Export, ExportNames, Family, FoldedClos, LinkClass, Medium, Topology,
    TopologyKind, Uplinks,
};
use proptest::prelude::*;

fn text(export: Export, topology: &Topology) -> String {
    export.files(topology, &ExportNames::default()).unwrap().remove(0).text
}

fn read_graphml(graphml: String) -> Result<Topology, String> {
    Custom { graphml, ..Custom::default() }.generate().map_err(|error| error.to_string())
}

/// Runs one check on every example, also with breakout cables and a radix.
fn check(promise: impl Fn(&Topology)) {
    for kind in TopologyKind::examples() {
        promise(&kind.generate().unwrap());
        let text = toml::to_string(&kind).unwrap().replace("[custom]", "[custom]\n");
        let built = format!("{text}\n[{}.as_built]\nbreakout = 2\nradix = 4096\nhosts = 1\n", kind.name());
        let built: TopologyKind = toml::from_str(&built).unwrap_or_else(|error| panic!("{error}: {built}"));
        promise(&built.generate().unwrap_or_else(|error| panic!("{kind:?}: {error}")));
    }
}

#[test]
fn graphml_reads_back_as_the_same_fabric() {
    check(|topology| assert_eq!(read_graphml(text(Export::GraphMl, topology)).as_ref(), Ok(topology)));
}

#[test]
fn the_edge_list_reads_back_with_the_same_ports_rates_lengths_media_and_classes() {
    check(|topology| {
        let links = text(Export::EdgeList, topology);
        let read = Custom { links, ..Custom::default() }.generate().unwrap();
        assert_eq!((read.hosts(), read.switches()), (topology.hosts(), topology.switches()));
        assert_eq!(read.channels(), topology.channels());
    });
}

/// The fields of a line of CSV whose names have no quotes.
fn rows(csv: &str) -> Vec<Vec<&str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

#[test]
fn the_cable_plan_has_every_link_once_by_number_and_bundles_together() {
    check(|topology| {
        let plan = text(Export::Cables, topology);
        let rows = rows(&plan);
        assert_eq!(2 * rows.len(), topology.channels().len());
        let mut ends: Vec<_> = rows.iter().flat_map(|row| [(row[3], row[4]), (row[5], row[6])]).collect();
        ends.sort_unstable();
        ends.dedup();
        assert_eq!(ends.len(), topology.channels().len(), "every port has one cable");
        assert!((1..).zip(&rows).all(|(number, row)| row[0] == number.to_string()));
        // As many bundles as pairs of nodes, and each in one piece.
        let bundles: Vec<&str> = rows.iter().map(|row| row[2]).collect();
        assert_eq!(2 * bundles.chunk_by(|a, b| a == b).count(), topology.port_channels());
        let breakouts = rows.iter().filter(|row| !row[11].is_empty()).map(|row| row[11].parse::<usize>().unwrap());
        let of_hosts = |at: SwitchId| {
            let leaving = topology.out_channels(at).iter();
            leaving.filter(|&&id| topology.channel(id).class == LinkClass::Host).count().div_ceil(2)
        };
        let shared: usize = (0..topology.switches()).map(|at| of_hosts(SwitchId::from_index(at))).sum();
        assert_eq!(breakouts.max().unwrap_or_default(), if topology.breakout() == 2 { shared } else { 0 });
    });
}

#[test]
fn netbox_gets_every_interface_that_its_cables_name() {
    check(|topology| {
        let files = Export::NetBox.files(topology, &ExportNames::default()).unwrap();
        let [devices, interfaces, cables] = [0, 1, 2].map(|file: usize| rows(&files[file].text));
        assert_eq!(devices.len(), topology.hosts() + topology.switches());
        let sides = cables.iter().flat_map(|row| [(row[0], row[2]), (row[3], row[5])]);
        assert!(sides.eq(interfaces.iter().map(|row| (row[0], row[1]))));
        assert!(interfaces.iter().all(|row| devices.iter().any(|device| device[0] == row[0])));
    });
}

#[test]
fn dot_has_every_node_and_one_edge_per_pair_of_joined_nodes() {
    check(|topology| {
        let dot = text(Export::Dot, topology);
        assert_eq!(2 * dot.matches(" -- ").count(), topology.port_channels());
        let hosts = (0..topology.hosts()).map(|host| topology.host_name(HostId::from_index(host)));
        assert!(hosts.into_iter().all(|host| dot.contains(&format!("  \"{host}\";\n"))));
    });
}

#[test]
fn slurm_gets_a_tree_in_which_every_switch_but_the_last_has_one_parent() {
    check(|topology| {
        let conf = text(Export::Slurm, topology);
        let lines: Vec<&str> = conf.lines().filter(|line| !line.starts_with('#')).collect();
        let value = |line: &str, key: &str| {
            line.split(' ').find_map(|part| part.strip_prefix(key)?.strip_prefix('=')).map(str::to_owned)
        };
        let names: Vec<String> = lines.iter().map(|line| value(line, "SwitchName").unwrap()).collect();
        let mut children: Vec<String> = Vec::new();
        let mut nodes = 0;
        for line in &lines {
            nodes += value(line, "Nodes").map_or(0, |list| expanded(&list).len());
            children.extend(value(line, "Switches").map(|list| expanded(&list)).unwrap_or_default());
        }
        assert_eq!(nodes, topology.hosts());
        // All but the last are the child of exactly one, which comes later.
        children.sort_unstable();
        let mut inner = names[..names.len() - 1].to_vec();
        inner.sort_unstable();
        assert_eq!(children, inner, "{conf}");
    });
}

/// Returns the names that Slurm makes of a list such as `a[0-2,05],b`, by the rules of its manual.
fn expanded(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let (stem, after) = rest.split_at(rest.find([',', '[']).unwrap_or(rest.len()));
        let (inside, after) = after.strip_prefix('[').and_then(|after| after.split_once(']')).unwrap_or(("", after));
        for range in inside.split(',').filter(|range| !range.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let numbers = first.parse::<u64>().unwrap()..=last.parse().unwrap();
            names.extend(numbers.map(|number| format!("{stem}{number:0width$}", width = first.len())));
        }
        if inside.is_empty() {
            names.push(stem.to_owned());
        }
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    names
}

/// Two hosts on two switches, with names and a cable from strangers.
fn named(names: [String; 4], axis: &str, cable: Cable, rate: BitRate) -> Result<Topology, String> {
    let [a, b, left, right] = names;
    let mut builder = Builder::with_axes([axis]);
    let switches = [builder.add_switch_at(left, 0, &[1]), builder.add_switch_at(right, 0, &[0])];
    for (host, switch) in [a, b].into_iter().zip(switches) {
        let host = builder.add_host(host);
        builder.link(host, switch, rate, cable, LinkClass::Host);
    }
    builder.link(switches[1], switches[0], rate, cable, LinkClass::Global);
    builder.build().map_err(|error| error.to_string())
}

proptest! {
    #[test]
    fn any_names_survive_graphml_or_are_refused(
        name in "\\PC{0,12}", sign in "[\\x00-\\x1f&<>\"',;\\[\\]]", mm in 1u64..10_000, bits in 1u64..1_000,
    ) {
        let names = [0, 1, 2, 3].map(|number| format!("{number}{name}{sign}{number}"));
        let cable = Cable::new(etherweave_primitives::Length::from_mm(mm), Medium::Optical);
        for &export in Export::ALL {
            // NetBox has rates in whole kb/s.
            let unit = if export == Export::NetBox { 1_000_000 } else { 1_000_001 };
            let rate = BitRate::from_bps(unit * bits);
            let topology = named(names.clone(), &format!("a{name}"), cable, rate).unwrap();
            match export.files(&topology, &ExportNames::default()) {
                Ok(files) if export == Export::GraphMl => {
                    // All four differ in their first and last characters only.
                    let first = format!("0{name}{sign}0");
                    let is_file = etherweave_primitives::check_file_name("", &first).is_ok();
                    match read_graphml(files[0].text.clone()) {
                        Ok(read) => prop_assert!(is_file && read == topology, "{read:?}"),
                        Err(error) => {
                            prop_assert!(!is_file && error.contains("expected a name that a file"), "{error}");
                        }
                    }
                }
                Ok(files) => prop_assert!(files.iter().all(|file| file.text.ends_with('\n'))),
                Err(error) => prop_assert!(error.to_string().contains(" cannot express the name "), "{}", error),
            }
        }
    }

    #[test]
    fn slurm_finds_every_host_in_the_lists(
        names in proptest::collection::vec("[ab]{0,1}-?(0{0,2}[0-9]{1,2}|[0-9]{9,11}|c)", 1..20),
    ) {
        let mut builder = Builder::new();
        let switch = builder.add_switch("s", 0);
        for name in &names {
            let host = builder.add_host(name.as_str());
            builder.link(host, switch, BitRate::from_gbps(100), Cable::from_m(3), LinkClass::Host);
        }
        let conf = text(Export::Slurm, &builder.build().unwrap());
        let list = conf.split_once(" Nodes=").unwrap().1.split_once(" LinkSpeed=100000\n").unwrap().0;
        prop_assert_eq!(expanded(list), names, "{}", list);
    }

    #[test]
    fn spliced_exports_never_panic_the_reader(
        example in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), number in any::<u32>(),
    ) {
        let graphml = text(Export::GraphMl, &example.get(&TopologyKind::examples()).generate().unwrap());
        let data: Vec<_> = graphml.match_indices("</data>").map(|(end, _)| end).collect();
        let end = *at.get(&data);
        let start = graphml[..end].rfind('>').unwrap() + 1;
        let spliced = format!("{}{number}{}", &graphml[..start], &graphml[end..]);
        let _ = read_graphml(spliced);
        let without = graphml[..start].rfind("<data").unwrap();
        let _ = read_graphml(format!("{}{}", &graphml[..without], &graphml[end + "</data>".len()..]));
    }
}

#[test]
fn inconsistent_places_are_errors_with_their_line() {
    let plan = Dragonfly { p: 1, a: 2, h: 1, ..Dragonfly::default() };
    let graphml = text(Export::GraphMl, &plan.generate().unwrap());
    let first = "<node id=\"group0.switch0\"><data key=\"k\">switch</data>";
    let line = 1 + graphml[..graphml.find(first).unwrap()].matches('\n').count();
    let check = |from: &str, to: &str, expected: &str| {
        let (from, to) = (format!("{first}{from}"), format!("{first}{to}"));
        assert!(graphml.contains(&from), "{from}");
        assert_eq!(read_graphml(graphml.replace(&from, &to)).unwrap_err(), format!("graphml: line {line}: {expected}"));
    };
    let level = "<data key=\"v\">0</data>";
    let missing = "group0.switch0 has no level; expected levels of all switches, or of none";
    check(level, "", missing);
    check(level, "<data key=\"v\">256</data>", "level is \"256\"; expected a number, 0 to 255");
    let high = "group0.switch0 has hosts above level 0; expected hosts on switches of level 0";
    check(level, "<data key=\"v\">1</data>", high);
    let place = |group: &str| format!("{level}<data key=\"x0\">{group}</data>");
    let far = "group0.switch0 is at [12, 0]; expected coordinates below 12, the number of nodes";
    check(&place("0"), &place("12"), far);
    check(&place("0"), level, "axis:group is missing; expected a number, 0 to 4294967295");
    let twice = read_graphml(graphml.replace(&place("1"), &place("0"))).unwrap_err();
    assert!(twice.ends_with("group1.switch0 is at [0, 0], as another; expected a place of its own"), "{twice}");
    let breakout = graphml.replace("<data key=\"b\">1</data>", "<data key=\"b\">9</data>");
    assert!(read_graphml(breakout).unwrap_err().ends_with("breakout is \"9\"; expected a number, 1 to 8"));
}

#[test]
fn a_name_that_xml_cannot_express_is_an_error() {
    let topology = TopologyKind::examples()[0].generate().unwrap();
    let names = ExportNames { fabric: "bell\u{7}".to_owned(), ..ExportNames::default() };
    let error = Export::GraphMl.files(&topology, &names).unwrap_err().to_string();
    assert_eq!(error, "GraphML cannot express the name \"bell\\u{7}\"; expected a name without control characters");
}

#[test]
fn exports_grow_linearly_up_to_300_000_hosts() {
    // Benito et al. 2015, section VI-A; a quadratic list would be hundreds of times as long, and take hours.
    let clos = |hosts| {
        let uplinks = vec![Uplinks::default(); 3];
        FoldedClos { radix: 72, hosts, uplinks, ..FoldedClos::default() }.generate().unwrap()
    };
    let fabrics = [clos(303_264 / 13), clos(303_264)];
    for &export in Export::ALL {
        let bytes = |topology: &Topology| -> usize {
            export.files(topology, &ExportNames::default()).unwrap().iter().map(|file| file.text.len()).sum()
        };
        let [part, whole] = [0, 1].map(|fabric: usize| bytes(&fabrics[fabric]) as f64);
        // Thirteen times the hosts; longer numbers add a third at most.
        assert!((13.0 * 0.75..13.0 * 1.34).contains(&(whole / part)), "{export:?}: {part} and {whole} bytes");
    }
}
