//! Fabrics of rows in several dimensions: flattened butterflies, HyperX, meshes and tori, and mixtures of them.

mod row;

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::Topology;

use crate::adjacencies::Adjacencies;
pub(crate) use row::{GridRow, RowPath};

/// Fabrics that the routings for grids are for.
const EXPECTED: &str = "a complete flattened butterfly, HyperX, mesh or torus";

/// A grid in which every switch is adjacent to the others of its rows as the kind of the row requires.
pub(crate) struct RowGrid {
    pub adjacencies: Adjacencies,
    /// Rows by dimension, first dimension (`x`) first.
    pub rows: Vec<GridRow>,
    /// Places in rows, those of switch `s` from `s · rows.len()` on.
    places: Vec<u32>,
    /// Switches by their number, which follows from their places.
    switches: Vec<SwitchId>,
    /// Numbers that a step in each dimension adds to that number.
    strides: Vec<u32>,
}

impl RowGrid {
    /// # Errors
    /// When the coordinates of the switches are no grid, or links of its rows are missing.
    pub fn of(topology: &Topology) -> Result<RowGrid, InputError> {
        let axes = topology.axes().len();
        let unsuited = |mistake: String| InputError::new("", mistake, EXPECTED);
        // Digits of trees and numbers within groups are no places in rows.
        if topology.axes().last().is_none_or(|axis| axis != "x") {
            return Err(unsuited("the switches have no places in rows".to_owned()));
        }
        let place = |at| topology.coordinates(at).iter().rev().copied();
        let all = || (0..topology.switches()).map(SwitchId::from_index);
        let places: Vec<u32> = all().flat_map(place).collect();
        let sizes: Vec<u32> =
            (0..axes).map(|axis| places.iter().skip(axis).step_by(axes).max().map_or(1, |&most| most + 1)).collect();
        let (switches, strides) = number(&places, &sizes)
            .ok_or_else(|| unsuited(format!("{} switches do not fill a grid of {sizes:?}", topology.switches())))?;
        let adjacencies = Adjacencies::of(topology);
        let mut grid = RowGrid { adjacencies, rows: Vec::new(), places, switches, strides };
        for (dimension, &size) in sizes.iter().enumerate() {
            let row = grid.row(dimension, size);
            let row = row
                .ok_or_else(|| unsuited(format!("a link along {} is missing", topology.axes()[axes - 1 - dimension])));
            grid.rows.push(row?);
        }
        Ok(grid)
    }

    /// How the switches of all rows of a dimension are joined: the densest kind that every row has.
    fn row(&self, dimension: usize, size: u32) -> Option<GridRow> {
        let kinds = [GridRow::Full { size }, GridRow::Ring { size }, GridRow::Line { size }];
        let are_joined = |row: &GridRow| {
            (0..self.switches.len()).map(SwitchId::from_index).all(|at| {
                let place = self.place(at, dimension);
                row.neighbours(place).into_iter().all(|to| self.neighbour(at, dimension, place, to).is_some())
            })
        };
        kinds.into_iter().find(are_joined)
    }

    fn dimensions(&self) -> usize {
        self.strides.len()
    }

    /// The place of a switch in its row along a dimension.
    pub fn place(&self, at: SwitchId, dimension: usize) -> u32 {
        self.places[at.index() * self.dimensions() + dimension]
    }

    /// The adjacency from a switch at `place` in its row to the one at `to`.
    fn neighbour(&self, at: SwitchId, dimension: usize, place: u32, to: u32) -> Option<u32> {
        let stride = self.strides[dimension];
        let number = self.number(at) - place * stride + to * stride;
        self.adjacencies.find(at, self.switches[number as usize])
    }

    fn number(&self, at: SwitchId) -> u32 {
        (0..self.dimensions()).map(|dimension| self.place(at, dimension) * self.strides[dimension]).sum()
    }

    /// The adjacency to a place in the row along a dimension.
    pub fn adjacency(&self, at: SwitchId, dimension: usize, to: u32) -> u32 {
        let adjacency = self.neighbour(at, dimension, self.place(at, dimension), to);
        adjacency.expect("the links of rows were checked")
    }

    /// Whether all rows are fully connected.
    pub fn is_full(&self) -> bool {
        self.rows.iter().all(|row| matches!(row, GridRow::Full { .. }))
    }

    pub fn has_rings(&self) -> bool {
        self.rows.iter().any(|row| matches!(row, GridRow::Ring { .. }))
    }

    /// The most hops of a minimal path.
    pub fn diameter(&self) -> u32 {
        self.rows.iter().map(GridRow::diameter).sum()
    }
}

/// Switches by number, and the stride of every dimension; none unless every place has exactly one switch.
fn number(places: &[u32], sizes: &[u32]) -> Option<(Vec<SwitchId>, Vec<u32>)> {
    let count = places.len() / sizes.len();
    let product = sizes.iter().try_fold(1u32, |product, &size| product.checked_mul(size))?;
    if product as usize != count {
        return None;
    }
    let mut strides = vec![1; sizes.len()];
    (1..sizes.len()).for_each(|dimension| strides[dimension] = strides[dimension - 1] * sizes[dimension - 1]);
    let mut switches = vec![None; count];
    for (index, place) in places.chunks(sizes.len()).enumerate() {
        let number: u32 = place.iter().zip(&strides).map(|(place, stride)| place * stride).sum();
        if switches[number as usize].replace(SwitchId::from_index(index)).is_some() {
            return None;
        }
    }
    Some((switches.into_iter().collect::<Option<Vec<_>>>()?, strides))
}
