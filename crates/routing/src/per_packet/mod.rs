//! Routing packet by packet: each switch decides for each packet, from where it is, what it carries and, if the routing
//! is adaptive, the load that the switch sees.
//!
//! - [`PacketRouting`] is the decision; [`RoutingKind`](crate::RoutingKind) lists the members and makes them for a
//!   fabric.
//! - [`LoadView`] is all that a decision may see of queues. Every simulation implements it for its switches.
//! - [`RoutedPacket`] is what a packet carries for its routing.
//! - [`tables`]: the lookup of deployed flow tables is a routing like the others.
//!
//! Adding a routing is one file in `../kind` and its lines in `../kind.rs`.

pub(crate) mod butterfly;
mod caller;
#[cfg(debug_assertions)]
mod checked;
pub(crate) mod choice;
pub(crate) mod clos;
mod divisor;
pub(crate) mod dragonfly;
mod fabric;
pub(crate) mod grid;
mod hops;
mod load;
mod oblivious;
mod packet;
pub mod tables;
mod traffic;

pub use butterfly::ButterflyPlan;
pub use caller::{
    AskingPacket, ByCaller, CallerPortChoice, PortChoice, PortChoiceStart, PortChooser, QueuedPort, check_replaced,
};
#[cfg(debug_assertions)]
pub(crate) use checked::Checked;
pub use clos::ClosPlan;
pub(crate) use divisor::Divisor;
pub use dragonfly::DragonflyPlan;
pub use fabric::{FabricOf, Outage, TableSource};
pub use grid::GridPlan;
pub use hops::hops_max;
#[cfg(test)]
pub(crate) use load::Idle;
pub use load::{FullPorts, LoadView, NoLoad};
pub use oblivious::{Oblivious, WalkTarget};
pub use packet::RoutedPacket;
pub use traffic::{KnownTraffic, MeasuredGroups};

use etherweave_topology::{LinkClass, Topology};

use etherweave_primitives::InputError;
use tables::Trigger;

/// Where everything is on one kind of fabric: what routings for it have in common.
pub trait FabricPlan: Sized {
    /// The kind of fabric in words: "a complete dragonfly".
    const FABRIC: &'static str;

    /// # Errors
    /// When the fabric is not of this kind.
    fn of(topology: &Topology) -> Result<Self, InputError>;
}

/// Basis of a routing on a fabric: a plan, or tables.
pub(crate) trait RoutingBasis: Sized {
    const FABRIC: &'static str;

    /// # Errors
    /// When the fabric is not of this kind.
    fn of(fabric: FabricOf<'_>) -> Result<Self, InputError>;

    /// Whether the fabric is of this kind.
    fn suits(fabric: FabricOf<'_>) -> bool {
        Self::of(fabric).is_ok()
    }
}

impl<P: FabricPlan> RoutingBasis for P {
    const FABRIC: &'static str = P::FABRIC;

    fn of(fabric: FabricOf<'_>) -> Result<P, InputError> {
        P::of(fabric.topology)
    }
}

/// The error of a plan for a fabric that is not of its kind.
pub(crate) fn unsuited(mistake: String, expected: &str) -> InputError {
    InputError::new("topology", mistake, expected)
}

/// Where a packet stands when it asks.
#[derive(Clone, Copy, Debug)]
pub struct InputChannel {
    /// The switch.
    pub switch: u32,
    /// The port by which it arrived.
    pub port: u8,
    /// The virtual channel by which it arrived; 0 from a host.
    pub channel: u8,
    /// The class of the link by which it arrived.
    pub class: LinkClass,
}

/// Next hop of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The port it leaves by.
    pub port: u8,
    /// The virtual channel of that port; 0 to a host.
    pub channel: u8,
}

/// A channel of a switch's port to another switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputChannel {
    /// The switch.
    pub switch: u32,
    /// Its port.
    pub port: u8,
    /// The virtual channel of that port.
    pub channel: u8,
    /// The class of the port's link.
    pub class: LinkClass,
}

/// A global port is saturated when channel 0 holds more than `mean_percent` of the mean over the switch's global ports,
/// and `packets` more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// Share of the mean occupancy [percent].
    pub mean_percent: u32,
    /// Packets above it.
    pub packets: u32,
}

