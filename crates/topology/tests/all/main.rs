//! The tests of the crate as one program, which is compiled and linked once.

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
