//! Counters of parts of a run that are not simulated since others stand for them.

use std::collections::BTreeMap;

use etherweave_engine::{EventTotals, paused::PauseCounters};
use etherweave_kernel::rows;
use etherweave_primitives::{ChannelId, Duration, Time};

use super::{LosslessDrop, part::ReportPart};
use crate::forward::SkipLevel;

rows! {
    /// A part of a run that was not simulated, or that was simulated to learn the error of its prediction.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct SkipRow in (), "skips" {
        /// Start of the part.
        from: Time ["from_ns"];
        /// End of the part.
        until: Time ["until_ns"];
        /// Why it is known: "repeated" or "steady".
        level: SkipLevel ["level" = |row, _| row.level.name()] wire level_number => level_of;
        /// 1 where it lies within long messages, which were shortened, 0 where ranks are in loops.
        is_of_messages: u64 ["is_of_messages"];
        /// Repetitions of the loop that were skipped, or packets of the longest of the messages.
        repetitions: u64 ["repetitions"];
        /// Time of a repetition.
        repetition: Duration ["repetition_ns"];
        /// Events that were not served.
        events: u64 ["events"];
        /// Difference between the time of the repetitions that stand for these and what those before them predicted, as
        /// a share; of a simulated part, between its predicted and its simulated time.
        error: f64 ["error_share"];
        /// Largest error of the time of the part, as a share, where batches of its repetitions take no more and no less
        /// time than those that were compared; 0 of an exact one.
        bound: f64 ["bound_share"];
        /// 1 where it was simulated, to learn the error, 0 where it was skipped.
        is_simulated: u64 ["is_simulated"];
    }
}

pub(crate) struct Repeated {
    /// Counters at its start.
    pub before: ReportPart,
    /// Counters at its end.
    pub after: ReportPart,
    /// Number of its repetitions.
    pub times: u64,
    /// Its start, in time that was simulated.
    pub from: Time,
    /// Length of it.
    pub period: Duration,
}

impl Repeated {
    /// Time of all repetitions.
    pub fn span(&self) -> Duration {
        self.period * self.times
    }

    /// Events of all repetitions.
    pub fn events(&self) -> u64 {
        (self.after.totals.events - self.before.totals.events) * self.times
    }

    /// Packet-hops of all repetitions.
    pub fn hops(&self) -> u64 {
        (self.after.totals.hops - self.before.totals.hops) * self.times
    }

    /// A count at the end of the run.
    fn count(&self, own: &mut u64, before: u64, after: u64) {
        *own += (after - before) * self.times;
    }

    fn time(&self, own: &mut Duration, before: Duration, after: Duration) {
        *own += (after - before) * self.times;
    }

    fn pauses(&self, own: &mut PauseCounters, before: PauseCounters, after: PauseCounters) {
        let count = |own: &mut u32, before: u32, after: u32| {
            *own =
                u64::from(*own).saturating_add(u64::from(after - before) * self.times).try_into().unwrap_or(u32::MAX);
        };
        count(&mut own.xoff, before.xoff, after.xoff);
        count(&mut own.refresh, before.refresh, after.refresh);
        count(&mut own.xon, before.xon, after.xon);
    }

    /// Rows with the counts of rows of one key at both ends.
    fn rows<R, K: Ord>(
        &self,
        rows: &mut [R],
        of: fn(&ReportPart) -> &[R],
        key: fn(&R) -> K,
        add: impl Fn(&mut R, &R, &R),
    ) {
        let by_key = |part| of(part).iter().map(|row| (key(row), row)).collect::<BTreeMap<_, _>>();
        let (before, after) = (by_key(&self.before), by_key(&self.after));
        for row in rows {
            // What was not active in the repetitions has counted nothing in them.
            if let (Some(before), Some(after)) = (before.get(&key(row)), after.get(&key(row))) {
                add(row, before, after);
            }
        }
    }
}

/// Fields that count, with the function that adds to each.
macro_rules! add {
    ($repeated:expr, $own:ident, $before:ident, $after:ident: $($add:ident { $($field:ident),* })*) => {
        $($($repeated.$add(&mut $own.$field, $before.$field, $after.$field);)*)*
    };
}

