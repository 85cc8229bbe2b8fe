//! Selective repeat at the requester: what has arrived, what is lost, and when to look again.
//!
//! Packets that overtake each other are no sign of loss, so loss is found by time (RFC 8985): a packet is lost when one
//! that was sent after it has arrived, and a round trip and the *reordering window* have passed since it was sent. A
//! packet that nothing follows is asked for by a probe, and all by the retransmission timer. Or by that timer alone,
//! where the network loses nothing: there a packet that is late is not lost.

use etherweave_primitives::{Duration, Time};

use super::{SelectiveReport, path_choice::PathChoice};
use crate::{
    ByteRange, params::CompletionOrder, params::RoceParams, rack::Rack, ranges::Ranges, rtt::RoundTrip,
    rtt::TimeoutLimits, state_word::from_now, state_word::joined,
};

/// How far a connection has come, for [`SelectiveRepeat`].
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// All below is acknowledged.
    pub acknowledged: u64,
    /// Next byte never sent.
    pub next: u64,
}

/// Most doublings of the wait for a probe.
const PROBE_DOUBLINGS_MAX: u32 = 2;

/// See the module. Names of RFC 8985 in brackets.
pub(super) struct SelectiveRepeat {
    /// Arrived beyond the cumulative acknowledgement.
    arrived: Ranges,
    /// Lost, and not sent again since.
    lost: Ranges,
    /// Packets in the network or in doubt.
    rack: Rack<()>,
    round_trip: RoundTrip,
    /// When a packet last left or an acknowledgement last arrived.
    active_at: Time,
    /// Whether losses are found by time, not by the retransmission timer alone.
    finds_by_time: bool,
    probe_min: Duration,
    completion_order: CompletionOrder,
    /// Probes since anything was last heard of a packet.
    probes: u32,
    /// Entropy values of packets, where these take several paths.
    paths: Option<Box<PathChoice>>,
    /// When the host will call.
    timer_at: Option<Time>,
}

impl SelectiveRepeat {
    pub(super) fn new(params: &RoceParams) -> SelectiveRepeat {
        let timeout = params.retransmission_timeout;
        SelectiveRepeat {
            arrived: Ranges::default(),
            lost: Ranges::default(),
            rack: Rack::new(timeout),
            round_trip: RoundTrip::new(TimeoutLimits { initial: timeout, min: timeout, max: timeout }),
            active_at: Time::ZERO,
            finds_by_time: params.finds_by_time(),
            probe_min: params.tail_loss_probe_min,
            completion_order: params.completion_order,
            probes: 0,
            paths: PathChoice::new(params),
            timer_at: None,
        }
    }

    /// State that decides what it will do; none where its paths never are the same again.
    pub(super) fn repeatable_state(&self, now: Time, progress: Progress) -> Option<u64> {
        // The timer runs out no later than it has something to do, and does nothing before.
        let &SelectiveRepeat {
            ref arrived,
            ref lost,
            ref rack,
            ref round_trip,
            active_at,
            finds_by_time: _,
            probe_min: _,
            completion_order: _,
            probes,
            ref paths,
            timer_at: _,
        } = self;
        let Progress { acknowledged, next } = progress;
        let active = if next > acknowledged { from_now(now, active_at) } else { 0 };
        let paths = paths.as_ref().map_or(Some(0), |paths| paths.repeatable_state(now, acknowledged))?;
        let ranges = [arrived, lost].map(|ranges| ranges.word(acknowledged));
        let own = [rack.word(now, acknowledged, |()| 0), round_trip.word(), active, probes.into(), paths];
        Some(joined(own.into_iter().chain(ranges)))
    }

    /// Where the next retransmission begins [offset].
    pub(super) fn first_lost(&self) -> Option<u64> {
        self.lost.first().map(|range| range.start)
    }

    /// Memory of ranges and of packets in the network.
    pub(super) fn apart(&self) -> [*const u8; 4] {
        let ([first, last], [oldest, newest]) = (self.arrived.addresses(), self.rack.addresses());
        [first, last, oldest, newest]
    }

    /// Ranges beyond the cumulative acknowledgement, where messages complete in any order.
    pub(super) fn ahead(&self) -> Option<&Ranges> {
        (self.completion_order == CompletionOrder::Any).then_some(&self.arrived)
    }

    /// Notes a packet that goes out, and chooses its entropy value.
    pub(super) fn sent(&mut self, now: Time, range: ByteRange) -> u16 {
        self.lost.remove(range);
        self.rack.sent(now, range, ());
        self.active_at = now;
        self.paths.as_mut().map_or(0, |paths| paths.next(now, range.start))
    }

