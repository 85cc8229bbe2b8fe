//! Programs are checked as a whole: what is sent is received.

use std::collections::BTreeMap;

use etherweave_primitives::{InputError, Rank};

use crate::{Block, Op, Program, collective::BLOCKING, collective::TAG_BASE};

/// Sends less receives between two ranks under one tag, by source, destination and tag: messages and bytes.
pub(crate) type Balance = BTreeMap<(Rank, Rank, u32), (i128, i128)>;

/// Checks that over all ranks each send has its receive: equal numbers of messages and of bytes
/// per source, destination and tag; that every peer exists; and that nobody but a collective sends to itself.
///
/// # Errors
/// Names the first pair of ranks that do not fit together.
pub fn check(programs: &[Program]) -> Result<(), InputError> {
    let mut balance = Balance::new();
    for (index, program) in programs.iter().enumerate() {
        let rank = Rank::from_index(index);
        for (block, times) in program.counted() {
            for op in block.ops.iter() {
                count(&mut balance, programs.len(), rank, *op, i128::from(times))?;
            }
        }
    }
    balance.iter().try_for_each(|(&key, &open)| settled(key, open, &balance))
}

/// Bytes that a rank sends over its whole program [B].
pub fn bytes_sent(program: &Program) -> u64 {
    let sent = |block: &Block| block.ops.iter().filter_map(Op::sent).sum::<u64>();
    program.counted().map(|(block, times)| sent(block) * times).sum()
}

fn count(balance: &mut Balance, ranks: usize, rank: Rank, op: Op, repeat: i128) -> Result<(), InputError> {
    if let Op::OneSided { peer, .. } = op {
        return check_peer(rank, peer, ranks);
    }
    let Some((is_send, peer, tag, bytes)) = op.message() else { return Ok(()) };
    let (channel, sign) = if is_send { ((rank, peer, tag), 1) } else { ((peer, rank, tag), -1) };
    if !(is_collective(tag) && peer == rank) {
        check_peer(rank, peer, ranks)?;
    }
    add(balance, channel, sign * repeat, bytes);
    Ok(())
}

/// Whether a tag is that of a collective, which may reduce in the network.
fn is_collective(tag: u32) -> bool {
    tag >= TAG_BASE && tag != BLOCKING
}

/// Rejects a peer that is no other rank of the job.
pub(crate) fn check_peer(rank: Rank, peer: Rank, ranks: usize) -> Result<(), InputError> {
    let is_other = peer.index() < ranks && peer != rank;
    let mistake = format_args!("{rank} exchanges with {peer} in a job of {ranks} ranks");
    InputError::unless(is_other, "peer", mistake, "another rank of the job")
}

/// "1 message", "2 messages".
pub(crate) fn counted(count: i128, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns what is lacking where there are so many sends and receives.
pub(crate) fn lacking(sends: i128, receives: i128) -> &'static str {
    if sends < receives { "a send for every receive" } else { "a receive for every send" }
}

/// Adds so many messages of a length to a channel; receives count below zero.
pub(crate) fn add(balance: &mut Balance, channel: (Rank, Rank, u32), messages: i128, bytes: u64) {
    let open = balance.entry(channel).or_default();
    open.0 += messages;
    open.1 += messages * i128::from(bytes);
}

/// Names what is sent or received in vain, and the tag that the other side has open, if it has one.
pub(crate) fn settled(
    (source, sink, tag): (Rank, Rank, u32),
    open: (i128, i128),
    balance: &Balance,
) -> Result<(), InputError> {
    let (messages, bytes) = open;
    if (messages, bytes) == (0, 0) {
        return Ok(());
    }
    let other = balance.range((source, sink, 0)..=(source, sink, u32::MAX));
    let other = other.map(|(&(_, _, tag), &(count, _))| (tag, count)).find(|&(_, count)| count * messages < 0);
    let other = other.map_or_else(String::new, |(tag, _)| format!("; tag {tag} is open there"));
    let count = match (messages.abs(), bytes.abs()) {
        (1, bytes) => format!("a message of {bytes} B"),
        (many, bytes) => format!("{many} messages of {bytes} B together"),
    };
    let (found, expected) = match messages {
        0 => (
            format!(
                "{source} sends {} B {} than {sink} receives under tag {tag}",
                bytes.abs(),
                if bytes < 0 { "less" } else { "more" },
            ),
            "equal lengths of a send and its receive",
        ),
        1.. => (
            format!("{source} sends {count} under tag {tag} that {sink} does not receive{other}"),
            "a receive for every send",
        ),
        _ => (
            format!("{sink} waits for {count} under tag {tag} that {source} does not send{other}"),
            "a send for every receive",
        ),
    };
    Err(InputError::new("programs", found, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank_sends_to(peer: u32) -> Program {
        let send = Op::Isend { peer: Rank::new(peer), tag: 1, bytes: 8 };
        Program::new([Block::measured(vec![send, Op::WaitAll], 5)])
    }

    fn rank_receives_from_zero(times: u32) -> Program {
        let receive = Op::Irecv { peer: Rank::new(0), tag: 1, bytes: 8 };
        Program::new([Block::measured(vec![receive, Op::WaitAll], times)])
    }

    #[test]
    fn five_sends_need_five_receives() {
        assert_eq!(check(&[rank_sends_to(1), rank_receives_from_zero(5)]), Ok(()));
        let error = check(&[rank_sends_to(1), rank_receives_from_zero(4)]).unwrap_err().to_string();
        assert!(error.contains("rank0 sends a message of 8 B under tag 1 that rank1 does not receive;"), "{error}");
        let error = check(&[rank_sends_to(1), rank_receives_from_zero(6)]).unwrap_err().to_string();
        assert!(error.contains("rank1 waits for a message of 8 B under tag 1 that rank0 does not send;"), "{error}");
    }

    #[test]
    fn tags_and_lengths_that_never_match_are_named_with_both_ranks() {
        let receive = |tag, bytes| {
            let receive = Op::Irecv { peer: Rank::new(0), tag, bytes };
            Program::new([Block::measured(vec![receive, Op::WaitAll], 5)])
        };
        let error = |tag, bytes| check(&[rank_sends_to(1), receive(tag, bytes)]).unwrap_err().to_string();
        let tags =
            "rank0 sends 5 messages of 40 B together under tag 1 that rank1 does not receive; tag 7 is open there";
        assert!(error(7, 8).contains(tags), "{}", error(7, 8));
        for (received, bytes) in [(16, "40 B less"), (2, "30 B more")] {
            let mistake = error(1, received);
            assert!(mistake.contains(&format!("rank0 sends {bytes} than rank1 receives under tag 1")), "{mistake}");
        }
    }

    #[test]
    fn a_rank_sends_neither_to_itself_nor_beyond_the_job() {
        for peer in [0, 2] {
            let error = check(&[rank_sends_to(peer), Program::default()]).unwrap_err().to_string();
            assert!(error.contains("another rank of the job"), "{error}");
        }
    }

    #[test]
    fn repeats_count_in_bytes_sent() {
        assert_eq!(bytes_sent(&rank_sends_to(1)), 5 * 8);
    }
}
