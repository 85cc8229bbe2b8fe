//! Threads that serve workers window by window, and help each other: a thread that has served its own worker and would
//! wait serves one that no thread has begun.
//!
//! Each thread serves its own worker where every thread has a processor. Where processors are busy, a thread that does
//! not run would stop all others once a window; so they do its work, and a run is never much slower than on one thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::generation::{Breaker, Generation};

/// Workers, and which of them are served in the present window.
struct Pool<W> {
    workers: Vec<(Claim, Mutex<W>)>,
    windows: Generation,
    /// Workers served in the present window.
    served: AtomicUsize,
    /// How many windows there are, once that is known.
    end: AtomicUsize,
}

/// The number of the window for which a thread has last taken a worker, counted from 1.
type Claim = AtomicUsize;

/// Serves every worker once a window, all of a window before any of the next, on as many threads as there are workers.
/// A service says whether the window is the last one, which all say of the same window. `watch` is called by the
/// calling thread between its services, with the first worker if that is not being served.
pub fn serve_windows<W: Send>(
    workers: impl IntoIterator<Item = W>,
    serve: impl Fn(&mut W) -> bool + Sync,
    mut watch: impl FnMut(&mut W),
) {
    let (pool, serve) = (&Pool::new(workers), &serve);
    std::thread::scope(|scope| {
        for number in 1..pool.workers.len() {
            scope.spawn(move || pool.run(number, serve, |_| ()));
        }
        pool.run(0, serve, |pool| pool.watch_first(&mut watch));
    });
}

impl<W: Send> Pool<W> {
    fn new(workers: impl IntoIterator<Item = W>) -> Pool<W> {
        let workers = workers.into_iter().map(|worker| (Claim::default(), Mutex::new(worker))).collect();
        let (served, end) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        Pool { workers, windows: Generation::default(), served, end }
    }

    /// One thread's part: its own worker in each window, and others that no thread has begun.
    fn run(&self, own: usize, serve: &impl Fn(&mut W) -> bool, mut between: impl FnMut(&Pool<W>)) {
        let _breaker = Breaker(&self.windows);
        loop {
            let window = self.windows.current();
            if window >= self.end.load(Ordering::Acquire) {
                return;
            }
            self.try_serve(own, window, serve);
            between(self);
            self.windows.wait(window, || (0..self.workers.len()).any(|other| self.try_serve(other, window, serve)));
        }
    }

    /// Serves a worker in the window after so many others, if no thread has begun to.
    fn try_serve(&self, number: usize, window: usize, serve: &impl Fn(&mut W) -> bool) -> bool {
        let (claim, worker) = &self.workers[number];
        if claim.compare_exchange(window, window + 1, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return false;
        }
        if serve(&mut lock(worker)) {
            self.end.store(window + 1, Ordering::Release);
        }
        if self.served.fetch_add(1, Ordering::AcqRel) + 1 == self.workers.len() {
            self.served.store(0, Ordering::Release);
            self.windows.advance();
        }
        true
    }

    fn watch_first(&self, watch: &mut impl FnMut(&mut W)) {
        match self.workers[0].1.try_lock() {
            Ok(mut worker) => watch(&mut worker),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Poisoned(_)) => panic!("another worker has failed"),
        }
    }
}

fn lock<W>(worker: &Mutex<W>) -> MutexGuard<'_, W> {
    worker.lock().expect("no worker is served after one has failed")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows that each of so many workers was served in, and the largest lead of one over another.
    fn served(workers: usize, windows: usize, slow: usize) -> Vec<usize> {
        let counts: Vec<AtomicUsize> = (0..workers).map(|_| AtomicUsize::new(0)).collect();
        let serve = |&mut number: &mut usize| {
            if number == slow {
                std::thread::yield_now();
            }
            let before = counts[number].fetch_add(1, Ordering::SeqCst);
            let others = counts.iter().map(|count| count.load(Ordering::SeqCst));
            assert!(others.clone().all(|count| count == before || count == before + 1), "one window after the other");
            before + 1 == windows
        };
        serve_windows(0..workers, serve, |_| ());
        counts.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn every_worker_is_served_once_a_window() {
        for workers in [1, 2, 3, 7] {
            assert_eq!(served(workers, 300, 0), vec![300; workers]);
        }
    }

    /// The first worker is served again only when the second was; its thread does not run.
    #[test]
    fn a_thread_that_waits_serves_what_no_thread_has_begun() {
        let pool = Pool::new([0, 1]);
        let count = AtomicUsize::new(0);
        pool.run(0, &|_| count.fetch_add(1, Ordering::SeqCst) + 2 >= 20, |_| ());
        assert_eq!(count.into_inner(), 20);
    }

    #[test]
    fn the_caller_sees_the_first_worker_and_a_panic_ends_all() {
        // On a busy machine another thread may serve many windows before the caller looks.
        let seen = AtomicUsize::new(0);
        serve_windows([5, 6], |_| seen.load(Ordering::SeqCst) > 0, |&mut first| seen.store(first, Ordering::SeqCst));
        assert_eq!(seen.into_inner(), 5);
        let failed = std::panic::catch_unwind(|| {
            serve_windows(
                [0, 1, 2],
                |&mut number| {
                    assert!(number < 2, "as a bug would");
                    false
                },
                |_| (),
            );
        });
        assert!(failed.is_err());
    }
}
