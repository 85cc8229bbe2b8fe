//! Calls of one rank, with their times: a file of the recorder as values.

use etherweave_primitives::InputError;

use super::bytes::Bytes;
use crate::{collective::Kind, limits::MESSAGE_MAX};

const MAGIC: &[u8] = b"EWRECORD";
const VERSION: u64 = 1;
const RANKS_MAX: u64 = 1 << 20;
/// Longest recording, a year [ns].
const SPAN_MAX: u64 = 366 * 24 * 3_600 * 1_000_000_000;
/// Tags are `int`s that are not negative.
const TAGS: u64 = 1 << 31;
/// Collectives by the numbers of the file.
const COLLECTIVES: [Kind; 16] = [
    Kind::Barrier,
    Kind::Alltoall,
    Kind::Allgather,
    Kind::Allreduce,
    Kind::Bcast,
    Kind::Gather,
    Kind::Scatter,
    Kind::Reduce,
    Kind::ReduceScatter,
    Kind::ReduceScatterBlock,
    Kind::Scan,
    Kind::Exscan,
    Kind::Gatherv,
    Kind::Scatterv,
    Kind::Allgatherv,
    Kind::Alltoallv,
];

/// One rank of a recording.
#[derive(Clone, PartialEq, Debug)]
pub struct RankRecording {
    /// Its number.
    pub rank: u32,
    /// Number of ranks of the program.
    pub ranks: u32,
    /// Name of its host.
    pub host: String,
    /// The MPI library.
    pub library: String,
    /// When recording began, by the clock of rank 0 [ns].
    pub start_ns: i64,
    /// Largest error that this may have [ns].
    pub clock_error_ns: u64,
    /// How much its clock went ahead of that of rank 0 meanwhile [ns].
    pub drift_ns: i64,
    /// Time of the program that a record takes [ns].
    pub cost_ns: u64,
    /// Members of each communicator, as ranks of the world.
    pub communicators: Vec<Vec<u32>>,
    /// Records in order.
    pub records: Vec<Record>,
}

/// A call, by the clock of its rank.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// When the program called [ns since the start].
    pub start_ns: u64,
    /// When the call returned [ns since the start].
    pub end_ns: u64,
    /// Call of the program.
    pub call: Call,
}

/// Call of a rank.
#[derive(Clone, PartialEq, Debug)]
pub enum Call {
    /// Nothing: the recorder wrote to its file.
    Pause,
    /// Something that exchanges nothing that is recorded.
    Other,
    /// A blocking send.
    Send(Message),
    /// A blocking receive, with what it received.
    Receive(Message),
    /// Both at once.
    SendReceive {
        /// Message that was sent.
        sent: Message,
        /// Message that was received.
        received: Message,
    },
    /// A send that goes on.
    Isend {
        /// Number of its request.
        request: u64,
        /// Message that is sent.
        message: Message,
    },
    /// A receive that goes on.
    Ireceive {
        /// Number of its request.
        request: u64,
        /// Number of the communicator.
        communicator: u32,
        /// Sender of the message, unless anybody.
        peer: Option<u32>,
        /// Tag of the message, unless any.
        tag: Option<u32>,
        /// Room for the message [B].
        bytes: u64,
    },
    /// Waiting or testing that found requests complete.
    Complete(Vec<Completion>),
    /// A request completes unseen.
    Free {
        /// Its number.
        request: u64,
    },
    /// A collective; a number of its request if it goes on.
    Collective(CollectiveCall, Option<u64>),
    /// A function that exchanges messages which are not recorded.
    Unsupported(String),
}

/// A message between two ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Number of the communicator.
    pub communicator: u32,
    /// The other rank, of the world.
    pub peer: u32,
    /// Its tag.
    pub tag: u32,
    /// Payload [B].
    pub bytes: u64,
}

/// A request that is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Its number.
    pub request: u64,
    /// Whether it was cancelled.
    pub is_cancelled: bool,
    /// Source, tag and bytes of a receive.
    pub received: Option<(u32, u32, u64)>,
}

/// A collective as one member called it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectiveCall {
    /// Kind of the collective.
    pub kind: Kind,
    /// Number of the communicator.
    pub communicator: u32,
    /// The member with a part of its own, where there is one.
    pub root: u32,
    /// One size, or a list as long as the communicator, or two of them [B].
    pub sizes: Vec<u64>,
}

