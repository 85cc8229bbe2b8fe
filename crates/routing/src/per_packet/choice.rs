//! Choices among ports: by hash, or by what is queued for them.

use std::ops::Range;

use etherweave_primitives::mix;

use super::RoutedPacket;

/// A number below `count` by a packet's hash and source, and where it is: what it draws at one switch is independent of
/// what it draws at the next.
#[inline]
pub(crate) fn drawn(packet: &RoutedPacket, count: u32) -> u32 {
    ((u64::from(bits(packet)) * u64::from(count)) >> 32) as u32
}

/// Random bits of a packet where it is.
#[inline]
pub(crate) fn bits(packet: &RoutedPacket) -> u32 {
    let turn = u64::from(packet.hops) << 48 | u64::from(packet.hash) << 32;
    // Zero is where the mixing stands still.
    (mix(!(turn | u64::from(packet.src))) >> 32) as u32
}

/// One of several ports, by hash.
#[inline]
pub(crate) fn any(ports: Range<u8>, packet: &RoutedPacket) -> u8 {
    match ports.end - ports.start {
        1 => ports.start,
        count => ports.start + drawn(packet, u32::from(count)) as u8,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WeightedPort {
    pub port: u8,
    pub weight: u32,
}

/// The port with the least weight, of several one by hash; none of none.
pub(crate) fn least(ports: impl Iterator<Item = WeightedPort>, packet: &RoutedPacket) -> Option<WeightedPort> {
    let spin = bits(packet);
    // Each port has a random rank for this packet.
    let rank = |port: u8| (spin ^ u32::from(port).wrapping_mul(0x9e37_79b1)).wrapping_mul(0x85eb_ca6b) >> 16;
    ports.min_by_key(|choice| u64::from(choice.weight) << 16 | u64::from(rank(choice.port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(hash: u16, hops: u8) -> RoutedPacket {
        RoutedPacket { src: 7, hash, hops, ..RoutedPacket::default() }
    }

    /// All are drawn, each within 10 % of its share of 2^16 hashes.
    fn is_even(counts: &[u32]) -> bool {
        let share = (1 << 16) as f64 / counts.len() as f64;
        counts.iter().all(|&count| (f64::from(count) / share - 1.0).abs() < 0.1)
    }

    #[test]
    fn hashes_share_out_ports_evenly_and_anew_at_every_switch() {
        let mut first = [0; 18];
        let mut second = [0; 18];
        let mut both = [0; 36];
        for hash in 0..=u16::MAX {
            let [now, then] = [0, 1].map(|hops| usize::from(any(0..18, &packet(hash, hops))));
            first[now] += 1;
            second[then] += 1;
            both[now % 6 * 6 + then % 6] += 1;
        }
        assert!(is_even(&first) && is_even(&second) && is_even(&both), "{first:?} {second:?} {both:?}");
    }

    #[test]
    fn the_least_weight_wins_and_equals_by_hash() {
        let weights = [3, 1, 2, 1, 1];
        let mut counts = [0; 5];
        for hash in 0..=u16::MAX {
            let ports = weights.iter().zip(0..).map(|(&weight, port)| WeightedPort { port, weight });
            counts[usize::from(least(ports, &packet(hash, 0)).unwrap().port)] += 1;
        }
        assert_eq!((counts[0], counts[2]), (0, 0));
        assert!(is_even(&[counts[1], counts[3], counts[4]]), "{counts:?}");
        assert_eq!(least(std::iter::empty(), &packet(0, 0)), None);
    }
}
