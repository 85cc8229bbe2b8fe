//! Amounts of data, rates and cable lengths.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

use crate::{time::Duration, unit::Unit, unit::impl_text_form};

/// An amount of data [B].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Bytes(u64);

/// A rate of data [bit/s].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct BitRate(u64);

/// A length of cable [mm].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Length(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// So many bytes.
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// How many bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, times: u64) -> Bytes {
        Bytes(self.0 * times)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(parts: I) -> Bytes {
        parts.fold(Bytes::ZERO, Add::add)
    }
}

impl BitRate {
    /// So many bits per second.
    pub const fn from_bps(bps: u64) -> BitRate {
        BitRate(bps)
    }

    /// So many Gb/s (10^9 bit/s).
    pub const fn from_gbps(gbps: u64) -> BitRate {
        BitRate(gbps * 1_000_000_000)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Whether nothing can move at this rate.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// How long `bytes` take on the wire. Exact at every Ethernet rate up to 1.6 Tb/s, where a byte
    /// is a whole number of picoseconds; otherwise rounded up.
    ///
    /// # Panics
    /// When the rate is zero: a scenario with such a link is rejected before.
    pub const fn serialization_time(self, bytes: Bytes) -> Duration {
        let bit_picoseconds = bytes.0 as u128 * 8 * 1_000_000_000_000;
        Duration::from_ps(bit_picoseconds.div_ceil(self.0 as u128) as u64)
    }

    /// How much passes in `span`, rounded up to a whole byte: what a headroom must hold.
    pub const fn bytes_in(self, span: Duration) -> Bytes {
        let bit_picoseconds = span.as_ps() as u128 * self.0 as u128;
        Bytes(bit_picoseconds.div_ceil(8 * 1_000_000_000_000) as u64)
    }
}

/// Time per byte, so that a size becomes a time without a division: 2^-10 ps, rounded up, which is exact at every
/// Ethernet rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ByteTime(u64);

impl ByteTime {
    /// The time that a byte takes at `rate`.
    ///
    /// # Panics
    /// When the rate is zero.
    pub const fn new(rate: BitRate) -> ByteTime {
        ByteTime((8_000_000_000_000u128 << 10).div_ceil(rate.0 as u128) as u64)
    }

    /// How long `bytes` take, rounded up to a picosecond.
    #[inline]
    pub const fn of(self, bytes: u32) -> Duration {
        Duration::from_ps((bytes as u64 * self.0).div_ceil(1 << 10))
    }

    /// How many whole bytes pass in `span`.
    pub const fn bytes_in(self, span: Duration) -> u64 {
        (((span.as_ps() as u128) << 10) / self.0 as u128) as u64
    }
}

impl Length {
    /// So many millimetres.
    pub const fn from_mm(mm: u64) -> Length {
        Length(mm)
    }

    /// So many metres.
    pub const fn from_m(m: u64) -> Length {
        Length(m * 1_000)
    }

    /// Millimetres.
    pub const fn as_mm(self) -> u64 {
        self.0
    }

    /// Time for a signal to pass, at 5 ns/m: two thirds of light speed, within 5 % for copper and fibre
    /// (IEEE 802.3 Annex 31B counts bit times per 100 m on this basis).
    pub const fn propagation_time(self) -> Duration {
        Duration::from_ps(self.0 * 5)
    }
}

impl Unit for Bytes {
    const NAME: &'static str = "size";
    const SUFFIXES: &'static [(&'static str, u64)] = &[
        ("B", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ];
    fn from_base(bytes: u64) -> Self {
        Bytes(bytes)
    }
    fn base(self) -> u64 {
        self.0
    }
}

impl Unit for BitRate {
    const NAME: &'static str = "bit rate";
    const SUFFIXES: &'static [(&'static str, u64)] =
        &[("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000), ("Tb/s", 1_000_000_000_000)];
    // Speeds as ports are labelled, as ns-3, containerlab, tc, iperf and vendors write them, and bytes per second.
    const ALIASES: &'static [(&'static str, u64)] = &[
        ("kbps", 1_000),
        ("kbit", 1_000),
        ("kbit/s", 1_000),
        ("M", 1_000_000),
        ("Mb", 1_000_000),
        ("Mbps", 1_000_000),
        ("Mbit", 1_000_000),
        ("Mbit/s", 1_000_000),
        ("Mbits/sec", 1_000_000),
        ("G", 1_000_000_000),
        ("g", 1_000_000_000),
        ("Gb", 1_000_000_000),
        ("GbE", 1_000_000_000),
        ("gbe", 1_000_000_000),
        ("GBE", 1_000_000_000),
        ("Gbps", 1_000_000_000),
        ("gbps", 1_000_000_000),
        ("Gbit", 1_000_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Gbits/sec", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("t", 1_000_000_000_000),
        ("Tb", 1_000_000_000_000),
        ("TbE", 1_000_000_000_000),
        ("Tbps", 1_000_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
        ("kB/s", 8_000),
        ("kBps", 8_000),
        ("MB/s", 8_000_000),
        ("MBps", 8_000_000),
        ("GB/s", 8_000_000_000),
        ("GBps", 8_000_000_000),
        ("TB/s", 8_000_000_000_000),
        ("TBps", 8_000_000_000_000),
    ];
    const IGNORES_CASE: bool = true;
    fn from_base(bps: u64) -> Self {
        BitRate(bps)
    }
    fn base(self) -> u64 {
        self.0
    }
}

impl Unit for Length {
    const NAME: &'static str = "length";
    const SUFFIXES: &'static [(&'static str, u64)] = &[("mm", 1), ("cm", 10), ("m", 1_000), ("km", 1_000_000)];
    const IGNORES_CASE: bool = true;
    fn from_base(mm: u64) -> Self {
        Length(mm)
    }
    fn base(self) -> u64 {
        self.0
    }
}

