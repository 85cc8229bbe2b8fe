//! The tables of `coll_tuned_decision_fixed.c` of Open MPI 4.1 and 5.0, alike in both, for commutative operations.
//! Nothing is divided into segments: its default length is 0.
//!
//! Not in the tables: scans, exchanges with neighbours and `alltoallw` are linear, as in `coll_basic`, and so are
//! gathers and scatters of different lengths. Where Open MPI has several algorithms that send the same
//! messages in the same order, one stands for them: its exchange of two, its linear all-to-all with synchronisation
//! (whose default is no limit), its non-blocking linear scatter, and its segmented ring, which without a segment's
//! length is the ring.

use super::{Algorithm, Ask, Choice, Kind, libnbc};
use Algorithm::{
    BinaryTree, Binomial, Bruck, Butterfly, Chain, Composed, InOrderBinaryTree, Knomial, Linear, LinearSync,
    NeighbourExchange, Pairwise, Pipeline, Rabenseifner, RecursiveDoubling, RecursiveHalving, Ring, ScatterAllgather,
    ScatterRing, SplitBinaryTree,
};

/// Algorithm by the least number of members, then by the least number of bytes.
type Table = &'static [(u32, &'static [(u64, Algorithm)])];

pub(super) fn choice(ask: &Ask) -> Choice {
    let (table, bytes) = match ask.kind {
        _ if ask.is_nonblocking => return libnbc::choice(ask),
        Kind::Barrier => (BARRIER, 0),
        Kind::Bcast => (BCAST, ask.total),
        Kind::Reduce => (REDUCE, ask.total),
        Kind::Allreduce => (ALLREDUCE, ask.total),
        Kind::ReduceScatter => (REDUCE_SCATTER, ask.total),
        Kind::Alltoall => (ALLTOALL, ask.block),
        Kind::Alltoallv => (ALLTOALLV, ask.block),
        Kind::Allgather => (ALLGATHER, ask.block),
        Kind::Allgatherv => (ALLGATHERV, ask.block),
        Kind::Gather => (GATHER, ask.block),
        Kind::Scatter => (SCATTER, ask.block),
        Kind::ReduceScatterBlock => (REDUCE_SCATTER_BLOCK, ask.block),
        Kind::Gatherv
        | Kind::Scatterv
        | Kind::NeighborAllgather
        | Kind::NeighborAlltoall
        | Kind::Scan
        | Kind::Exscan
        | Kind::Alltoallw => return Choice::of(Linear),
    };
    Choice::of(defined(listed(table, ask.size, bytes), ask))
}

/// The entry of the last row and column that begin at or below these sizes.
fn listed(table: Table, size: u32, bytes: u64) -> Algorithm {
    let row = table.partition_point(|(first, _)| *first <= size) - 1;
    let columns = table[row].1;
    columns[columns.partition_point(|(first, _)| *first <= bytes) - 1].1
}

/// Returns the algorithm that the component uses where one is not defined.
fn defined(algorithm: Algorithm, ask: &Ask) -> Algorithm {
    match (ask.kind, algorithm) {
        (Kind::Allgather | Kind::Allgatherv, RecursiveDoubling) if !ask.is_power_of_two() => Bruck,
        (Kind::Allgather | Kind::Allgatherv, NeighbourExchange) if ask.size % 2 == 1 => Ring,
        (Kind::Bcast, ScatterAllgather | ScatterRing) if ask.total < u64::from(ask.size) => Linear,
        (Kind::Bcast, ScatterAllgather) if !ask.is_power_of_two() => ScatterRing,
        (Kind::Allreduce, Ring) if ask.elements() < u64::from(ask.size) => RecursiveDoubling,
        (Kind::Allreduce | Kind::Reduce, Rabenseifner) if ask.elements() < ask.core() => Linear,
        (_, algorithm) => algorithm,
    }
}

