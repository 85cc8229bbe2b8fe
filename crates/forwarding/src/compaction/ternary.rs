//! Patterns of any shape, after Brayton et al., "Logic minimization algorithms for VLSI synthesis", 1984 (Espresso),
//! one pass of its *expand* and *irredundant*: each region's pattern loses every bit that it can without touching a
//! region with other ports, and takes with it the regions that it now contains. The ports with most rules become the
//! rule of last resort.

use super::RegionRoutes;
use crate::{RegionRoute, Rule, Ternary};

pub(super) fn rules(routes: &RegionRoutes<'_>) -> Vec<Rule> {
    let mut is_covered = vec![false; routes.entries.len()];
    let mut rules = Vec::new();
    for place in 0..routes.entries.len() {
        if !is_covered[place] {
            let entry = &routes.entries[place];
            let dst = expand(entry, &routes.entries, routes.plan.bits());
            routes.entries.iter().zip(&mut is_covered).for_each(|(other, done)| *done |= dst.covers(other.cube));
            rules.push(Rule::to(2, dst, entry.action));
        }
    }
    with_last_resort(rules)
}

/// Frees the bits of a region's pattern, the most significant first: those of the fields that wildcards leave out.
fn expand(entry: &RegionRoute<'_>, all: &[RegionRoute<'_>], bits: u32) -> Ternary {
    let others: Vec<Ternary> =
        all.iter().filter(|other| other.action != entry.action).map(|other| other.cube).collect();
    (0..bits).rev().fold(entry.cube, |cube, place| {
        let wider = Ternary::new(cube.value(), cube.mask() & !(1 << place));
        if others.iter().any(|other| wider.meets(*other)) { cube } else { wider }
    })
}

/// One rule behind all others in place of the rules with the most frequent action.
fn with_last_resort(mut rules: Vec<Rule>) -> Vec<Rule> {
    let count = |rule: &Rule| rules.iter().filter(|other| other.action == rule.action).count();
    let Some(most) = rules.iter().max_by_key(|rule| (count(rule), std::cmp::Reverse(rule.action))) else {
        return rules;
    };
    let action = most.action;
    rules.retain(|rule| rule.action != action);
    rules.push(Rule::to(1, Ternary::ANY, action));
    rules
}
