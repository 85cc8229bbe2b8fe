//! Tests that reach inside: traffic that no workload makes.

mod queueing;
