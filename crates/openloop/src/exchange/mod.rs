//! How shards of different workers exchange events, and sum up their counters.
//!
//! Shards are assigned in their order to *workers*, which are threads of a process or processes of a cluster. All
//! workers serve their shards for a window, then meet:
//!
//! ```text
//!   worker 0   run shard 0, post, run shard 1, post ─┐ ┌─ collect ─► next window
//!   worker 1   run shard 2, post, run shard 3, post ─┴─┴─ collect ─► next window
//! ```
//!
//! Guarantee: a shard receives its remote events in the order of the shards that wrote them, however shards are
//! assigned; so the results do not depend on that.

#[cfg(feature = "mpi")]
pub(crate) mod mpi;
pub(crate) mod threads;
#[cfg(any(test, feature = "mpi"))]
pub(crate) mod wire;

use std::ops::Range;

use crate::shard::RemoteEvent;
use crate::tally::Batch;

/// A worker's link to all others.
pub(crate) trait Exchange {
    /// Takes the remote events of a shard that has been served for a window; shards come in their order.
    fn post(&mut self, outbox: &mut Vec<RemoteEvent>);

    /// Ends a window: hands over every remote event to a shard of this worker, in the order of the shards that wrote
    /// them.
    fn collect(&mut self, receive: impl FnMut(RemoteEvent));

    /// What all workers have counted together.
    fn sum(&mut self, own: Batch) -> Batch;
}

/// One of several workers.
#[derive(Clone, Copy)]
pub(crate) struct Worker {
    pub number: usize,
    pub of: usize,
}

impl Worker {
    pub const ALONE: Worker = Worker { number: 0, of: 1 };
}

/// Shards assigned to workers in their order, as evenly as can be.
#[derive(Clone, Copy)]
pub(crate) struct Division {
    pub shards: usize,
    pub workers: usize,
}

impl Division {
    /// The same shards assigned to so many workers, but for those that would have none.
    pub fn among(self, workers: usize) -> Division {
        Division { workers: workers.clamp(1, self.shards), ..self }
    }

    pub fn shards_of(self, worker: usize) -> Range<usize> {
        let first = |worker| self.shards * worker / self.workers;
        first(worker)..first(worker + 1)
    }

    /// The last worker whose first shard is not behind this one.
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
