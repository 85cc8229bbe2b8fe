//! Channels that a packet may take, and the choice among them.
//!
//! - A [`Routing`] says what is *legal*: at this switch, arrived by this hop, towards this host, these channels on
//!   these priorities. It knows neither packet nor queue, so deadlock freedom can be proved offline: by [`prove`] at
//!   any size, by [`dependency_cycle`] packet by packet.
//! - A [`HashSelection`] picks what is *preferred* among the legal: by a hash of the flow, or by its destination.
//! - [`RoutingKind`] and [`SelectionKind`] list the members and build them for a topology: as [`Legality`], with
//!   priorities and computed from coordinates where the fabric is regular, or as [`RoutingTable`],
//!   for routings that depend on the destination alone.
//!
//! - A [`PacketRouting`] decides for every packet at every switch, with a view of the switch's load; see
//!   [`RoutingKind`] for the members, which every simulation uses.
//!
//! All are functions of their arguments. The loads of channels that follow without a run are in [`bounds`].
//!
//! ```
//! use etherweave_routing::{Routing, RoutingKind, prove};
//! use etherweave_topology::{Dragonfly, Family};
//!
//! let topology = Dragonfly::default().generate().unwrap();
//! let legality = RoutingKind::ValiantGroup.legality(&topology).unwrap();
//! assert_eq!((legality.priorities(), legality.hops_max()), (3, 5));
//! assert!(prove(&topology, &legality).is_free());
//! assert!(!prove(&topology, &legality.with_priorities(2)).is_free());
//! ```
//!
//! ```
//! use etherweave_primitives::HostId;
//! use etherweave_routing::{FlowKey, RoutingKind, SelectionKind, path};
//! use etherweave_topology::{Family, FatTree};
//!
//! let topology = FatTree::default().generate().unwrap();
//! let routing = RoutingKind::UpDown.build(&topology).unwrap();
//! let selection = SelectionKind::default().build(&topology);
//! let key = FlowKey { src: HostId::new(0), dst: HostId::new(95), entropy: 0 };
//! // host0 - leaf0 - core0 - leaf7 - host95
//! assert_eq!(path(&topology, &routing, &selection, &key).unwrap().len(), 4);
//! ```

mod adjacencies;
pub mod bounds;
mod channel_order;
mod deadlock;
mod decision;
mod ecmp_hash;
mod flow;
mod grid;
mod groups;
mod hop;
mod kind;
mod legality;
mod order;
mod path;
mod per_packet;
mod plan;
mod proof;
mod ranked;
mod table;
mod tree;

pub use channel_order::ChannelOrder;
pub use deadlock::dependency_cycle;
pub use decision::Routing;
pub use ecmp_hash::{DestinationModulo, EcmpHash, HashSelection};
pub use flow::FlowKey;
pub use hop::ChannelHop;
pub use kind::*;
pub use legality::Legality;
pub use path::{PathFinder, path};
pub use per_packet::{
    AskingPacket, ButterflyPlan, ByCaller, CallerPortChoice, ClosPlan, DragonflyPlan, FabricOf, FabricPlan, FullPorts,
    GridPlan, HashScope, InputChannel, KnownTraffic, LoadScope, LoadView, MeasuredGroups, Neighbourhood, NextHop,
    NoLoad, Oblivious, Outage, OutputChannel, PacketRouting, PortChoice, PortChoiceStart, PortChooser, QueuedPort,
    RoutedPacket, Saturation, TableSource, WalkTarget, check_replaced, hops_max, tables,
};
pub use proof::{DeadlockProof, Verdict, prove};
pub use table::RoutingTable;
