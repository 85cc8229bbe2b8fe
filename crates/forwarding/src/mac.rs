//! Addresses in the form that frames carry.
//!
//! ```text
//!   octet 0      octets 1 to 5
//!   aaaaaa10 .   aaaaaaaa aaaaaaaa aaaaaaaa aaaaaaaa aaaaaaaa      46 address bits, most significant first
//!         │└─ I/G: 0, one receiver
//!         └── U/L: 1, given by the operator        (IEEE 802-2014, clause 8.2)
//! ```

use std::fmt;

use crate::Ternary;

/// Bits of a MAC address that an operator may give: 48 less the two reserved ones (Benito et al. 2015, figure 2).
pub const ADDRESS_BITS: u32 = 46;

/// Address bits in octets 1 to 5.
const LOW: u64 = (1 << 40) - 1;
/// The U/L bit, which says that an operator gave the address.
const LOCAL: u64 = 1 << 41;
/// The two reserved bits.
const RESERVED: u64 = 0b11 << 40;

/// A 48-bit MAC address, or a mask of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mac(u64);

impl Mac {
    /// The unicast, locally administered MAC address with these address bits.
    ///
    /// # Panics
    /// When there are more than [`ADDRESS_BITS`].
    pub const fn of_address(address: u64) -> Mac {
        assert!(address >> ADDRESS_BITS == 0, "an address has 46 bits");
        Mac(spread(address) | LOCAL)
    }

    /// All 48 bits, first octet most significant.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The value and the mask that match the frames to a pattern of addresses, and no other frame.
    pub const fn matching(pattern: Ternary) -> (Mac, Mac) {
        (Mac(spread(pattern.value()) | LOCAL), Mac(spread(pattern.mask()) | RESERVED))
    }
}

/// Address bits around the reserved ones.
const fn spread(address: u64) -> u64 {
    (address >> 40) << 42 | address & LOW
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, _, a, b, c, d, e, g] = self.0.to_be_bytes();
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_local_and_unicast() {
        assert_eq!(Mac::of_address(0).to_string(), "02:00:00:00:00:00");
        assert_eq!(Mac::of_address(0x1234).to_string(), "02:00:00:00:12:34");
        assert_eq!(Mac::of_address((1 << ADDRESS_BITS) - 1).to_string(), "fe:ff:ff:ff:ff:ff");
        assert_eq!(Mac::of_address(0x2a12_3456_789a).to_string(), "aa:12:34:56:78:9a");
    }

    #[test]
    fn a_pattern_matches_its_frames_and_no_foreign_ones() {
        let (value, mask) = Mac::matching(Ternary::new(0x1200, 0xff00));
        assert_eq!((value.to_string(), mask.to_string()), ("02:00:00:00:12:00".into(), "03:00:00:00:ff:00".into()));
        let vendor = 0x0000_5e00_1234;
        assert_ne!(vendor & mask.get(), value.get(), "a vendor's address has U/L = 0");
    }
}
