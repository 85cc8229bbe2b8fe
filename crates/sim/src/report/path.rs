//! The path that limits a job: from its last step back to its first, step by step and message by message.
//!
//! A rank that is idle waits for the message that it handles next; the path goes on where that was posted. So the times
//! of all parts add up to that of the job, to the picosecond. See `docs/models/limits.md`.

use etherweave_host::{ActivityKind, Arrived, MessageName, Posted, Step, StepKind, StepLog};
use etherweave_kernel::{RowNames, rows, wire};
use etherweave_primitives::{Duration, Time};

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

/// A step of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepRow {
    pub job: u32,
    pub rank: u32,
    pub host: u32,
    pub step: Step,
}

/// A message that a rank has posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct PostedRow {
    pub rank: u32,
    pub posted: Posted,
}

/// Memory of what a step leaves, until the path is known [B].
pub(super) const STEP_BYTES: usize = size_of::<Step>() + size_of::<StepRow>();
/// The same of a message.
pub(super) const POSTED_BYTES: usize = size_of::<Posted>() + size_of::<PostedRow>();

/// Latencies and rates that the walk needs.
pub(super) struct Surroundings<'s> {
    /// Latency of messages within a host.
    pub in_host: Duration,
    /// Latency from one host to another, by their numbers.
    pub latency: &'s dyn Fn(u32, u32) -> Duration,
    /// How long some bytes take on all links of a host together, by its number.
    pub line: &'s dyn Fn(u32, u64) -> Duration,
}

/// The paths of all jobs, by job and time.
pub(super) fn paths(
    mut steps: Vec<StepRow>,
    mut posted: Vec<PostedRow>,
    mut arrived: Vec<Arrived>,
    around: &Surroundings<'_>,
) -> Vec<PathRow> {
    arrived.sort_by_key(|arrived| (arrived.message, arrived.at));
    steps.sort_by_key(|row| (row.job, row.rank, row.step.end, row.step.start, row.step.stream));
    posted.sort_by_key(|row| row.posted.message);
    let jobs = steps.chunk_by(|first, second| first.job == second.job);
    jobs.flat_map(|steps| Walk::new(steps, &posted, &arrived, around).rows()).collect()
}

/// Where a message came from.
struct Origin {
    /// The rank that has the path before.
    rank: u32,
    /// The rank that sent the bytes: another than that where a NIC asked for them.
    source: u32,
    /// When it was posted, or asked for.
    at: Time,
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
    /// Steps of each rank, by their end.
    ranks: Vec<&'s [StepRow]>,
    posted: &'s [PostedRow],
    arrived: &'s [Arrived],
    around: &'s Surroundings<'s>,
    rows: Vec<PathRow>,
}

