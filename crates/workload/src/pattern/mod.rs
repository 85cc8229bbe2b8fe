//! Patterns of open-loop traffic: the destinations to which each host sends.
//!
//! - A [`Pattern`] is the closed family, as a scenario names it. Each member is one file and one line.
//! - [`Pattern::plan`] prepares it for the hosts and groups of a fabric: [`Destinations`], the same for all hosts.
//! - [`host_destinations`] is the random stream of one host, apart from its arrivals: under other arrivals its packets
//!   go to the same places in the same order.
//! - [`Destinations::shares`] is what the draws tend to: the exact share of every destination.
//! - [`Destinations::phases`] and [`Destinations::phase`] are the schedule of a pattern that changes with time.
//!
//! Guarantees: nobody sends to itself; a destination takes a few instructions and at most two look-ups, no memory and
//! no hash. Parameters that do not fit the fabric are refused when the plan is made.
//!
//! ```
//! use etherweave_primitives::{Duration, HostId, Time};
//! use etherweave_workload::pattern::{Adversarial, host_destinations};
//! use etherweave_workload::{Arrival, HostGroups, HostArrivals, Pattern, Share};
//! // 33 groups of 8 switches with 4 hosts; 1,000 bytes at 40 Gb/s take 200 ns.
//! let groups = HostGroups::new(&[32; 33]).unwrap();
//! let destinations = Pattern::Adversarial(Adversarial::default()).plan(&groups, 1).unwrap();
//! let arrivals = Arrival::default().plan(Duration::from_ns(200), Share::percent(50)).unwrap();
//! let host = HostId::new(5);
//! let (mut state, mut random) = (HostArrivals::new(1, host), host_destinations(1, host));
//! let now = Time::ZERO + arrivals.next(&mut state);
//! let to = destinations.destination(host, now, &mut random).unwrap();
//! assert!((32..64).contains(&to.get()));
//! ```

mod adversarial;
mod alternating;
mod bit_complement;
mod bit_reverse;
mod group_local;
mod hot_spot;
mod lattice;
mod listed;
mod matrix;
mod neighbour;
mod permuted;
mod phase;
mod random_permutation;
mod shift;
mod switching;
mod tornado;
mod transpose;
mod uniform;

use etherweave_primitives::{HostId, InputError, Purpose, Stream, Time};

pub use adversarial::Adversarial;
pub use alternating::Alternating;
pub use bit_complement::BitComplement;
pub use bit_reverse::BitReverse;
pub use group_local::GroupLocal;
pub use hot_spot::HotSpot;
pub use listed::Listed;
pub use matrix::Matrix;
pub use neighbour::Neighbour;
pub use random_permutation::RandomPermutation;
pub use shift::Shift;
pub use switching::Switching;
pub use tornado::Tornado;
pub use transpose::Transpose;
pub use uniform::Uniform;

use crate::{HostGroups, HostRange};

/// The stream from which `host` draws its destinations under the run's `seed`.
pub fn host_destinations(seed: u64, host: HostId) -> Stream {
    Stream::new(seed, Purpose::Destinations, u64::from(host.get()))
}

/// Declares the family: variant, module and thus parameters, plan and name.
macro_rules! patterns {
    ($($(#[$doc:meta])* $member:ident = $module:ident, $name:literal;)*) => {
        /// A pattern, as a scenario names it.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Pattern {
            $($(#[$doc])* $member($member),)*
        }

        /// A pattern prepared for the hosts of a fabric.
        #[derive(Clone, Debug)]
        pub struct Destinations(PatternPlan);

        #[derive(Clone, Debug)]
        enum PatternPlan {
            $($member($module::PatternPlan),)*
        }

        impl Pattern {
            /// The names of all members, in order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Every member with its default parameters, in order.
            pub fn defaults() -> Vec<Pattern> {
                vec![$(Pattern::$member($member::default())),*]
            }

            /// Its name in a scenario.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Pattern::$member(_) => $name,)*
                }
            }

            /// Prepares destinations among the hosts of `groups`; `seed` is the run's.
            ///
            /// # Errors
            /// When the parameters are out of range, or do not suit the number of hosts or groups.
            pub fn plan(&self, groups: &HostGroups, seed: u64) -> Result<Destinations, InputError> {
                match self {
                    $(Pattern::$member(parameters) => {
                        let plan = parameters.plan(groups, seed).map_err(|error| error.within($name))?;
                        Ok(Destinations(PatternPlan::$member(plan)))
                    })*
                }
            }
        }

        impl Destinations {
            /// Where the packet goes that `src` has at `now`; `random` is its stream of [`host_destinations`].
            /// None when the pattern leads it back to itself: then it sends nothing.
            #[inline]
            pub fn destination(&self, src: HostId, now: Time, random: &mut Stream) -> Option<HostId> {
                match &self.0 {
                    $(PatternPlan::$member(plan) => plan.destination(src, now, random),)*
                }
            }

            /// Reports where the packets of `src` at `now` go: ranges of hosts, and the share of the packets that
            /// goes to each host of the range. Shares of all hosts add up to 1; of a host that sends nothing there are
            /// none. Ranges may overlap.
            pub fn shares(&self, src: HostId, now: Time, each: &mut dyn FnMut(HostRange, f64)) {
                match &self.0 {
                    $(PatternPlan::$member(plan) => plan.shares(src, now, each),)*
                }
            }
        }
    };
}

patterns! {
    /// Any other host, all alike.
    Uniform = uniform, "uniform";
    /// Any host of the group `offset` further: ADV+k.
    Adversarial = adversarial, "adversarial";
    /// A permutation drawn once.
    RandomPermutation = random_permutation, "random_permutation";
    /// The bits of the number backwards.
    BitReverse = bit_reverse, "bit_reverse";
    /// The number counted from the other end.
    BitComplement = bit_complement, "bit_complement";
    /// Row and column exchanged.
    Transpose = transpose, "transpose";
    /// Nearly half of the way around each ring.
    Tornado = tornado, "tornado";
    /// The host `offset` numbers further.
    Shift = shift, "shift";
    /// The next in each ring.
    Neighbour = neighbour, "neighbour";
    /// A share to few hosts, the rest to any.
    HotSpot = hot_spot, "hot_spot";
    /// A share within the group, of which a share in the leaf, the rest out of it.
    GroupLocal = group_local, "group_local";
    /// Only listed pairs.
    Listed = listed, "listed";
    /// Shares by source and destination.
    Matrix = matrix, "matrix";
    /// One pattern, then another.
    Switching = switching, "switching";
    /// Patterns by turns.
    Alternating = alternating, "alternating";
}

impl Default for Pattern {
    fn default() -> Pattern {
        Pattern::Uniform(Uniform::default())
    }
}
