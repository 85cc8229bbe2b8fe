//! HPCC, the window of a connection (Y. Li et al., SIGCOMM 2019, algorithm 1). All in integers: shares of a link's
//! capacity in units of 2^-20.

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, Time, params};

use super::roce::{CongestionControl, FreshConnection, Progress, SenderControl};
use super::state_word::{from_now, joined};
use super::telemetry::{PathTelemetry, PortTelemetry, SWITCHES_MAX};
use crate::params::{check_timer, require_within};

/// A share of 1.
const ONE: u64 = 1 << 20;

params! {
    /// A window for each connection, and a rate by it, from what switches report of their links in every packet.
    /// Defaults are those of the paper, sections 3.3 and 5.1.
    pub struct Hpcc {
        /// Round trip of an empty network, or a little more (`T`), the same for all connections.
        pub base_round_trip: Duration = Duration::from_us(13),
        /// Share of a link's capacity that connections aim at [%] (`eta`).
        pub utilisation: u32 = 95,
        /// Round trips of additive increase before the window follows the links again (`maxStage`).
        pub stages_max: u32 = 5,
        /// Bytes that each update adds to the window (`W_AI`).
        pub additive_increase: Bytes = Bytes::new(80),
        /// Switches for which packets have room, 8 B each and 2 B: 1 to 8. Switches beyond them report nothing.
        pub switches: u8 = 5,
    }
}

/// The window of one connection, and the rate by it.
#[derive(Clone, Debug)]
pub struct LinkWindow {
    params: Hpcc,
    /// `W` [B].
    window: u64,
    /// Most of it: what the line carries in a round trip.
    window_max: u64,
    /// `W_c`, from which `W` is computed for a round trip [B].
    reference: u64,
    /// Smoothed bytes in flight over the fullest link, as a share of what it carries in a round trip (`U`) [2^-20].
    in_flight: u64,
    /// Round trips of additive increase (`incStage`).
    stage: u32,
    /// An acknowledgement beyond it moves the reference (`lastUpdateSeq`) [offset].
    update_after: u64,
    /// Telemetry that came with the acknowledgement before (`L`).
    last: PathTelemetry,
    /// The next packet leaves no earlier.
    paced_until: Time,
}

impl LinkWindow {
    /// Opens with what a NIC of `rate` sends in a round trip, or `window` if that is less [B].
    pub fn new(params: &Hpcc, rate: BitRate, window: u64) -> LinkWindow {
        let window = rate.bytes_in(params.base_round_trip).get().min(window);
        LinkWindow {
            params: params.clone(),
            window,
            window_max: window,
            reference: window,
            in_flight: ONE,
            stage: 0,
            update_after: 0,
            last: PathTelemetry::default(),
            paced_until: Time::ZERO,
        }
    }

    /// Returns the bytes that may be unacknowledged [B].
    pub fn bytes(&self) -> u64 {
        self.window
    }

    /// A window per round trip (`R`).
    pub fn rate(&self) -> BitRate {
        let picoseconds = u128::from(self.params.base_round_trip.as_ps());
        BitRate::from_bps((u128::from(self.window) * 8_000_000_000_000 / picoseconds) as u64)
    }

    /// Returns the load of the fullest link (`MeasureInflight`): what is in flight as a share of what it carries in a
    /// round trip, and since when it is measured. None of another path than before, or of the same packet once more.
    fn fullest_link(&self, path: &PathTelemetry) -> Option<(u64, Duration)> {
        let (before, now) = (self.last.ports(), path.ports());
        let is_after =
            |(before, now): (&PortTelemetry, &PortTelemetry)| before.port == now.port && before.time < now.time;
        if before.len() != now.len() || !before.iter().zip(now).all(is_after) {
            return None;
        }
        let shares = before.iter().zip(now).map(|(before, now)| self.share(before, now));
        // The first of equal ones, as in the paper.
        shares.rev().max_by_key(|&(share, _)| share)
    }

    /// `u'` = min(qLen) / (B T) + txRate / B, and the span of txRate.
    fn share(&self, before: &PortTelemetry, now: &PortTelemetry) -> (u64, Duration) {
        let span = now.time.since(before.time);
        let capacity = |span: Duration| u128::from(now.rate.as_bps()) * u128::from(span.as_ps()) / 8_000_000_000_000;
        let of = |bytes: u64, span| u128::from(bytes) * u128::from(ONE) / capacity(span).max(1);
        let queued = of(before.queued.min(now.queued).into(), self.params.base_round_trip);
        ((queued + of(now.sent - before.sent, span)) as u64, span)
    }

