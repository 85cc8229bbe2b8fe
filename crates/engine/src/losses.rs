//! Losses on failing links, and the times at which they were made good.
//!
//! A failing link notes each packet that it loses, a receiver each packet that arrives after it was sent again, in runs
//! with failing links only. They are matched when the run is over. The loss of an acknowledgement is made good when the
//! data arrives again that it was for; one that a later acknowledgement replaces needs nothing.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_kernel::wire;
use etherweave_primitives::Time;

use crate::packet::{Packet, PacketKind};

/// Data that a failing link has lost, or whose acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct LostData {
    /// Number of the connection end that sent the data.
    sender: u32,
    /// Where it ends in the stream [B].
    end: u64,
    /// When it was sent into the link.
    time: Time,
}

impl LostData {
    /// Returns the data of a packet that a link loses at `time`, if it has to do with data.
    pub fn of(packet: &Packet, time: Time) -> Option<LostData> {
        let (sender, end) = match packet.kind {
            PacketKind::Data => (packet.sender, packet.offset + u64::from(packet.payload)),
            // The ends of a connection differ in the last bit.
            PacketKind::Ack => (packet.sender ^ 1, packet.acknowledged),
            PacketKind::Nak => (packet.sender ^ 1, packet.acknowledged + 1),
            PacketKind::Cnp | PacketKind::Announcement => return None,
        };
        Some(LostData { sender, end, time })
    }
}

/// A packet that has arrived after it was sent again.
#[derive(Clone, Copy, Debug)]
pub struct ResentData {
    /// Number of the connection end that sent it.
    sender: u32,
    /// Where it begins and ends in the stream [B].
    begin: u64,
    end: u64,
    time: Time,
}

impl ResentData {
    /// Returns the data of a packet that arrives at `time`.
    pub fn of(packet: &Packet, time: Time) -> ResentData {
        let end = packet.offset + u64::from(packet.payload);
        ResentData { sender: packet.sender, begin: packet.offset, end, time }
    }
}

wire! {
    LostData { sender, end, time }
    ResentData { sender, begin, end, time }
}

/// How the loss of a failure was made good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// Directions of connections that had to send data again.
    pub connections: u64,
    /// When the last of it had arrived again, if all had.
    pub recovered: Option<Time>,
}

/// Data that arrived again, by sender.
pub struct Arrivals {
    /// Data that arrived again, in order of time.
    resent: BTreeMap<u32, Vec<ResentData>>,
    /// Data of each sender that has arrived at all [B].
    received: BTreeMap<u32, u64>,
}

impl Arrivals {
    /// Collects all data that was sent again, and what had arrived of each sender at the end.
    pub fn new(resent: Vec<ResentData>, received: Vec<(u32, u64)>) -> Arrivals {
        let mut by_sender: BTreeMap<u32, Vec<ResentData>> = BTreeMap::new();
        for data in resent {
            by_sender.entry(data.sender).or_default().push(data);
        }
        by_sender.values_mut().for_each(|data| data.sort_by_key(|data| (data.time, data.begin)));
        Arrivals { resent: by_sender, received: received.into_iter().collect() }
    }

    /// When the last byte of what was lost first arrived afterwards, if it did.
    fn arrival(&self, lost: &LostData) -> Option<Time> {
        let resent = self.resent.get(&lost.sender)?;
        let later = &resent[resent.partition_point(|data| data.time <= lost.time)..];
        later.iter().find(|data| data.begin < lost.end && lost.end <= data.end).map(|data| data.time)
    }

    /// Whether what was lost was not missed: a copy, or an acknowledgement that a later one replaced.
    fn was_needless(&self, lost: &LostData) -> bool {
        self.received.get(&lost.sender).is_some_and(|&bytes| bytes >= lost.end)
    }

    /// How losses were made good.
    pub fn recovery<'a>(&self, losses: impl Iterator<Item = &'a LostData>) -> Recovery {
        let (mut senders, mut last, mut is_whole) = (BTreeSet::new(), None, true);
        for lost in losses {
            let arrival = self.arrival(lost);
            if arrival.is_none() && self.was_needless(lost) {
                continue;
            }
            senders.insert(lost.sender);
            is_whole &= arrival.is_some();
            last = last.max(arrival);
        }
        Recovery { connections: senders.len() as u64, recovered: last.filter(|_| is_whole) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ps(ns * 1_000)
    }

    #[test]
    fn a_loss_is_made_good_when_its_last_byte_has_arrived_again() {
        let resent = |sender, begin, end, ns| ResentData { sender, begin, end, time: at(ns) };
        let lost = |sender, end, ns| LostData { sender, end, time: at(ns) };
        let sent_again =
            vec![resent(1, 0, 100, 50), resent(1, 0, 100, 10), resent(1, 100, 250, 60), resent(2, 0, 9, 90)];
        let arrivals = Arrivals::new(sent_again, vec![(1, 250), (2, 9), (3, 500)]);
        let recovery = |losses: &[LostData]| {
            let Recovery { connections, recovered } = arrivals.recovery(losses.iter());
            (connections, recovered)
        };
        // What arrived at 10 ns had been sent before the loss at 20 ns.
        assert_eq!(recovery(&[lost(1, 100, 20)]), (1, Some(at(50))));
        // Packets may be cut anew: 200 is within those from 100 to 250.
        assert_eq!(recovery(&[lost(1, 100, 20), lost(1, 200, 20), lost(2, 9, 70)]), (2, Some(at(90))));
        // Sender 3 needed nothing again, and byte 300 of sender 1 is still missing.
        assert_eq!(recovery(&[lost(3, 400, 20)]), (0, None));
        assert_eq!(recovery(&[lost(1, 100, 20), lost(1, 300, 20)]), (1, None));
    }
}
