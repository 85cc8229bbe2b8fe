//! A counter that threads wait for: they spin briefly, then yield their processor a few times, then sleep until they
//! are woken.
//!
//! Windows are shorter than the spinning where every thread has a processor, and nothing sleeps. Where processors are
//! busy, a thread that spins or yields for long takes the time that the thread it waits for needs; one that sleeps
//! takes none.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// Iterations of spinning before the thread yields its processor: some microseconds.
const SPINS: u32 = 200;
/// How often the thread yields its processor before it sleeps.
const YIELDS: u32 = 20;

#[derive(Default)]
pub(crate) struct Generation {
    current: AtomicUsize,
    /// No thread will advance it: one panicked.
    is_broken: AtomicBool,
    /// Threads that sleep or are about to.
    sleeping: AtomicUsize,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Generation {
    /// How often it was advanced.
    pub fn current(&self) -> usize {
        self.current.load(Ordering::Acquire)
    }

    /// Ends a generation; one thread does.
    pub fn advance(&self) {
        // In one order with `sleeping`: either this thread sees the sleeper, or the sleeper sees the generation.
        self.current.fetch_add(1, Ordering::SeqCst);
        self.wake();
    }

    /// Returns when a generation is over. Instead of yielding, does `other` work, as long as that says that there was
    /// some.
    ///
    /// # Panics
    /// When a thread has panicked.
    pub fn wait(&self, generation: usize, mut other: impl FnMut() -> bool) {
        let mut tries = 0;
        while self.must_wait(generation) {
            tries += 1;
            if tries < SPINS {
                std::hint::spin_loop();
            } else if other() {
                tries = 0;
            } else if tries < SPINS + YIELDS {
                std::thread::yield_now();
            } else {
                self.sleep(generation);
            }
        }
    }

    fn must_wait(&self, generation: usize) -> bool {
        assert!(!self.is_broken.load(Ordering::Relaxed), "another worker has failed");
        self.current() == generation
    }

    /// Sleeps until a generation is over or no thread will end it.
    #[cold]
    fn sleep(&self, generation: usize) {
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        let guard = self.lock.lock().expect("no thread panics with the lock");
        let is_over = || self.current.load(Ordering::SeqCst) != generation || self.is_broken.load(Ordering::SeqCst);
        drop(self.woken.wait_while(guard, |()| !is_over()).expect("no thread panics with the lock"));
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            // With the lock, no thread is between its last look at the generation and its sleep.
            drop(self.lock.lock().expect("no thread panics with the lock"));
            self.woken.notify_all();
        }
    }

    /// Threads that sleep or are about to.
    #[cfg(test)]
    pub fn sleeping(&self) -> usize {
        self.sleeping.load(Ordering::SeqCst)
    }
}

/// Lets all others fail when its thread unwinds, so that none waits for ever.
pub(crate) struct Breaker<'a>(pub &'a Generation);

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

    #[test]
    fn a_thread_that_waits_for_long_sleeps_and_is_woken() {
        let generation = Generation::default();
        std::thread::scope(|scope| {
            scope.spawn(|| generation.wait(0, || false));
            // However long that takes.
            while generation.sleeping() == 0 {
                std::thread::yield_now();
            }
            generation.advance();
        });
        assert_eq!(generation.current(), 1);
    }

    #[test]
    fn a_thread_that_sleeps_is_woken_by_one_that_panics() {
        let generation = Generation::default();
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| generation.wait(0, || false));
            while generation.sleeping() == 0 {
                std::thread::yield_now();
            }
            let failing = scope.spawn(|| {
                let _breaker = Breaker(&generation);
                panic!("as a bug would");
            });
            assert!(failing.join().is_err());
            waiting.join()
        });
        assert!(waiting.is_err());
    }
}
