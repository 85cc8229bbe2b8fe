//! Workers that are threads of one process: remote events lie in shared outboxes.

use std::sync::{Barrier, Mutex};

use crate::exchange::{Division, Exchange};
use crate::shard::RemoteEvent;
use crate::tally::Batch;

/// What the threads of a run share.
pub(crate) struct Threads {
    division: Division,
    /// Remote events from each thread to each thread, for windows of even and of odd number.
    outboxes: [Vec<Mutex<Vec<RemoteEvent>>>; 2],
    /// What each thread counted in a batch.
    sums: Vec<Mutex<Batch>>,
    barrier: Barrier,
}

impl Threads {
    pub fn new(division: Division) -> Threads {
        let count = division.workers;
        Threads {
            division,
            outboxes: [0, 1].map(|_| (0..count * count).map(|_| Mutex::default()).collect()),
            sums: (0..count).map(|_| Mutex::default()).collect(),
            barrier: Barrier::new(count),
        }
    }

    /// The end of one of the threads.
    pub fn end(&self, number: usize) -> ThreadEnd<'_> {
        ThreadEnd { threads: self, number, windows: 0 }
    }
}

/// One thread's end of the exchange.
pub(crate) struct ThreadEnd<'a> {
    threads: &'a Threads,
    number: usize,
    /// How many have been collected.
    windows: usize,
}

impl ThreadEnd<'_> {
    fn outboxes(&self) -> &[Mutex<Vec<RemoteEvent>>] {
        &self.threads.outboxes[self.windows % 2]
    }
}

impl Exchange for ThreadEnd<'_> {
    fn post(&mut self, outbox: &mut Vec<RemoteEvent>) {
        let division = self.threads.division;
        let own = &self.outboxes()[self.number * division.workers..][..division.workers];
        let mut own: Vec<_> =
            own.iter().map(|outbox| outbox.lock().expect("no thread panics while it holds an outbox")).collect();
        for remote in outbox.drain(..) {
            own[division.worker_of(usize::from(remote.shard))].push(remote);
        }
    }

    fn collect(&mut self, mut receive: impl FnMut(RemoteEvent)) {
        self.threads.barrier.wait();
        let count = self.threads.division.workers;
        for from in 0..count {
            let outbox = &self.outboxes()[from * count + self.number];
            outbox.lock().expect("no thread panics while it holds an outbox").drain(..).for_each(&mut receive);
        }
        self.windows += 1;
    }

    /// Before anyone writes here again, all have met to collect.
    fn sum(&mut self, own: Batch) -> Batch {
        *self.threads.sums[self.number].lock().expect("no thread panics with a sum") = own;
        self.threads.barrier.wait();
        let sums = self.threads.sums.iter().map(|sum| *sum.lock().expect("no thread panics with a sum"));
        sums.fold(Batch::default(), Batch::plus)
    }
}
