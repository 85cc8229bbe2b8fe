//! All tests of the crate in one program: one link instead of 11.

mod as_built;
mod bisection;
mod every_family;
mod exascale;
mod exports;
mod fits;
mod formulas;
mod hostile_edge_lists;
mod hostile_parameters;
mod metrics;
mod parameters;
