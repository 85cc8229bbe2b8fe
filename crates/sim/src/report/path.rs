//! The path that limits a job: from its last step back to its first, step by step and message by message.
//!
//! A rank that is idle waits for the message that it handles next; the path goes on where that was posted. So the times
//! of all parts add up to that of the job, to the picosecond. See `docs/models/limits.md`.

use etherweave_host::{ActivityKind, MessageName, Posted, Step, StepKind, StepLog};
use etherweave_kernel::{RowNames, rows};
use etherweave_primitives::{Duration, Time};

use super::rank_log::RankLog;

/// Kind of a part of the path: where its time goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PathPart {
    /// The rank computes.
    Computation,
    /// It sleeps.
    Sleep,
    /// MPI copies, or waits for memory to copy.
    MpiCopy,
    /// Calls of MPI, and what it does with a message that has come.
    MpiCall,
    /// The kernel copies between a socket and the rank.
    SocketCopy,
    /// Calls of sockets.
    SocketCall,
    /// The kernel takes a message from the NIC: interrupts, moderation, its receive path.
    Kernel,
    /// Others have the core: ranks, interrupts.
    Core,
    /// The bytes of a message pass the slower of its two hosts' links.
    Line,
    /// Latency of the quickest path between the two hosts: NICs, cables, switches.
    Latency,
    /// A message is on its way otherwise: NICs, other messages before it, queues, pauses.
    Network,
    /// The same of a message whose bytes a NIC asks for, with the request.
    Rendezvous,
    /// There is no room in a socket: acknowledgements are on their way.
    Room,
    /// Nothing that ranks do: the wait of a driver, or the time before the first step of a rank.
    Idle,
}

impl PathPart {
    const ALL: [PathPart; 14] = [
        PathPart::Computation,
        PathPart::Sleep,
        PathPart::MpiCopy,
        PathPart::MpiCall,
        PathPart::SocketCopy,
        PathPart::SocketCall,
        PathPart::Kernel,
        PathPart::Core,
        PathPart::Line,
        PathPart::Latency,
        PathPart::Network,
        PathPart::Rendezvous,
        PathPart::Room,
        PathPart::Idle,
    ];

    fn name(self) -> &'static str {
        match self {
            PathPart::Computation => "computation",
            PathPart::Sleep => "sleep",
            PathPart::MpiCopy => "mpi_copy",
            PathPart::MpiCall => "mpi_call",
            PathPart::SocketCopy => "socket_copy",
            PathPart::SocketCall => "socket_call",
            PathPart::Kernel => "kernel",
            PathPart::Core => "core",
            PathPart::Line => "line",
            PathPart::Latency => "latency",
            PathPart::Network => "network",
            PathPart::Rendezvous => "rendezvous",
            PathPart::Room => "room",
            PathPart::Idle => "idle",
        }
    }

    fn number(part: &PathPart) -> u8 {
        *part as u8
    }

    fn of_number(number: u8) -> PathPart {
        PathPart::ALL[usize::from(number)]
    }

    /// Parts to which copies and calls of a step belong.
    fn of_step(kind: StepKind) -> (PathPart, PathPart) {
        match kind {
            StepKind::Operation(ActivityKind::Compute) => (PathPart::Computation, PathPart::Computation),
            StepKind::Operation(ActivityKind::Sleep) => (PathPart::Sleep, PathPart::Sleep),
            StepKind::Operation(ActivityKind::Copy) => (PathPart::MpiCopy, PathPart::MpiCopy),
            StepKind::Operation(ActivityKind::Send | ActivityKind::Receive | ActivityKind::Wait) | StepKind::Handle => {
                (PathPart::MpiCopy, PathPart::MpiCall)
            }
            StepKind::SocketSend | StepKind::Write | StepKind::Read => (PathPart::SocketCopy, PathPart::SocketCall),
        }
    }
}

rows! {
    /// A part of the path that limits a job.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct PathRow in RowNames<'n>, "path" {
        /// Number of its job.
        job: u32 ["job" = |row, names| names.job(row.job)];
        /// The rank that spends the time, or waits.
        rank: u32 ["rank"];
        /// Number of its host.
        host: u32 ["host" = |row, names| names.host(row.host)];
        /// Kind of the part.
        part: PathPart ["part" = |row, _| row.part.name()] wire PathPart::number => PathPart::of_number;
        /// The rank whose message is waited for; the rank itself where none is.
        source: u32 ["source"];
        /// Start of the part.
        start: Time ["start_ns"];
        /// End of the part.
        end: Time ["end_ns"];
    }
}

/// A message on the path, whose wait may be divided by ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathMessage {
    /// Number of its job.
    pub job: u32,
    /// The rank that waits.
    pub rank: u32,
    /// The rank that sent the bytes.
    pub source: u32,
    /// Its name.
    pub(super) name: MessageName,
    /// When its bytes were posted.
    pub(super) posted: Time,
    /// When the last of them had arrived.
    pub(super) arrived: Time,
    /// Start of its part of the path that is neither latency nor serialisation.
    pub start: Time,
    /// End of that part.
    pub end: Time,
}

