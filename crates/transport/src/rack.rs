//! Loss detection by time (RACK: RFC 8985, section 6).
//!
//! A packet is lost when one that was sent after it has arrived, and a round trip and the *reordering window* have
//! passed since it was sent. Names of the RFC in brackets.

use std::collections::VecDeque;

use etherweave_primitives::{Duration, Time};

use super::ranges::{ByteRange, address};
use super::state_word::{from_now, joined, maybe_from_now};

/// Data that was sent at once, with what its owner notes of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission<N> {
    pub(super) sent: Time,
    pub(super) range: ByteRange,
    pub(super) note: N,
}

/// The latest sent of what has arrived: when it was sent, its last byte, and its round trip (`RACK.xmit_ts`,
/// `RACK.end_seq`, `RACK.rtt`).
pub(super) type Newest = (Time, u64, Duration);

#[derive(Clone, Debug)]
pub(super) struct Rack<N> {
    /// Transmissions in the network or in doubt, in the order of sending; what has arrived leaves at the front.
    transmissions: VecDeque<Transmission<N>>,
    /// When the latest sent of what has arrived was sent, and its last byte (`RACK.xmit_ts`, `RACK.end_seq`).
    newest: (Time, u64),
    /// Its round trip (`RACK.rtt`).
    newest_round_trip: Duration,
    /// Least round trip (`RACK.min_RTT`).
    round_trip_min: Duration,
    /// The reordering window in quarters of the least round trip (`RACK.reo_wnd_mult`).
    reordering_quarters: u64,
    /// The window grows once per round trip: again when this is acknowledged [offset] (`RACK.dsack_round`).
    grows_from: u64,
    /// When the oldest packet in doubt counts as lost.
    loss_at: Option<Time>,
}

impl<N: Copy> Rack<N> {
    /// Creates a state with nothing sent. The least round trip begins at `round_trip_max`.
    pub(super) fn new(round_trip_max: Duration) -> Rack<N> {
        Rack {
            transmissions: VecDeque::new(),
            newest: (Time::ZERO, 0),
            newest_round_trip: Duration::ZERO,
            round_trip_min: round_trip_max,
            reordering_quarters: 1,
            grows_from: 0,
            loss_at: None,
        }
    }

    /// State that decides what it will do, where all below `acknowledged` is; `note` makes words of notes.
    pub(super) fn word(&self, now: Time, acknowledged: u64, note: impl Fn(&N) -> u64) -> u64 {
        let &Rack {
            ref transmissions,
            newest: (newest_sent, newest_end),
            newest_round_trip,
            round_trip_min,
            reordering_quarters,
            grows_from,
            loss_at,
        } = self;
        let waiting = transmissions.iter().flat_map(|own| {
            let &Transmission { sent, range, note: ref noted } = own;
            [from_now(now, sent), range.word(acknowledged), note(noted)]
        });
        // What is sent from now on is newer.
        let newest = if transmissions.is_empty() { 0 } else { from_now(now, newest_sent) };
        let end = if newest == 0 { 0 } else { newest_end.saturating_sub(acknowledged) };
        let grows = grows_from.saturating_sub(acknowledged);
        let times = [newest_round_trip, round_trip_min].map(Duration::as_ps);
        let own = [newest, end, reordering_quarters, grows, maybe_from_now(now, loss_at)];
        joined(own.into_iter().chain(times).chain(waiting))
    }

    /// Addresses of the oldest transmission and the newest, null where there is none.
    pub(super) fn addresses(&self) -> [*const u8; 2] {
        [self.transmissions.front(), self.transmissions.back()].map(address)
    }

    pub(super) fn sent(&mut self, sent: Time, range: ByteRange, note: N) {
        self.transmissions.push_back(Transmission { sent, range, note });
    }

    /// Takes a transmission that has arrived, up to `end` (section 6.2, steps 1 and 2).
    pub(super) fn arrived(&mut self, now: Time, sent: Time, end: u64) {
        let round_trip = now.since(sent);
        self.round_trip_min = self.round_trip_min.min(round_trip);
        if (sent, end) >= self.newest {
            self.newest = (sent, end);
            self.newest_round_trip = round_trip;
        }
    }

    /// Takes the report of a packet that has arrived twice: the window was too narrow (step 4).
    pub(super) fn duplicate(&mut self, acknowledged: u64, next: u64) {
        if acknowledged >= self.grows_from {
            self.reordering_quarters += 1;
            self.grows_from = next;
        }
    }

    /// How much later than a packet sent after it a packet may arrive (step 4).
    pub(super) fn reordering_window(&self, smoothed: Option<Duration>) -> Duration {
        let window = self.round_trip_min * self.reordering_quarters / 4;
        smoothed.map_or(window, |smoothed| window.min(smoothed))
    }

    /// Judges by time (step 5): calls `lose` with what is lost by now.
    pub(super) fn find_losses(
        &mut self,
        now: Time,
        window: Duration,
        has_arrived: impl Fn(ByteRange) -> bool,
        mut lose: impl FnMut(ByteRange),
    ) {
        let patience = self.newest_round_trip + window;
        self.loss_at = None;
        while let Some(&Transmission { sent, range, .. }) = self.transmissions.front() {
            if !has_arrived(range) {
                let doubtful = self.doubtful(sent, range);
                if doubtful.is_empty() {
                    return;
                }
                if sent + patience > now {
                    self.loss_at = Some(sent + patience);
                    return;
                }
                lose(doubtful);
                if doubtful.end < range.end {
                    self.transmissions[0].range.start = doubtful.end;
                    return;
                }
            }
            self.transmissions.pop_front();
        }
    }

