//! Aggregation trees: which switch adds up what.
//!
//! A rank that reduces in the network has a connection to itself, whose packets climb its tree and come back. Of the
//! packets that the children of a switch send for one place in their streams, the last goes on up for all of them, and
//! the others wait in the switch; when it comes back down with the sum, each goes back the way that it came:
//!
//! ```text
//!            root       the last of all turns here, and with it those that wait
//!           ╱    ╲
//!       leaf      leaf  one of each leaf goes up; the others wait until it is back
//!      ╱  │  ╲   ╱  │  ╲
//!     0   1   2 3   4   5
//! ```
//!
//! So every link carries each packet of a vector once in each direction. Where no member behind a link adds to a sum,
//! its packets go up that link without their payload, and come down so where none gets the sum ([`sums`]).

use std::collections::BTreeMap;

use etherweave_primitives::{ChannelId, Duration};

use crate::packet::{Packet, PacketKind, sums};

/// Treatment of a packet by a switch at an entry of its route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeHop {
    /// Forwards it: an acknowledgement.
    None,
    /// Adds it up on its way to the root.
    Up {
        /// Number of the switch's place in the tree.
        place: u32,
        /// Entries from here to that by which it comes down.
        to_down: u32,
    },
    /// Adds it up and turns, as the root does; its place in the tree.
    Root(u32),
    /// Sends it down, with those that wait for it at this place.
    Down(u32),
}

/// The trees of a run.
#[derive(Clone, Debug)]
pub struct AggregationTrees {
    /// Place of the first route of their connections among all.
    pub first_route: u32,
    /// Hops by entry of the routes from there on.
    pub hops: Vec<TreeHop>,
    /// Children of each switch in each of its trees, by place.
    pub children: Vec<u32>,
    /// Time from the last bit of the last packet to the sum.
    pub latency: Duration,
    /// Packets of trees that come up a channel and may wait at its end, where there are any.
    pub waiting_max: BTreeMap<ChannelId, u32>,
    /// Number of the transport of the trees of each job.
    pub transports: BTreeMap<usize, u8>,
}

impl AggregationTrees {
    /// Treatment of a packet by a switch at an entry of the routes.
    #[inline]
    pub fn hop(&self, route: u32) -> TreeHop {
        let place = route.checked_sub(self.first_route).map(|place| place as usize);
        place.and_then(|place| self.hops.get(place)).copied().unwrap_or(TreeHop::None)
    }

    fn owns(&self, packet: &Packet) -> bool {
        packet.route >= self.first_route && packet.kind == PacketKind::Data
    }

    /// Bytes of a packet on its next link, without an outer header there [B on the wire].
    pub fn next_wire(&self, packet: &Packet) -> u32 {
        let (sum, payload) = (packet.acknowledged, packet.payload.next_multiple_of(4));
        match [sums::BARE, sums::BARE_NEXT].map(|bit| self.owns(packet) && sum & bit != 0) {
            [false, true] => packet.wire - payload,
            [true, false] => packet.wire + payload,
            _ => packet.wire,
        }
    }

    /// Notes that a packet is on its next link.
    pub fn leave(&self, packet: &mut Packet) {
        if self.owns(packet) {
            let is_bare = packet.acknowledged & sums::BARE_NEXT != 0;
            packet.acknowledged = packet.acknowledged & !sums::BARE | if is_bare { sums::BARE } else { 0 };
        }
    }
}

/// Says whether nobody for whom a packet goes gets the sum, and whether it leaves the switch without its payload.
pub fn direct(packet: &mut Packet, gives: bool, is_bare: bool) {
    let bit = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
    packet.acknowledged = packet.acknowledged & sums::BARE | bit(gives, sums::GIVES) | bit(is_bare, sums::BARE_NEXT);
}
