//! A barrier of threads that spins briefly, then yields its processor a few times, then sleeps until it is woken.
//!
//! Where every thread has a processor, windows are shorter than the spinning, and nothing sleeps. Where processors are
//! busy, a thread that spins or yields for long takes the time that the thread it waits for needs; one that sleeps
//! takes none, and the scheduler lets it run soon after it is woken.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// Iterations of spinning before the thread yields its processor: some microseconds.
const SPINS: u32 = 200;
/// How often the thread yields its processor before it sleeps.
const YIELDS: u32 = 20;

/// A reusable barrier for `threads` threads.
pub(crate) struct Barrier {
    threads: usize,
    /// A thread will never reach the barrier: it panicked.
    is_broken: AtomicBool,
    waiting: AtomicUsize,
    generation: AtomicUsize,
    /// Threads that sleep or are about to.
    sleeping: AtomicUsize,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Barrier {
    pub fn new(threads: usize) -> Barrier {
        Barrier {
            threads,
            is_broken: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            sleeping: AtomicUsize::new(0),
            lock: Mutex::new(()),
            woken: Condvar::new(),
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
            // In one order with `sleeping`: either this thread sees the sleeper, or the sleeper sees the generation.
            self.generation.store(generation + 1, Ordering::SeqCst);
            return self.wake();
        }
        let mut tries = 0;
        while self.must_wait(generation) {
            tries += 1;
            if tries < SPINS {
                std::hint::spin_loop();
            } else if tries < SPINS + YIELDS {
                std::thread::yield_now();
            } else {
                self.sleep(generation);
            }
        }
    }

    /// Whether a generation is not over.
    fn must_wait(&self, generation: usize) -> bool {
        assert!(!self.is_broken.load(Ordering::Relaxed), "another worker has failed");
        self.generation.load(Ordering::Acquire) == generation
    }

    /// Sleeps until a generation is over or the barrier is broken.
    #[cold]
    fn sleep(&self, generation: usize) {
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        let guard = self.lock.lock().expect("no thread panics with the lock");
        let is_over = || self.generation.load(Ordering::SeqCst) != generation || self.is_broken.load(Ordering::SeqCst);
        drop(self.woken.wait_while(guard, |()| !is_over()).expect("no thread panics with the lock"));
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes all threads that sleep.
    fn wake(&self) {
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            // With the lock, no thread is between its last look at the generation and its sleep.
            drop(self.lock.lock().expect("no thread panics with the lock"));
            self.woken.notify_all();
        }
    }
}

/// Breaks a barrier when its thread unwinds, so that no other thread waits for ever.
pub(crate) struct Breaker<'a>(pub &'a Barrier);

impl Drop for Breaker<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_broken.store(true, Ordering::SeqCst);
            self.0.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns when so many threads sleep at a barrier, however long that takes.
    fn wait_for_sleepers(barrier: &Barrier, count: usize) {
        while barrier.sleeping.load(Ordering::SeqCst) < count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn threads_that_wait_for_long_sleep_and_are_woken_by_the_last_one() {
        let barrier = Barrier::new(3);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..10).for_each(|_| barrier.wait()));
            }
            for _ in 0..10 {
                wait_for_sleepers(&barrier, 2);
                barrier.wait();
            }
        });
    }

    #[test]
    fn a_thread_that_sleeps_is_woken_by_one_that_panics() {
        let barrier = Barrier::new(2);
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.wait());
            wait_for_sleepers(&barrier, 1);
            let failing = scope.spawn(|| {
                let _breaker = Breaker(&barrier);
                panic!("as a bug would");
            });
            assert!(failing.join().is_err());
            waiting.join()
        });
        assert!(waiting.is_err());
    }

    #[test]
    fn no_thread_passes_before_all_have_come() {
        let (barrier, arrived) = (Barrier::new(4), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 1..=2_000 {
                        arrived.fetch_add(1, Ordering::SeqCst);
                        barrier.wait();
                        assert!(arrived.load(Ordering::SeqCst) >= 4 * round, "all have come {round} times");
                    }
                });
            }
        });
    }
}
