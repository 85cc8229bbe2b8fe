//! Names in Slurm: unique ones for switches, and lists of them with ranges, `host[0-11,16]`.

use std::{collections::HashSet, fmt::Write};

/// Whether Slurm's parser would take a sign of a host's name for its own.
pub(super) fn is_no_host(name: &str) -> bool {
    name.is_empty() || !name.chars().all(|sign| sign.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&sign))
}

#[derive(Default)]
pub(super) struct SlurmNames(HashSet<String>);

impl SlurmNames {
    /// A name like the wanted one that no other switch has. Dots separate switches in SLURM_TOPOLOGY_ADDR, and other
    /// signs the entries of lists, so hyphens take their place.
    pub fn unique(&mut self, wanted: &str) -> String {
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || ['_', '-'].contains(&sign);
        let plain = |sign: char| if is_plain(sign) { sign } else { '-' };
        let mut name: String = wanted.chars().map(plain).collect();
        while !self.0.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

/// A list of names: neighbours that differ in their last number become ranges.
pub(super) fn hostlist<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut list = String::new();
    let mut run: Option<(&str, Vec<Range>)> = None;
    for (stem, range) in names.map(split) {
        match (&mut run, range) {
            (Some((of, ranges)), Some(range)) if *of == stem => extend(ranges, range),
            (_, range) => {
                flush(run.take(), &mut list);
                run = Some((stem, range.into_iter().collect()));
            }
        }
    }
    flush(run, &mut list);
    list
}

/// Numbers from `first` to `last` with as many digits as `width` at least.
struct Range {
    first: u64,
    last: u64,
    width: usize,
}

/// A name before its last number, and that number where there is one that can be counted up.
fn split(name: &str) -> (&str, Option<Range>) {
    let stem = name.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let digits = &name[stem.len()..];
    match digits.parse::<u64>() {
        Ok(number) if digits.len() < 10 => {
            let width = if digits.starts_with('0') { digits.len() } else { 1 };
            (stem, Some(Range { first: number, last: number, width }))
        }
        Ok(_) | Err(_) => (name, None),
    }
}

fn extend(ranges: &mut Vec<Range>, next: Range) {
    match ranges.last_mut() {
        Some(range) if next.first == range.last + 1 && is_padded_alike(range, &next) => range.last = next.first,
        Some(_) | None => ranges.push(next),
    }
}

/// Whether a number is written as the range writes it: 10 after 09 has the width 2 without a zero.
fn is_padded_alike(range: &Range, next: &Range) -> bool {
    let digits = |number: u64| number.checked_ilog10().unwrap_or_default() as usize + 1;
    next.width.max(digits(next.first)) == range.width.max(digits(next.first))
}

fn flush(run: Option<(&str, Vec<Range>)>, list: &mut String) {
    let Some((stem, ranges)) = run else { return };
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(stem);
    let is_bracketed = ranges.len() > 1 || ranges.iter().any(|range| range.last > range.first);
    let written: Vec<String> = ranges.iter().map(Range::written).collect();
    let written = written.join(",");
    match is_bracketed {
        true => write!(list, "[{written}]").expect("a string takes any text"),
        false => list.push_str(&written),
    }
}

impl Range {
    fn written(&self) -> String {
        let width = self.width;
        let first = format!("{:0width$}", self.first);
        if self.first == self.last { first } else { format!("{first}-{:0width$}", self.last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_ranges() {
        let check = |names: &[&str], expected: &str| assert_eq!(hostlist(names.iter().copied()), expected);
        check(&["host0", "host1", "host2", "host4", "host9", "host10"], "host[0-2,4,9-10]");
        check(&["n08", "n09", "n10", "n011"], "n[08-10,011]");
        check(&["login", "n1", "m1", "m2", "x99999999999"], "login,n1,m[1-2],x99999999999");
    }

    #[test]
    fn names_of_switches_stay_apart_when_signs_are_replaced() {
        let mut names = SlurmNames::default();
        let unique_names = ["a.b", "a-b", "a b"].map(|wanted| names.unique(wanted));
        assert_eq!(unique_names, ["a-b", "a-b_", "a-b__"]);
    }
}
