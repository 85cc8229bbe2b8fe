//! High-Performance Linpack: a system of linear equations, panel by panel.
//!
//! ```text
//!   column of the panel   factorises it: for each of its columns an exchange along the column of the grid
//!   every row             broadcasts the panel
//!   every column          swaps rows and spreads those of U
//!   every rank            updates its part of the rest
//! ```
//!
//! With look-ahead the next panel is updated first, and factorised and broadcast while all ranks update the rest.

mod broadcast;
mod input;
mod panel;

use etherweave_primitives::{Duration, InputError, InputErrors, Rank, params};

use crate::collective::{Collective, Communicator, Rule};
use crate::{Block, Op, Program, RankWorkload, limits::at_least, limits::within};

pub use broadcast::PanelBroadcast;
pub use input::HplInput;
use panel::Panel;

/// Order in which ranks fill the grid (`PMAP` of `HPL.dat`).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GridOrder {
    /// Row by row.
    #[default]
    RowMajor,
    /// Column by column.
    ColumnMajor,
}

/// How rows are swapped and those of U spread (`SWAP` of `HPL.dat`).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowSwap {
    /// All of U in each of log2 P exchanges.
    BinaryExchange,
    /// A part of U to each rank, then around a ring.
    SpreadRoll,
    /// The former up to `swap_threshold` columns, then the latter.
    #[default]
    Mix,
}

params! {
    /// Linpack (`hpl`). An iteration is a panel, of those that are sampled, each behind a barrier and the panel before
    /// it; the time of a panel is the mean over ranks.
    pub struct Hpl {
        /// Rows of the grid of ranks, P of `HPL.dat`, 1 to 1,024.
        pub rows: u32 = 4,
        /// Columns of the grid of ranks, Q of `HPL.dat`, 1 to 1,024; 2 ranks or more in all.
        pub columns: u32 = 4,
        /// Order in which ranks fill the grid.
        pub order: GridOrder = GridOrder::default(),
        /// Rows and columns of the matrix, N of `HPL.dat`; 3 blocks or more.
        pub size: u32 = 4_096,
        /// Rows and columns of a block, NB of `HPL.dat`, 1 to 4,096.
        pub block: u32 = 64,
        /// Panels that are factorised before all columns have the last update: 0 or 1 (`DEPTH` of `HPL.dat`).
        pub depth: u32 = 0,
        /// Broadcast of a panel.
        pub broadcast: PanelBroadcast = PanelBroadcast::default(),
        /// Swap of rows.
        pub swap: RowSwap = RowSwap::default(),
        /// Columns of a rank up to which `swap = "mix"` is an exchange.
        pub swap_threshold: u32 = 64,
        /// Time of a rank for 10^9 operations of the update.
        pub update_per_gflop: Duration = Duration::from_ms(30),
        /// Time of a rank for 10^9 operations of a panel's factorisation.
        pub panel_per_gflop: Duration = Duration::from_ms(100),
        /// Panels that are simulated, evenly spread: 5, 9, 13, ... Absent: all, one after the other.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub samples: Option<u32> = None,
    }
}

/// Side of the grid at most.
const SIDE_MAX: u32 = 1_024;
/// Columns of a panel at most.
const BLOCK_MAX: u32 = 4_096;
/// Panels that are written out at most.
const PANELS_MAX: u32 = 10_000;

impl RankWorkload for Hpl {
    fn ranks(&self) -> u64 {
        u64::from(self.rows).saturating_mul(u64::from(self.columns))
    }

    /// # Errors
    /// When there are fewer than two ranks, fewer than three panels, or samples that no quadrature takes.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        InputErrors::all([
            within("rows", self.rows, 1..=SIDE_MAX),
            within("columns", self.columns, 1..=SIDE_MAX),
            at_least("ranks", self.rows.saturating_mul(self.columns), 2),
            within("block", self.block, 1..=BLOCK_MAX),
            within("depth", self.depth, 0..=1),
            at_least("size", self.size, self.block.saturating_mul(3)),
            self.check_samples(),
        ])?;
        let world = Communicator::world(self.rows * self.columns);
        Ok(ranks.map(|rank| self.program(&world, rank)).collect())
    }
}

impl Hpl {
    /// Returns the most memory of a rank's part of the matrix, with the right-hand side [B].
    pub fn memory_per_rank(&self) -> u64 {
        let side = |all: u32, parts: u32| {
            u64::from(all.div_ceil(self.block.max(1)).div_ceil(parts.max(1))).saturating_mul(self.block.into())
        };
        let rows = side(self.size, self.rows);
        let columns = side(self.size.saturating_add(1), self.columns);
        rows.saturating_mul(columns).saturating_mul(Panel::REAL)
    }

    fn check_samples(&self) -> Result<(), InputError> {
        let panels = self.panels();
        let Some(samples) = self.samples else { return within("size / block", panels, 3..=PANELS_MAX) };
        let is_sound = samples % 4 == 1 && samples >= 5 && samples < panels;
        let expected = format_args!("5, 9, 13, ..., fewer than the {panels} panels");
        InputError::unless(is_sound, "samples", samples, expected)
    }

    fn panels(&self) -> u32 {
        self.size.div_ceil(self.block.max(1))
    }

    /// The panels that count: evenly spread, from the second to the last.
    fn sampled(&self, samples: u32) -> impl Iterator<Item = u32> {
        let (last, steps) = (u64::from(self.panels() - 2), u64::from(samples - 1));
        (0..u64::from(samples)).map(move |number| 1 + (number * last / steps) as u32)
    }