    /// Takes an acknowledgement. Returns whether anything is newly known to have arrived.
    pub(super) fn on_report(
        &mut self,
        now: Time,
        cumulative: u64,
        report: &SelectiveReport,
        progress: Progress,
    ) -> bool {
        let is_duplicate = report.has_duplicate(cumulative);
        let acknowledged = cumulative.max(progress.acknowledged);
        self.arrived.remove_below(acknowledged);
        self.lost.remove_below(acknowledged);
        let mut fresh = acknowledged - progress.acknowledged;
        for &block in report.blocks.iter().filter(|block| block.start >= acknowledged && block.end <= progress.next) {
            self.lost.remove(block);
            fresh += self.arrived.insert(block);
        }
        if let Some(paths) = &mut self.paths {
            paths.on_report(now, acknowledged, report);
        }
        self.round_trip.sample(now.since(report.sent));
        // What was sent at that time is a single packet, all of which has arrived.
        self.rack.arrived(now, report.sent, 0);
        if is_duplicate && self.probes == 0 {
            self.rack.duplicate(acknowledged, progress.next);
        }
        if fresh > 0 || is_duplicate {
            self.probes = 0;
        }
        self.active_at = now;
        self.find_losses(now, acknowledged);
        fresh > 0
    }

    /// Judges packets lost by time (RFC 8985, section 6.2, step 5).
    fn find_losses(&mut self, now: Time, acknowledged: u64) {
        let SelectiveRepeat { rack, arrived, lost, .. } = self;
        let has_arrived = |range| has_arrived(arrived, range, acknowledged);
        if !self.finds_by_time {
            return rack.forget_arrived(has_arrived);
        }
        let window = rack.reordering_window(self.round_trip.smoothed());
        rack.find_losses(now, window, has_arrived, |range| _ = lost.insert(range));
    }

    /// When [`SelectiveRepeat::on_timer`] should be called next: a loss, a probe, or the retransmission timer.
    fn deadline(&self, timeout_at: Time) -> Time {
        let probe_at = self.probe_wait().map(|wait| self.active_at + wait);
        [self.rack.loss_at(), probe_at].into_iter().flatten().fold(timeout_at, Time::min)
    }

    /// How long after the last event a probe goes out: two round trips (RFC 8985, section 7.2), and twice as long with
    /// each of the first probes that are not answered (after RFC 9002, section 6.2.1), for a probe may be lost as well.
    fn probe_wait(&self) -> Option<Duration> {
        let is_quiet = self.finds_by_time && self.rack.loss_at().is_none() && self.lost.is_empty();
        let smoothed = self.round_trip.smoothed().filter(|_| is_quiet)?;
        Some((smoothed * 2).max(self.probe_min) * (1 << self.probes.min(PROBE_DOUBLINGS_MAX)))
    }

    /// When the host shall call, unless it will call earlier anyway.
    pub(super) fn start_timer(&mut self, now: Time, timeout_at: Time) -> Option<Time> {
        let deadline = self.deadline(timeout_at).max(now);
        let is_new = self.timer_at.is_none_or(|at| deadline < at);
        is_new.then(|| *self.timer_at.insert(deadline))
    }

    /// Whether the host calls as it was last asked to, and not earlier asked.
    pub(super) fn is_called(&mut self, now: Time) -> bool {
        let is_called = self.timer_at == Some(now);
        if is_called {
            self.timer_at = None;
        }
        is_called
    }

    /// Looks for losses, or sends the last packet again when all is quiet and `is_blocked`: the connection has nothing
    /// else to send.
    pub(super) fn on_timer(&mut self, now: Time, acknowledged: u64, is_blocked: bool) {
        if self.rack.loss_at().is_some_and(|at| at <= now) {
            self.find_losses(now, acknowledged);
        }
        if self.probe_wait().is_some_and(|wait| self.active_at + wait <= now) {
            self.active_at = now;
            if is_blocked {
                self.probe(acknowledged);
            }
        }
    }

    fn probe(&mut self, acknowledged: u64) {
        let arrived = &self.arrived;
        if let Some(range) = self.rack.pop_last_missing(|range| has_arrived(arrived, range, acknowledged)) {
            self.lost.insert(range);
            self.probes += 1;
        }
    }

    /// The retransmission timer has expired: all that is not known to have arrived counts as lost.
    pub(super) fn lose_all(&mut self, progress: Progress) {
        self.rack.take();
        self.probes = 0;
        let mut start = progress.acknowledged;
        while start < progress.next {
            let held = self.arrived.at_or_after(start).unwrap_or(ByteRange::new(progress.next, progress.next));
            self.lost.insert(ByteRange::new(start, held.start));
            start = held.end.max(held.start);
        }
    }
}

fn has_arrived(arrived: &Ranges, range: ByteRange, acknowledged: u64) -> bool {
    range.end <= acknowledged || arrived.at_or_after(range.start).is_some_and(|held| held.start <= range.start)
}
