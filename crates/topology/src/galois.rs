//! Finite fields GF(p^m) by tables.
//!
//! An element is the number whose digits in base `p` are the coefficients of a polynomial over the integers modulo `p`,
//! lowest first. Multiplication is modulo a polynomial under which `x` generates all elements but zero; that such a
//! polynomial is found is at the same time the proof that it is a field.

/// A field of `q = p^m` elements, `0..q`.
pub(crate) struct GaloisField {
    /// `p`.
    characteristic: u32,
    /// Powers of the generator: `powers[i] = ξ^i`, `i` in `0..q - 1`.
    powers: Vec<u32>,
    /// `logarithms[ξ^i] = i`; that of zero is never asked.
    logarithms: Vec<u32>,
}

impl GaloisField {
    /// The field of `order` elements; none when the order is no power of a prime.
    pub fn new(order: u32) -> Option<GaloisField> {
        let (characteristic, degree) = prime_power(order)?;
        // The lower coefficients of x^m = … run through all elements.
        let powers = (1..order).find_map(|reduction| powers(characteristic, degree, order, reduction))?;
        let mut logarithms = vec![0; order as usize];
        (0..).zip(&powers).for_each(|(exponent, &power)| logarithms[power as usize] = exponent);
        Some(GaloisField { characteristic, powers, logarithms })
    }

    /// How many elements there are: `q`.
    pub fn order(&self) -> u32 {
        self.logarithms.len() as u32
    }

    /// `ξ^exponent`.
    pub fn power(&self, exponent: u32) -> u32 {
        self.powers[exponent as usize % self.powers.len()]
    }

    pub fn add(&self, a: u32, b: u32) -> u32 {
        digitwise(self.characteristic, a, b)
    }

    pub fn multiply(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.power(self.logarithms[a as usize] + self.logarithms[b as usize])
    }
}

/// `p` and `m` of `p^m`.
pub(crate) fn prime_power(order: u32) -> Option<(u32, u32)> {
    let prime = (2..=order).find(|divisor| order.is_multiple_of(*divisor))?;
    let (mut rest, mut degree) = (order, 0);
    while rest.is_multiple_of(prime) {
        rest /= prime;
        degree += 1;
    }
    (rest == 1).then_some((prime, degree))
}

/// Sum without carry.
fn digitwise(base: u32, mut a: u32, mut b: u32) -> u32 {
    let (mut sum, mut place) = (0, 1);
    while a > 0 || b > 0 {
        sum += (a % base + b % base) % base * place;
        (a, b, place) = (a / base, b / base, place * base);
    }
    sum
}

/// The powers of `x` when `x^m` is `reduction`; none unless they are all elements but zero.
fn powers(characteristic: u32, degree: u32, order: u32, reduction: u32) -> Option<Vec<u32>> {
    let top = characteristic.pow(degree - 1);
    let times_x = |element: u32| {
        let lead = element / top;
        let multiple = (0..lead).fold(0, |sum, _| digitwise(characteristic, sum, reduction));
        digitwise(characteristic, element % top * characteristic, multiple)
    };
    let mut powers = vec![1];
    for _ in 2..order {
        let next = times_x(powers[powers.len() - 1]);
        if next <= 1 {
            return None;
        }
        powers.push(next);
    }
    (times_x(powers[powers.len() - 1]) == 1).then_some(powers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prime_powers_are_recognised() {
        let orders: Vec<u32> = (0..30).filter(|&order| prime_power(order).is_some()).collect();
        assert_eq!(orders, [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29]);
        assert!(GaloisField::new(6).is_none() && GaloisField::new(0).is_none() && GaloisField::new(1).is_none());
    }

    #[test]
    fn fields_obey_the_laws_of_fields() {
        for order in [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 49] {
            let field = GaloisField::new(order).unwrap();
            for a in 0..order {
                let inverses = (0..order).filter(|&b| field.multiply(a, b) == 1).count();
                assert_eq!(inverses, usize::from(a != 0), "{a} in GF({order})");
                assert_eq!((0..order).filter(|&b| field.add(a, b) == 0).count(), 1);
                for (b, c) in (0..order).flat_map(|b| (0..order).step_by(3).map(move |c| (b, c))) {
                    let spread = field.add(field.multiply(a, b), field.multiply(a, c));
                    assert_eq!(field.multiply(a, field.add(b, c)), spread, "{a} {b} {c} in GF({order})");
                }
            }
        }
    }

    #[test]
    fn the_generator_runs_through_all_elements() {
        let field = GaloisField::new(81).unwrap();
        let mut seen: Vec<u32> = (0..80).map(|exponent| field.power(exponent)).collect();
        seen.sort_unstable();
        assert_eq!(seen, (1..81).collect::<Vec<_>>());
    }
}