impl_text_form!(Bytes);
impl_text_form!(BitRate);
impl_text_form!(Length);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InputError;

    #[derive(Debug, serde::Deserialize)]
    struct Link {
        rate: BitRate,
    }

    #[test]
    fn a_byte_is_exact_at_every_ethernet_rate() {
        for (gbps, ps) in [(1, 8_000), (10, 800), (25, 320), (40, 200), (100, 80), (400, 20), (800, 10), (1_600, 5)] {
            assert_eq!(BitRate::from_gbps(gbps).serialization_time(Bytes::new(1)), Duration::from_ps(ps));
        }
    }

    #[test]
    fn other_rates_round_up_so_that_nothing_is_faster_than_its_link() {
        assert_eq!(BitRate::from_bps(3_000_000_000_000).serialization_time(Bytes::new(1)), Duration::from_ps(3));
    }

    #[test]
    fn the_time_of_a_byte_gives_what_the_division_gives() {
        for gbps in [1, 10, 25, 40, 100, 400, 1_600] {
            let rate = BitRate::from_gbps(gbps);
            let byte = ByteTime::new(rate);
            for bytes in [0, 1, 84, 4_192, u32::MAX] {
                assert_eq!(
                    byte.of(bytes),
                    rate.serialization_time(Bytes::new(u64::from(bytes))),
                    "{bytes} B, {gbps} Gb/s"
                );
            }
        }
        // 98.7 Gb/s: rounded up in the 2^-10 ps, so never faster than the link.
        let rate = BitRate::from_bps(98_700_000_000);
        let exact = rate.serialization_time(Bytes::new(4_192)).as_ps();
        assert!((exact..exact + 5).contains(&ByteTime::new(rate).of(4_192).as_ps()));
    }

    #[test]
    fn a_bare_number_names_the_units_it_lacks() {
        let error = toml::from_str::<Link>("rate = 100").unwrap_err().to_string();
        assert!(error.contains("a bit rate as a string with its unit"), "{error}");
        let error = toml::from_str::<Link>("rate = \"100\"").unwrap_err().to_string();
        assert!(error.contains("the unit is missing") && error.contains("Gb/s"), "{error}");
        let error = toml::from_str::<Link>("rate = \"-1Gb/s\"").unwrap_err().to_string();
        assert!(error.contains("it is negative"), "{error}");
        assert_eq!(toml::from_str::<Link>("rate = \"2.5Gb/s\"").unwrap().rate, BitRate::from_bps(2_500_000_000));
    }

    #[test]
    fn rates_are_read_as_ports_and_other_tools_write_them() {
        let hundred = "100Gb/s 100G 100g 100GbE 100gbe 100GBE 100Gbe 100Gbps 100gbps 100gb/s 100Gbit 100gbit 100Gbit/s \
                       100Gbits/sec 0.1T 0.1t 0.1Tbps 100000mbps 12.5GB/s 12.5GBps 12500MB/s \
                       12500000KB/s 12500000kBps 0.0125TB/s";
        let spaced = ["100 Gb/s", "100 gbe", "12.5 GB/s", " 100  G "];
        for text in hundred.split_whitespace().chain(spaced) {
            let rate = text.parse::<BitRate>().unwrap();
            assert_eq!((rate, rate.to_string().as_str()), (BitRate::from_gbps(100), "100Gb/s"), "{text}");
        }
    }

    #[test]
    fn rates_that_may_be_of_bits_or_bytes_or_of_no_unit_are_refused() {
        for text in ["100GB", "100GBPS", "100GB/S", "100Gib/s", "100m", "3m", "100"] {
            let error = text.parse::<BitRate>().unwrap_err().to_string();
            assert!(error.contains("the unit is ") && !error.contains("GbE"), "{text}: {error}");
        }
    }

    #[test]
    fn a_unit_that_is_not_known_is_answered_with_those_that_may_be_meant() {
        fn check<U: Unit + std::str::FromStr<Err = InputError> + std::fmt::Debug>(text: &str, meant: &str) {
            let expected = text.parse::<U>().unwrap_err().expected;
            assert!(expected.starts_with(&format!("{meant} a number with one of the units ")), "{text}: {expected}");
        }
        check::<Bytes>("4M", "4MB or 4MiB,");
        check::<Bytes>("64 k", "64kB or 64KiB,");
        check::<Bytes>("64KB", "64kB or 64KiB,");
        check::<Bytes>("1.5 mb", "1.5MB or 1.5MiB,");
        check::<Bytes>("10bytes", "10B,");
        check::<Bytes>("10 Kbytes", "10kB or 10KiB,");
        check::<BitRate>("100Gib/s", "100Gb/s,");
        // No unit of bits stands for one of bytes: it would be an eighth.
        check::<BitRate>("100MiB/s", "100MB/s,");
        check::<BitRate>("100GB/S", "100Gb/s or 100GB/s,");
        check::<BitRate>("100GBPS", "100Gb/s or 100GB/s,");
        check::<Length>("3 metres", "3m,");
        check::<Duration>("3usec", "3us,");
        check::<Duration>("3 seconds", "3s,");
        check::<crate::Power>("3mw", "3mW or 3MW,");
        for (length, energy) in [("3ft", "3MJ"), ("3x", "3x")] {
            assert!(length.parse::<Length>().unwrap_err().expected.starts_with("a number"));
            assert!(energy.parse::<crate::Energy>().unwrap_err().expected.starts_with("a number"));
        }
    }

    #[test]
    fn a_hundred_metres_are_half_a_microsecond() {
        assert_eq!("100m".parse::<Length>().unwrap().propagation_time(), Duration::from_ns(500));
    }
}
