//! Notes of ranks, by rank and by connection: logs of shards, and the place of each row of them.

use etherweave_host::{CallRecord, EndRecord, Hosts, Neighbour, RankRecords, Role, StepKind, StepRecord, StepTimes};
use etherweave_kernel::{Log, indices::EndpointIndex, indices::ThreadIndex, wire};
use etherweave_primitives::Time;

use super::groups::{Ascending, Groups, first_from};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RankThread {
    pub job: u32,
    pub rank: u32,
    /// Number of its host.
    pub host: u32,
    /// Its thread; those of further streams of its graph follow.
    thread: u32,
    /// Whether it performs a graph.
    pub is_graph: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RankEnd {
    /// Number in the run; the other end's differs in the last bit.
    number: u32,
    /// The other rank; [`NO_RANK`] where ranks have no part in it.
    peer: u32,
}

/// Stands for no rank.
const NO_RANK: u32 = u32::MAX;
/// Steps for one mark: a search among marks misses few lines of the cache, one among steps as many as it has places.
const MARKED: usize = 16;
/// How many steps ahead a walk back through those of a rank fetches: each is in another line of the cache.
const AHEAD: usize = 4;

/// Notes of the ranks of a shard, with the owners of its threads and connections.
#[derive(Clone, Debug)]
pub(super) struct HostsLog {
    pub records: RankRecords,
    ranks: Vec<RankThread>,
    /// Place of the rank of each thread in `ranks`; [`NO_RANK`] of none.
    threads: Vec<u32>,
    ends: Vec<RankEnd>,
}

wire! {
    RankThread { job, rank, host, thread, is_graph }
    RankEnd { number, peer }
    HostsLog { records, ranks, threads, ends }
}

impl HostsLog {
    /// Takes what the hosts of a shard have noted, which begins anew.
    pub fn take(hosts: &mut Hosts) -> HostsLog {
        let mut records = std::mem::take(&mut hosts.processors.records);
        records.calls.end();
        let ends = ends(hosts);
        for (row, end) in hosts.nics.answer_ends.drain(..) {
            records.posted[row].end = end;
        }
        let (mut ranks, mut threads) = (Vec::new(), Vec::new());
        for (number, thread) in hosts.processors.threads.iter().enumerate() {
            threads.push(match &thread.role {
                Role::Rank(state) => {
                    let host = hosts.nics.hosts[thread.host].id;
                    let (job, rank, is_graph) = (thread.job, state.rank, state.is_graph());
                    ranks.push(RankThread { job, rank, host, thread: number as u32, is_graph });
                    ranks.len() as u32 - 1
                }
                Role::GraphStream(rank) => threads[rank.get() as usize],
                Role::Source(_) | Role::Sink(_) => NO_RANK,
            });
        }
        HostsLog { records, ranks, threads, ends }
    }

    /// The rank of a thread; streams of other jobs have none.
    fn rank_of(&self, thread: ThreadIndex) -> Option<&RankThread> {
        self.ranks.get(self.threads[thread.get() as usize] as usize)
    }

    /// Whether ranks perform graphs.
    pub fn has_graphs(&self) -> bool {
        self.ranks.iter().any(|rank| rank.is_graph)
    }

    /// Whether steps of a rank may overlap, by its place: those of several streams, and transfers in a node.
    fn may_overlap(&self, place: usize) -> bool {
        self.records.has_transfers || self.threads.get(self.ranks[place].thread as usize + 1) == Some(&(place as u32))
    }

    /// The other rank at an end of a connection, or the neighbour for which it stands.
    fn peer(&self, endpoint: EndpointIndex) -> u32 {
        match Neighbour::of(endpoint) {
            Some(Neighbour(thread)) => self.rank_of(thread).map_or(NO_RANK, |rank| rank.rank),
            None => self.ends[endpoint.get() as usize].peer,
        }
    }

    /// One end of each message of ranks, with its rank and the other.
    pub fn message_ends<'l>(
        &'l self,
        ends: &'l Log<EndRecord>,
    ) -> impl Iterator<Item = (&'l RankThread, u32, &'l EndRecord)> {
        ends.iter().filter_map(|end| Some((self.rank_of(end.thread)?, self.peer(end.endpoint), end)))
    }
}

