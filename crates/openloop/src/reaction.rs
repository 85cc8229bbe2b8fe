//! Reaction time of a network to a change of its traffic.

use crate::{Batch, Report};

/// How far a value may be from the later mean, as a share of it.
const ROOM: f64 = 0.1;

/// The first value of a series from which on all are within a tenth of the mean of its later half; absent when the last
/// value is not.
pub fn settled(series: &[f64]) -> Option<usize> {
    let mean = mean(later_half(series));
    let is_off = |value: &f64| (value - mean).abs() > ROOM * mean.abs() || value.is_nan();
    let first = series.iter().rposition(is_off).map_or(0, |last_off| last_off + 1);
    (first < series.len()).then_some(first)
}

fn later_half(series: &[f64]) -> &[f64] {
    &series[series.len() / 2..]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

impl Report {
    /// Time from `change_ns` after the start of the run to the first batch from which on the accepted load has
    /// [settled] [ns]: 0 when it is the batch of the change. Absent when it does not settle by the end of the run, or
    /// settles at less than nine tenths of what is offered: then the routing did not react.
    pub fn reaction_ns(&self, change_ns: u32) -> Option<u32> {
        let series = |of: fn(&Batch) -> u64| -> Vec<f64> {
            self.since(change_ns).iter().map(|batch| of(batch) as f64).collect()
        };
        let (offered, delivered) = (series(|batch| batch.offered), series(|batch| batch.delivered));
        let is_carried = mean(later_half(&delivered)) >= (1.0 - ROOM) * mean(later_half(&offered));
        settled(&delivered).filter(|_| is_carried).map(|batch| self.after(change_ns, batch))
    }

    /// The same until the mean latency of batches has settled, whatever is accepted [ns].
    pub fn latency_settled_ns(&self, change_ns: u32) -> Option<u32> {
        let latency = |batch: &Batch| batch.latency as f64 / batch.delivered as f64;
        let series: Vec<f64> = self.since(change_ns).iter().map(latency).collect();
        settled(&series).map(|batch| self.after(change_ns, batch))
    }

    /// Whole batches from that in which an instant lies.
    fn since(&self, ns: u32) -> &[Batch] {
        let end = (self.measured_ns.end / self.batch_ns) as usize;
        self.batches.get((ns / self.batch_ns) as usize..end.min(self.batches.len())).unwrap_or_default()
    }

    /// Time from an instant to the start of the so many-th batch from that in which it lies [ns].
    fn after(&self, ns: u32, batch: usize) -> u32 {
        ((ns / self.batch_ns + batch as u32) * self.batch_ns).saturating_sub(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::settled;

    #[test]
    fn a_series_has_settled_from_where_it_stays_within_a_tenth_of_its_later_mean() {
        assert_eq!(settled(&[3.0, 10.0, 5.0, 10.9, 9.1, 10.9, 10.0, 10.0]), Some(3));
        assert_eq!(settled(&[10.0; 4]), Some(0));
        // The later half has mean 10, from which the last is too far.
        assert_eq!(settled(&[10.0, 10.0, 8.0, 12.0]), None);
        assert_eq!(settled(&[f64::NAN, 2.0, 2.0, 2.0]), Some(1));
        assert_eq!(settled(&[1.0, f64::NAN]), None);
        assert_eq!(settled(&[]), None);
    }
}
