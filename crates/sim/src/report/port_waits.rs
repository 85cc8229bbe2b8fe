//! Waits of messages on the path of a job, divided by ports: a second run of the same experiment traces them.

use std::collections::BTreeMap;

use etherweave_engine::trace::{HoldCause, Trace, TracedMessage, Wait, WaitReason};
use etherweave_host::Role;
use etherweave_kernel::{RowNames, indices::PortIndex, rows};
use etherweave_primitives::{Duration, Time};

use super::path::PathMessage;
use crate::run::Simulation;

rows! {
    /// A part of what a message on the path of a job waits.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct WaitRow in RowNames<'n>, "waits" {
        /// Number of its job.
        job: u32 ["job" = |row, names| names.job(row.job)];
        /// The rank that waits for the message.
        rank: u32 ["rank"];
        /// The rank that sent it.
        source: u32 ["source"];
        /// Start of the part of the path that is divided.
        start: Time ["start_ns"];
        /// Switch or host of the port; none of a wait at no port.
        node: String ["node"];
        /// The other end of its link.
        peer: String ["peer"];
        /// "queue", "own", "pause", "credits", "window", "lost" or "other".
        reason: String ["reason"];
        /// Job whose packets go first.
        of_job: String ["of_job"];
        /// The rank that sends them.
        of_rank: u32 ["of_rank"];
        /// Switch or host that causes a pause or a lack of credits; of a window, where the last packet waits longest.
        cause_node: String ["cause_node"];
        /// The other end of the link of the port there; none of a host that takes packets too slowly.
        cause_peer: String ["cause_peer"];
        /// Length of the wait.
        time: Duration ["time_ns"];
    }
}

type Ends = (String, String);

const WINDOW: &str = "window";
/// Packets of a long message that are traced beside the last.
const PROBES: u64 = 31;
/// Size from which on a message is long: several packets of any transport [B].
const PROBED_MIN: u64 = 1 << 16;

impl Simulation {
    /// Has messages traced while it runs.
    ///
    /// # Panics
    /// When the run has several shards.
    pub fn trace(&mut self, messages: &[PathMessage]) {
        let [shard] = &mut self.shards[..] else { panic!("a run is traced on one thread") };
        let traced = messages.iter().flat_map(|message| [traced(message)].into_iter().chain(probes(message))).collect();
        shard.wires.trace = Some(Box::new(Trace::new(traced, shard.wires.ports.len())));
        shard.wires.observes_departures = true;
    }

    /// Waits of messages by port, within their parts of the path: those of a message add up to its part.
    pub fn waits(&self, messages: &[PathMessage]) -> Vec<WaitRow> {
        let Some(trace) = self.shards.first().and_then(|shard| shard.wires.trace.as_deref()) else { return Vec::new() };
        let division = Division { run: self, trace, senders: self.senders() };
        messages.iter().flat_map(|message| division.waits_of(message)).collect()
    }

    /// Jobs and ranks, or streams, by the number of a sending end of a connection.
    fn senders(&self) -> BTreeMap<u32, (u32, u32)> {
        let ends = self.shards.iter().flat_map(|shard| {
            shard.hosts.nics.endpoints.iter().filter_map(|end| {
                let thread = &shard.hosts.processors.threads[end.thread];
                match &thread.role {
                    Role::Rank(rank) => Some((end.number, (thread.job, rank.rank))),
                    // The source of a stream is the other end of its sink's connection.
                    Role::Sink(sink) => Some((end.number ^ 1, (thread.job, sink.stream))),
                    Role::Source(_) | Role::GraphStream(_) => None,
                }
            })
        });
        ends.collect()
    }
}

/// Division of the waits of messages by ports.
struct Division<'s> {
    run: &'s Simulation,
    trace: &'s Trace,
    /// Jobs and ranks by the numbers of sending ends.
    senders: BTreeMap<u32, (u32, u32)>,
}

