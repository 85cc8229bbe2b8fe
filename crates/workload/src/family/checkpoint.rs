//! Checkpoints: accelerators write the state of a training to storage servers together, or read it back.
//!
//! ```text
//!   writer ── pieces of its shard, one server after another ──► servers ── storage ──► an answer for each piece
//! ```
//!
//! All begin at once, so that n writers of equal shards at m servers take the longest of a shard by the rate of a
//! NIC and of all shards by the rates of the servers.

use std::{collections::BTreeMap, sync::Arc};

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, InputErrors, Rank, Time, params};

use crate::generator::Generator;
use crate::limits::{STREAMS_MAX, at_least, positive, within};
use crate::size::of_graphs;
use crate::{Driver, DriverEvent, ExecutionStream, Graph, GraphFacts, GraphOp, MessageSum, NextOperations};
use crate::{Traffic, TrafficSize};

/// A request to read, or what a server answers to a piece [B].
const CONTROL_BYTES: u64 = 64;
const PIECES_MAX: u64 = 1 << 24;
/// Streams of a server: messages, and its storage.
const NETWORK: u8 = 0;
const STORAGE: u8 = 1;

/// Access to a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointAccess {
    /// Writers save it.
    #[default]
    Save,
    /// They read it back.
    Restore,
}

params! {
    /// Checkpoints of a training (`checkpoint`). The writers are the first ranks, the storage servers the last. A row
    /// of a writer is a checkpoint.
    pub struct Checkpoint {
        /// Writers, each with an equal shard.
        pub writers: u32 = 16,
        /// Storage servers.
        pub servers: u32 = 4,
        /// Servers that a shard is spread over: the next ones by number from the writer's own on.
        pub stripes: u32 = 4,
        /// Parameters of the model.
        pub parameters: u64 = 8_000_000_000,
        /// Saved bytes of a parameter: 2 of bf16, 4 of its copy in fp32, 4 and 4 of Adam's moments.
        pub parameter_bytes: u32 = 14,
        /// Piece of a shard that a server stores at once.
        pub piece: Bytes = Bytes::new(64 << 20),
        /// Rate of a server's storage.
        pub server_rate: BitRate = BitRate::from_gbps(160),
        /// Access to a checkpoint.
        pub access: CheckpointAccess = CheckpointAccess::Save,
        /// Time from the start of a checkpoint to the start of the next, which waits for the end of the one before.
        pub interval: Duration = Duration::ZERO,
        /// Checkpoints, 1 or more.
        pub checkpoints: u32 = 1,
    }
}

impl Generator for Checkpoint {
    fn ranks(&self) -> u64 {
        u64::from(self.writers) + u64::from(self.servers)
    }

    fn traffic(&self, _: u64) -> Result<Traffic, InputErrors> {
        Ok(Traffic::Graphs { ranks: self.graphs()?, iterations: 1 })
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        let size = of_graphs(std::iter::once(self.graphs()), self.ranks(), 1)?;
        Ok(TrafficSize { rows: u64::from(self.writers) * u64::from(self.checkpoints), ..size })
    }

    fn calls_nccl(&self) -> bool {
        true
    }
}

impl Checkpoint {
    fn check(&self) -> Result<(), InputErrors> {
        let pairs = u64::from(self.writers) * u64::from(self.stripes);
        InputErrors::all([
            at_least("writers", self.writers, 1),
            at_least("servers", self.servers, 1),
            within("stripes", self.stripes, 1..=self.servers.max(1)),
            at_least("checkpoints", self.checkpoints, 1),
            positive("server_rate", self.server_rate),
            InputError::unless(self.parameters > 0, "parameters", "0", "at least 1"),
            InputError::unless(self.parameters <= 1 << 50, "parameters", self.parameters, "at most 2^50"),
            within("parameter_bytes", self.parameter_bytes, 1..=1_024),
            InputError::unless(self.piece > Bytes::ZERO, "piece", self.piece, "at least 1B"),
            InputError::unless(
                pairs <= STREAMS_MAX,
                "stripes",
                format!("{pairs} pairs"),
                format!("at most {STREAMS_MAX}"),
            ),
        ])?;
        let pieces = self.shard().div_ceil(self.piece.get()).saturating_mul(self.writers.into());
        let count = format!("{pieces} pieces of a checkpoint");
        Ok(InputError::unless(pieces <= PIECES_MAX, "piece", count, format!("at most {PIECES_MAX}"))?)
    }

