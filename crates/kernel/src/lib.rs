//! Kernel of every simulation model: shards that are served side by side and exchange events once a window.
//!
//! Shards are assigned in their order to *workers*, which are threads of a process ([`Threads`]) or processes of an MPI
//! job ([`Processes`]). All workers serve their shards for a window of simulated time, then meet:
//!
//! ```text
//!   worker 0   serve its shards, fill outboxes ─┐        ┌─ receive ─► next window
//!                                               ├─ meet ─┤
//!   worker 1   serve its shards, fill outboxes ─┘        └─ receive ─► next window
//! ```
//!
//! Threads of a process may serve each other's workers ([`serve_windows`]), so that none waits for one that does not
//! run.
//!
//! A model brings its own outbox (events for the shards of one worker, [`Outbox`]) and its own [`Agreement`] (when the
//! next event is, whether work is left). Both are known at compile time: no event costs a call through a table.
//!
//! Beside them stands what models have in common: vectors of entities by typed indices ([`IndexVec`]), rows that are
//! appended while a run goes on ([`Log`]), hints about memory ([`memory`]), Little's law ([`QueueMeter`]), and of
//! switches with crossbars the order of [`Arbiter`].
//!
//! Guarantees: a worker receives outboxes in the order of the workers that filled them, and workers have consecutive
//! shards; so a shard receives remote events in the order of the shards that sent them, however shards are assigned.
//! A worker that panics ends all others.

mod agreement;
mod arbiter;
mod barrier;
mod division;
mod generation;
mod index_vec;
pub mod indices;
mod log;
pub mod memory;
mod mpi;
mod on_threads;
mod pool;
mod processes;
mod queue_meter;
mod rows;
mod texts;
mod threads;
mod wire;

pub use agreement::{Agreement, Exchange, Outbox};
pub use arbiter::Arbiter;
pub use division::{Division, Worker};
pub use index_vec::{FirstIndex, FromZero, IndexVec, LocalIndex, Removed, SlidingVec};
pub use log::Log;
pub use on_threads::on_threads;
pub use pool::serve_windows;
pub use processes::{ProcessEnd, Processes};
pub use queue_meter::QueueMeter;
pub use rows::{Cell, Column, RowNames, TableRow, column};
pub use texts::Texts;
pub use threads::{ThreadEnd, Threads};
pub use wire::Wire;
