//! The path that limits a job: from its end back to its first step, step by step and message by message.
//!
//! A rank that is idle waits for the message that it handles next; the path goes on where that was posted. So the times
//! of all parts add up to that of the job, to the picosecond. See `docs/models/limits.md`.

use etherweave_host::{ActivityKind, StepKind};
use etherweave_kernel::{RowNames, rows};
use etherweave_primitives::{Duration, Time};
use etherweave_workload::collective::{Kind, context_of, kind_of};

use super::calls::{Call, Occupation, Occupations};
use super::rank_log::{Handled, MessageName, RankLog, RankLogs, Step};

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
    /// They take longer to the memory of the receiver than over the links.
    Bus,
    /// Data pass the links to others of the node, beside those of other transfers.
    NodeLinks,
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
    const ALL: [PathPart; 16] = [
        PathPart::Computation,
        PathPart::Sleep,
        PathPart::MpiCopy,
        PathPart::MpiCall,
        PathPart::SocketCopy,
        PathPart::SocketCall,
        PathPart::Kernel,
        PathPart::Core,
        PathPart::Line,
        PathPart::Bus,
        PathPart::NodeLinks,
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
            PathPart::Bus => "bus",
            PathPart::NodeLinks => "node_links",
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
            StepKind::Operation(ActivityKind::NodeTransfer) => (PathPart::NodeLinks, PathPart::NodeLinks),
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
        /// Measured iteration, from 0; none outside.
        iteration: Option<u32> ["iteration"];
        /// Tag of the collective that the rank calls, or of a message of a graph; in tables what messages with it are
        /// for, empty where that is not known, and the communicator of a collective.
        tag: Option<u32> [
            "collective" = |row, names| row.purpose(names),
            "communicator" = |row, _| row.tag.filter(|&tag| kind_of(tag).is_some()).map_or(0, context_of)
        ];
        /// Number among the calls of this collective in its communicator, from 0; none of graphs.
        call: Option<u32> ["call"];
        /// Longest message of the call [B].
        bytes: u64 ["call_bytes"];
    }
}

impl PathRow {
    /// Name of the collective, or purpose of the messages of a graph.
    fn purpose<'n>(&self, names: &RowNames<'n>) -> &'n str {
        match (self.tag, self.call) {
            (Some(tag), Some(_)) => kind_of(tag).map_or("", Kind::name),
            (Some(tag), None) => names.purpose(self.job, tag),
            (None, _) => "",
        }
    }

    fn is_in(&self, Occupation { iteration, call }: Occupation) -> bool {
        (self.iteration, self.tag, self.call) == (iteration, call.tag, call.number)
    }
}

/// A message on the path, whose wait may be divided by ports; or data whose acknowledgement makes room in a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathMessage {
    /// Number of its job.
    pub job: u32,
    /// The rank that waits.
    pub rank: u32,
    /// The rank that sent the bytes.
    pub source: u32,
    pub(super) name: MessageName,
    pub(super) posted: Time,
    pub(super) bytes: u64,
    /// How long they take on the links of the slower host, which is another part.
    pub(super) line: Duration,
    /// The request that a NIC answers by it, and when it was posted.
    pub(super) asked: Option<(MessageName, Time)>,
    /// When the last of them had arrived.
    pub(super) arrived: Time,
    /// Start of its part of the path that is none of links, memory and latency.
    pub start: Time,
    /// End of that part.
    pub end: Time,
}

impl PathMessage {
    /// Whether its data make room in a socket when they are acknowledged, for which the rank waits that sent them.
    pub(super) fn makes_room(&self) -> bool {
        self.rank == self.source
    }
}

/// Latencies and rates that the walk needs.
pub(super) struct Surroundings<'s> {
    /// Latency of messages within a host.
    pub in_host: Duration,
    /// Latency from one host to another, by their numbers.
    pub latency: &'s dyn Fn(u32, u32) -> Duration,
    /// How long some bytes take on the links of the slower of two hosts, by their numbers; a tree's are those of a host
    /// to itself.
    pub line: &'s dyn Fn([u32; 2], u64) -> Duration,
    /// How long a NIC takes some bytes to memory.
    pub drain: &'s dyn Fn(u64) -> Duration,
}

/// The paths of all jobs, by job and time; and messages that take time on them.
pub(super) fn paths(
    logs: &RankLogs,
    occupations: &Occupations,
    around: &Surroundings<'_>,
) -> (Vec<PathRow>, Vec<PathMessage>) {
    let jobs = logs.ranks().chunk_by(|first, second| first.job == second.job);
    let paths = jobs.map(|ranks| Walk::new(logs, (ranks, occupations), around).path());
    let (rows, messages): (Vec<_>, Vec<_>) = paths.unzip();
    (rows.concat(), messages.concat())
}