/// Switches whose queues another one sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbourhood {
    /// None but its own.
    None,
    /// Those at global ports of the switches at the far ends of its local links: of its group.
    Group,
    /// Those at ports to switches, of all switches that it has a link to.
    Adjacent,
    /// Those at ports to switches, of all switches.
    Fabric,
}

/// Switches of a packet's path at which decisions look at loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadScope {
    /// None: the packet and the fabric decide.
    NoSwitch,
    /// The first, which may know loads of others.
    FirstSwitch,
    /// All, as far as the routing says.
    EverySwitch,
}

/// How long packets keep their [hash](RoutedPacket::hash).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashScope {
    /// Every packet draws its own.
    PerPacket,
    /// All packets of a host to another have the same.
    PerFlow,
    /// Packets of a host to another have the same until there was none for a while.
    PerFlowlet {
        /// How long a gap without a packet starts another flowlet [ns].
        gap_ns: u32,
    },
}

/// A routing: asked once for every packet at every switch, when the packet is the first of its queue.
pub trait PacketRouting: Send + Sync + 'static {
    /// Virtual channels of every port that its paths need, at least 1.
    fn channels(&self) -> u8;

    /// Where a channel stands in the order in which packets use channels: every packet goes from one between switches
    /// to one of a higher rank, whatever it sees of queues. So no channel can wait for itself, on fabrics of any size.
    /// Debug builds check this at every decision. None where the order follows from more than the channel.
    fn rank(&self, out: OutputChannel) -> Option<u32>;

    /// Links between switches on the longest path. Absent, the default: as many as there are ranks.
    fn links_max(&self) -> Option<u32> {
        None
    }

    /// How long packets keep their hash. By default every packet draws its own.
    fn hash_scope(&self) -> HashScope {
        HashScope::PerPacket
    }

    /// Returns the rule that marks a global port as saturated, when the routing asks for it.
    fn saturation(&self) -> Option<Saturation> {
        None
    }

    /// Other switches whose loads decisions need. By default none.
    fn neighbourhood(&self) -> Neighbourhood {
        Neighbourhood::None
    }

    /// Whether decisions need what hosts will send, which it [learns](PacketRouting::learn). By default not.
    fn knows_traffic(&self) -> bool {
        false
    }

    /// Whether a class of the caller decides, which sees packets alone. By default not.
    fn is_of_caller(&self) -> bool {
        false
    }

    /// Condition that deactivates its conditional rules. By default it has none.
    fn trigger(&self) -> Option<Trigger> {
        None
    }

    /// Groups of hosts between which a simulation measures traffic for it, where it has not learnt what hosts will
    /// send. By default none.
    fn measures(&self) -> Option<MeasuredGroups> {
        None
    }

    /// The routing as one that looks at no queue, when it is: then expected loads can be computed without a run. By
    /// default none.
    fn oblivious(&self) -> Option<&dyn Oblivious> {
        None
    }

    /// Switches at which decisions look at loads. By default none of an oblivious routing, otherwise all.
    #[inline]
    fn load_scope(&self) -> LoadScope {
        if self.oblivious().is_some() { LoadScope::NoSwitch } else { LoadScope::EverySwitch }
    }

    /// The flow tables by which it decides, if it does so by tables.
    fn tables(&self) -> Option<&tables::CompiledTables> {
        None
    }

    /// Takes note of what hosts will send, before the run: for routings with an external controller, which ask for it.
    /// By default nothing.
    ///
    /// # Errors
    /// Those of `traffic`.
    fn learn(&mut self, _traffic: impl FnOnce() -> Result<KnownTraffic, InputError>) -> Result<(), InputError> {
        Ok(())
    }

    /// Takes note that ports have fewer priorities than it has channels, the last of which share one: what is known
    /// of the channel by which a packet came is its priority. By default nothing.
    fn share_priorities(&mut self, _priorities: u8) {}

    /// Writes down what later decisions need, when the packet is made. By default nothing.
    fn start(&self, _packet: &mut RoutedPacket) {}

    /// Says where a packet goes, from its place and a view of the switch's load.
    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop;
}
