//! Experts of a token: the top k of a gate's scores, or the top k among the few best groups of experts.
//!
//! Scores are drawn as an order of experts: by weight, without replacement, which is what the k largest of scores with
//! Gumbel noise are. A group counts by its best expert, so that the groups that a token keeps are the first in that
//! order.

use etherweave_primitives::{InputError, Stream};

use crate::{Share, exact::power};

/// Weight of the likeliest expert.
const WEIGHT_MAX: u64 = 1 << 40;
/// Largest exponent of Zipf's law.
const ALPHA_MAX: f64 = 4.0;
/// Draws of an expert that the token has already, before those that it has not are counted.
const TRIES: u32 = 8;

/// Gate of a mixture of experts.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Gate {
    /// All experts alike.
    #[default]
    Uniform,
    /// Expert i, from 0, with probability proportional to (i + 1)^-alpha.
    Zipf {
        /// Exponent, 0 to 4.
        alpha: f64,
    },
    /// A share of the tokens go to the first experts alone, the others to all alike.
    Hot {
        /// Hot experts, at least `top_k`.
        experts: u32,
        /// Share of the tokens that choose among these alone.
        share: Share,
    },
    /// Experts by their load.
    Loads(ExpertLoads),
}

/// Loads of experts.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExpertLoads {
    /// Load of each expert, a number in each line, in any unit; `file = "NAME"` reads it from beside the scenario.
    pub text: String,
}

impl ExpertLoads {
    /// The loads, relative to the largest.
    ///
    /// # Errors
    /// At the line of a mistake, and where there is not one for each expert.
    fn weights(&self, experts: u32) -> Result<Vec<u64>, InputError> {
        let lines = (1..).zip(self.text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
        let read = |(number, line): (usize, &str)| {
            let load = line.parse::<f64>().ok().filter(|load| (0.0..=1e18).contains(load));
            load.ok_or_else(|| InputError::new("", line, "a load of 0 to 1e18").at_line(number))
        };
        let loads = lines.map(read).collect::<Result<Vec<f64>, InputError>>()?;
        let expected = format_args!("{experts}, one for each expert");
        InputError::unless(loads.len() == experts as usize, "", format!("{} loads", loads.len()), expected)?;
        let largest = loads.iter().copied().fold(0.0, f64::max);
        InputError::unless(largest > 0.0, "", "no load", "an expert with a load above 0")?;
        Ok(loads.iter().map(|load| weight(load / largest)).collect())
    }
}

/// A weight relative to the largest; never nothing, so that every token finds its experts.
fn weight(share: f64) -> u64 {
    ((share * WEIGHT_MAX as f64) as u64).max(1)
}

struct Weights {
    /// Sums of the weights up to each expert.
    sums: Vec<u64>,
}

impl Weights {
    fn new(weights: impl Iterator<Item = u64>) -> Weights {
        let sum = |sum: &mut u64, weight: u64| {
            *sum += weight;
            Some(*sum)
        };
        Weights { sums: weights.scan(0, sum).collect() }
    }

    fn of(&self, expert: usize) -> u64 {
        self.sums[expert] - if expert == 0 { 0 } else { self.sums[expert - 1] }
    }

    fn draw(&self, is_taken: &[bool], random: &mut Stream) -> Option<usize> {
        let all = *self.sums.last()?;
        for _ in 0..TRIES {
            let point = random.below(all);
            let expert = self.sums.partition_point(|&sum| sum <= point);
            if !is_taken[expert] {
                return Some(expert);
            }
        }
        let free = |expert: &usize| !is_taken[*expert];
        let left: u64 = (0..self.sums.len()).filter(free).map(|expert| self.of(expert)).sum();
        let mut point = if left == 0 { return None } else { random.below(left) };
        (0..self.sums.len()).filter(free).find(|&expert| {
            let is_it = point < self.of(expert);
            point = point.saturating_sub(self.of(expert));
            is_it
        })
    }
}

pub(super) struct Selector {
    weights: Weights,
    /// Hot experts, and the share of the tokens that choose among them.
    hot: Option<(Weights, Share)>,
    top_k: usize,
    /// Experts of a group, and groups that a token may keep.
    group: usize,
    group_limit: usize,
    is_taken: Vec<bool>,
    kept: Vec<usize>,
    drawn: Vec<usize>,
    chosen: Vec<u32>,
}

impl Selector {
    /// Those of a gate.
    ///
    /// # Errors
    /// When the gate does not fit the experts.
    pub fn new(gate: &Gate, experts: u32, top_k: u32, [groups, limit]: [u32; 2]) -> Result<Selector, InputError> {
        let alike = |count: u32| Weights::new((0..count).map(|_| 1));
        let (mut weights, mut hot) = (alike(experts), None);
        match gate {
            Gate::Uniform => {}
            Gate::Zipf { alpha } => {
                let expected = format_args!("0 to {ALPHA_MAX}");
                InputError::unless((0.0..=ALPHA_MAX).contains(alpha), "gate.zipf.alpha", alpha, expected)?;
                weights = Weights::new((1..=experts).map(|place| weight(1.0 / power(f64::from(place), *alpha))));
            }
            Gate::Hot { experts: count, share } => {
                let expected = format_args!("{top_k} to {experts}, from top_k to all experts");
                InputError::unless((top_k..=experts).contains(count), "gate.hot.experts", count, expected)?;
                hot = Some((alike(*count), *share));
            }
            Gate::Loads(loads) => {
                let loads = loads.weights(experts).map_err(|error| error.within("gate.loads.text"))?;
                weights = Weights::new(loads.into_iter());
            }
        }
        Ok(Selector {
            weights,
            hot,
            top_k: top_k as usize,
            group: (experts / groups) as usize,
            group_limit: limit as usize,
            is_taken: vec![false; experts as usize],
            kept: Vec::new(),
            drawn: Vec::new(),
            chosen: Vec::new(),
        })
    }