struct Origin {
    /// The rank that has the path before; none where the rank that waits has asked for the bytes.
    rank: Option<u32>,
    /// The rank that sent the bytes: another than that where a NIC asked for them.
    source: u32,
    /// When it was posted, or asked for.
    at: Time,
    posted: Time,
    /// The request that it answers, and when that was posted.
    asked: Option<(MessageName, Time)>,
    bytes: u64,
    /// When a kernel found the last of them, where one did.
    arrived: Option<Time>,
}

/// Event for which a rank waits before the step that the walk has reached.
#[derive(Clone, Copy)]
enum Awaited {
    /// The message that a step handles, which began then.
    Message(Handled, Time),
    /// The acknowledgement up to some byte of a connection, which makes room in a socket.
    Room(MessageName),
    Nothing,
}

impl Awaited {
    fn and_before(self, step: Step) -> Awaited {
        match (step.handled, step.acknowledged) {
            (Some(handled), _) => Awaited::Message(handled, step.start),
            (None, Some(acknowledged)) => Awaited::Room(acknowledged),
            (None, None) => self,
        }
    }

    /// Part of a wait for what no rank has posted: a NIC reports by itself that a message is there.
    fn part(self) -> PathPart {
        match self {
            Awaited::Message(..) => PathPart::Network,
            Awaited::Room(_) => PathPart::Room,
            Awaited::Nothing => PathPart::Idle,
        }
    }
}

/// The way back through the steps of a job.
struct Walk<'s> {
    logs: &'s RankLogs,
    /// Its ranks, in order.
    ranks: &'s [RankLog],
    occupations: &'s Occupations,
    around: &'s Surroundings<'s>,
    /// Rank whose iterations the path is in: the one that it passed last of those that measure any.
    measuring: &'s RankLog,
    /// Occupation of the rank at the place that the walk has reached.
    occupation: Occupation,
    rows: Vec<PathRow>,
    messages: Vec<PathMessage>,
}