impl<'s> Walk<'s> {
    fn new(
        steps: &'s [StepRow],
        posted: &'s [PostedRow],
        arrived: &'s [Arrived],
        around: &'s Surroundings<'s>,
    ) -> Walk<'s> {
        let mut ranks: Vec<&[StepRow]> = Vec::new();
        for steps in steps.chunk_by(|first, second| first.rank == second.rank) {
            ranks.resize(steps[0].rank as usize, &[]);
            ranks.push(steps);
        }
        Walk { ranks, posted, arrived, around, rows: Vec::new() }
    }

    /// The path, the first part first.
    fn rows(mut self) -> Vec<PathRow> {
        let last = self.ranks.iter().filter_map(|steps| steps.last()).max_by_key(|row| row.step.end);
        if let Some(last) = last {
            self.walk(last.rank, last.step.end);
        }
        self.rows.reverse();
        self.rows
    }

    fn walk(&mut self, mut rank: u32, mut time: Time) {
        let first = self.ranks.iter().flat_map(|steps| steps.iter()).map(|row| row.step.start).min().unwrap_or(time);
        let (mut place, mut awaited) = (usize::MAX, Awaited::Nothing);
        while time > first {
            let steps = self.ranks[rank as usize];
            place = place.min(steps.partition_point(|row| row.step.end <= time));
            let previous = place.checked_sub(1).map(|place| steps[place]);
            if let Some(row) = previous.filter(|row| row.step.end == time) {
                place -= 1;
                self.add_step(&row);
                awaited = awaited.and_before(row.step);
                time = row.step.start;
                continue;
            }
            let idle_from = previous.map_or(first, |row| row.step.end);
            match awaited {
                Awaited::Message(step) if let Some(origin) = self.origin(&step).filter(|origin| origin.at < time) => {
                    self.add_message(rank, &origin, first, time);
                    (rank, time, place, awaited) = (origin.rank, origin.at, usize::MAX, Awaited::Nothing);
                }
                Awaited::Message(_) | Awaited::Room | Awaited::Nothing => {
                    self.add(rank, awaited.part(), rank, idle_from, time);
                    time = idle_from;
                }
            }
        }
    }

    /// Where the message of a step that handles it came from.
    fn origin(&self, step: &Step) -> Option<Origin> {
        if step.message == MessageName::NONE {
            let (at, part) = (before(step.start, self.around.in_host), PathPart::Network);
            return (step.peer != StepLog::NO_PEER).then_some(Origin {
                rank: step.peer,
                source: step.peer,
                at,
                part,
                bytes: 0,
                arrived: None,
            });
        }
        let (row, bytes) = self.find(step.message)?;
        let asked = self.find(row.posted.answers).filter(|_| row.posted.answers != MessageName::NONE);
        let (row, part) = asked.map_or((row, PathPart::Network), |(asked, _)| (asked, PathPart::Rendezvous));
        let (source, arrived) = (step.peer, self.arrived(step));
        Some(Origin { rank: row.rank, source, at: row.posted.at, part, bytes, arrived })
    }

    /// The post that completed a message, and how many bytes of its connection that took.
    fn find(&self, message: MessageName) -> Option<(&'s PostedRow, u64)> {
        let is_same = |row: &&PostedRow| row.posted.message.connection == message.connection;
        let place = self.posted.partition_point(|row| row.posted.message < message);
        let row = self.posted.get(place).filter(is_same)?;
        let before = place.checked_sub(1).map(|place| &self.posted[place]).filter(is_same);
        Some((row, row.posted.message.end - before.map_or(0, |row| row.posted.message.end)))
    }

    /// When the last byte of what a step handles was at the NIC: the last time before the step that it came.
    fn arrived(&self, step: &Step) -> Option<Time> {
        let place = self.arrived.partition_point(|other| (other.message, other.at) <= (step.message, step.start));
        let last = self.arrived.get(place.checked_sub(1)?)?;
        (last.message == step.message).then_some(last.at)
    }

    /// Adds the way of a message to a rank.
    fn add_message(&mut self, rank: u32, origin: &Origin, first: Time, time: Time) {
        let start = origin.at.max(first);
        let [host, other] = [rank, origin.source].map(|rank| self.ranks[rank as usize].first().map(|row| row.host));
        let line = [host, other].into_iter().flatten().map(|host| (self.around.line)(host, origin.bytes)).max();
        let way = |from, to| if from == to { Duration::ZERO } else { (self.around.latency)(from, to) };
        let latency = match (host, other, origin.part) {
            (Some(host), Some(other), PathPart::Rendezvous) => way(host, other) + way(other, host),
            (Some(host), Some(other), _) => way(other, host),
            _ => Duration::ZERO,
        };
        let arrived = origin.arrived.unwrap_or(time).clamp(start, time);
        let line_from = before(arrived, line.unwrap_or(Duration::ZERO)).max(start);
        self.add(rank, PathPart::Kernel, rank, arrived, time);
        self.add(rank, PathPart::Line, origin.source, line_from, arrived);
        let latency_from = before(line_from, latency).max(start);
        self.add(rank, PathPart::Latency, origin.source, latency_from, line_from);
        self.add(rank, origin.part, origin.source, start, latency_from);
    }

    /// Adds a step: waits for the core, calls, copies.
    fn add_step(&mut self, row: &StepRow) {
        let Step { start, end, worked, copied, kind, .. } = row.step;
        let (copies, calls) = PathPart::of_step(kind);
        let worked = worked.min(end.since(start));
        let (begun, called) = (before(end, worked), before(end, copied.min(worked)));
        for (part, from, until) in [(copies, called, end), (calls, begun, called), (PathPart::Core, start, begun)] {
            self.add(row.rank, part, row.rank, from, until);
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
        let StepRow { job, host, .. } = self.ranks[rank as usize][0];
        self.rows.push(PathRow { job, rank, host, part, source, start, end });
    }
}

/// A time before another.
fn before(time: Time, span: Duration) -> Time {
    Time::from_ps(time.as_ps().saturating_sub(span.as_ps()))
}

wire! {
    PostedRow { rank, posted }
    StepRow { job, rank, host, step }
}
