//! Powers that are equal on every machine: by multiplications and square roots alone.

/// Binary digits of an exponent behind the point.
const DIGITS: u32 = 20;

/// `base^exponent`, of an exponent from 0 on.
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    let (mut product, mut root) = (1.0, base);
    let mut square = base;
    let mut units = exponent as u32;
    while units > 0 {
        if units & 1 == 1 {
            product *= square;
        }
        square *= square;
        units >>= 1;
    }
    let digits = (exponent.fract() * f64::from(1 << DIGITS)) as u32;
    for digit in (0..DIGITS).rev() {
        root = root.sqrt();
        if digits >> digit & 1 == 1 {
            product *= root;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_library() {
        for (base, exponent) in [(2.0, 0.0), (2.0, 1.0), (7.0, 0.5), (250.0, 1.3), (3.0, 3.999), (2.7, 44.25)] {
            assert!((power(base, exponent) / f64::powf(base, exponent) - 1.0).abs() < 1e-5);
        }
    }
}