impl<'s> Walk<'s> {
    fn new(
        logs: &'s RankLogs,
        (ranks, occupations): (&'s [RankLog], &'s Occupations),
        around: &'s Surroundings<'s>,
    ) -> Walk<'s> {
        let (occupation, rows, messages) = (Occupation::default(), Vec::new(), Vec::new());
        let measuring = ranks.iter().find(|rank| occupations.has_iterations(rank)).unwrap_or(&ranks[0]);
        Walk { logs, ranks, occupations, around, measuring, occupation, rows, messages }
    }

    /// The path and its messages, the first part first.
    fn path(mut self) -> (Vec<PathRow>, Vec<PathMessage>) {
        // A rank whose driver waits ends without a step.
        let last = |rank: &RankLog| {
            let steps = self.logs.steps(rank);
            let end = steps.len().checked_sub(1).map(|place| steps.end(place))?;
            Some((self.logs.ended(rank).map_or(end, |ended| ended.max(end)), rank.rank))
        };
        if let Some((end, rank)) = self.ranks.iter().filter_map(last).max_by_key(|&(end, _)| end) {
            self.walk(rank, end);
        }
        self.rows.reverse();
        self.messages.reverse();
        (self.rows, self.messages)
    }

    fn log(&self, rank: u32) -> &'s RankLog {
        let place = self.ranks.binary_search_by_key(&rank, |log| log.rank);
        &self.ranks[place.expect("messages are of ranks that are observed")]
    }

    fn walk(&mut self, mut rank: u32, mut time: Time) {
        let first = self.ranks.iter().filter_map(|rank| self.logs.steps(rank).first_start()).min().unwrap_or(time);
        let mut steps = self.logs.steps(self.log(rank));
        let (mut place, mut awaited) = (steps.ended(time), Awaited::Nothing);
        while time > first {
            let log = self.log(rank);
            if self.occupations.has_iterations(log) {
                self.measuring = log;
            }
            self.occupation = self.occupations.until(log, self.measuring, time);
            while place > 0 && steps.end(place - 1) > time {
                place -= 1;
            }
            let previous = place.checked_sub(1).map(|place| steps.step(place));
            if let Some(step) = previous.filter(|step| step.end == time) {
                place -= 1;
                self.occupy(rank, |logs| step.tag.or_else(|| logs.tag(&step.handled?)));
                self.add_step(rank, &step);
                awaited = awaited.and_before(step);
                time = step.start;
                continue;
            }
            let idle_from = previous.map_or(first, |step| step.end);
            match awaited {
                Awaited::Message(handled, at)
                    if let Some(origin) = self.origin(&handled, at).filter(|origin| origin.at < time) =>
                {
                    self.occupy(rank, |logs| logs.tag(&handled));
                    self.add_message(rank, (handled.name, &origin), first, time);
                    (rank, time, awaited) = (origin.rank.unwrap_or(rank), origin.at, Awaited::Nothing);
                    steps = self.logs.steps(self.log(rank));
                    place = steps.ended(time);
                }
                Awaited::Message(..) | Awaited::Room(_) | Awaited::Nothing => {
                    if let Awaited::Message(handled, _) = awaited {
                        self.occupy(rank, |logs| logs.tag(&handled));
                    }
                    self.add(rank, awaited.part(), rank, idle_from, time);
                    if let Awaited::Room(acknowledged) = awaited {
                        self.add_room(rank, acknowledged, (idle_from, time));
                    }
                    time = idle_from;
                }
            }
        }
    }

    /// Notes the message that a rank of a graph is busy with.
    fn occupy(&mut self, rank: u32, tag: impl FnOnce(&RankLogs) -> Option<u32>) {
        let log = self.log(rank);
        if log.is_graph {
            self.occupation.call = self.occupations.call_of_message(log, tag(self.logs));
        }
    }

    /// Origin of a message that a rank handles from some time on.
    fn origin(&self, &Handled { peer, name, .. }: &Handled, start: Time) -> Option<Origin> {
        let Some(name) = name else {
            let at = before(start, self.around.in_host);
            return Some(Origin {
                rank: Some(peer),
                source: peer,
                at,
                posted: at,
                asked: None,
                bytes: 0,
                arrived: None,
            });
        };
        let posted = self.logs.post(name, start)?;
        let asked = posted.answers.and_then(|name| Some((name, self.logs.post(name, posted.at)?.at)));
        let (rank, at) = asked.map_or((Some(peer), posted.at), |(_, at)| (None, at));
        let arrived = self.logs.arrival(name, posted.at, start);
        Some(Origin { rank, source: peer, at, posted: posted.at, asked, bytes: posted.bytes, arrived })
    }

    fn add_message(&mut self, rank: u32, (name, origin): (Option<MessageName>, &Origin), first: Time, time: Time) {
        let start = origin.at.max(first);
        let [host, other] = [rank, origin.source].map(|rank| self.log(rank).host);
        let way = |from, to| if from == to { Duration::ZERO } else { (self.around.latency)(from, to) };
        let (part, asked) = match origin.asked {
            Some(_) => (PathPart::Rendezvous, way(host, other)),
            None => (PathPart::Network, Duration::ZERO),
        };
        let latency = asked + way(other, host);
        let arrived = origin.arrived.unwrap_or(time).clamp(start, time);
        let line = (self.around.line)([host, other], origin.bytes);
        let line_from = before(arrived, line).max(start);
        let drain = if host == other { line } else { (self.around.drain)(origin.bytes).max(line) };
        let bus_from = before(line_from, drain - line).max(start);
        self.add(rank, PathPart::Kernel, rank, arrived, time);
        self.add(rank, PathPart::Line, origin.source, line_from, arrived);
        self.add(rank, PathPart::Bus, rank, bus_from, line_from);
        let latency_from = before(bus_from, latency).max(start);
        self.add(rank, PathPart::Latency, origin.source, latency_from, bus_from);
        self.add(rank, part, origin.source, start, latency_from);
        if let Some(name) = name.filter(|_| start < latency_from) {
            let Origin { source, posted, asked, bytes, .. } = *origin;
            let (job, line, end) = (self.log(rank).job, arrived.since(line_from), latency_from);
            let message = PathMessage { job, rank, source, name, posted, bytes, line, asked, arrived, start, end };
            self.messages.push(message);
        }
    }

    /// Adds what a rank waits for room in a socket, as a message of its own: the data that are acknowledged then.
    fn add_room(&mut self, rank: u32, name: MessageName, (start, end): (Time, Time)) {
        let RankLog { job, .. } = *self.log(rank);
        let (source, bytes, line, asked, posted, arrived) = (rank, 0, Duration::ZERO, None, start, end);
        self.messages.push(PathMessage { job, rank, source, name, posted, bytes, line, asked, arrived, start, end });
    }

    /// Adds a step of a rank: waits for the core, calls, copies.
    fn add_step(&mut self, rank: u32, step: &Step) {
        let Step { start, end, times, kind, .. } = *step;
        let (copies, calls) = PathPart::of_step(kind);
        let (worked, copied) = (times.worked, times.copied);
        let worked = worked.min(end.since(start));
        let (begun, called) = (before(end, worked), before(end, copied.min(worked)));
        for (part, from, until) in [(copies, called, end), (calls, begun, called), (PathPart::Core, start, begun)] {
            self.add(rank, part, rank, from, until);
        }
    }

    fn add(&mut self, rank: u32, part: PathPart, source: u32, start: Time, end: Time) {
        if start == end {
            return;
        }
        if let Some(next) = self.rows.last_mut()
            && (next.rank, next.part, next.source, next.start) == (rank, part, source, end)
            && next.is_in(self.occupation)
        {
            next.start = start;
            return;
        }
        let RankLog { job, host, .. } = *self.log(rank);
        let Occupation { iteration, call: Call { tag, number: call, bytes } } = self.occupation;
        self.rows.push(PathRow { job, rank, host, part, source, start, end, iteration, tag, call, bytes });
    }
}

fn before(time: Time, span: Duration) -> Time {
    Time::from_ps(time.as_ps().saturating_sub(span.as_ps()))
}
