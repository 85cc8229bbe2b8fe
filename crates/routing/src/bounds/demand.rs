//! Flows from switch to switch that a pattern asks for.

use std::ops::Range;

use etherweave_primitives::{HostId, Time};
use etherweave_topology::Topology;
use etherweave_workload::{Destinations, HostRange};

/// Consecutive hosts of one switch.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostBlock {
    pub first: u32,
    pub hosts: u32,
    pub switch: u32,
}

impl HostBlock {
    fn end(&self) -> u32 {
        self.first + self.hosts
    }
}

/// Who sends how much to whom.
pub(super) struct Demand<'a> {
    destinations: &'a Destinations,
    now: Time,
    pub homes: Vec<HostBlock>,
    home_of: Vec<u32>,
    /// The rate of each host's link.
    pub rates: Vec<f64>,
    /// Rate at which each host sends, or 0 when it is silent.
    pub sent: Vec<f64>,
}

/// Rates at which hosts receive, in two parts: what their whole home gets, for each host, and what they get beyond.
struct Received {
    by_home: Vec<f64>,
    by_host: Vec<f64>,
}

/// Rates at which the hosts of one home send.
struct HostFlows {
    /// Rates to each host of a home, where all get alike.
    alike: Vec<f64>,
    /// Rates to a home beyond that.
    beyond: Vec<f64>,
}