    /// The experts of the next token, each once.
    pub fn select(&mut self, random: &mut Stream) -> &[u32] {
        self.drawn.drain(..).for_each(|expert| self.is_taken[expert] = false);
        self.kept.clear();
        self.chosen.clear();
        let hot = self.hot.as_ref().filter(|(_, share)| random.happens(share.parts(), Share::PARTS));
        while self.chosen.len() < self.top_k {
            // Groups may leave too few hot experts: the others follow.
            let of_hot = hot.and_then(|(weights, _)| weights.draw(&self.is_taken, random));
            let expert = of_hot.or_else(|| self.weights.draw(&self.is_taken, random));
            let expert = expert.expect("the groups of a token have experts enough");
            self.is_taken[expert] = true;
            self.drawn.push(expert);
            let group = expert / self.group;
            if !self.kept.contains(&group) {
                if self.kept.len() == self.group_limit {
                    continue;
                }
                self.kept.push(group);
            }
            self.chosen.push(expert as u32);
        }
        &self.chosen
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Purpose;

    use super::*;

    /// Mean number of distinct groups of `of` experts that a token's experts are in.
    fn distinct(gate: &Gate, experts: u32, groups: [u32; 2], of: u32) -> f64 {
        let mut selector = Selector::new(gate, experts, 8, groups).unwrap();
        let mut random = Stream::new(1, Purpose::Traffic, 0);
        let count = |chosen: &[u32]| chosen.iter().map(|expert| expert / of).collect::<std::collections::BTreeSet<_>>();
        let tokens = 4_000;
        (0..tokens).map(|_| count(selector.select(&mut random)).len()).sum::<usize>() as f64 / f64::from(tokens)
    }

    /// `R (1 - C(E - E/R, k) / C(E, k))` of `get_theoretical_num_sms` in DeepEP, for R parts of the experts.
    fn expected(experts: u32, parts: u32, top_k: u32) -> f64 {
        let others = experts - experts / parts;
        let miss: f64 = (0..top_k).map(|place| f64::from(others - place) / f64::from(experts - place)).product();
        f64::from(parts) * (1.0 - miss)
    }

    #[test]
    fn a_token_goes_to_as_many_ranks_and_nodes_as_combinatorics_say() {
        for parts in [2, 4, 8, 16, 32, 64] {
            let (measured, expected) = (distinct(&Gate::Uniform, 256, [1, 1], 256 / parts), expected(256, parts, 8));
            assert!((measured / expected - 1.0).abs() < 0.01, "{parts}: {measured}, {expected}");
        }
    }

    /// 8 nodes are the groups: 3.98 nodes and 7.48 ranks of 64, of 3,000 tokens with normal scores.
    #[test]
    fn a_limit_of_groups_keeps_the_groups_with_the_best_experts() {
        let of = |experts| distinct(&Gate::Uniform, 256, [8, 4], experts);
        assert!((of(32) - 3.98).abs() < 0.03 && (of(4) - 7.48).abs() < 0.05, "{} {}", of(32), of(4));
    }

    #[test]
    fn weights_are_those_of_the_gate() {
        let first = |gate: &Gate| {
            let mut selector = Selector::new(gate, 64, 1, [1, 1]).unwrap();
            let mut random = Stream::new(1, Purpose::Traffic, 0);
            (0..20_000).filter(|_| selector.select(&mut random)[0] == 0).count() as f64 / 20_000.0
        };
        let harmonic: f64 = (1..=64).map(|place| 1.0 / f64::from(place)).sum();
        assert!((first(&Gate::Zipf { alpha: 1.0 }) * harmonic - 1.0).abs() < 0.05);
        let text = (0..64).map(|expert| format!("{}\n", if expert == 0 { 63 } else { 1 })).collect();
        assert!((first(&Gate::Loads(ExpertLoads { text })) - 0.5).abs() < 0.02);
        // A tenth of the tokens goes to all of 64 alike, the others to two.
        let hot = first(&Gate::Hot { experts: 2, share: Share::percent(90) });
        assert!((hot - (0.45 + 0.1 / 64.0)).abs() < 0.02, "{hot}");
    }
}
