//! All tests of the crate in one program: one link instead of 4.

mod every_family;
mod largest;
mod pareto;
mod proposals;
