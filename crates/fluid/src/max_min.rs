//! Max-min fair rates by progressive filling (Bertsekas and Gallager, *Data Networks*, 1992, section 6.5.2): all rates
//! grow alike; those that meet a full link, or their own limit, stay where they are, and the others grow on. A flow may
//! use less of a link than its rate, a *share* of it: that of a flow that is split over several links.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Links that flows share: of some capacity, numbered from 0.
pub struct MaxMin {
    /// Each more than 0.
    pub capacities: Vec<f64>,
    links: Vec<Link>,
    touched: Vec<u32>,
    /// Links that each flow shares with others, with its share of each, one flow after the other, and where each ends.
    paths: Vec<(u32, f64)>,
    path_ends: Vec<u32>,
    /// Flows of each of these links, one link after the other.
    members: Vec<u32>,
    /// Links by what each of their flows would get, the least first. What it was when it was noted: shares only grow.
    shares: BinaryHeap<Reverse<(u64, u32)>>,
    /// Limits of flows, of their own or of a link that no other flow uses.
    limits: Vec<f64>,
    /// Flows whose limits may be reached, the least limit last.
    limited: Vec<u32>,
    /// Flows whose rates are not known yet.
    open: u32,
}

#[derive(Clone, Copy, Default)]
struct Link {
    left: f64,
    /// Flows whose rate is not known yet, and the sum of their shares.
    open: u32,
    weight: f64,
    /// Where its members begin, and how many are noted.
    first: u32,
    noted: u32,
}

/// The rate of a flow that is not known yet.
const OPEN: f64 = -1.0;

/// A flow of the present solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Bytes per picosecond.
    pub rate: f64,
    /// The link that limits it; none where its own limit does.
    pub bottleneck: Option<u32>,
}

impl MaxMin {
    /// Links of such capacities.
    pub fn new(capacities: Vec<f64>) -> MaxMin {
        MaxMin {
            links: vec![Link::default(); capacities.len()],
            capacities,
            touched: Vec::new(),
            paths: Vec::new(),
            path_ends: Vec::new(),
            members: Vec::new(),
            shares: BinaryHeap::new(),
            limits: Vec::new(),
            limited: Vec::new(),
            open: 0,
        }
    }

    /// The rates of flows over `links_of` each, with their shares, none above its limit.
    pub fn solve<P: Iterator<Item = (u32, f64)>>(
        &mut self,
        limits: &[f64],
        links_of: impl Fn(u32) -> P,
        shares: &mut Vec<Share>,
    ) {
        self.note_paths(limits.len() as u32, links_of);
        self.settle_lone(limits, shares);
        self.note_members();
        while let Some(&Reverse((noted, number))) = self.shares.peek().filter(|_| self.open > 0) {
            let link = self.links[number as usize];
            let share = (link.left / link.weight).max(0.0);
            if link.open == 0 {
                self.shares.pop();
                continue;
            }
            if share.to_bits() > noted {
                *self.shares.peek_mut().expect("it has been looked at") = Reverse((share.to_bits(), number));
                continue;
            }
            if let Some(flow) = self.next_limited(share, number, shares) {
                let Share { bottleneck, .. } = shares[flow as usize];
                self.settle(flow, Share { rate: self.limits[flow as usize], bottleneck }, shares);
                continue;
            }
            self.shares.pop();
            for place in link.first..link.first + link.noted {
                let flow = self.members[place as usize];
                if shares[flow as usize].rate == OPEN {
                    self.settle(flow, Share { rate: share, bottleneck: Some(number) }, shares);
                }
            }
        }
    }

    /// Lists the links of every flow, and counts the flows of every link.
    fn note_paths<P: Iterator<Item = (u32, f64)>>(&mut self, flows: u32, links_of: impl Fn(u32) -> P) {
        for number in self.touched.drain(..) {
            self.links[number as usize] = Link::default();
        }
        self.paths.clear();
        self.path_ends.clear();
        for flow in 0..flows {
            links_of(flow).for_each(|(number, share)| {
                let link = &mut self.links[number as usize];
                if link.open == 0 {
                    link.left = self.capacities[number as usize];
                    self.touched.push(number);
                }
                link.open += 1;
                link.weight += share;
                self.paths.push((number, share));
            });
            self.path_ends.push(self.paths.len() as u32);
        }
    }

