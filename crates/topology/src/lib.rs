//! What is connected to what: the [`Topology`] value and the families that generate it.
//!
//! - A [`Topology`] is immutable and valid: connected, every host on exactly one switch, every link with an Ethernet
//!   rate.
//! - Link `l` has the two channels `2l` and `2l + 1`; [`reverse`] turns one into the other.
//! - Ports are dense: a node of degree `d` uses ports `0..d`, one link each.
//! - A family is a parameter struct in a file of its own; [`TopologyKind`] lists them all. [`AsBuilt`] lists where
//!   what was built differs from its regular plan: fewer hosts, spare ports, what has failed.
//! - [`Family::fit`] finds the members for a number of hosts and a radix; [`Metrics`] measures
//!   a fabric. [`Export`] writes it as texts that other programs read.
//!
//! Left out: which paths packets take (`routing`), what a link or switch does to them (`sim`), failures during a run,
//! prices and watts (`power`). Nothing here reads files.
//!
//! ```
//! use etherweave_topology::{Family, FatTree};
//! use etherweave_primitives::HostId;
//!
//! let testbed = FatTree { leaves: 8, hosts_per_leaf: 12, cores: 1, links_per_core: 4, ..FatTree::default() };
//! let topology = testbed.generate().unwrap();
//! assert_eq!((topology.hosts(), topology.switches()), (96, 9));
//! assert_eq!(topology.switch_name(topology.switch_of(HostId::new(95))), "leaf7");
//! ```

mod as_built;
mod branching;
mod builder;
mod cable;
mod cable_name;
mod check;
mod custom;
mod dragonfly;
mod dragonfly_plus;
mod export;
mod family;
mod fat_tree;
mod flattened_butterfly;
mod folded_clos;
mod galois;
mod grid;
mod group_links;
mod hyperx;
mod k_ary_fat_tree;
mod kind;
mod mesh;
mod metrics;
mod rail_optimised;
mod single_switch;
mod size_request;
mod slim_fly;
mod staged_fat_tree;
mod topology;
mod torus;

pub use as_built::{AsBuilt, ExtraLink};
pub use builder::Builder;
pub use cable::{Cable, Medium};
pub use custom::Custom;
pub use dragonfly::Dragonfly;
pub use dragonfly_plus::DragonflyPlus;
pub use export::{Export, ExportFile, ExportNames};
pub use family::Family;
pub use fat_tree::FatTree;
pub use flattened_butterfly::FlattenedButterfly;
pub use folded_clos::{FoldedClos, Uplinks};
pub use grid::Dimension;
pub use group_links::Arrangement;
pub use hyperx::HyperX;
pub use k_ary_fat_tree::KAryFatTree;
pub use kind::TopologyKind;
pub use mesh::Mesh;
pub use metrics::{Bisection, BisectionBasis, Cables, Distances, Metrics, PathDiversity, Taper};
pub use rail_optimised::RailOptimised;
pub use single_switch::SingleSwitch;
pub use size_request::{FamilyFit, SizeRequest};
pub use slim_fly::SlimFly;
pub use staged_fat_tree::{Stage, StagedFatTree};
pub use topology::{Channel, ChannelEnd, LinkClass, Node, Topology, reverse};
pub use torus::Torus;
