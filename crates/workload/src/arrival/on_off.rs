//! Bursts with silence between them.

use etherweave_primitives::{Geometric, InputError, Pareto, params};

use super::{HostArrivals, Offered, exponential};
use crate::{Share, limits::within};

params! {
    /// Bursts of packets at a peak load, with exponential silences between them that make up the offered load
    /// (`on_off`).
    ///
    /// With geometric bursts it is the two-state process of Dally and Towles, 2004, section 24.2.2; with Pareto bursts
    /// many hosts together are self-similar (Willinger et al., *Self-Similarity Through High-Variability*, 1997).
    pub struct OnOff {
        /// Mean packets of a burst, 1 to 1,000,000; with Pareto lengths at least shape / (shape − 1).
        pub burst: u32 = 8,
        /// Distribution of lengths about that mean.
        pub length: BurstLength = BurstLength::default(),
        /// Load during a burst, from 0.01 and the offered load to 1, at which packets are back to back.
        pub peak: Share = Share::ALL,
    }
}

/// Distribution of the lengths of bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BurstLength {
    /// After each packet the burst ends with the same chance.
    #[default]
    Geometric,
    /// The chance of more than x packets falls as x^−shape.
    Pareto {
        /// Shape, 1.2 to 10; up to 2 the variance is infinite.
        shape: f64,
    },
}

#[derive(Clone, Debug)]
pub(super) struct GapPlan {
    /// Within a burst [2^-16 ps].
    period: u64,
    /// Mean silence, beyond the last period of a burst [2^-16 ps].
    silence: u64,
    length: Length,
}

#[derive(Clone, Debug)]
enum Length {
    /// Packets after the first.
    Geometric(Geometric),
    Pareto(Pareto),
}

impl OnOff {
    pub(super) fn plan(&self, offered: Offered) -> Result<GapPlan, InputError> {
        within("burst", self.burst, 1..=1_000_000)?;
        let least = offered.load.max(Share::percent(1));
        if self.peak < least {
            let expected = format!("{least} to 1, no less than the offered load");
            return Err(InputError::new("peak", self.peak.to_string(), expected));
        }
        let period = offered.period_at(self.peak);
        // In a cycle, burst packets take burst · period / load; what their own periods do not fill is silence.
        let silence = u64::from(self.burst).checked_mul(offered.period() - period).ok_or_else(|| {
            let mistake = format!("{} packets at load {}", self.burst, offered.load);
            InputError::new("burst", mistake, "silences of at most 281s on average")
        })?;
        Ok(GapPlan { period, silence, length: self.length()? })
    }

    fn length(&self) -> Result<Length, InputError> {
        match self.length {
            BurstLength::Geometric => Ok(Length::Geometric(Geometric::new(1, u64::from(self.burst)))),
            BurstLength::Pareto { shape } => self.pareto(shape).map(Length::Pareto),
        }
    }

    /// # Errors
    /// When the shape is out of range, or the least burst would be shorter than a packet.
    fn pareto(&self, shape: f64) -> Result<Pareto, InputError> {
        if !(1.2..=10.0).contains(&shape) {
            return Err(InputError::new("shape", shape.to_string(), "1.2 to 10"));
        }
        let least = (shape / (shape - 1.0)).ceil();
        if f64::from(self.burst) < least {
            let expected = format!("at least {least} with shape {shape}, so that each burst has a packet");
            return Err(InputError::new("burst", self.burst.to_string(), expected));
        }
        Ok(Pareto::of_mean(f64::from(self.burst), shape))
    }
}

impl GapPlan {
    #[inline]
    pub(super) fn gap(&self, host: &mut HostArrivals) -> u128 {
        if host.burst > 0 {
            host.burst -= 1;
            return u128::from(self.period);
        }
        host.burst = self.packets(host) - 1;
        u128::from(self.period) + exponential(self.silence, &mut host.random)
    }

    /// Packets of the next burst, 1 or more. Bursts of 2^32 and more, seconds even at 1.6 Tb/s, are cut to that.
    fn packets(&self, host: &mut HostArrivals) -> u32 {
        match &self.length {
            Length::Geometric(more) => saturated(u128::from(more.draw(&mut host.random)) + 1),
            // Up or down with the chance that keeps the mean: the whole part after adding a uniform fraction.
            Length::Pareto(length) => {
                let packets = length.draw(&mut host.random) + u128::from(host.random.bits() >> 32);
                saturated(packets >> 32).max(1)
            }
        }
    }
}

fn saturated(packets: u128) -> u32 {
    u32::try_from(packets).unwrap_or(u32::MAX)
}
