//! The tests of the crate as one program, which is compiled and linked once.

mod cases;
mod clock;
mod defaults;
mod design_fuzz;
mod design_mistakes;
mod estimate;
mod extremes;
mod faults;
mod fidelity;
mod host_ports;
mod hpcc_ring;
mod interconnects;
mod mistakes;
mod mutations;
mod panics;
mod results;
mod routings;
mod samples;
mod shipped;
mod sweep;
mod switch_models;
mod topologies;
mod training;