/// Ends of connections of ranks, by endpoint.
fn ends(hosts: &Hosts) -> Vec<RankEnd> {
    let endpoints = &hosts.nics.endpoints;
    let mut ends: Vec<RankEnd> = endpoints.iter().map(|end| RankEnd { number: end.number, peer: NO_RANK }).collect();
    let ranks = hosts.processors.threads.iter().filter_map(|thread| match &thread.role {
        Role::Rank(state) => Some(state),
        Role::GraphStream(_) | Role::Source(_) | Role::Sink(_) => None,
    });
    let peers = ranks.flat_map(|state| state.peers());
    peers.filter(|(_, first)| Neighbour::of(*first).is_none()).for_each(|&(peer, first)| {
        ends[first.get() as usize].peer = peer;
    });
    for (place, end) in endpoints.iter().enumerate() {
        ends[place].peer = ends[place - usize::from(end.behind_first)].peer;
    }
    ends
}

/// The name of a message, known to both ends: its connection, by the number of the sending end, and where it ends in
/// the stream [B].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct MessageName {
    pub connection: u32,
    pub end: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub kind: StepKind,
    pub start: Time,
    pub end: Time,
    pub times: StepTimes,
    /// The message that is handled, and who sent it.
    pub handled: Option<Handled>,
    /// End of the data that were acknowledged when the step began, of a write to a socket.
    pub acknowledged: Option<MessageName>,
    /// Tag of its message, where the step has it: an operation of a graph, or a message within a host.
    pub tag: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Handled {
    /// The rank that sent it.
    pub peer: u32,
    /// Its name; none within a host.
    pub name: Option<MessageName>,
    /// Its tag within a host.
    pub tag: Option<u32>,
}

/// Where a message began its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Post {
    pub at: Time,
    /// The message that a NIC answers by this one.
    pub answers: Option<MessageName>,
    /// How many bytes of its connection it took.
    pub bytes: u64,
}

/// A rank whose steps are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankLog {
    pub job: u32,
    pub rank: u32,
    /// Number of its host.
    pub host: u32,
    /// Number among all ranks, by job and rank.
    pub number: u32,
    /// Whether it performs a graph.
    pub is_graph: bool,
    shard: usize,
    place: usize,
}

#[derive(Clone, Debug)]
pub(super) struct RankLogs {
    shards: Vec<SortedLog>,
    ranks: Vec<RankLog>,
    /// Shard and endpoint of each end of a connection, by its number in the run.
    ends: Vec<(u32, u32)>,
}

impl RankLogs {
    /// Sorts what shards have noted until the end of a run.
    pub fn new(logs: Vec<HostsLog>, end: Time) -> RankLogs {
        let shards: Vec<SortedLog> = logs.into_iter().map(|log| SortedLog::new(log, end)).collect();
        let of_shard = |(shard, log): (usize, &SortedLog)| {
            let rank = move |(place, &RankThread { job, rank, host, is_graph, .. })| RankLog {
                job,
                rank,
                host,
                number: 0,
                is_graph,
                shard,
                place,
            };
            log.log.ranks.iter().enumerate().map(rank).collect::<Vec<_>>()
        };
        let mut ranks: Vec<RankLog> = shards.iter().enumerate().flat_map(of_shard).collect();
        ranks.sort_unstable_by_key(|rank| (rank.job, rank.rank));
        (0..).zip(&mut ranks).for_each(|(number, rank)| rank.number = number);
        let numbers = || shards.iter().flat_map(|shard| &shard.log.ends).map(|end| end.number as usize + 1);
        let mut ends = vec![(0, 0); numbers().max().unwrap_or(0)];
        for (number, shard) in shards.iter().enumerate() {
            let own = shard.log.ends.iter().enumerate();
            own.for_each(|(endpoint, end)| ends[end.number as usize] = (number as u32, endpoint as u32));
        }
        RankLogs { shards, ranks, ends }
    }

    /// All ranks, by job and rank.
    pub fn ranks(&self) -> &[RankLog] {
        &self.ranks
    }

