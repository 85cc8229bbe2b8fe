//! A smaller table that does the same, for any table: also for packets to addresses that no host has.
//!
//! Three steps, none of which adds a rule: rules that an earlier one covers go; patterns of one priority and action
//! that differ in one bit join, to a fixpoint; rules go whose packets would be treated alike without them. A table
//! whose rules overlap with different actions at one priority is not joined there, since order would matter.

use std::cmp::Reverse;

use crate::{FlowTable, Rule, Ternary};

/// Rules of one priority that are compared pair by pair.
const PAIRWISE_MAX: usize = 2_048;
/// Steps to find out whether a rule is redundant.
const STEPS_MAX: u32 = 4_096;

/// A table that treats every packet alike with as many rules or fewer.
pub fn minimise(table: &FlowTable) -> FlowTable {
    let mut rules = without_shadowed(table.rules());
    let bits = rules.iter().fold(0, |bits, rule| bits | rule.dst.mask());
    // Joining at one bit makes masks alike that were not: each round may enable the next, and frees a rule at least.
    let mut before = usize::MAX;
    while rules.len() < before {
        before = rules.len();
        let free = (0..u64::BITS).map(|place| 1 << place).filter(|bit| bits & bit != 0);
        rules = free.fold(rules, joined);
    }
    FlowTable::new(without_redundant(rules), table.sets().clone())
}

/// Without rules that an earlier one takes everything from.
fn without_shadowed(rules: &[Rule]) -> Vec<Rule> {
    let mut kept: Vec<Rule> = Vec::with_capacity(rules.len());
    let is_small = rules.len() <= PAIRWISE_MAX;
    for rule in rules {
        if !(is_small && kept.iter().any(|earlier| shadows(earlier, rule))) {
            kept.push(*rule);
        }
    }
    kept
}

fn shadows(earlier: &Rule, rule: &Rule) -> bool {
    let in_port = earlier.in_port.is_none() || earlier.in_port == rule.in_port;
    earlier.unless_paused.is_none() && in_port && earlier.dst.covers(rule.dst) && earlier.src.covers(rule.src)
}

/// Joins pairs that differ in one bit of the destination, priority by priority.
fn joined(rules: Vec<Rule>, bit: u64) -> Vec<Rule> {
    let mut result = Vec::with_capacity(rules.len());
    for class in rules.chunk_by(|a, b| a.priority == b.priority) {
        match order_matters(class) {
            true => result.extend_from_slice(class),
            false => result.extend(joined_class(class, bit)),
        }
    }
    result
}

fn joined_class(class: &[Rule], bit: u64) -> Vec<Rule> {
    let key = |rule: &Rule| {
        let rest = Ternary::new(rule.dst.value() & !bit, rule.dst.mask());
        (rule.action, rule.in_port, rule.unless_paused, rule.src, rule.dst.mask(), rest.value())
    };
    let mut sorted = class.to_vec();
    sorted.sort_by_key(|rule| (key(rule), rule.dst));
    let mut result: Vec<Rule> = Vec::with_capacity(sorted.len());
    for rule in sorted {
        match result.last_mut().filter(|last| key(last) == key(&rule)).map(|last| (last.dst.join(rule.dst), last)) {
            Some((Some(dst), last)) => last.dst = dst,
            Some((None, _)) | None => result.push(rule),
        }
    }
    result.sort_by_key(|rule| rule.dst);
    result
}

/// Whether rules of one priority overlap and differ in what they do.
fn order_matters(class: &[Rule]) -> bool {
    let alike = |a: &Rule, b: &Rule| a.action == b.action && a.unless_paused == b.unless_paused;
    let overlap = |a: &Rule, b: &Rule| {
        let in_port = a.in_port.is_none() || b.in_port.is_none() || a.in_port == b.in_port;
        in_port && a.dst.meets(b.dst) && a.src.meets(b.src)
    };
    if class.iter().all(|rule| alike(rule, &class[0])) {
        return false;
    }
    if class.len() > PAIRWISE_MAX {
        return !are_disjoint_words(class);
    }
    (1..class.len()).any(|at| class[..at].iter().any(|rule| !alike(rule, &class[at]) && overlap(rule, &class[at])))
}

