//! A barrier of threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::generation::Generation;

/// A reusable barrier for `threads` threads.
pub(crate) struct Barrier {
    threads: usize,
    waiting: AtomicUsize,
    pub generation: Generation,
}

impl Barrier {
    pub fn new(threads: usize) -> Barrier {
        Barrier { threads, waiting: AtomicUsize::new(0), generation: Generation::default() }
    }

    /// Returns when all threads have reached the barrier.
    ///
    /// # Panics
    /// When one of them has panicked.
    pub fn wait(&self) {
        let generation = self.generation.current();
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 < self.threads {
            return self.generation.wait(generation, || false);
        }
        self.waiting.store(0, Ordering::Release);
        self.generation.advance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_passes_before_all_have_come() {
        let (barrier, arrived) = (Barrier::new(4), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 1..=500 {
                        arrived.fetch_add(1, Ordering::SeqCst);
                        barrier.wait();
                        assert!(arrived.load(Ordering::SeqCst) >= 4 * round, "all have come {round} times");
                    }
                });
            }
        });
    }
}