    /// Logs of shards.
    pub fn shards(&self) -> impl Iterator<Item = &HostsLog> {
        self.shards.iter().map(|shard| &shard.log)
    }

    /// Steps of a rank.
    pub fn steps(&self, rank: &RankLog) -> Steps<'_> {
        let SortedLog { log, steps, over, marks, .. } = &self.shards[rank.shard];
        let (start, places) = (steps.start(rank.place), &steps.of(rank.place)[..over[rank.place]]);
        let [first, end] = [start, start + places.len()].map(|place| place.div_ceil(MARKED));
        let overlap = log.may_overlap(rank.place);
        Steps { log, places, marks: &marks[first..end], unmarked: first * MARKED - start, overlap }
    }

    /// Calls of collectives of a rank, in order of time.
    pub fn calls(&self, rank: &RankLog) -> impl Iterator<Item = &CallRecord> {
        let sorted = &self.shards[rank.shard];
        sorted.calls.of(rank.place).iter().map(|&place| &sorted.log.records.calls.rows[place])
    }

    /// When a rank ended, if it has.
    pub fn ended(&self, rank: &RankLog) -> Option<Time> {
        self.shards[rank.shard].ended[rank.place]
    }

    /// The post until a time that completed a message.
    pub fn post(&self, name: MessageName, until: Time) -> Option<Post> {
        let (records, place) = self.posted(name)?;
        let row = &records.posted[place];
        let answers = records.answers(place).map(|end| MessageName { connection: name.connection ^ 1, end });
        (row.at <= until).then_some(Post { at: row.at, answers, bytes: row.bytes })
    }

    /// Tag of a message that a step handles.
    pub fn tag(&self, handled: &Handled) -> Option<u32> {
        handled.tag.or_else(|| self.posted(handled.name?).map(|(records, place)| records.posted[place].tag))
    }

    fn posted(&self, name: MessageName) -> Option<(&RankRecords, u32)> {
        let (SortedLog { log, posted, .. }, endpoint) = self.end(name.connection)?;
        let rows = &log.records.posted;
        let end = |place: u32| rows[place].end;
        let place = posted.rows_until(endpoint, name.end, end).min_by_key(|&place| end(place))?;
        Some((&log.records, place))
    }

    /// When the last byte of a message was at the NIC of its receiver: the last time in a span that it came.
    pub fn arrival(&self, name: MessageName, from: Time, until: Time) -> Option<Time> {
        let (SortedLog { log, arrived, .. }, endpoint) = self.end(name.connection ^ 1)?;
        let (arrived, rows) = (arrived.of(endpoint), &log.records.arrived);
        let known = first_from(arrived, until.as_ps() + 1, |place| rows[place].at.as_ps());
        let mut since = arrived[..known].iter().rev().map(|&place| rows[place]).take_while(|row| row.at >= from);
        since.find(|row| row.end == name.end).map(|row| row.at)
    }

    /// The log that knows an end of a connection, and its endpoint there.
    fn end(&self, number: u32) -> Option<(&SortedLog, usize)> {
        let &(shard, endpoint) = self.ends.get(number as usize)?;
        Some((&self.shards[shard as usize], endpoint as usize))
    }
}

#[derive(Clone, Copy)]
pub(super) struct Steps<'l> {
    log: &'l HostsLog,
    places: &'l [u32],
    /// Ends of every [`MARKED`]th of them, which lie together.
    marks: &'l [Time],
    /// How many precede the first of those.
    unmarked: usize,
    /// Whether some may overlap.
    overlap: bool,
}

