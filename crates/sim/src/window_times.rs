//! Real time that the threads of a run spend in its windows: where several threads gain less than their number.

use std::time::Instant;

use etherweave_primitives::Duration;

/// Real times of one shard, summed over all windows [ns].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShardTimes {
    /// To serve its own events and hand over those for other shards.
    pub served: u64,
    /// To take in what other shards have handed over.
    pub taken: u64,
    /// Longest time in which any shard has served the same window.
    pub slowest: u64,
    /// Number of windows.
    pub windows: u64,
}

/// Windows and their times, of a run on several threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowTimes {
    /// Simulated time that a window lasts.
    pub lookahead: Duration,
    /// By shard.
    pub shards: Vec<ShardTimes>,
    /// Number of events by shard.
    pub events: Vec<u64>,
}

/// A watch that is stopped where a run has one thread: then it reads no clock.
#[derive(Clone, Copy)]
pub(crate) struct Watch(Option<Instant>);

impl Watch {
    /// A watch that runs if times are kept.
    pub fn of(is_kept: bool) -> Watch {
        Watch(is_kept.then(Instant::now))
    }

    /// Real time since it was last read, which begins anew [ns].
    pub fn read(&mut self) -> u64 {
        let Some(since) = &mut self.0 else { return 0 };
        let now = Instant::now();
        now.duration_since(std::mem::replace(since, now)).as_nanos() as u64
    }
}

impl ShardTimes {
    /// Times of a run that has not begun.
    pub(crate) const NONE: ShardTimes = ShardTimes { served: 0, taken: 0, slowest: 0, windows: 0 };
}
