//! All tests of the crate in one program: one link instead of 4.

mod arrivals;
mod family;
mod patterns;
mod testbed;
