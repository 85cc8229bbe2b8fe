//! The threads of a run: each serves its shards window by window and exchanges what they did to each other.

use std::sync::{Barrier, Mutex};

use crate::pace::Pace;
use crate::routing::Routing;
use crate::shard::{Letter, Shard};
use crate::tally::Batch;
use crate::world::World;

/// Letters from each thread to each thread, for windows of even and of odd number.
type Boxes = [Vec<Mutex<Vec<Letter>>>; 2];

/// Serves all shards until the pace says that it is enough; gives the pace as it ended.
pub(crate) fn run<R: Routing>(
    shards: &mut [Shard],
    world: &World<'_, R>,
    pace: &Pace,
    window: u32,
    threads: usize,
) -> Pace {
    let per_thread = shards.len().div_ceil(threads);
    let threads = shards.len().div_ceil(per_thread);
    let boxes: Boxes = [0, 1].map(|_| (0..threads * threads).map(|_| Mutex::default()).collect());
    let sums: Vec<Mutex<Batch>> = (0..threads).map(|_| Mutex::default()).collect();
    let barrier = Barrier::new(threads);
    let worker = Worker { boxes: &boxes, sums: &sums, barrier: &barrier, threads, per_thread, window };
    std::thread::scope(|scope| {
        let mut chunks = shards.chunks_mut(per_thread).enumerate();
        let (_, own) = chunks.next().expect("there is a shard");
        for (number, chunk) in chunks {
            scope.spawn(move || worker.run(world, pace.clone(), number, chunk));
        }
        worker.run(world, pace.clone(), 0, own)
    })
}

/// What the threads share.
#[derive(Clone, Copy)]
struct Worker<'a> {
    boxes: &'a Boxes,
    /// What each thread counted in a batch.
    sums: &'a [Mutex<Batch>],
    barrier: &'a Barrier,
    threads: usize,
    per_thread: usize,
    window: u32,
}

impl Worker<'_> {
    /// Every thread comes to the same pace, as all judge the same sums.
    fn run<R: Routing>(&self, world: &World<'_, R>, mut pace: Pace, number: usize, shards: &mut [Shard]) -> Pace {
        let (mut now, mut count) = (0, 0);
        while now < pace.span.end {
            let stop = pace.next_stop(now, self.window);
            let boxes = &self.boxes[count % 2];
            for shard in &mut *shards {
                shard.run(world, stop);
                self.post(boxes, number, shard);
            }
            self.barrier.wait();
            self.collect(boxes, number, shards);
            (now, count) = (stop, count + 1);
            if now.is_multiple_of(pace.batch) {
                shards.iter_mut().for_each(Shard::end_batch);
                if pace.is_open() {
                    pace.judge(now, self.sum(number, shards));
                    shards.iter_mut().for_each(|shard| shard.span = pace.span.clone());
                }
            }
        }
        pace
    }

    fn post(&self, boxes: &[Mutex<Vec<Letter>>], number: usize, shard: &mut Shard) {
        let own = &boxes[number * self.threads..][..self.threads];
        let mut own: Vec<_> = own.iter().map(|letters| letters.lock().expect("no thread panics with a box")).collect();
        for letter in shard.letters.drain(..) {
            own[usize::from(letter.shard) / self.per_thread].push(letter);
        }
    }

    /// Letters come in the order of the shards that wrote them, on any number of threads.
    fn collect(&self, boxes: &[Mutex<Vec<Letter>>], number: usize, shards: &mut [Shard]) {
        for from in 0..self.threads {
            let mut letters = boxes[from * self.threads + number].lock().expect("no thread panics with a box");
            for letter in letters.drain(..) {
                shards[usize::from(letter.shard) - number * self.per_thread].receive(letter);
            }
        }
    }

    /// The batch of all shards that has just ended. Before anyone writes here again, all have met at a barrier.
    fn sum(&self, number: usize, shards: &[Shard]) -> Batch {
        let own = shards.iter().map(|shard| shard.tally.batch_before(shard.now)).fold(Batch::default(), Batch::plus);
        *self.sums[number].lock().expect("no thread panics with a sum") = own;
        self.barrier.wait();
        let sums = self.sums.iter().map(|sum| *sum.lock().expect("no thread panics with a sum"));
        sums.fold(Batch::default(), Batch::plus)
    }
}
