//! Steady state of a series: its start, and the confidence interval of the mean.

/// Groups into which measured batches are put together for an interval.
const GROUPS: usize = 20;
/// The 97.5 % quantile of Student's distribution with 19 degrees of freedom.
const STUDENT: f64 = 2.093;

/// How many values to leave out at the start, so that the mean of the rest has the least marginal standard error: MSER
/// (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997). At most
/// all but five.
pub(crate) fn truncation(series: &[f64]) -> usize {
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (left, (start, &value)) in (1..).zip(series.iter().enumerate().rev()) {
        sum += value;
        squares += value * value;
        let count = f64::from(left);
        let error = (squares - sum * sum / count).max(0.0) / (count * count);
        if left >= 5 && error <= best.0 {
            best = (error, start);
        }
    }
    best.1
}

/// Whether a series needs no more than half of it left out.
pub(crate) fn is_steady(series: &[f64]) -> bool {
    truncation(series) * 2 <= series.len()
}

/// Half the width of the 95 % confidence interval of a mean, by the means of 20 groups of neighbouring batches (Law,
/// *Simulation Modeling and Analysis*, section 9.5.3); absent for fewer batches. The first batches that fill no group
/// are left out.
pub(crate) fn half_width(series: &[f64]) -> Option<f64> {
    let size = series.len() / GROUPS;
    if size == 0 {
        return None;
    }
    let groups = series[series.len() - size * GROUPS..].chunks(size);
    let means: Vec<f64> = groups.map(|group| group.iter().sum::<f64>() / size as f64).collect();
    let mean = means.iter().sum::<f64>() / GROUPS as f64;
    let variance = means.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (GROUPS - 1) as f64;
    Some(STUDENT * (variance / GROUPS as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic noise between -1 and 1 of mean 0.
    fn noise(index: usize) -> f64 {
        [-1.0, 1.0, 0.5, -0.5][index % 4]
    }

    #[test]
    fn a_ramp_is_left_out_and_what_only_rises_is_not_steady() {
        let settled: Vec<f64> = (0..60).map(|at| 100.0_f64.min(10.0 * at as f64) + noise(at)).collect();
        assert!((8..=12).contains(&truncation(&settled)), "{}", truncation(&settled));
        assert!(is_steady(&settled));
        let rising: Vec<f64> = (0..60).map(|at| at as f64 + noise(at)).collect();
        assert!(!is_steady(&rising));
        assert!(is_steady(&[5.0; 10]));
    }

    #[test]
    fn twenty_groups_of_means_0_and_2_have_the_interval_of_a_fair_coin() {
        // Deviation 1 each, variance 20 / 19, standard error 1 / sqrt(19).
        let series: Vec<f64> = (0..40).map(|at| f64::from((at / 2 % 2) * 2)).collect();
        let expected = 2.093 / 19.0_f64.sqrt();
        assert!((half_width(&series).unwrap() - expected).abs() < 1e-12);
        assert_eq!(half_width(&series[..19]), None);
    }
}
