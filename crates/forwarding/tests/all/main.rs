//! The tests of the crate as one program, which is compiled and linked once.

mod balance;
mod conditional;
mod equivalence;
mod every_packet_routing;
mod exascale;
mod fabrics;
mod hostile;
mod identities;
mod minimal;
#[path = "fabrics/small.rs"]
mod small;
