//! Pareto dominance: a strict partial order, against counting by brute force.

use etherweave_design::{Bill, Comparison, Design, DesignMetrics, DesignSpec, TableCounts, WattsOf};
use etherweave_topology::{SingleSwitch, TopologyKind};
use proptest::prelude::*;

/// The goals of a fabric: hosts, bisection, entries, watts, price; small numbers, so that many are equal.
type Goals = (u8, u8, Option<u8>, Option<u8>, Option<u8>);

/// A complete design whose figures the goals replace.
fn pattern() -> Design {
    let kind = TopologyKind::SingleSwitch(SingleSwitch::default());
    Design::of("pattern", &kind, &kind.generate().unwrap(), &DesignSpec::default(), &mut |_| true).unwrap()
}

fn with(pattern: &Design, number: usize, goals: Goals) -> Design {
    let (hosts, bisection, entries, watts, price) = goals;
    let hosts_wide = 1 + u64::from(hosts);
    // Per host, the goals are whole numbers again: sums are exact in binary.
    let per_host = |goal: u8| f64::from(goal) * hosts_wide as f64;
    let mut design = Design { name: format!("f{number}"), ..pattern.clone() };
    design.fabric.hosts = hosts_wide;
    design.fabric.bisection_gbps = per_host(bisection);
    let (tables, power, cost) = (design.tables.take(), design.power.take(), design.cost.take());
    let entries_of = |tables: TableCounts, entries: u8| {
        let mut tables = tables;
        tables.compacted.largest.entries = entries.into();
        tables
    };
    let watts_of = |mut power: WattsOf, watts: u8| {
        power.organisations.last_mut().unwrap().fabric.total_w = per_host(watts);
        power
    };
    design.tables = tables.zip(entries).map(|(tables, entries)| entries_of(tables, entries));
    design.power = power.zip(watts).map(|(power, watts)| watts_of(power, watts));
    design.cost = cost.zip(price).map(|(cost, price)| Bill { total: per_host(price), ..cost });
    design
}

fn compared(all: &[Goals]) -> Vec<DesignMetrics> {
    let pattern = pattern();
    assert!(pattern.tables.is_some() && pattern.power.is_some() && pattern.cost.is_some());
    Comparison::of(all.iter().enumerate().map(|(number, &goals)| with(&pattern, number, goals)).collect()).metrics
}

/// Pareto's criterion goal by goal: `goals` must be known wherever `other` is.
fn beats(goals: &Goals, other: &Goals) -> bool {
    let list = |goals: &Goals| {
        let less = |goal: Option<u8>| goal.map(|goal| -i32::from(goal));
        [Some(goals.0.into()), Some(goals.1.into()), less(goals.2), less(goals.3), less(goals.4)]
    };
    let (mut is_better, mut is_worse) = (false, false);
    for (mine, its) in list(goals).into_iter().zip(list(other)) {
        match (mine, its) {
            (_, None) => {}
            (None, Some(_)) => is_worse = true,
            (Some(mine), Some(its)) => {
                is_better |= mine > its;
                is_worse |= mine < its;
            }
        }
    }
    is_better && !is_worse
}

fn goal() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![1 => Just(None), 5 => (0u8..3).prop_map(Some)]
}

fn goals() -> impl Strategy<Value = Goals> {
    (0u8..3, 0u8..3, goal(), goal(), goal())
}

fn names(all: &[Goals], keep: impl Fn(&Goals) -> bool) -> Vec<String> {
    let kept = all.iter().enumerate().filter(|(_, goals)| keep(goals));
    kept.map(|(number, _)| format!("f{number}")).collect()
}

proptest! {
    #[test]
    fn a_fabric_is_beaten_by_those_of_the_criterion_and_efficient_without(
        all in proptest::collection::vec(goals(), 1..8),
    ) {
        for (goals, metrics) in all.iter().zip(compared(&all)) {
            prop_assert_eq!(&metrics.beaten_by, &names(&all, |other| beats(other, goals)));
            prop_assert_eq!(metrics.is_efficient, metrics.beaten_by.is_empty());
        }
    }

    #[test]
    fn metrics_of_several_processes_are_compared_as_those_of_one(
        all in proptest::collection::vec(goals(), 1..8),
    ) {
        let alone = |number: usize| compared(&all[number..=number]).remove(0);
        let mut apart: Vec<DesignMetrics> = (0..all.len()).map(alone).collect();
        for (number, metrics) in apart.iter_mut().enumerate() {
            metrics.name = format!("f{number}");
        }
        let text = DesignMetrics::compare_json(&serde_json::to_string(&apart).unwrap()).unwrap();
        let metrics: Vec<DesignMetrics> = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(metrics, compared(&all));
    }

    #[test]
    fn nothing_beats_itself_or_what_beats_it_and_who_beats_the_better_beats_the_worse(
        all in proptest::collection::vec(goals(), 1..8),
    ) {
        let metrics = compared(&all);
        let beaten_by = |fabric: &DesignMetrics, other: &DesignMetrics| fabric.beaten_by.contains(&other.name);
        prop_assert!(metrics.iter().any(|fabric| fabric.is_efficient), "an order has best members");
        for fabric in &metrics {
            prop_assert!(!beaten_by(fabric, fabric));
            for better in metrics.iter().filter(|other| beaten_by(fabric, other)) {
                prop_assert!(!beaten_by(better, fabric));
                for best in metrics.iter().filter(|other| beaten_by(better, other)) {
                    prop_assert!(beaten_by(fabric, best), "{} {} {}", fabric.name, better.name, best.name);
                }
            }
        }
    }

    #[test]
    fn one_more_that_is_beaten_changes_nobody_s_efficiency(
        all in proptest::collection::vec(goals(), 1..7),
        place in any::<prop::sample::Index>(),
        worse in (0u8..2, 0u8..2, 0u8..2),
    ) {
        let before: Vec<bool> = compared(&all).iter().map(|metrics| metrics.is_efficient).collect();
        // As the one at `place`, but not as good: fewer hosts, more entries, a higher price.
        let mut last = all[place.index(all.len())];
        last.0 = last.0.saturating_sub(worse.0);
        last.2 = last.2.map(|entries| entries + worse.1);
        last.4 = last.4.map(|price| price + worse.2);
        let more: Vec<Goals> = all.iter().copied().chain([last]).collect();
        prop_assume!(all.iter().any(|goals| beats(goals, &last)));
        let after: Vec<bool> = compared(&more).iter().map(|metrics| metrics.is_efficient).collect();
        prop_assert_eq!(&after[..all.len()], &before[..]);
        prop_assert!(!after[all.len()]);
    }
}
