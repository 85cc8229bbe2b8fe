//! Patterns for exactly the addresses that hosts have.

use crate::{ADDRESS_BITS, Ternary};

/// Disjoint patterns that every one of some ascending addresses is in, and no other word of [`ADDRESS_BITS`] bits: few,
/// where addresses are regular. Halves that hold the same addresses below a bit are one.
pub(super) fn cover(addresses: &[u64]) -> Vec<Ternary> {
    let mut patterns = Vec::new();
    if !addresses.is_empty() {
        halve(addresses, ADDRESS_BITS, Ternary::ANY, &mut patterns);
    }
    patterns
}

/// Addresses that agree in all bits from `bits` on.
fn halve(addresses: &[u64], bits: u32, pattern: Ternary, patterns: &mut Vec<Ternary>) {
    let Some(below) = bits.checked_sub(1) else {
        patterns.push(pattern);
        return;
    };
    let bit = 1 << below;
    let (zeros, ones) = addresses.split_at(addresses.partition_point(|address| address & bit == 0));
    if zeros.iter().map(|address| address | bit).eq(ones.iter().copied()) {
        return halve(zeros, below, pattern, patterns);
    }
    for (half, side) in [zeros, ones].into_iter().zip(pattern.halves(bit)) {
        if !half.is_empty() {
            halve(half, below, side, patterns);
        }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dragonfly, Family, TopologyKind};

    use super::*;
    use crate::PlanKind;

    #[test]
    fn a_full_range_is_one_pattern_and_nine_groups_are_two() {
        assert_eq!(cover(&[0, 1, 2, 3]).len(), 1);
        // 9 groups of 4 switches of 2 hosts: groups 0 to 7 and group 8.
        let plan = PlanKind::Coordinates.plan(&Dragonfly::default().generate().unwrap()).unwrap();
        let high = (1 << ADDRESS_BITS) - (1 << 7);
        let eight = Ternary::new(0, high | 0b100_0000);
        assert_eq!(plan.cover(), [eight, Ternary::new(0b100_0000, high | 0b111_1000)]);
    }

    #[test]
    fn a_cover_has_every_host_once_and_nobody_else() {
        for kind in TopologyKind::examples() {
            let topology = kind.generate().unwrap();
            for plan in PlanKind::ALL.iter().filter_map(|plan| plan.plan(&topology).ok()) {
                let patterns = plan.cover();
                let words: u64 = patterns.iter().map(|pattern| 1 << (ADDRESS_BITS - pattern.bits())).sum();
                assert_eq!(words, topology.hosts() as u64, "{}: as many words as hosts", kind.name());
                let within = |address: &u64| patterns.iter().filter(|pattern| pattern.matches(*address)).count() == 1;
                assert!(plan.addresses.iter().all(within), "{}: every host is in one pattern", kind.name());
            }
        }
    }
}
