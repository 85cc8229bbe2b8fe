//! All tests of the crate in one program: one link instead of 9.

mod balance;
mod conditional;
mod equivalence;
mod every_packet_routing;
mod exascale;
mod fabrics;
mod flow_table_routing;
mod hostile;
mod identities;
mod minimal;
#[path = "fabrics/small.rs"]
mod small;
