//! Counts of a shard.

use etherweave_primitives::Time;

/// Counts of a shard. Sums over shards are totals of the run.
#[derive(Clone, Copy, Default, Debug)]
pub struct EventTotals {
    /// Packets made by hosts, acknowledgements included, and copies that switches flood.
    pub created: u64,
    /// Packets that reached their host, and copies that were discarded elsewhere.
    pub delivered: u64,
    /// Packets dropped in switches or full NICs.
    pub dropped: u64,
    /// Packets discarded because of bit errors on a link.
    pub damaged: u64,
    /// Packets lost on links that were down.
    pub lost: u64,
    /// Transmissions: one packet over one link.
    pub hops: u64,
    /// Events served.
    pub events: u64,
    /// Jobs and finite streams that are not finished.
    pub unfinished: u64,
    /// Messages between ranks of different hosts.
    pub posted: u64,
    /// Those that were handed to a connection of RoCE.
    pub messages: u64,
    /// Those of them that waited behind one of at least eight times their length.
    pub messages_behind: u64,
    /// When a job other than one in the background last made progress: new bytes at their receiver, or a task done.
    pub last_progress: Time,
    /// When a job or finite stream last ended.
    pub last_end: Time,
}

etherweave_kernel::wire! {
    EventTotals {
        created, delivered, dropped, damaged, lost, hops, events, unfinished, posted, messages, messages_behind,
        last_progress, last_end
    }
}

impl EventTotals {
    /// The sum over shards.
    pub fn sum<'a>(all: impl Iterator<Item = &'a EventTotals>) -> EventTotals {
        let mut sum = EventTotals::default();
        for totals in all {
            sum.created += totals.created;
            sum.delivered += totals.delivered;
            sum.dropped += totals.dropped;
            sum.damaged += totals.damaged;
            sum.lost += totals.lost;
            sum.hops += totals.hops;
            sum.events += totals.events;
            sum.unfinished += totals.unfinished;
            sum.posted += totals.posted;
            sum.messages += totals.messages;
            sum.messages_behind += totals.messages_behind;
            sum.last_progress = sum.last_progress.max(totals.last_progress);
            sum.last_end = sum.last_end.max(totals.last_end);
        }
        sum
    }
}
