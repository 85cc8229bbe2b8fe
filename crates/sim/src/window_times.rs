//! Real time that the threads of a run spend in its windows: where several threads gain less than their number.

/// Real time since any instant [ns]. The caller brings it: a simulation knows none.
pub type Clock = fn() -> u64;

/// Real times of one shard, summed over all windows [ns].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShardTimes {
    /// Time to serve its own events and hand over those for other shards.
    pub served: u64,
    /// Time to take in what other shards have handed over.
    pub taken: u64,
    /// Longest time in which any shard has served the same window.
    pub slowest: u64,
    /// Number of windows.
    pub windows: u64,
}

impl ShardTimes {
    /// Times of a run that has not begun.
    pub(crate) const NONE: ShardTimes = ShardTimes { served: 0, taken: 0, slowest: 0, windows: 0 };
}

/// A watch that is stopped where no times are asked for: then it reads no clock.
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    clock: Option<Clock>,
    since: u64,
}

impl Watch {
    /// A watch that begins to run.
    pub fn of(clock: Option<Clock>) -> Watch {
        Watch { clock, since: clock.map_or(0, |clock| clock()) }
    }

    /// Real time since it was last read, which begins anew [ns].
    pub fn read(&mut self) -> u64 {
        let Some(clock) = self.clock else { return 0 };
        let since = std::mem::replace(&mut self.since, clock());
        self.since.saturating_sub(since)
    }
}
