//! Latencies by a logarithmic-linear histogram.

/// Buckets per power of two: a percentile is at most 1/64 too large.
const FINE: u32 = 6;

/// Counts of whole numbers, exact below 64 and to 1/64 above.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    pub(crate) counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        // The largest 32-bit number has its first bit at 31.
        Histogram { counts: vec![0; ((32 - FINE as usize) + 1) << FINE] }
    }
}

impl Histogram {
    pub(crate) fn add(&mut self, value: u32) {
        self.counts[bucket(value)] += 1;
    }

    pub(crate) fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The least number that `share` of all counted are not above, as its bucket's upper end; absent when nothing was
    /// counted.
    pub fn percentile(&self, share: f64) -> Option<u32> {
        let total: u64 = self.counts.iter().sum();
        let wanted = (share * total as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let at = self.counts.iter().position(|&count| {
            below += count;
            below >= wanted
        });
        at.filter(|_| total > 0).map(upper_end)
    }

    /// Pairs of a bucket's upper end and its count, where there is any.
    pub fn buckets(&self) -> impl Iterator<Item = (u32, u64)> {
        let counted = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        counted.map(|(index, &count)| (upper_end(index), count))
    }
}

fn bucket(value: u32) -> usize {
    let shift = (31 - (value | 1).leading_zeros()).saturating_sub(FINE);
    ((shift as usize) << FINE) + (value >> shift) as usize
}

fn upper_end(index: usize) -> u32 {
    let shift = (index >> FINE).saturating_sub(1);
    let step = (index - (shift << FINE)) as u64;
    (((step + 1) << shift) - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_in_a_bucket_whose_end_is_at_most_a_64th_above() {
        for value in (0..40).flat_map(|bit| [0, 1, 3].map(|more| (1u64 << bit) + more)).filter(|&v| v < 1 << 32) {
            let end = u64::from(upper_end(bucket(value as u32)));
            assert!(end >= value && end <= value + value / 64, "{value}: {end}");
        }
    }

    #[test]
    fn percentiles_of_one_to_fifty_are_themselves() {
        let mut histogram = Histogram::default();
        (1..=50).for_each(|value| histogram.add(value));
        assert_eq!([0.02, 0.5, 0.99, 1.0].map(|share| histogram.percentile(share)), [1, 25, 50, 50].map(Some));
        assert_eq!(Histogram::default().percentile(0.5), None);
    }
}
