//! States of connections that NICs hold: of a connection whose state is elsewhere the next packet waits for it.
//!
//! Each state has one place, by a hash. Of *n* connections that send in random order, *e* places hold the next state
//! with probability e / n · (1 − (1 − 1/e)^n).

use etherweave_engine::params::ContextCache;
use etherweave_kernel::indices::HostIndex;
use etherweave_primitives::mix;

/// States of connections that the NICs of a shard hold.
#[derive(Default)]
pub struct Contexts {
    entries: u64,
    /// Number of the connection in each place of each NIC, plus one; 0 where there is none yet.
    places: Vec<u32>,
}

impl Contexts {
    /// Empty places of the NICs of so many hosts.
    pub fn new(cache: Option<&ContextCache>, hosts: usize) -> Contexts {
        let entries = cache.map_or(0, |cache| cache.entries as usize);
        Contexts { entries: entries as u64, places: vec![0; entries * hosts] }
    }

    /// Whether a NIC must fetch the state of the end of a connection, which it holds from then on.
    #[inline]
    pub fn misses(&mut self, host: HostIndex, end: u32) -> bool {
        if self.entries == 0 {
            return false;
        }
        let place = u64::from(host.get()) * self.entries + mix(u64::from(end)) % self.entries;
        std::mem::replace(&mut self.places[place as usize], end + 1) != end + 1
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{Purpose, Stream};

    use super::*;

    /// 1,000 connections in random order at 500 places: 43 % find their state; at 100,000 places all but the first
    /// packets and those that share a place.
    #[test]
    fn a_state_is_there_as_often_as_the_formula_says() {
        let host = HostIndex::new(1);
        for (entries, connections) in [(500_u32, 1_000_u64), (500, 400), (100_000, 1_000)] {
            let cache = ContextCache { entries, ..ContextCache::default() };
            let mut contexts = Contexts::new(Some(&cache), 2);
            let mut stream = Stream::new(1, Purpose::HostNoise, 0);
            let draws = 400_000;
            let hits = (0..draws).filter(|_| !contexts.misses(host, (stream.bits() % connections) as u32)).count();
            let (e, n) = (f64::from(entries), connections as f64);
            let expected = e / n * (1.0 - (1.0 - 1.0 / e).powf(n));
            assert!((hits as f64 / f64::from(draws) - expected).abs() < 0.02, "{hits} of {draws}, expected {expected}");
        }
        assert!(!Contexts::new(None, 2).misses(host, 0), "without a cache all states are there");
    }
}