    /// Settles flows that share no link. A link that no other flow uses is a limit of its flow, which matters where it
    /// is less than the capacity of every link that the flow shares; then that link is noted as its bottleneck.
    fn settle_lone(&mut self, limits: &[f64], shares: &mut Vec<Share>) {
        shares.clear();
        self.limits.clear();
        self.limited.clear();
        let (mut first, mut kept) = (0, 0);
        for (flow, (&limit, end)) in limits.iter().zip(&mut self.path_ends).enumerate() {
            let (mut own, mut of_shared, start) = ((limit, None), f64::INFINITY, kept);
            for place in first..*end as usize {
                let (number, share) = self.paths[place];
                let Link { left, open, .. } = self.links[number as usize];
                let width = left / share;
                if open > 1 {
                    of_shared = of_shared.min(width);
                    self.paths[kept] = (number, share);
                    kept += 1;
                } else if width < own.0 || width == own.0 && own.1.is_none_or(|other| number < other) {
                    own = (width, Some(number));
                }
            }
            (first, *end) = (*end as usize, kept as u32);
            let is_lone = kept == start && own.0.is_finite();
            shares.push(Share { rate: if is_lone { own.0 } else { OPEN }, bottleneck: own.1 });
            self.limits.push(own.0);
            if !is_lone && own.0 < of_shared {
                self.limited.push(flow as u32);
            }
        }
        // Of equal limits that of the lowest link first, so that which link limits a flow depends on no others.
        let (limits, own) = (&self.limits, |flow: u32| shares[flow as usize].bottleneck.unwrap_or(u32::MAX));
        let order = |a: u32, b: u32| limits[a as usize].total_cmp(&limits[b as usize]).then(own(a).cmp(&own(b)));
        self.limited.sort_unstable_by(|&a, &b| order(b, a).then(b.cmp(&a)));
        self.open = shares.iter().map(|share| u32::from(share.rate == OPEN)).sum();
    }

    /// Lists the flows of every link that several use.
    fn note_members(&mut self) {
        let mut noted = std::mem::take(&mut self.shares).into_vec();
        noted.clear();
        let mut first = 0;
        for &number in &self.touched {
            let link = &mut self.links[number as usize];
            if link.open > 1 {
                link.first = first;
                first += link.open;
                noted.push(Reverse(((link.left / link.weight).to_bits(), number)));
            }
        }
        self.shares = BinaryHeap::from(noted);
        self.members.resize(first as usize, 0);
        let mut start = 0;
        for (flow, &end) in (0..).zip(&self.path_ends) {
            for &(number, _) in &self.paths[start as usize..end as usize] {
                let link = &mut self.links[number as usize];
                self.members[(link.first + link.noted) as usize] = flow;
                link.noted += 1;
            }
            start = end;
        }
    }

    /// The flow whose limit is reached before the share of a link; of an equal own link, if its number is less.
    fn next_limited(&mut self, share: f64, number: u32, shares: &[Share]) -> Option<u32> {
        while let Some(&flow) = self.limited.last() {
            let (limit, own) = (self.limits[flow as usize], shares[flow as usize]);
            if own.rate == OPEN {
                let is_before = limit == share && own.bottleneck.is_some_and(|own| own < number);
                return (limit < share || is_before).then_some(flow);
            }
            self.limited.pop();
        }
        None
    }

