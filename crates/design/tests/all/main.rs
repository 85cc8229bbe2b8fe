//! The tests of the crate as one program, which is compiled and linked once.

mod every_family;
mod largest;
mod pareto;
mod proposals;
