//! The tests of the crate as one program, which is compiled and linked once.

mod adaptive;
mod allocation;
mod balance;
mod bounds;
mod bounds_by_family;
mod closed_forms;
mod controller;
mod cross_check;
mod every_routing;
mod fabric;
mod flow_control;
mod grids;
mod hot_uplink;
mod invariants;
mod links;
mod order;
mod outages;
mod saturation;
mod slim_fly;
#[path = "../../../forwarding/tests/all/fabrics/small.rs"]
mod small;
mod tables;
