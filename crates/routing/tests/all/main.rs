//! The tests of the crate as one program, which is compiled and linked once.

mod common;
mod every_legality;
mod every_routing;
mod exascale;
mod hash_balance;
mod paths;
mod planted_cycles;
mod random_fabrics;
mod shares_of_hops;
