//! A barrier of threads that spins briefly and then yields.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Iterations of spinning before the thread yields the processor.
const SPINS: u32 = 200;

/// A reusable barrier for `threads` threads.
pub(crate) struct Barrier {
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
                assert!(!self.is_broken.load(Ordering::Relaxed), "another worker has failed");
                std::thread::yield_now();
            }
        }
    }
}

/// Breaks a barrier when its thread unwinds, so that no other thread waits for ever.
pub(crate) struct Breaker<'a>(pub &'a Barrier);

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_broken.store(true, Ordering::Relaxed);
        }
    }
}
