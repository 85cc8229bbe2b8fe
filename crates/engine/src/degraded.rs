//! Degraded links: random bit errors, and frames that are discarded for a wrong check sequence.
//!
//! Every bit of a frame, from its address to its check sequence, is wrong with the same probability, independent of
//! the others: a frame of n bits survives with probability (1 − p)^n. The number of bits until the
//! next wrong one is drawn: one draw for each damaged frame, and frames count down. Each direction has its own stream.
//!
//! A damaged frame counts at the receiving end of the link. A switch that stores discards it there. One that cuts
//! through has sent its first bit on by then: the frame goes on with a wrong check sequence, and the host that
//! discards it counts it again. Left out: errors in preamble and gap, and a switch on the path that has stored the
//! frame and could check it (unless its output is faster: then it does).
//!
//! A link with link-level retry sends a damaged frame again, and those behind it: its receiver takes nothing until the
//! frame has come intact. So the transmitter loses the time of the frame, of the way to the far end and back, and of
//! both ends' decisions for each time that the frame is damaged, and the order of frames stays.

use etherweave_primitives::{ChannelId, Duration, Geometric, Purpose, Stream, Time};

use crate::fec::ForwardErrorCorrection;
use crate::frame::size::PREAMBLE_AND_GAP;
use crate::link_retry::{Cable, LinkRetry, MESSAGE, Replays, RetryingSender};

/// Unit of bit error rates: 10^-18.
const RATE_STEPS: u64 = 1_000_000_000_000_000_000;

/// A link with bit errors in both directions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DegradedLink {
    /// Either of its channels.
    pub channel: ChannelId,
    /// Probability of each bit to be wrong before forward error correction, 0..=0.001, in steps of 10^-18.
    pub bit_error_rate: f64,
    /// Forward error correction. Absent: none, or the rate is that behind it.
    pub fec: Option<ForwardErrorCorrection>,
    /// Frames are damaged from here on.
    pub from: Duration,
    /// Frames that begin at this time or later are not. Absent: all are.
    pub until: Option<Duration>,
    /// Link-level retry. Absent: damaged frames are lost.
    pub retry: Option<LinkRetry>,
}

/// One direction of a degraded link, at its sender.
#[derive(Debug)]
pub struct DegradedChannel {
    random: Stream,
    /// Those without any errors left out, in order of time.
    periods: Vec<ErrorPeriod>,
    /// Frames sent again.
    pub replays: Replays,
}

#[derive(Debug)]
struct ErrorPeriod {
    begin: Time,
    end: Time,
    errors: BitErrors,
    retry: Option<RetryingSender>,
}

#[derive(Debug)]
struct BitErrors {
    /// Absent: there are none.
    correct_bits: Option<Geometric>,
    /// Bits that each frame is longer by, for codewords that it shares.
    span: u64,
    /// Bits that still pass before the next wrong one.
    until_error: u64,
}

/// The passage of a frame over a degraded link.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// Whether its check sequence is wrong at the far end.
    pub is_damaged: bool,
    /// Time by which it is later than on an intact link.
    pub late: Duration,
}

impl DegradedChannel {
    /// The direction `channel` of links that are all the same one, in order of time; `None` when they have neither
    /// errors nor retry.
    pub fn new(channel: ChannelId, seed: u64, links: &[DegradedLink], cable: &Cable) -> Option<DegradedChannel> {
        let mut random = Stream::new(seed, Purpose::BitErrors, channel.get().into());
        let periods = links.iter().filter_map(|link| ErrorPeriod::new(link, cable, &mut random));
        let periods: Vec<ErrorPeriod> = periods.collect();
        (!periods.is_empty()).then_some(DegradedChannel { random, periods, replays: Replays::default() })
    }

    /// The passage of a frame of `wire` bytes, with preamble and gap, that begins at `time` and takes `duration`.
    pub fn pass(&mut self, time: Time, wire: u32, duration: Duration) -> Passage {
        let intact = Passage { is_damaged: false, late: Duration::ZERO };
        let period = self.periods.iter_mut().find(|period| period.begin <= time && time < period.end);
        let Some(ErrorPeriod { errors, retry, .. }) = period else { return intact };
        let bits = u64::from(wire - PREAMBLE_AND_GAP) * 8;
        let is_damaged = errors.hit(bits, &mut self.random);
        let Some(sender) = retry else { return Passage { is_damaged, ..intact } };
        let sent = SentFrame { time, wire, duration, is_damaged };
        self.replays.send(sent, sender, || errors.hit(bits, &mut self.random))
    }
}

/// A frame that a link with retry sends, the first time.
struct SentFrame {
    time: Time,
    wire: u32,
    duration: Duration,
    is_damaged: bool,
}