impl Steps<'_> {
    /// How many have ended until a time.
    pub fn ended(&self, until: Time) -> usize {
        let marked = self.marks.partition_point(|&end| end <= until);
        let place = |mark: usize| (self.unmarked + mark * MARKED).min(self.len());
        let first = marked.checked_sub(1).map_or(0, place);
        let is_over = |&place: &u32| self.end_of(place) <= until;
        let ended = first + self.places[first..place(marked)].partition_point(is_over);
        debug_assert_eq!(ended, self.places.partition_point(is_over), "marks are those of the steps");
        ended
    }

    /// Number of them.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// End of a step.
    pub fn end(&self, place: usize) -> Time {
        self.end_of(self.places[place])
    }

    fn end_of(&self, place: u32) -> Time {
        self.log.records.end(&self.log.records.steps[place])
    }

    /// The step at a place. Begins to fetch one that stands before it: a walk goes back.
    pub fn step(&self, place: usize) -> Step {
        if let Some(before) = place.checked_sub(AHEAD) {
            self.log.records.steps.prefetch(self.places[before]);
        }
        let record = &self.log.records.steps[self.places[place]];
        let own = self.log.ends.get(record.endpoint.get() as usize);
        let name = |connection| MessageName { connection, end: record.message_end };
        let tag = record.tag();
        let handled = (record.kind == StepKind::Handle).then(|| Handled {
            peer: self.log.peer(record.endpoint),
            name: own.map(|own| name(own.number ^ 1)),
            tag,
        });
        let acknowledged = own.filter(|_| record.kind == StepKind::Write).map(|own| name(own.number));
        let (kind, start, end) = (record.kind, record.start, self.log.records.end(record));
        Step { kind, start, end, times: self.log.records.times(record), handled, acknowledged, tag }
    }

    /// When the first of them began.
    pub fn first_start(&self) -> Option<Time> {
        let first = if self.overlap { self.places } else { &self.places[..self.places.len().min(1)] };
        first.iter().map(|&place| self.log.records.steps[place].start).min()
    }

    /// Number of the stream, kind, start and end of each.
    pub fn operations(&self) -> impl Iterator<Item = (u8, StepKind, Time, Time)> {
        self.places.iter().map(|&place| {
            let record = &self.log.records.steps[place];
            let first = self.log.rank_of(record.thread).map_or(0, |rank| rank.thread);
            ((record.thread.get() - first) as u8, record.kind, record.start, self.log.records.end(record))
        })
    }
}

/// A log with the places of its rows by rank and by endpoint.
#[derive(Clone, Debug)]
struct SortedLog {
    log: HostsLog,
    /// Steps by rank and end.
    steps: Groups,
    /// Number of those of each rank that end with the run or before.
    over: Vec<usize>,
    /// End of every [`MARKED`]th of these.
    marks: Vec<Time>,
    /// Rows by sending end, and end of the message.
    posted: Ascending,
    /// Rows by receiving end.
    arrived: Groups,
    /// Rows by rank.
    calls: Groups,
    ended: Vec<Option<Time>>,
}

impl SortedLog {
    fn new(log: HostsLog, until: Time) -> SortedLog {
        let RankRecords { steps, posted, arrived, .. } = &log.records;
        let rank_of = |thread: ThreadIndex| log.threads[thread.get() as usize];
        let end = |step: &StepRecord| log.records.end(step);
        let mut by_rank = Groups::new(log.ranks.len(), steps, |step| Some(rank_of(step.thread)));
        // Steps of one thread follow each other, but for transfers in a node; those of several streams overlap.
        for rank in (0..log.ranks.len()).filter(|&rank| log.may_overlap(rank)) {
            by_rank.of_mut(rank).sort_by_key(|&place| (end(&steps[place]), steps[place].start, steps[place].thread));
        }
        let is_over = |&place: &u32| end(&steps[place]) <= until;
        let over = (0..log.ranks.len()).map(|rank| by_rank.of(rank).partition_point(is_over)).collect();
        let marks = by_rank.places().iter().step_by(MARKED).map(|&place| end(&steps[place])).collect();
        // An answer that was still to come when the run ended has no end.
        let posted = Ascending::new(log.ends.len(), posted, |row| (row.end > 0).then(|| (row.endpoint.get(), row.end)));
        let arrived = Groups::new(log.ends.len(), arrived, |row| Some(row.endpoint.get()));
        let calls = Groups::new(log.ranks.len(), &log.records.calls.rows, |row| Some(rank_of(row.thread)));
        let mut ended = vec![None; log.ranks.len()];
        log.records
            .ended
            .iter()
            .for_each(|&(thread, at)| ended[log.threads[thread.get() as usize] as usize] = Some(at));
        SortedLog { log, steps: by_rank, over, marks, posted, arrived, calls, ended }
    }
}
