//! Flows drawn by load, sizes and pairs.

use etherweave_primitives::{Bytes, Duration, HostId, InputError, InputErrors, Purpose, Rank, Stream, Time};

use super::{FlowIncast, Flows, sizes::SizeDraw};
use crate::limits::{FLOWS_MAX, separated};
use crate::pattern::host_destinations;
use crate::{FlowStart, HostArrivals, HostGroups, IdealTime, Share, StreamSpec};

impl Flows {
    /// Flows of all hosts, and incasts, in no order.
    ///
    /// # Errors
    /// When parameters make no flows, or too many.
    pub(super) fn drawn(&self, seed: u64) -> Result<Vec<StreamSpec>, InputErrors> {
        self.check()?;
        let sizes = self.sizes.draws()?;
        self.check_count(&sizes)?;
        let mut flows = Vec::new();
        if self.load > Share::NONE {
            self.background(seed, &sizes, &mut flows)?;
        }
        if let Some(incast) = &self.incast {
            self.incasts(seed, incast, &mut flows).map_err(|error| error.within("incast"))?;
        }
        Ok(flows)
    }

    /// Rejects more flows than a run has connections, by their expected number.
    fn check_count(&self, sizes: &SizeDraw) -> Result<(), InputError> {
        let offered = self.duration.as_ns_f64() * 1e-9 * self.rate().as_bps() as f64 / 8.0 * f64::from(self.hosts());
        let incasts =
            self.incast.as_ref().map_or(0.0, |incast| offered * f64::from(incast.load) / incast.bytes.get() as f64);
        let count = offered * f64::from(self.load) / sizes.mean() + incasts;
        let is_few = self.flows_max.is_some() && count < 4.0 * FLOWS_MAX as f64 || count < FLOWS_MAX as f64;
        let mistake = format!("about {} flows", separated(count.round() as u64));
        InputError::unless(is_few, "duration", mistake, format!("at most {}", separated(FLOWS_MAX)))
    }

    /// # Errors
    /// When pairs do not suit the hosts, or arrivals the load.
    fn background(&self, seed: u64, sizes: &SizeDraw, flows: &mut Vec<StreamSpec>) -> Result<(), InputErrors> {
        let groups = self.groups()?;
        let destinations = self.pairs.plan(&groups, seed).map_err(|error| error.within("pairs"))?;
        let flow = self.rate().serialization_time(Bytes::new(sizes.mean().round() as u64));
        let arrivals = self.arrivals.plan(flow, self.load).map_err(|error| error.within("arrivals"))?;
        for rank in 0..self.hosts() {
            let host = HostId::new(rank);
            let (mut state, mut random) = (HostArrivals::new(seed, host), host_destinations(seed, host));
            let mut of_sizes = Stream::new(seed, Purpose::Sizes, u64::from(rank));
            let mut start = Duration::ZERO;
            loop {
                start += arrivals.next(&mut state);
                if start >= self.duration {
                    break;
                }
                let bytes = sizes.draw(&mut of_sizes);
                if let Some(to) = destinations.destination(host, Time::ZERO + start, &mut random) {
                    flows.push(flow_of(rank, to.get(), bytes, start));
                }
            }
        }
        Ok(())
    }

    fn groups(&self) -> Result<HostGroups, InputError> {
        let size = self.group.unwrap_or(self.hosts());
        let expected = format!("a divisor of {}, the hosts", self.hosts());
        InputError::unless(size > 0 && self.hosts().is_multiple_of(size), "group", size, expected)?;
        HostGroups::new(&vec![size; (self.hosts() / size) as usize])
    }

    /// Incasts arrive as flows of a host of their own, behind all hosts.
    ///
    /// # Errors
    /// When they come too rarely or take too long.
    fn incasts(&self, seed: u64, incast: &FlowIncast, flows: &mut Vec<StreamSpec>) -> Result<(), InputError> {
        let bytes = u64::from(incast.senders).saturating_mul(incast.bytes.get());
        let of_host = self.rate().serialization_time(Bytes::new(bytes));
        let span = Duration::from_ps(of_host.as_ps().div_ceil(u64::from(self.hosts())));
        let arrivals = self.arrivals.plan(span, incast.load)?;
        let mut state = HostArrivals::new(seed, HostId::new(self.hosts()));
        let mut random = host_destinations(seed, HostId::new(self.hosts()));
        let mut hosts: Vec<u32> = (0..self.hosts()).collect();
        let mut start = Duration::ZERO;
        loop {
            start += arrivals.next(&mut state);
            if start >= self.duration {
                return Ok(());
            }
            // The receiver and its senders, all alike: the first places of a shuffled list.
            for place in 0..=incast.senders as usize {
                let other = place + random.below((hosts.len() - place) as u64) as usize;
                hosts.swap(place, other);
            }
            let senders = &hosts[1..=incast.senders as usize];
            flows.extend(senders.iter().map(|&rank| flow_of(rank, hosts[0], incast.bytes.get(), start)));
        }
    }
}

