//! Sizes of flows: distributions that papers use, and others by their points.

use etherweave_primitives::{Bytes, InputError, Stream};

use crate::limits::MESSAGE_MAX;

/// Sizes of flows.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowSizes {
    /// Web search of the DCTCP paper, as HPCC's generator has it: mean 1,711,250 B.
    #[default]
    WebSearch,
    /// Hadoop at Facebook, as HPCC's generator has it (`FbHdp`): mean 120,421 B.
    FacebookHadoop,
    /// Another Hadoop, of the simulations of ABM, with much longer flows: mean 3,423,841 B.
    Hadoop,
    /// Storage at Alibaba, as HPCC's generator has it (`AliStorage2019`): mean 40,870 B.
    Storage,
    /// Data mining of the VL2 paper, as the simulations of ABM have it: mean 5,036,535 B.
    DataMining,
    /// One size of all flows.
    Fixed(Bytes),
    /// Points of a distribution.
    Points(SizePoints),
}

/// A distribution of sizes by its points.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SizePoints {
    /// Size in bytes and share of flows that are no larger, both rising; shares up to 1, or all up to 100.
    pub points: Vec<(u64, f64)>,
    /// The same as text, a size and a share in each line, as the generators of HPCC and ABM read it. A number alone in
    /// the first line, as in Homa's lists, is the mean, within 1 % of the computed mean.
    #[serde(deserialize_with = "crate::limits::written_text", skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Whether a flow has the size of a point, as in Homa's lists, or any between two points. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub steps: bool,
}

/// `traffic_gen/WebSearch_distribution.txt` of alibaba-edu/High-Precision-Congestion-Control.
const WEB_SEARCH: &[(u64, f64)] = &[
    (0, 0.0),
    (10_000, 0.15),
    (20_000, 0.20),
    (30_000, 0.30),
    (50_000, 0.40),
    (80_000, 0.53),
    (200_000, 0.60),
    (1_000_000, 0.70),
    (2_000_000, 0.80),
    (5_000_000, 0.90),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
];
/// `FbHdp_distribution.txt` of the same.
const FACEBOOK_HADOOP: &[(u64, f64)] = &[
    (0, 0.0),
    (100, 0.01),
    (200, 0.02),
    (300, 0.05),
    (350, 0.15),
    (400, 0.20),
    (500, 0.30),
    (600, 0.40),
    (700, 0.50),
    (1_000, 0.60),
    (2_000, 0.67),
    (7_000, 0.70),
    (30_000, 0.72),
    (50_000, 0.82),
    (80_000, 0.87),
    (120_000, 0.90),
    (300_000, 0.95),
    (1_000_000, 0.975),
    (2_000_000, 0.99),
    (10_000_000, 1.0),
];
/// `examples/ABM/hadoop.csv` of inet-tub/ns3-datacenter.
const HADOOP: &[(u64, f64)] = &[
    (325, 0.0),
    (1_177, 0.017_29),
    (4_264, 0.022_43),
    (15_443, 0.027_66),
    (28_000, 0.06),
    (37_323, 0.104_88),
    (51_067, 0.335_91),
    (74_908, 0.515_48),
    (93_293, 0.641_89),
    (141_819, 0.772_50),
    (237_853, 0.889_45),
    (573_344, 0.957_21),
    (2_076_744, 0.965_64),
    (7_521_945, 0.968_72),
    (27_244_995, 0.974_24),
    (98_686_787, 0.983_86),
    (223_092_956, 1.0),
];
/// `AliStorage2019.txt` of HPCC's generator.
const STORAGE: &[(u64, f64)] = &[
    (0, 0.0),
    (4_000, 0.2293),
    (8_000, 0.6921),
    (16_000, 0.8061),
    (32_000, 0.9047),
    (64_000, 0.9353),
    (128_000, 0.9677),
    (256_000, 0.9753),
    (2_000_000, 1.0),
];
/// `examples/ABM/datamining.csv` of inet-tub/ns3-datacenter.
const DATA_MINING: &[(u64, f64)] = &[
    (100, 0.0),
    (180, 0.085),
    (250, 0.14),
    (560, 0.33),
    (900, 0.47),
    (1_100, 0.55),
    (1_870, 0.65),
    (3_160, 0.7),
    (10_000, 0.8),
    (100_001, 0.874),
    (400_000, 0.9),
    (1_850_000, 0.95),
    (10_000_000, 0.97),
    (30_000_000, 0.98),
    (100_000_000, 0.99),
    (250_000_000, 0.995),
    (1_000_000_000, 1.0),
];