struct Reader<'a> {
    bytes: Bytes<'a>,
    made: RankRecording,
    now_ns: u64,
}

impl RankRecording {
    /// Reads a file of the recorder. Memory is bounded by the length of the file.
    ///
    /// # Errors
    /// When it is none, or ends before the program did; with the byte.
    pub fn read(bytes: &[u8]) -> Result<RankRecording, InputError> {
        let mut bytes = Bytes::new(bytes);
        let made = head(&mut bytes)?;
        let mut reader = Reader { bytes, made, now_ns: 0 };
        while !reader.record()? {}
        match reader.bytes.left() {
            0 => Ok(reader.made),
            left => Err(Bytes::error(reader.bytes.place(), format_args!("{left} bytes more"), "the end of the file")),
        }
    }
}

fn head(bytes: &mut Bytes<'_>) -> Result<RankRecording, InputError> {
    if bytes.left() == 0 {
        return Err(Bytes::error(0, "an empty file", "a recording of a program that called MPI_Finalize"));
    }
    let magic = bytes.take(MAGIC.len()).ok().filter(|magic| *magic == MAGIC);
    magic.ok_or_else(|| Bytes::error(0, "no recording", "a file that begins with EWRECORD"))?;
    let version = bytes.fixed(4)?;
    if version != VERSION {
        return Err(Bytes::error(MAGIC.len(), format_args!("version {version}"), format_args!("version {VERSION}")));
    }
    let (rank, ranks, _reserved) = (bytes.fixed(4)?, bytes.fixed(4)?, bytes.fixed(4)?);
    if rank >= ranks || ranks > RANKS_MAX {
        let mistake = format_args!("rank {rank} of {ranks}");
        return Err(Bytes::error(
            MAGIC.len() + 4,
            mistake,
            format_args!("a rank below their number, {RANKS_MAX} at most"),
        ));
    }
    Ok(RankRecording {
        rank: rank as u32,
        ranks: ranks as u32,
        start_ns: bytes.fixed(8)? as i64,
        clock_error_ns: bytes.fixed(8)?,
        host: bytes.text()?,
        library: bytes.text()?,
        drift_ns: 0,
        cost_ns: 0,
        communicators: Vec::new(),
        records: Vec::new(),
    })
}

