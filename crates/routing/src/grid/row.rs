//! One row of a grid, and how packets travel along it.

/// How the switches of a row are joined. A row of up to three neighbours that is a ring as well counts as full, so a
/// ring has at least four.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GridRow {
    /// Every two.
    Full { size: u32 },
    /// Every two neighbours, and the last with the first.
    Ring { size: u32 },
    /// Every two neighbours.
    Line { size: u32 },
}

/// A path along a row that is not at its end yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowPath {
    /// Hop to any other place at once.
    Jump,
    /// Step by step upwards (or down), with or without the link between the last and the first still ahead.
    Walk { is_upward: bool, wraps: bool },
}

impl RowPath {
    /// Every form that a path can have.
    pub const ALL: [RowPath; 5] = [
        RowPath::Jump,
        RowPath::Walk { is_upward: true, wraps: false },
        RowPath::Walk { is_upward: false, wraps: false },
        RowPath::Walk { is_upward: true, wraps: true },
        RowPath::Walk { is_upward: false, wraps: true },
    ];

    pub fn wraps(self) -> bool {
        matches!(self, RowPath::Walk { wraps: true, .. })
    }

    pub fn is_upward(self) -> bool {
        matches!(self, RowPath::Walk { is_upward: true, .. })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowHop {
    /// The next place.
    pub to: u32,
    /// Whether some packets are at the right place then.
    pub may_end: bool,
    /// How the others continue; none when all are there.
    pub then: Option<RowPath>,
}

impl GridRow {
    fn size(&self) -> u32 {
        let (GridRow::Full { size } | GridRow::Ring { size } | GridRow::Line { size }) = *self;
        size
    }

    /// The places that a place is joined with.
    pub fn neighbours(&self, place: u32) -> Vec<u32> {
        match *self {
            GridRow::Full { size } => (0..size).filter(|&to| to != place).collect(),
            GridRow::Ring { size } => vec![(place + 1) % size, (place + size - 1) % size],
            GridRow::Line { size } => {
                (place.saturating_sub(1)..size.min(place + 2)).filter(|&to| to != place).collect()
            }
        }
    }

    /// The most hops from one place to another.
    pub fn diameter(&self) -> u32 {
        match *self {
            GridRow::Full { size } => u32::from(size > 1),
            GridRow::Ring { size } => size / 2,
            GridRow::Line { size } => size - 1,
        }
    }

    /// How a packet at `place` gets to `to`, another place, in the fewest hops; to the opposite of a ring in both
    /// directions.
    pub fn runs(&self, place: u32, to: u32) -> impl Iterator<Item = RowPath> {
        let is_ahead = to > place;
        let walk = |is_upward: bool| RowPath::Walk { is_upward, wraps: is_upward != is_ahead };
        let [one, other] = match *self {
            GridRow::Full { .. } => [Some(RowPath::Jump), None],
            GridRow::Line { .. } => [Some(walk(is_ahead)), None],
            GridRow::Ring { size } => {
                let upward = if is_ahead { to - place } else { size + to - place };
                [(2 * upward <= size).then(|| walk(true)), (2 * upward >= size).then(|| walk(false))]
            }
        };
        one.into_iter().chain(other)
    }

    /// The paths that packets at `place` may start, whatever their destination. With `ties` to the opposite of a ring
    /// in both directions, otherwise upwards only.
    pub fn starts(&self, place: u32, ties: bool) -> impl Iterator<Item = RowPath> {
        let row = *self;
        RowPath::ALL.into_iter().filter(move |run| row.has_start(*run, place, ties))
    }

    fn has_start(&self, run: RowPath, place: u32, ties: bool) -> bool {
        match (*self, run) {
            (GridRow::Full { size }, run) => run == RowPath::Jump && size > 1,
            (GridRow::Line { .. } | GridRow::Ring { .. }, RowPath::Jump)
            | (GridRow::Line { .. }, RowPath::Walk { wraps: true, .. }) => false,
            (GridRow::Line { size } | GridRow::Ring { size }, RowPath::Walk { is_upward: true, wraps: false }) => {
                place + 1 < size
            }
            (GridRow::Line { .. } | GridRow::Ring { .. }, RowPath::Walk { is_upward: false, wraps: false }) => {
                place > 0
            }
            // Beyond the wrap is at least one hop more than up to the end.
            (GridRow::Ring { size }, RowPath::Walk { is_upward, wraps: true }) => {
                let to_end = if is_upward { size - 1 - place } else { place };
                to_end < self.reach(is_upward, ties)
            }
        }
    }

    /// The most hops in one direction of a ring.
    fn reach(&self, is_upward: bool, ties: bool) -> u32 {
        match *self {
            GridRow::Ring { size } if is_upward || ties => size / 2,
            GridRow::Ring { size } => (size - 1) / 2,
            GridRow::Full { .. } | GridRow::Line { .. } => self.size(),
        }
    }

    /// The next hops of all packets at `place` on a path: to one place, except for jumps.
    pub fn moves(&self, place: u32, run: RowPath, ties: bool) -> impl Iterator<Item = RowHop> {
        let size = self.size();
        let jumps = (run == RowPath::Jump).then_some(0..size).into_iter().flatten().filter(move |&to| to != place);
        let jumps = jumps.map(|to| RowHop { to, may_end: true, then: None });
        let walk = match run {
            RowPath::Jump => None,
            RowPath::Walk { is_upward, wraps } => Some(self.walk(place, is_upward, wraps, ties)),
        };
        jumps.chain(walk)
    }

    /// The next place of a packet at `place` on a path to `end`.
    pub fn next(&self, place: u32, run: RowPath, end: u32) -> u32 {
        match run {
            RowPath::Jump => end,
            RowPath::Walk { is_upward, wraps } => self.walk(place, is_upward, wraps, true).to,
        }
    }

    fn walk(&self, place: u32, is_upward: bool, wraps: bool, ties: bool) -> RowHop {
        let size = self.size();
        let is_wrap = place == if is_upward { size - 1 } else { 0 };
        let to = if is_upward { (place + 1) % size } else { (place + size - 1) % size };
        let has_room = if is_upward { to + 1 < size } else { to > 0 };
        // Past the wrap a packet continues as one that never had it ahead.
        let ends_here = !wraps || is_wrap;
        let goes_on = if ends_here { has_room && self.reach(is_upward, ties) > 1 } else { true };
        let then = goes_on.then_some(RowPath::Walk { is_upward, wraps: wraps && !is_wrap });
        RowHop { to, may_end: ends_here, then }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows single destinations: every path that is started, and every hop of it with what follows.
    fn followed(row: GridRow) -> Vec<(u32, RowPath, u32, Option<RowPath>)> {
        let size = row.size();
        let mut seen = Vec::new();
        for (start, to) in (0..size).flat_map(|start| (0..size).map(move |to| (start, to))).filter(|(a, b)| a != b) {
            for run in row.runs(start, to) {
                let (mut place, mut run) = (start, run);
                while place != to {
                    let next = row.moves(place, run, true).find(|next| next.to == to || run != RowPath::Jump).unwrap();
                    let then = (next.to != to).then(|| row.runs(next.to, to).next().unwrap());
                    seen.push((place, run, next.to, then));
                    (place, run) = (next.to, then.unwrap_or(run));
                }
            }
        }
        seen.sort_by_key(|entry| format!("{entry:?}"));
        seen.dedup();
        seen
    }

    /// Returns the answers of the row for all destinations at once.
    fn enumerated(row: GridRow) -> Vec<(u32, RowPath, u32, Option<RowPath>)> {
        let mut seen = Vec::new();
        for place in 0..row.size() {
            for run in row.starts(place, true) {
                for next in row.moves(place, run, true) {
                    seen.extend(next.may_end.then_some((place, run, next.to, None)));
                    seen.extend(next.then.map(|then| (place, run, next.to, Some(then))));
                }
            }
        }
        seen.sort_by_key(|entry| format!("{entry:?}"));
        seen.dedup();
        seen
    }

    #[test]
    fn paths_for_all_destinations_equal_those_of_single_ones() {
        for size in 1..12 {
            assert_eq!(followed(GridRow::Full { size }), enumerated(GridRow::Full { size }), "full {size}");
            assert_eq!(followed(GridRow::Line { size }), enumerated(GridRow::Line { size }), "line {size}");
        }
        for size in 4..12 {
            assert_eq!(followed(GridRow::Ring { size }), enumerated(GridRow::Ring { size }), "ring {size}");
        }
    }
}
