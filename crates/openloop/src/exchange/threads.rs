//! Workers that are threads of one process: letters lie in boxes that they share.

use std::sync::{Barrier, Mutex};

use crate::exchange::{Division, Exchange};
use crate::shard::Letter;
use crate::tally::Batch;

/// What the threads of a run share.
pub(crate) struct Threads {
    division: Division,
    /// Letters from each thread to each thread, for windows of even and of odd number.
    boxes: [Vec<Mutex<Vec<Letter>>>; 2],
    /// What each thread counted in a batch.
    sums: Vec<Mutex<Batch>>,
    barrier: Barrier,
}

impl Threads {
    pub fn new(division: Division) -> Threads {
        let count = division.workers;
        Threads {
            division,
            boxes: [0, 1].map(|_| (0..count * count).map(|_| Mutex::default()).collect()),
            sums: (0..count).map(|_| Mutex::default()).collect(),
            barrier: Barrier::new(count),
        }
    }

    /// The end of one of the threads.
    pub fn end(&self, number: usize) -> End<'_> {
        End { threads: self, number, windows: 0 }
    }
}

/// One thread's end of the exchange.
pub(crate) struct End<'a> {
    threads: &'a Threads,
    number: usize,
    /// How many have been collected.
    windows: usize,
}

impl End<'_> {
    fn boxes(&self) -> &[Mutex<Vec<Letter>>] {
        &self.threads.boxes[self.windows % 2]
    }
}

impl Exchange for End<'_> {
    fn post(&mut self, letters: &mut Vec<Letter>) {
        let division = self.threads.division;
        let own = &self.boxes()[self.number * division.workers..][..division.workers];
        let mut own: Vec<_> = own.iter().map(|letters| letters.lock().expect("no thread panics with a box")).collect();
        for letter in letters.drain(..) {
            own[division.worker_of(usize::from(letter.shard))].push(letter);
        }
    }

    fn collect(&mut self, mut receive: impl FnMut(Letter)) {
        self.threads.barrier.wait();
        let count = self.threads.division.workers;
        for from in 0..count {
            let letters = &self.boxes()[from * count + self.number];
            letters.lock().expect("no thread panics with a box").drain(..).for_each(&mut receive);
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
