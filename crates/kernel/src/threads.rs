//! Workers that are threads of one process: they swap outboxes.

use std::sync::{Mutex, MutexGuard};

use crate::{Agreement, Exchange, Outbox, barrier::Barrier, generation::Breaker};

/// State that the threads of a run share.
pub struct Threads<O, A> {
    workers: usize,
    /// Windows of even and of odd number: a thread that is ahead writes for the next window while another still
    /// reads.
    windows: [Window<O, A>; 2],
    barrier: Barrier,
}

struct Window<O, A> {
    /// Outboxes from worker `a` to worker `b` at `a · workers + b`.
    outboxes: Vec<Mutex<O>>,
    /// Values that each worker knows.
    known: Vec<Mutex<A>>,
}

impl<O: Outbox, A: Agreement> Threads<O, A> {
    /// Creates the state of so many threads.
    pub fn new(workers: usize) -> Threads<O, A> {
        let window = || Window {
            outboxes: (0..workers * workers).map(|_| Mutex::default()).collect(),
            known: (0..workers).map(|_| Mutex::default()).collect(),
        };
        Threads { workers, windows: [window(), window()], barrier: Barrier::new(workers) }
    }

    /// The end of one of the threads.
    pub fn end(&self, number: usize) -> ThreadEnd<'_, O, A> {
        let outboxes = (0..self.workers).map(|_| O::default()).collect();
        ThreadEnd { threads: self, number, outboxes, met: 0, _breaker: Breaker(&self.barrier.generation) }
    }
}

/// One thread's end of the exchange. Others panic when its thread does.
pub struct ThreadEnd<'a, O, A> {
    threads: &'a Threads<O, A>,
    number: usize,
    outboxes: Vec<O>,
    met: usize,
    _breaker: Breaker<'a>,
}

impl<O: Outbox, A: Agreement> Exchange<O, A> for ThreadEnd<'_, O, A> {
    #[inline]
    fn outboxes(&mut self) -> &mut [O] {
        &mut self.outboxes
    }

    fn meet(&mut self, own: A, receive: impl FnMut(&mut O)) -> A {
        self.leave(own);
        self.threads.barrier.wait();
        self.take(receive)
    }
}

impl<O: Outbox, A: Agreement> ThreadEnd<'_, O, A> {
    /// Leaves what this worker has for all others, and what it knows, at the end of a window.
    pub fn leave(&mut self, own: A) {
        let Window { outboxes, known } = &self.threads.windows[self.met % 2];
        let workers = self.threads.workers;
        // What a thread does to its own shards stays with it: one outbox, where others have one more for each window.
        for (to, outbox) in self.outboxes.iter_mut().enumerate() {
            if to != self.number && !outbox.is_empty() {
                std::mem::swap(&mut *lock(&outboxes[self.number * workers + to]), outbox);
            }
        }
        *lock(&known[self.number]) = own;
    }

    /// Takes what all others have left, when all have; returns what they know together.
    pub fn take(&mut self, mut receive: impl FnMut(&mut O)) -> A {
        let Window { outboxes, known } = &self.threads.windows[self.met % 2];
        let workers = self.threads.workers;
        self.met += 1;
        for from in 0..workers {
            if from == self.number {
                receive_some(&mut self.outboxes[from], &mut receive);
            } else {
                receive_some(&mut *lock(&outboxes[from * workers + self.number]), &mut receive);
            }
        }
        known.iter().fold(A::default(), |agreed, known| agreed.with(*lock(known)))
    }
}

fn receive_some<O: Outbox>(outbox: &mut O, receive: &mut impl FnMut(&mut O)) {
    if !outbox.is_empty() {
        receive(outbox);
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("no thread panics while it swaps outboxes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::tests::{Sum, check_sums};

    #[test]
    fn outboxes_arrive_in_the_order_of_workers_and_sums_are_of_all() {
        for workers in 1..5 {
            let threads = Threads::new(workers);
            std::thread::scope(|scope| {
                for number in 0..workers {
                    let end = threads.end(number);
                    scope.spawn(move || check_sums(end, number, workers));
                }
            });
        }
    }

    #[test]
    fn no_thread_waits_for_one_that_panicked() {
        let threads: Threads<Vec<u32>, Sum> = Threads::new(2);
        let waiting = std::thread::scope(|scope| {
            let [mut waiter, other] = [0, 1].map(|number| threads.end(number));
            let waiting = scope.spawn(move || waiter.meet(Sum::default(), Vec::clear));
            let failing = scope.spawn(move || {
                let _end = other;
                panic!("as a bug would");
            });
            assert!(failing.join().is_err());
            waiting.join()
        });
        assert!(waiting.is_err());
    }
}
