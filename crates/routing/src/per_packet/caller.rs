//! Load balancing on a tree by objects of the caller, for exploration.

use std::sync::{Mutex, PoisonError};

use etherweave_primitives::{Brought, InputError, params};
use etherweave_topology::Topology;

use super::choice::bits;
use super::{
    ClosPlan, FabricPlan, HashScope, InputChannel, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket,
};
use crate::RoutingKind;

/// A packet that asks a switch for a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskingPacket {
    /// Host that sent it.
    pub source: u32,
    /// Host that it goes to.
    pub destination: u32,
    /// Random bits, of its own at every switch: by the hash that packets of a flow share as the routing says.
    pub bits: u32,
}

/// A port by which a packet may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPort {
    /// Its number at the switch.
    pub port: u8,
    /// Queue there [B].
    pub queued: u32,
}

/// The choice of a port at one switch.
pub trait PortChoice {
    /// Place of a port among those that lead on, of which there are two or more.
    fn choose(&mut self, now_ns: u64, packet: AskingPacket, ports: &[QueuedPort]) -> usize;
}

/// The choice of a switch.
pub type CallerPortChoice = Box<dyn PortChoice + Send>;
/// Start of the choices of switches, by their number, once the caller has brought it.
pub type PortChoiceStart = Brought<dyn Fn(u32) -> CallerPortChoice + Send + Sync>;

params! {
    /// Choice among the ports of a tree by a class of the caller of the run, on one thread.
    pub struct PortChooser {
        /// Name of the class, which `etherweave.run(scenario, extend={"port_choice": CLASS})` brings in Python.
        pub class: String = String::new(),
        /// Start of its choices, once the caller has brought it.
        #[serde(skip)]
        pub start: PortChoiceStart = PortChoiceStart::default(),
    }
}

/// The choices of all switches of a tree.
pub struct ByCaller {
    plan: ClosPlan,
    hash_scope: HashScope,
    start: PortChoiceStart,
    /// Choice of each switch that has had a packet, by its number.
    choices: Mutex<Vec<Option<CallerPortChoice>>>,
}

impl ByCaller {
    /// Choices in place of those of a routing, whose packets keep their hash for `hash_scope`.
    ///
    /// # Errors
    /// When the fabric or the routing is none of a tree.
    pub fn new(
        topology: &Topology,
        replaced: RoutingKind,
        hash_scope: HashScope,
        start: &PortChoiceStart,
    ) -> Result<ByCaller, InputError> {
        check_replaced(replaced)?;
        let choices = Mutex::new((0..topology.switches()).map(|_| None).collect());
        Ok(ByCaller { plan: ClosPlan::of(topology)?, hash_scope, start: start.clone(), choices })
    }
}

/// Rejects a routing whose choice among ports a class cannot replace.
///
/// # Errors
/// Names the routings whose choice it can replace.
pub fn check_replaced(routing: RoutingKind) -> Result<(), InputError> {
    let is_of_tree = |kind: &RoutingKind| kind.fabrics() == [ClosPlan::FABRIC];
    let known: Vec<&str> = RoutingKind::all().into_iter().filter(is_of_tree).map(RoutingKind::name).collect();
    InputError::unless(
        is_of_tree(&routing),
        "routing",
        routing.name(),
        format!("{} beside port_choice", known.join(", ")),
    )
}

impl PacketRouting for ByCaller {
    fn channels(&self) -> u8 {
        1
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(self.plan.rank(out))
    }

    fn hash_scope(&self) -> HashScope {
        self.hash_scope
    }

    fn is_of_caller(&self) -> bool {
        true
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let ports = self.plan.ports_towards(at.switch, packet.dst);
        if ports.len() == 1 {
            return NextHop { port: ports.start, channel: 0 };
        }
        let queued: Vec<QueuedPort> = ports.map(|port| QueuedPort { port, queued: load.queued(port) }).collect();
        let asking = AskingPacket { source: packet.src, destination: packet.dst, bits: bits(packet) };
        let mut choices = self.choices.lock().unwrap_or_else(PoisonError::into_inner);
        let start = self.start.get().expect("the caller has brought it, which is checked");
        let choice = choices[at.switch as usize].get_or_insert_with(|| start(at.switch));
        let place = choice.choose(load.now_ns(), asking, &queued);
        NextHop { port: queued[place].port, channel: 0 }
    }
}
