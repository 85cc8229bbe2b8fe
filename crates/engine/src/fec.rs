//! Forward error correction: what the codes of IEEE 802.3 leave of bit errors, and how long their decoders wait.
//!
//! A codeword of Reed-Solomon codes has n symbols of ten bits, of which 514 are data: 20 blocks of 257 bits, for 5,120
//! bits of frames and gaps (64B/66B, transcoded). It is corrected while no more than (n − 514) / 2 symbols are wrong.
//! One of the shortened cyclic code (fire code) has 2,112 bits, for 2,048 bits of frames and gaps, and is corrected
//! while all its errors lie within 11 bits. Otherwise all frames that it has a part of are discarded. Bit errors are
//! independent, and so are frames that share a codeword.

use etherweave_primitives::{BitRate, Bytes, Duration, Length};
use etherweave_topology::{Channel, LinkClass, Medium};

/// Symbols of data in a codeword.
const DATA: u32 = 514;
/// Bits of a symbol.
const SYMBOL: u32 = 10;
/// Bits of frames and gaps that a codeword carries.
const CARRIED: u64 = 5_120;
/// Bits of a codeword of the fire code, those of frames and gaps among them, and those within which it corrects.
const FIRE: u32 = 2_112;
const FIRE_CARRIED: u64 = 2_048;
const FIRE_BURST: u32 = 11;
/// Longest copper cable at 25 Gb/s without a code (CA-25G-N; 802.3by, 110.10).
const CODELESS_COPPER: Length = Length::from_m(3);

/// Forward error correction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForwardErrorCorrection {
    /// None.
    None,
    /// FC-FEC, BASE-R FEC: the shortened cyclic code (2112,2080) of 10 and 25 Gb/s (IEEE 802.3, clause 74).
    Fc2112,
    /// RS-FEC of KR4: RS(528,514), as of 25 Gb/s (IEEE 802.3, clause 108) and of 100 Gb/s in four lanes of 25
    /// (clause 91).
    Rs528,
    /// RS-FEC of KP4: RS(544,514), as of 50 Gb/s (802.3cd) and of 100 Gb/s in lanes of 50 and 100 (clause 91).
    Rs544,
    /// Two codewords of RS(544,514) at a time, as of 200 and 400 Gb/s (802.3bs).
    Rs544Interleaved,
    /// Four codewords of RS(544,514) at a time, as of 800 Gb/s (802.3df).
    Rs544FourInterleaved,
}

/// Forward error correction of links by their class. Default: by rate and cable.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClassCodes {
    /// Code of links between hosts and switches. Absent: by rate and cable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<ForwardErrorCorrection>,
    /// Code of local links. Absent: by rate and cable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<ForwardErrorCorrection>,
    /// Code of global links. Absent: by rate and cable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global: Option<ForwardErrorCorrection>,
}

impl ClassCodes {
    /// The stated code of a class.
    pub fn stated(&self, class: LinkClass) -> Option<ForwardErrorCorrection> {
        match class {
            LinkClass::Host => self.host,
            LinkClass::Local => self.local,
            LinkClass::Global => self.global,
        }
    }

    /// A delay over a channel that contains its code by rate and cable, with the code of its class in place of that; at
    /// least zero.
    pub fn adjust(&self, delay: Duration, channel: &Channel) -> Duration {
        let Some(code) = self.stated(channel.class) else { return delay };
        let contained = ForwardErrorCorrection::of_cable(channel).wait(channel.rate);
        let sum = delay + code.wait(channel.rate);
        if sum > contained { sum - contained } else { Duration::ZERO }
    }
}

/// Codewords of a code: their sizes, and the errors that they correct.
enum Codewords {
    /// Symbols of each, and how many at a time.
    ReedSolomon(u32, u64),
    Fire,
}

impl ForwardErrorCorrection {
    fn codewords(self) -> Option<Codewords> {
        match self {
            ForwardErrorCorrection::None => None,
            ForwardErrorCorrection::Fc2112 => Some(Codewords::Fire),
            ForwardErrorCorrection::Rs528 => Some(Codewords::ReedSolomon(528, 1)),
            ForwardErrorCorrection::Rs544 => Some(Codewords::ReedSolomon(544, 1)),
            ForwardErrorCorrection::Rs544Interleaved => Some(Codewords::ReedSolomon(544, 2)),
            ForwardErrorCorrection::Rs544FourInterleaved => Some(Codewords::ReedSolomon(544, 4)),
        }
    }

