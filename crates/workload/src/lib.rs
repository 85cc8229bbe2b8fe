//! What applications send: rank schedules of MPI jobs, open-ended streams, and placements.
//!
//! - A [`Workload`] is the closed family of generators, as a scenario names them. Its
//!   [`Workload::traffic`] is either a [`Program`] per rank or a list of [`StreamSpec`]s.
//! - A [`Program`] is a list of blocks of [`Op`]s with a repeat count: 16,000 iterations cost
//!   the memory of one.
//! - [`collective`] lowers collectives to point-to-point schedules, with the algorithm that a library picks or the
//!   scenario names.
//! - An [`Arrival`] says when an open-loop host has its next packet, whatever the fabric does, and a [`Pattern`] where
//!   that packet goes.
//! - A [`Placement`] says which hosts a job has, a [`RankOrder`] which of them each rank lives on.
//!
//! Guarantees: every program of the family passes [`check`]: each send has its receive, no rank
//! is out of range, no rank sends to itself. Left out: message matching, protocol thresholds and
//! software overheads, which belong to the simulator.
//!
//! ```
//! use etherweave_workload::{Halo3d, bytes_sent};
//! let halo = Halo3d { iterations: 1, ..Halo3d::default() };
//! let programs = halo.programs().unwrap();
//! assert_eq!((programs.len(), bytes_sent(&programs[0])), (48, 3_916_800));
//! ```

mod accelerators;
mod all_to_all;
mod amounts;
pub mod arrival;
mod chakra;
mod check;
pub mod collective;
mod family;
mod fft;
mod goal;
mod gpcnet;
mod graph;
mod groups;
mod halo3d;
mod hpcc_fft;
mod hpcc_mpifft;
mod hpcc_ptrans;
mod hpcc_random_access;
mod hpcc_ring;
mod hpl;
mod incast;
mod limits;
mod nccl_tests;
mod npb;
mod openfoam;
mod osu;
mod osu_collective;
mod osu_one_sided;
pub mod pattern;
mod permutation;
mod permutation_streams;
mod placement;
mod program;
mod progress;
mod rank_grid;
mod rank_order;
mod recording;
mod schedule;
mod share;
mod size;
mod streams;
mod trace;
mod training;

pub use accelerators::AcceleratorNode;
pub use all_to_all::AllToAll;
pub use amounts::Amounts;
pub use arrival::{Arrival, ArrivalPlan, HostArrivals};
pub use chakra::{Chakra, trace_name};
pub use check::{bytes_sent, check};
pub use family::{Traffic, Workload};
pub use fft::Fft;
pub use goal::Goal;
pub use gpcnet::{Gpcnet, GpcnetCongestion, GpcnetCongestor, GpcnetTest};
pub use graph::{
    Driver, DriverEvent, ExecutionStream, Graph, GraphBuilder, GraphCycle, GraphFacts, GraphOp, GraphRun, MessageSum,
    NextOperations, NodeId, NodeLists, Received, check_graphs, programs_of_graphs,
};
pub use groups::{HostGroups, HostRange};
pub use halo3d::{Boundary, Halo3d};
pub use hpcc_fft::{FftScope, HpccFft};
pub use hpcc_mpifft::HpccMpifft;
pub use hpcc_ptrans::HpccPtrans;
pub use hpcc_random_access::HpccRandomAccess;
pub use hpcc_ring::HpccRing;
pub use hpl::{GridOrder, Hpl, HplInput, PanelBroadcast, RowSwap};
pub use incast::Incast;
pub use nccl_tests::NcclTests;
pub use npb::{Npb, NpbBenchmark, NpbCg, NpbClass};
pub use openfoam::{Openfoam, PressureSolver};
pub use osu::{OsuBibw, OsuBw, OsuLatency};
pub use osu_collective::OsuCollective;
pub use osu_one_sided::{OsuOneSidedBw, OsuOneSidedLatency};
pub use pattern::{Destinations, Pattern};
pub use permutation::{Partner, Permutation};
pub use permutation_streams::PermutationStreams;
pub use placement::{HostAreas, Placement};
pub use program::{Access, Block, Loop, Op, Part, Program, ProgramCursor};
pub use progress::check_progress;
pub use rank_order::RankOrder;
pub use recording::{
    Call, CollectiveCall, Completion, Message, RankRecording, Record, Recording, ReplayRules, Transfer,
};
pub use schedule::{Schedule, ScheduleError};
pub use share::Share;
pub use size::TrafficSize;
pub use streams::StreamSpec;
pub use trace::{ReadAt, TraceFile};
pub use training::{Outermost, Parallelism, StepTimes, Training, Transformer};
