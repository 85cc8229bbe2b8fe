//! Requests: when they arrive, and how many tokens they have.

use std::f64::consts::E;

use etherweave_primitives::{Duration, InputError, InputErrors, Purpose, Stream};

use crate::{exact::power, limits::at_least, limits::within};

pub(super) const REQUESTS_MAX: u32 = 1 << 20;
/// Most tokens of a prompt or an answer.
const TOKENS_MAX: u32 = 1 << 24;
/// Latest arrival of a list, two months [ms].
const ARRIVAL_MAX_MS: f64 = 5e9;
/// Longest list [B].
const LIST_BYTES_MAX: usize = 64 << 20;
const HEAD: &str = "time_ms,input_tokens,output_tokens";
/// Parts of a unit in numbers of `Stream::exponential`.
const UNIT: f64 = (1_u64 << 32) as f64;

/// Requests to a service.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum ServedRequests {
    /// Drawn at random.
    Drawn(DrawnRequests),
    /// List of requests.
    Listed(ListedRequests),
}

etherweave_primitives::params! {
    /// Requests that are drawn: gaps between them have a gamma distribution.
    pub struct DrawnRequests {
        /// Number of them, 1 or more.
        pub count: u32 = 100,
        /// Mean gap between two requests.
        pub interval: Duration = Duration::from_ms(200),
        /// Coefficient of variation of these gaps, 0.1 to 10: 1 are Poisson arrivals, more are bursts.
        pub variation: f64 = 1.0,
        /// Tokens of a prompt.
        pub input: TokenCounts = TokenCounts::Fixed(4_096),
        /// Tokens of an answer.
        pub output: TokenCounts = TokenCounts::Fixed(64),
    }
}

/// Numbers of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum TokenCounts {
    /// A number that all requests have.
    Fixed(u32),
    /// All from `min` to `max` alike.
    Uniform {
        /// Least.
        min: u32,
        /// Most.
        max: u32,
    },
    /// Exponentially distributed around a mean, cut at `max`.
    Exponential {
        /// Mean before the cut.
        mean: u32,
        /// Most.
        max: u32,
    },
}

/// A list of requests.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListedRequests {
    /// Lines behind the head `time_ms,input_tokens,output_tokens`; `file = "NAME"` reads them from beside the scenario.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub arrival: Duration,
    pub input: u32,
    pub output: u32,
}

impl TokenCounts {
    fn check(self, key: &str) -> Result<(), InputError> {
        let (least, most) = match self {
            TokenCounts::Fixed(count) => (count, count),
            TokenCounts::Uniform { min, max } => (min, max),
            TokenCounts::Exponential { mean, max } => (mean, max),
        };
        let expected = format_args!("1 to {TOKENS_MAX}, the least first");
        let range = format_args!("{least} and {most} tokens");
        InputError::unless(1 <= least && least <= most && most <= TOKENS_MAX, key, range, expected)
    }

    fn draw(self, random: &mut Stream) -> u32 {
        match self {
            TokenCounts::Fixed(count) => count,
            TokenCounts::Uniform { min, max } => min + random.below(u64::from(max - min) + 1) as u32,
            TokenCounts::Exponential { mean, max } => {
                let drawn = (u128::from(mean) * u128::from(random.exponential())) >> 32;
                (drawn as u64).clamp(1, max.into()) as u32
            }
        }
    }
}

impl Default for ServedRequests {
    fn default() -> ServedRequests {
        ServedRequests::Drawn(DrawnRequests::default())
    }
}

impl ServedRequests {
    /// All of them, in the order of their arrival.
    ///
    /// # Errors
    /// When a number is out of its range, or at the line of a mistake.
    pub(super) fn all(&self, seed: u64) -> Result<Vec<Request>, InputErrors> {
        match self {
            ServedRequests::Drawn(drawn) => drawn.draw(seed).map_err(|errors| errors.within("drawn")),
            ServedRequests::Listed(list) => Ok(read(&list.text).map_err(|error| error.within("listed.text"))?),
        }
    }
}

impl DrawnRequests {
    fn draw(&self, seed: u64) -> Result<Vec<Request>, InputErrors> {
        let is_variation = (0.1..=10.0).contains(&self.variation);
        InputErrors::all([
            within("count", self.count, 1..=REQUESTS_MAX),
            InputError::unless(is_variation, "variation", self.variation, "0.1 to 10"),
            InputError::unless(!self.interval.is_zero(), "interval", "0s", "more than 0s"),
            self.input.check("input"),
            self.output.check("output"),
        ])?;
        let (mut gaps, mut sizes) = (Stream::new(seed, Purpose::Arrivals, 0), Stream::new(seed, Purpose::Sizes, 0));
        let shape = 1.0 / (self.variation * self.variation);
        let scale = self.interval.as_ps() as f64 / shape;
        let mut arrival = Duration::ZERO;
        let draw = |_| {
            let gap = (gamma(shape, &mut gaps) * scale) as u64;
            arrival = Duration::from_ps(arrival.as_ps().saturating_add(gap));
            Request { arrival, input: self.input.draw(&mut sizes), output: self.output.draw(&mut sizes) }
        };
        Ok((0..self.count).map(draw).collect())
    }
}

