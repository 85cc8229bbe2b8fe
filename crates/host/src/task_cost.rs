//! Costs of tasks: time of a processor, and bytes that are copied in memory.

use etherweave_primitives::Duration;

/// Cost of a task.
#[derive(Clone, Copy)]
pub struct TaskCost {
    /// Time on a core and a memory that nothing else uses.
    pub(super) time: Duration,
    /// Bytes that it copies in memory [B].
    pub(super) copied: u64,
    /// Part of the time in which it copies.
    pub(super) copying: Duration,
}

impl TaskCost {
    /// A task that copies nothing worth counting.
    pub fn of(time: Duration) -> TaskCost {
        TaskCost { time, copied: 0, copying: Duration::ZERO }
    }

    /// A task that adds up `bytes`: they move through memory as a copy's, and the core computes meanwhile.
    pub fn of_reduction(per_kib_cost: Duration, bytes: u64) -> TaskCost {
        TaskCost { time: per_kib(per_kib_cost, bytes), copied: bytes, copying: Duration::ZERO }
    }

    /// The same, which also copies `bytes`; nothing is copied where that costs nothing.
    pub fn and_copy(self, per_kib_cost: Duration, bytes: u64) -> TaskCost {
        let copied = if per_kib_cost.is_zero() { 0 } else { bytes };
        let copying = per_kib(per_kib_cost, bytes);
        TaskCost { time: self.time + copying, copied: self.copied + copied, copying: self.copying + copying }
    }
}

/// `cost` for every 1,024 bytes, in proportion.
pub fn per_kib(cost: Duration, bytes: u64) -> Duration {
    Duration::from_ps((cost.as_ps() * bytes).div_ceil(1024))
}
