//! Waits of messages on the path of a job, divided by ports: a second run of the same experiment traces them.

use std::{collections::BTreeMap, iter};

use etherweave_engine::trace::{HoldCause, Trace, TracedMessage, Wait, WaitReason};
use etherweave_host::Role;
use etherweave_kernel::{RowNames, indices::PortIndex, rows};
use etherweave_primitives::{Duration, Time};

use super::{path::PathMessage, rank_log::MessageName};
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
        /// "queue", "own", "link", "pause", "credits", "window", "lost", "flow" or "other".
        reason: String ["reason"];
        /// Job whose packets go first; none of messages of flow-level mode.
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
        let traced = messages.iter().flat_map(|message| request(message).into_iter().chain(packets(message))).collect();
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
        let causes = self.causes(message);
        let asked = request(message).into_iter().flat_map(|request| self.trace.waits(&request));
        let own = self.trace.waits(&last).iter().chain(self.trace.resent(&last));
        let mut waits: Vec<Wait> = asked.chain(own).map(|wait| less_line(*wait, message)).collect();
        waits.sort_by_key(|wait| precedence(wait, message));
        let mut rows: Vec<WaitRow> = Vec::new();
        for wait in waits {
            let time = wait.time.min(left);
            left = left - time;
            let row = WaitRow { time, ..self.wait_row(message, &wait) };
            divided(row, &causes).into_iter().for_each(|row| add(&mut rows, row));
        }
        let row = WaitRow { time: left, ..self.remainder(message) };
        divided(row, &causes).into_iter().for_each(|row| add(&mut rows, row));
        rows
    }

    /// Rest of a wait: acknowledgements that a full socket waits for, rates of flow-level mode, or another.
    fn remainder(&self, message: &PathMessage) -> WaitRow {
        let port = self.trace.port(message.name.connection).filter(|_| message.makes_room());
        let (node, peer) = port.map(|port| self.ends(port)).unwrap_or_default();
        let is_fluid = self.run.shards[0].wires.constants.is_fluid[message.job as usize];
        let reason = match (is_fluid, port) {
            (true, _) => "flow",
            (false, Some(_)) => WINDOW,
            (false, None) => "other",
        };
        WaitRow { node, peer, reason: reason.to_owned(), ..empty(message) }
    }

    /// Waits of packets of a message in the network, with how long they are: a window or a rate waits for these.
    fn causes(&self, message: &PathMessage) -> Vec<WaitRow> {
        let waits = packets(message).flat_map(|packet| self.trace.waits(&packet)).filter(|wait| !wait.is_of_host);
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
            WaitReason::Behind(sender) if is_own(sender, message) => row("own"),
            WaitReason::Earlier => row("link"),
            // Their ranks are not known by port.
            WaitReason::Beside => row("queue"),
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
            WaitReason::Behind(_) | WaitReason::Beside | WaitReason::Earlier | WaitReason::Lost | WaitReason::Other => {
                self.ends(wait.port)
            }
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
    let &PathMessage { name: MessageName { connection, end }, posted, bytes, arrived, .. } = message;
    // Room is made by the acknowledgement of a byte, if anything was sent.
    TracedMessage { sender: connection, end, begin: end.saturating_sub(bytes.max(1)), posted, arrived }
}

/// The request that a message answers, which is posted before and there when that is posted.
fn request(message: &PathMessage) -> Option<TracedMessage> {
    let (MessageName { connection, end }, posted) = message.asked?;
    Some(TracedMessage { sender: connection, end, begin: end.saturating_sub(1), posted, arrived: message.posted })
}

/// The last packet of a message, and others of a long one.
fn packets(message: &PathMessage) -> impl Iterator<Item = TracedMessage> {
    let (last, step) = (traced(message), message.bytes / (PROBES + 1));
    let probes = (1..=PROBES).map(move |place| TracedMessage { end: last.end - step * place, ..last });
    iter::once(last).chain(probes.filter(move |_| message.bytes >= PROBED_MIN))
}

/// Whether a connection is that of a message, or of the request that it answers.
fn is_own(sender: u32, message: &PathMessage) -> bool {
    sender == message.name.connection || message.asked.is_some_and(|(asked, _)| sender == asked.connection)
}

/// A wait without what is another part of the path: at its NIC, the bytes of a message without their headers.
fn less_line(wait: Wait, message: &PathMessage) -> Wait {
    let is_line = wait.is_of_host && wait.reason == WaitReason::Behind(message.name.connection);
    let line = if is_line { message.line } else { Duration::ZERO };
    Wait { time: wait.time - line.min(wait.time), ..wait }
}

/// Order in which waits are counted: holds and losses before queues, and packets of others before those of the message.
fn precedence(wait: &Wait, message: &PathMessage) -> u8 {
    match wait.reason {
        WaitReason::Lost => 0,
        WaitReason::Paused(_) | WaitReason::NoCredits(_) => 1,
        WaitReason::Behind(sender) if is_own(sender, message) => 5,
        WaitReason::Behind(_) | WaitReason::Beside => 2,
        WaitReason::Other => 3,
        WaitReason::Earlier => 4,
    }
}