/// Latencies and rates that the walk needs.
pub(super) struct Surroundings<'s> {
    /// Latency of messages within a host.
    pub in_host: Duration,
    /// Latency from one host to another, by their numbers.
    pub latency: &'s dyn Fn(u32, u32) -> Duration,
    /// How long some bytes take on all links of a host together, by its number.
    pub line: &'s dyn Fn(u32, u64) -> Duration,
}

/// The paths of all jobs, by job and time, from logs by job and rank; and messages that take time on them.
pub(super) fn paths(logs: &[RankLog], around: &Surroundings<'_>) -> (Vec<PathRow>, Vec<PathMessage>) {
    let jobs = logs.chunk_by(|first, second| first.job == second.job);
    let paths = jobs.map(|logs| Walk { logs, around, rows: Vec::new(), messages: Vec::new() }.path());
    let (rows, messages): (Vec<_>, Vec<_>) = paths.unzip();
    (rows.concat(), messages.concat())
}

/// Where a message came from.
struct Origin {
    /// The rank that has the path before.
    rank: u32,
    /// The rank that sent the bytes: another than that where a NIC asked for them.
    source: u32,
    /// When it was posted, or asked for.
    at: Time,
    /// When it was posted.
    posted: Time,
    part: PathPart,
    /// Its bytes.
    bytes: u64,
    /// When a kernel found the last of them, where one did.
    arrived: Option<Time>,
}

/// Event for which a rank waits before the step that the walk has reached.
#[derive(Clone, Copy)]
enum Awaited {
    /// The message that the step handles.
    Message(Step),
    /// Room in a socket.
    Room,
    Nothing,
}

impl Awaited {
    /// The same before another step.
    fn and_before(self, step: Step) -> Awaited {
        match step.kind {
            StepKind::Handle => Awaited::Message(step),
            StepKind::Write => Awaited::Room,
            StepKind::Operation(_) | StepKind::SocketSend | StepKind::Read => self,
        }
    }

    /// Part of a wait for what no rank has posted: a NIC reports by itself that a message is there.
    fn part(self) -> PathPart {
        match self {
            Awaited::Message(_) => PathPart::Network,
            Awaited::Room => PathPart::Room,
            Awaited::Nothing => PathPart::Idle,
        }
    }
}

/// The way back through the steps of a job.
struct Walk<'s> {
    /// Logs of its ranks, in order.
    logs: &'s [RankLog],
    around: &'s Surroundings<'s>,
    rows: Vec<PathRow>,
    messages: Vec<PathMessage>,
}

impl<'s> Walk<'s> {
    /// The path and its messages, the first part first.
    fn path(mut self) -> (Vec<PathRow>, Vec<PathMessage>) {
        let last = |log: &RankLog| log.steps().last().map(|step| (step.end, log.rank));
        if let Some((end, rank)) = self.logs.iter().filter_map(last).max_by_key(|&(end, _)| end) {
            self.walk(rank, end);
        }
        self.rows.reverse();
        self.messages.reverse();
        (self.rows, self.messages)
    }