    /// The part of a transmission that something which has arrived was sent after.
    fn doubtful(&self, sent: Time, range: ByteRange) -> ByteRange {
        let end = match sent.cmp(&self.newest.0) {
            std::cmp::Ordering::Less => range.end,
            std::cmp::Ordering::Equal => range.end.min(self.newest.1),
            std::cmp::Ordering::Greater => range.start,
        };
        ByteRange::new(range.start, end)
    }

    /// When [`Rack::find_losses`] is due again, if nothing happens before.
    pub(super) fn loss_at(&self) -> Option<Time> {
        self.loss_at
    }

    /// Least round trip so far.
    pub(super) fn round_trip_min(&self) -> Duration {
        self.round_trip_min
    }

    /// When the latest sent of what has arrived was sent, and its last byte.
    pub(super) fn newest(&self) -> (Time, u64) {
        self.newest
    }

    /// Returns the transmissions, oldest first.
    pub(super) fn transmissions(&self) -> &VecDeque<Transmission<N>> {
        &self.transmissions
    }

    /// Takes the oldest transmission out.
    pub(super) fn pop_oldest(&mut self) -> Option<Transmission<N>> {
        self.transmissions.pop_front()
    }

    /// Takes out what was sent last and has not arrived, and all that was sent after it.
    pub(super) fn pop_last_missing(&mut self, has_arrived: impl Fn(ByteRange) -> bool) -> Option<ByteRange> {
        while let Some(Transmission { range, .. }) = self.transmissions.pop_back() {
            if !has_arrived(range) {
                return Some(range);
            }
        }
        None
    }

    /// Removes arrived transmissions from the front of the list, up to the oldest one that has not arrived.
    pub(super) fn forget_arrived(&mut self, has_arrived: impl Fn(ByteRange) -> bool) {
        while self.transmissions.front().is_some_and(|oldest| has_arrived(oldest.range)) {
            self.transmissions.pop_front();
        }
    }

    /// Takes out all that went out.
    pub(super) fn take(&mut self) -> VecDeque<Transmission<N>> {
        self.loss_at = None;
        std::mem::take(&mut self.transmissions)
    }

    /// State that [`Rack::restore_newest`] puts back.
    pub(super) fn newest_arrival(&self) -> Newest {
        (self.newest.0, self.newest.1, self.newest_round_trip)
    }

    /// Forgets what has arrived since.
    pub(super) fn restore_newest(&mut self, (sent, end, round_trip): Newest) {
        self.newest = (sent, end);
        self.newest_round_trip = round_trip;
    }

    /// Takes out transmissions that are not to be judged.
    pub(super) fn retain(&mut self, is_judged: impl Fn(&Transmission<N>) -> bool) {
        self.transmissions.retain(is_judged);
    }

    /// Puts back what went out before all others.
    pub(super) fn put_before(&mut self, earlier: impl DoubleEndedIterator<Item = Transmission<N>>) {
        earlier.rev().for_each(|transmission| self.transmissions.push_front(transmission));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Packets of 10 B sent 1 us apart. The one sent at `arrived` is there at `now`: what is lost, and when to look
    /// again.
    fn judged(packets: u64, arrived: u64, now: u64, window: u64) -> (Vec<u64>, Option<Time>) {
        let mut rack = Rack::new(Duration::from_us(1_000));
        (0..packets).for_each(|number| rack.sent(at(number), ByteRange::new(10 * number, 10 * number + 10), ()));
        rack.arrived(at(now), at(arrived), 10 * arrived + 10);
        let mut lost = Vec::new();
        let has_arrived = |range: ByteRange| range.start == 10 * arrived;
        rack.find_losses(at(now), Duration::from_us(window), has_arrived, |range| lost.push(range.start / 10));
        (lost, rack.loss_at())
    }

    #[test]
    fn a_packet_is_lost_a_round_trip_and_the_window_after_it_was_sent() {
        // The third of four is back after 100 us, and a window of 25 us: the first is lost at 0 + 100 + 25.
        assert_eq!(judged(4, 2, 102, 25), (vec![], Some(at(125))));
        assert_eq!(judged(4, 2, 102, 0), (vec![0, 1], None));
    }

    #[test]
    fn what_was_sent_after_all_that_has_arrived_is_not_in_doubt() {
        assert_eq!(judged(4, 0, 500, 0), (vec![], None));
    }

    #[test]
    fn of_what_went_out_at_once_the_bytes_before_those_that_arrived_are_in_doubt() {
        let mut rack = Rack::new(Duration::from_us(1_000));
        rack.sent(at(0), ByteRange::new(0, 100), ());
        rack.arrived(at(50), at(0), 60);
        let mut lost = Vec::new();
        rack.find_losses(at(50), Duration::ZERO, |_| false, |range| lost.push(range));
        assert_eq!(lost, [ByteRange::new(0, 60)]);
        assert_eq!(rack.transmissions()[0].range, ByteRange::new(60, 100));
    }

    /// Once per round trip (`RACK.dsack_round`), up to the smoothed round trip.
    #[test]
    fn the_window_grows_by_a_quarter_of_the_least_round_trip_with_each_duplicate() {
        let mut rack: Rack<()> = Rack::new(Duration::from_us(1_000));
        rack.arrived(at(100), at(0), 10);
        let window = |rack: &Rack<()>| rack.reordering_window(Some(Duration::from_us(60)));
        assert_eq!(window(&rack), Duration::from_us(25));
        rack.duplicate(10, 40);
        rack.duplicate(30, 50);
        assert_eq!(window(&rack), Duration::from_us(50));
        rack.duplicate(40, 90);
        assert_eq!(window(&rack), Duration::from_us(60));
    }
}
