//! How threads synchronise: a barrier that spins briefly and then yields, and outboxes between shards.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::shard::Outbox;

/// Iterations of spinning before the thread yields the processor.
const SPINS: u32 = 200;

/// A reusable barrier for `threads` threads.
pub(super) struct Barrier {
    threads: usize,
    /// A thread will never reach the barrier: it panicked.
    is_broken: AtomicBool,
    waiting: AtomicUsize,
    generation: AtomicUsize,
}

impl Barrier {
    pub fn new(threads: usize) -> Barrier {
        Barrier {
            threads,
            is_broken: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
        }
    }

    /// Returns when all threads have reached the barrier.
    ///
    /// # Panics
    /// When one of them has panicked.
    pub fn wait(&self) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Release);
            self.generation.store(generation + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.generation.load(Ordering::Acquire) == generation {
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                assert!(!self.is_broken.load(Ordering::Relaxed), "another shard has failed");
                std::thread::yield_now();
            }
        }
    }
}

/// Breaks a barrier when its thread unwinds, so that no other thread waits for ever.
pub(super) struct Breaker<'a>(pub &'a Barrier);

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_broken.store(true, Ordering::Relaxed);
        }
    }
}

/// What threads share during a run.
pub(super) struct Exchange {
    /// See [`Barrier`].
    pub barrier: Barrier,
    /// Outbox from shard `a` to shard `b` at `a · shards + b`.
    outboxes: Vec<Mutex<Outbox>>,
    shards: usize,
    /// Earliest pending event of each shard [ps].
    pub next: Vec<AtomicU64>,
    /// Jobs and streams that each shard has still to finish.
    pub unfinished: Vec<AtomicU64>,
    /// When each shard last made progress [ps].
    pub last_progress: Vec<AtomicU64>,
    /// Set when the caller wants to stop.
    pub stop: AtomicBool,
}

impl Exchange {
    pub fn new(shards: usize) -> Exchange {
        let zeros = || (0..shards).map(|_| AtomicU64::new(0)).collect();
        Exchange {
            barrier: Barrier::new(shards),
            outboxes: (0..shards * shards).map(|_| Mutex::default()).collect(),
            shards,
            next: zeros(),
            unfinished: zeros(),
            last_progress: zeros(),
            stop: AtomicBool::new(false),
        }
    }

    /// Puts an outbox where its receiver finds it; takes an emptied one in return.
    pub fn put(&self, from: usize, to: usize, outbox: &mut Outbox) {
        if !outbox.is_empty() {
            let mut posted =
                self.outboxes[from * self.shards + to].lock().expect("no thread panics while it holds an outbox");
            std::mem::swap(&mut *posted, outbox);
        }
    }

    /// Everything that others have put for shard `to`.
    pub fn take(&self, to: usize, mut receive: impl FnMut(&mut Outbox)) {
        for from in 0..self.shards {
            let mut posted =
                self.outboxes[from * self.shards + to].lock().expect("no thread panics while it holds an outbox");
            receive(&mut posted);
        }
    }

    /// The least of a value per shard.
    pub fn least(values: &[AtomicU64]) -> u64 {
        values.iter().map(|value| value.load(Ordering::Acquire)).min().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_waits_for_one_that_panicked() {
        let barrier = Barrier::new(2);
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.wait());
            let failing = scope.spawn(|| {
                let _breaker = Breaker(&barrier);
                panic!("as a bug would");
            });
            assert!(failing.join().is_err());
            waiting.join()
        });
        assert!(waiting.is_err());
    }
}