impl Replays {
    /// Sends a frame as often as it takes or as it may be, `hit` each time anew, and counts that.
    fn send(&mut self, frame: SentFrame, sender: &mut RetryingSender, mut hit: impl FnMut() -> bool) -> Passage {
        let SentFrame { time, wire, duration, mut is_damaged } = frame;
        let wait = sender.wait_for_room(time, wire);
        let message = duration * MESSAGE / u64::from(wire);
        let messages = sender.messages(time + wait, duration, message);
        let mut replays = 0;
        while is_damaged && replays < sender.replays_max {
            replays += 1;
            is_damaged = hit();
        }
        let lost = sender.replay_time(duration) * u64::from(replays);
        let late = wait + message * messages + lost;
        sender.keep(time + late + duration, wire, replays > 0);
        self.frames += u64::from(replays > 0);
        self.replays += u64::from(replays);
        self.given_up += u64::from(is_damaged);
        self.bytes += u64::from(wire) * u64::from(replays);
        self.lost += lost;
        self.held += wait;
        self.messages += messages;
        Passage { is_damaged, late }
    }
}

impl ErrorPeriod {
    fn new(link: &DegradedLink, cable: &Cable, random: &mut Stream) -> Option<ErrorPeriod> {
        let errors = BitErrors::new(link, random);
        let end = link.until.map_or(Time::MAX, |until| Time::ZERO + until);
        let retry = link.retry.map(|retry| RetryingSender::new(&retry, cable));
        let has_effect = errors.correct_bits.is_some() || retry.is_some();
        has_effect.then_some(ErrorPeriod { begin: Time::ZERO + link.from, end, errors, retry })
    }
}

impl BitErrors {
    fn new(link: &DegradedLink, random: &mut Stream) -> BitErrors {
        let rate = link.fec.map_or(link.bit_error_rate, |fec| fec.residual(link.bit_error_rate));
        let span = link.fec.map_or(0, ForwardErrorCorrection::span);
        let steps = (rate * RATE_STEPS as f64).round() as u64;
        let correct_bits = (steps > 0).then(|| Geometric::new(steps, RATE_STEPS));
        let until_error = correct_bits.as_ref().map_or(u64::MAX, |bits| bits.draw(random));
        BitErrors { correct_bits, span, until_error }
    }

