//! Max-min fair rates where links divide their capacity between traffic classes (IEEE 802.1Q-2018, 8.6.8): strict
//! classes first, the highest before the others; of what they leave, each class gets its weight's share, and what a
//! class does not use goes to the others by their weights. Within a class rates are max-min fair.
//!
//! What a class leaves on a link depends on links elsewhere, which depend on what classes leave there. So capacities of
//! classes are found by rounds: rates, what each class uses of each link, capacities from that, and rates again.

use super::max_min::{MaxMin, Share};

/// Rounds at most; from half of them on capacities move by half of what is found, so that none swings.
const ROUNDS: u32 = 16;
/// A change of less of a link ends the rounds.
const SETTLED: f64 = 1e-4;
/// Share that a class has of a link that others fill: its messages wait, and do not stop for ever.
pub(super) const SHARE_MIN: f64 = 1e-6;
/// Sums of rates are rounded by less than this share of a link.
const RATE_SLACK: f64 = 1e-6;
/// Classes divide a link but for this share of it.
const CLASS_SLACK: f64 = 0.01;
/// Note of a class that does not use a link.
const ABSENT: f64 = -1.0;

/// Links, and the classes that share them.
pub struct ClassLinks {
    /// Each class of each link is a link of its own.
    solver: MaxMin,
    capacities: Vec<f64>,
    /// Weight of each class; 0 where it is strict. Strict ones first, the highest first.
    weights: Vec<f64>,
    /// Rate that each class of each link would take [B/ps], infinite where the link limits it.
    wants: Vec<f64>,
    touched: Vec<u32>,
}

impl ClassLinks {
    /// Links of such capacities, shared by classes of such weights.
    pub fn new(capacities: Vec<f64>, weights: Vec<f64>) -> ClassLinks {
        let of_classes = |&capacity: &f64| std::iter::repeat_n(capacity, weights.len());
        let all: Vec<f64> = capacities.iter().flat_map(of_classes).collect();
        ClassLinks {
            wants: vec![ABSENT; all.len()],
            solver: MaxMin::new(all),
            capacities,
            weights,
            touched: Vec::new(),
        }
    }

    /// Capacity of a link.
    pub fn capacity(&self, link: u32) -> f64 {
        self.capacities[link as usize]
    }

    /// The most that rates fill of a link: its capacity, but for what sums are rounded by, or classes leave open.
    pub fn filled(&self, link: u32) -> f64 {
        self.capacity(link) * (1.0 + if self.classes() > 1 { CLASS_SLACK } else { RATE_SLACK })
    }

    /// Leaves less of a link to a single class until this is called again.
    pub fn limit(&mut self, link: u32, capacity: f64) {
        debug_assert!(self.weights.len() == 1, "several classes divide links anew");
        self.solver.capacities[link as usize] = capacity;
    }

    /// How many classes there are.
    pub fn classes(&self) -> u32 {
        self.weights.len() as u32
    }

    /// The rates of flows, none above its limit. `links_of` gives the links of a flow, each times the number of classes
    /// plus the flow's class, with their shares; bottlenecks are numbered likewise.
    pub fn solve<P: Iterator<Item = (u32, f64)>>(
        &mut self,
        limits: &[f64],
        links_of: impl Fn(u32) -> P,
        shares: &mut Vec<Share>,
    ) {
        if self.weights.len() == 1 {
            return self.solver.solve(limits, links_of, shares);
        }
        (0..limits.len() as u32).flat_map(&links_of).for_each(|(link, _)| self.note(link, f64::INFINITY));
        self.divide(1.0);
        for round in 0..ROUNDS {
            self.solver.solve(limits, &links_of, shares);
            for (flow, share) in (0..).zip(shares.iter()) {
                links_of(flow).for_each(|(link, part)| self.note(link, part * share.rate));
            }
            let full = shares.iter().filter_map(|share| share.bottleneck);
            full.for_each(|link| self.wants[link as usize] = f64::INFINITY);
            if self.divide(if round < ROUNDS / 2 { 1.0 } else { 0.5 }) < SETTLED {
                return;
            }
        }
    }

    fn note(&mut self, number: u32, rate: f64) {
        let wants = &mut self.wants[number as usize];
        if *wants == ABSENT {
            *wants = 0.0;
            self.touched.push(number / self.weights.len() as u32);
        }
        *wants += rate;
    }

    /// Gives classes what they may have of the links that are noted, and forgets the notes; returns the largest change,
    /// as a part of its link. Of each change only a `part` is made.
    fn divide(&mut self, part: f64) -> f64 {
        let classes = self.weights.len();
        let mut largest: f64 = 0.0;
        for number in self.touched.drain(..) {
            let (first, capacity) = (number as usize * classes, self.capacities[number as usize]);
            for class in 0..classes {
                if self.wants[first + class] != ABSENT {
                    let own = &mut self.solver.capacities[first + class];
                    let share = most(capacity, &self.weights, &self.wants[first..first + classes], class);
                    largest = largest.max((share - *own).abs() / capacity);
                    *own = part * share + (1.0 - part) * *own;
                }
            }
            // A link is noted for each of its classes.
            self.wants[first..first + classes].fill(ABSENT);
        }
        largest
    }
}

