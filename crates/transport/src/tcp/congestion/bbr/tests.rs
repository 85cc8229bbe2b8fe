use std::collections::VecDeque;

use super::*;

const MSS: u64 = 1_000;
const INITIAL: u64 = 10 * MSS;

/// A path of 10 MB/s with a round trip of 10 ms: it holds 100 kB without a queue.
const RATE: u64 = 10_000_000;
const ROUND_TRIP: Duration = Duration::from_ms(10);
const SEGMENT: Duration = Duration::from_us(100);

/// A sender with endless data over that path.
struct Path {
    bbr: Box<Bbr>,
    window: u64,
    round_trip: Duration,
    now: Time,
    /// The link is busy until then; segments that are out: end, and when the ACK comes.
    free_at: Time,
    out: VecDeque<(u64, Time, Time)>,
    sent_to: u64,
    una: u64,
    queue_max: Duration,
}

impl Path {
    fn new() -> Path {
        Path {
            bbr: Box::new(Bbr::new(INITIAL, MSS)),
            window: INITIAL,
            round_trip: ROUND_TRIP,
            now: Time::ZERO,
            free_at: Time::ZERO,
            out: VecDeque::new(),
            sent_to: 0,
            una: 0,
            queue_max: Duration::ZERO,
        }
    }

    fn in_flight(&self) -> u64 {
        self.sent_to - self.una
    }

    fn may_send(&self) -> bool {
        self.in_flight() + MSS <= self.window
    }

    fn send(&mut self) {
        self.now = self.now.max(self.bbr.release_at);
        let in_flight = self.in_flight();
        self.sent_to += MSS;
        self.bbr.sent(self.now, self.sent_to, MSS, in_flight);
        self.queue_max = self.queue_max.max(self.free_at.since(self.now));
        self.free_at = self.free_at.max(self.now) + SEGMENT;
        self.out.push_back((self.sent_to, self.now, self.free_at + self.round_trip));
    }

    fn acknowledge(&mut self) {
        let (end, sent, at) = self.out.pop_front().unwrap();
        let before = self.in_flight();
        (self.now, self.una) = (self.now.max(at), end);
        let (in_flight, round_trip) = (self.in_flight(), at.since(sent));
        let delivered = Delivered {
            now: self.now,
            bytes: MSS,
            una: end,
            in_flight_before: before,
            in_flight,
            round_trip,
            has_loss: false,
        };
        self.window = self.bbr.on_ack(&delivered, self.window);
    }

    /// Runs for `span`.
    fn run(&mut self, span: Duration) -> &mut Path {
        let until = self.now + span;
        self.queue_max = Duration::ZERO;
        while self.now < until {
            let next_ack = self.out.front().map(|&(_, _, at)| at);
            if self.may_send() && next_ack.is_none_or(|at| self.bbr.release_at <= at) {
                self.send();
            } else {
                self.acknowledge();
            }
        }
        self
    }
}

/// 10 segments in the first round trip, 2.885 times as many in each that follows: 100 kB after 3. Then three round
/// trips without growth, which a queue makes up to three times as long, and a drain.
#[test]
fn startup_finds_the_rate_in_a_few_round_trips_and_drains_its_queue() {
    let mut path = Path::new();
    path.run(ROUND_TRIP * 3);
    assert_eq!(path.bbr.mode, Mode::Startup);
    path.run(ROUND_TRIP * 22);
    assert!(matches!(path.bbr.mode, Mode::ProbeBandwidth { .. }), "{:?}", path.bbr.mode);
    assert!((0.97..1.02).contains(&(path.bbr.rate() as f64 / RATE as f64)), "{}", path.bbr.rate());
}

/// Checks PROBE_BW: the path is full, and the window is twice what it holds and three segments as they are handed down,
/// of 10 kB. A phase of 5 / 4 ends at the ACK by which as much more is out: a queue of about 0.25 + 0.3 round trips.
#[test]
fn the_window_is_twice_what_the_path_holds_and_the_queue_short() {
    let mut path = Path::new();
    path.run(ROUND_TRIP * 200);
    let before = path.una;
    path.run(ROUND_TRIP * 200);
    let share = (path.una - before) as f64 / (RATE * 2) as f64;
    assert!(share > 0.97, "{share}");
    assert!(path.queue_max < ROUND_TRIP * 7 / 10, "{:?}", path.queue_max);
    let expected = 2 * 100_000 + 3 * path.bbr.segment_worth();
    let (least, most) = (expected * 97 / 100, expected * 103 / 100 + 2 * MSS);
    assert!((least..most).contains(&path.window), "{} against {expected}", path.window);
}

/// The gains of a cycle take turns, more first; their mean is 1.
#[test]
fn a_cycle_has_eight_phases() {
    assert_eq!(CYCLE.iter().sum::<u64>(), 8 * UNIT);
    let mut path = Path::new();
    path.run(ROUND_TRIP * 100);
    let mut seen = Vec::new();
    for _ in 0..2_000 {
        path.run(SEGMENT);
        if let Mode::ProbeBandwidth { phase, .. } = path.bbr.mode
            && seen.last() != Some(&phase)
        {
            seen.push(phase);
        }
    }
    assert!(seen.len() > 10 && seen.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 8), "{seen:?}");
}

/// The path has become longer, and no round trip is as short as the least any more: after ten seconds four segments are
/// out for 200 ms.
#[test]
fn every_ten_seconds_the_path_is_emptied_to_see_its_round_trip() {
    let mut path = Path::new();
    path.run(ROUND_TRIP * 50);
    path.round_trip = ROUND_TRIP * 12 / 10;
    let before = path.now;
    while !matches!(path.bbr.mode, Mode::ProbeRoundTrip { .. }) {
        path.run(Duration::from_ms(1));
    }
    assert!(path.now.since(before) > Duration::from_ms(9_400), "{:?}", path.now);
    path.run(Duration::from_ms(100));
    assert_eq!(path.window, 4 * MSS);
    path.run(Duration::from_ms(200));
    assert!(matches!(path.bbr.mode, Mode::ProbeBandwidth { .. }), "{:?}", path.bbr.mode);
    assert!(path.window > 100_000);
    assert_eq!(path.bbr.round_trip_min.unwrap().0, path.round_trip + SEGMENT);
}

/// Ten segments in 10 us leave a gap until their ACKs: the rate is that of the path, not of the burst or the silence.
#[test]
fn a_sample_takes_the_longer_of_the_times_between_sending_and_arriving() {
    let mut deliveries = Deliveries::default();
    let at = |us| Time::ZERO + Duration::from_us(us);
    (1..=10).for_each(|number| deliveries.sent(at(number - 1), number * MSS, number == 1));
    let ack = |number| Delivered {
        now: at(100 + 2 * number),
        bytes: MSS,
        una: number * MSS,
        in_flight_before: 0,
        in_flight: 0,
        round_trip: Duration::from_us(100),
        has_loss: false,
    };
    // The first was sent and acknowledged 102 us apart.
    assert_eq!(deliveries.on_ack(&ack(1)).unwrap().rate, MSS * 1_000_000 / 102);
    let last = (2..=10).map(|number| deliveries.on_ack(&ack(number)).unwrap()).last().unwrap();
    // All ten left before anything was delivered: 10 kB within 120 us.
    assert_eq!(last, RateSample { rate: 10 * MSS * 1_000_000 / 120, delivered_before: 0, is_limited: false });
}