/// Share of the mean by which the mean that a text states may differ.
const MEAN_ERROR_MAX: f64 = 0.01;

#[derive(Clone, Debug)]
pub(super) struct SizeDraw {
    points: Vec<(u64, f64)>,
    steps: bool,
}

impl FlowSizes {
    /// # Errors
    /// When points are no distribution, or a size is none.
    pub(super) fn draws(&self) -> Result<SizeDraw, InputError> {
        let shipped = |points: &[(u64, f64)]| Ok(SizeDraw { points: points.to_vec(), steps: false });
        match self {
            FlowSizes::WebSearch => shipped(WEB_SEARCH),
            FlowSizes::FacebookHadoop => shipped(FACEBOOK_HADOOP),
            FlowSizes::Hadoop => shipped(HADOOP),
            FlowSizes::Storage => shipped(STORAGE),
            FlowSizes::DataMining => shipped(DATA_MINING),
            FlowSizes::Fixed(bytes) => {
                let is_size = (1..=MESSAGE_MAX.get()).contains(&bytes.get());
                InputError::unless(is_size, "sizes.fixed", bytes, format!("1B to {MESSAGE_MAX}"))?;
                Ok(SizeDraw { points: vec![(bytes.get(), 1.0)], steps: true })
            }
            FlowSizes::Points(points) => points.draws().map_err(|error| error.within("sizes.points")),
        }
    }
}

impl FlowSizes {
    /// File from which the points of a shipped distribution are; none of others.
    pub(super) fn source(&self) -> Option<&'static str> {
        match self {
            FlowSizes::WebSearch => Some("HPCC's WebSearch_distribution.txt"),
            FlowSizes::FacebookHadoop => Some("HPCC's FbHdp_distribution.txt"),
            FlowSizes::Hadoop => Some("ABM's hadoop.csv"),
            FlowSizes::Storage => Some("HPCC's AliStorage2019.txt"),
            FlowSizes::DataMining => Some("ABM's datamining.csv"),
            FlowSizes::Fixed(_) | FlowSizes::Points(_) => None,
        }
    }
}

impl SizePoints {
    fn draws(&self) -> Result<SizeDraw, InputError> {
        let SizeLines { mut points, mean } =
            if self.text.is_empty() { SizeLines::of(self.points.clone()) } else { lines(&self.text)? };
        let key = if self.text.is_empty() { "points" } else { "text" };
        let last = points.last().map_or(0.0, |&(_, share)| share);
        let expected = "sizes and shares that rise, the last share 1 (or 100)";
        InputError::unless(last == 1.0 || last == 100.0, key, format!("a last share of {last}"), expected)?;
        points.iter_mut().for_each(|(_, share)| *share /= last);
        let is_number = points.iter().all(|(_, share)| share.is_finite());
        InputError::unless(is_number, key, "a share that is no number", expected)?;
        let falls = points.windows(2).find(|pair| pair[0].0 > pair[1].0 || pair[0].1 > pair[1].1);
        if let Some(pair) = falls {
            let [(size, share), (next, other)] = [pair[0], pair[1]];
            return Err(InputError::new(key, format!("{next} {other} behind {size} {share}"), expected));
        }
        let (first, largest) = (points[0].1, points[points.len() - 1].0);
        InputError::unless(first >= 0.0, key, format!("a share of {first}"), expected)?;
        let is_size = (1..=MESSAGE_MAX.get()).contains(&largest);
        InputError::unless(is_size, key, format!("a largest size of {largest}B"), format!("1B to {MESSAGE_MAX}"))?;
        let draw = SizeDraw { points, steps: self.steps };
        mean.map_or(Ok(()), |mean| mean.check(&draw))?;
        Ok(draw)
    }
}

