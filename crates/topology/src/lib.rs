//! Structure of a fabric: the [`Topology`] value and the families that generate it.
//!
//! - A [`Topology`] is immutable and valid: connected, every host on a switch, every link with an Ethernet rate. Where
//!   hosts have several ports, [`Topology::by_port`] is the fabric whose hosts are those ports.
//! - Link `l` has the two channels `2l` and `2l + 1`; [`reverse`] turns one into the other.
//! - Ports are dense: a node of degree `d` uses ports `0..d`, one link each.
//! - A family is a parameter struct in a file of its own; [`TopologyKind`] lists them all. Its [`Shape`] is what other
//!   rooms go by. [`AsBuilt`] lists where what was built differs from its regular plan: fewer hosts, spare ports,
//!   failures.
//! - [`Family::fit`] finds the members for a number of hosts and a radix; [`Metrics`] measures a fabric. [`Export`]
//!   writes it as texts that other programs read.
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
mod export;
mod family;
mod galois;
mod grid;
mod group_links;
mod host_ports;
mod kind;
mod metrics;
mod shape;
mod size_request;
mod topology;

pub use as_built::{AsBuilt, ExtraLink, SlowLink};
pub use builder::Builder;
pub use cable::{Cable, Medium};
pub use export::{Export, ExportFile, ExportNames};
pub use family::Family;
pub use grid::Dimension;
pub use group_links::Arrangement;
pub use kind::*;
pub use metrics::{Bisection, BisectionBasis, Cables, Distances, Metrics, PathDiversity, Taper};
pub use shape::{GroupShape, RowShape, Shape};
pub use size_request::{FamilyFit, SizeRequest};
pub use topology::{Channel, ChannelEnd, LinkClass, Node, Topology, reverse};
