//! All tests of the crate in one program: one link instead of 8.

mod common;
mod every_legality;
mod every_routing;
mod exascale;
mod hash_balance;
mod paths;
mod planted_cycles;
mod random_fabrics;
mod shares_of_hops;
