//! Random streams: one seed, a stream per purpose and entity, integers only.

/// Purpose of a stream. Streams of different purposes never touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Purpose {
    /// Where ranks are placed.
    Placement = 1,
    /// Who talks to whom, drawn once for a run.
    Traffic = 2,
    /// Per-flow entropy of hashes, such as UDP source ports.
    FlowEntropy = 3,
    /// Scheduling jitter of hosts.
    HostNoise = 4,
    /// Packets that a congested queue marks.
    Marking = 5,
    /// Ports that a random fabric joins.
    Wiring = 6,
    /// When an open-loop host has its next packet.
    Arrivals = 7,
    /// Where that packet goes.
    Destinations = 8,
    /// Bits of a degraded link that are wrong.
    BitErrors = 9,
    /// How large flows are.
    Sizes = 10,
    /// How long a server works on a request.
    Service = 11,
    /// Periods after which a receiver judges the core of the network.
    GrantPeriods = 12,
}

/// A random stream (xoshiro256++ of Blackman and Vigna, 2019, seeded by SplitMix64).
#[derive(Clone, Debug)]
pub struct Stream {
    state: [u64; 4],
}

impl Stream {
    /// The stream of `purpose` for `entity` under `seed`.
    pub fn new(seed: u64, purpose: Purpose, entity: u64) -> Stream {
        let mut state = [0; 4];
        let mut word = mix(mix(mix(seed) ^ purpose as u64) ^ entity);
        for slot in &mut state {
            word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
            *slot = mix(word);
        }
        Stream { state }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform number below `bound`, without bias (Lemire, 2019).
    ///
    /// # Panics
    /// When `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below zero");
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            // The first comparison implies the second and saves its division nearly always.
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// Whether an event of probability `numerator / denominator` happens.
    #[inline]
    pub fn happens(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Spreads the bits of a word (the finaliser of SplitMix64; Steele et al., 2014).
pub const fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_purpose_and_entity_give_the_same_stream() {
        let draw = |entity| Stream::new(1, Purpose::Placement, entity).bits();
        assert_eq!(draw(4), draw(4));
        assert_ne!(draw(4), draw(5));
    }

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let mut stream = Stream::new(7, Purpose::Traffic, 0);
        let mut counts = [0u32; 6];
        (0..60_000).for_each(|_| counts[stream.below(6) as usize] += 1);
        // Binomial with mean 10,000 and deviation 91: five deviations.
        assert!(counts.iter().all(|&n| n.abs_diff(10_000) < 460), "{counts:?}");
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..48).collect();
        Stream::new(3, Purpose::Placement, 0).shuffle(&mut items);
        assert_ne!(items, (0..48).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..48).collect::<Vec<_>>());
    }
}