    /// Whether a frame of so many bits is damaged. Further errors in it have no effect, and later frames do not depend
    /// on them.
    fn hit(&mut self, bits: u64, random: &mut Stream) -> bool {
        let Some(correct_bits) = &self.correct_bits else { return false };
        let bits = bits + self.span;
        if self.until_error >= bits {
            self.until_error -= bits;
            return false;
        }
        self.until_error = correct_bits.draw(random);
        true
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{BitRate, Bytes};

    use super::*;

    fn link(bit_error_rate: f64) -> DegradedLink {
        let (channel, from) = (ChannelId::new(6), Duration::ZERO);
        DegradedLink { channel, bit_error_rate, fec: None, from, until: None, retry: None }
    }

    fn cable() -> Cable {
        let (rate, frame_max) = (BitRate::from_gbps(100), Bytes::new(4_198));
        Cable { rate, round_trip: Duration::from_ns(100), frame_max }
    }

    fn channel(links: &[DegradedLink]) -> DegradedChannel {
        DegradedChannel::new(ChannelId::new(6), 1, links, &cable()).expect("links with errors")
    }

    fn is_hit(channel: &mut DegradedChannel, time: Time, wire: u32) -> bool {
        channel.pass(time, wire, Duration::from_ns(100)).is_damaged
    }

    /// How many of `frames` frames of `bytes` are damaged.
    fn damaged(rate: f64, bytes: u32, frames: u32) -> f64 {
        let mut channel = channel(&[link(rate)]);
        (0..frames).filter(|_| is_hit(&mut channel, Time::ZERO, bytes + PREAMBLE_AND_GAP)).count() as f64
    }

    #[test]
    fn a_frame_survives_when_all_its_bits_do() {
        for (rate, bytes, frames) in [(1e-3, 64, 100_000), (1e-6, 4_178, 300_000), (1e-7, 1_518, 3_000_000)] {
            let share = 1.0 - (1.0f64 - rate).powf(8.0 * f64::from(bytes));
            let (mean, hits) = (share * f64::from(frames), damaged(rate, bytes, frames));
            // Binomial: five deviations.
            let bound = 5.0 * (mean * (1.0 - share)).sqrt();
            assert!((hits - mean).abs() < bound, "{hits} of {frames}, expected {mean} ± {bound}");
        }
    }

    /// RS(544,514) at 9e-4: a codeword has 4.9 wrong symbols on the mean, and of more than 15 none is corrected.
    #[test]
    fn a_frame_survives_behind_a_code_when_all_its_codewords_are_corrected() {
        let (fec, bytes, frames) = (ForwardErrorCorrection::Rs544, 4_178u32, 2_000_000);
        let mut channel = channel(&[DegradedLink { fec: Some(fec), ..link(9e-4) }]);
        let hits = (0..frames).filter(|_| is_hit(&mut channel, Time::ZERO, bytes + PREAMBLE_AND_GAP)).count() as f64;
        let mean = f64::from(frames) * fec.residual(9e-4) * (5_120 + 8 * bytes) as f64;
        assert!((hits - mean).abs() < 5.0 * mean.sqrt() && mean > 100.0, "{hits}, expected {mean}");
    }

    #[test]
    fn frames_of_several_lengths_each_have_their_own_share() {
        let (mut channel, rate, frames) = (channel(&[link(1e-5)]), 1e-5f64, 200_000);
        let lengths = [64u32, 1_518, 4_178];
        let mut hits = [0u32; 3];
        for frame in 0..3 * frames {
            hits[frame % 3] += u32::from(is_hit(&mut channel, Time::ZERO, lengths[frame % 3] + PREAMBLE_AND_GAP));
        }
        for (hits, bytes) in hits.into_iter().zip(lengths) {
            let share = 1.0 - (1.0 - rate).powf(8.0 * f64::from(bytes));
            let (mean, hits) = (share * frames as f64, f64::from(hits));
            assert!((hits - mean).abs() < 5.0 * (mean * (1.0 - share)).sqrt(), "{hits} at {bytes} B, expected {mean}");
        }
    }

    #[test]
    fn outside_its_periods_a_link_damages_nothing() {
        let period = |from: u64, until: u64| {
            let (from, until) = (Duration::from_us(from), Some(Duration::from_us(until)));
            DegradedLink { from, until, ..link(1e-3) }
        };
        let mut channel = channel(&[period(10, 20), period(30, 40)]);
        // 12,500 B survive a rate of 10^-3 with probability e^-100.
        let times = [0u64, 9, 10, 19, 20, 29, 30, 39, 40, 1_000];
        let hits = times.map(|us| is_hit(&mut channel, Time::ZERO + Duration::from_us(us), 12_520));
        assert_eq!(hits, [false, false, true, true, false, false, true, true, false, false]);
    }

    #[test]
    fn a_rate_of_zero_is_no_degraded_link() {
        assert!(DegradedChannel::new(ChannelId::new(0), 1, &[link(0.0)], &cable()).is_none());
    }

    #[test]
    fn the_two_directions_have_errors_at_different_bytes() {
        let first_error = |channel| {
            let mut wire =
                DegradedChannel::new(ChannelId::new(channel), 1, &[link(1e-6)], &cable()).expect("it has errors");
            (0u32..).find(|_| is_hit(&mut wire, Time::ZERO, 1 + PREAMBLE_AND_GAP))
        };
        assert_ne!(first_error(6), first_error(7));
    }

    /// Each frame is damaged with a chance of one half: it is sent twice on the mean, and one in sixteen is lost.
    #[test]
    fn a_frame_is_sent_again_until_it_is_intact_or_has_been_sent_too_often() {
        let bytes = 1_500;
        let rate = 1.0 - 0.5f64.powf(1.0 / f64::from(8 * bytes));
        let retry = Some(LinkRetry { latency: Duration::from_ns(50), ..LinkRetry::default() });
        let mut channel = channel(&[DegradedLink { retry, ..link(rate) }]);
        let (frames, wire, mut time) = (100_000u64, bytes + PREAMBLE_AND_GAP, Time::ZERO);
        for _ in 0..frames {
            let Passage { late, .. } = channel.pass(time, wire, Duration::from_ns(120));
            // A frame, 100 ns of cable and 50 of both ends each time; frames are far apart.
            assert_eq!(late.as_ps() % 270_000, 0);
            time += Duration::from_us(2);
        }
        let Replays { frames: again, replays, given_up, bytes, lost, held, messages } = channel.replays;
        let near = |count: u64, share: f64| (count as f64 / frames as f64 - share).abs() < 0.01;
        assert!(
            near(again, 0.5) && near(replays, 0.5 + 0.25 + 0.125) && near(given_up, 0.0625),
            "{:?}",
            channel.replays
        );
        assert_eq!((bytes, lost), (replays * u64::from(wire), Duration::from_ns(270) * replays));
        assert_eq!((held, messages), (Duration::ZERO, 0));
    }
}
