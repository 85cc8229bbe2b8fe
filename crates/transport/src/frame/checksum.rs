//! Checksums.

/// The Internet checksum of `parts` in a row, each of even length but the last (RFC 1071).
pub(crate) fn internet(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum = words.map(|word| u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0)));
    let mut sum: u64 = sum.map(u64::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_comes_out() {
        // Section 3: the sum of these words is ddf2; the checksum is its complement.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(internet(&[&bytes]), !0xddf2);
        assert_eq!(internet(&[&bytes[..4], &bytes[4..]]), !0xddf2);
    }
}
