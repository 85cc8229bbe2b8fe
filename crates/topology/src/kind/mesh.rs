//! The mesh, or k-ary n-mesh: Dally and Towles, "Principles and Practices of Interconnection Networks", 2004,
//! section 5.1.

use etherweave_primitives::{InputError, InputErrors};

use super::torus::{cube, halved_rows};
use crate::grid::{row_answers, row_family};
use crate::{AsBuilt, Bisection, Dimension, Distances, Family, FamilyFit, LinkClass, SizeRequest, Topology};

row_family! {
    /// A grid whose rows are lines. All links between switches are local.
    Mesh {
        /// Hosts on every switch, at least 1. Default 1.
        hosts_per_switch = 1,
        /// The dimensions, 1 to 6. Default two of size 4.
        dimensions = 2,
    }
}

impl Family for Mesh {
    fn generate(&self) -> Result<Topology, InputErrors> {
        self.grid().generate(
            &self.as_built,
            |size| (size - 1).min(2),
            |_| LinkClass::Local,
            |place, size| (place + 1 < size).then_some(place + 1),
        )
    }

    fn examples() -> Vec<Self> {
        let mesh = |hosts_per_switch, sizes: &[u32]| {
            let dimensions = sizes.iter().map(|&size| Dimension::of(size)).collect();
            Mesh { hosts_per_switch, dimensions, ..Mesh::default() }
        };
        vec![mesh(1, &[4, 4]), mesh(2, &[5]), mesh(1, &[2, 3, 1, 2])]
    }

    row_answers!(Line);

    /// Three dimensions of nearly the same size, the other ports for hosts; there is no largest one.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        request.check(7)?;
        let (hosts_per_switch, sizes) = cube(request);
        let dimensions = sizes.map(Dimension::of).to_vec();
        Ok(FamilyFit { smallest: Mesh { hosts_per_switch, dimensions, ..Mesh::default() }, largest: None })
    }

    /// Halving the longest row cuts it once; exact as for the torus.
    fn bisection(&self) -> Option<Bisection> {
        halved_rows(&self.dimensions, 1, "N/max(k)")
    }

    /// `2 (k - n)` ordered pairs of the `k` places in a row are `n` links apart.
    fn distances(&self) -> Option<Distances> {
        let along = |size: u64| (0..size).map(|apart| if apart == 0 { size } else { 2 * (size - apart) }).collect();
        Some(self.grid().distances(along))
    }
}
