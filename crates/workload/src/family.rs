//! The closed family of workloads: every member is listed here once.

use crate::{
    AllToAll, Chakra, Fft, Goal, Gpcnet, GpcnetCongestor, Graph, Halo3d, HpccFft, HpccMpifft, HpccPtrans,
    HpccRandomAccess, HpccRing, Hpl, Incast, NcclTests, Npb, NpbCg, Openfoam, OsuBibw, OsuBw, OsuCollective,
    OsuLatency, OsuOneSidedBw, OsuOneSidedLatency, Permutation, PermutationStreams, Program, StreamSpec, Training,
};
use etherweave_primitives::InputErrors;
use std::sync::Arc;

/// What a workload yields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// An MPI job: the program of each rank.
    Ranks(Vec<Program>),
    /// A job whose ranks perform graphs.
    Graphs {
        /// The graph of each rank.
        ranks: Vec<Arc<Graph>>,
        /// How often each rank performs all of its graph, each time a measured iteration, 1 or more.
        iterations: u32,
    },
    /// Streams without a schedule.
    Streams(Vec<StreamSpec>),
}

/// Declares the family: variant, parameter type and how it yields its traffic.
macro_rules! family {
    ($($(#[$doc:meta])* $member:ident = $name:literal: $yields:expr;)*) => {
        /// A workload, as a scenario names it.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Workload {
            $($(#[$doc])* $member($member),)*
        }

        impl Workload {
            /// The names of all members, in order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Every member with its default parameters, in order.
            pub fn defaults() -> Vec<Workload> {
                vec![$(Workload::$member($member::default())),*]
            }

            /// Its name in a scenario.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Workload::$member(_) => $name,)*
                }
            }

            /// How many ranks it has, before anything is built: a typing error must not fill the memory.
            pub fn ranks(&self) -> u64 {
                match self {
                    $(Workload::$member(parameters) => parameters.ranks(),)*
                }
            }

            /// What it sends; `seed` is the run's.
            ///
            /// # Errors
            /// When the parameters make no workload.
            pub fn traffic(&self, seed: u64) -> Result<Traffic, InputErrors> {
                match self {
                    $(Workload::$member(parameters) => {
                        let yields: fn(&$member, u64) -> Result<Traffic, InputErrors> = $yields;
                        yields(parameters, seed)
                    })*
                }
            }
        }
    };
}

family! {
    /// Halo exchange with 18 or 26 neighbours.
    Halo3d = "halo3d": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// All-to-all on the sub-communicators of a grid.
    Fft = "fft": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// Conjugate gradient of the NAS Parallel Benchmarks.
    NpbCg = "npb_cg": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// The other benchmarks of the NAS Parallel Benchmarks.
    Npb = "npb": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// Steps of a flow solver.
    Openfoam = "openfoam": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// Natural and random rings of the HPC Challenge.
    HpccRing = "hpcc_ring": |parameters, seed| parameters.programs(seed).map(Traffic::Ranks);
    /// Matrix transpose of the HPC Challenge.
    HpccPtrans = "hpcc_ptrans": |parameters, seed| parameters.programs(seed).map(Traffic::Ranks);
    /// Fourier transform over all ranks of the HPC Challenge.
    HpccMpifft = "hpcc_mpifft": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// Updates of a table over all ranks, of the HPC Challenge.
    HpccRandomAccess = "hpcc_random_access": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// Fourier transforms of each rank by itself, of the HPC Challenge.
    HpccFft = "hpcc_fft": |parameters, seed| parameters.programs(seed).map(Traffic::Ranks);
    /// Linpack, panel by panel.
    Hpl = "hpl": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// Network tests of GPCNeT.
    Gpcnet = "gpcnet": |parameters, seed| parameters.programs(seed).map(Traffic::Ranks);
    /// A congestor of GPCNeT.
    GpcnetCongestor = "gpcnet_congestor": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// One collective of NCCL after another, on accelerators in nodes.
    NcclTests = "nccl_tests": |parameters, _| parameters.traffic();
    /// Training steps of a transformer.
    Training = "training": |parameters, _| parameters.traffic();
    /// Execution traces of Chakra.
    Chakra = "chakra": |parameters, _| Ok(parameters.traffic()?);
    /// A schedule in a GOAL file.
    Goal = "goal": |parameters, _| Ok(parameters.traffic()?);
    /// Ping-pong between two ranks.
    OsuLatency = "osu_latency": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// One-way bandwidth between two ranks.
    OsuBw = "osu_bw": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// Two-way bandwidth between two ranks.
    OsuBibw = "osu_bibw": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// Latency of put, get, accumulate or fetch-and-op between two ranks.
    OsuOneSidedLatency = "osu_one_sided_latency": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// Bandwidth of put or get between two ranks.
    OsuOneSidedBw = "osu_one_sided_bw": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// One collective after another.
    OsuCollective = "osu_collective": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// Global all-to-all.
    AllToAll = "all_to_all": |parameters, _| parameters.programs().map(Traffic::Ranks);
    /// One message per rank along a permutation.
    Permutation = "permutation": |parameters, seed| parameters.programs(seed).map(Traffic::Ranks);
    /// Many sources, one sink, until the run ends.
    Incast = "incast": |parameters, _| parameters.streams().map(Traffic::Streams);
    /// One counted stream per host along a permutation.
    PermutationStreams = "permutation_streams": |parameters, seed| parameters.streams(seed).map(Traffic::Streams);
}

impl Traffic {
    /// How many hosts it occupies.
    pub fn ranks(&self) -> u32 {
        match self {
            Traffic::Ranks(programs) => programs.len() as u32,
            Traffic::Graphs { ranks, .. } => ranks.len() as u32,
            Traffic::Streams(streams) => {
                let last = |stream: &StreamSpec| stream.src_rank.max(stream.dst_rank).get();
                streams.iter().map(last).max().map_or(0, |last| last + 1)
            }
        }
    }
}
