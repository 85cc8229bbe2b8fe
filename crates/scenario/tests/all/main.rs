//! All tests of the crate in one program: one link instead of 11.

mod defaults;
mod design_fuzz;
mod design_mistakes;
mod estimate;
mod extremes;
mod faults;
mod mistakes;
mod mutations;
mod samples;
mod shipped;
mod topologies;