const ALLREDUCE: Table = &[
    (
        2,
        &[
            (0, Ring),
            (8, RecursiveDoubling),
            (4_096, Ring),
            (8_192, RecursiveDoubling),
            (16_384, Ring),
            (262_144, Rabenseifner),
        ],
    ),
    (4, &[(0, Ring), (16, RecursiveDoubling), (8_192, Rabenseifner)]),
    (8, &[(0, RecursiveDoubling), (8_192, Rabenseifner)]),
    (16, &[(0, Ring), (64, RecursiveDoubling), (4_096, Rabenseifner)]),
    (32, &[(0, Ring), (128, Rabenseifner)]),
    (64, &[(0, RecursiveDoubling), (262_144, Rabenseifner)]),
    (128, &[(0, Composed), (131_072, RecursiveDoubling), (262_144, Rabenseifner)]),
    (256, &[(0, Composed), (4_096, Rabenseifner)]),
    (512, &[(0, Composed), (2_048, RecursiveDoubling), (16_384, Rabenseifner)]),
    (2_048, &[(0, Composed), (2_048, Ring), (4_096, RecursiveDoubling), (16_384, Rabenseifner)]),
    (4_096, &[(0, Composed), (2_048, Ring), (16_384, RecursiveDoubling), (32_768, Rabenseifner)]),
];

const ALLTOALL: Table = &[
    (2, &[(0, Pairwise), (32_768, Linear), (262_144, Pairwise)]),
    (3, &[(0, Linear), (524_288, Pairwise), (1_048_576, Linear)]),
    (8, &[(0, Linear)]),
    (16, &[(0, Linear), (4, Bruck), (512, Linear)]),
    (32, &[(0, Bruck), (512, Linear)]),
    (64, &[(0, Bruck), (1_024, Linear), (262_144, Pairwise)]),
    (128, &[(0, Bruck), (1_024, Linear), (262_144, Pairwise)]),
    (256, &[(0, Bruck), (1_024, Linear), (32_768, Pairwise)]),
    (512, &[(0, Bruck), (512, Linear), (262_144, Pairwise)]),
    (1_024, &[(0, Bruck), (512, Linear)]),
    (2_048, &[(0, Bruck), (1_024, Linear)]),
    (4_096, &[(0, Bruck), (2_048, Linear)]),
];

const ALLTOALLV: Table = &[
    (2, &[(0, Pairwise)]),
    (4, &[(0, Linear)]),
    (64, &[(0, Pairwise)]),
    (128, &[(0, Linear)]),
    (256, &[(0, Pairwise)]),
    (1_024, &[(0, Linear)]),
];

const BARRIER: Table = &[
    (2, &[(0, RecursiveDoubling)]),
    (4, &[(0, Linear)]),
    (8, &[(0, RecursiveDoubling)]),
    (64, &[(0, Bruck)]),
    (256, &[(0, Binomial)]),
    (512, &[(0, Bruck)]),
    (1_024, &[(0, Binomial)]),
    (4_096, &[(0, Bruck)]),
];

const BCAST: Table = &[
    (
        2,
        &[
            (0, Pipeline),
            (32, BinaryTree),
            (256, Pipeline),
            (512, Knomial),
            (1_024, Linear),
            (32_768, BinaryTree),
            (131_072, Chain),
            (262_144, Linear),
            (524_288, Binomial),
            (1_048_576, BinaryTree),
        ],
    ),
    (4, &[(0, BinaryTree), (64, Binomial), (128, BinaryTree), (2_048, Binomial), (8_192, Linear), (1_048_576, Chain)]),
    (8, &[(0, Knomial), (8, BinaryTree), (64, Knomial), (4_096, BinaryTree), (16_384, Binomial), (32_768, Linear)]),
    (16, &[(0, Knomial), (4_096, Binomial), (1_048_576, ScatterAllgather)]),
    (32, &[(0, Binomial), (2_048, Knomial)]),
    (64, &[(0, Knomial)]),
    (128, &[(0, Binomial), (2, BinaryTree), (16_384, Linear), (32_768, BinaryTree), (65_536, Knomial)]),
    (256, &[(0, Knomial), (16_384, SplitBinaryTree), (32_768, Knomial)]),
    (1_024, &[(0, Knomial), (524_288, ScatterAllgather)]),
    (2_048, &[(0, Knomial), (262_144, ScatterAllgather)]),
    (4_096, &[(0, Knomial), (8_192, BinaryTree), (16_384, Knomial), (262_144, ScatterAllgather)]),
];

