//! The closed family of workloads: a member is a file in `family`, its module and its entry here.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::{Generator, Graph, Program, StreamSpec};

mod all_to_all;
mod chakra;
mod checkpoint;
mod driver;
mod fft;
mod flows;
mod goal;
mod gpcnet;
mod halo3d;
mod hpcc_fft;
mod hpcc_mpifft;
mod hpcc_ptrans;
mod hpcc_random_access;
mod hpcc_ring;
mod hpl;
mod imb;
mod incast;
mod inference;
mod moe;
mod nccl_tests;
mod npb;
mod openfoam;
mod osu;
mod osu_collective;
mod osu_one_sided;
mod permutation;
mod permutation_streams;
mod request_response;
mod training;

pub use chakra::trace_name;
pub use checkpoint::CheckpointAccess;
pub use driver::{DrivenRank, DriverStart};
pub use flows::{FlowIncast, FlowSizes, LoadOf, SizePoints};
pub use gpcnet::{GpcnetCongestion, GpcnetTest};
pub use halo3d::Boundary;
pub use hpcc_fft::FftScope;
pub use hpl::{GridOrder, HplInput, PanelBroadcast, RowSwap};
pub use imb::ImbTest;
pub use inference::{
    DecodeExperts, DrawnRequests, KvCache, KvTransfer, ListedRequests, Pool, ServedRequests, TokenCounts,
};
pub use moe::{ExpertLoads, Gate, MoeLoads, MoeMode, TokenFormat};
pub use npb::{NpbBenchmark, NpbClass};
pub use openfoam::PressureSolver;
pub use permutation::Partner;
pub(crate) use permutation::derangement;
pub use request_response::{RequestLoad, ServiceTimes};
pub use training::{Accelerator, Memory, Outermost, Parallelism, StepTimes, Transformer};

/// Traffic of a workload.
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

/// Declares the family: module, parameters and name of each member.
macro_rules! family {
    ($($(#[$doc:meta])* $module:ident::$member:ident = $name:literal,)*) => {
        $(pub use $module::$member;)*

        /// A workload, as a scenario names it.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum Workload {
            $($(#[$doc])* #[serde(rename = $name)] $member($member),)*
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
        }

        impl Deref for Workload {
            type Target = dyn Generator;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Workload::$member(parameters) => parameters,)*
                }
            }
        }

        impl DerefMut for Workload {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Workload::$member(parameters) => parameters,)*
                }
            }
        }
    };
}

family! {
    /// Halo exchange with 18 or 26 neighbours.
    halo3d::Halo3d = "halo3d",
    /// All-to-all on the sub-communicators of a grid.
    fft::Fft = "fft",
    /// Conjugate gradient of the NAS Parallel Benchmarks.
    npb::NpbCg = "npb_cg",
    /// The other benchmarks of the NAS Parallel Benchmarks.
    npb::Npb = "npb",
    /// Steps of a flow solver.
    openfoam::Openfoam = "openfoam",
    /// Natural and random rings of the HPC Challenge.
    hpcc_ring::HpccRing = "hpcc_ring",
    /// Matrix transpose of the HPC Challenge.
    hpcc_ptrans::HpccPtrans = "hpcc_ptrans",
    /// Fourier transform over all ranks of the HPC Challenge.
    hpcc_mpifft::HpccMpifft = "hpcc_mpifft",
    /// Updates of a table over all ranks, of the HPC Challenge.
    hpcc_random_access::HpccRandomAccess = "hpcc_random_access",
    /// Fourier transforms of each rank by itself, of the HPC Challenge.
    hpcc_fft::HpccFft = "hpcc_fft",
    /// Linpack, panel by panel.
    hpl::Hpl = "hpl",
    /// Network tests of GPCNeT.
    gpcnet::Gpcnet = "gpcnet",
    /// A congestor of GPCNeT.
    gpcnet::GpcnetCongestor = "gpcnet_congestor",
    /// One collective of NCCL after another, on accelerators in nodes.
    nccl_tests::NcclTests = "nccl_tests",
    /// Training steps of a transformer.
    training::Training = "training",
    /// Dispatch and combine of a mixture of experts.
    moe::Moe = "moe",
    /// Requests to a language model, whose prompts and answers are computed apart.
    inference::Inference = "inference",
    /// Checkpoints that accelerators save to storage servers together.
    checkpoint::Checkpoint = "checkpoint",
    /// Execution traces of Chakra.
    chakra::Chakra = "chakra",
    /// A schedule in a GOAL file.
    goal::Goal = "goal",
    /// Ping-pong between two ranks.
    osu::OsuLatency = "osu_latency",
    /// One-way bandwidth between two ranks.
    osu::OsuBw = "osu_bw",
    /// Two-way bandwidth between two ranks.
    osu::OsuBibw = "osu_bibw",
    /// Latency of put, get, accumulate or fetch-and-op between two ranks.
    osu_one_sided::OsuOneSidedLatency = "osu_one_sided_latency",
    /// Bandwidth of put or get between two ranks.
    osu_one_sided::OsuOneSidedBw = "osu_one_sided_bw",
    /// Exchanges of the Intel MPI Benchmarks.
    imb::Imb = "imb",
    /// One collective after another.
    osu_collective::OsuCollective = "osu_collective",
    /// Global all-to-all.
    all_to_all::AllToAll = "all_to_all",
    /// One message per rank along a permutation.
    permutation::Permutation = "permutation",
    /// Many sources, one sink, until the run ends.
    incast::Incast = "incast",
    /// Flows that arrive while the run goes on.
    flows::Flows = "flows",
    /// One counted stream per host along a permutation.
    permutation_streams::PermutationStreams = "permutation_streams",
    /// Requests and their answers.
    request_response::RequestResponse = "request_response",
    /// Operations that a class of the caller decides on.
    driver::Driven = "driver",
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