impl Reader<'_> {
    /// Reads a record; whether it was the last one.
    fn record(&mut self) -> Result<bool, InputError> {
        let from = self.bytes.place();
        let kind = self.bytes.fixed(1)?;
        let start_ns = self.later(from)?;
        let end_ns = self.later(from)?;
        let call = match kind {
            0 => return self.end(from).map(|()| true),
            1 => return self.communicator(from).map(|()| false),
            2 => Call::Pause,
            3 => Call::Send(self.sent()?),
            4 => Call::Receive(self.message()?),
            5 => Call::SendReceive { sent: self.sent()?, received: self.message()? },
            6 => Call::Isend { request: self.bytes.number()?, message: self.sent()? },
            7 => self.receive()?,
            8 => Call::Complete(self.completions()?),
            9 => Call::Free { request: self.bytes.number()? },
            10 | 11 => self.collective(kind == 11)?,
            12 => Call::Other,
            13 => Call::Unsupported(self.bytes.text()?),
            _ => return Err(Bytes::error(from, format_args!("a record of kind {kind}"), "a kind from 0 to 13")),
        };
        self.made.records.push(Record { start_ns, end_ns, call });
        Ok(false)
    }

    /// The next instant.
    fn later(&mut self, from: usize) -> Result<u64, InputError> {
        let span_ns = self.bytes.number()?;
        let now_ns = self.now_ns.checked_add(span_ns).filter(|now_ns| *now_ns <= SPAN_MAX);
        let now_ns = now_ns.ok_or_else(|| {
            Bytes::error(
                from,
                format_args!("{span_ns} ns after {} ns", self.now_ns),
                format!("at most {SPAN_MAX} ns in all"),
            )
        })?;
        self.now_ns = now_ns;
        Ok(now_ns)
    }

    /// The end of the program, which leaves a record as well: what was computed before it counts.
    fn end(&mut self, from: usize) -> Result<(), InputError> {
        let records = self.bytes.number()?;
        let kept = (self.made.records.len() + self.made.communicators.len() + 1) as u64;
        if records != kept {
            return Err(Bytes::error(from, format_args!("the end after {kept} records"), format!("{records} of them")));
        }
        self.made.cost_ns = self.bytes.number()?;
        let drift = self.bytes.number()?;
        self.made.drift_ns = (drift >> 1) as i64 ^ -((drift & 1) as i64);
        let at_end = Record { start_ns: self.now_ns, end_ns: self.now_ns, call: Call::Other };
        self.made.records.push(at_end);
        Ok(())
    }

    fn communicator(&mut self, from: usize) -> Result<(), InputError> {
        let (number, expected) = (self.bytes.number()?, self.made.communicators.len());
        if number != expected as u64 {
            return Err(Bytes::error(from, format_args!("communicator {number}"), format!("number {expected}")));
        }
        let (count, ranks) = (self.bytes.count("members")?, self.made.ranks);
        let members = (0..count).map(|_| self.bytes.below("member", ranks.into())).collect::<Result<Vec<_>, _>>()?;
        let mut sorted = members.clone();
        sorted.sort_unstable();
        let is_unique = sorted.windows(2).all(|pair| pair[0] != pair[1]);
        if !is_unique || sorted.binary_search(&self.made.rank).is_err() {
            let expected = format_args!("each member once, rank {} among them", self.made.rank);
            return Err(Bytes::error(from, format_args!("a communicator of {members:?}"), expected));
        }
        self.made.communicators.push(members);
        Ok(())
    }

    /// A message after the mode of its send: a replay takes all modes for the standard one.
    fn sent(&mut self) -> Result<Message, InputError> {
        self.bytes.below("mode", 4)?;
        self.message()
    }

    fn message(&mut self) -> Result<Message, InputError> {
        let communicator = self.known_communicator()?;
        let peer = self.bytes.below("peer", self.made.ranks.into())?;
        Ok(Message { communicator, peer, tag: self.bytes.below("tag", TAGS)?, bytes: self.length()? })
    }

    fn known_communicator(&mut self) -> Result<u32, InputError> {
        self.bytes.below("communicator", self.made.communicators.len() as u64)
    }

    fn length(&mut self) -> Result<u64, InputError> {
        let from = self.bytes.place();
        let bytes = self.bytes.number()?;
        let most = MESSAGE_MAX.get();
        if bytes > most {
            return Err(Bytes::error(from, format_args!("{bytes} B"), format_args!("{most} B at most")));
        }
        Ok(bytes)
    }

    fn receive(&mut self) -> Result<Call, InputError> {
        Ok(Call::Ireceive {
            request: self.bytes.number()?,
            communicator: self.known_communicator()?,
            peer: self.bytes.below("peer", u64::from(self.made.ranks) + 1)?.checked_sub(1),
            tag: self.bytes.below("tag", TAGS + 1)?.checked_sub(1),
            bytes: self.length()?,
        })
    }

    fn completions(&mut self) -> Result<Vec<Completion>, InputError> {
        let mut completions = Vec::new();
        while let Some(request) = self.bytes.number()?.checked_sub(1) {
            let state = self.bytes.below("state", 3)?;
            let received = if state == 1 {
                let peer = self.bytes.below("peer", self.made.ranks.into())?;
                Some((peer, self.bytes.below("tag", TAGS)?, self.length()?))
            } else {
                None
            };
            completions.push(Completion { request, is_cancelled: state == 2, received });
        }
        Ok(completions)
    }

    fn collective(&mut self, goes_on: bool) -> Result<Call, InputError> {
        let from = self.bytes.place();
        let kind = COLLECTIVES[self.bytes.below("collective", COLLECTIVES.len() as u64)? as usize];
        let communicator = self.known_communicator()?;
        let members = self.made.communicators[communicator as usize].len();
        let request = if goes_on { Some(self.bytes.number()?) } else { None };
        let root = self.bytes.below("root", members as u64)?;
        let count = self.bytes.count("sizes")?;
        let is_right = match kind {
            Kind::Gatherv | Kind::Scatterv => count == 0 || count == members,
            Kind::Allgatherv => count == members,
            Kind::Alltoallv => count == 2 * members,
            _ => count == 1,
        };
        if !is_right {
            let mistake = format_args!("{} of {members} members with {count} sizes", kind.name());
            return Err(Bytes::error(from, mistake, "one, or one for each member, or two for each"));
        }
        let sizes = (0..count).map(|_| self.length()).collect::<Result<_, _>>()?;
        Ok(Call::Collective(CollectiveCall { kind, communicator, root, sizes }, request))
    }
}
