//! Workers that are processes of an MPI communicator: remote events of a window go to all others at once.

use ::mpi::Count;
use ::mpi::collective::SystemOperation;
use ::mpi::datatype::{Partition, PartitionMut};
use ::mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

use crate::exchange::wire::Wire;
use crate::exchange::{Division, Exchange, Worker};
use crate::measures::Measures;
use crate::shard::RemoteEvent;
use crate::tally::Batch;
use crate::{Experiment, Report, workers};
use etherweave_primitives::InputError;
use etherweave_routing::PacketRouting;

impl<R: PacketRouting> Experiment<'_, R> {
    /// Runs it on all processes of a communicator, of which each carries its part of the switches and hosts on one
    /// thread. Every process calls this with the same experiment; the report comes to process 0. It is the one that
    /// [`Experiment::run`] gives.
    ///
    /// # Errors
    /// Those of [`Experiment::prepare`], on every process.
    pub fn run_on<C: Communicator>(&self, communicator: &C) -> Result<Option<Report>, InputError> {
        let [number, of] = [communicator.rank(), communicator.size()].map(|count| count as usize);
        let mut prepared = self.prepare_for(Worker { number, of })?;
        prepared.start();
        let parts = &mut prepared.parts;
        let end = ProcessEnd::new(communicator, parts.division);
        let control = workers::serve(&mut parts.shards, &prepared.constants, prepared.control, parts.window, end);
        let own = Measures::of(&parts.shards, &prepared.constants, &control.span);
        let measures = gather(communicator, own);
        Ok(measures.map(|measures| Report::new(measures, &prepared.constants, &control, parts.radix)))
    }
}

/// The measures of all shards, on process 0.
fn gather<C: Communicator>(communicator: &C, own: Measures) -> Option<Measures> {
    if communicator.rank() > 0 {
        let mut words = Vec::new();
        own.write(&mut words);
        communicator.process_at_rank(0).send(&words[..]);
        return None;
    }
    let others = (1..communicator.size()).map(|rank| communicator.process_at_rank(rank).receive_vec::<u32>().0);
    Some(others.fold(own, |mut all, words| {
        all.append(Measures::read(&mut &words[..]));
        all
    }))
}

/// One process's end of the exchange. Its buffers keep their memory from window to window.
struct ProcessEnd<'a, C> {
    communicator: &'a C,
    division: Division,
    own: usize,
    /// Remote events to shards of this process.
    kept: Vec<RemoteEvent>,
    /// Remote events to every process, as words.
    out: Vec<Vec<u32>>,
    /// The same, put together.
    sent: Vec<u32>,
    /// The words from every process, put together.
    received: Vec<u32>,
}

impl<C: Communicator> ProcessEnd<'_, C> {
    fn new(communicator: &C, division: Division) -> ProcessEnd<'_, C> {
        ProcessEnd {
            communicator,
            division,
            own: communicator.rank() as usize,
            kept: Vec::new(),
            out: vec![Vec::new(); division.workers],
            sent: Vec::new(),
            received: Vec::new(),
        }
    }

    /// Sends and receives the words of a window; returns where those of each process end in `received`.
    fn swap(&mut self) -> Vec<usize> {
        self.sent.clear();
        self.out.iter().for_each(|words| self.sent.extend(words));
        let sent: Vec<Count> = self.out.iter().map(|words| count(words.len())).collect();
        let mut received = vec![0; sent.len()];
        self.communicator.all_to_all_into(&sent[..], &mut received[..]);
        let ends = ends(&received);
        self.received.resize(ends.last().map_or(0, |&end| end as usize), 0);
        let from = Partition::new(&self.sent[..], &sent[..], starts(&sent));
        let mut to = PartitionMut::new(&mut self.received[..], &received[..], starts(&received));
        self.communicator.all_to_all_varcount_into(&from, &mut to);
        self.out.iter_mut().for_each(Vec::clear);
        ends.into_iter().map(|end| end as usize).collect()
    }
}

impl<C: Communicator> Exchange for ProcessEnd<'_, C> {
    fn post(&mut self, outbox: &mut Vec<RemoteEvent>) {
        for remote in outbox.drain(..) {
            match self.division.worker_of(usize::from(remote.shard)) {
                own if own == self.own => self.kept.push(remote),
                other => remote.write(&mut self.out[other]),
            }
        }
    }

    /// Processes carry shards in their order, so remote events read process by process are in the order of shards.
    fn collect(&mut self, mut receive: impl FnMut(RemoteEvent)) {
        let ends = self.swap();
        let mut start = 0;
        for (from, end) in ends.into_iter().enumerate() {
            if from == self.own {
                self.kept.drain(..).for_each(&mut receive);
            }
            let mut words = &self.received[start..end];
            while !words.is_empty() {
                receive(RemoteEvent::read(&mut words));
            }
            start = end;
        }
    }

    fn sum(&mut self, own: Batch) -> Batch {
        let Batch { offered, delivered, latency, hops, misrouted, lost } = own;
        let own = [offered, delivered, latency, hops, misrouted, lost];
        let mut all = [0; 6];
        self.communicator.all_reduce_into(&own[..], &mut all[..], SystemOperation::sum());
        let [offered, delivered, latency, hops, misrouted, lost] = all;
        Batch { offered, delivered, latency, hops, misrouted, lost }
    }
}

/// # Panics
/// When a process sends more than 8 GiB in a window.
fn count(words: usize) -> Count {
    Count::try_from(words).expect("a window has less than 2^31 words of remote events")
}

/// Where each of several pieces ends.
fn ends(counts: &[Count]) -> Vec<Count> {
    let total = |sum: &mut Count, &count: &Count| {
        *sum = sum.checked_add(count).expect("a window has less than 2^31 words of remote events");
        Some(*sum)
    };
    counts.iter().scan(0, total).collect()
}

/// Where each of several pieces starts.
fn starts(counts: &[Count]) -> Vec<Count> {
    ends(counts).iter().zip(counts).map(|(end, count)| end - count).collect()
}