impl Division<'_> {
    fn waits_of(&self, message: &PathMessage) -> Vec<WaitRow> {
        let mut left = message.end.since(message.start);
        let last = traced(message);
        let all = self.trace.waits(&last);
        let causes = self.causes(message);
        let resent = self.trace.resent(&last);
        let mut waits: Vec<&Wait> = all.iter().chain(resent).filter(|wait| is_named(wait, message)).collect();
        waits.sort_by_key(|wait| precedence(wait, message));
        let mut rows: Vec<WaitRow> = Vec::new();
        for wait in waits {
            let time = wait.time.min(left);
            left = left - time;
            let row = WaitRow { time, ..self.wait_row(message, wait) };
            divided(row, &causes).into_iter().for_each(|row| add(&mut rows, row));
        }
        rows.extend((!left.is_zero()).then(|| WaitRow { time: left, ..empty(message) }));
        rows
    }

    /// Waits of packets of a message in the network, with how long they are: a window or a rate waits for these.
    fn causes(&self, message: &PathMessage) -> Vec<WaitRow> {
        let packets = [traced(message)].into_iter().chain(probes(message));
        let waits = packets.flat_map(|packet| self.trace.waits(&packet)).filter(|wait| !wait.is_of_host);
        let row = |wait: &Wait| {
            let (cause_node, cause_peer) = self.cause_of(wait);
            WaitRow { cause_node, cause_peer, time: wait.time, ..self.wait_row(message, wait) }
        };
        let mut rows = Vec::new();
        waits.map(row).for_each(|row| add(&mut rows, row));
        rows
    }

    fn wait_row(&self, message: &PathMessage, wait: &Wait) -> WaitRow {
        let (node, peer) = self.ends(wait.port);
        let row = |reason: &str| WaitRow { node, peer, reason: reason.to_owned(), ..empty(message) };
        match wait.reason {
            WaitReason::Behind(sender) if sender == message.name.connection => row("own"),
            WaitReason::Behind(sender) => self.behind(sender, row("queue")),
            WaitReason::Paused(cause) => self.held(cause, row("pause")),
            WaitReason::NoCredits(cause) => self.held(cause, row("credits")),
            WaitReason::Lost => row("lost"),
            WaitReason::Other if wait.is_of_host => row(WINDOW),
            WaitReason::Other => row("other"),
        }
    }

    /// A wait with the job and the rank whose packets go first.
    fn behind(&self, sender: u32, row: WaitRow) -> WaitRow {
        let (job, of_rank) = self.senders.get(&sender).copied().unwrap_or_default();
        WaitRow { of_job: self.run.names.jobs[job as usize].clone(), of_rank, ..row }
    }

    /// A hold with its cause, and of a busy port with the rank whose packets it sends most.
    fn held(&self, cause: HoldCause, row: WaitRow) -> WaitRow {
        let (cause_node, cause_peer) = self.cause_names(cause);
        let row = WaitRow { cause_node, cause_peer, ..row };
        match cause {
            HoldCause::Busy(_, Some(sender)) => self.behind(sender, row),
            HoldCause::Busy(_, None) | HoldCause::Receiver(_) | HoldCause::Link(_) => row,
        }
    }

    fn ends(&self, port: PortIndex) -> Ends {
        let (node, _, peer) = self.run.port_names(self.run.shards[0].wires.channels[port]);
        (node, peer)
    }

    /// Cause of the wait of a sender whose window is full or whose rate is low: that of its packet in the network.
    fn cause_of(&self, wait: &Wait) -> Ends {
        match wait.reason {
            WaitReason::Paused(cause) | WaitReason::NoCredits(cause) => self.cause_names(cause),
            WaitReason::Behind(_) | WaitReason::Lost | WaitReason::Other => self.ends(wait.port),
        }
    }

    fn cause_names(&self, cause: HoldCause) -> Ends {
        match cause {
            HoldCause::Busy(port, _) | HoldCause::Link(port) => self.ends(port),
            HoldCause::Receiver(port) => (self.ends(port).1, String::new()),
        }
    }
}

/// Adds a wait to an equal one, if there is one.
fn add(rows: &mut Vec<WaitRow>, row: WaitRow) {
    match rows.iter_mut().find(|other| is_alike(other, &row)) {
        Some(same) => same.time += row.time,
        None if !row.time.is_zero() => rows.push(row),
        None => {}
    }
}

/// Whether two waits of a message are equal but for their times.
fn is_alike<'r>(first: &'r WaitRow, second: &'r WaitRow) -> bool {
    let ends = |row: &'r WaitRow| [&row.node, &row.peer, &row.cause_node, &row.cause_peer, &row.of_job, &row.reason];
    (ends(first), first.of_rank) == (ends(second), second.of_rank)
}

/// A wait for a window or a rate by what packets of the message wait for in the network, in proportion; any other as it
/// is.
fn divided(row: WaitRow, causes: &[WaitRow]) -> Vec<WaitRow> {
    let sum: u128 = causes.iter().map(|cause| u128::from(cause.time.as_ps())).sum();
    if row.reason != WINDOW || sum == 0 {
        return vec![row];
    }
    let (mut before, mut given) = (0, Duration::ZERO);
    let share = |cause: &WaitRow| {
        before += u128::from(cause.time.as_ps());
        let until = Duration::from_ps((u128::from(row.time.as_ps()) * before / sum) as u64);
        let time = until - std::mem::replace(&mut given, until);
        let WaitRow { of_job, of_rank, cause_node, cause_peer, .. } = cause.clone();
        WaitRow { of_job, of_rank, cause_node, cause_peer, time, ..row.clone() }
    };
    causes.iter().map(share).collect()
}

fn empty(message: &PathMessage) -> WaitRow {
    let &PathMessage { job, rank, source, start, .. } = message;
    let text = String::new;
    let (node, peer, of_job, cause_node, cause_peer) = (text(), text(), text(), text(), text());
    let (reason, of_rank, time) = ("other".to_owned(), 0, Duration::ZERO);
    WaitRow { job, rank, source, start, node, peer, reason, of_job, of_rank, cause_node, cause_peer, time }
}

fn traced(message: &PathMessage) -> TracedMessage {
    let &PathMessage { name, posted, arrived, .. } = message;
    TracedMessage { sender: name.connection, end: name.end, posted, arrived }
}

/// Places in a long message whose packets are traced beside the last.
fn probes(message: &PathMessage) -> impl Iterator<Item = TracedMessage> {
    let (last, step) = (traced(message), message.bytes / (PROBES + 1));
    let probes = (1..=PROBES).map(move |place| TracedMessage { end: last.end - step * place, ..last });
    probes.filter(move |_| message.bytes >= PROBED_MIN)
}

/// Whether a wait is of a part of the path that is divided: bytes of the message at its NIC are another part.
fn is_named(wait: &Wait, message: &PathMessage) -> bool {
    !(wait.is_of_host && wait.reason == WaitReason::Behind(message.name.connection))
}

/// Order in which waits are counted: holds and losses before queues, and packets of others before those of the message.
fn precedence(wait: &Wait, message: &PathMessage) -> u8 {
    match wait.reason {
        WaitReason::Lost => 0,
        WaitReason::Paused(_) | WaitReason::NoCredits(_) => 1,
        WaitReason::Behind(sender) if sender == message.name.connection => 4,
        WaitReason::Behind(_) => 2,
        WaitReason::Other => 3,
    }
}