fn exponential(random: &mut Stream) -> f64 {
    random.exponential() as f64 / UNIT
}

/// A number with a gamma distribution of scale 1: as many exponential ones as the shape has units, and a part by
/// Johnk's method (L. Devroye, *Non-Uniform Random Variate Generation*, 1986, section IX.3).
fn gamma(shape: f64, random: &mut Stream) -> f64 {
    let units: f64 = (0..shape as u32).map(|_| exponential(random)).sum();
    let part = shape.fract();
    if part < 1e-9 {
        return units;
    }
    loop {
        let [x, y] = [part, 1.0 - part].map(|share| 1.0 / power(E, (exponential(random) / share).min(600.0)));
        if x + y <= 1.0 && x + y > 0.0 {
            return units + exponential(random) * x / (x + y);
        }
    }
}

fn read(text: &str) -> Result<Vec<Request>, InputError> {
    InputError::unless(text.len() <= LIST_BYTES_MAX, "", format!("{} bytes", text.len()), "at most 64 MiB")?;
    let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines()).map(|(number, line)| (number, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let head = lines.next().unwrap_or((1, ""));
    InputError::unless(head.1 == HEAD, "", format!("\"{}\"", head.1), HEAD).map_err(|error| error.at_line(head.0))?;
    let mut requests = Vec::new();
    for (number, line) in lines {
        let request = request(line).map_err(|error| error.at_line(number))?;
        requests.push(request);
        at_most_requests(requests.len())?;
    }
    let count = u32::try_from(requests.len()).unwrap_or(u32::MAX);
    at_least("", count, 1)?;
    requests.sort_by_key(|request| request.arrival);
    Ok(requests)
}

fn at_most_requests(count: usize) -> Result<(), InputError> {
    InputError::unless(count <= REQUESTS_MAX as usize, "", "more requests", format_args!("at most {REQUESTS_MAX}"))
}

fn request(line: &str) -> Result<Request, InputError> {
    let words: Vec<&str> = line.split(',').map(str::trim).collect();
    let [time, input, output] = words[..] else { return Err(InputError::new("", line, HEAD)) };
    let time_ms = time.parse::<f64>().ok().filter(|time| (0.0..=ARRIVAL_MAX_MS).contains(time));
    let time_ms = time_ms.ok_or_else(|| InputError::new("", time, "a time of 0 or more [ms]"))?;
    let tokens = |word: &str| {
        let count = word.parse::<u32>().ok().filter(|count| (1..=TOKENS_MAX).contains(count));
        count.ok_or_else(|| InputError::new("", word, format_args!("1 to {TOKENS_MAX} tokens")))
    };
    let arrival = Duration::from_ps((time_ms * 1e9).round() as u64);
    Ok(Request { arrival, input: tokens(input)?, output: tokens(output)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and coefficient of variation of gaps, and the mean prompt.
    fn moments(variation: f64) -> (f64, f64) {
        let drawn = DrawnRequests { count: 40_000, variation, ..DrawnRequests::default() };
        let requests = drawn.draw(1).unwrap();
        let gaps: Vec<f64> = requests.windows(2).map(|pair| (pair[1].arrival - pair[0].arrival).as_s_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn gaps_have_the_mean_and_the_variation_that_is_asked_for() {
        for variation in [0.5, 1.0, 1.7, 3.0] {
            let (mean, measured) = moments(variation);
            assert!((mean / 0.2 - 1.0).abs() < 0.06 && (measured / variation - 1.0).abs() < 0.06, "{mean} {measured}");
        }
    }

    #[test]
    fn lists_are_read_in_the_order_of_arrival() {
        let requests = read("time_ms,input_tokens,output_tokens\n# two\n3.5, 10, 2\n1,20,3\n").unwrap();
        let expected = [(1_000, 20, 3), (3_500, 10, 2)];
        let of = |(us, input, output)| Request { arrival: Duration::from_us(us), input, output };
        assert_eq!(requests, expected.map(of));
        for (text, error) in [
            ("", "line 1: \"\"; expected time_ms,input_tokens,output_tokens"),
            ("time_ms,input_tokens,output_tokens\n1,2", "line 2: 1,2; expected time_ms,input_tokens,output_tokens"),
            ("time_ms,input_tokens,output_tokens\n-1,2,3", "line 2: -1; expected a time of 0 or more [ms]"),
            ("time_ms,input_tokens,output_tokens\n1,0,3", "line 2: 0; expected 1 to 16777216 tokens"),
        ] {
            assert!(read(text).unwrap_err().to_string().ends_with(error), "{}", read(text).unwrap_err());
        }
    }
}