/// Whether the destinations have one mask and no value twice, as those of long lists of hosts do.
fn are_disjoint_words(class: &[Rule]) -> bool {
    let mut values: Vec<u64> = class.iter().map(|rule| rule.dst.value()).collect();
    values.sort_unstable();
    class.iter().all(|rule| rule.dst.mask() == class[0].dst.mask()) && values.windows(2).all(|pair| pair[0] != pair[1])
}

/// Without rules whose packets the rules behind them treat alike.
fn without_redundant(mut rules: Vec<Rule>) -> Vec<Rule> {
    rules.sort_by_key(|rule| Reverse(rule.priority));
    if rules.len() > PAIRWISE_MAX {
        return rules;
    }
    for place in (0..rules.len()).rev() {
        let mut steps = STEPS_MAX;
        if is_decided_alike(rules[place].dst, &rules[place], &rules[place + 1..], &mut steps) {
            rules.remove(place);
        }
    }
    rules
}

/// Whether the first of `behind` that matches does what `rule` does, for all destinations of a pattern.
fn is_decided_alike(dst: Ternary, rule: &Rule, behind: &[Rule], steps: &mut u32) -> bool {
    let Some(next) = behind.iter().find(|other| other.dst.meets(dst)) else { return false };
    *steps = steps.saturating_sub(1);
    let same = (next.action, next.src, next.in_port, next.unless_paused);
    if *steps == 0 || same != (rule.action, rule.src, rule.in_port, rule.unless_paused) {
        return false;
    }
    let apart = next.dst.mask() & !dst.mask();
    if apart == 0 {
        return true;
    }
    dst.halves(1 << apart.ilog2()).into_iter().all(|half| is_decided_alike(half, rule, behind, steps))
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Port;

    use super::*;
    use crate::{PortSets, SetId};

    /// Rules as priority, pattern, action.
    fn check(rules: &[(u16, &str, u32)], expected: &[(u16, &str, u32)]) {
        let mut sets = PortSets::default();
        (0..4).for_each(|port| {
            sets.push(&[Port::new(port)]);
        });
        let rule = |&(priority, pattern, action): &(u16, &str, u32)| {
            let bits = |sign: char| pattern.chars().fold(0, |word, digit| word << 1 | u64::from(digit == sign));
            let mask = bits('0') | bits('1');
            Rule::to(priority, Ternary::new(bits('1'), mask), SetId(action))
        };
        let table = minimise(&FlowTable::new(rules.iter().map(rule).collect(), sets.clone()));
        assert_eq!(table, FlowTable::new(expected.iter().map(rule).collect(), sets));
    }

    #[test]
    fn patterns_join_in_any_bit() {
        check(&[(1, "000", 0), (1, "010", 0), (1, "100", 0), (1, "110", 0)], &[(1, "**0", 0)]);
        check(&[(1, "00", 0), (1, "01", 1), (1, "10", 0), (1, "11", 1)], &[(1, "*0", 0), (1, "*1", 1)]);
    }

    #[test]
    fn groups_1_and_2_do_not_join_without_3() {
        // Benito et al. 2015, section III-B: a wildcard for remote groups 1 and 2 would also match group 3.
        let rules = [(1, "01", 0), (1, "10", 0), (1, "11", 1)];
        check(&rules, &rules);
    }

    #[test]
    fn covered_and_redundant_rules_are_removed() {
        check(&[(2, "1*", 0), (1, "11", 1), (1, "0*", 2)], &[(2, "1*", 0), (1, "0*", 2)]);
        check(&[(2, "11", 0), (1, "**", 0)], &[(1, "**", 0)]);
        check(&[(3, "11", 0), (2, "1*", 1), (1, "**", 0)], &[(3, "11", 0), (2, "1*", 1), (1, "**", 0)]);
    }

    #[test]
    fn overlapping_rules_of_one_priority_keep_their_order() {
        let rules = [(1, "1*", 0), (1, "*1", 1), (1, "00", 1)];
        check(&rules, &rules);
    }
}
