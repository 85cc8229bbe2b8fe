//! Arrivals of open-loop traffic: the time of a host's next packet, whatever the fabric does.
//!
//! - An [`Arrival`] is the closed family, as a scenario names it. Each member is one file and one line.
//! - [`Arrival::plan`] prepares it for packets of one size at one offered load: an [`ArrivalPlan`], the same for all
//!   hosts of a rate.
//! - [`HostArrivals`] is what one host carries from packet to packet: its own random stream, and a fraction of a
//!   picosecond, so that rounding moves no mean.
//!
//! Guarantees: over a long time every member offers the load it was asked for; a gap takes a few multiplications
//! (roots, where it is log-normal), no memory and no platform mathematics; the gaps of a host depend on the seed, the
//! host and the plan alone.

mod bernoulli;
mod log_normal;
mod on_off;
mod periodic;
mod poisson;

use etherweave_primitives::{Duration, HostId, InputError, Purpose, Stream};

pub use bernoulli::Bernoulli;
pub use log_normal::LogNormal;
pub use on_off::{BurstLength, OnOff};
pub use periodic::{FirstArrival, Periodic};
pub use poisson::Poisson;

use crate::Share;

/// Longer than any run (53 days): the gap at load 0, and what no gap exceeds, so that it can be added to an instant.
pub const GAP_MAX: Duration = Duration::from_ps(1 << 62);

/// Fraction bits in which gaps are summed [2^-16 ps].
const FRACTION: u32 = 16;
/// Longest packet [ps]: a second, 125 MB at 1 Gb/s.
const PACKET_MAX: Duration = Duration::from_ms(1_000);

/// State of one host from packet to packet.
#[derive(Clone, Debug)]
pub struct HostArrivals {
    random: Stream,
    /// Packets of the burst that have not arrived yet.
    burst: u32,
    /// Time that was rounded off so far [2^-16 ps].
    fraction: u16,
    started: bool,
}

impl HostArrivals {
    /// The arrivals of `host` under the run's `seed`.
    pub fn new(seed: u64, host: HostId) -> HostArrivals {
        let random = Stream::new(seed, Purpose::Arrivals, u64::from(host.get()));
        HostArrivals { random, burst: 0, fraction: 0, started: false }
    }
}

/// Packets of one size at one offered load.
#[derive(Clone, Copy)]
struct Offered {
    /// Time for which a packet occupies the link [ps], 1 or more.
    packet: u64,
    /// Share of the link's time, above 0.
    load: Share,
}

impl Offered {
    /// # Errors
    /// When a packet takes no time or more than a second, or packets come so rarely that their period does not fit.
    fn new(packet: Duration, load: Share) -> Result<Offered, InputError> {
        if packet.is_zero() || packet > PACKET_MAX {
            return Err(InputError::new("packet", packet.to_string(), format!("1ps to {PACKET_MAX}")));
        }
        let offered = Offered { packet: packet.as_ps(), load };
        if period(packet.as_ps(), load) > u128::from(u64::MAX) {
            let mistake = format!("{load} of a link where a packet takes {packet}");
            return Err(InputError::new("load", mistake, "0, or a packet in at most 281s on average"));
        }
        Ok(offered)
    }

    /// Mean time from packet to packet [2^-16 ps].
    fn period(self) -> u64 {
        self.period_at(self.load)
    }

    /// Mean time from packet to packet at share `load` of the link, the offered load or more [2^-16 ps].
    fn period_at(self, load: Share) -> u64 {
        assert!(load >= self.load, "a shorter period than the checked one fits as well");
        period(self.packet, load) as u64
    }
}

/// How long a packet of `packet` ps lasts at share `load`, above 0, of its link [2^-16 ps].
fn period(packet: u64, load: Share) -> u128 {
    (u128::from(packet) << FRACTION) * u128::from(Share::PARTS) / u128::from(load.parts())
}

/// An exponential span of this mean [2^-16 ps].
#[inline]
fn exponential(mean: u64, random: &mut Stream) -> u128 {
    (u128::from(mean) * u128::from(random.exponential())) >> 32
}

/// Declares the family: variant, module and thus parameters, plan and name.
macro_rules! arrivals {
    ($($(#[$doc:meta])* $member:ident = $module:ident, $name:literal;)*) => {
        /// An arrival process, as a scenario names it.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Arrival {
            $($(#[$doc])* $member($member),)*
        }

        /// An arrival process prepared for packets of one size at one load.
        #[derive(Clone, Debug)]
        pub struct ArrivalPlan(GapPlan);

        #[derive(Clone, Debug)]
        enum GapPlan {
            /// Load 0.
            Never,
            $($member($module::GapPlan),)*
        }

        impl Arrival {
            /// The names of all members, in order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Every member with its default parameters, in order.
            pub fn defaults() -> Vec<Arrival> {
                vec![$(Arrival::$member($member::default())),*]
            }

            /// Its name in a scenario.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Arrival::$member(_) => $name,)*
                }
            }

            /// Prepares packets that occupy the host's link for `packet` each, at an offered `load` of that link.
            ///
            /// # Errors
            /// When a packet takes no time or more than a second, packets come less than once in 281 s, or the
            /// parameters make no process of that load.
            pub fn plan(&self, packet: Duration, load: Share) -> Result<ArrivalPlan, InputError> {
                // At load 0 the parameters are checked all the same, at one that suits all.
                let offered = Offered::new(packet, if load == Share::NONE { Share::percent(1) } else { load })?;
                let plan = match self {
                    $(Arrival::$member(parameters) => GapPlan::$member(parameters.plan(offered)?),)*
                };
                Ok(ArrivalPlan(if load == Share::NONE { GapPlan::Never } else { plan }))
            }
        }

        impl ArrivalPlan {
            /// Returns the time from the last packet of this host to its next, or from the start to its first: at most
            /// [`GAP_MAX`].
            #[inline]
            pub fn next(&self, host: &mut HostArrivals) -> Duration {
                let gap = match &self.0 {
                    GapPlan::Never => return GAP_MAX,
                    $(GapPlan::$member(plan) => plan.gap(host),)*
                };
                let sum = gap + u128::from(host.fraction);
                // The low FRACTION bits.
                host.fraction = sum as u16;
                let ps = u64::try_from(sum >> FRACTION).unwrap_or(u64::MAX);
                Duration::from_ps(ps).min(GAP_MAX)
            }
        }
    };
}

arrivals! {
    /// A packet in each slot with the same chance.
    Bernoulli = bernoulli, "bernoulli";
    /// Gaps without memory.
    Poisson = poisson, "poisson";
    /// Gaps whose logarithms are normal.
    LogNormal = log_normal, "log_normal";
    /// Bursts with silence between them.
    OnOff = on_off, "on_off";
    /// Equal gaps.
    Periodic = periodic, "periodic";
}

impl Default for Arrival {
    fn default() -> Arrival {
        Arrival::Bernoulli(Bernoulli::default())
    }
}
