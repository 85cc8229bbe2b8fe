//! Switches on a grid: what flattened butterflies, HyperX, tori and meshes have in common.

use etherweave_primitives::{BitRate, InputErrors, SwitchId, params};

use crate::check::{at_least_one, each_at_least_one, links, list_len, product};
use crate::{AsBuilt, Builder, Cable, Distances, LinkClass, Topology};

/// Letters of the dimensions, first dimension first.
const LETTERS: [&str; 6] = ["x", "y", "z", "w", "v", "u"];
const DIMENSIONS_MAX: usize = LETTERS.len();

params! {
    /// One dimension of a grid.
    pub struct Dimension {
        /// Switches in a row along this dimension, at least 1: `S` of Ahn et al. Default 4.
        pub size: u32 = 4,
        /// Parallel links between two joined switches, at least 1: `K` of Ahn et al. Default 1.
        pub lag: u32 = 1,
        /// Rate of each of these links [bit/s]. Default "100Gb/s".
        pub rate: BitRate = BitRate::from_gbps(100),
        /// Each of these cables. Default "20m".
        pub cable: Cable = Cable::from_m(20),
    }
}

impl Dimension {
    /// A dimension of some size, otherwise as usual.
    pub fn of(size: u32) -> Dimension {
        Dimension { size, ..Dimension::default() }
    }
}

