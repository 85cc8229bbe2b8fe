//! Programs are run without time, on the strictest network: what ends there ends anywhere.

use std::collections::{BTreeMap, VecDeque};

use etherweave_primitives::{InputError, Rank};

use crate::{Op, Program};

/// A send or a receive that has no counterpart yet.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    /// Payload [B].
    pub bytes: u64,
    /// Operation of a graph.
    pub node: u32,
}

/// Requests of a channel; one of the two is empty.
#[derive(Default)]
struct Posted {
    sends: VecDeque<Request>,
    receives: VecDeque<Request>,
}

/// Requests without a counterpart, by source, destination and tag.
#[derive(Default)]
pub(crate) struct Channels {
    posted: BTreeMap<(usize, usize, u32), Posted>,
    /// How many channels had a request when those without one were removed last.
    open: usize,
}

/// Channels without a request that are kept: most are used again.
const CHANNELS_KEPT: usize = 1 << 16;

struct RankState<'a> {
    ops: std::iter::Peekable<Box<dyn Iterator<Item = &'a Op> + 'a>>,
    open: u64,
}

struct Rendezvous<'a> {
    ranks: Vec<RankState<'a>>,
    channels: Channels,
}

/// Checks that programs end even if no send completes before its receive is posted, that lengths agree at every match,
/// and that nothing is left open. Of repetitions two are run: they show as much as all.
///
/// # Errors
/// Names ranks that wait for ever, or that disagree.
pub fn check_progress(programs: &[Program]) -> Result<(), InputError> {
    let twice: Vec<Program> = programs.iter().map(|program| program.shortened(2)).collect();
    let state = |program| RankState { ops: ops(program).peekable(), open: 0 };
    let mut network = Rendezvous { ranks: twice.iter().map(state).collect(), channels: Channels::default() };
    let mut moved = true;
    while moved {
        moved = false;
        for rank in 0..network.ranks.len() {
            moved |= network.advance(rank)?;
        }
    }
    let mut states = network.ranks.iter_mut().enumerate();
    let stuck: Vec<usize> = states.by_ref().filter_map(|(rank, state)| state.ops.peek().map(|_| rank)).collect();
    if let Some(&first) = stuck.first() {
        let found = format!("{}{}", waiting_ranks(&stuck), network.channels.open_request(first));
        return Err(InputError::new("programs", found, "programs that end whatever sends wait for"));
    }
    match network.ranks.iter().position(|rank| rank.open > 0) {
        Some(rank) => Err(InputError::new(
            "programs",
            format!("{} leaves requests open", Rank::from_index(rank)),
            "a wait after the last message",
        )),
        None => Ok(()),
    }
}

/// Says that these ranks wait, one at least.
pub(crate) fn waiting_ranks(ranks: &[usize]) -> String {
    let first = Rank::from_index(ranks[0]);
    match ranks.len() {
        1 => format!("{first} waits for ever"),
        count => format!("{count} ranks wait for ever, {first} first"),
    }
}

fn ops(program: &Program) -> Box<dyn Iterator<Item = &Op> + '_> {
    Box::new(program.ops())
}

impl Rendezvous<'_> {
    /// Performs operations of `rank` up to a wait that does not end; whether any was performed.
    fn advance(&mut self, rank: usize) -> Result<bool, InputError> {
        let mut moved = false;
        while let Some(&&op) = self.ranks[rank].ops.peek() {
            match op {
                Op::WaitAll if self.ranks[rank].open > 0 => break,
                Op::Isend { peer, tag, bytes } => self.post((rank, peer.index(), tag), bytes, true)?,
                Op::Irecv { peer, tag, bytes } => self.post((peer.index(), rank, tag), bytes, false)?,
                // Nobody else takes part in what is one-sided.
                Op::OneSided { .. }
                | Op::WaitAll
                | Op::Copy { .. }
                | Op::Prepare { .. }
                | Op::Reduce { .. }
                | Op::Poll { .. }
                | Op::Compute { .. }
                | Op::Sleep { .. }
                | Op::IterationStart
                | Op::IterationEnd => {}
            }
            self.ranks[rank].ops.next();
            moved = true;
        }
        Ok(moved)
    }

    fn post(&mut self, channel: (usize, usize, u32), bytes: u64, is_send: bool) -> Result<(), InputError> {
        let (own, peer) = if is_send { (channel.0, channel.1) } else { (channel.1, channel.0) };
        match self.channels.post(channel, Request { bytes, node: 0 }, is_send)? {
            Some(_) => self.ranks[peer].open -= 1,
            None => self.ranks[own].open += 1,
        }
        Ok(())
    }
}

impl Channels {
    /// A request of `rank` that has no counterpart.
    pub fn open_request(&self, rank: usize) -> String {
        let request = self.posted.iter().find_map(|(&(from, to, tag), posted)| {
            let (from_rank, to_rank) = (Rank::from_index(from), Rank::from_index(to));
            let sends = from == rank && !posted.sends.is_empty();
            let receives = to == rank && !posted.receives.is_empty();
            let first = |requests: &VecDeque<Request>| requests.front().map_or(0, |request| request.bytes);
            let sent = || format!(", for {to_rank} to receive under tag {tag} ({} B)", first(&posted.sends));
            let received = || format!(", for {from_rank} to send under tag {tag} ({} B)", first(&posted.receives));
            sends.then(sent).or_else(|| receives.then(received))
        });
        request.unwrap_or_default()
    }

    /// Removes channels without a request where they are most, so that tags which are used once take no memory.
    fn forget_empty(&mut self) {
        if self.posted.len() > 2 * self.open + CHANNELS_KEPT {
            self.posted.retain(|_, posted| !posted.sends.is_empty() || !posted.receives.is_empty());
            self.open = self.posted.len();
        }
    }

    /// Rejects a send without a receive.
    ///
    /// # Errors
    /// Names the first.
    pub fn check_sends(&self) -> Result<(), InputError> {
        let open = self.posted.iter().find_map(|(channel, posted)| Some((channel, posted.sends.front()?)));
        let Some((&(from, to, tag), request)) = open else { return Ok(()) };
        let (from, to, bytes) = (Rank::from_index(from), Rank::from_index(to), request.bytes);
        let found = format!("{from} sends a message of {bytes} B under tag {tag} that {to} does not receive");
        Err(InputError::new("programs", found, "a receive for every send"))
    }

    /// Posts a request; gives the counterpart, if it has one.
    ///
    /// # Errors
    /// When their lengths differ.
    pub fn post(
        &mut self,
        channel: (usize, usize, u32),
        request: Request,
        is_send: bool,
    ) -> Result<Option<Request>, InputError> {
        let (from, to, tag) = channel;
        self.forget_empty();
        let posted = self.posted.entry(channel).or_default();
        let (own, others) =
            if is_send { (&mut posted.sends, &mut posted.receives) } else { (&mut posted.receives, &mut posted.sends) };
        let Some(other) = others.pop_front() else {
            own.push_back(request);
            return Ok(None);
        };
        let (bytes, other_bytes) = (request.bytes, other.bytes);
        let found =
            format_args!("a message of {bytes} B from rank {from} to {to} under tag {tag} meets {other_bytes} B");
        InputError::unless(bytes == other_bytes, "programs", found, "equal lengths of a send and its receive")?;
        Ok(Some(other))
    }
}
