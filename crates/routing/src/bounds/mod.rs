//! Bound on the load that a fabric accepts, without a run: expected loads of all channels, and the one that is full
//! first.
//!
//! ```text
//!   pattern ──► shares of destinations ─┐
//!                                       ├─► flows between switches ──► load of every channel ──► bound
//!   oblivious routing ──► shares of hops┘
//! ```
//!
//! The *load* of a channel is what it would carry, as a share of what it can, if every host that sends wanted as much
//! as its link takes: γ of Dally and Towles, *Principles and Practices of Interconnection Networks*, 2004, section
//! 3.3.1. At an offered load of 1/γ of the most loaded channel that one is full (equation 3.3): above it the fabric
//! cannot deliver what the pattern demands, whatever its buffers and arbiters.
//!
//! Guarantees: loads are sums of exact shares in an order that depends on the fabric only; hashes count as fair.
//!
//! Left out: routings that look at queues. They have no expected loads, and no bound is claimed for them.

mod channel_loads;
mod demand;
mod first_legs;
mod groups;
mod path_shares;
mod walk;

pub use channel_loads::{Bound, ChannelLoads, ClassLoad};
pub use groups::host_groups;
pub use path_shares::PathShares;

use etherweave_primitives::{InputError, Time};
use etherweave_topology::Topology;
use etherweave_workload::Pattern;

use crate::PacketRouting;

/// Returns the bound on the load of a pattern that a fabric accepts; `seed` is the run's. Absent where there is none:
/// the routing looks at queues or the clock, the pattern changes with time or is silent, or more than 4,096 switches
/// have hosts. `rates` are those of channels, in any unit; empty: all are alike.
///
/// # Errors
/// When the pattern does not fit the fabric.
pub fn bound(
    topology: &Topology,
    rates: &[f64],
    routing: &impl PacketRouting,
    pattern: &Pattern,
    seed: u64,
) -> Result<Option<Bound>, InputError> {
    let destinations = pattern.plan(&host_groups(topology)?, seed).map_err(|error| error.within("pattern"))?;
    let (Some(routing), false) = (routing.oblivious(), pattern.changes()) else {
        return Ok(None);
    };
    let loads = ChannelLoads::new(topology, rates, routing, &destinations, Time::ZERO);
    Ok(loads.ok().and_then(|loads| loads.bound()))
}