/// Declares the parameters of a family of switches in rows, with their defaults.
macro_rules! row_family {
    (
        $(#[$doc:meta])*
        $family:ident {
            $(#[$hosts_doc:meta])*
            hosts_per_switch = $hosts:literal,
            $(#[$dimensions_doc:meta])*
            dimensions = $dimensions:literal,
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $family {
            $(#[$hosts_doc])*
            pub hosts_per_switch: u32,
            /// Rate of the links between hosts and switches [bit/s]. Default "100Gb/s".
            pub host_rate: etherweave_primitives::BitRate,
            /// Cable between host and switch. Default "3m".
            pub host_cable: $crate::Cable,
            $(#[$dimensions_doc])*
            pub dimensions: Vec<$crate::Dimension>,
            /// Departures from the regular plan.
            #[serde(skip_serializing_if = "AsBuilt::is_default")]
            pub as_built: $crate::AsBuilt,
        }

        impl Default for $family {
            fn default() -> Self {
                $family {
                    hosts_per_switch: $hosts,
                    host_rate: etherweave_primitives::BitRate::from_gbps(100),
                    host_cable: $crate::Cable::from_m(3),
                    dimensions: vec![$crate::Dimension::default(); $dimensions],
                    as_built: $crate::AsBuilt::default(),
                }
            }
        }

        impl $family {
            fn grid(&self) -> $crate::grid::RowFabric<'_> {
                let $family { ref dimensions, hosts_per_switch, host_rate, host_cable, as_built: _ } = *self;
                $crate::grid::RowFabric { dimensions, hosts_per_switch, host_rate, host_cable }
            }
        }
    };
}
pub(crate) use row_family;

/// Answers of a family of switches in rows that depend on nothing but its parameters.
macro_rules! row_answers {
    ($row:ident) => {
        fn as_built(&self) -> &AsBuilt {
            &self.as_built
        }

        fn shape(&self) -> $crate::Shape {
            $crate::Shape::Grid { row: $crate::RowShape::$row, dimensions: self.dimensions.clone() }
        }

        fn hosts_planned(&self) -> u64 {
            self.grid().hosts_planned()
        }
    };
}
pub(crate) use row_answers;

/// Switches in rows; the number of a switch counts the first dimension fastest.
pub(crate) struct RowFabric<'a> {
    pub dimensions: &'a [Dimension],
    pub hosts_per_switch: u32,
    pub host_rate: BitRate,
    pub host_cable: Cable,
}

impl RowFabric<'_> {
    /// The fabric: `degree(size)` neighbours per switch in a row of a size, `class` of links by dimension, and `ahead`
    /// as [`join`](RowFabric::join) has it.
    pub fn generate<Ahead: IntoIterator<Item = u32>>(
        &self,
        as_built: &AsBuilt,
        degree: impl Fn(u32) -> u32,
        class: impl Fn(usize) -> LinkClass,
        ahead: impl Fn(u32, u32) -> Ahead,
    ) -> Result<Topology, InputErrors> {
        list_len("dimensions", self.dimensions.len(), 1..=DIMENSIONS_MAX)?;
        self.check(degree)?;
        let mut builder = self.plant();
        self.join(&mut builder, class, ahead);
        Ok(builder.build_as(as_built)?)
    }

    /// Sizes and lags are positive, and a row of `degree(size)` neighbours per switch fits the memory.
    fn check(&self, degree: impl Fn(u32) -> u32) -> Result<(), InputErrors> {
        let mut errors = InputErrors::default();
        errors.check(at_least_one("hosts_per_switch", self.hosts_per_switch));
        errors.each("dimensions", self.dimensions, |dimension| {
            each_at_least_one([("size", dimension.size), ("lag", dimension.lag)])
        });
        errors.into_result()?;
        let switches = product(self.dimensions.iter().map(|dimension| dimension.size));
        let to_hosts = switches.saturating_mul(u64::from(self.hosts_per_switch));
        let ends = self.dimensions.iter().map(|dimension| product([degree(dimension.size), dimension.lag]));
        let between = ends.map(|ends| switches.saturating_mul(ends) / 2);
        links(between.fold(to_hosts, u64::saturating_add))?;
        Ok(())
    }

    /// All switches with their hosts.
    fn plant(&self) -> Builder {
        let axes = LETTERS[..self.dimensions.len()].iter().rev().copied();
        let mut builder = Builder::with_axes(axes);
        for switch in 0..self.switches() {
            let place = self.place(switch);
            let name: Vec<String> = place.iter().map(u32::to_string).collect();
            builder.add_switch_at(format!("switch{}", name.join(".")), 0, &place);
        }
        for host in builder.add_hosts(self.switches() * self.hosts_per_switch) {
            let switch = SwitchId::new(host.get() / self.hosts_per_switch);
            builder.link(host, switch, self.host_rate, self.host_cable, LinkClass::Host);
        }
        builder
    }

    /// Joins every switch, along every dimension, with those of its row that `ahead` lists: places after its own, by
    /// its place and the row's size. Dimension by dimension, so that a switch's ports are in order of dimensions.
    fn join<Ahead: IntoIterator<Item = u32>>(
        &self,
        builder: &mut Builder,
        class: impl Fn(usize) -> LinkClass,
        ahead: impl Fn(u32, u32) -> Ahead,
    ) {
        let mut stride = 1;
        for (number, dimension) in self.dimensions.iter().enumerate() {
            for switch in 0..self.switches() {
                let place = switch / stride % dimension.size;
                for other in ahead(place, dimension.size) {
                    let (a, b) = (SwitchId::new(switch), SwitchId::new(switch + (other - place) * stride));
                    for _ in 0..dimension.lag {
                        builder.link(a, b, dimension.rate, dimension.cable, class(number));
                    }
                }
            }
            stride *= dimension.size;
        }
    }

    /// How far hosts are apart, which is the sum over dimensions of how far their places in a row are: `along` gives
    /// the ordered pairs of places at distance 0, 1, … in a row of a size.
    pub fn distances(&self, along: impl Fn(u64) -> Vec<u64>) -> Distances {
        let rows = self.dimensions.iter().map(|dimension| along(dimension.size.into()));
        let hosts = u64::from(self.hosts_per_switch);
        let mut pairs = rows.fold(vec![hosts * hosts], |pairs, row| sums(&pairs, &row));
        // A host is no pair with itself.
        pairs[0] -= hosts * u64::from(self.switches());
        Distances::of_pairs(pairs)
    }

    /// Hosts of all switches, also of more than could be built.
    pub fn hosts_planned(&self) -> u64 {
        product(self.dimensions.iter().map(|dimension| dimension.size).chain([self.hosts_per_switch]))
    }

    fn switches(&self) -> u32 {
        self.dimensions.iter().map(|dimension| dimension.size).product()
    }

    /// Coordinates of a switch, last dimension first.
    fn place(&self, switch: u32) -> Vec<u32> {
        let mut rest = switch;
        let mut place: Vec<u32> = Vec::with_capacity(self.dimensions.len());
        for dimension in self.dimensions {
            place.push(rest % dimension.size);
            rest /= dimension.size;
        }
        place.reverse();
        place
    }
}
/// How often two numbers have each sum, given how often each number is there.
fn sums(left: &[u64], right: &[u64]) -> Vec<u64> {
    let mut sums = vec![0; left.len() + right.len() - 1];
    for (a, count) in left.iter().enumerate() {
        right.iter().enumerate().for_each(|(b, others)| sums[a + b] += count * others);
    }
    sums
}
