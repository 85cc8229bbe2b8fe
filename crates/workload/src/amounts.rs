//! Work that a job asks of its ranks, from which a launch is predicted.

use crate::{Graph, MessageSum, Op, Program, StreamSpec, Traffic};

/// Sums over a job, and the most that one rank has. Endless streams count once per message of their window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize)]
pub struct Amounts {
    /// Ranks.
    pub ranks: u32,
    /// Messages sent.
    pub messages: u64,
    /// Payload sent [B].
    pub bytes: u64,
    /// Messages that a rank sends and receives, at most.
    pub messages_rank_max: u64,
    /// Payload that a rank sends or receives, whichever is more, at most [B].
    pub bytes_rank_max: u64,
    /// Sleep and computation of a rank, at most [ps].
    pub rest_ps_max: u64,
    /// Measured iterations over all ranks: rows.
    pub iterations: u64,
    /// Whether streams send until the run ends.
    pub is_endless: bool,
}

#[derive(Clone, Copy, Default)]
struct RankLoad {
    sent: [u64; 2],
    received: [u64; 2],
    rest_ps: u64,
}

impl Amounts {
    /// Those of a traffic.
    pub fn of(traffic: &Traffic) -> Amounts {
        let (loads, iterations, is_endless) = match traffic {
            Traffic::Ranks(programs) => {
                let iterations = programs.iter().map(Program::iterations).fold(0, u64::saturating_add);
                (programs.iter().map(load).collect(), iterations, false)
            }
            Traffic::Graphs { ranks, iterations } => {
                let rows = ranks.iter().map(|graph| graph.rows()).fold(0, u64::saturating_add);
                let rows = rows.saturating_mul(u64::from(*iterations));
                (ranks.iter().map(|graph| graph_load(graph, *iterations)).collect(), rows, false)
            }
            Traffic::Streams(streams) => {
                (loads(traffic, streams), 0, streams.iter().any(|stream| stream.messages.is_none()))
            }
        };
        let sum = |part: usize| loads.iter().fold(0, |sum: u64, load: &RankLoad| sum.saturating_add(load.sent[part]));
        let most = |value: fn(&RankLoad) -> u64| loads.iter().map(value).max().unwrap_or(0);
        Amounts {
            ranks: traffic.ranks(),
            messages: sum(0),
            bytes: sum(1),
            messages_rank_max: most(|load| load.sent[0].saturating_add(load.received[0])),
            bytes_rank_max: most(|load| load.sent[1].max(load.received[1])),
            rest_ps_max: most(|load| load.rest_ps),
            iterations,
            is_endless,
        }
    }
}

/// Sleep and computation of a rank [ps].
pub(crate) fn rest_ps(program: &Program) -> u64 {
    load(program).rest_ps
}

fn load(program: &Program) -> RankLoad {
    let mut load = RankLoad::default();
    for (block, repeat) in program.counted() {
        for op in block.ops.iter() {
            if let Some((is_send, _, _, bytes)) = op.message() {
                add(if is_send { &mut load.sent } else { &mut load.received }, repeat, bytes);
            }
            if let Op::OneSided { access, bytes, .. } = *op {
                let (sent, received) = access.payload(bytes);
                add(&mut load.sent, repeat, sent);
                load.received[1] = load.received[1].saturating_add(repeat.saturating_mul(received));
            }
            load.rest_ps = load.rest_ps.saturating_add(repeat.saturating_mul(op.rest().as_ps()));
        }
    }
    load
}

fn graph_load(graph: &Graph, iterations: u32) -> RankLoad {
    let often = |once: u64| once.saturating_mul(iterations.into());
    let all = |sum: MessageSum| [often(sum.messages), often(sum.bytes)];
    let facts = graph.facts();
    RankLoad { sent: all(facts.sent), received: all(facts.received), rest_ps: often(facts.computed_ps) }
}

fn add(sum: &mut [u64; 2], messages: u64, bytes: u64) {
    sum[0] = sum[0].saturating_add(messages);
    sum[1] = sum[1].saturating_add(messages.saturating_mul(bytes));
}

fn loads(traffic: &Traffic, streams: &[StreamSpec]) -> Vec<RankLoad> {
    let mut loads = vec![RankLoad::default(); traffic.ranks() as usize];
    for stream in streams {
        let messages = stream.messages.unwrap_or(stream.outstanding.into());
        add(&mut loads[stream.src_rank.index()].sent, messages, stream.bytes_per_message);
        add(&mut loads[stream.dst_rank.index()].received, messages, stream.bytes_per_message);
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Halo3d, Incast, RankWorkload};

    #[test]
    fn a_halo_rank_sends_its_faces_and_edges_and_sleeps() {
        let halo = Halo3d { iterations: 10, ..Halo3d::default() };
        let amounts = Amounts::of(&Traffic::Ranks(halo.programs(1).unwrap()));
        // Six rounds of three barriers of 48 ranks, and 18 neighbours.
        let messages = 10 * 18 + 3 * 6;
        assert_eq!((amounts.ranks, amounts.iterations, amounts.messages), (48, 480, 48 * messages));
        assert_eq!((amounts.bytes_rank_max, amounts.bytes), (39_168_000, 48 * 39_168_000));
        assert_eq!((amounts.messages_rank_max, amounts.rest_ps_max), (2 * messages, 10 * 216_000_000));
    }

    #[test]
    fn the_sink_of_an_incast_has_most() {
        let incast = Incast { sources: 3, streams_per_source: 2, messages: Some(5), ..Incast::default() };
        let amounts = Amounts::of(&Traffic::Streams(incast.streams().unwrap()));
        assert_eq!((amounts.messages, amounts.messages_rank_max, amounts.is_endless), (30, 30, false));
        assert_eq!(amounts.bytes_rank_max, 30 * 81_920);
        let endless = Incast { messages: None, ..incast };
        assert!(Amounts::of(&Traffic::Streams(endless.streams().unwrap())).is_endless);
    }
}
