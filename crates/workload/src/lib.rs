//! Traffic of applications: rank schedules of MPI jobs, open-ended streams, and placements.
//!
//! - A [`Workload`] is the closed family of generators, as a scenario names them. Its
//!   [`Generator::traffic`] is either a [`Program`] per rank or a list of [`StreamSpec`]s.
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
//! use etherweave_workload::{Halo3d, RankWorkload, bytes_sent};
//! let halo = Halo3d { iterations: 1, ..Halo3d::default() };
//! let programs = halo.programs(1).unwrap();
//! assert_eq!((programs.len(), bytes_sent(&programs[0])), (48, 3_916_800));
//! ```

mod accelerators;
mod amounts;
pub mod arrival;
mod check;
pub mod collective;
mod exact;
mod family;
mod generator;
mod graph;
mod groups;
mod limits;
pub mod pattern;
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
mod tag_names;
mod trace;

pub use accelerators::AcceleratorNode;
pub use amounts::Amounts;
pub use arrival::{Arrival, ArrivalPlan, HostArrivals};
pub use check::{bytes_sent, check};
pub use family::*;
pub use generator::{Generator, RankWorkload};
pub use graph::{
    ALL_LINKS, Driver, DriverEvent, ExecutionStream, Graph, GraphBuilder, GraphCycle, GraphFacts, GraphOp, GraphRun,
    MessageSum, NextOperations, NodeId, NodeLists, Received, check_graphs, programs_of_graphs,
};
pub use groups::{HostGroups, HostRange, OpenGroups};
pub use pattern::{Destinations, Pattern};
pub use placement::{HostAreas, Placement};
pub use program::{Access, Block, Loop, LoopPlace, Op, Part, Program, ProgramCursor, divide_rounds};
pub use progress::check_progress;
pub use rank_order::RankOrder;
pub use recording::{
    Call, CollectiveCall, Completion, Message, RankRecording, Record, Recording, ReplayRules, Transfer,
};
pub use schedule::Schedule;
pub use share::Share;
pub use size::TrafficSize;
pub use streams::{FlowStart, IdealTime, StreamSpec};
pub use trace::{ReadAt, TraceFile};
