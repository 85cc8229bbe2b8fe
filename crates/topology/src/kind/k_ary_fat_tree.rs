//! The three-level fat tree of identical switches: Al-Fares, Loukissas and Vahdat, "A scalable, commodity data center
//! network architecture", SIGCOMM 2008, section 3.

use etherweave_primitives::{BitRate, InputError, InputErrors, params};

use crate::check::product;
use crate::{AsBuilt, Bisection, Cable, Family, FamilyFit, Shape, SizeRequest, Stage, StagedFatTree, Topology};

params! {
    /// `k` pods of `k/2` leaves and `k/2` spines under `(k/2)²` cores, `k³/4` hosts at full bisection.
    pub struct KAryFatTree {
        /// Ports of every switch, even, 2..=128: `k` of Al-Fares et al. Default 8.
        pub k: u32 = 8,
        /// Rate of every link [bit/s]. Default "100Gb/s".
        pub rate: BitRate = BitRate::from_gbps(100),
        /// Cable between host and leaf. Default "3m".
        pub host_cable: Cable = Cable::from_m(3),
        /// Cable between switches. Default "20m".
        pub uplink_cable: Cable = Cable::from_m(20),
        /// Departures from the regular plan.
        #[serde(skip_serializing_if = "AsBuilt::is_default")]
        pub as_built: AsBuilt = AsBuilt::default(),
    }
}

impl Family for KAryFatTree {
    fn generate(&self) -> Result<Topology, InputErrors> {
        if !(2..=128).contains(&self.k) || !self.k.is_multiple_of(2) {
            return Err(InputError::new("k", self.k, "an even number, 2 to 128").into());
        }
        self.staged().generate()
    }

    fn examples() -> Vec<Self> {
        [2, 4, 8].map(|k| KAryFatTree { k, ..Self::default() }).to_vec()
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        Shape::Tree
    }

    fn hosts_planned(&self) -> u64 {
        product([self.k, self.k / 2, self.k / 2])
    }

    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        request.check(2)?;
        let largest = (request.radix & !1).min(128);
        let hosts = |k: u32| u64::from(k).pow(3) / 4;
        request.check_room(hosts(largest))?;
        let enough = (2..=largest).step_by(2).find(|&k| hosts(k) >= u64::from(request.hosts));
        let member = |k| KAryFatTree { k, ..KAryFatTree::default() };
        Ok(FamilyFit { smallest: member(enough.unwrap_or(largest)), largest: Some(member(largest)) })
    }

    fn bisection(&self) -> Option<Bisection> {
        self.staged().bisection()
    }
}

impl KAryFatTree {
    fn staged(&self) -> StagedFatTree {
        let half = self.k / 2;
        let (rate, cable) = (self.rate, self.uplink_cable);
        let spines = Stage { down: half, up: half, links: 1, rate, cable };
        let cores = Stage { down: self.k, ..spines.clone() };
        StagedFatTree {
            hosts_per_leaf: half,
            host_rate: rate,
            host_cable: self.host_cable,
            stages: vec![spines, cores],
            as_built: self.as_built.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::SwitchId;

    use super::*;

    #[test]
    fn a_core_reaches_every_pod_once() {
        let topology = KAryFatTree { k: 4, ..KAryFatTree::default() }.generate().unwrap();
        let core = topology.switches() - 1;
        let spines = topology.out_channels(SwitchId::from_index(core)).iter().map(|&id| topology.channel(id).to.node);
        let names: Vec<_> = spines.map(|spine| topology.name(spine)).collect();
        // Two spines per pod; the last core is attached to the second of each.
        assert_eq!(names, ["spine1", "spine3", "spine5", "spine7"]);
    }
}
