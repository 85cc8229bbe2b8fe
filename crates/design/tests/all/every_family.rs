//! Properties of the design of any fabric: sums are the sums of their parts, and the text is the same each time.

use etherweave_design::{ActivitySpec, Design, DesignError, DesignSpec, DesignStep, Watts};
use etherweave_primitives::Bytes;
use etherweave_topology::{Dragonfly, FatTree, Topology, TopologyKind};

/// Floating-point sums in another order may differ by this share.
const TOLERANCE: f64 = 1e-9;

fn designed(kind: &TopologyKind, topology: &Topology) -> Design {
    Design::of(kind.name(), kind, topology, &DesignSpec::default(), &mut |_| true).unwrap()
}

fn check(holds: impl Fn(&Topology, &Design)) {
    for kind in TopologyKind::examples() {
        let topology = kind.generate().unwrap();
        holds(&topology, &designed(&kind, &topology));
    }
}

fn assert_near(figure: f64, expected: f64, of: &str) {
    assert!((figure - expected).abs() <= TOLERANCE * expected.abs(), "{of}: {figure}, not {expected}");
}

#[test]
fn cables_sum_to_the_links_and_ports_to_the_radix() {
    check(|topology, Design { name, fabric, .. }| {
        let links: u64 = fabric.cables.iter().map(|cables| cables.links).sum();
        assert_eq!(links, topology.channels().len() as u64 / 2, "{name}");
        assert!(fabric.cables.iter().all(|cables| (1..=cables.links).contains(&cables.cables)), "{name}");
        assert_eq!((fabric.hosts, fabric.switches), (topology.hosts() as u64, topology.switches() as u64), "{name}");
        // A host's link has one end at a switch, every other two.
        assert_eq!(fabric.ports_used, 2 * links - fabric.hosts, "{name}");
        let ports = fabric.radix.map(|radix| u64::from(radix) * fabric.switches);
        assert_eq!(fabric.ports_free.map(|free| free + fabric.ports_used), ports, "{name}");
    });
}

#[test]
fn a_host_is_at_most_the_diameter_away_and_no_half_sends_more_than_it_has() {
    check(|topology, Design { name, fabric, .. }| {
        assert!((0.0..=f64::from(fabric.diameter)).contains(&fabric.distance_mean), "{name}");
        assert!((fabric.diameter as usize) < topology.switches(), "{name}");
        let has_halves = topology.hosts() > 1;
        assert_eq!((fabric.bisection_gbps > 0.0, fabric.bisection_share > 0.0), (has_halves, has_halves), "{name}");
        assert!(fabric.paths_min <= fabric.paths_max && fabric.paths_mean <= fabric.paths_max as f64, "{name}");
        assert!(fabric.tapers.iter().all(|taper| taper.ratio > 0.0), "{name}");
        // No cut is wider than all links together.
        let between: f64 = fabric.cables.iter().map(|cables| cables.links as f64 * cables.rate_gbps).sum();
        assert!(fabric.bisection_gbps <= between, "{name}");
    });
}

#[test]
fn compacted_tables_are_proved_for_every_pair_and_no_larger_than_plain_ones() {
    check(|topology, Design { name, tables, .. }| {
        let tables = tables.as_ref().unwrap_or_else(|| panic!("{name} has tables"));
        let hosts = topology.hosts() as u64;
        assert_eq!(tables.exact.entries, hosts, "{name}");
        let compacted = &tables.compacted;
        assert_eq!(compacted.pairs_proved, hosts * topology.switches() as u64, "{name}");
        assert!(compacted.regions_proved <= compacted.pairs_proved.max(1), "{name}");
        assert!(compacted.rules_min as f64 <= compacted.rules_mean, "{name}");
        assert!(compacted.rules_mean <= compacted.largest.entries as f64 && compacted.rules_min >= 1, "{name}");
        for plan in &tables.plans {
            assert!(plan.entries_min as f64 <= plan.entries_mean, "{name} {}", plan.plan.name());
            assert!(plan.entries_mean <= plan.largest.entries as f64, "{name} {}", plan.plan.name());
            let excess = plan.largest.entries.saturating_sub(plan.largest.capacity);
            assert_eq!(plan.largest.excess, excess, "{name} {}", plan.plan.name());
        }
        // Flat, per switch, per group: each is counted or has a reason.
        assert_eq!(tables.plans.len() + tables.plans_missing.len(), 3, "{name}");
    });
}

