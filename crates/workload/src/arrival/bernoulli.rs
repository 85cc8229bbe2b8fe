//! Time in slots, and in each slot the same coin.

use etherweave_primitives::{Geometric, InputError, params};

use super::{FRACTION, HostArrivals, Offered};
use crate::{Share, limits::within};

params! {
    /// A packet in each slot with the same chance (`bernoulli`; Dally and Towles, *Principles and Practices of
    /// Interconnection Networks*, 2004, section 24.2.2). Gaps are whole slots, geometrically distributed.
    pub struct Bernoulli {
        /// Slots in the time of a packet, 1 to 1,000. With 1, a host offers load 1 by a packet in every slot and never
        /// has two at once. A simulator that draws in every cycle has as many as a packet takes cycles: then the chance
        /// is the load divided by that number, and packets may come faster than the link takes them.
        pub slots_per_packet: u32 = 1,
    }
}

#[derive(Clone, Debug)]
pub(super) struct GapPlan {
    /// [2^-16 ps].
    slot: u64,
    empty_slots: Geometric,
}

impl Bernoulli {
    pub(super) fn plan(&self, offered: Offered) -> Result<GapPlan, InputError> {
        within("slots_per_packet", self.slots_per_packet, 1..=1_000)?;
        let slots = u64::from(self.slots_per_packet);
        if offered.packet < slots {
            let mistake = format!("{slots} slots in {}ps", offered.packet);
            return Err(InputError::new("slots_per_packet", mistake, "slots of at least 1ps"));
        }
        let empty_slots = Geometric::new(offered.load.parts(), Share::PARTS * slots);
        Ok(GapPlan { slot: (offered.packet << FRACTION) / slots, empty_slots })
    }
}

impl GapPlan {
    #[inline]
    pub(super) fn gap(&self, host: &mut HostArrivals) -> u128 {
        u128::from(self.slot) * u128::from(self.empty_slots.draw(&mut host.random) + 1)
    }
}