    /// A writer's part of a checkpoint [B].
    fn shard(&self) -> u64 {
        (self.parameters * u64::from(self.parameter_bytes)).div_ceil(self.writers.into())
    }

    /// Pieces of a writer's shard: server and length [B].
    fn pieces(&self, writer: u32) -> impl Iterator<Item = (u32, u64)> + use<> {
        let (shard, piece, stripes) = (self.shard(), self.piece.get(), u64::from(self.stripes));
        let (writers, servers) = (self.writers, self.servers);
        (0..shard.div_ceil(piece)).map(move |number| {
            let server = (u64::from(writer) + number % stripes) % u64::from(servers);
            (writers + server as u32, piece.min(shard - number * piece))
        })
    }

    /// A message to a server and its answer, of a piece of so many bytes [B].
    fn lengths(&self, bytes: u64) -> [u64; 2] {
        match self.access {
            CheckpointAccess::Save => [bytes, CONTROL_BYTES],
            CheckpointAccess::Restore => [CONTROL_BYTES, bytes],
        }
    }

    fn graphs(&self) -> Result<Vec<Arc<Graph>>, InputErrors> {
        self.check()?;
        let plan = Arc::new(self.clone());
        let mut of_servers = vec![Sums::default(); self.servers as usize];
        let mut graphs = Vec::with_capacity(self.ranks() as usize);
        for writer in 0..self.writers {
            let mut sums = Sums::default();
            for (server, bytes) in self.pieces(writer) {
                let [out, back] = self.lengths(bytes);
                sums.add(server, out, back);
                of_servers[(server - self.writers) as usize].add(writer, back, out);
            }
            let mut facts = sums.facts(self.checkpoints);
            facts.computed_ps = self.interval.as_ps().saturating_mul(self.checkpoints.into());
            let plan = Arc::clone(&plan);
            let make = move || Writer::new(&plan, writer);
            graphs.push(Graph::recording(vec![ExecutionStream::Accelerator], facts, self.checkpoints.into(), make));
        }
        for sums in of_servers {
            let left = sums.messages.saturating_mul(self.checkpoints.into());
            let mut facts = sums.facts(self.checkpoints);
            facts.computed_ps = self.server_rate.serialization_time(Bytes::new(facts.received.bytes)).as_ps();
            let plan = Arc::clone(&plan);
            let make = move || Server { plan: Arc::clone(&plan), left, stored: BTreeMap::new() };
            graphs.push(Graph::recording(vec![ExecutionStream::Accelerator; 2], facts, 0, make));
        }
        Ok(graphs.into_iter().map(Arc::new).collect())
    }
}

/// Messages of a rank in a checkpoint.
#[derive(Clone, Default)]
struct Sums {
    peers: Vec<Rank>,
    messages: u64,
    sent: u64,
    received: u64,
    longest: u64,
}

impl Sums {
    fn add(&mut self, peer: u32, sent: u64, received: u64) {
        self.peers.push(Rank::new(peer));
        self.messages += 1;
        self.sent += sent;
        self.received += received;
        self.longest = self.longest.max(sent);
    }

    fn facts(self, times: u32) -> GraphFacts {
        let mut facts = GraphFacts::of_peers(&self.peers);
        let times = u64::from(times);
        let sum = |bytes: u64| MessageSum { messages: self.messages * times, bytes: bytes.saturating_mul(times) };
        (facts.sent, facts.received, facts.sent_max) = (sum(self.sent), sum(self.received), self.longest);
        facts
    }
}

/// Sends its pieces and waits for all answers.
struct Writer {
    plan: Arc<Checkpoint>,
    writer: u32,
    since: Time,
    begun: u32,
    /// Answers that have not come.
    left: u64,
    pause: Option<u32>,
}

impl Writer {
    fn new(plan: &Arc<Checkpoint>, writer: u32) -> Writer {
        Writer { plan: Arc::clone(plan), writer, since: Time::ZERO, begun: 0, left: 0, pause: None }
    }

