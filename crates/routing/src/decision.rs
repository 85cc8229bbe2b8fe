//! The channels that are legal for a packet.

use etherweave_primitives::{ChannelId, HostId, SwitchId};

use crate::ChannelHop;

/// Routing: the channels and hops that are legal.
pub trait Routing: Send + Sync {
    /// Appends the channels that a packet for `dst` may take out of switch `at`, the channels to one next hop side by
    /// side. None when there is no path. Where arrivals matter, those for packets that come from a host.
    fn candidates(&self, at: SwitchId, dst: HostId, out: &mut Vec<ChannelId>);

    /// How many priorities, from 0 on, packets travel with.
    fn priorities(&self) -> u8 {
        1
    }

    /// Appends the hops that a packet for `dst` may take out of switch `at`, where it arrived by a hop or, absent, from
    /// a host; hops to one next switch side by side. By default all candidates, on priority 0.
    fn hops(&self, at: SwitchId, _arrival: Option<ChannelHop>, dst: HostId, out: &mut Vec<ChannelHop>) {
        let mut candidates = Vec::new();
        self.candidates(at, dst, &mut candidates);
        out.extend(candidates.into_iter().map(ChannelHop::first));
    }
}
