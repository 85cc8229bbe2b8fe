//! The torus, or k-ary n-cube: Dally and Towles, "Principles and Practices of Interconnection Networks", 2004,
//! chapter 5.

use etherweave_primitives::{InputError, InputErrors};

use crate::grid::{row_answers, row_family};
use crate::{AsBuilt, Bisection, Dimension, Distances, Family, FamilyFit, LinkClass, SizeRequest, Topology};

row_family! {
    /// A grid whose rows are rings; a row of two is joined once. All links between switches are local.
    Torus {
        /// Hosts on every switch, at least 1. Default 1.
        hosts_per_switch = 1,
        /// The dimensions, 1 to 6. Default three of size 4.
        dimensions = 3,
    }
}

impl Family for Torus {
    fn generate(&self) -> Result<Topology, InputErrors> {
        self.grid().generate(&self.as_built, |size| (size - 1).min(2), |_| LinkClass::Local, ring)
    }

    fn examples() -> Vec<Self> {
        let torus = |hosts_per_switch, sizes: &[u32]| {
            let dimensions = sizes.iter().map(|&size| Dimension::of(size)).collect();
            Torus { hosts_per_switch, dimensions, ..Torus::default() }
        };
        let doubled = vec![Dimension { lag: 2, ..Dimension::of(5) }];
        vec![
            torus(1, &[4, 3, 2]),
            torus(2, &[3, 1]),
            torus(1, &[2, 2, 2, 2, 2, 3]),
            Torus { dimensions: doubled, ..Torus::default() },
        ]
    }

    row_answers!(Ring);

    /// Three dimensions of nearly the same size, the other ports for hosts. A torus has no largest size, so
    /// there is no largest one.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        request.check(7)?;
        let (hosts_per_switch, sizes) = cube(request);
        let dimensions = sizes.map(Dimension::of).to_vec();
        Ok(FamilyFit { smallest: Torus { hosts_per_switch, dimensions, ..Torus::default() }, largest: None })
    }

    /// Halving a row of `k` switches cuts it twice, `2·N/k` links altogether; the longest row is halved most cheaply.
    /// Exact for an even longest side and equal links: Azizoğlu and Eğecioğlu, "The bisection width and the
    /// isoperimetric number of arrays", Discrete Applied Mathematics 2004.
    fn bisection(&self) -> Option<Bisection> {
        let is_ring = self.dimensions.iter().all(|dimension| dimension.size == 1 || dimension.size > 2);
        is_ring.then(|| halved_rows(&self.dimensions, 2, "2·N/max(k)"))?
    }

    /// Each of `k` places has one `n` places on, for all `n < k`, which is `min(n, k - n)` links away.
    fn distances(&self) -> Option<Distances> {
        let along = |size: u64| {
            let mut pairs = vec![0; size as usize / 2 + 1];
            (0..size).for_each(|on| pairs[on.min(size - on) as usize] += size);
            pairs
        };
        Some(self.grid().distances(along))
    }
}

/// The next switch, and for the first also the last, which closes the ring.
fn ring(place: u32, size: u32) -> impl Iterator<Item = u32> {
    let next = (place + 1 < size).then_some(place + 1);
    let around = (place == 0 && size > 2).then(|| size - 1);
    next.into_iter().chain(around)
}

/// Halves the longest row, when it is even and all links are alike.
pub(crate) fn halved_rows(dimensions: &[Dimension], cuts: u32, formula: &'static str) -> Option<Bisection> {
    let longest = dimensions.iter().max_by_key(|dimension| dimension.size)?;
    let capacity = |dimension: &Dimension| u128::from(dimension.rate.as_bps()) * u128::from(dimension.lag);
    let joined = || dimensions.iter().filter(|dimension| dimension.size > 1);
    let is_alike = joined().all(|dimension| capacity(dimension) == capacity(longest));
    let rows: u128 = dimensions.iter().map(|dimension| u128::from(dimension.size)).product();
    let is_even = longest.size.is_multiple_of(2);
    (is_alike && is_even).then(|| {
        let bps = capacity(longest) * u128::from(cuts) * (rows / u128::from(longest.size));
        Bisection::exact(bps, formula)
    })
}

/// Hosts per switch and three nearly equal sizes with room for all hosts.
pub(crate) fn cube(request: &SizeRequest) -> (u32, [u32; 3]) {
    let hosts_per_switch = request.radix - 6;
    let switches = request.hosts.div_ceil(hosts_per_switch);
    let side = (1..).find(|side: &u32| u64::from(*side).pow(3) >= u64::from(switches)).expect("a cube is large enough");
    let middle = (1..=side).find(|middle| u64::from(side * middle) * u64::from(side) >= u64::from(switches));
    let middle = middle.unwrap_or(side);
    (hosts_per_switch, [side, middle, switches.div_ceil(side * middle)])
}