    fn settle(&mut self, flow: u32, share: Share, shares: &mut [Share]) {
        shares[flow as usize] = share;
        self.open -= 1;
        let start = flow.checked_sub(1).map_or(0, |before| self.path_ends[before as usize]);
        for &(number, part) in &self.paths[start as usize..self.path_ends[flow as usize] as usize] {
            let link = &mut self.links[number as usize];
            link.left -= share.rate * part;
            link.weight -= part;
            link.open -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Links of a flow, and the share of it that uses each.
    type Path = Vec<(u32, f64)>;

    fn whole(flows: &[Vec<u32>]) -> Vec<Path> {
        flows.iter().map(|links| links.iter().map(|&link| (link, 1.0)).collect()).collect()
    }

    fn shared_rates(capacities: &[f64], flows: &[Path], limits: &[f64]) -> Vec<f64> {
        let mut shares = Vec::new();
        let mut links = MaxMin::new(capacities.to_vec());
        links.solve(limits, |flow| flows[flow as usize].iter().copied(), &mut shares);
        shares.iter().map(|share| share.rate).collect()
    }

    fn rates(capacities: &[f64], flows: &[Vec<u32>], limits: &[f64]) -> Vec<f64> {
        shared_rates(capacities, &whole(flows), limits)
    }

    /// Three flows of one link each beside one over both: the textbook's example with links of 1 and 2.
    #[test]
    fn a_long_flow_gets_what_its_narrowest_link_leaves() {
        let flows = [vec![0, 1], vec![0], vec![1], vec![1]];
        assert_eq!(rates(&[1.0, 2.0], &flows, &[f64::INFINITY; 4]), [0.5, 0.5, 0.75, 0.75]);
    }

    #[test]
    fn what_a_limited_flow_leaves_goes_to_the_others() {
        let flows = [vec![0], vec![0], vec![0]];
        assert_eq!(rates(&[3.0], &flows, &[0.5, f64::INFINITY, 10.0]), [0.5, 1.25, 1.25]);
        assert_eq!(rates(&[3.0], &flows, &[0.5, 0.25, 0.125]), [0.5, 0.25, 0.125]);
    }

    /// A flow that is sprayed over two links of 1, beside one that has a link of them for itself: both at 2/3.
    #[test]
    fn a_flow_that_is_split_is_limited_by_its_worst_link() {
        let flows = [vec![(0, 0.5), (1, 0.5)], vec![(0, 1.0)]];
        let solution = shared_rates(&[1.0, 1.0], &flows, &[f64::INFINITY; 2]);
        assert!(solution.iter().all(|rate| (rate - 2.0 / 3.0).abs() < 1e-12), "{solution:?}");
        // Alone it fills both.
        assert_eq!(shared_rates(&[1.0, 1.0], &flows[..1], &[f64::INFINITY]), [2.0]);
    }

    #[test]
    fn a_solution_says_what_limits_each_flow() {
        let flows = [vec![(0, 1.0), (1, 1.0)], vec![(1, 1.0)]];
        let mut shares = Vec::new();
        let mut links = MaxMin::new(vec![1.0, 4.0]);
        links.solve(&[f64::INFINITY, 2.0], |flow| flows[flow as usize].iter().copied(), &mut shares);
        assert_eq!(shares[0], Share { rate: 1.0, bottleneck: Some(0) });
        assert_eq!(shares[1], Share { rate: 2.0, bottleneck: None });
        // Nothing is left of an earlier solution.
        links.solve(&[f64::INFINITY], |_| [(1, 1.0)].into_iter(), &mut shares);
        assert_eq!(shares, [Share { rate: 4.0, bottleneck: Some(1) }]);
    }

    /// Solves by small steps: every rate grows until a link is full or its limit is reached.
    fn by_steps(capacities: &[f64], flows: &[Path], limits: &[f64], step: f64) -> Vec<f64> {
        let mut rates = vec![0.0; flows.len()];
        let mut grows = vec![true; flows.len()];
        let share = |flow: usize, link: u32| -> f64 {
            flows[flow].iter().filter(|&&(other, _)| other == link).map(|&(_, share)| share).sum()
        };
        while grows.iter().any(|&grows| grows) {
            for flow in 0..flows.len() {
                let used = |link: u32| -> f64 {
                    let of = |other: usize| share(other, link) * (rates[other] + if grows[other] { step } else { 0.0 });
                    (0..flows.len()).map(of).sum()
                };
                let is_full = flows[flow].iter().any(|&(link, _)| used(link) > capacities[link as usize]);
                grows[flow] = grows[flow] && !is_full && rates[flow] + step <= limits[flow];
            }
            rates.iter_mut().zip(&grows).filter(|(_, grows)| **grows).for_each(|(rate, _)| *rate += step);
        }
        rates
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn rates_are_those_of_small_steps(
            capacities in prop::collection::vec(1.0..10.0_f64, 1..6),
            flows in prop::collection::vec(
                (prop::collection::btree_map(0..6_u32, prop_oneof![Just(1.0), 0.5..1.0_f64], 1..4), 0.5..20.0_f64),
                1..8,
            ),
        ) {
            let (paths, limits): (Vec<Path>, Vec<f64>) = flows
                .into_iter()
                .map(|(path, limit)| {
                    let links: std::collections::BTreeMap<u32, f64> =
                        path.into_iter().map(|(link, share)| (link % capacities.len() as u32, share)).collect();
                    (links.into_iter().collect(), limit)
                })
                .unzip();
            let solution = shared_rates(&capacities, &paths, &limits);
            let expected = by_steps(&capacities, &paths, &limits, 0.002);
            for (rate, expected) in solution.iter().zip(&expected) {
                prop_assert!((rate - expected).abs() < 0.05, "{rate} {expected}");
            }
        }
    }
}
