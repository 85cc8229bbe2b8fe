//! Programs are run without time, on the strictest network: what ends there ends anywhere.

use std::collections::BTreeMap;

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

/// Requests by source, tag and order, with whether they are sends.
type Posted = BTreeMap<(usize, u32, u64), (bool, Request)>;

/// Requests without a counterpart, by destination. A channel has sends or receives.
pub(crate) struct Channels {
    posted: Vec<Posted>,
    next: u64,
}

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
    let mut network = Rendezvous { ranks: twice.iter().map(state).collect(), channels: Channels::new(programs.len()) };
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
        let mistake = format!("{}{}", waiting_ranks(&stuck), network.channels.open_request(first));
        return Err(InputError::new("programs", mistake, "programs that end whatever sends wait for"));
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
            if op == Op::WaitAll && self.ranks[rank].open > 0 {
                break;
            }
            // Nobody else takes part in what is one-sided.
            if let Some((is_send, peer, tag, bytes)) = op.message() {
                let (from, to) = if is_send { (rank, peer.index()) } else { (peer.index(), rank) };
                self.post((from, to, tag), bytes, is_send)?;
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
    /// No request of so many ranks.
    pub fn new(ranks: usize) -> Channels {
        Channels { posted: vec![BTreeMap::new(); ranks], next: 0 }
    }

    /// The first request of each channel, whether it is a send, and its length [B], in order of source, destination
    /// and tag.
    fn open(&self) -> Vec<((Rank, Rank, u32), bool, u64)> {
        let mut open: Vec<_> = (0..)
            .zip(&self.posted)
            .flat_map(|(to, posted)| {
                posted.iter().map(move |(&(from, tag, order), (is_send, request))| {
                    ((Rank::from_index(from), Rank::new(to), tag), order, (*is_send, request.bytes))
                })
            })
            .collect();
        open.sort_unstable();
        open.dedup_by_key(|&mut (channel, ..)| channel);
        open.into_iter().map(|(channel, _, (is_send, bytes))| (channel, is_send, bytes)).collect()
    }

    /// A request of `rank` that has no counterpart.
    pub fn open_request(&self, rank: usize) -> String {
        let request = self.open().into_iter().find_map(|((from, to, tag), is_send, bytes)| match is_send {
            true if from.index() == rank => Some(format!(", for {to} to receive under tag {tag} ({bytes} B)")),
            false if to.index() == rank => Some(format!(", for {from} to send under tag {tag} ({bytes} B)")),
            _ => None,
        });
        request.unwrap_or_default()
    }

    /// Rejects a send without a receive.
    ///
    /// # Errors
    /// Names the first.
    pub fn check_sends(&self) -> Result<(), InputError> {
        let open = self.open().into_iter().find(|&(_, is_send, _)| is_send);
        let Some(((from, to, tag), _, bytes)) = open else { return Ok(()) };
        let mistake = format!("{from} sends a message of {bytes} B under tag {tag} that {to} does not receive");
        Err(InputError::new("programs", mistake, "a receive for every send"))
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
        let posted = &mut self.posted[to];
        let first = posted.range((from, tag, 0)..=(from, tag, u64::MAX)).next();
        let counterpart = first.filter(|(_, (is_other_send, _))| *is_other_send != is_send).map(|(&key, _)| key);
        let Some((_, other)) = counterpart.and_then(|key| posted.remove(&key)) else {
            posted.insert((from, tag, self.next), (is_send, request));
            self.next += 1;
            return Ok(None);
        };
        let (bytes, other_bytes) = (request.bytes, other.bytes);
        let mistake =
            format_args!("a message of {bytes} B from rank {from} to {to} under tag {tag} meets {other_bytes} B");
        InputError::unless(bytes == other_bytes, "programs", mistake, "equal lengths of a send and its receive")?;
        Ok(Some(other))
    }
}
