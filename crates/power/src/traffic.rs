//! Power of a switch's buffers, and searches in its tables, for the packets through it.

use etherweave_primitives::{Bytes, Power, SwitchId};
use etherweave_topology::{Topology, reverse};

use crate::{Activity, PacketEnergy, activity::load};

/// Energy goes with bytes, searches go with packets.
#[derive(Default)]
pub(crate) struct SwitchTraffic {
    pub(crate) buffers: Power,
    pub(crate) searches_per_second: f64,
}

impl SwitchTraffic {
    /// Counts packets that arrive as written and looked up, and packets that leave as read. Without an activity every
    /// link is full of the profile's packets.
    pub(crate) fn of(
        topology: &Topology,
        activity: Option<&Activity>,
        packet: &PacketEnergy,
        switch: SwitchId,
    ) -> SwitchTraffic {
        let (size, per_search) = match activity {
            None => (packet.size + packet.gap, packet.size + packet.gap),
            Some(activity) => (packet.size, activity.packet),
        };
        let (mut read, mut written, mut searches) = (0.0, 0.0, 0.0);
        for &channel in topology.out_channels(switch) {
            let rate = topology.channel(channel).rate.as_bps() as f64;
            let packets = |load: f64, bytes: Bytes| load * rate / (8.0 * bytes.get() as f64);
            read += packets(load(activity, channel), size);
            written += packets(load(activity, reverse(channel)), size);
            searches += packets(load(activity, reverse(channel)), per_search);
        }
        let buffers = packet.read.value.at_rate(read) + packet.written.value.at_rate(written);
        SwitchTraffic { buffers, searches_per_second: searches }
    }
}
