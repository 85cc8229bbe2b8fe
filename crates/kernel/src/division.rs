//! Division of shards among workers.

use std::ops::Range;

/// One of several workers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Worker {
    /// Counted from 0.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl Default for Worker {
    fn default() -> Worker {
        Worker::ALONE
    }
}

impl Worker {
    /// The only one.
    pub const ALONE: Worker = Worker { number: 0, of: 1 };
}

/// Shards assigned to workers in their order, as evenly as can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Division {
    /// How many shards there are, 1 or more.
    pub shards: usize,
    /// How many workers there are, 1 or more; those beyond the number of shards may have none.
    pub workers: usize,
}

impl Division {
    /// The same shards assigned to so many workers, but for those that would have none.
    #[must_use]
    pub fn among(self, workers: usize) -> Division {
        Division { workers: workers.clamp(1, self.shards), ..self }
    }

    /// The shards of a worker.
    pub fn shards_of(self, worker: usize) -> Range<usize> {
        let first = |worker| self.shards * worker / self.workers;
        first(worker)..first(worker + 1)
    }

    /// The worker of a shard: the last whose first shard is not behind it.
    #[inline]
    pub fn worker_of(self, shard: usize) -> usize {
        ((shard + 1) * self.workers - 1) / self.shards
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_is_dealt_once_and_no_worker_has_two_more_than_another() {
        for (shards, workers) in (1..20).flat_map(|shards| (1..30).map(move |workers| (shards, workers))) {
            let division = Division { shards, workers };
            let dealt: Vec<(usize, usize)> =
                (0..workers).flat_map(|worker| division.shards_of(worker).map(move |shard| (shard, worker))).collect();
            let asked: Vec<(usize, usize)> = (0..shards).map(|shard| (shard, division.worker_of(shard))).collect();
            assert_eq!(dealt, asked, "{shards} shards, {workers} workers");
            let sizes = (0..workers).map(|worker| division.shards_of(worker).len());
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1, "{shards} shards, {workers} workers");
        }
    }
}
