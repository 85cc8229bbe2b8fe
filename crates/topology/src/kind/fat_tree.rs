//! Leaves and cores: the two-level fat tree of most clusters.

use etherweave_primitives::{BitRate, InputError, InputErrors, params};

use super::rail_optimised::parallel_links;
use crate::check::{each_at_least_one, product};
use crate::{AsBuilt, Bisection, Cable, Family, FamilyFit, Shape, SizeRequest, Stage, StagedFatTree, Topology};

params! {
    /// Leaves and cores; every leaf joins every core by the same number of parallel links. The default is the 96-node
    /// testbed of Sandia's Ethernet evaluation: tapered 3:1, the four uplinks of a leaf form one port channel.
    pub struct FatTree {
        /// Leaves, at least 1. Default 8.
        pub leaves: u32 = 8,
        /// Hosts on every leaf, at least 1. Default 12.
        pub hosts_per_leaf: u32 = 12,
        /// Cores, at least 1. Default 1.
        pub cores: u32 = 1,
        /// Parallel links between a leaf and a core, at least 1. Default 4.
        pub links_per_core: u32 = 4,
        /// Rate of the links between hosts and leaves [bit/s]. Default "100Gb/s".
        pub host_rate: BitRate = BitRate::from_gbps(100),
        /// Rate of each link between a leaf and a core [bit/s]. Default "100Gb/s".
        pub uplink_rate: BitRate = BitRate::from_gbps(100),
        /// Cable between host and leaf. Default "3m".
        pub host_cable: Cable = Cable::from_m(3),
        /// Cable between leaf and core. Default "20m".
        pub uplink_cable: Cable = Cable::from_m(20),
        /// Departures from the regular plan.
        #[serde(skip_serializing_if = "AsBuilt::is_default")]
        pub as_built: AsBuilt = AsBuilt::default(),
    }
}

impl Family for FatTree {
    fn generate(&self) -> Result<Topology, InputErrors> {
        let own = [("leaves", self.leaves), ("cores", self.cores), ("links_per_core", self.links_per_core)];
        each_at_least_one(own.into_iter().chain([("hosts_per_leaf", self.hosts_per_leaf)]))?;
        self.staged().generate()
    }

    fn examples() -> Vec<Self> {
        let (leaves, hosts_per_leaf) = (4, 3);
        vec![
            Self::default(),
            FatTree { leaves, hosts_per_leaf, cores: 3, links_per_core: 1, ..Self::default() },
            FatTree { leaves, hosts_per_leaf, cores: 2, links_per_core: 2, ..Self::default() },
        ]
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        Shape::Tree
    }

    fn hosts_planned(&self) -> u64 {
        product([self.leaves, self.hosts_per_leaf])
    }

    /// Half of a leaf's ports upward; parallel links as far as the cores' ports allow.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        request.check(2)?;
        let half = request.radix / 2;
        request.check_room(u64::from(request.radix) * u64::from(half))?;
        let member = |leaves: u32| {
            let links_per_core = parallel_links(half, leaves, request.radix);
            let cores = half / links_per_core;
            FatTree { leaves, hosts_per_leaf: half, cores, links_per_core, ..FatTree::default() }
        };
        Ok(FamilyFit { smallest: member(request.hosts.div_ceil(half)), largest: Some(member(request.radix)) })
    }

    fn bisection(&self) -> Option<Bisection> {
        self.staged().bisection()
    }
}

impl FatTree {
    fn staged(&self) -> StagedFatTree {
        let uplinks = Stage {
            down: self.leaves,
            up: self.cores,
            links: self.links_per_core,
            rate: self.uplink_rate,
            cable: self.uplink_cable,
        };
        StagedFatTree {
            hosts_per_leaf: self.hosts_per_leaf,
            host_rate: self.host_rate,
            host_cable: self.host_cable,
            stages: vec![uplinks],
            as_built: self.as_built.clone(),
        }
    }
}