    fn begin(&mut self, now: Time, next: &mut NextOperations<'_>) {
        (self.since, self.begun) = (now, self.begun + 1);
        for (server, bytes) in self.plan.pieces(self.writer) {
            let [out, back] = self.plan.lengths(bytes);
            self.left += 1;
            next.perform(0, GraphOp::Receive { peer: None, tag: None, bytes: back });
            // The tag says whether it is the short piece at the end of a shard.
            next.perform(
                0,
                GraphOp::Send { peer: Rank::new(server), tag: u32::from(bytes < self.plan.piece.get()), bytes: out },
            );
        }
    }
}

impl Driver for Writer {
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        match event {
            DriverEvent::Started => self.begin(now, next),
            DriverEvent::Complete { received: Some(_), .. } => {
                self.left -= 1;
                if self.left == 0 {
                    next.record(self.since);
                    let due = (self.since + self.plan.interval).max(now);
                    self.pause = (self.begun < self.plan.checkpoints).then(|| next.wait(due.since(now)));
                }
            }
            DriverEvent::Complete { operation, .. } if self.pause == Some(operation) => {
                self.pause = None;
                self.begin(now, next);
            }
            DriverEvent::Complete { .. } => {}
        }
    }
}

/// Stores or fetches piece by piece, and answers.
struct Server {
    plan: Arc<Checkpoint>,
    /// Messages that have not come.
    left: u64,
    /// Pieces at the storage: for whom, and the length of the answer [B].
    stored: BTreeMap<u32, (Rank, u64)>,
}

impl Server {
    fn listen(&mut self, next: &mut NextOperations<'_>) {
        if self.left > 0 {
            self.left -= 1;
            let bytes = self.plan.lengths(self.plan.piece.get())[0];
            next.perform(NETWORK, GraphOp::Receive { peer: None, tag: None, bytes });
        }
    }

    /// The last piece of a shard is what is left of it.
    fn length(&self, is_last: bool) -> u64 {
        let (shard, piece) = (self.plan.shard(), self.plan.piece.get());
        if is_last { shard % piece } else { piece }
    }
}

impl Driver for Server {
    fn on_event(&mut self, _now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        match event {
            DriverEvent::Started => self.listen(next),
            DriverEvent::Complete { received: Some(message), .. } => {
                let bytes = self.length(message.tag == 1);
                let duration = self.plan.server_rate.serialization_time(Bytes::new(bytes));
                let operation = next.perform(STORAGE, GraphOp::Compute { duration });
                self.stored.insert(operation, (message.peer, self.plan.lengths(bytes)[1]));
                self.listen(next);
            }
            DriverEvent::Complete { operation, .. } => {
                if let Some((peer, bytes)) = self.stored.remove(&operation) {
                    next.perform(NETWORK, GraphOp::Send { peer, tag: 0, bytes });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(keys: &str) -> Checkpoint {
        toml::from_str(keys).unwrap()
    }

    #[test]
    fn shards_are_spread_over_their_stripes_and_have_all_bytes() {
        let plan = workload("writers = 3\nservers = 4\nstripes = 2\nparameters = 1000\npiece = \"1000B\"");
        assert_eq!(plan.shard(), 4_667);
        let pieces: Vec<(u32, u64)> = plan.pieces(2).collect();
        assert_eq!(pieces, [(5, 1_000), (6, 1_000), (5, 1_000), (6, 1_000), (5, 667)]);
    }

    #[test]
    fn what_is_sent_is_received() {
        for keys in ["", "access = \"restore\"", "writers = 5\nservers = 3\nstripes = 1\ncheckpoints = 2"] {
            let Traffic::Graphs { ranks, .. } = workload(keys).traffic(1).unwrap() else { panic!("graphs") };
            let sum = |part: fn(&Graph) -> MessageSum| {
                let sums = ranks.iter().map(|graph| part(graph));
                sums.fold((0, 0), |all, sum| (all.0 + sum.messages, all.1 + sum.bytes))
            };
            assert_eq!(sum(|graph| graph.facts().sent), sum(|graph| graph.facts().received), "{keys}");
        }
    }
}