impl ReportPart {
    /// Adds the counts of the repetitions of a part of the run.
    pub fn repeat(&mut self, repeated: &Repeated) {
        let (own, before, after): (&mut EventTotals, _, _) =
            (&mut self.totals, repeated.before.totals, repeated.after.totals);
        add!(repeated, own, before, after:
            count { delivered, dropped, damaged, lost, hops, events, messages, messages_behind });
        // As many are made as end: at both ends of what is repeated as many are under way, or about as many.
        let ended = |totals: &EventTotals| totals.delivered + totals.dropped + totals.damaged + totals.lost;
        own.created += (ended(&after) - ended(&before)) * repeated.times;
        repeated.rows(
            &mut self.ports,
            |part| &part.ports,
            |(channel, row)| (*channel, row.priority),
            |(_, own), (_, before), (_, after)| {
                add!(repeated, own, before, after:
                    count {
                        tx_packets, tx_bytes, rx_packets, rx_bytes, drops_packets, drops_bytes, rx_out_of_buffer,
                        fcs_errors, fcs_errors_pause, ecn_marked_packets, trimmed_packets
                    }
                    time { tx_pause_duration, rx_pause_duration, credit_wait_duration }
                    pauses { tx_pauses, rx_pauses });
            },
        );
        repeated.rows(
            &mut self.streams,
            |part| &part.streams,
            |(job, row)| (*job, row.stream),
            |(_, own), (_, before), (_, after)| {
                add!(repeated, own, before, after: count { messages, bytes });
            },
        );
        repeated.rows(
            &mut self.flows,
            |part| &part.flows,
            |&(key, _)| key,
            |(_, own), (_, before), (_, after)| {
                add!(repeated, own, before, after:
                    count { bytes, packets, retransmissions, timeouts, out_of_order, naks });
            },
        );
        repeated.move_times(self);
        repeated.rows(
            &mut self.sleeps,
            |part| &part.sleeps,
            |&(channel, _)| channel,
            |(_, own), (_, before), (_, after)| {
                add!(repeated, own, before, after: count { wakes } time { asleep, waited });
            },
        );
        repeated.rows(
            &mut self.learning,
            |part| &part.learning,
            |&(switch, _)| switch,
            |(_, own), (_, before), (_, after)| {
                add!(repeated, own, before, after: count { unlearnt, flooded, copies });
            },
        );
        repeated.rows(
            &mut self.replays,
            |part| &part.replays,
            |&(channel, _)| channel,
            |(_, own), (_, before), (_, after)| {
                add!(repeated, own, before, after: count { frames, replays, given_up, bytes } time { lost });
            },
        );
        repeated.rows(
            &mut self.rates,
            |part| &part.rates,
            |(channel, row)| (*channel, row.rate.to_bits()),
            |(_, own), (_, before), (_, after)| {
                add!(repeated, own, before, after: count { changes } time { time, waited });
            },
        );
        repeated.drops(&mut self.switch_drops, |part| &part.switch_drops);
        repeated.drops(&mut self.nic_drops, |part| &part.nic_drops);
    }
}

impl Repeated {
    /// Moves the times of what has happened, also of what begins behind the repetitions.
    fn move_times(&self, part: &mut ReportPart) {
        for (_, row) in &mut part.streams {
            row.end = self.later(row.end);
        }
        for (_, row) in &mut part.flows {
            (row.recovered, row.acknowledged) = (self.later(row.recovered), self.later(row.acknowledged));
        }
    }

    fn drops(&self, rows: &mut [(ChannelId, LosslessDrop)], of: fn(&ReportPart) -> &[(ChannelId, LosslessDrop)]) {
        let key = |(channel, row): &(ChannelId, LosslessDrop)| (*channel, row.priorities);
        self.rows(rows, of, key, |(_, own), (_, before), (_, after)| {
            add!(self, own, before, after: count { packets, bytes, pauses_damaged, out_of_ring });
        });
    }

    /// A time of the run, as far as it lies in the repeated part or behind it.
    fn later(&self, time: Time) -> Time {
        if time >= self.from { time + self.span() } else { time }
    }
}

fn level_number(level: &SkipLevel) -> u8 {
    *level as u8
}

fn level_of(number: u8) -> SkipLevel {
    SkipLevel::ALL[usize::from(number)]
}
