//! Size of a workload, before its programs are built: for estimates of memory and time.
//!
//! Programs of thousands of ranks may be larger than memory, and they are alike: those of a few ranks, spread evenly,
//! stand for all.

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc};

use etherweave_primitives::InputErrors;

use crate::{Block, Graph, Op, Program, StreamSpec, amounts::rest_ps};

/// Ranks whose programs stand for all.
const SAMPLES: u64 = 8;

/// How much a workload is; sums over all its ranks. Numbers stop at the largest instead of wrapping.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TrafficSize {
    /// Ranks.
    pub ranks: u64,
    /// Ranks that receive.
    pub receivers: u64,
    /// Memory of the programs or the list of streams [B].
    pub program_bytes: u64,
    /// Pairs of ranks that exchange messages; of streams, the streams.
    pub connections: u64,
    /// Measured iterations, each of which a run records.
    pub rows: u64,
    /// Messages sent; none where streams have no end.
    pub messages: Option<u64>,
    /// Payload sent [B]; none where streams have no end.
    pub bytes: Option<u64>,
    /// Payload that may be under way at once [B]: what a rank sends before it waits.
    pub burst_bytes: u64,
    /// Longest computation and sleep of a rank [ps]; none where more than its program decides it.
    pub rest_ps: Option<u64>,
}

/// The size of `ranks` like those whose programs are built.
pub(crate) fn sampled(
    ranks: u64,
    programs_of: impl FnOnce(Box<dyn Iterator<Item = u32>>) -> Result<Vec<Program>, InputErrors>,
) -> Result<TrafficSize, InputErrors> {
    let programs = programs_of(Box::new(spread(ranks)))?;
    Ok(of_programs(&programs, ranks))
}

/// The same, of ranks that perform graphs so often each.
pub(crate) fn sampled_graphs(
    ranks: u64,
    iterations: u32,
    graph: impl Fn(u32) -> Result<Vec<Arc<Graph>>, InputErrors>,
) -> Result<TrafficSize, InputErrors> {
    of_graphs(spread(ranks).map(graph), ranks, iterations)
}

/// A program and its three blocks, without operations [B].
pub(crate) const HEAD_BYTES: u64 = (size_of::<Program>() + 3 * size_of::<Block>()) as u64;

/// Some ranks, spread evenly.
pub(crate) fn spread(ranks: u64) -> impl Iterator<Item = u32> {
    let (ranks, count) = (ranks.min(u32::MAX.into()), ranks.clamp(1, SAMPLES));
    (0..count).map(move |number| (number * ranks / count) as u32)
}

pub(crate) fn of_partners(ranks: u64, message: u64, messages: u64, outstanding: u64) -> TrafficSize {
    let all = ranks.saturating_mul(messages);
    TrafficSize {
        ranks,
        receivers: ranks,
        program_bytes: ranks.saturating_mul(size_of::<StreamSpec>() as u64),
        connections: ranks,
        rows: 0,
        messages: Some(all),
        bytes: Some(all.saturating_mul(message)),
        burst_bytes: ranks.saturating_mul(message.saturating_mul(outstanding)),
        rest_ps: Some(0),
    }
}

/// All of `ranks` as the mean of the graphs of some, each performed so often. A rank has a message of each stream under
/// way. Those of one part are in memory at once.
pub(crate) fn of_graphs(
    parts: impl Iterator<Item = Result<Vec<Arc<Graph>>, InputErrors>>,
    ranks: u64,
    iterations: u32,
) -> Result<TrafficSize, InputErrors> {
    let (mut count, mut largest, mut rest_ps, mut sums) = (0, 0, 0, [0; 5]);
    for graphs in parts {
        for graph in graphs? {
            let facts = graph.facts();
            let (peers, streams) = (facts.peers().len() as u64, graph.streams().len() as u64);
            let values = [graph.memory(), peers, facts.sent.messages, facts.sent.bytes, streams];
            sums.iter_mut().zip(values).for_each(|(sum, value): (&mut u64, u64)| *sum = sum.saturating_add(value));
            (count, largest, rest_ps) = (count + 1, facts.sent_max.max(largest), facts.computed_ps.max(rest_ps));
        }
    }
    let all = |sum: u64| (u128::from(sum) * u128::from(ranks) / count.max(1)).min(u64::MAX.into()) as u64;
    let often = |once: u64| once.saturating_mul(iterations.into());
    let [program_bytes, peers, messages, bytes, streams] = sums.map(all);
    Ok(TrafficSize {
        ranks,
        receivers: ranks,
        program_bytes,
        connections: peers.div_ceil(2),
        rows: often(ranks),
        messages: Some(often(messages)),
        bytes: Some(often(bytes)),
        burst_bytes: streams.saturating_mul(largest),
        rest_ps: Some(often(rest_ps)),
    })
}