/// Contents of a text of sizes: its points, and the mean that its first line may state.
struct SizeLines {
    points: Vec<(u64, f64)>,
    mean: Option<StatedMean>,
}

impl SizeLines {
    fn of(points: Vec<(u64, f64)>) -> SizeLines {
        SizeLines { points, mean: None }
    }
}

/// Mean size that a text states in its first line.
struct StatedMean {
    line: usize,
    bytes: f64,
}

impl StatedMean {
    /// # Errors
    /// When sizes have another mean: arrivals at a load follow from it.
    fn check(&self, draw: &SizeDraw) -> Result<(), InputError> {
        let other = SizeDraw { points: draw.points.clone(), steps: !draw.steps };
        let [mean, other_mean] = [draw, &other].map(SizeDraw::mean);
        let is_mean = |mean: f64| (self.bytes - mean).abs() <= MEAN_ERROR_MAX * mean;
        let stated = format!("{}, the mean where a line has no share", self.bytes);
        let mut expected = format!("{mean:.2}, the mean of these sizes");
        if is_mean(other_mean) {
            expected += &format!("; it is {other_mean:.2} with steps = {}", other.steps);
        }
        InputError::unless(is_mean(mean), "text", stated, expected).map_err(|error| error.at_line(self.line))
    }
}

/// The mean that the first line has, if it has a single number, then a size and a share in each line.
fn lines(text: &str) -> Result<SizeLines, InputError> {
    let (mut points, mut mean) = (Vec::new(), None);
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || ",;".contains(c)).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        if words.is_empty() || words[0].starts_with('#') {
            continue;
        }
        if let ([bytes], true) = (&words[..], points.is_empty() && mean.is_none()) {
            mean = bytes.parse().ok().map(|bytes| StatedMean { line: number, bytes });
        }
        if mean.as_ref().is_some_and(|mean| mean.line == number) {
            continue;
        }
        let point = match words[..] {
            [size, share] => size.parse::<f64>().ok().zip(share.parse::<f64>().ok()),
            _ => None,
        };
        let point = point.filter(|&(size, share)| (0.0..1e15).contains(&size) && share.is_finite());
        let (size, share) = point.ok_or_else(|| {
            // The line is not repeated: the key may name a file that is none of the author's.
            InputError::new("text", "not two numbers", "a size in bytes and a share of flows").at_line(number)
        })?;
        points.push((size.round() as u64, share));
    }
    Ok(SizeLines { points, mean })
}

impl SizeDraw {
    /// Mean size [B].
    pub fn mean(&self) -> f64 {
        let (mut mean, mut before) = (0.0, (self.points[0].0, 0.0));
        for &(size, share) in &self.points {
            let middle = if self.steps { size as f64 } else { (size as f64 + before.0 as f64) / 2.0 };
            mean += (share - before.1) * middle;
            before = (size, share);
        }
        mean
    }

    /// The size below which a share of flows is, 1 or more [B].
    pub fn quantile(&self, share: f64) -> u64 {
        let at = self.points.partition_point(|&(_, below)| below < share).min(self.points.len() - 1);
        let (size, upper) = self.points[at];
        let (below, lower) = at.checked_sub(1).map_or((size, 0.0), |before| self.points[before]);
        if self.steps || upper <= lower {
            return size.max(1);
        }
        let part = (size - below) as f64 * ((share - lower) / (upper - lower));
        (below + part.round() as u64).max(1)
    }

