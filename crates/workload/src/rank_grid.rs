//! Ranks on a three-dimensional grid, x fastest.

use etherweave_primitives::{InputError, Rank};

use crate::limits::at_least;

/// A grid of `pex · pey · pez` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankGrid {
    /// Ranks along x, y and z, each 1 or more.
    extent: [u32; 3],
}

impl RankGrid {
    /// The grid of these extents, of at least two ranks.
    pub(crate) fn new(pex: u32, pey: u32, pez: u32) -> Result<RankGrid, InputError> {
        at_least("pex", pex, 1)?;
        at_least("pey", pey, 1)?;
        at_least("pez", pez, 1)?;
        let ranks = u64::from(pex).saturating_mul(u64::from(pey)).saturating_mul(u64::from(pez));
        if (2..=u64::from(u32::MAX)).contains(&ranks) {
            return Ok(RankGrid { extent: [pex, pey, pez] });
        }
        Err(InputError::new("pex, pey, pez", format!("a grid of {ranks} ranks"), "2 to 4294967295 ranks"))
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.extent.iter().product()
    }

    /// Where `rank` sits: `x = r mod pex`, `y = (r mod pex·pey) div pex`, `z = r div (pex·pey)`.
    pub(crate) fn position(&self, rank: u32) -> [u32; 3] {
        let [pex, pey, _] = self.extent;
        [rank % pex, rank % (pex * pey) / pex, rank / (pex * pey)]
    }

    /// Who sits at `position`.
    pub(crate) fn rank_at(&self, [x, y, z]: [u32; 3]) -> Rank {
        let [pex, pey, _] = self.extent;
        Rank::new(x + pex * (y + pey * z))
    }

    /// The position one `step` (-1, 0 or 1 per axis) away on a torus.
    pub(crate) fn wrapped(&self, from: [u32; 3], step: [i32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| {
            let along = i64::from(from[axis]) + i64::from(step[axis]);
            along.rem_euclid(i64::from(self.extent[axis])) as u32
        })
    }

    /// The position one `step` away, unless it lies beyond the grid.
    pub(crate) fn inside(&self, from: [u32; 3], step: [i32; 3]) -> Option<[u32; 3]> {
        let stays = |axis: usize| from[axis].checked_add_signed(step[axis]).is_some_and(|at| at < self.extent[axis]);
        (0..3).all(stays).then(|| self.wrapped(from, step))
    }

    /// The ranks on the line through `position` along `axis`, in the order of the running coordinate.
    pub(crate) fn line(&self, position: [u32; 3], axis: usize) -> Vec<Rank> {
        let at = |coordinate| {
            let mut place = position;
            place[axis] = coordinate;
            self.rank_at(place)
        };
        (0..self.extent[axis]).map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_runs_fastest_then_y_then_z() {
        let grid = RankGrid::new(4, 4, 3).unwrap();
        // 22 = 2 + 4 · (1 + 4 · 1)
        assert_eq!(grid.position(22), [2, 1, 1]);
        assert!((0..48).all(|rank| grid.rank_at(grid.position(rank)) == Rank::new(rank)));
    }

    #[test]
    fn lines_are_strided_by_the_axes_below() {
        let grid = RankGrid::new(4, 4, 3).unwrap();
        let numbers = |axis| grid.line([2, 1, 1], axis).iter().map(|rank| rank.get()).collect::<Vec<_>>();
        assert_eq!(numbers(0), [20, 21, 22, 23]);
        assert_eq!(numbers(1), [18, 22, 26, 30]);
        assert_eq!(numbers(2), [6, 22, 38]);
    }

    #[test]
    fn beyond_the_edge_lies_the_other_side_or_nothing() {
        let grid = RankGrid::new(4, 4, 3).unwrap();
        assert_eq!(grid.wrapped([0, 3, 2], [-1, 1, 1]), [3, 0, 0]);
        assert_eq!(grid.inside([0, 3, 2], [-1, 0, 0]), None);
        assert_eq!(grid.inside([0, 3, 2], [1, -1, 0]), Some([1, 2, 2]));
    }
}
