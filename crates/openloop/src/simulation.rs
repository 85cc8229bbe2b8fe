//! A run: fabric, routing and traffic in, measures out.

use std::sync::{Barrier, Mutex};

use etherweave_primitives::Duration;
use etherweave_topology::Topology;
use etherweave_workload::{Arrival, Pattern};

use crate::OpenLoopError;
use crate::build::{self, Parts};
use crate::fairness::Fairness;
use crate::groups::groups;
use crate::params::{RunParams, SwitchParams};
use crate::report::Report;
use crate::routing::Routing;
use crate::shard::{Letter, Shard};
use crate::tally::Tally;
use crate::world::World;

/// What is run.
pub struct Experiment<'a, R> {
    /// The fabric.
    pub topology: &'a Topology,
    /// Its switches.
    pub switch: SwitchParams,
    /// Where packets go at each switch.
    pub routing: R,
    /// Whom packets are for.
    pub pattern: Pattern,
    /// When hosts make packets.
    pub arrival: Arrival,
    /// How long and how much.
    pub run: RunParams,
}

impl<R: Routing> Experiment<'_, R> {
    /// Checks it and lays out its state.
    ///
    /// # Errors
    /// When a parameter is out of range or the fabric cannot be simulated.
    pub fn prepare(&self) -> Result<Prepared<'_, R>, OpenLoopError> {
        let ticks = self.switch.ticks()?;
        let (start, end) = self.run.span()?;
        let hosts = self.topology.hosts() as u32;
        let groups = groups(self.topology)?;
        let world = World {
            routing: &self.routing,
            ticks,
            params: &self.switch,
            arrivals: self.arrival.plan(Duration::from_ns(u64::from(ticks.packet)), self.run.share()?)?,
            destinations: self.pattern.plan(&groups, self.run.seed)?,
            hosts,
            seed: self.run.seed,
            measured: start..end,
        };
        let parts = build::parts(self.topology, &world, self.routing.channels())?;
        Ok(Prepared { world, parts })
    }

    /// Prepares and runs it.
    ///
    /// # Errors
    /// Those of [`Experiment::prepare`].
    pub fn run(&self, threads: usize) -> Result<Report, OpenLoopError> {
        Ok(self.prepare()?.run(threads))
    }
}

/// An experiment ready to run.
pub struct Prepared<'a, R> {
    world: World<'a, R>,
    parts: Parts,
}

impl<R: Routing> Prepared<'_, R> {
    /// Runs on up to `threads` threads; their number changes nothing but how long it takes.
    pub fn run(self, threads: usize) -> Report {
        let Prepared { world, parts: Parts { mut shards, window } } = self;
        shards.iter_mut().for_each(|shard| shard.start(&world));
        let threads = threads.clamp(1, shards.len());
        run_windows(&mut shards, &world, window, threads);
        let mut tally = Tally::default();
        shards.iter().for_each(|shard| tally.merge(&shard.tally));
        let in_flight = shards.iter().map(|shard| shard.slab.held()).sum::<u64>() + tally.leaving;
        assert_eq!(tally.made, tally.delivered + in_flight, "every packet is delivered or in flight");
        let packets_most = shards.iter().map(|shard| shard.slab.most() as u64).sum();
        let mut fairness = Fairness::default();
        for shard in &shards {
            let senders = shard.hosts.iter().filter(|host| host.wanted > 0);
            senders.for_each(|host| fairness.add(host.made));
        }
        Report { fairness, ..Report::new(&tally, &world, in_flight, packets_most) }
    }
}

/// Letters from each thread to each thread, for windows of even and of odd number.
type Boxes = [Vec<Mutex<Vec<Letter>>>; 2];

/// Serves all shards window by window.
fn run_windows<R: Routing>(shards: &mut [Shard], world: &World<'_, R>, window: u32, threads: usize) {
    let per_thread = shards.len().div_ceil(threads);
    let threads = shards.len().div_ceil(per_thread);
    let boxes: Boxes = [0, 1].map(|_| (0..threads * threads).map(|_| Mutex::default()).collect());
    let barrier = Barrier::new(threads);
    let worker = Worker { boxes: &boxes, barrier: &barrier, threads, per_thread, window };
    std::thread::scope(|scope| {
        let mut chunks = shards.chunks_mut(per_thread).enumerate();
        let (_, own) = chunks.next().expect("there is a shard");
        for (number, chunk) in chunks {
            scope.spawn(move || worker.run(world, number, chunk));
        }
        worker.run(world, 0, own);
    });
}

/// What the threads share.
#[derive(Clone, Copy)]
struct Worker<'a> {
    boxes: &'a Boxes,
    barrier: &'a Barrier,
    threads: usize,
    per_thread: usize,
    window: u32,
}

impl Worker<'_> {
    fn run<R: Routing>(&self, world: &World<'_, R>, number: usize, shards: &mut [Shard]) {
        let end = world.measured.end;
        let windows = end.div_ceil(self.window);
        for count in 0..windows {
            let boxes = &self.boxes[count as usize % 2];
            for shard in &mut *shards {
                shard.run(world, end.min((count + 1) * self.window));
                self.post(boxes, number, shard);
            }
            self.barrier.wait();
            self.collect(boxes, number, shards);
        }
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
}
