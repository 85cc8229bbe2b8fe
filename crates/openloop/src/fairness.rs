//! Fairness among the hosts that share a fabric.

/// Sums over the packets that each sending host got into the fabric in the measured time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Fairness {
    pub(crate) senders: u64,
    pub(crate) sum: u64,
    pub(crate) squares: u128,
    pub(crate) extremes: Option<(u32, u32)>,
}

impl Fairness {
    pub(crate) fn add(&mut self, packets: u32) {
        self.senders += 1;
        self.sum += u64::from(packets);
        self.squares += u128::from(packets) * u128::from(packets);
        let (least, most) = self.extremes.unwrap_or((packets, packets));
        self.extremes = Some((least.min(packets), most.max(packets)));
    }

    pub(crate) fn merge(&mut self, other: Fairness) {
        self.senders += other.senders;
        self.sum += other.sum;
        self.squares += other.squares;
        let both = self.extremes.zip(other.extremes);
        let widest = both.map(|(mine, theirs)| (mine.0.min(theirs.0), mine.1.max(theirs.1)));
        self.extremes = widest.or(self.extremes).or(other.extremes);
    }

    /// Jain's index: 1 when all are equal, `1/n` when one of `n` has everything (Jain, Chiu and Hawe, 1984); absent
    /// when nothing was sent.
    pub fn jain(&self) -> Option<f64> {
        let sum = self.sum as f64;
        (self.sum > 0).then(|| sum * sum / (self.senders as f64 * self.squares as f64))
    }

    /// Returns the least that a host got, as a share of the most that one got; absent when nothing was sent.
    pub fn least_to_most(&self) -> Option<f64> {
        let (least, most) = self.extremes.filter(|&(_, most)| most > 0)?;
        Some(f64::from(least) / f64::from(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_four_with_everything_is_a_quarter_fair() {
        let check = |packets: [u32; 4], jain, least_to_most| {
            let mut fairness = Fairness::default();
            packets.into_iter().for_each(|packets| fairness.add(packets));
            assert_eq!((fairness.jain(), fairness.least_to_most()), (jain, least_to_most));
        };
        check([8, 0, 0, 0], Some(0.25), Some(0.0));
        check([3, 3, 3, 3], Some(1.0), Some(1.0));
        // 20² / (4 (4 + 16 + 36 + 64)).
        check([2, 4, 6, 8], Some(400.0 / 480.0), Some(0.25));
        check([0; 4], None, None);
    }
}
