//! Arrival time of the last packet of a message whose packets take paths of several latencies.

/// Packets of a message that are looked at, from its end: earlier ones are hardly ever the last to arrive.
const PACKETS: usize = 8;
/// Latencies of a connection at most.
pub const LATENCIES: usize = 16;
/// Latencies that differ by less are equal [ps].
const SAME: f64 = 0.5;

/// A latency of paths.
#[derive(Clone, Copy, Debug)]
pub struct PathLatency {
    /// More than the mean over paths [ps].
    pub above_mean: f64,
    /// Share of packets that have it.
    pub share: f64,
}

/// How packets of a message leave.
#[derive(Clone, Copy, Debug)]
pub struct Departures {
    /// How many there are.
    pub packets: u64,
    /// Time from one full packet to the next [ps].
    pub gap: f64,
    /// Time from the last but one to the last [ps].
    pub tail: f64,
}

/// How much later than one of the mean latency the last packet arrives, in the mean [ps]. Each takes any path by
/// itself: all have arrived by a time with the product of the probabilities that each has.
pub fn lateness(latencies: &[PathLatency], departures: Departures) -> f64 {
    let Departures { packets, gap, tail } = departures;
    let Some(least) = latencies.first().map(|latency| latency.above_mean) else { return 0.0 };
    let ahead = |packet: usize| if packet == 0 { 0.0 } else { tail + (packet - 1) as f64 * gap };
    let packets = 0..packets.min(PACKETS as u64) as usize;
    let (mut times, mut count) = ([0.0; PACKETS * LATENCIES], 0);
    for packet in packets.clone() {
        for time in latencies.iter().map(|latency| latency.above_mean - ahead(packet)).filter(|&time| time >= least) {
            times[count] = time;
            count += 1;
        }
    }
    let times = &mut times[..count];
    times.sort_unstable_by(f64::total_cmp);
    let within = |time: f64| latencies.iter().filter(move |latency| latency.above_mean <= time + SAME);
    let by = |time: f64, packet| within(time + ahead(packet)).map(|latency| latency.share).sum::<f64>();
    let (mut mean, mut before) = (0.0, 0.0);
    for &time in times.iter() {
        let all: f64 = packets.clone().map(|packet| by(time, packet)).product();
        mean += time * (all - before);
        before = all;
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies of 50 ps below and above the mean, each of half of the packets.
    fn of_two(packets: u64, gap: f64, tail: f64) -> f64 {
        let latencies = [-50.0, 50.0].map(|above_mean| PathLatency { above_mean, share: 0.5 });
        lateness(&latencies, Departures { packets, gap, tail })
    }

    /// Two packets at once: the later is 50 above in three cases of four. After 60: the last is 50 above by half; else
    /// the first is 10 below (50 - 60) by a quarter, or both have arrived by 50 below.
    #[test]
    fn the_last_of_two_packets_is_the_later_one() {
        assert_eq!(of_two(1, 0.0, 0.0), 0.0);
        assert_eq!(of_two(2, 0.0, 0.0), 0.75 * 50.0 - 0.25 * 50.0);
        assert_eq!(of_two(2, 100.0, 60.0), 0.5 * 50.0 - 0.25 * 10.0 - 0.25 * 50.0);
        assert_eq!(of_two(2, 100.0, 100.0), 0.0);
    }

    /// The first of three leaves 80 before the last.
    #[test]
    fn earlier_packets_matter_while_they_may_be_overtaken() {
        let expected = 0.5 * 50.0 - 0.25 * 10.0 - 0.125 * 30.0 - 0.125 * 50.0;
        assert_eq!(of_two(3, 20.0, 60.0), expected);
        assert_eq!(of_two(9, 40.0, 60.0), of_two(2, 40.0, 60.0), "100 before the last and more");
    }

    #[test]
    fn equal_latencies_make_nothing_late() {
        assert_eq!(lateness(&[], Departures { packets: 9, gap: 1.0, tail: 1.0 }), 0.0);
    }
}