/// A flow; its number follows from the order of all.
pub(super) fn flow_of(src: u32, dst: u32, bytes: u64, after: Duration) -> StreamSpec {
    StreamSpec {
        src_rank: Rank::new(src),
        dst_rank: Rank::new(dst),
        stream: 0,
        bytes_per_message: bytes,
        outstanding: 1,
        messages: Some(1),
        flow_start: Some(FlowStart { after, ideal: IdealTime::default(), waits_for: None }),
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::BitRate;

    use super::*;
    use crate::{
        Pattern, family::flows::FlowSizes, generator::Generator, pattern::GroupLocal, pattern::Matrix,
        pattern::RandomPermutation,
    };

    fn storage() -> Flows {
        let (sizes, duration) = (FlowSizes::Storage, Duration::from_ms(40));
        Flows { ranks: Some(32), load: Share::percent(60), sizes, duration, ..Flows::default() }
    }

    /// Payload that a host offers, as a share of 100 Gb/s.
    fn offered(flows: &Flows) -> f64 {
        let bytes: u64 = flows.streams(3).unwrap().iter().map(|flow| flow.bytes_per_message).sum();
        bytes as f64 * 8.0
            / (flows.duration.as_ns_f64() * flows.rate().as_bps() as f64 * 1e-9 * f64::from(flows.hosts()))
    }

    #[test]
    fn hosts_offer_the_load_that_is_asked_for() {
        let load = offered(&storage());
        assert!((load / 0.6 - 1.0).abs() < 0.02, "{load} where 0.6 was asked for");
        // The number of equal flows has a deviation of its root: 0.2 % of 240,000.
        let equal = Flows { sizes: FlowSizes::Fixed(Bytes::new(10_000)), duration: Duration::from_ms(20), ..storage() };
        let row = |source: u32| (0..32).map(|to| if to == source { 0.0 } else { f64::from(to % 5 + 1) }).collect();
        let matrix = Matrix { rows: (0..32).map(row).collect(), ..Matrix::default() };
        let local = GroupLocal { share: Share::percent(80), leaf_share: Some(Share::percent(50)), leaf_hosts: Some(4) };
        let permutation = Pattern::RandomPermutation(RandomPermutation::default());
        for pairs in [Pattern::default(), permutation, Pattern::GroupLocal(local), Pattern::Matrix(matrix)] {
            let equal = Flows { pairs, group: Some(16), ..equal.clone() };
            let (load, count) = (offered(&equal), equal.streams(3).unwrap().len());
            let is_load = count > 200_000 && (load / 0.6 - 1.0).abs() < 0.01;
            assert!(is_load, "{load} of {count} flows where 0.6 was asked for: {}", equal.pairs.name());
        }
        let slow = Flows { rate: Some(BitRate::from_gbps(25)), ..storage() };
        assert!((offered(&slow) / 0.6 - 1.0).abs() < 0.03, "{}", offered(&slow));
    }

    #[test]
    fn gaps_of_a_host_have_no_memory_and_destinations_are_alike() {
        let flows = Flows { ranks: Some(8), duration: Duration::from_ms(200), ..storage() }.streams(5).unwrap();
        let starts: Vec<f64> = flows
            .iter()
            .filter(|flow| flow.src_rank.get() == 2)
            .map(|flow| flow.flow_start.unwrap().after.as_ns_f64())
            .collect();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!((deviation / mean - 1.0).abs() < 0.04, "coefficient of variation {}", deviation / mean);
        let mut counts = [0.0_f64; 8];
        flows.iter().filter(|flow| flow.src_rank.get() == 2).for_each(|flow| counts[flow.dst_rank.index()] += 1.0);
        let expected = counts.iter().sum::<f64>() / 7.0;
        let others = counts.iter().enumerate().filter(|(host, _)| *host != 2);
        let chi: f64 = others.map(|(_, seen)| (seen - expected).powi(2) / expected).sum();
        // Six degrees of freedom: 22.5 is exceeded once in a thousand.
        assert!(counts[2] == 0.0 && chi < 22.5, "{counts:?}: {chi}");
    }

    #[test]
    fn incasts_start_together_and_have_their_share() {
        let incast = Some(FlowIncast { senders: 5, bytes: Bytes::new(20_000), load: Share::percent(4) });
        let flows = Flows { load: Share::NONE, incast, ..storage() };
        let load = offered(&flows);
        assert!((load / 0.04 - 1.0).abs() < 0.1, "{load} where 0.04 was asked for");
        for together in flows.streams(3).unwrap().chunks(5) {
            let first = &together[0];
            assert!(together.iter().all(|flow| flow.flow_start == first.flow_start && flow.dst_rank == first.dst_rank));
            let mut senders: Vec<u32> = together.iter().map(|flow| flow.src_rank.get()).collect();
            senders.dedup();
            assert!(senders.len() == 5 && !senders.contains(&first.dst_rank.get()), "{senders:?}");
        }
    }

    #[test]
    fn the_first_flows_can_be_kept() {
        let (all, some) =
            (storage().streams(1).unwrap(), Flows { flows_max: Some(9), ..storage() }.streams(1).unwrap());
        assert_eq!(some, all[..9]);
    }

    #[test]
    fn a_list_stands_alone() {
        let flows = Flows { text: "src,dst,bytes\n0,1,9\n4,1,9\n".to_owned(), ..Flows::default() };
        assert_eq!((flows.streams(1).unwrap().len(), Generator::ranks(&flows)), (2, 5));
    }

    #[test]
    fn other_seeds_draw_other_flows_and_a_seed_of_its_own_keeps_them() {
        assert_ne!(storage().streams(1), storage().streams(2));
        let own = Flows { seed: Some(9), ..storage() };
        assert_eq!(own.streams(1), own.streams(2));
    }
}
