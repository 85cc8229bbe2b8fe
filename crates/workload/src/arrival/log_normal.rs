//! Gaps whose logarithms are normal.

use std::f64::consts::E;

use etherweave_primitives::{InputError, Stream, params};

use super::{HostArrivals, Offered};
use crate::exact::power;

params! {
    /// Log-normal gaps, independent of earlier ones (`log_normal`): as bursty as `sigma` says.
    pub struct LogNormal {
        /// Standard deviation of the logarithm of a gap, 0.1 to 3; of a gap, √(e^(σ²) − 1) of its mean.
        pub sigma: f64 = 1.0,
    }
}

#[derive(Clone, Debug)]
pub(super) struct GapPlan {
    /// [2^-16 ps].
    median: f64,
    sigma: f64,
}

impl LogNormal {
    pub(super) fn plan(&self, offered: Offered) -> Result<GapPlan, InputError> {
        let sigma = self.sigma;
        InputError::unless((0.1..=3.0).contains(&sigma), "sigma", sigma, "0.1 to 3")?;
        // The mean is e^(σ²/2) times the median.
        Ok(GapPlan { median: offered.period() as f64 / power(E, sigma * sigma / 2.0), sigma })
    }
}

impl GapPlan {
    pub(super) fn gap(&self, host: &mut HostArrivals) -> u128 {
        let exponent = self.sigma * normal(&mut host.random);
        let factor = power(E, exponent.abs());
        (if exponent < 0.0 { self.median / factor } else { self.median * factor }) as u128
    }
}

/// A normal number by the polar method (Marsaglia and Bray, 1964): a point of the unit circle times the root of twice
/// an exponential number, by operations that every platform rounds alike.
fn normal(random: &mut Stream) -> f64 {
    loop {
        let [x, y] = [(); 2].map(|()| (random.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square <= 1.0 {
            let radius = (2.0 * random.exponential() as f64 / (1_u64 << 32) as f64).sqrt();
            return x / square.sqrt() * radius;
        }
    }
}
