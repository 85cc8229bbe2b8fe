//! HyperX: Ahn, Binkert, Davis, McLaren and Schreiber, "HyperX: topology, routing, and packaging of efficient
//! large-scale networks", SC 2009, sections 3 and 4.
//!
//! ```text
//!   y=1   s ─── s ─── s       L = 2 dimensions of sizes S = (3, 2), T hosts per switch (not drawn):
//!         │╲    │     │       two switches that differ in one coordinate are joined by
//!         │ (x=0 to x=2 too)  K parallel links of that dimension
//!   y=0   s ─── s ─── s
//!        x=0   x=1   x=2
//! ```

use etherweave_primitives::{BitRate, InputError, InputErrors};

use crate::grid::{row_answers, row_family};
use crate::{AsBuilt, Bisection, Dimension, Family, FamilyFit, LinkClass, SizeRequest, Topology};

row_family! {
    /// A grid whose rows are fully connected. Links of the first dimension are local, the others global.
    HyperX {
        /// Hosts on every switch, at least 1: `T` of Ahn et al. Default 4.
        hosts_per_switch = 4,
        /// The dimensions, 1 to 6. Default two of size 4.
        dimensions = 2,
    }
}

impl Family for HyperX {
    fn generate(&self) -> Result<Topology, InputErrors> {
        let class = |number| if number == 0 { LinkClass::Local } else { LinkClass::Global };
        self.grid().generate(&self.as_built, |size| size - 1, class, |place, size| place + 1..size)
    }

    fn examples() -> Vec<Self> {
        let hyperx = |hosts_per_switch, dimensions: &[(u32, u32)]| {
            let dimension = |&(size, lag)| Dimension { lag, ..Dimension::of(size) };
            HyperX { hosts_per_switch, dimensions: dimensions.iter().map(dimension).collect(), ..HyperX::default() }
        };
        vec![hyperx(2, &[(3, 1), (2, 3)]), hyperx(1, &[(4, 2)]), hyperx(1, &[(2, 1), (1, 1), (3, 1), (2, 2)])]
    }

    row_answers!(Full);

    /// Fits as many hosts per switch as switches in a row (the balance of Kim et al., ISCA 2007, section 2) in the
    /// fewest dimensions, the last one cut to what is needed and its spare ports given to parallel links.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        let balanced = Balanced::of(request)?;
        let hyperx = |last: Dimension| {
            let mut dimensions = vec![Dimension::of(balanced.side); balanced.dimensions];
            dimensions[balanced.dimensions - 1] = last;
            HyperX { hosts_per_switch: balanced.side, dimensions, ..HyperX::default() }
        };
        let size = balanced.last(request.hosts);
        let smallest = hyperx(Dimension { lag: balanced.lag(request.radix, size), ..Dimension::of(size) });
        Ok(FamilyFit { smallest, largest: Some(hyperx(Dimension::of(balanced.side))) })
    }

    /// Ahn et al., section 3.2: halving dimension `k` cuts `K_k · S_k/4` links per switch. The Laplacian of such a
    /// graph has the second eigenvalue `min K_k · S_k`, so that no bisection is smaller (Fiedler, 1973): exact where
    /// the size of the weakest dimension is even.
    fn bisection(&self) -> Option<Bisection> {
        let strength = |dimension: &&Dimension| product_bps(dimension.rate, [dimension.size, dimension.lag]);
        let switches: u64 = self.dimensions.iter().map(|dimension| u64::from(dimension.size)).product();
        // A row of one switch cannot be halved.
        let weakest = self.dimensions.iter().filter(|dimension| dimension.size > 1).min_by_key(strength)?;
        weakest.size.is_multiple_of(2).then(|| {
            let bps = strength(&weakest).saturating_mul(u128::from(switches)) / 4;
            Bisection::exact(bps, "N·min(K·S)/4")
        })
    }
}

fn product_bps(rate: BitRate, factors: [u32; 2]) -> u128 {
    factors.into_iter().fold(u128::from(rate.as_bps()), |product, factor| product * u128::from(factor))
}

/// A balanced flattened butterfly: as many hosts per switch as switches in a row.
pub(crate) struct Balanced {
    /// Hosts per switch, and switches in a row.
    pub side: u32,
    pub dimensions: usize,
}

impl Balanced {
    /// The fewest dimensions that hold the hosts, at most 5.
    pub fn of(request: &SizeRequest) -> Result<Balanced, InputError> {
        request.check(2)?;
        let sizes = (1..=5u32).map(|n| Balanced { side: Balanced::side(request.radix, n), dimensions: n as usize });
        let most = sizes.map(|size| (size.hosts_max(), size)).collect::<Vec<_>>();
        let room = most.iter().map(|(hosts, _)| *hosts).max().unwrap_or_default();
        request.check_room(room)?;
        let enough = most.into_iter().find(|(hosts, _)| *hosts >= u64::from(request.hosts));
        Ok(enough.expect("one of them holds the most").1)
    }

    /// Switches in a row, and hosts on each of them: `T + n·(T - 1)` ports are at most `radix`.
    pub fn side(radix: u32, dimensions: u32) -> u32 {
        (radix + dimensions) / (dimensions + 1)
    }

    pub fn hosts_max(&self) -> u64 {
        u64::from(self.side).saturating_pow(self.dimensions as u32 + 1)
    }

    /// The size of the last dimension that holds `hosts` hosts.
    pub fn last(&self, hosts: u32) -> u32 {
        let layer = u64::from(self.side).pow(self.dimensions as u32);
        u64::from(hosts).div_ceil(layer) as u32
    }

    /// Parallel links of a last dimension of `size`: what its spare ports allow, and a full row would have.
    fn lag(&self, radix: u32, size: u32) -> u32 {
        let spare = radix - self.side - (self.dimensions as u32 - 1) * (self.side - 1);
        if size < 2 { 1 } else { (spare / (size - 1)).min(self.side.div_ceil(size)).max(1) }
    }
}
