//! The tests of the crate as one program, which is compiled and linked once.

mod arrivals;
#[path = "../../../scenario/tests/all/cases.rs"]
mod cases;
mod family;
mod patterns;
mod refused;
mod testbed;