    /// The log of a rank.
    fn log(&self, rank: u32) -> &'s RankLog {
        let place = self.logs.binary_search_by_key(&rank, |log| log.rank);
        &self.logs[place.expect("messages are of ranks that are observed")]
    }

    fn walk(&mut self, mut rank: u32, mut time: Time) {
        // Of each stream of a rank, its first step is the first to end.
        let starts = |log: &'s RankLog| log.first_steps().map(|step| step.start);
        let first = self.logs.iter().flat_map(starts).min().unwrap_or(time);
        let (mut place, mut awaited) = (usize::MAX, Awaited::Nothing);
        while time > first {
            let steps = self.log(rank).steps();
            place = place.min(steps.partition_point(|step| step.end <= time));
            let previous = place.checked_sub(1).map(|place| steps[place]);
            if let Some(step) = previous.filter(|step| step.end == time) {
                place -= 1;
                self.add_step(rank, &step);
                awaited = awaited.and_before(step);
                time = step.start;
                continue;
            }
            let idle_from = previous.map_or(first, |step| step.end);
            match awaited {
                Awaited::Message(step)
                    if let Some(origin) = self.origin(rank, &step).filter(|origin| origin.at < time) =>
                {
                    self.add_message(rank, (step.message, &origin), first, time);
                    (rank, time, place, awaited) = (origin.rank, origin.at, usize::MAX, Awaited::Nothing);
                }
                Awaited::Message(_) | Awaited::Room | Awaited::Nothing => {
                    self.add(rank, awaited.part(), rank, idle_from, time);
                    time = idle_from;
                }
            }
        }
    }

    /// Origin of the message that a step handles.
    fn origin(&self, rank: u32, step: &Step) -> Option<Origin> {
        if step.message == MessageName::NONE {
            let (at, part) = (before(step.start, self.around.in_host), PathPart::Network);
            return (step.peer != StepLog::NO_PEER).then_some(Origin {
                rank: step.peer,
                source: step.peer,
                at,
                posted: at,
                part,
                bytes: 0,
                arrived: None,
            });
        }
        let (posted, bytes) = self.find(step.peer, step.message, step.start)?;
        let asked = self.find(rank, posted.answers, posted.at).map(|(asked, _)| (rank, asked.at, PathPart::Rendezvous));
        let (rank_before, at, part) = asked.unwrap_or((step.peer, posted.at, PathPart::Network));
        let arrived = self.arrived(rank, step, posted.at);
        Some(Origin { rank: rank_before, source: step.peer, at, posted: posted.at, part, bytes, arrived })
    }

    /// The post of a rank until a time that completed a message, and how many bytes of its connection that took.
    fn find(&self, rank: u32, message: MessageName, until: Time) -> Option<(&'s Posted, u64)> {
        if message.connection == MessageName::NEIGHBOUR {
            return None;
        }
        let posted = &self.log(rank).log.steps.posted;
        let until = posted.partition_point(|posted| posted.at <= until);
        let mut own = posted[..until].iter().rev().filter(|posted| posted.message.connection == message.connection);
        let (mut post, mut before) = (None, own.next());
        while let Some(posted) = before.filter(|posted| posted.message.end >= message.end) {
            (post, before) = (Some(posted), own.next());
        }
        post.map(|post| (post, post.message.end - before.map_or(0, |before| before.message.end)))
    }

    /// When the last byte of what a step of a rank handles was at the NIC: the last time before the step that it came.
    fn arrived(&self, rank: u32, step: &Step, posted: Time) -> Option<Time> {
        let arrived = &self.log(rank).log.steps.arrived;
        let until = arrived.partition_point(|arrived| arrived.at <= step.start);
        let mut since = arrived[..until].iter().rev().take_while(|arrived| arrived.at >= posted);
        since.find(|arrived| arrived.message == step.message).map(|arrived| arrived.at)
    }

    /// Adds the way of a message to a rank.
    fn add_message(&mut self, rank: u32, (name, origin): (MessageName, &Origin), first: Time, time: Time) {
        let start = origin.at.max(first);
        let [host, other] = [rank, origin.source].map(|rank| self.log(rank).host);
        let line = [host, other].map(|host| (self.around.line)(host, origin.bytes));
        let way = |from, to| if from == to { Duration::ZERO } else { (self.around.latency)(from, to) };
        let asked = if origin.part == PathPart::Rendezvous { way(host, other) } else { Duration::ZERO };
        let latency = asked + way(other, host);
        let arrived = origin.arrived.unwrap_or(time).clamp(start, time);
        let line_from = before(arrived, line[0].max(line[1])).max(start);
        self.add(rank, PathPart::Kernel, rank, arrived, time);
        self.add(rank, PathPart::Line, origin.source, line_from, arrived);
        let latency_from = before(line_from, latency).max(start);
        self.add(rank, PathPart::Latency, origin.source, latency_from, line_from);
        self.add(rank, origin.part, origin.source, start, latency_from);
        if name != MessageName::NONE && start < latency_from {
            let (job, source, end) = (self.log(rank).job, origin.source, latency_from);
            self.messages.push(PathMessage { job, rank, source, name, posted: origin.posted, arrived, start, end });
        }
    }

    /// Adds a step of a rank: waits for the core, calls, copies.
    fn add_step(&mut self, rank: u32, step: &Step) {
        let Step { start, end, worked, copied, kind, .. } = *step;
        let (copies, calls) = PathPart::of_step(kind);
        let worked = worked.min(end.since(start));
        let (begun, called) = (before(end, worked), before(end, copied.min(worked)));
        for (part, from, until) in [(copies, called, end), (calls, begun, called), (PathPart::Core, start, begun)] {
            self.add(rank, part, rank, from, until);
        }
    }

    /// Adds a part before all others.
    fn add(&mut self, rank: u32, part: PathPart, source: u32, start: Time, end: Time) {
        if start == end {
            return;
        }
        if let Some(next) = self.rows.last_mut()
            && (next.rank, next.part, next.source, next.start) == (rank, part, source, end)
        {
            next.start = start;
            return;
        }
        let RankLog { job, host, .. } = *self.log(rank);
        self.rows.push(PathRow { job, rank, host, part, source, start, end });
    }
}

/// A time before another.
fn before(time: Time, span: Duration) -> Time {
    Time::from_ps(time.as_ps().saturating_sub(span.as_ps()))
}