    fn program(&self, world: &Communicator, rank: u32) -> Program {
        let seat = Seat::new(self, rank);
        let barrier = || Block::unmeasured(Collective::Barrier.lower(&Rule::default(), world, rank));
        let Some(samples) = self.samples else {
            let panels = (0..self.panels()).flat_map(|number| Panel::new(self, number).blocks(&seat, true));
            return Program::new(std::iter::once(barrier()).chain(panels));
        };
        let of_sample = |number: u32| {
            let before = Panel::new(self, number - 1).blocks(&seat, false);
            let panel = Panel::new(self, number).blocks(&seat, true);
            std::iter::once(barrier()).chain(before).chain(panel)
        };
        Program::new(self.sampled(samples).flat_map(of_sample))
    }

    fn rank(&self, row: u32, column: u32) -> Rank {
        Rank::new(match self.order {
            GridOrder::RowMajor => row * self.columns + column,
            GridOrder::ColumnMajor => column * self.rows + row,
        })
    }
}

/// Where a rank is in the grid, and whom it meets there.
struct Seat {
    row: u32,
    column: u32,
    of_row: Vec<Rank>,
    ranks_of_column: Vec<Rank>,
    of_column: Communicator,
}

impl Seat {
    /// Messages along columns and along rows are apart.
    const COLUMN: u8 = 1;
    const ROW: u8 = 2;

    fn new(hpl: &Hpl, rank: u32) -> Seat {
        let (row, column) = match hpl.order {
            GridOrder::RowMajor => (rank / hpl.columns, rank % hpl.columns),
            GridOrder::ColumnMajor => (rank % hpl.rows, rank / hpl.rows),
        };
        let of_row = (0..hpl.columns).map(|column| hpl.rank(row, column)).collect();
        let ranks_of_column: Vec<Rank> = (0..hpl.rows).map(|row| hpl.rank(row, column)).collect();
        let of_column = Communicator::new(ranks_of_column.clone(), Seat::COLUMN);
        Seat { row, column, of_row, ranks_of_column, of_column }
    }
}

/// A busy rank, unless it has nothing to do.
fn compute(duration: Duration) -> Option<Op> {
    (!duration.is_zero()).then_some(Op::Compute { duration })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, check_progress};

    /// All panels of a small system on grids of all kinds, by every broadcast and swap.
    #[test]
    fn every_variant_sends_what_is_received_and_ends() {
        for (rows, columns) in [(1, 2), (2, 1), (2, 2), (3, 4), (4, 3), (2, 7), (5, 2)] {
            for &broadcast in PanelBroadcast::ALL {
                for swap in [RowSwap::BinaryExchange, RowSwap::SpreadRoll, RowSwap::Mix] {
                    let grid = Hpl { rows, columns, size: 500, block: 32, broadcast, swap, ..Hpl::default() };
                    for (samples, depth) in [(None, 0), (Some(5), 0), (None, 1), (Some(5), 1)] {
                        let hpl = Hpl { samples, depth, swap_threshold: 40, ..grid.clone() };
                        let programs = hpl.programs(1).unwrap();
                        assert_eq!((check(&programs), check_progress(&programs)), (Ok(()), Ok(())), "{hpl:?}");
                        let expected = if samples.is_some() { 5 } else { 16 };
                        assert!(programs.iter().all(|program| program.iterations() == expected));
                    }
                }
            }
        }
    }

    /// 2/3 N^3 operations of updates and N^2 NB/2 of panels over all ranks, to the order of NB/N.
    #[test]
    fn all_panels_together_compute_the_operations_of_linpack() {
        let gflop = Duration::from_ms(1_000);
        let hpl = Hpl { update_per_gflop: gflop, panel_per_gflop: Duration::ZERO, ..Hpl::default() };
        let seconds = |hpl: &Hpl| {
            let programs = hpl.programs(1).unwrap();
            let ops = programs.iter().flat_map(|program| program.blocks.iter()).flat_map(|block| {
                block.ops.iter().map(move |op| match op {
                    Op::Compute { duration } => duration.as_ps() as f64 * 1e-12 * f64::from(block.repeat),
                    _ => 0.0,
                })
            });
            ops.sum::<f64>()
        };
        let (n, nb) = (4_096_f64, 64.0);
        let update = seconds(&hpl) / (2.0 / 3.0 * n.powi(3) * 1e-9);
        assert!((0.97..1.03).contains(&update), "{update}");
        let panels = Hpl { update_per_gflop: Duration::ZERO, panel_per_gflop: gflop, ..hpl };
        let panels = seconds(&panels) / (n * n * nb / 2.0 * 1e-9);
        assert!((0.97..1.05).contains(&panels), "{panels}");
    }

    #[test]
    fn samples_are_spread_from_the_second_panel_to_the_last() {
        let sampled = |samples| Hpl::default().sampled(samples).collect::<Vec<_>>();
        assert_eq!(sampled(5), [1, 16, 32, 47, 63]);
    }

    #[test]
    fn ranks_fill_the_grid_row_by_row_or_column_by_column() {
        let seat = |order| {
            let seat = Seat::new(&Hpl { rows: 2, columns: 3, order, ..Hpl::default() }, 4);
            (seat.row, seat.column)
        };
        assert_eq!((seat(GridOrder::RowMajor), seat(GridOrder::ColumnMajor)), ((1, 1), (0, 2)));
    }
}
