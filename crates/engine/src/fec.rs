//! Forward error correction: what the Reed-Solomon codes of IEEE 802.3 leave of bit errors.
//!
//! A codeword has n symbols of ten bits, of which 514 are data: 20 blocks of 257 bits, for 5,120 bits of frames and
//! gaps (64B/66B, transcoded). It is corrected while no more than (n − 514) / 2 symbols are wrong; otherwise all
//! frames that it has a part of are discarded. Bit errors are independent, and so are frames that share a codeword.

use etherweave_primitives::BitRate;

/// Symbols of data in a codeword.
const DATA: u32 = 514;
/// Bits of a symbol.
const SYMBOL: u32 = 10;
/// Bits of frames and gaps that a codeword carries.
const CARRIED: u64 = 5_120;

/// Forward error correction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForwardErrorCorrection {
    /// RS(528,514), as of 25 Gb/s (IEEE 802.3, clause 108) and of 100 Gb/s in four lanes of 25 (clause 91).
    Rs528,
    /// RS(544,514), as of 50 Gb/s (802.3cd) and of 100 Gb/s in lanes of 50 and 100 (clause 91).
    Rs544,
    /// Two codewords of RS(544,514) at a time, as of 200 and 400 Gb/s (802.3bs).
    Rs544Interleaved,
    /// Four codewords of RS(544,514) at a time, as of 800 Gb/s (802.3df).
    Rs544FourInterleaved,
}

impl ForwardErrorCorrection {
    /// Symbols of a codeword, and codewords at a time.
    fn shape(self) -> (u32, u64) {
        match self {
            ForwardErrorCorrection::Rs528 => (528, 1),
            ForwardErrorCorrection::Rs544 => (544, 1),
            ForwardErrorCorrection::Rs544Interleaved => (544, 2),
            ForwardErrorCorrection::Rs544FourInterleaved => (544, 4),
        }
    }

    /// Rates of the links that have the code.
    pub fn rates(self) -> &'static [BitRate] {
        const fn gbps(rate: u64) -> BitRate {
            BitRate::from_gbps(rate)
        }
        match self {
            ForwardErrorCorrection::Rs528 => const { &[gbps(25), gbps(100)] },
            ForwardErrorCorrection::Rs544 => const { &[gbps(50), gbps(100)] },
            ForwardErrorCorrection::Rs544Interleaved => const { &[gbps(200), gbps(400)] },
            ForwardErrorCorrection::Rs544FourInterleaved => const { &[gbps(800)] },
        }
    }

    /// Bits by which a frame counts longer than it is, as it begins and ends within codewords.
    pub fn span(self) -> u64 {
        self.shape().1 * CARRIED
    }

    /// Chance that a codeword is not corrected, for each bit of frames that it carries.
    pub fn residual(self, bit_error_rate: f64) -> f64 {
        let (symbols, _) = self.shape();
        let power = |base: f64, times: u32| (0..times).fold(1.0, |product, _| product * base);
        let correct = power(1.0 - bit_error_rate, SYMBOL);
        let odds = (1.0 - correct) / correct;
        // Binomial: each term from the one before.
        let (mut term, mut lost) = (power(correct, symbols), 0.0);
        for wrong in 1..=symbols {
            term *= odds * f64::from(symbols - wrong + 1) / f64::from(wrong);
            lost += if wrong > (symbols - DATA) / 2 { term } else { 0.0 };
        }
        lost / CARRIED as f64
    }
}

#[cfg(test)]
mod tests {
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
    }
}