/// The most that a class can have of a link, while the others want so much.
fn most(capacity: f64, weights: &[f64], wants: &[f64], class: usize) -> f64 {
    let is_before = |other: usize| weights[other] == 0.0 && other != class && (weights[class] > 0.0 || other < class);
    let before: f64 = (0..weights.len()).filter(|&other| is_before(other)).map(|other| wants[other].max(0.0)).sum();
    let mut left = (capacity - before).max(SHARE_MIN * capacity);
    if weights[class] == 0.0 {
        return left;
    }
    let wants = |other: usize| if other == class { f64::INFINITY } else { wants[other].max(0.0) };
    let mut open: u32 =
        (0..weights.len()).filter(|&other| weights[other] > 0.0).fold(0, |open, other| open | 1 << other);
    loop {
        let is_open = |other: usize| open & 1 << other != 0;
        let sum: f64 = (0..weights.len()).filter(|&other| is_open(other)).map(|other| weights[other]).sum();
        let each = left / sum;
        let content = (0..weights.len()).find(|&other| is_open(other) && wants(other) < weights[other] * each);
        let Some(content) = content else { return weights[class] * each };
        (left, open) = (left - wants(content), open & !(1 << content));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Links, class and limit.
    type TestFlow = (Vec<u32>, usize, f64);

    fn rates(capacities: &[f64], weights: &[f64], flows: &[TestFlow]) -> Vec<f64> {
        let (mut shares, classes) = (Vec::new(), weights.len() as u32);
        let mut links = ClassLinks::new(capacities.to_vec(), weights.to_vec());
        let limits: Vec<f64> = flows.iter().map(|flow| flow.2).collect();
        let links_of = |flow: u32| {
            let (path, class, _) = &flows[flow as usize];
            path.iter().map(move |link| (link * classes + *class as u32, 1.0))
        };
        links.solve(&limits, links_of, &mut shares);
        // Nothing is left of an earlier solution.
        let first: Vec<f64> = shares.iter().map(|share| share.rate).collect();
        links.solve(&limits, links_of, &mut shares);
        assert_eq!(first, shares.iter().map(|share| share.rate).collect::<Vec<_>>());
        first
    }

    fn check(weights: &[f64], flows: &[(usize, f64)], expected: &[f64]) {
        let flows: Vec<TestFlow> = flows.iter().map(|&(class, limit)| (vec![0], class, limit)).collect();
        let solution = rates(&[1.0], weights, &flows);
        assert!(solution.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{solution:?} {expected:?}");
    }

    const FREE: f64 = f64::INFINITY;

    #[test]
    fn classes_share_a_link_by_weight_and_flows_of_a_class_equally() {
        check(&[50.0, 50.0], &[(0, FREE), (0, FREE), (1, FREE)], &[0.25, 0.25, 0.5]);
        check(&[75.0, 25.0], &[(0, FREE), (0, FREE), (1, FREE)], &[0.375, 0.375, 0.25]);
        check(&[75.0, 25.0], &[(1, FREE), (1, FREE)], &[0.5, 0.5]);
    }

    #[test]
    fn what_a_class_leaves_goes_to_the_others_by_weight() {
        check(&[50.0, 50.0], &[(0, FREE), (0, FREE), (1, 0.1)], &[0.45, 0.45, 0.1]);
        // 0.2 of 0.5 is left: 25 to 25.
        check(&[50.0, 25.0, 25.0], &[(0, 0.3), (1, FREE), (2, FREE)], &[0.3, 0.35, 0.35]);
    }

    #[test]
    fn a_strict_class_goes_first() {
        check(&[0.0, 60.0, 40.0], &[(0, 0.5), (1, FREE), (2, FREE)], &[0.5, 0.3, 0.2]);
        check(&[0.0, 0.0, 100.0], &[(1, FREE), (0, 0.75), (2, FREE)], &[0.25, 0.75, 0.0]);
    }

    /// The second class is limited on another link to 0.2, so that the first has 0.8 of the link of both.
    #[test]
    fn what_a_class_leaves_because_of_another_link_is_used() {
        let flows = [(vec![0], 0, FREE), (vec![0, 1], 1, FREE)];
        let solution = rates(&[1.0, 0.2], &[50.0, 50.0], &flows);
        assert!((solution[0] - 0.8).abs() < 1e-3 && (solution[1] - 0.2).abs() < 1e-3, "{solution:?}");
    }

    /// Ten flows of the first class share a link with one of the second, and ten of the second another with one of the
    /// first; both single flows use both links: 10 x + y = 1 and x + 10 y = 1 where each class takes what the other
    /// leaves, so that all have 1/11.
    #[test]
    fn links_that_depend_on_each_other_settle() {
        let mut flows = vec![(vec![0, 1], 0, FREE), (vec![0, 1], 1, FREE)];
        flows.extend(std::iter::repeat_n((vec![0], 0, FREE), 9));
        flows.extend(std::iter::repeat_n((vec![1], 1, FREE), 9));
        let solution = rates(&[1.0, 1.0], &[50.0, 50.0], &flows);
        assert!(solution.iter().all(|rate| (rate - 1.0 / 11.0).abs() < 1e-3), "{solution:?}");
    }

    /// Solves by small steps: each goes to a strict class if one still takes it, otherwise to the class with the least
    /// for its weight, and there to the flow with the least.
    fn by_steps(weights: &[f64], flows: &[(usize, f64)], steps: u32) -> Vec<f64> {
        let (mut rates, step) = (vec![0.0; flows.len()], 1.0 / f64::from(steps));
        for _ in 0..steps {
            let used = |class: usize| -> f64 {
                (0..flows.len()).filter(|&flow| flows[flow].0 == class).map(|flow| rates[flow]).sum()
            };
            let turn =
                |class: usize| if weights[class] == 0.0 { class as f64 - 1e3 } else { used(class) / weights[class] };
            let order = |flow: usize| (turn(flows[flow].0), rates[flow]);
            let open = (0..flows.len()).filter(|&flow| rates[flow] + step <= flows[flow].1);
            let next = open.min_by(|&a, &b| order(a).partial_cmp(&order(b)).unwrap());
            let Some(next) = next else { break };
            rates[next] += step;
        }
        rates
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn rates_on_a_link_are_those_of_small_steps(
            strict in 0..3_usize,
            weights in prop::collection::vec(5.0..50.0_f64, 1..4),
            flows in prop::collection::vec((0..6_usize, 0.02..1.0_f64), 1..8),
        ) {
            let weights: Vec<f64> = std::iter::repeat_n(0.0, strict).chain(weights).collect();
            let flows = flows.into_iter().map(|(class, limit)| (class % weights.len(), limit));
            let flows: Vec<(usize, f64)> = flows.collect();
            let expected = by_steps(&weights, &flows, 4_000);
            let flows: Vec<TestFlow> = flows.into_iter().map(|(class, limit)| (vec![0], class, limit)).collect();
            for (rate, expected) in rates(&[1.0], &weights, &flows).iter().zip(&expected) {
                prop_assert!((rate - expected).abs() < 2e-3, "{rate} {expected}");
            }
        }

        /// Checks the definition of the rates: no link carries more than it can, and every flow below its limit has a
        /// full link where no flow of its class has more, and no class has more for its weight.
        #[test]
        fn every_flow_has_a_link_where_no_class_and_no_flow_of_its_class_has_more(
            capacities in prop::collection::vec(1.0..5.0_f64, 1..5),
            weights in prop::collection::vec(10.0..50.0_f64, 1..4),
            flows in prop::collection::vec(
                (prop::collection::btree_set(0..5_u32, 1..4), 0..4_usize, 0.1..8.0_f64), 1..10,
            ),
        ) {
            let within = |links: std::collections::BTreeSet<u32>| -> Vec<u32> {
                let links: std::collections::BTreeSet<u32> =
                    links.into_iter().map(|link| link % capacities.len() as u32).collect();
                links.into_iter().collect()
            };
            let flows: Vec<TestFlow> = flows
                .into_iter()
                .map(|(links, class, limit)| (within(links), class % weights.len(), limit))
                .collect();
            let shares = rates(&capacities, &weights, &flows);
            let used = |link: u32, class: Option<usize>| -> f64 {
                let is_of = |flow: &(&TestFlow, &f64)| {
                    flow.0.0.contains(&link) && class.is_none_or(|class| flow.0.1 == class)
                };
                flows.iter().zip(&shares).filter(is_of).map(|(_, &rate)| rate).sum()
            };
            for (link, &capacity) in (0..).zip(&capacities) {
                prop_assert!(used(link, None) < 1.01 * capacity, "{link}: {}", used(link, None));
            }
            for ((links, class, limit), &rate) in flows.iter().zip(&shares) {
                let is_most = |&link: &u32| {
                    let is_beside = |other: &TestFlow| other.1 == *class && other.0.contains(&link);
                    let others = flows.iter().zip(&shares).filter(|(other, _)| is_beside(other));
                    let of_weight = |class: usize| used(link, Some(class)) / weights[class];
                    used(link, None) > 0.99 * capacities[link as usize]
                        && others.clone().all(|(_, &other)| other < 1.01 * rate)
                        && (0..weights.len()).all(|other| of_weight(other) < 1.01 * of_weight(*class))
                };
                prop_assert!(rate > 0.999 * limit || links.iter().any(is_most), "{links:?} {class} {rate} {shares:?}");
            }
        }
    }
}