const REDUCE: Table = &[
    (
        2,
        &[
            (0, Rabenseifner),
            (8, BinaryTree),
            (16, Pipeline),
            (32, Linear),
            (262_144, Pipeline),
            (524_288, Chain),
            (1_048_576, Pipeline),
        ],
    ),
    (
        4,
        &[
            (0, BinaryTree),
            (4_096, Chain),
            (65_536, Binomial),
            (262_144, Linear),
            (524_288, Binomial),
            (1_048_576, Linear),
        ],
    ),
    (8, &[(0, BinaryTree), (8_192, Binomial)]),
    (16, &[(0, BinaryTree), (4_096, Binomial)]),
    (32, &[(0, Binomial)]),
    (256, &[(0, Binomial), (8_192, InOrderBinaryTree), (16_384, Binomial)]),
    (512, &[(0, Binomial)]),
    (
        2_048,
        &[(0, Binomial), (512, InOrderBinaryTree), (1_024, Binomial), (8_192, InOrderBinaryTree), (16_384, Binomial)],
    ),
    (
        4_096,
        &[
            (0, Binomial),
            (16, InOrderBinaryTree),
            (32, Binomial),
            (1_024, InOrderBinaryTree),
            (2_048, Binomial),
            (8_192, InOrderBinaryTree),
            (16_384, Binomial),
        ],
    ),
];

const REDUCE_SCATTER: Table = &[
    (2, &[(0, Ring), (65_536, Butterfly), (131_072, Ring)]),
    (4, &[(0, Composed), (8, RecursiveHalving), (262_144, Ring)]),
    (8, &[(0, RecursiveHalving), (262_144, Ring)]),
    (32, &[(0, Composed), (64, RecursiveHalving), (2_048, Butterfly), (524_288, Ring)]),
    (64, &[(0, Composed), (256, RecursiveHalving), (512, Butterfly), (2_048, RecursiveHalving), (4_096, Butterfly)]),
    (128, &[(0, Composed), (256, RecursiveHalving), (512, Butterfly)]),
    (256, &[(0, Composed), (256, RecursiveHalving), (1_024, Butterfly)]),
    (
        512,
        &[(0, Composed), (512, RecursiveHalving), (2_048, Butterfly), (8_192, RecursiveHalving), (16_384, Butterfly)],
    ),
    (
        1_024,
        &[(0, Composed), (512, RecursiveHalving), (4_096, Butterfly), (16_384, RecursiveHalving), (32_768, Butterfly)],
    ),
    (2_048, &[(0, Composed), (512, RecursiveHalving), (4_096, Butterfly)]),
    (4_096, &[(0, Composed), (1_024, RecursiveHalving), (8_192, Butterfly)]),
];

const REDUCE_SCATTER_BLOCK: Table = &[
    (
        2,
        &[
            (0, RecursiveDoubling),
            (4, Butterfly),
            (8, RecursiveHalving),
            (16, Butterfly),
            (128, RecursiveHalving),
            (256, Butterfly),
            (4_096, RecursiveHalving),
            (8_192, Butterfly),
            (131_072, Composed),
        ],
    ),
    (
        4,
        &[
            (0, RecursiveHalving),
            (8, RecursiveDoubling),
            (32, Butterfly),
            (256, RecursiveHalving),
            (8_192, Butterfly),
            (16_384, RecursiveHalving),
            (1_048_576, Composed),
        ],
    ),
    (
        8,
        &[
            (0, Composed),
            (4, RecursiveHalving),
            (32, Butterfly),
            (128, RecursiveHalving),
            (524_288, Composed),
            (4_194_304, Butterfly),
        ],
    ),
    (
        16,
        &[
            (0, Composed),
            (32, RecursiveHalving),
            (524_288, Composed),
            (2_097_152, RecursiveHalving),
            (4_194_304, Butterfly),
        ],
    ),
    (32, &[(0, RecursiveHalving), (4, Composed), (16, Butterfly), (65_536, Composed), (262_144, Butterfly)]),
];

