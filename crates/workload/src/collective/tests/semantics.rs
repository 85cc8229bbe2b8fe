//! Everyone ends with what the collective defines, whichever algorithm is used.

use etherweave_primitives::Bytes;

use super::execution::{Memory, State, executed};
use super::{collective, data::after, named};
use crate::collective::{Algorithm, Collective, Communicator, Kind, Library, Rule};
use crate::{Block, Program, check, check_progress};

/// Sizes of a communicator: powers of two, their neighbours, odd and even ones.
const RANKS: [u32; 13] = [2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 31, 48, 65];

/// Nothing, fewer bytes or elements than ranks, more of them than ranks but no multiple.
fn sizes(kind: Kind) -> Vec<u64> {
    match kind {
        Kind::Barrier => vec![0],
        Kind::Bcast => vec![0, 1, 100],
        Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter | Kind::Scan | Kind::Exscan => vec![0, 24, 800],
        Kind::Gather | Kind::Gatherv | Kind::Scatter | Kind::Scatterv | Kind::Allgather | Kind::Allgatherv => {
            vec![0, 3, 20]
        }
        Kind::ReduceScatterBlock => vec![0, 8, 16],
        Kind::Alltoall | Kind::Alltoallv | Kind::Alltoallw | Kind::NeighborAllgather | Kind::NeighborAlltoall => {
            vec![0, 20]
        }
    }
}

fn assert_defined(collective: &Collective, rule: &Rule, ranks: u32) {
    let states = executed(collective, rule, ranks, Memory::Symbols);
    let layout = collective.layout(ranks);
    for (me, state) in (0..).zip(&states) {
        let defined = after(collective, &layout, me);
        let is_right = defined.iter().zip(&state.result).all(|(want, have)| want.is_none_or(|want| want == *have));
        assert!(is_right, "{collective:?} by {rule:?}: rank {me} of {ranks} has {:x?}, not {defined:x?}", state.result);
    }
    assert_synchronised(collective, &states);
}

/// Nobody leaves a barrier before everyone entered.
fn assert_synchronised(collective: &Collective, states: &[State]) {
    if collective.kind() == Kind::Barrier {
        let all = (1 << states.len()) - 1;
        assert!(states.iter().all(|state| state.entered == all), "{} ranks", states.len());
    }
}

#[test]
fn every_algorithm_gives_everyone_what_the_collective_defines() {
    for ranks in RANKS {
        for (rule, kind) in named(ranks) {
            for bytes in sizes(kind) {
                for root in [0, ranks / 2] {
                    assert_defined(&collective(kind, bytes, root, ranks), &rule, ranks);
                }
            }
        }
    }
}

/// Each of eight members sends 1, 2 and 4 blocks in three rounds, the last ones in two messages where two blocks are as
/// long as a segment; a block that is longer than a segment is a message.
#[test]
fn messages_of_aggregated_trees_have_as_many_blocks_as_a_segment() {
    for (kind, bytes) in [(Kind::Allgather, 24), (Kind::ReduceScatter, 8 * 24)] {
        let gathered = collective(kind, bytes, 0, 8);
        for (segment, messages) in [(48, 4), (16, 7), (1_000, 3)] {
            let segment = Some(Bytes::new(segment));
            let rule = Rule { algorithm: Some(Algorithm::Pat), segment, ..Rule::default() };
            assert_defined(&gathered, &rule, 8);
            let states = executed(&gathered, &rule, 8, Memory::Symbols);
            assert!(states.iter().all(|state| (state.messages, state.bytes) == (messages, 7 * 24)), "{kind:?}");
        }
    }
}

/// Returns the rules by which a library picks: for ranks with a node each, or four to a node and twelve to a leaf, and
/// without blocking.
fn rules(library: Library) -> [Rule; 3] {
    let rule = Rule::of(library);
    let by_node = Rule { nodes: Some(4), leaves: Some(12), ..rule };
    [rule, by_node, Rule { is_nonblocking: true, ..rule }]
}

#[test]
fn every_library_gives_everyone_what_the_collective_defines() {
    for &library in Library::ALL {
        for ranks in RANKS {
            for &kind in Kind::ALL {
                for bytes in sizes(kind) {
                    for rule in rules(library) {
                        assert_defined(&collective(kind, bytes, ranks - 1, ranks), &rule, ranks);
                    }
                }
            }
        }
    }
}

#[test]
fn no_message_is_unmatched_and_no_send_needs_to_complete_before_its_receive() {
    for ranks in RANKS {
        let world = Communicator::world(ranks);
        for (rule, kind) in named(ranks) {
            let collective = collective(kind, 100, ranks / 3, ranks);
            let program = |me| Program::new([Block::measured(collective.lower(&rule, &world, me), 2)]);
            let programs: Vec<_> = (0..ranks).map(program).collect();
            assert_eq!(check(&programs), Ok(()), "{collective:?} by {rule:?} on {ranks}");
            assert_eq!(check_progress(&programs), Ok(()), "{collective:?} by {rule:?} on {ranks}");
        }
    }
}

/// Sizes on both sides of every threshold, without data.
#[test]
fn every_library_ends_at_every_size() {
    for &library in Library::ALL {
        for ranks in [2, 5, 8, 13, 33, 64] {
            for &kind in Kind::ALL {
                for bytes in [8, 300, 2_100, 7_000, 13_000, 50_000, 400_000, 1 << 20] {
                    for rule in rules(library) {
                        executed(&collective(kind, bytes, 1, ranks), &rule, ranks, Memory::Nothing);
                    }
                }
            }
        }
    }
}

#[test]
fn every_collective_has_an_algorithm_for_every_size() {
    for &kind in Kind::ALL {
        let any = |algorithm: &Algorithm| algorithm.form_of(kind).is_some_and(|form| form.sizes.contains(7));
        assert!(Algorithm::ALL.iter().any(any), "{kind:?}");
    }
}