    /// Rates of the links that have the code; none, where all have.
    pub fn rates(self) -> Option<&'static [BitRate]> {
        const fn gbps(rate: u64) -> BitRate {
            BitRate::from_gbps(rate)
        }
        match self {
            ForwardErrorCorrection::None => None,
            ForwardErrorCorrection::Fc2112 => Some(const { &[gbps(10), gbps(25)] }),
            ForwardErrorCorrection::Rs528 => Some(const { &[gbps(25), gbps(100)] }),
            ForwardErrorCorrection::Rs544 => Some(const { &[gbps(50), gbps(100)] }),
            ForwardErrorCorrection::Rs544Interleaved => Some(const { &[gbps(200), gbps(400)] }),
            ForwardErrorCorrection::Rs544FourInterleaved => Some(const { &[gbps(800)] }),
        }
    }

    /// The code of a channel by its rate and cable: none up to 10 Gb/s, at 40 Gb/s, and on copper at 25 Gb/s as far as
    /// it reaches without. Lanes of 25 Gb/s up to 100 Gb/s, but for 50.
    pub fn of_cable(channel: &Channel) -> ForwardErrorCorrection {
        let is_short = channel.medium == Medium::Copper && channel.length <= CODELESS_COPPER;
        match channel.rate.as_bps() / 1_000_000_000 {
            25 if is_short => ForwardErrorCorrection::None,
            25 | 100 => ForwardErrorCorrection::Rs528,
            50 => ForwardErrorCorrection::Rs544,
            200 | 400 => ForwardErrorCorrection::Rs544Interleaved,
            800 => ForwardErrorCorrection::Rs544FourInterleaved,
            _ => ForwardErrorCorrection::None,
        }
    }

    /// Bits by which a frame counts longer than it is, as it begins and ends within codewords.
    pub fn span(self) -> u64 {
        match self.codewords() {
            None => 0,
            Some(Codewords::Fire) => FIRE_CARRIED,
            Some(Codewords::ReedSolomon(_, count)) => count * CARRIED,
        }
    }

    /// Time that a decoder waits for its codewords at a rate.
    pub fn wait(self, rate: BitRate) -> Duration {
        rate.serialization_time(Bytes::new(self.span() / 8))
    }

    /// Chance that a codeword is not corrected, for each bit of frames that it carries; without a code, the rate.
    pub fn residual(self, bit_error_rate: f64) -> f64 {
        match self.codewords() {
            None => bit_error_rate,
            Some(Codewords::Fire) => lost_by_fire_code(bit_error_rate) / FIRE_CARRIED as f64,
            Some(Codewords::ReedSolomon(symbols, _)) => lost_by_reed_solomon(symbols, bit_error_rate) / CARRIED as f64,
        }
    }
}

/// Chance that more symbols of a codeword are wrong than are corrected.
fn lost_by_reed_solomon(symbols: u32, bit_error_rate: f64) -> f64 {
    let power = |base: f64, times: u32| (0..times).fold(1.0, |product, _| product * base);
    let correct = power(1.0 - bit_error_rate, SYMBOL);
    let odds = (1.0 - correct) / correct;
    // Binomial: each term from the one before.
    let (mut term, mut lost) = (power(correct, symbols), 0.0);
    for wrong in 1..=symbols {
        term *= odds * f64::from(symbols - wrong + 1) / f64::from(wrong);
        lost += if wrong > (symbols - DATA) / 2 { term } else { 0.0 };
    }
    lost
}