    /// A size [B].
    pub fn draw(&self, random: &mut Stream) -> u64 {
        // The middle of one of 2^53 cells, so that every step of the way is exact on every platform.
        self.quantile(((random.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_distributions_have_the_moments_of_their_files() {
        // Mean, median, 90th and 99th percentile by linear interpolation between the points of each file.
        let known = [
            (FlowSizes::WebSearch, "1,711,250", 73_077, 5_000_000, 23_333_333),
            (FlowSizes::FacebookHadoop, "120,421", 700, 120_000, 2_000_000),
            (FlowSizes::Hadoop, "3,423,841", 72_853, 290_104, 146_034_142),
            (FlowSizes::Storage, "40,870", 6_340, 31_237, 1_293_927),
            (FlowSizes::DataMining, "5,036,535", 975, 400_000, 100_000_000),
        ];
        let schema = format!("{:?}", schemars::schema_for!(FlowSizes));
        for (sizes, stated, median, p90, p99) in known {
            let mean: f64 = stated.replace(',', "").parse().unwrap();
            assert!(schema.contains(&format!("mean {stated} B")), "{stated} in {schema}");
            assert!(sizes.source().is_some());
            let draws = sizes.draws().unwrap();
            assert!((draws.mean() - mean).abs() <= 1.0, "{sizes:?}: {}", draws.mean());
            let quantiles = [0.5, 0.9, 0.99].map(|share| draws.quantile(share));
            for (quantile, known) in quantiles.into_iter().zip([median, p90, p99]) {
                assert!(quantile.abs_diff(known) <= known / 2_000, "{sizes:?}: {quantiles:?}");
            }
        }
    }

    /// Mean of n draws, whose relative error is cv/√n: within four of them.
    #[test]
    fn drawn_sizes_have_the_mean_of_their_distribution() {
        use FlowSizes::{DataMining, FacebookHadoop, Hadoop, Storage, WebSearch};
        for sizes in [WebSearch, FacebookHadoop, Hadoop, Storage, DataMining] {
            let draws = sizes.draws().unwrap();
            let mut random = Stream::new(1, etherweave_primitives::Purpose::Sizes, 0);
            let drawn: Vec<f64> = (0..200_000).map(|_| draws.draw(&mut random) as f64).collect();
            let count = drawn.len() as f64;
            let mean = drawn.iter().sum::<f64>() / count;
            let variance = drawn.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / count;
            let error = (mean - draws.mean()).abs();
            assert!(error < 4.0 * (variance / count).sqrt(), "{sizes:?}: {mean} where {} is the mean", draws.mean());
        }
    }

    #[test]
    fn lists_of_both_scales_and_of_steps_are_read() {
        let points = |text: &str, steps| {
            let points = SizePoints { text: text.to_owned(), steps, ..SizePoints::default() };
            FlowSizes::Points(points).draws()
        };
        let percent = points("\u{feff}# bytes percent\n0 0\n1000 50\n9000 100\n", false).unwrap();
        assert_eq!((percent.mean(), percent.quantile(0.25)), (2_750.0, 500));
        let fractions = points("0;0\n1000;0.5\n9000;1\n", false).unwrap();
        assert_eq!(fractions.mean(), 2_750.0);
        let steps = points("46 0.27\n107 0.34\n256 1", true).unwrap();
        assert_eq!((steps.quantile(0.2), steps.quantile(0.3), steps.quantile(0.9)), (46, 107, 256));
    }

    /// Points alone: 100 · 0.5 + 4,000 · 0.25 + 9,000 · 0.25 = 3,300. Between them: 100 · 0.5 + 2,050 · 0.25 +
    /// 6,500 · 0.25 = 2,187.5.
    #[test]
    fn a_number_alone_in_the_first_line_is_the_mean() {
        let draws = |mean: &str, steps| {
            let text = format!("# Homa\n{mean}\n100 0.5\n4000  0.75\n9000\t1\n");
            SizePoints { text, steps, ..SizePoints::default() }.draws()
        };
        for (mean, steps, known) in [("3300.0", true, 3_300.0), ("3270", true, 3_300.0), ("2187.5", false, 2_187.5)] {
            assert_eq!(draws(mean, steps).unwrap().mean(), known);
        }
    }
}
