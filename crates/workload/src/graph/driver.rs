//! Operations that are decided while a run goes on: what a server of requests, a scheduler or an adaptive application
//! needs, whose next operation depends on when the last one was complete.
//!
//! ```text
//!   driver ──► operations ──► streams of its rank ──► network
//!      ▲                                                 │
//!      └── an operation is complete, a wait is over ◄────┘
//! ```
//!
//! A driver belongs to one rank, and learns nothing but what happens there. So it decides the same on any number of
//! threads.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use etherweave_primitives::{Duration, Rank, Time};

use super::{ExecutionStream, Graph, GraphFacts, GraphOp, Nodes};

/// Source of a rank's operations that decides on them while the run goes on.
pub trait Driver: Send {
    /// Answers what has happened at `now` with operations, which begin at once, in the order in which they are given,
    /// each on its stream. A driver with none in progress has ended.
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>);
}

impl Driver for Box<dyn Driver> {
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        (**self).on_event(now, event, next);
    }
}

/// Event at the rank of a driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriverEvent {
    /// Its job starts.
    Started,
    /// An operation or a wait is complete.
    Complete {
        /// Its number, as [`NextOperations`] gave it.
        operation: u32,
        /// The message that came in, if it was a receive.
        received: Option<Received>,
    },
}

/// A message that a receive has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// The sending rank.
    pub peer: Rank,
    /// MPI tag of the send.
    pub tag: u32,
    /// Payload [B].
    pub bytes: u64,
}

pub(super) trait MakeDriver: Send + Sync {
    fn make(&self) -> Box<dyn Driver>;
}

impl<D: Driver + 'static, F: Fn() -> D + Send + Sync> MakeDriver for F {
    fn make(&self) -> Box<dyn Driver> {
        Box::new(self())
    }
}

impl std::fmt::Debug for dyn MakeDriver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a driver")
    }
}

impl Graph {
    /// A graph whose operations a driver decides on: they are on `streams`, and their messages go to and come from
    /// `peers`.
    pub fn driven<D: Driver + 'static>(
        streams: Vec<ExecutionStream>,
        peers: &[Rank],
        make: impl Fn() -> D + Send + Sync + 'static,
    ) -> Graph {
        Graph { streams, facts: GraphFacts::of_peers(peers), nodes: Nodes::Driven(Arc::new(make), None) }
    }

    /// The same of a driver whose operations are known in sum, and that records so many rows.
    pub(crate) fn recording<D: Driver + 'static>(
        streams: Vec<ExecutionStream>,
        facts: GraphFacts,
        rows: u64,
        make: impl Fn() -> D + Send + Sync + 'static,
    ) -> Graph {
        Graph { streams, facts, nodes: Nodes::Driven(Arc::new(make), Some(rows)) }
    }
}

/// Collects what a driver answers.
pub struct NextOperations<'a> {
    now: Time,
    streams: usize,
    peers: &'a [Rank],
    steps: &'a mut Steps,
    records: &'a mut Vec<(Time, Time)>,
}

impl NextOperations<'_> {
    /// Begins an operation on a stream, counted from 0. Returns its number, which another has once it is complete.
    ///
    /// # Panics
    /// When the rank has no such stream, or the operation names a rank that is not a peer.
    pub fn perform(&mut self, stream: u8, op: GraphOp) -> u32 {
        assert!(usize::from(stream) < self.streams, "stream {stream} of {}", self.streams);
        if let GraphOp::Send { peer, .. } | GraphOp::Receive { peer: Some(peer), .. } = op {
            let is_peer = self.peers.binary_search(&peer).is_ok();
            assert!(is_peer, "rank {} is not among the peers of the driver", peer.get());
        }
        let number = self.steps.add(Some(op));
        self.steps.ready.push((number, stream));
        number
    }

    /// Waits, beside all that is in progress. Returns the number of the wait.
    pub fn wait(&mut self, duration: Duration) -> u32 {
        let number = self.steps.add(None);
        self.steps.waits.push(Reverse((self.now + duration, number)));
        number
    }

    /// Records a row, as of an iteration, from `start` until now.
    pub fn record(&mut self, start: Time) {
        self.record_span(start, self.now);
    }

    /// Records a row of a span that is over, or of a mean.
    pub fn record_span(&mut self, start: Time, end: Time) {
        self.records.push((start, end));
    }
}

/// Operations and waits that a driver has in progress.
#[derive(Default)]
struct Steps {
    /// Operations, by number; a wait has none.
    ops: Vec<Option<GraphOp>>,
    /// Numbers that nothing has.
    free: Vec<u32>,
    /// Operations that are to begin, with their streams.
    ready: Vec<(u32, u8)>,
    /// When waits end, the first one first.
    waits: BinaryHeap<Reverse<(Time, u32)>>,
    /// How many are not complete.
    left: u64,
}

