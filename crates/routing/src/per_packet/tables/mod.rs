//! Compiled flow tables: the lookup of deployed rules as a routing, so that what is simulated is what would be deployed
//! (Benito et al. 2015, sections III and V).
//!
//! ```text
//!   flow tables ──compile──► CompiledTables ◄── Trigger: what deactivates rules
//!   of forwarding,           Index: region of dst, share of src ─► chain of choices
//!   switch by switch         ChannelScheme: the channel of each rule's hop
//! ```
//!
//! - `etherweave-forwarding` makes the tables and compiles them with [`Nodes`] and [`Chains`].
//! - [`CompiledTables`] decides exactly as the tables: the highest rule active; when all that match are inactive, the
//!   first, for which the packet waits.
//! - [`LegalHops`] gives all hops that the rules may take, whatever is paused, to the deadlock proof.
//!
//! Left out: time and energy of a lookup, and rules that change during a run.

mod choices;
mod index;
mod legal;
mod ranks;
mod trigger;

pub use choices::{Chains, RemainingRule, Target};
pub use index::{NOWHERE, Nodes, Side};
pub use legal::LegalHops;
pub use ranks::{ChannelRule, ChannelScheme, HopPurpose};
pub use trigger::{Notification, Trigger};

use etherweave_primitives::{InputError, mix};

use super::{
    FabricOf, HashScope, InputChannel, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket, RoutingBasis,
    TableSource, unsuited,
};
use choices::{CompiledRule, CompiledRules, MatchFields};
use index::Index;

pub(crate) struct MinimalTableRouting(pub CompiledTables);

pub(crate) struct ConditionalTableRouting(pub CompiledTables);

const FABRICS: &str = "a dragonfly, a flattened butterfly, a HyperX or a tree";

impl RoutingBasis for MinimalTableRouting {
    const FABRIC: &'static str = FABRICS;

    fn of(fabric: FabricOf<'_>) -> Result<MinimalTableRouting, InputError> {
        source(fabric)?.minimal().map(MinimalTableRouting)
    }

    fn suits(fabric: FabricOf<'_>) -> bool {
        fabric.tables.is_some_and(TableSource::has_minimal)
    }
}

impl RoutingBasis for ConditionalTableRouting {
    const FABRIC: &'static str = FABRICS;

    fn of(fabric: FabricOf<'_>) -> Result<ConditionalTableRouting, InputError> {
        source(fabric)?.conditional().map(ConditionalTableRouting)
    }

    fn suits(fabric: FabricOf<'_>) -> bool {
        fabric.tables.is_some_and(TableSource::has_conditional)
    }
}

fn source(fabric: FabricOf<'_>) -> Result<&dyn TableSource, InputError> {
    fabric.tables.ok_or_else(|| unsuited("of unknown family".to_owned(), FABRICS))
}

/// A routing by the flow tables of all switches.
pub struct CompiledTables {
    index: Index,
    choices: CompiledRules,
    addresses: Vec<u32>,
    ranks: ChannelScheme,
    trigger: Trigger,
}

impl CompiledTables {
    /// The tables that were compiled into `nodes` and `chains`, switch by switch, with the address of every host.
    pub fn new(
        nodes: Nodes,
        chains: Chains,
        addresses: Vec<u32>,
        ranks: ChannelScheme,
        trigger: Trigger,
    ) -> CompiledTables {
        CompiledTables { index: nodes.index, choices: chains.choices, addresses, ranks, trigger }
    }

    /// Where a packet between two addresses may go that arrived at a switch by `in_port`, while `is_out` says which
    /// watched targets are inactive. None where no rule matches.
    pub fn look_up(
        &self,
        switch: u32,
        [src, dst]: [u32; 2],
        in_port: u8,
        is_out: impl Fn(Target) -> bool,
    ) -> Option<&[Target]> {
        let chain = self.index.chain(switch, dst, || src);
        let chosen = self.choose(chain, MatchFields { dst, in_port }, is_out);
        chosen.map(|(choice, _)| self.choices.targets(choice))
    }

    /// The choice that decides, and whether it leads where the first that matches does.
    #[inline]
    fn choose(&self, chain: u32, seen: MatchFields, is_out: impl Fn(Target) -> bool) -> Option<(&CompiledRule, bool)> {
        let mut matching = self.choices.chain(chain).filter(|choice| choice.matches(seen));
        let in_force = |choice: &&CompiledRule| !choice.watched.is_some_and(&is_out);
        let default = matching.next()?;
        if in_force(&default) {
            return Some((default, true));
        }
        Some(matching.find(in_force).map_or((default, true), |other| (other, other.leads_as(default))))
    }

    /// The port by which a packet from a host to another leaves a switch while all rules are active.
    pub fn default_port(&self, switch: u32, hosts: [u32; 2], in_port: u8) -> u8 {
        let [src, dst] = hosts.map(|host| self.addresses[host as usize]);
        let targets = self.look_up(switch, [src, dst], in_port, |_| false);
        pick(targets.expect("tables that are proved have a rule for every host"), 0, switch).port
    }
}

impl PacketRouting for CompiledTables {
    fn channels(&self) -> u8 {
        self.ranks.channels()
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        self.ranks.order(out)
    }

    fn tables(&self) -> Option<&CompiledTables> {
        Some(self)
    }

    fn trigger(&self) -> Option<Trigger> {
        self.choices.are_watched().then_some(self.trigger)
    }

    /// A switch distinguishes packets by what it matches: among the ports of a rule it hashes by flow.
    fn hash_scope(&self) -> HashScope {
        HashScope::PerFlow
    }

    /// Writes the destination's address into the packet, as a host does.
    fn start(&self, packet: &mut RoutedPacket) {
        let address = self.addresses[packet.dst as usize];
        packet.route_state = [address as u16, (address >> 16) as u16];
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let dst = u32::from(packet.route_state[0]) | u32::from(packet.route_state[1]) << 16;
        let chain = self.index.chain(at.switch, dst, || self.addresses[packet.src as usize]);
        let is_out =
            |watched: Target| self.trigger.is_inactive(load, watched.port, watched.rank.channel(at), packet.dst);
        let decided = self.choose(chain, MatchFields { dst, in_port: at.port }, is_out);
        let (choice, is_default) = decided.expect("tables that are proved have a rule for every host");
        packet.is_misrouted |= !is_default;
        let target = pick(self.choices.targets(choice), packet.hash, at.switch);
        NextHop { port: target.port, channel: target.rank.channel(at) }
    }
}

/// One of the ports of a rule, by a hash of its own at every switch.
#[inline]
fn pick(targets: &[Target], hash: u16, switch: u32) -> Target {
    match targets {
        [only] => *only,
        several => {
            let hash = mix(u64::from(switch) << 16 | u64::from(hash)) >> 32;
            several[((hash * several.len() as u64) >> 32) as usize]
        }
    }
}
