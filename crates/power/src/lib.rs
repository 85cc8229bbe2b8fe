//! Power and price of a fabric: switches, ports, tables, cables, NICs.
//!
//! - A [`PowerProfile`] says what parts draw, a [`PriceBook`] what they cost. Both are TOML; some are [`shipped`] and
//!   more can be passed as text. Every figure carries its source and what it rests on ([`Basis`]).
//! - [`PowerProfile::draw`] gives the watts of a topology by component and kind of switch, at the worst case or under a
//!   measured [`Activity`]. Table sizes are plain numbers ([`Tables`]).
//! - [`PriceBook::cost`] gives the bill, [`PriceBook::year_of`] a year's electricity.
//! - Every result lists the figures that it used; a sum of estimates says that it is one ([`Certainty`]).
//!
//! Left out: whether tables fit a switch (`forwarding`), what loads there are (`sim`, whose probes measure them).
//! Nothing here reads files.
//!
//! ```
//! use etherweave_power::{Entries, PowerProfile, TableKind, Tables};
//! use etherweave_topology::{Cable, Dragonfly, Family};
//! use etherweave_primitives::{BitRate, InputError};
//!
//! let rate = BitRate::from_gbps(40);
//! let fabric = Dragonfly { host_rate: rate, local_rate: rate, global_rate: rate, ..Dragonfly::default() };
//! let fabric = Dragonfly { local_cable: "8m optical".parse().unwrap(), ..fabric }.generate().unwrap();
//! let tables = Tables { kind: TableKind::Tcam, entries: Entries::Each(300_000) };
//! let draw = PowerProfile::shipped("exascale-2015").unwrap().draw(&fabric, Some(&tables)).unwrap();
//! // 7 ports · 78.125 M searches/s · 1,000 bits · 300,000 entries · 0.58 fJ
//! assert!((draw.kinds[0].mean().tables.as_w_f64() - 95.16).abs() < 0.01);
//! ```

mod activity;
mod awake;
mod cable_key;
mod cited;
mod components;
mod cost;
mod draw;
mod inventory;
mod meter;
mod port_kind;
mod price;
mod profile;
pub mod shipped;
mod tables;
mod traffic;

pub use activity::{Activity, ChannelActivity, RateTime, Saving};
pub use cable_key::{CableKey, Make};
pub use cited::{Basis, Certainty, Citation, Cited, Source};
pub use components::Components;
pub use cost::{Cost, CostItem};
pub use draw::{Draw, KindDraw};
pub use inventory::SwitchKind;
pub use port_kind::PortKind;
pub use price::{Electricity, OpticsKey, Price, PriceBook, SwitchKey};
pub use profile::{
    LinkSleep, LowPowerIdle, PacketEnergy, PowerProfile, RateAdaptation, ReducedRate, SwitchPower, TableEnergy,
};
pub use tables::{Entries, TableKind, Tables};
