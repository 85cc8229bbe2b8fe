//! The rail-optimised tree of accelerator clusters: NVIDIA, "DGX SuperPOD: next generation scalable infrastructure for
//! AI leadership", reference architecture 2023, section "Network fabrics"; Wang et al., "Rail-only: a low-cost
//! high-performance network for training LLMs with trillion parameters", IEEE Hot Interconnects 2024, section II.
//!
//! ```text
//!            spine0 ... spineS           every leaf joins every spine
//!              │ ╲   ╱ │
//!          leaf0.0   leaf0.1   leaf1.0   leaf1.1      leaf POD.RAIL
//!            │  ╲    ╱  │                             NIC r of every server of the pod on leaf r
//!           nic0   nic1                               one server: as many hosts as it has NICs
//! ```

use etherweave_primitives::{BitRate, InputError, InputErrors, SwitchId, params};

use crate::check::{each_at_least_one, links, product};
use crate::{AsBuilt, Builder, Cable, Family, FamilyFit, LinkClass, Shape, SizeRequest, Topology};

params! {
    /// Leaves by the NIC's number in its server: ranks of the same number communicate through one leaf. A host here is
    /// one NIC with its accelerator; host `i` is NIC `i mod rails` of server `i / rails`.
    pub struct RailOptimised {
        /// Cards of every server, and leaves of every pod, at least 1. Default 8.
        pub rails: u32 = 8,
        /// Servers, at least 1; they need not fill the last pod. Default 32.
        pub servers: u32 = 32,
        /// Servers in a full pod, at least 1. Default 32.
        pub servers_per_pod: u32 = 32,
        /// Spines, at least 1. Default 8.
        pub spines: u32 = 8,
        /// Parallel links between a leaf and a spine, at least 1. Default 4.
        pub links_per_spine: u32 = 4,
        /// Rate of the links between NICs and leaves [bit/s]. Default "400Gb/s".
        pub host_rate: BitRate = BitRate::from_gbps(400),
        /// Rate of the links between leaves and spines [bit/s]. Default "400Gb/s".
        pub uplink_rate: BitRate = BitRate::from_gbps(400),
        /// Cable between NIC and leaf. Default "20m".
        pub host_cable: Cable = Cable::from_m(20),
        /// Cable between leaf and spine. Default "30m".
        pub uplink_cable: Cable = Cable::from_m(30),
        /// Departures from the regular plan.
        #[serde(skip_serializing_if = "AsBuilt::is_default")]
        pub as_built: AsBuilt = AsBuilt::default(),
    }
}

impl Family for RailOptimised {
    fn generate(&self) -> Result<Topology, InputErrors> {
        self.check()?;
        let mut builder = Builder::with_axes(["level", "pod", "rail"]);
        for (pod, rail) in (0..self.pods()).flat_map(|pod| (0..self.rails).map(move |rail| (pod, rail))) {
            builder.add_switch_at(format!("leaf{pod}.{rail}"), 0, &[0, pod, rail]);
        }
        for spine in 0..self.spines {
            builder.add_switch_at(format!("spine{spine}"), 1, &[1, 0, spine]);
        }
        for host in builder.add_hosts(self.servers * self.rails) {
            let (server, rail) = (host.get() / self.rails, host.get() % self.rails);
            let leaf = SwitchId::new(server / self.servers_per_pod * self.rails + rail);
            builder.link(host, leaf, self.host_rate, self.host_cable, LinkClass::Host);
        }
        self.join_spines(&mut builder);
        Ok(builder.build_as(&self.as_built)?)
    }

    fn examples() -> Vec<Self> {
        let small = RailOptimised { rails: 2, servers_per_pod: 3, spines: 2, ..RailOptimised::default() };
        vec![
            RailOptimised { servers: 5, links_per_spine: 1, ..small.clone() },
            RailOptimised { servers: 6, links_per_spine: 2, ..small },
        ]
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        Shape::Rails { nics_per_server: self.rails }
    }

    fn hosts_planned(&self) -> u64 {
        product([self.rails, self.servers])
    }

    /// Eight rails, half of a leaf's ports upward; parallel links as far as the spines' ports allow.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        request.check(16)?;
        let (rails, half) = (8, request.radix / 2);
        let pods_max = request.radix / rails;
        request.check_room(product([pods_max, rails, half]))?;
        let member = |servers: u32| {
            let leaves = servers.div_ceil(half) * rails;
            let links_per_spine = parallel_links(half, leaves, request.radix);
            let spines = half / links_per_spine;
            RailOptimised { rails, servers, servers_per_pod: half, spines, links_per_spine, ..RailOptimised::default() }
        };
        Ok(FamilyFit { smallest: member(request.hosts.div_ceil(rails)), largest: Some(member(pods_max * half)) })
    }
}

impl RailOptimised {
    fn pods(&self) -> u32 {
        self.servers.div_ceil(self.servers_per_pod)
    }

    fn check(&self) -> Result<(), InputErrors> {
        let positive = [
            ("rails", self.rails),
            ("servers", self.servers),
            ("servers_per_pod", self.servers_per_pod),
            ("spines", self.spines),
            ("links_per_spine", self.links_per_spine),
        ];
        each_at_least_one(positive)?;
        let uplinks = product([self.pods(), self.rails, self.spines, self.links_per_spine]);
        // A leaf without hosts still counts: servers of few may stand in pods of many rails.
        links(product([self.servers, self.rails]).saturating_add(uplinks))?;
        Ok(())
    }

    fn join_spines(&self, builder: &mut Builder) {
        let leaves = self.pods() * self.rails;
        for (leaf, spine) in (0..leaves).flat_map(|leaf| (0..self.spines).map(move |spine| (leaf, leaves + spine))) {
            for _ in 0..self.links_per_spine {
                let (leaf, spine) = (SwitchId::new(leaf), SwitchId::new(spine));
                builder.link(leaf, spine, self.uplink_rate, self.uplink_cable, LinkClass::Local);
            }
        }
    }
}

/// The most parallel links that divide a switch's `uplinks` evenly and let an upper switch of `radix` ports join all
/// `switches` below.
pub(crate) fn parallel_links(uplinks: u32, switches: u32, radix: u32) -> u32 {
    let fits = |links: &u32| uplinks.is_multiple_of(*links) && u64::from(switches) * u64::from(*links) <= radix.into();
    (1..=uplinks).rev().find(fits).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::HostId;

    use super::*;

    #[test]
    fn a_scalable_unit_has_eight_leaves_and_eight_spines_for_256_nics() {
        // DGX SuperPOD: 32 servers of 8 NICs per scalable unit, 8 leaves.
        let topology = RailOptimised::default().generate().unwrap();
        assert_eq!((topology.hosts(), topology.switches()), (256, 16));
        assert!((0..16).all(|switch| [64, 32].contains(&topology.ports_used(SwitchId::new(switch)))));
    }

    #[test]
    fn nics_of_the_same_number_share_a_leaf() {
        let topology = RailOptimised { servers: 40, ..RailOptimised::default() }.generate().unwrap();
        let leaf = |host| topology.switch_name(topology.switch_of(HostId::new(host))).to_owned();
        assert_eq!(
            [0, 8, 9, 31 * 8 + 1, 32 * 8 + 1].map(leaf),
            ["leaf0.0", "leaf0.0", "leaf0.1", "leaf0.1", "leaf1.1"]
        );
    }
}