#[test]
fn the_busiest_channel_is_no_less_loaded_than_a_host_s_and_no_less_by_tables_than_by_an_even_split() {
    check(|topology, Design { name, busiest, missing, .. }| {
        let Some(busiest) = busiest else {
            assert_eq!(topology.hosts(), 1, "{name}: {missing:?}");
            return;
        };
        for under in [&busiest.tables, &busiest.algorithm] {
            assert!(
                under.uniform.load > 1.0 - TOLERANCE && under.worst.load > under.uniform.load - TOLERANCE,
                "{name}"
            );
            assert_near(under.worst.accepted, 1.0 / under.worst.load.max(1.0), name);
            assert!(under.uniform.switches_further.is_none() && under.uniform.channel.contains(" to "), "{name}");
        }
        let share = busiest.algorithm.uniform.load / busiest.tables.uniform.load;
        assert!((0.9..1.01).contains(&share), "{name}: {share}");
    });
}

#[test]
fn routings_that_a_family_is_known_for_are_free_of_deadlock_or_say_where_not() {
    check(|topology, Design { name, routings, .. }| {
        assert!(!routings.is_empty(), "{name}");
        for proof in routings {
            let by = ["free, because acyclic", "free, because channels ascend"];
            assert_eq!(proof.is_free, by.contains(&proof.verdict.as_str()), "{name} {:?}", proof.routing);
            let hops = 2 * topology.channels().len() as u64 * u64::from(proof.priorities);
            assert!(proof.channels <= hops, "{name} {:?}", proof.routing);
        }
        assert!(routings.iter().any(|proof| proof.is_free), "{name}");
    });
}

#[test]
fn watts_are_the_sum_of_their_components() {
    let components = |watts: &Watts| {
        watts.fixed_w + watts.ports_w + watts.modules_w + watts.buffers_w + watts.tables_w + watts.nics_w
    };
    let spec = |load| DesignSpec {
        activity: Some(ActivitySpec { load, packet: Bytes::new(1000), saving: None }),
        ..DesignSpec::default()
    };
    let mut powered = 0;
    for kind in TopologyKind::examples() {
        let topology = kind.generate().unwrap();
        let under = |load| Design::of(kind.name(), &kind, &topology, &spec(load), &mut |_| true);
        // A load is only asked about where a profile has all parts.
        let Some(power) = designed(&kind, &topology).power else {
            let error = under(0.5).unwrap_err().to_string();
            assert!(error.starts_with("activity: "), "{}: {error}", kind.name());
            continue;
        };
        powered += 1;
        for organisation in &power.organisations {
            let Watts { total_w, .. } = organisation.fabric;
            assert_near(components(&organisation.fabric), total_w, kind.name());
            assert!(organisation.switch.total_w * topology.switches() as f64 <= total_w * (1.0 + TOLERANCE));
        }
        let [idle, busy] = [0.0, 1.0].map(|load| under(load).unwrap().power.unwrap());
        let names =
            |power: &etherweave_design::WattsOf, key: &str| power.figures.iter().any(|figure| figure.key == key);
        let keys = [("low_power_idle", "share"), ("link_sleep", "wake"), ("rate_adaptation", "change")];
        for (saving, key) in keys.map(|(saving, key)| (saving, format!("{saving}.{key}"))) {
            let is_cited = idle.activity.iter().any(|at| at.saving == saving);
            assert_eq!((names(&idle, &key), names(&power, &key)), (is_cited, false), "{key} is cited where it is used");
        }
        assert_eq!(idle.organisations, power.organisations, "a load leaves the worst case alone");
        let worst = power.design().fabric.total_w;
        for (idle, busy) in idle.activity.iter().zip(&busy.activity) {
            assert_near(components(&idle.fabric), idle.fabric.total_w, kind.name());
            assert!(idle.fabric.total_w <= busy.fabric.total_w * (1.0 + TOLERANCE), "{}", kind.name());
            assert!(busy.fabric.total_w <= worst * (1.0 + TOLERANCE), "{}: {}", kind.name(), busy.saving);
        }
    }
    assert!(powered * 2 > TopologyKind::examples().len(), "most examples have links that a profile knows");
}

