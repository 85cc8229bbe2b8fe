//! Flow tables at work: the lookup is the routing, so that what is simulated is what would be deployed (Benito et al.
//! 2015, sections III and V).
//!
//! ```text
//!   FlowTables ──compile──► CompiledTables ◄── Trigger: what deactivates rules
//!   of forwarding,          Index: region of dst, share of src ─► chain of choices
//!   switch by switch        ChannelScheme: the channel of each rule's hop
//! ```
//!
//! - [`MinimalTables`] and [`ConditionalTables`] are what a scenario chooses; [`FlowTables`] makes a fabric's tables.
//! - [`CompiledTables`] decides exactly as [`FlowTable::lookup`](etherweave_forwarding::FlowTable::lookup): the highest
//!   rule active; when all that match are inactive, the first, for which the packet waits.
//! - [`LegalHops`] gives all hops that the rules may take, whatever is paused, to the deadlock proofs of
//!   `etherweave-routing`.
//!
//! Left out: time and energy of a lookup, and rules that change during a run.

mod choices;
mod compiler;
mod families;
mod flow_tables;
mod index;
mod legal;
mod params;
mod ranks;
mod trigger;

#[cfg(test)]
mod equality;

pub use choices::Target;
pub(crate) use families::{ConditionalTableRouting, MinimalTableRouting};
pub use flow_tables::{Conditions, FlowTables};
pub use legal::LegalHops;
pub use params::{ConditionalTables, MinimalTables, TableParams};
pub use ranks::{ChannelRule, ChannelScheme, HopPurpose};
pub use trigger::Trigger;

use etherweave_primitives::mix;

use super::{HashScope, InputChannel, NextHop, Routing};
use crate::load_view::LoadView;
use crate::packet::Packet;
use choices::{CompiledRule, CompiledRules, MatchFields};
use index::Index;

/// A routing by the flow tables of all switches.
pub struct CompiledTables {
    index: Index,
    choices: CompiledRules,
    /// By host.
    addresses: Vec<u32>,
    ranks: ChannelScheme,
    trigger: Trigger,
}

impl CompiledTables {
    /// The choice that decides, and whether it is the first that matches.
    #[inline]
    fn choose(&self, chain: u32, seen: MatchFields, is_out: impl Fn(Target) -> bool) -> Option<(&CompiledRule, bool)> {
        let mut matching = self.choices.chain(chain).filter(|choice| choice.matches(seen));
        let in_force = |choice: &&CompiledRule| !choice.watched.is_some_and(&is_out);
        let default = matching.next()?;
        if in_force(&default) {
            return Some((default, true));
        }
        Some(matching.find(in_force).map_or((default, true), |alternative| (alternative, false)))
    }

    /// What the compiled tables take [bytes].
    pub fn bytes(&self) -> usize {
        self.index.bytes() + self.choices.bytes() + 4 * self.addresses.len()
    }
}

impl Routing for CompiledTables {
    fn channels(&self) -> u8 {
        self.ranks.channels()
    }

    /// A switch distinguishes packets by what it matches: among the ports of a rule it hashes by flow.
    fn hash_scope(&self) -> HashScope {
        HashScope::PerFlow
    }

    /// Writes the destination's address into the packet, as a host does.
    fn start(&self, packet: &mut Packet) {
        let address = self.addresses[packet.dst as usize];
        packet.route_state = [address as u16, (address >> 16) as u16];
    }

    fn decide(&self, at: InputChannel, packet: &mut Packet, load: LoadView<'_>) -> NextHop {
        let dst = u32::from(packet.route_state[0]) | u32::from(packet.route_state[1]) << 16;
        let chain = self.index.chain(at.switch, dst, || self.addresses[packet.src as usize]);
        let is_out = |watched: Target| self.trigger.is_inactive(load, watched.port, watched.rank.channel(at));
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
