//! Rows of logs by what they belong to, by their places in the log.

use etherweave_kernel::Log;

/// Places of rows by what they belong to, each group in the order of rows.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    places: Vec<u32>,
    /// Start of each group in `places`, and the end of the last.
    starts: Vec<u32>,
}

impl Groups {
    /// Groups rows by a number below `count`; those without one are left out. Rows are read once.
    pub fn new<T>(count: usize, rows: &Log<T>, mut group: impl FnMut(&T) -> Option<u32>) -> Groups {
        let mut groups = Vec::with_capacity(rows.len() as usize);
        for block in rows.blocks() {
            groups.extend(block.iter().map(|row| group(row).unwrap_or(count as u32)));
        }
        let mut starts = vec![0; count + 1];
        groups.iter().for_each(|&group| starts[group as usize] += 1);
        let mut sum = 0;
        starts.iter_mut().for_each(|start| sum += std::mem::replace(start, sum));
        let (mut next, mut places) = (starts.clone(), vec![0; groups.len()]);
        for (place, &group) in (0..).zip(&groups) {
            let next = &mut next[group as usize];
            places[*next as usize] = place;
            *next += 1;
        }
        // Those without a number lie behind the others.
        places.truncate(starts[count] as usize);
        Groups { places, starts }
    }

    /// Place in [`places`](Groups::places) at which a group begins.
    pub fn start(&self, group: usize) -> usize {
        self.starts[group] as usize
    }

    /// Rows of all groups.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Rows of a group.
    pub fn of(&self, group: usize) -> &[u32] {
        &self.places[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// The same, to be sorted.
    pub fn of_mut(&mut self, group: usize) -> &mut [u32] {
        &mut self.places[self.starts[group] as usize..self.starts[group + 1] as usize]
    }
}

/// Rows by what they belong to and a key, which most rows of a group have in ascending order, as ends of messages in a
/// stream: each group is two that are sorted, rows with no larger key before them, and the others.
#[derive(Clone, Debug)]
pub(super) struct Ascending(Groups);

impl Ascending {
    /// Groups rows by a number below `count` and a key; those without are left out. Rows are read once.
    pub fn new<T>(count: usize, rows: &Log<T>, of: impl Fn(&T) -> Option<(u32, u64)>) -> Ascending {
        let mut largest = vec![[0; 2]; count];
        let mut unsorted = Vec::new();
        let mut groups = Groups::new(2 * count, rows, |row| {
            let (group, key) = of(row)?;
            let largest = &mut largest[group as usize];
            let is_behind = key < largest[0];
            let (half, known) = (2 * group + u32::from(is_behind), &mut largest[usize::from(is_behind)]);
            if key < *known {
                unsorted.push(half);
            }
            *known = key.max(*known);
            Some(half)
        });
        unsorted.sort_unstable();
        unsorted.dedup();
        for half in unsorted {
            groups.of_mut(half as usize).sort_by_key(|&place| of(&rows[place]).map(|(_, key)| key));
        }
        Ascending(groups)
    }

    /// The first rows of both halves of a group whose key is not below a value.
    pub fn rows_until(&self, group: usize, value: u64, key: impl Fn(u32) -> u64 + Copy) -> impl Iterator<Item = u32> {
        let halves = [2 * group, 2 * group + 1].map(|half| self.0.of(half));
        halves.into_iter().filter_map(move |half| half.get(first_from(half, value, key)).copied())
    }
}

/// Number of rows, sorted by a key, whose key is below a value. Keys of messages and times grow evenly, so that a
/// guess by the first and the last key is near: a search reads few rows.
pub(super) fn first_from(places: &[u32], value: u64, key: impl Fn(u32) -> u64) -> usize {
    let is_below = |place: usize| key(places[place]) < value;
    let Some(last) = places.len().checked_sub(1) else { return 0 };
    let [low, high] = [0, last].map(|place| key(places[place]));
    if value <= low || high < value {
        return if value <= low { 0 } else { places.len() };
    }
    let guess = (u128::from(value - low) * last as u128 / u128::from(high - low)) as usize;
    let (mut from, mut until, mut step) = (0, last, 1);
    if is_below(guess) {
        from = guess + 1;
        while from + step < until && is_below(from + step) {
            (from, step) = (from + step + 1, 2 * step);
        }
        until = until.min(from + step);
    } else {
        until = guess;
        while from + step < until && !is_below(until - step) {
            (until, step) = (until - step, 2 * step);
        }
        from = from.max(until.saturating_sub(step));
    }
    from + places[from..until].partition_point(|&place| key(place) < value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys that grow evenly, in steps, faster and faster, and alike.
    const GROWTHS: [fn(u64) -> u64; 4] = [|at| 7 * at + 3, |at| at / 9 * 100, |at| at * at * at, |_| 5];

    #[test]
    fn a_search_by_a_guess_finds_what_one_by_halves_does() {
        for growth in GROWTHS {
            for count in [0, 1, 2, 3, 100] {
                let places: Vec<u32> = (0..count).collect();
                let key = |place: u32| growth(u64::from(place));
                for value in (0..1_200).chain([u64::MAX, key(count), key(count / 2)]) {
                    let expected = places.partition_point(|&place| key(place) < value);
                    assert_eq!(first_from(&places, value, key), expected, "{value} of {count}");
                }
            }
        }
    }

    #[test]
    fn rows_are_found_by_their_key_in_whatever_order_they_were_noted() {
        let keys = [1, 2, 10, 3, 4, 12, 11, 5, 20, 6, 3, 30];
        let log: Log<(u32, u64)> = keys.iter().flat_map(|&key| [(0, 2 * key), (1, key)]).collect();
        let groups = Ascending::new(2, &log, |&row| Some(row));
        let key = |place: u32| log[place].1;
        for value in 1..=30 {
            let nearest = groups.rows_until(1, value, key).map(key).min();
            assert_eq!(nearest, keys.iter().copied().filter(|&key| key >= value).min(), "{value}");
        }
    }
}
