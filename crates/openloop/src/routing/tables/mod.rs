//! Flow tables at work: the lookup is the routing, so that what is simulated is what would be deployed (Benito et al.
//! 2015, sections III and V).
//!
//! ```text
//!   FlowTables ──compile──► TableRouting ◄── Trigger: what puts rules out of force
//!   of forwarding,          Index: region of dst, share of src ─► chain of choices
//!   switch by switch        Ranks: the channel of each rule's hop
//! ```
//!
//! - [`MinimalTables`] and [`ConditionalTables`] are what a scenario chooses; [`FlowTables`] makes a fabric's tables.
//! - [`TableRouting`] decides exactly as [`FlowTable::lookup`](etherweave_forwarding::FlowTable::lookup): the highest
//!   rule in force; when all that match are out of force, the first, for which the packet waits.
//! - [`Legal`] tells all that the rules may do, whatever is paused, to the deadlock proofs of `etherweave-routing`.
//!
//! Left out: time and energy of a lookup, and rules that change during a run.

mod choices;
mod compiler;
mod flow_tables;
mod index;
mod legal;
mod params;
mod ranks;
mod trigger;

#[cfg(test)]
mod equality;

pub use choices::Target;
pub use flow_tables::{Conditions, FlowTables};
pub use legal::Legal;
pub use params::{ConditionalTables, MinimalTables, TableParams};
pub(crate) use params::{Conditionally, Minimally};
pub use ranks::{Purpose, Rank, Ranks};
pub use trigger::Trigger;

use etherweave_primitives::mix;

use super::{Hop, Lots, Place, Routing};
use crate::load::Load;
use crate::packet::Packet;
use choices::{Choice, Choices, Seen};
use index::Index;

/// A routing by the flow tables of all switches.
pub struct TableRouting {
    index: Index,
    choices: Choices,
    /// By host.
    addresses: Vec<u32>,
    ranks: Ranks,
    trigger: Trigger,
}

impl TableRouting {
    /// The choice that decides, and whether it is the first that matches.
    #[inline]
    fn choose(&self, chain: u32, seen: Seen, is_out: impl Fn(Target) -> bool) -> Option<(&Choice, bool)> {
        let mut matching = self.choices.chain(chain).filter(|choice| choice.matches(seen));
        let in_force = |choice: &&Choice| !choice.watched.is_some_and(&is_out);
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

impl Routing for TableRouting {
    fn channels(&self) -> u8 {
        self.ranks.channels()
    }

    /// A switch tells packets apart by what it matches: ports that a rule leaves open are hashed by flow.
    fn lots(&self) -> Lots {
        Lots::PerFlow
    }

    /// Writes the destination's address into the packet, as a host does.
    fn start(&self, packet: &mut Packet) {
        let address = self.addresses[packet.dst as usize];
        packet.aim = [address as u16, (address >> 16) as u16];
    }

    fn decide(&self, at: Place, packet: &mut Packet, load: Load<'_>) -> Hop {
        let dst = u32::from(packet.aim[0]) | u32::from(packet.aim[1]) << 16;
        let chain = self.index.chain(at.switch, dst, || self.addresses[packet.src as usize]);
        let is_out = |watched: Target| self.trigger.is_pulled(load, watched.port, watched.rank.channel(at));
        let decided = self.choose(chain, Seen { dst, in_port: at.port }, is_out);
        let (choice, is_default) = decided.expect("tables that are proved have a rule for every host");
        packet.is_detoured |= !is_default;
        let target = pick(self.choices.targets(choice), packet.lot, at.switch);
        Hop { port: target.port, channel: target.rank.channel(at) }
    }
}

/// One of the ports of a rule, by a hash of its own at every switch.
#[inline]
fn pick(targets: &[Target], lot: u16, switch: u32) -> Target {
    match targets {
        [only] => *only,
        several => {
            let hash = mix(u64::from(switch) << 16 | u64::from(lot)) >> 32;
            several[((hash * several.len() as u64) >> 32) as usize]
        }
    }
}