/// Chance that errors of a codeword lie further apart than is corrected: the first of them at any bit, and one beyond.
fn lost_by_fire_code(rate: f64) -> f64 {
    // Of `beyond` bits, the chance that all are right, and that one is wrong; of those before the first, that all are.
    let (mut right, mut wrong) = (1.0, 0.0);
    let mut before: Vec<f64> = vec![1.0];
    (1..FIRE).for_each(|bit| before.push(before[bit as usize - 1] * (1.0 - rate)));
    let mut lost = 0.0;
    for beyond in 1..=FIRE - FIRE_BURST {
        wrong += rate * right;
        right *= 1.0 - rate;
        lost += before[(FIRE - FIRE_BURST - beyond) as usize] * rate * wrong;
    }
    lost
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Family, SingleSwitch};

    use super::*;

    /// IEEE 802.3, 124.1.1 (400GBASE-DR4): at 2.4e-4, a frame loss ratio below 1.7e-12 for frames of 64 octets. 95.1.1
    /// (100GBASE-SR4): at 5e-5, below 6.2e-10.
    #[test]
    fn codes_leave_the_frame_loss_that_the_standard_allows() {
        let loss = |code: ForwardErrorCorrection, rate| code.residual(rate) * (code.span() + 64 * 8) as f64;
        let of_dr4 = loss(ForwardErrorCorrection::Rs544Interleaved, 2.4e-4);
        assert!((of_dr4 / 1.7e-12 - 1.0).abs() < 0.01, "{of_dr4}");
        // Four codewords at a time: a frame has a part of 4.1 in place of 2.1.
        let of_four = loss(ForwardErrorCorrection::Rs544FourInterleaved, 2.4e-4);
        assert!((of_four / of_dr4 - 4.1 / 2.1).abs() < 1e-6, "{of_four}");
        let of_sr4 = loss(ForwardErrorCorrection::Rs528, 5e-5);
        assert!((4e-10..6.2e-10).contains(&of_sr4), "{of_sr4}");
        // Pairs of 2,112 bits, but for those within 11 bits; more errors are rarer still.
        let of_fire_code = ForwardErrorCorrection::Fc2112.residual(1e-8) * 2_048.0;
        let pairs = (2_112.0 - 11.0) * (2_112.0 - 10.0) / 2.0;
        assert!((of_fire_code / (pairs * 1e-16) - 1.0).abs() < 1e-4, "{of_fire_code}");
    }

    /// Codewords that are corrected and codewords that are lost add up.
    #[test]
    fn the_fire_code_loses_what_lies_further_apart_than_it_corrects() {
        for rate in [1e-4f64, 1e-3] {
            let right = |bits: u32| (1.0 - rate).powi(bits as i32);
            // The first error, then any others within 11 bits of it.
            let within = |first: u32| rate * right(FIRE - 1) / right((FIRE - 1 - first).min(FIRE_BURST - 1));
            let corrected: f64 = right(FIRE) + (0..FIRE).map(within).sum::<f64>();
            let lost = lost_by_fire_code(rate);
            assert!((lost / (1.0 - corrected) - 1.0).abs() < 1e-6, "{lost}, {}", 1.0 - corrected);
        }
    }

    #[test]
    fn decoders_wait_for_their_codewords() {
        let wait = |code: ForwardErrorCorrection, gbps| code.wait(BitRate::from_gbps(gbps)).as_ps();
        // 80 and 250 ns of whole decoders at 25 Gb/s are usual.
        assert_eq!(wait(ForwardErrorCorrection::Fc2112, 25), 81_920);
        assert_eq!(wait(ForwardErrorCorrection::Rs528, 25), 204_800);
        assert_eq!(wait(ForwardErrorCorrection::Rs544Interleaved, 400), 25_600);
        assert_eq!(wait(ForwardErrorCorrection::None, 400), 0);
    }

    #[test]
    fn a_class_has_its_code_in_place_of_that_of_its_cable() {
        let delay = Duration::from_ns(500);
        let topology = |rate, cable: &str| {
            SingleSwitch { hosts: 2, rate, cable: cable.parse().unwrap(), ..SingleSwitch::default() }
                .generate()
                .unwrap()
        };
        let adjusted = |code, gbps, cable| {
            let topology = topology(BitRate::from_gbps(gbps), cable);
            let codes = ClassCodes { host: Some(code), ..ClassCodes::default() };
            codes.adjust(delay, &topology.channels()[0]).as_ps()
        };
        assert_eq!(adjusted(ForwardErrorCorrection::None, 100, "3m"), 500_000 - 51_200);
        assert_eq!(adjusted(ForwardErrorCorrection::Rs528, 100, "3m"), 500_000);
        assert_eq!(adjusted(ForwardErrorCorrection::Rs528, 25, "3m"), 500_000 + 204_800);
        assert_eq!(adjusted(ForwardErrorCorrection::Fc2112, 25, "5m"), 500_000 + 81_920 - 204_800);
        assert_eq!(ClassCodes::default().adjust(delay, &topology(BitRate::from_gbps(25), "3m").channels()[0]), delay);
    }
}