/// All of `ranks` as the mean of some.
fn of_programs(programs: &[Program], ranks: u64) -> TrafficSize {
    let all =
        |sum: u64| (u128::from(sum) * u128::from(ranks) / programs.len().max(1) as u128).min(u64::MAX.into()) as u64;
    let sum = |value: fn(&Program) -> u64| all(programs.iter().map(value).fold(0, u64::saturating_add));
    TrafficSize {
        ranks,
        receivers: ranks,
        program_bytes: sum(program_bytes),
        connections: sum(peers).div_ceil(2),
        rows: sum(Program::iterations),
        messages: Some(sum(|program| sent(program).0)),
        bytes: Some(sum(|program| sent(program).1)),
        burst_bytes: sum(burst_bytes),
        rest_ps: programs.iter().map(rest_ps).max(),
    }
}

fn program_bytes(program: &Program) -> u64 {
    let bodies: BTreeMap<*const Op, usize> =
        program.blocks.iter().map(|block| (block.ops.as_ptr(), block.ops.len())).collect();
    let ops: usize = bodies.values().sum();
    (ops * size_of::<Op>()) as u64 + HEAD_BYTES
}

fn peers(program: &Program) -> u64 {
    program.distinct_ops().filter_map(Op::peer).collect::<BTreeSet<_>>().len() as u64
}

/// Messages and their payload.
fn sent(program: &Program) -> (u64, u64) {
    program.counted().fold((0, 0), |sum, (block, repeat)| {
        let sends = block.ops.iter().filter_map(Op::sent);
        let once = sends.fold((0_u64, 0_u64), |(count, sum), bytes| (count + 1, sum.saturating_add(bytes)));
        let add = |sum: u64, once: u64| sum.saturating_add(once.saturating_mul(repeat));
        (add(sum.0, once.0), add(sum.1, once.1))
    })
}

