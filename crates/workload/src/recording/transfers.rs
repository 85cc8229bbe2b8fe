//! Matching of recorded sends and receives: the nth of both between two ranks under one tag of one communicator, as MPI
//! promises their order.

use std::collections::{BTreeMap, VecDeque};

use etherweave_primitives::InputError;

use super::{Call, Message, RankRecording, Recording, collectives::Collectives};

/// A message from its send to the end of its receive, by the clock of rank 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The sending rank.
    pub source: u32,
    /// The receiving rank.
    pub destination: u32,
    /// Its tag.
    pub tag: u32,
    /// Payload [B].
    pub bytes: u64,
    /// When it was sent [ns].
    pub start_ns: u64,
    /// When the call returned that completed the receive [ns].
    pub end_ns: u64,
}

/// Source, destination, communicator and tag.
type Pair = (u32, u32, usize, u32);

/// Every message between two ranks whose receive was seen complete; those of collectives are not recorded.
///
/// # Errors
/// When members disagree on a collective.
pub(super) fn transfers(recording: &Recording) -> Result<Vec<Transfer>, InputError> {
    let (start_ns, groups) = (recording.start_ns(), Collectives::of(recording.ranks())?);
    let mut sent: BTreeMap<Pair, VecDeque<(u64, u64)>> = BTreeMap::new();
    for rank in recording.ranks() {
        for record in &rank.records {
            if let Call::Send(message) | Call::SendReceive { sent: message, .. } | Call::Isend { message, .. } =
                &record.call
            {
                let group = groups.group(rank.rank, message.communicator);
                let at_ns = rank.common_ns(start_ns, record.start_ns);
                sent.entry((rank.rank, message.peer, group, message.tag))
                    .or_default()
                    .push_back((at_ns, message.bytes));
            }
        }
    }
    let mut transfers = Vec::new();
    for rank in recording.ranks() {
        for (message, end_ns) in receives(rank) {
            let group = groups.group(rank.rank, message.communicator);
            let pair = (message.peer, rank.rank, group, message.tag);
            let Some((sent_ns, bytes)) = sent.get_mut(&pair).and_then(VecDeque::pop_front) else { continue };
            let end_ns = rank.common_ns(start_ns, end_ns).max(sent_ns);
            let (source, destination) = (message.peer, rank.rank);
            transfers.push(Transfer { source, destination, tag: message.tag, bytes, start_ns: sent_ns, end_ns });
        }
    }
    Ok(transfers)
}

/// Receives in the order in which they were posted, with the end of the call that completed each.
fn receives(rank: &RankRecording) -> Vec<(Message, u64)> {
    let mut posted: Vec<(Option<Message>, u64)> = Vec::new();
    let mut open: BTreeMap<u64, (usize, u32)> = BTreeMap::new();
    for record in &rank.records {
        match &record.call {
            Call::Receive(message) | Call::SendReceive { received: message, .. } => {
                posted.push((Some(*message), record.end_ns));
            }
            Call::Ireceive { request, communicator, .. } => {
                open.insert(*request, (posted.len(), *communicator));
                posted.push((None, 0));
            }
            Call::Complete(completions) => {
                for completion in completions {
                    let Some((peer, tag, bytes)) = completion.received else { continue };
                    let Some((place, communicator)) = open.remove(&completion.request) else { continue };
                    posted[place] = (Some(Message { communicator, peer, tag, bytes }), record.end_ns);
                }
            }
            Call::Pause
            | Call::Other
            | Call::Send(_)
            | Call::Isend { .. }
            | Call::Free { .. }
            | Call::Collective(..)
            | Call::Unsupported(_) => {}
        }
    }
    posted.into_iter().filter_map(|(message, end_ns)| message.map(|message| (message, end_ns))).collect()
}
