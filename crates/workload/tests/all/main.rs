//! The tests of the crate as one program, which is compiled and linked once.

mod arrivals;
mod family;
mod patterns;
mod testbed;