impl<'a> Demand<'a> {
    pub fn new(topology: &Topology, rates: Vec<f64>, destinations: &'a Destinations, now: Time) -> Demand<'a> {
        let switches: Vec<u32> =
            (0..topology.hosts()).map(|host| topology.switch_of(HostId::from_index(host)).get()).collect();
        let mut homes: Vec<HostBlock> = Vec::new();
        let mut home_of = Vec::with_capacity(switches.len());
        for hosts in switches.chunk_by(|a, b| a == b) {
            let (first, hosts) = (home_of.len() as u32, hosts.len());
            home_of.extend(std::iter::repeat_n(homes.len() as u32, hosts));
            homes.push(HostBlock { first, hosts: hosts as u32, switch: switches[first as usize] });
        }
        let sent = |(host, rate): (usize, &f64)| {
            let mut sum = 0.0;
            destinations
                .shares(HostId::from_index(host), now, &mut |range, share| sum += share * f64::from(range.hosts));
            sum * rate
        };
        let sent = rates.iter().enumerate().map(sent).collect();
        Demand { destinations, now, homes, home_of, rates, sent }
    }

    /// Returns the rate at which the hosts of a home send together.
    pub fn sent_by(&self, home: HostBlock) -> f64 {
        self.sent[home.first as usize..home.end() as usize].iter().sum()
    }

    /// Calls `each` with the flows to every home, from each home, and returns what each host gets.
    ///
    /// Takes memory for `entries` flows at a time, or for one home.
    pub fn for_each_home(&self, entries: usize, each: &mut dyn FnMut(HostBlock, &[f64])) -> Vec<f64> {
        let count = self.homes.len();
        let block = (entries / count).clamp(1, count);
        let mut received = Received { by_home: vec![0.0; count], by_host: vec![0.0; self.home_of.len()] };
        let mut flows = vec![0.0; block * count];
        for first in (0..count).step_by(block) {
            let block = first..count.min(first + block);
            self.fill(block.clone(), &mut flows, &mut received);
            block.zip(flows.chunks(count)).for_each(|(home, flows)| each(self.homes[home], flows));
        }
        let by_home = self.home_of.iter().map(|&home| received.by_home[home as usize]);
        by_home.zip(&received.by_host).map(|(alike, beyond)| alike + beyond).collect()
    }

    /// Writes the flows to some homes, home by home, from each home.
    fn fill(&self, block: Range<usize>, flows: &mut [f64], received: &mut Received) {
        let count = self.homes.len();
        let mut row = HostFlows { alike: vec![0.0; count], beyond: vec![0.0; count] };
        for (from, home) in self.homes.iter().enumerate() {
            for src in home.first..home.end() {
                self.destinations.shares(HostId::new(src), self.now, &mut |range, share| {
                    self.share_out(
                        range,
                        share * self.rates[src as usize],
                        block.clone(),
                        &mut row,
                        &mut received.by_host,
                    );
                });
            }
            for (place, to) in block.clone().enumerate() {
                let alike = std::mem::take(&mut row.alike[to]);
                received.by_home[to] += alike;
                flows[place * count + from] =
                    alike * f64::from(self.homes[to].hosts) + std::mem::take(&mut row.beyond[to]);
            }
        }
    }

    /// Adds a share for each host of a range to the homes of a block.
    fn share_out(&self, range: HostRange, each: f64, block: Range<usize>, row: &mut HostFlows, by_host: &mut [f64]) {
        let (start, end) = (self.homes[block.start].first, self.homes[block.end - 1].end());
        let (start, end) = (range.first.max(start), (range.first + range.hosts).min(end));
        if start >= end {
            return;
        }
        let (first, last) = (self.home_of[start as usize] as usize, self.home_of[end as usize - 1] as usize);
        let is_whole = |home: usize| start <= self.homes[home].first && self.homes[home].end() <= end;
        let (whole_start, whole_end) = (first + usize::from(!is_whole(first)), last + usize::from(is_whole(last)));
        if whole_start < whole_end {
            row.alike[whole_start..whole_end].iter_mut().for_each(|alike| *alike += each);
        }
        let ends = [first, last].into_iter().take(if first == last { 1 } else { 2 });
        for home in ends.filter(|&home| !is_whole(home)) {
            let hosts = start.max(self.homes[home].first)..end.min(self.homes[home].end());
            row.beyond[home] += each * f64::from(hosts.end - hosts.start);
            by_host[hosts.start as usize..hosts.end as usize].iter_mut().for_each(|host| *host += each);
        }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dragonfly, Family};
    use etherweave_workload::pattern::{GroupLocal, Listed};

    use super::*;
    use crate::bounds::host_groups;
    use etherweave_workload::Pattern;

    /// Flows to every home from every home, and what hosts get.
    fn flows(pattern: &Pattern, entries: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
        // Four switches with three hosts each, in two groups.
        let dragonfly = Dragonfly { p: 3, a: 2, h: 1, groups: Some(2), ..Dragonfly::default() };
        let topology = dragonfly.generate().unwrap();
        let destinations = pattern.plan(&host_groups(&topology).unwrap(), 1).unwrap();
        let demand = Demand::new(&topology, vec![1.0; topology.hosts()], &destinations, Time::ZERO);
        let mut by_home = Vec::new();
        let received = demand.for_each_home(entries, &mut |_, flows| by_home.push(flows.to_vec()));
        (by_home, received)
    }

    #[test]
    fn a_host_shares_out_within_its_home_and_beyond_it() {
        let (flows, received) = flows(&Pattern::GroupLocal(GroupLocal::default()), usize::MAX);
        // Half stays among five others, of which two are at the own switch; half goes to six in the other group.
        let (own, near, far) = (3.0 * 0.5 * 2.0 / 5.0, 3.0 * 0.5 * 3.0 / 5.0, 3.0 * 0.5 / 2.0);
        let expected = [[own, near, far, far], [near, own, far, far], [far, far, own, near], [far, far, near, own]];
        let pairs = flows.iter().flatten().zip(expected.iter().flatten());
        assert!(pairs.clone().count() == 16 && pairs.clone().all(|(a, b)| (a - b).abs() < 1e-12), "{flows:?}");
        assert!(received.iter().all(|got| (got - 1.0).abs() < 1e-12), "{received:?}");
    }

    #[test]
    fn flows_do_not_depend_on_how_many_fit_at_a_time() {
        let listed = Pattern::Listed(Listed { pairs: vec![[0, 11], [4, 11], [7, 2]] });
        for pattern in [Pattern::default(), Pattern::GroupLocal(GroupLocal::default()), listed] {
            let all = flows(&pattern, usize::MAX);
            assert!([0, 4, 8, 12].into_iter().all(|entries| flows(&pattern, entries) == all), "{pattern:?}");
        }
    }
}