#[test]
fn a_bill_is_the_sum_of_its_items() {
    check(|_, Design { name, cost, missing, .. }| {
        let Some(bill) = cost else {
            return assert!(missing.iter().any(|reason| reason.starts_with("cost: ")), "{name}: {missing:?}");
        };
        bill.items
            .iter()
            .for_each(|item| assert_near(item.all.amount_f64(), item.count as f64 * item.each.amount_f64(), &item.key));
        assert_near(bill.items.iter().map(|item| item.all.amount_f64()).sum(), bill.total, name);
        assert!(!bill.figures.is_empty() && bill.figures.iter().all(|figure| !figure.source.is_empty()), "{name}");
    });
}

#[test]
fn a_design_is_the_same_bytes_each_time_with_finite_numbers_only() {
    for kind in TopologyKind::examples() {
        let topology = kind.generate().unwrap();
        let first = designed(&kind, &topology).to_json();
        assert_eq!(first, designed(&kind, &kind.generate().unwrap()).to_json(), "{}", kind.name());
        let nulls: Vec<String> = nulls("", &serde_json::from_str(&first).unwrap());
        // JSON writes what is no number as null; these keys are null when something is not known.
        let optional = ["radix", "ports_free", "tables", "busiest", "switches_further", "power", "cost"];
        let optional = [optional.as_slice(), &["electricity_year", "plan", "table", "date"]].concat();
        for path in nulls {
            assert!(optional.contains(&path.rsplit('.').next().unwrap()), "{}: {path} is no number", kind.name());
        }
    }
}

fn nulls(path: &str, value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Null => vec![path.to_owned()],
        serde_json::Value::Array(list) => {
            list.iter().enumerate().flat_map(|(at, value)| nulls(&format!("{path}.{at}"), value)).collect()
        }
        serde_json::Value::Object(table) => {
            table.iter().flat_map(|(key, value)| nulls(&format!("{path}.{key}"), value)).collect()
        }
        serde_json::Value::Bool(_) | serde_json::Value::Number(_) | serde_json::Value::String(_) => Vec::new(),
    }
}

#[test]
fn long_steps_say_how_many_switches_are_done_and_can_be_stopped() {
    // 33 groups of 8 switches.
    let kind = TopologyKind::Dragonfly(Dragonfly { p: 2, a: 8, h: 4, ..Dragonfly::default() });
    let mut steps = Vec::new();
    let mut on_step = |step: DesignStep| {
        steps.push(step.to_string());
        steps.len() < 5
    };
    let design = Design::of("stopped", &kind, &kind.generate().unwrap(), &DesignSpec::default(), &mut on_step);
    assert!(matches!(design, Err(DesignError::Stopped)));
    let done = |step: &str, switches: u32| format!("{step}, {switches} of 264 switches done");
    let [measuring, planning] = ["measuring", "planning tables"];
    let first = [measuring.to_owned(), done(measuring, 256), planning.to_owned()];
    assert_eq!(steps, [&first[..], &[64, 128].map(|switches| done(planning, switches))].concat());
}

#[test]
fn a_panic_in_a_part_leaves_the_others_and_is_named() {
    let kind = TopologyKind::FatTree(FatTree::default());
    let topology = kind.generate().unwrap();
    let panicking = |begin: &str| {
        let mut on_step = |step: DesignStep| {
            assert!(!step.to_string().starts_with(begin), "the part has a fault");
            true
        };
        Design::of("faulty", &kind, &topology, &DesignSpec::default(), &mut on_step).unwrap()
    };
    let design = designed(&kind, &topology);
    assert_eq!((design.fault.as_ref(), design.missing.len()), (None, 0));
    let missing = |name: &str| vec![format!("{name}: a fault of Etherweave: the part has a fault")];

    let faulty = panicking("proving up_down");
    assert_eq!(faulty.missing, missing("up_down"));
    assert_eq!(faulty.fault.as_ref().unwrap().message, "the part has a fault");
    assert_eq!((&faulty.tables, &faulty.power, &faulty.cost), (&design.tables, &design.power, &design.cost));
    assert_eq!(faulty.routings.len() + 1, design.routings.len());

    let faulty = panicking("adding up");
    assert_eq!(faulty.missing, missing("power"));
    assert_eq!((&faulty.routings, &faulty.tables), (&design.routings, &design.tables));
    assert!(faulty.power.is_none() && faulty.cost.is_some());
}
