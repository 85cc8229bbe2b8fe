//! A panel: its factorisation, its broadcast, the swap of rows and the update.

use etherweave_primitives::{Bytes, Duration};

use super::{Hpl, RowSwap, Seat, compute};
use crate::collective::{Algorithm, Collective, Rule};
use crate::{Block, Op};

/// A real number of double precision [B].
const REAL: u64 = 8;

/// A panel of a system.
pub(super) struct Panel<'a> {
    hpl: &'a Hpl,
    number: u32,
    /// Its columns.
    width: u32,
}

impl<'a> Panel<'a> {
    pub fn new(hpl: &'a Hpl, number: u32) -> Panel<'a> {
        Panel { hpl, number, width: hpl.block.min(hpl.size - number * hpl.block) }
    }

    /// What a rank does; measured, it is an iteration.
    pub fn blocks(&self, seat: &Seat, is_measured: bool) -> Vec<Block> {
        let root = self.number % self.hpl.columns;
        let rows = self.local(self.number, seat.row, self.hpl.rows);
        let mut ops = self.hpl.broadcast.ops(seat, root, self.panel_bytes(rows));
        ops.extend(self.swap(seat));
        ops.extend(compute(self.update(seat)));
        ops.push(Op::IterationEnd);
        let mut blocks = vec![Block::unmeasured(vec![Op::IterationStart])];
        if seat.column == root {
            blocks.push(Block { ops: self.column(seat, rows), repeat: self.width, measured: false });
        }
        blocks.push(Block { ops, repeat: 1, measured: is_measured });
        blocks
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
        (rows * width + width * width + width + 1) * REAL
    }

    /// One column of the panel: the search for the pivot in what the rank has, and the exchange that finds the largest
    /// and swaps the rows (`HPL_pdmxswp.c`).
    fn column(&self, seat: &Seat, rows: u64) -> Vec<Op> {
        let operations = u128::from(rows) * u128::from(self.width);
        let bytes = Bytes::new((4 + 2 * u64::from(self.width)) * REAL);
        let mut ops: Vec<Op> = compute(time(self.hpl.panel_per_gflop, operations)).into_iter().collect();
        ops.extend(along_column(&Collective::Allreduce { bytes }, Algorithm::RecursiveDoubling, seat));
        ops
    }

    /// U has a row for each of the panel's columns, of all columns that the rank still has.
    fn swap(&self, seat: &Seat) -> Vec<Op> {
        let columns = self.local(self.number + 1, seat.column, self.hpl.columns);
        let bytes = columns * u64::from(self.width) * REAL;
        if bytes == 0 {
            return Vec::new();
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
        let (root, part) = (self.number % self.hpl.rows, Bytes::new(bytes.div_ceil(self.hpl.rows.into())));
        let mut ops = along_column(&Collective::Scatter { root, bytes: part }, Algorithm::Binomial, seat);
        ops.extend(along_column(&Collective::Allgather { bytes: part }, Algorithm::Ring, seat));
        ops
    }

    /// A triangular solution for U and a product of matrices.
    fn update(&self, seat: &Seat) -> Duration {
        let rows = u128::from(self.local(self.number + 1, seat.row, self.hpl.rows));
        let columns = u128::from(self.local(self.number + 1, seat.column, self.hpl.columns));
        let width = u128::from(self.width);
        time(self.hpl.update_per_gflop, (width * width + 2 * width * rows) * columns)
    }
}

fn along_column(collective: &Collective, algorithm: Algorithm, seat: &Seat) -> Vec<Op> {
    let rule = Rule { algorithm: Some(algorithm), ..Rule::default() };
    collective.lower(&rule, &seat.of_column, seat.row)
}

/// The time of so many operations.
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
            let ops = Panel::new(&hpl, 0).swap(&Seat::new(&hpl, row));
            ops.iter().map(|op| if let Op::Isend { bytes, .. } = op { *bytes } else { 0 }).sum::<u64>()
        };
        let all = (4_096 - 64) * 64 * REAL;
        assert_eq!([sent(RowSwap::SpreadRoll, 0), sent(RowSwap::SpreadRoll, 1)], [all / 4 * 6, all / 4 * 3]);
        assert_eq!(sent(RowSwap::BinaryExchange, 3), 2 * all);
    }
}