    /// `U` = (1 - τ / T) U + τ / T u, with τ at most T.
    fn smooth(&mut self, share: u64, span: Duration) {
        let round_trip = u128::from(self.params.base_round_trip.as_ps());
        let part = u128::from(span.as_ps()).min(round_trip);
        let sum = (round_trip - part) * u128::from(self.in_flight) + part * u128::from(share);
        self.in_flight = (sum / round_trip) as u64;
    }

    /// `ComputeWind`: the window follows the link where that is full, or after enough round trips of additive increase.
    fn compute(&mut self, is_update: bool) {
        let target = ONE * u64::from(self.params.utilisation) / 100;
        let follows = self.in_flight >= target || self.stage >= self.params.stages_max;
        let base = if follows {
            (u128::from(self.reference) * u128::from(target) / u128::from(self.in_flight.max(1))) as u64
        } else {
            self.reference
        };
        self.window = (base + self.params.additive_increase.get()).min(self.window_max);
        if is_update {
            self.stage = if follows { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }
}

impl CongestionControl for LinkWindow {
    type Params = Hpcc;

    fn check(hpcc: &Hpcc) -> Result<(), InputError> {
        check_timer("base_round_trip", hpcc.base_round_trip)?;
        require_within(1..=100, "utilisation", hpcc.utilisation)?;
        require_within(1..=1_000_000, "stages_max", hpcc.stages_max)?;
        require_within(Bytes::new(1)..=Bytes::new(1 << 30), "additive_increase", hpcc.additive_increase)?;
        require_within(1..=SWITCHES_MAX as u8, "switches", hpcc.switches)
    }

    fn telemetry_switches(hpcc: &Hpcc) -> u8 {
        hpcc.switches
    }

    fn link_share_max(hpcc: &Hpcc) -> f64 {
        f64::from(hpcc.utilisation) / 100.0
    }

    fn start(hpcc: &Hpcc, connection: &FreshConnection) -> LinkWindow {
        LinkWindow::new(hpcc, connection.rate, connection.window)
    }
}

impl SenderControl for LinkWindow {
    fn window(&self) -> Option<u64> {
        Some(self.bytes())
    }

    fn rate_at(&self, _now: Time) -> Option<BitRate> {
        Some(self.rate())
    }

    /// The next packet waits where the rate is below the line's.
    fn sent(&mut self, now: Time, wire: u32) -> bool {
        if self.window >= self.window_max {
            return false;
        }
        self.paced_until = now + self.rate().serialization_time(Bytes::new(wire.into()));
        true
    }

    fn repeatable_state(&self, now: Time, progress: Progress) -> Option<u64> {
        let &LinkWindow {
            params: _,
            window,
            window_max: _,
            reference,
            in_flight,
            stage,
            update_after,
            ref last,
            paced_until,
        } = self;
        let updates = (update_after + 1).saturating_sub(progress.acknowledged);
        let ports = last.ports().iter().flat_map(|&PortTelemetry { time, sent: _, queued, port, rate }| {
            // What the port has sent since is in arrivals, as far back as times repeat.
            [from_now(now, time), queued.into(), port.into(), rate.as_bps()]
        });
        let own = [window, reference, in_flight, stage.into(), updates, paced_until.since(now).as_ps()];
        Some(joined(own.into_iter().chain(ports)))
    }

    fn next_at(&self) -> Time {
        self.paced_until
    }

    fn measured(&mut self, path: &PathTelemetry, acknowledged: u64, next: u64) {
        let is_update = acknowledged > self.update_after;
        if let Some((share, span)) = self.fullest_link(path) {
            self.smooth(share, span);
            self.compute(is_update);
        }
        if is_update {
            self.update_after = next;
        }
        self.last = *path;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 Gb/s and 8 us: 100 kB in a round trip.
    const RATE: BitRate = BitRate::from_gbps(100);
    const TRIP: Duration = Duration::from_us(8);
    const TRIP_BYTES: u64 = 100_000;

    fn window() -> LinkWindow {
        let params = Hpcc { base_round_trip: TRIP, additive_increase: Bytes::new(80), ..Hpcc::default() };
        LinkWindow::new(&params, RATE, 1 << 20)
    }

    /// One port: so many bytes sent until a time, and queued then.
    fn path(us: u64, sent: u64, queued: u32) -> PathTelemetry {
        let mut path = PathTelemetry::default();
        let time = Time::ZERO + Duration::from_us(us);
        path.push(PortTelemetry { time, sent, queued, port: 1, rate: RATE }, 5);
        path
    }

    fn near(value: u64, expected: f64) {
        assert!((value as f64 / expected - 1.0).abs() < 1e-3, "{value}, {expected}");
    }

    #[test]
    fn it_opens_with_what_the_line_carries_in_a_round_trip() {
        assert_eq!((window().bytes(), window().rate()), (TRIP_BYTES, RATE));
        assert_eq!(LinkWindow::new(&Hpcc::default(), RATE, 4_096).bytes(), 4_096);
    }

    /// A link at its capacity with 20 kB in its queue, over a whole round trip: u = 0.2 + 1, W = W_c 0.95 / 1.2 + W_AI.
    /// The queue counts as what it was less of.
    #[test]
    fn a_full_link_shrinks_the_window_by_what_is_in_flight_over_it() {
        let mut hpcc = window();
        hpcc.measured(&path(0, 0, 20_000), 1, 10);
        assert_eq!(hpcc.bytes(), TRIP_BYTES);
        hpcc.measured(&path(8, TRIP_BYTES, 30_000), 20, 40);
        near(hpcc.bytes(), TRIP_BYTES as f64 * 0.95 / 1.2 + 80.0);
    }

    /// τ = 2 us of 8: U = 3/4 + 1/4 (0.2 + 1). Acknowledgements of the same window start from the same reference, so
    /// that they do not multiply what they say.
    #[test]
    fn within_a_round_trip_the_window_follows_from_one_reference() {
        let mut hpcc = window();
        hpcc.measured(&path(0, 0, 20_000), 1, 100);
        let mut in_flight = 1.0;
        for time in 1..=3 {
            hpcc.measured(&path(2 * time, 25_000 * time, 20_000), 1 + time, 100);
            in_flight = 0.75 * in_flight + 0.25 * 1.2;
            near(hpcc.bytes(), TRIP_BYTES as f64 * 0.95 / in_flight + 80.0);
        }
        assert_eq!(hpcc.reference, TRIP_BYTES);
        hpcc.measured(&path(8, 100_000, 20_000), 101, 200);
        assert_eq!(hpcc.reference, hpcc.bytes());
    }

    /// A link that carries half of its capacity: five round trips add W_AI each; then the window grows to 0.95 / 0.5 of
    /// itself, beyond the most that it may be.
    #[test]
    fn after_five_round_trips_of_increase_the_window_follows_a_link_that_has_room() {
        let mut hpcc = window();
        (hpcc.window, hpcc.reference, hpcc.in_flight) = (40_000, 40_000, ONE / 2);
        let sizes: Vec<u64> = (0..8)
            .map(|trip| {
                hpcc.measured(&path(8 * trip, TRIP_BYTES / 2 * trip, 0), 2 * trip + 1, 2 * trip + 2);
                hpcc.bytes()
            })
            .collect();
        assert_eq!(sizes[..6], [40_000, 40_080, 40_160, 40_240, 40_320, 40_400]);
        near(sizes[6], 40_400.0 * 0.95 / 0.5 + 80.0);
        assert_eq!(sizes[7], sizes[6] + 80);
    }

    /// Counts the fuller one of two links; another path says nothing until the next acknowledgement.
    #[test]
    fn the_fullest_link_of_one_path_counts() {
        let two = |us: u64, ports: [u32; 2]| {
            let time = Time::ZERO + Duration::from_us(us);
            let mut path = PathTelemetry::default();
            for (number, share) in ports.into_iter().zip([2, 1]) {
                path.push(PortTelemetry { time, sent: us * 12_500 / share, queued: 0, port: number, rate: RATE }, 5);
            }
            path
        };
        let mut hpcc = window();
        hpcc.measured(&two(0, [1, 2]), 1, 10);
        hpcc.measured(&two(8, [1, 2]), 20, 40);
        near(hpcc.bytes(), TRIP_BYTES as f64 * 0.95 + 80.0);
        let before = hpcc.bytes();
        hpcc.measured(&two(16, [1, 3]), 50, 60);
        assert_eq!(hpcc.bytes(), before);
    }

    /// A tenth of the window at a tenth of the line: a packet of 1 kB takes ten times its 80 ns.
    #[test]
    fn packets_are_paced_by_the_window() {
        let mut hpcc = window();
        assert!(!hpcc.sent(Time::ZERO, 1_000));
        hpcc.window = TRIP_BYTES / 10;
        assert!(hpcc.sent(Time::ZERO, 1_000));
        assert_eq!(hpcc.next_at(), Time::ZERO + Duration::from_ns(800));
    }

    #[test]
    fn switches_beyond_the_room_of_a_packet_write_nothing() {
        let mut path = PathTelemetry::default();
        (0..9).for_each(|port| path.push(PortTelemetry { port, ..PortTelemetry::default() }, 5));
        assert_eq!(path.ports().len(), 5);
    }
}
