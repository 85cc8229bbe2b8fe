//! The flattened butterfly: Kim, Dally and Abts, "Flattened butterfly: a cost-efficient topology for high-radix
//! networks", ISCA 2007, section 2.

use etherweave_primitives::{BitRate, InputError, InputErrors, params};

use super::hyperx::Balanced;
use crate::check::{each_at_least_one, list_len};
use crate::{AsBuilt, Bisection, Cable, Dimension, Family, FamilyFit, HyperX, Shape, SizeRequest, Topology};

params! {
    /// A grid whose rows are fully connected by single links; the balanced one has as many hosts per switch as switches
    /// in a row (`k` of Kim et al.). [`HyperX`] gives every dimension its own rate, cable and parallel links.
    pub struct FlattenedButterfly {
        /// Hosts on every switch, at least 1. Default 4.
        pub hosts_per_switch: u32 = 4,
        /// Switches in a row of each dimension, 1 to 5 of them, at least 1 each. Default `[4, 4]`.
        pub sizes: Vec<u32> = vec![4, 4],
        /// Rate of every link [bit/s]. Default "100Gb/s".
        pub rate: BitRate = BitRate::from_gbps(100),
        /// Cable between host and switch. Default "3m".
        pub host_cable: Cable = Cable::from_m(3),
        /// Cable between switches of one row of the first dimension. Default "5m".
        pub local_cable: Cable = Cable::from_m(5),
        /// Cable between switches in the other dimensions. Default "20m".
        pub global_cable: Cable = Cable::from_m(20),
        /// Departures from the regular plan.
        #[serde(skip_serializing_if = "AsBuilt::is_default")]
        pub as_built: AsBuilt = AsBuilt::default(),
    }
}

impl FlattenedButterfly {
    /// The balanced one: as many hosts on a switch as switches in each row, as many as `radix` ports allow; 1 where
    /// they are too few.
    pub fn balanced(radix: u32, dimensions: u32) -> FlattenedButterfly {
        let side = Balanced::side(radix, dimensions).max(1);
        FlattenedButterfly { hosts_per_switch: side, sizes: vec![side; dimensions as usize], ..Self::default() }
    }

    fn hyperx(&self) -> HyperX {
        let dimension = |(number, &size)| {
            let cable = if number == 0 { self.local_cable } else { self.global_cable };
            Dimension { size, lag: 1, rate: self.rate, cable }
        };
        HyperX {
            hosts_per_switch: self.hosts_per_switch,
            host_rate: self.rate,
            host_cable: self.host_cable,
            dimensions: self.sizes.iter().enumerate().map(dimension).collect(),
            as_built: self.as_built.clone(),
        }
    }
}

impl Family for FlattenedButterfly {
    fn generate(&self) -> Result<Topology, InputErrors> {
        list_len("sizes", self.sizes.len(), 1..=5)?;
        let sizes = self.sizes.iter().enumerate().map(|(number, &size)| (format!("sizes.{number}"), size));
        each_at_least_one(sizes.chain([("hosts_per_switch".to_owned(), self.hosts_per_switch)]))?;
        self.hyperx().generate()
    }

    fn examples() -> Vec<Self> {
        let butterfly = |hosts_per_switch, sizes: &[u32]| FlattenedButterfly {
            hosts_per_switch,
            sizes: sizes.to_vec(),
            ..FlattenedButterfly::default()
        };
        vec![butterfly(3, &[3, 3]), butterfly(2, &[2, 2, 2]), butterfly(1, &[3, 2, 2, 1, 2])]
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        self.hyperx().shape()
    }

    fn hosts_planned(&self) -> u64 {
        self.hyperx().hosts_planned()
    }

    /// The balanced one of the fewest dimensions; the smallest has fewer layers in the last.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        let balanced = Balanced::of(request)?;
        let butterfly = |last: u32| {
            let mut sizes = vec![balanced.side; balanced.dimensions];
            sizes[balanced.dimensions - 1] = last;
            FlattenedButterfly { hosts_per_switch: balanced.side, sizes, ..FlattenedButterfly::default() }
        };
        Ok(FamilyFit { smallest: butterfly(balanced.last(request.hosts)), largest: Some(butterfly(balanced.side)) })
    }

    fn bisection(&self) -> Option<Bisection> {
        self.hyperx().bisection()
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::SwitchId;

    use super::*;

    #[test]
    fn a_balanced_one_has_as_many_hosts_on_a_switch_as_switches_in_a_row() {
        // 24 hosts and 3 · 23 links are 93 of 96 ports; 25 and 3 · 24 would be 97.
        let balanced = FlattenedButterfly::balanced(96, 3);
        assert_eq!((balanced.hosts_per_switch, balanced.sizes.as_slice()), (24, [24, 24, 24].as_slice()));
        assert_eq!(FlattenedButterfly::balanced(0, 2).generate().unwrap().hosts(), 1);
    }

    #[test]
    fn switches_are_joined_when_they_differ_in_one_coordinate() {
        let topology = FlattenedButterfly { sizes: vec![3, 2], ..FlattenedButterfly::default() }.generate().unwrap();
        assert_eq!(topology.axes(), ["y", "x"]);
        assert_eq!(topology.coordinates(SwitchId::new(4)), [1, 1]);
        let neighbours = topology.out_channels(SwitchId::new(4))[4..].iter().map(|&id| topology.channel(id).to.node);
        let names: Vec<_> = neighbours.map(|node| topology.name(node)).collect();
        assert_eq!(names, ["switch1.0", "switch1.2", "switch0.1"]);
    }
}