/// The most that a rank sends before it waits [B].
fn burst_bytes(program: &Program) -> u64 {
    let (mut open, mut most) = (0_u64, 0);
    for op in program.distinct_ops() {
        if let Op::Isend { bytes, .. } | Op::OneSided { bytes, .. } = op {
            open = open.saturating_add(*bytes);
        } else if *op == Op::WaitAll {
            open = 0;
        }
        most = most.max(open);
    }
    most
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Bytes;

    use super::*;
    use crate::collective::Collective;
    use crate::{AllToAll, Amounts, HpccPtrans, NpbCg, OsuCollective, OsuLatency, Permutation, Traffic, Workload};

    /// Connections, rows, messages and bytes as the programs have them.
    fn built(workload: &Workload) -> (u64, u64, Option<u64>, Option<u64>) {
        let traffic = workload.traffic(1).unwrap();
        let amounts = Amounts::of(&traffic);
        let connections = match &traffic {
            Traffic::Ranks(programs) => programs.iter().map(peers).sum::<u64>().div_ceil(2),
            Traffic::Streams(streams) => streams.len() as u64,
            Traffic::Graphs { ranks, .. } => {
                let peers = |graph: &Arc<Graph>| graph.facts().peers().len() as u64;
                ranks.iter().map(peers).sum::<u64>().div_ceil(2)
            }
        };
        let is_counted = !amounts.is_endless;
        let counted = |value| is_counted.then_some(value);
        (connections, amounts.iterations, counted(amounts.messages), counted(amounts.bytes))
    }

    #[test]
    fn the_size_of_every_workload_is_that_of_what_it_builds() {
        for workload in Workload::defaults() {
            let size = workload.size().unwrap();
            let counts = (size.connections, size.rows, size.messages, size.bytes);
            match workload {
                // Lines of text stand for messages.
                Workload::Goal(_) => assert!(size.connections >= built(&workload).0, "{size:?}"),
                // Ranks pass on different parts of a broadcast, meet others in random rings, have no mirror, no panel
                // or no points of a coarse level.
                Workload::HpccRing(_)
                | Workload::HpccPtrans(_)
                | Workload::HpccRandomAccess(_)
                | Workload::HpccFft(_)
                | Workload::Hpl(_)
                | Workload::Npb(_)
                | Workload::Openfoam(_)
                | Workload::Gpcnet(_) => {
                    let near = |count: u64, expected: u64| count.abs_diff(expected) * 4 <= expected;
                    let expected = built(&workload);
                    assert!(near(counts.0, expected.0) && counts.1 == expected.1, "{size:?}, {expected:?}");
                    assert!(near(counts.2.unwrap(), expected.2.unwrap()), "{size:?}, {expected:?}");
                }
                // The caller decides what is sent.
                Workload::Driven(_) => {
                    let expected = built(&workload);
                    assert_eq!((size.connections, size.rows, size.messages), (expected.0, expected.1, None));
                }
                // Two ranks may be partners of each other: one connection instead of two.
                Workload::Permutation(_) => {
                    assert_eq!((16, counts.1, counts.2, counts.3), (counts.0, 16, Some(16), Some(32_000_000)))
                }
                _ => assert_eq!(counts, built(&workload), "{}", workload.name()),
            }
            assert_eq!(size.ranks, u64::from(workload.traffic(1).unwrap().ranks()), "{}", workload.name());
        }
    }

    #[test]
    fn what_is_repeated_within_a_program_is_known_without_writing_it_out() {
        for inner in [1, 2, 3, 40] {
            let cg = Workload::NpbCg(NpbCg { ranks: 16, inner, iterations: 2, ..NpbCg::default() });
            let (size, built) = (cg.size().unwrap(), built(&cg));
            assert_eq!((size.connections, size.rows, size.messages, size.bytes), built, "{inner}");
            let Traffic::Ranks(programs) = cg.traffic(1).unwrap() else { panic!("ranks") };
            assert_eq!(size.program_bytes, programs.iter().map(program_bytes).sum::<u64>(), "{inner}");
        }
        let endless = NpbCg { inner: u32::MAX, ..NpbCg::default() };
        assert!(Workload::NpbCg(endless).size().unwrap().program_bytes > 1 << 40);
    }

    #[test]
    fn all_pairs_of_a_ping_pong_are_counted() {
        let pairs = Workload::OsuLatency(OsuLatency { pairs: 3, ..OsuLatency::default() });
        let size = pairs.size().unwrap();
        assert_eq!((size.ranks, size.rows), (6, 3 * 1_000));
        assert_eq!((size.connections, size.rows, size.messages, size.bytes), built(&pairs));
    }

    #[test]
    fn a_matrix_larger_than_any_memory_is_known_without_its_messages() {
        let ptrans = |size| HpccPtrans { rows: 2, columns: 2, size, iterations: 1, ..HpccPtrans::default() };
        // 2^37 B of each of four ranks, in 1,375 messages of 100 MB.
        let size = Workload::HpccPtrans(ptrans(1 << 18)).size().unwrap();
        let expected = built(&Workload::HpccPtrans(ptrans(1 << 18)));
        let near = |count: u64, expected: u64| count.abs_diff(expected) * 4 <= expected.max(1);
        assert!(near(size.messages.unwrap(), expected.2.unwrap()), "{size:?}, {expected:?}");
        assert!(Workload::HpccPtrans(ptrans(1 << 30)).size().unwrap().program_bytes > 1 << 30);
    }

    #[test]
    fn programs_take_what_their_operations_take() {
        let all = Workload::AllToAll(AllToAll { ranks: 256, ..AllToAll::default() });
        let Traffic::Ranks(programs) = all.traffic(1).unwrap() else { panic!("ranks") };
        assert_eq!(all.size().unwrap().program_bytes, programs.iter().map(program_bytes).sum::<u64>());
        let permutation = Workload::Permutation(Permutation::default());
        let Traffic::Ranks(programs) = permutation.traffic(1).unwrap() else { panic!("ranks") };
        assert_eq!(permutation.size().unwrap().program_bytes, programs.iter().map(program_bytes).sum::<u64>());
    }

    #[test]
    fn an_all_gather_of_16384_ranks_is_known_without_building_it() {
        let operation = Collective::Allgather { bytes: Bytes::new(1_000) };
        let gather = Workload::OsuCollective(OsuCollective { ranks: 16_384, operation, ..OsuCollective::default() });
        let size = gather.size().unwrap();
        // Each rank exchanges with its two neighbours 8,192 times in each of two blocks, three operations each.
        assert!(size.program_bytes >= 16_384 * 2 * 8_192 * 3 * size_of::<Op>() as u64, "{size:?}");
        assert_eq!(size.rows, 16_384 * 100);
    }
}
