//! A panel: its factorisation, its broadcast, the swap of rows and the update.

use etherweave_primitives::{Bytes, Duration};

use super::{Hpl, RowSwap, Seat, compute};
use crate::collective::{Algorithm, Collective, Rule};
use crate::{Block, Op};

pub(super) struct Panel<'a> {
    hpl: &'a Hpl,
    number: u32,
    width: u32,
}

impl<'a> Panel<'a> {
    /// A real number of double precision [B].
    pub const REAL: u64 = 8;

    pub fn new(hpl: &'a Hpl, number: u32) -> Panel<'a> {
        Panel { hpl, number, width: hpl.block.min(hpl.size - number * hpl.block) }
    }

    /// Returns the blocks of a rank; measured, they are an iteration.
    pub fn blocks(&self, seat: &Seat, is_measured: bool) -> Vec<Block> {
        let rows = self.local(self.number, seat.row, self.hpl.rows);
        let root = self.number % self.hpl.columns;
        let is_owner = seat.column == root;
        let broadcast = self.hpl.broadcast.ops(seat, root, self.panel_bytes(rows));
        let mut first = vec![Op::IterationStart];
        let mut rest = Vec::new();
        match (self.hpl.depth, self.number.checked_sub(1)) {
            (0, _) => {
                rest.extend(broadcast);
                rest.extend(self.apply(seat, self.columns(seat), None));
            }
            (_, None) => rest.extend(broadcast),
            // `HPL_pdgesvK2.c`: the columns of this panel get the last update before all others.
            (_, Some(number)) => {
                let last = Panel::new(self.hpl, number);
                let own = if is_owner { u64::from(self.width) } else { 0 };
                first.extend(last.apply(seat, own, None));
                let columns = last.columns(seat) - own;
                if is_owner {
                    rest.extend(broadcast);
                    rest.extend(last.apply(seat, columns, None));
                } else {
                    rest.extend(last.apply(seat, columns, Some(broadcast)));
                }
            }
        }
        rest.push(Op::IterationEnd);
        let mut blocks = vec![Block::unmeasured(first)];
        if is_owner {
            blocks.push(Block { ops: self.column(seat, rows).into(), repeat: self.width, measured: false });
        }
        blocks.push(Block { ops: rest.into(), repeat: 1, measured: is_measured });
        blocks
    }

    /// Columns of a rank behind the panel.
    fn columns(&self, seat: &Seat) -> u64 {
        self.local(self.number + 1, seat.column, self.hpl.columns)
    }

    /// Swap and update of some columns of a rank. The next panel comes meanwhile: HPL asks for it between blocks of
    /// columns. It is there once its column has updated and factorised it, a block later for each rank before.
    fn apply(&self, seat: &Seat, columns: u64, next_panel: Option<Vec<Op>>) -> Vec<Op> {
        let mut ops = self.swap(seat, columns);
        let update = self.update(seat, columns);
        let Some(next_panel) = next_panel else {
            ops.extend(compute(update));
            return ops;
        };
        let all = self.hpl.columns;
        let distance = self.hpl.broadcast.blocks_before_panel((seat.column + all - (self.number + 1) % all) % all);
        let block = self.update(seat, u64::from(self.width));
        let factorised = self.search(self.local(self.number + 1, seat.row, self.hpl.rows)) * u64::from(self.width);
        let before = (block * u64::from(1 + distance) + factorised).min(update);
        ops.extend(compute(before));
        ops.extend(next_panel);
        ops.extend(compute(update - before));
        ops
    }

    /// Rows or columns from block `first` on that the rank at `place` of `count` has.
    fn local(&self, first: u32, place: u32, count: u32) -> u64 {
        let (blocks, last) = (self.hpl.panels(), self.hpl.panels() - 1);
        let own = first + (place + count - first % count) % count;
        if own >= blocks {
            return 0;
        }
        let full = u64::from((last - own) / count + 1) * u64::from(self.hpl.block);
        let missing = if last % count == place { blocks * self.hpl.block - self.hpl.size } else { 0 };
        full - u64::from(missing)
    }

    /// The rows of a rank, the square of the pivots, and their numbers (`HPL_pdpanel_init.c`).
    fn panel_bytes(&self, rows: u64) -> u64 {
        let width = u64::from(self.width);
        (rows * width + width * width + width + 1) * Panel::REAL
    }

    /// One column of the panel: the search for the pivot in what the rank has, and the exchange that finds the largest
    /// and swaps the rows (`HPL_pdmxswp.c`).
    fn column(&self, seat: &Seat, rows: u64) -> Vec<Op> {
        let bytes = Bytes::new((4 + 2 * u64::from(self.width)) * Panel::REAL);
        let mut ops: Vec<Op> = compute(self.search(rows)).into_iter().collect();
        ops.extend(along_column(&Collective::Allreduce { bytes }, Algorithm::RecursiveDoubling, seat));
        ops
    }

    /// Returns the time that a rank computes for a column of the panel.
    fn search(&self, rows: u64) -> Duration {
        time(self.hpl.panel_per_gflop, u128::from(rows) * u128::from(self.width))
    }

    /// U has a row for each of the panel's columns, of some columns that the rank still has.
    fn swap(&self, seat: &Seat, columns: u64) -> Vec<Op> {
        let bytes = columns * u64::from(self.width) * Panel::REAL;
        if bytes == 0 {
            return Vec::new();
        }
        let copy = |bytes| Op::Copy { bytes };
        if self.hpl.rows == 1 {
            // Within the matrix, two at a time (`HPL_dlaswp00N.c`).
            return vec![copy(2 * bytes)];
        }
        let is_short = columns <= u64::from(self.hpl.swap_threshold);
        let is_exchange = match self.hpl.swap {
            RowSwap::BinaryExchange => true,
            RowSwap::SpreadRoll => false,
            RowSwap::Mix => is_short,
        };
        if is_exchange {
            let all = Collective::Allreduce { bytes: Bytes::new(bytes) };
            return along_column(&all, Algorithm::RecursiveDoubling, seat);
        }
        let root = self.number % self.hpl.rows;
        let part = bytes.div_ceil(self.hpl.rows.into());
        let is_root = seat.row == root;
        let mut ops = Vec::new();
        // The rows that leave their place, and the pivots that are here already (`HPL_dlaswp01T.c`).
        ops.extend(is_root.then(|| copy(bytes + part)));
        let of_each = Bytes::new(part);
        ops.extend(along_column(&Collective::Scatter { root, bytes: of_each }, Algorithm::Binomial, seat));
        // They take the places of the pivots of other rows (`HPL_dlaswp06T.c`).
        ops.extend((!is_root).then(|| copy(2 * part)));
        ops.extend(roll(seat, root, part));
        // Pivots get into order, two at a time (`HPL_dlaswp10N.c`); the row of the panel keeps them (`HPL_dlatcpy.c`).
        ops.push(copy(if is_root { 3 } else { 2 } * bytes));
        ops
    }

    /// A triangular solution for U and a product of matrices.
    fn update(&self, seat: &Seat, columns: u64) -> Duration {
        let rows = u128::from(self.local(self.number + 1, seat.row, self.hpl.rows));
        let (width, columns) = (u128::from(self.width), u128::from(columns));
        time(self.hpl.update_per_gflop, (width * width + 2 * width * rows) * columns)
    }
}

fn along_column(collective: &Collective, algorithm: Algorithm, seat: &Seat) -> Vec<Op> {
    let rule = Rule { algorithm: Some(algorithm), ..Rule::default() };
    collective.lower(&rule, &seat.of_column, seat.row)
}

/// Every row gets the parts of all, in exchanges with the row behind and the one before in turn, which pass on what
/// came from the other side (`HPL_rollT.c`). Rows count from the one of the panel.
fn roll(seat: &Seat, root: u32, part: u64) -> Vec<Op> {
    const TAG: u32 = 2;
    let rows = seat.ranks_of_column.len() as u32;
    let place = (seat.row + rows - root) % rows;
    let exchange = |step: u32| {
        let neighbour = if (place + step).is_multiple_of(2) { seat.row + 1 } else { seat.row + rows - 1 } % rows;
        let peer = seat.ranks_of_column[neighbour as usize];
        [Op::Irecv { peer, tag: TAG, bytes: part }, Op::Isend { peer, tag: TAG, bytes: part }, Op::WaitAll]
    };
    (0..rows - 1).flat_map(exchange).collect()
}

fn time(per_gflop: Duration, operations: u128) -> Duration {
    let ps = u128::from(per_gflop.as_ps()) * operations / 1_000_000_000;
    Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX / 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 rows in blocks of 3 over 2 ranks: blocks 0 and 2, and 1 and 3, of which the last has one row.
    #[test]
    fn local_rows_are_those_of_the_blocks_of_a_rank() {
        let hpl = Hpl { size: 10, block: 3, ..Hpl::default() };
        let local = |first, place| Panel::new(&hpl, 0).local(first, place, 2);
        assert_eq!([local(0, 0), local(0, 1), local(1, 0), local(1, 1)], [6, 4, 3, 4]);
        assert_eq!([local(3, 0), local(3, 1), local(4, 0), local(4, 1)], [0, 1, 0, 0]);
    }

    /// P - 1 parts around the ring for each rank, and P - 1 parts down the tree from the row of the panel; or log2 P
    /// times all.
    #[test]
    fn rows_of_u_are_spread_and_rolled_or_exchanged() {
        let sent = |swap, row| {
            let hpl = Hpl { rows: 4, columns: 1, swap, ..Hpl::default() };
            let (panel, seat) = (Panel::new(&hpl, 0), Seat::new(&hpl, row));
            let ops = panel.swap(&seat, panel.columns(&seat));
            ops.iter().map(|op| if let Op::Isend { bytes, .. } = op { *bytes } else { 0 }).sum::<u64>()
        };
        let all = (4_096 - 64) * 64 * Panel::REAL;
        assert_eq!([sent(RowSwap::SpreadRoll, 0), sent(RowSwap::SpreadRoll, 1)], [all / 4 * 6, all / 4 * 3]);
        assert_eq!(sent(RowSwap::BinaryExchange, 3), 2 * all);
    }

    /// U is permuted by all, copied out of and into the matrix by the row of the panel, and swapped by others.
    #[test]
    fn rows_of_u_are_copied_as_often_as_hpl_does() {
        let copied = |row| {
            let hpl = Hpl { rows: 4, columns: 1, swap: RowSwap::SpreadRoll, ..Hpl::default() };
            let (panel, seat) = (Panel::new(&hpl, 0), Seat::new(&hpl, row));
            let ops = panel.swap(&seat, panel.columns(&seat));
            ops.iter().map(|op| if let Op::Copy { bytes } = op { *bytes } else { 0 }).sum::<u64>()
        };
        let all = (4_096 - 64) * 64 * Panel::REAL;
        assert_eq!([copied(0), copied(1)], [4 * all + all / 4, 2 * all + all / 2]);
    }

    /// A row sends to the one behind first where its distance from that of the panel is even, and takes turns.
    #[test]
    fn rows_of_u_roll_to_both_sides_in_turn() {
        let peers = |rows, row| {
            let seat = Seat::new(&Hpl { rows, columns: 1, ..Hpl::default() }, row);
            let to = |op: &Op| if let Op::Isend { peer, .. } = op { Some(peer.get()) } else { None };
            roll(&seat, 1, 8).iter().filter_map(to).collect::<Vec<_>>()
        };
        assert_eq!([peers(4, 1), peers(4, 2), peers(4, 0)], [vec![2, 0, 2], vec![1, 3, 1], vec![3, 1, 3]]);
        assert_eq!([peers(3, 1), peers(3, 2), peers(3, 0)], [vec![2, 0], vec![1, 0], vec![1, 2]]);
    }

    /// The column of the next panel updates its columns first, and all compute what they do without look-ahead.
    #[test]
    fn look_ahead_moves_the_update_of_the_next_panel_to_the_front() {
        let computed = |ops: &[Op]| -> u64 {
            ops.iter().map(|op| if let Op::Compute { duration } = op { duration.as_ps() } else { 0 }).sum()
        };
        let hpl = Hpl { depth: 1, panel_per_gflop: Duration::ZERO, ..Hpl::default() };
        for column in 0..hpl.columns {
            let seat = Seat::new(&hpl, column);
            let blocks = Panel::new(&hpl, 1).blocks(&seat, true);
            let last = Panel::new(&hpl, 0);
            let all = last.update(&seat, last.columns(&seat)).as_ps();
            let sum: u64 = blocks.iter().map(|block| computed(&block.ops)).sum();
            assert!(all.abs_diff(sum) <= 1, "column {column}: {sum} of {all}");
            let first = last.update(&seat, if column == 1 { 64 } else { 0 });
            assert_eq!(computed(&blocks[0].ops), first.as_ps(), "column {column}");
            // The panel of column 1 is taken after two blocks by the next column, after a third one by that behind it.
            let ops = &blocks.last().expect("the rest").ops;
            let before =
                ops.iter().find_map(|op| if let Op::Compute { duration } = op { Some(*duration) } else { None });
            if let distance @ 1.. = (column + 3) % 4 {
                assert_eq!(before, Some(last.update(&seat, 64) * u64::from(1 + distance)), "column {column}");
            }
        }
    }
}
