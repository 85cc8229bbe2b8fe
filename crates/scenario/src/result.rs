//! Result of a run: its tables as columns, its figures in short.

pub(crate) mod fabric_tables;
pub(crate) mod flow_rows;
pub(crate) mod measured;
pub(crate) mod outcome;
pub(crate) mod tables;
pub(crate) mod workload_figures;