const ALLGATHER: Table = &[
    (2, &[(0, RecursiveDoubling)]),
    (3, &[(0, RecursiveDoubling)]),
    (32, &[(0, RecursiveDoubling), (1_024, NeighbourExchange), (65_536, Ring)]),
    (64, &[(0, RecursiveDoubling), (512, NeighbourExchange), (65_536, Ring)]),
    (
        128,
        &[
            (0, RecursiveDoubling),
            (512, NeighbourExchange),
            (131_072, Ring),
            (524_288, NeighbourExchange),
            (1_048_576, Ring),
        ],
    ),
    (
        256,
        &[
            (0, RecursiveDoubling),
            (32, Bruck),
            (128, RecursiveDoubling),
            (1_024, NeighbourExchange),
            (131_072, Ring),
            (524_288, NeighbourExchange),
            (1_048_576, Ring),
        ],
    ),
    (512, &[(0, RecursiveDoubling), (64, Bruck), (256, RecursiveDoubling), (2_048, NeighbourExchange)]),
    (
        1_024,
        &[
            (0, RecursiveDoubling),
            (4, Bruck),
            (8, RecursiveDoubling),
            (16, Bruck),
            (32, RecursiveDoubling),
            (256, Bruck),
            (512, RecursiveDoubling),
            (4_096, NeighbourExchange),
        ],
    ),
    (2_048, &[(0, Bruck), (32, RecursiveDoubling), (128, Bruck), (512, RecursiveDoubling), (4_096, NeighbourExchange)]),
    (
        4_096,
        &[
            (0, RecursiveDoubling),
            (2, Bruck),
            (8, RecursiveDoubling),
            (16, Bruck),
            (512, RecursiveDoubling),
            (4_096, NeighbourExchange),
        ],
    ),
];

const ALLGATHERV: Table = &[
    (2, &[(0, Ring), (2_048, RecursiveDoubling), (4_096, Ring), (8_192, RecursiveDoubling)]),
    (
        3,
        &[
            (0, Composed),
            (256, NeighbourExchange),
            (4_096, Ring),
            (8_192, NeighbourExchange),
            (16_384, Bruck),
            (262_144, NeighbourExchange),
        ],
    ),
    (8, &[(0, Composed), (1_024, Bruck)]),
    (16, &[(0, Composed), (128, Bruck), (262_144, Ring)]),
    (32, &[(0, Composed), (256, Bruck), (8_192, Ring)]),
    (64, &[(0, Composed), (256, Bruck), (4_096, Ring)]),
    (128, &[(0, Bruck), (1_024, NeighbourExchange), (65_536, Ring)]),
    (256, &[(0, Bruck), (1_024, Ring)]),
    (512, &[(0, Bruck), (512, Composed), (1_024, Bruck), (4_096, NeighbourExchange), (1_048_576, Ring)]),
    (1_024, &[(0, Bruck), (4_096, NeighbourExchange)]),
];

const GATHER: Table = &[
    (2, &[(0, LinearSync), (2, Linear), (4, Binomial), (32_768, Linear), (65_536, Binomial), (131_072, LinearSync)]),
    (4, &[(0, Binomial), (1_024, Linear), (8_192, Binomial), (32_768, Linear), (262_144, LinearSync)]),
    (8, &[(0, Binomial)]),
    (256, &[(0, Binomial), (2_048, Linear), (8_192, Binomial)]),
    (512, &[(0, Binomial)]),
];

const SCATTER: Table = &[
    (2, &[(0, Linear)]),
    (4, &[(0, Binomial), (2_048, Linear), (4_096, Binomial), (8_192, Linear)]),
    (8, &[(0, Binomial), (16_384, Linear)]),
    (16, &[(0, Binomial), (16_384, Linear)]),
    (32, &[(0, Binomial), (512, Linear), (8_192, Binomial), (16_384, Linear)]),
    (64, &[(0, Binomial), (512, Linear)]),
];