impl Steps {
    fn add(&mut self, op: Option<GraphOp>) -> u32 {
        self.left += 1;
        match self.free.pop() {
            Some(number) => {
                self.ops[number as usize] = op;
                number
            }
            None => {
                self.ops.push(op);
                (self.ops.len() - 1) as u32
            }
        }
    }
}

pub(super) struct DriverRun {
    driver: Box<dyn Driver>,
    steps: Steps,
    /// Records that nobody has taken yet.
    records: Vec<(Time, Time)>,
}

impl DriverRun {
    pub fn new(make: &dyn MakeDriver) -> DriverRun {
        DriverRun { driver: make.make(), steps: Steps::default(), records: Vec::new() }
    }

    /// Operations and waits that are not complete.
    pub fn left(&self) -> u64 {
        self.steps.left
    }

    /// An operation that is in progress.
    pub fn op(&self, number: u32) -> GraphOp {
        self.steps.ops[number as usize].expect("a stream performs no wait")
    }

    /// When the next wait ends.
    pub fn next_wait(&self) -> Option<Time> {
        self.steps.waits.peek().map(|Reverse((time, _))| *time)
    }

    /// Takes what has been recorded.
    pub fn take_records(&mut self) -> Vec<(Time, Time)> {
        std::mem::take(&mut self.records)
    }

    /// The job starts.
    pub fn begin(&mut self, graph: &Graph, now: Time, ready: &mut impl FnMut(u32, u8)) {
        self.ask(graph, now, DriverEvent::Started, ready);
    }

    /// An operation is complete.
    pub fn complete(
        &mut self,
        graph: &Graph,
        number: u32,
        now: Time,
        received: Option<Received>,
        ready: &mut impl FnMut(u32, u8),
    ) {
        self.steps.left -= 1;
        self.steps.free.push(number);
        self.ask(graph, now, DriverEvent::Complete { operation: number, received }, ready);
    }

    /// Ends the waits that last until now, the first one first.
    pub fn wake(&mut self, graph: &Graph, now: Time, ready: &mut impl FnMut(u32, u8)) {
        while let Some(&Reverse((time, number))) = self.steps.waits.peek()
            && time <= now
        {
            self.steps.waits.pop();
            self.complete(graph, number, now, None, ready);
        }
    }

    fn ask(&mut self, graph: &Graph, now: Time, event: DriverEvent, ready: &mut impl FnMut(u32, u8)) {
        let (streams, peers) = (graph.streams().len(), graph.facts().peers());
        let (steps, records) = (&mut self.steps, &mut self.records);
        self.driver.on_event(now, event, &mut NextOperations { now, streams, peers, steps, records });
        self.steps.ready.drain(..).for_each(|(number, stream)| ready(number, stream));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::GraphRun, *};

    /// Waits twice at once, and computes when both waits are over.
    struct TwoWaits(u32);

    impl Driver for TwoWaits {
        fn on_event(&mut self, _now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
            if event == DriverEvent::Started {
                next.wait(Duration::from_us(3));
                next.wait(Duration::from_us(2));
                return;
            }
            self.0 += 1;
            if self.0 == 2 {
                next.perform(0, GraphOp::Compute { duration: Duration::from_us(1) });
            }
        }
    }

    #[test]
    fn a_driver_is_asked_when_a_wait_is_over_and_ends_when_it_has_nothing_in_progress() {
        let at = |us| Time::ZERO + Duration::from_us(us);
        let graph = Graph::driven(vec![ExecutionStream::Core], &[], || TwoWaits(0));
        let (mut run, mut ready) = (GraphRun::new(Arc::new(graph)), Vec::new());
        run.begin(at(0), |node, stream| ready.push((node, stream)));
        assert_eq!((run.next_wait(), run.left(), ready.len()), (Some(at(2)), 2, 0));
        run.wake(at(2), |node, stream| ready.push((node, stream)));
        assert_eq!((run.next_wait(), run.left(), ready.len()), (Some(at(3)), 1, 0));
        run.wake(at(3), |node, stream| ready.push((node, stream)));
        assert_eq!((run.next_wait(), run.left(), ready.len()), (None, 1, 1));
        let (node, _) = ready[0];
        assert!(run.start(node, |_, _| unreachable!("nothing waits for it")));
        assert_eq!(run.op(node), GraphOp::Compute { duration: Duration::from_us(1) });
        run.complete(node, at(4), None, |_, _| unreachable!("nothing waits for it"));
        assert_eq!(run.left(), 0);
    }

    #[test]
    #[should_panic(expected = "rank 7 is not among the peers of the driver")]
    fn a_driver_keeps_to_its_peers() {
        struct Stray;
        impl Driver for Stray {
            fn on_event(&mut self, _now: Time, _event: DriverEvent, next: &mut NextOperations<'_>) {
                next.perform(0, GraphOp::Send { peer: Rank::new(7), tag: 0, bytes: 1 });
            }
        }
        let graph = Graph::driven(vec![ExecutionStream::Core], &[Rank::new(1)], || Stray);
        GraphRun::new(Arc::new(graph)).begin(Time::ZERO, |_, _| {});
    }
}
