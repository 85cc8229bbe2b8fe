//! The folded Clos network of identical switches, cut to any number of hosts: Clos, "A study of non-blocking
//! switching networks", Bell System Technical Journal 1953; the partial replication of its top stages as in Benito,
//! Vallejo and Beivide, "On the use of commodity Ethernet technology in exascale HPC systems", HiPC 2015, section VI-A.
//!
//! A subtree of a level is a set of switches that join the same subtrees of the level below. All full subtrees are
//! alike; the last one of each level holds what is left. The uplinks of a subtree's switches, one after the other,
//! lead to the parents in turn, and each subtree goes on where the one before it stopped: so every parent has its
//! share.

use etherweave_primitives::{BitRate, InputError, InputErrors, SwitchId, params};

use crate::branching::Branching;
use crate::check::{at_least_one, in_range, links, list_len};
use crate::{AsBuilt, Bisection, Builder, Cable, Family, FamilyFit, LinkClass, Shape, SizeRequest, Topology};

params! {
    /// A folded Clos network. Unlike in [`StagedFatTree`](crate::StagedFatTree), numbers need not divide: hosts fill
    /// leaves, leaves fill pods, and so on. Links between leaves and their pod are local, those above global.
    pub struct FoldedClos {
        /// Ports of every switch, 2..=65,536. Default 8.
        pub radix: u32 = 8,
        /// Hosts, at least 1; they need not fill the last leaf. Default 32.
        pub hosts: u32 = 32,
        /// Rate of the links between hosts and leaves [bit/s]. Default "100Gb/s".
        pub host_rate: BitRate = BitRate::from_gbps(100),
        /// Cable between host and leaf. Default "3m".
        pub host_cable: Cable = Cable::from_m(3),
        /// Uplinks of each level but the top one, leaves first, at most 7. Default one: leaves and cores.
        pub uplinks: Vec<Uplinks> = vec![Uplinks::default()],
        /// Departures from the regular plan.
        #[serde(skip_serializing_if = "AsBuilt::is_default")]
        pub as_built: AsBuilt = AsBuilt::default(),
    }
}

params! {
    /// The links from one level to the next.
    pub struct Uplinks {
        /// Ports of a switch that lead up, 1 to one less than its radix; the others lead down. Absent: half of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ports: Option<u32> = None,
        /// Parallel links between two joined switches, at least 1; divides `ports`. Default 1.
        pub lag: u32 = 1,
        /// Rate of each link [bit/s]. Default "100Gb/s".
        pub rate: BitRate = BitRate::from_gbps(100),
        /// Each cable. Default "20m".
        pub cable: Cable = Cable::from_m(20),
    }
}

impl Family for FoldedClos {
    fn generate(&self) -> Result<Topology, InputErrors> {
        let stages = self.stages()?;
        let branching = Branching {
            down: stages.iter().map(|stage| stage.children).collect(),
            up: stages.iter().map(|stage| stage.bundles).collect(),
        };
        let mut builder = Builder::with_axes(branching.axes());
        builder.radix(self.radix);
        let mut subtrees = self.plant(&mut builder, &branching);
        for (index, stage) in stages.iter().enumerate() {
            subtrees = self.raise(&mut builder, &branching, &subtrees, index, stage);
        }
        Ok(builder.build_as(&self.as_built)?)
    }

    fn examples() -> Vec<Self> {
        let clos = |radix, hosts, levels| FoldedClos {
            radix,
            hosts,
            uplinks: vec![Uplinks::default(); levels],
            ..FoldedClos::default()
        };
        let tapered = Uplinks { ports: Some(2), lag: 2, ..Uplinks::default() };
        vec![
            clos(4, 16, 2),
            clos(4, 19, 3),
            clos(8, 3, 0),
            FoldedClos { uplinks: vec![tapered], ..clos(8, 20, 1) },
            clos(6, 53, 2),
        ]
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        Shape::Tree
    }

    fn hosts_planned(&self) -> u64 {
        self.hosts.into()
    }

    /// Half of every switch's ports upward, of an odd number the smaller half, in the fewest levels.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        request.check(2)?;
        let down = u64::from(request.radix.div_ceil(2));
        let room = |stages: u32| down.saturating_pow(stages).saturating_mul(u64::from(request.radix));
        let stages_max = if down == 1 { 0 } else { 7 };
        request.check_room(room(stages_max))?;
        let stages = (0..=stages_max).find(|&stages| room(stages) >= u64::from(request.hosts)).unwrap_or(stages_max);
        let member = |hosts: u32| {
            let uplinks = vec![Uplinks::default(); stages as usize];
            FoldedClos { radix: request.radix, hosts, uplinks, ..FoldedClos::default() }
        };
        let largest = u32::try_from(room(stages)).ok().map(member);
        Ok(FamilyFit { smallest: member(request.hosts), largest })
    }

    /// Returns the rate that half of the leaves can send up, the last of which may have fewer hosts than uplinks: no
    /// halves have less between them, as what full leaves send fits every stage when it is spread evenly over the top
    /// switches. A single leaf is not divided.
    fn bisection(&self) -> Option<Bisection> {
        let stages = self.stages().ok()?;
        let leaves = self.hosts.div_ceil(self.hosts_per_leaf());
        let (hosts, formula) = match leaves {
            1 => (self.hosts / 2, "half of the hosts"),
            _ => (leaves / 2 * self.hosts_per_leaf(), "half of the leaves' uplinks"),
        };
        let bps = u128::from(hosts) * u128::from(self.host_rate.as_bps());
        self.is_rearrangeable(&stages).then(|| Bisection::exact(bps, formula))
    }
}

/// The links from one level to the next, as counts.
struct ClosStage {
    /// Bundles of parallel links that lead up from a switch of the level below.
    bundles: u32,
    /// Links in a bundle.
    lag: u32,
    /// Subtrees of the level below that one subtree of this level joins: as many as a switch has bundles down.
    children: u32,
    rate: BitRate,
    cable: Cable,
}

#[derive(Clone, Copy)]
struct Subtree {
    first: u32,
    count: u32,
}

impl FoldedClos {
    fn hosts_per_leaf(&self) -> u32 {
        self.radix - self.uplinks.first().map_or(0, |uplinks| uplinks.ports.unwrap_or(self.radix / 2))
    }

    /// The stages, when all is in range.
    fn stages(&self) -> Result<Vec<ClosStage>, InputError> {
        in_range("radix", self.radix, 2..=1 << 16)?;
        at_least_one("hosts", self.hosts)?;
        list_len("uplinks", self.uplinks.len(), 0..=7)?;
        (0..self.uplinks.len())
            .try_for_each(|index| in_range(format!("uplinks.{index}.ports"), self.ports(index), 1..=self.radix - 1))?;
        let stages = (0..self.uplinks.len()).map(|index| self.stage(index)).collect::<Result<Vec<_>, _>>()?;
        let per_subtree = stages.iter().map(|stage| u64::from(stage.children));
        let hosts_max = per_subtree.fold(u64::from(self.hosts_per_leaf()), u64::saturating_mul);
        if u64::from(self.hosts) > hosts_max {
            let levels = stages.len() + 1;
            let expected = format!("1 to {hosts_max} for {levels} levels of switches with {} ports", self.radix);
            return Err(InputError::new("hosts", self.hosts, expected));
        }
        links(self.links(&stages))?;
        Ok(stages)
    }

    /// Ports that lead up from the level below the uplinks of this number.
    fn ports(&self, index: usize) -> u32 {
        self.uplinks[index].ports.unwrap_or(self.radix / 2)
    }

    fn stage(&self, index: usize) -> Result<ClosStage, InputError> {
        let key = |part: &str| format!("uplinks.{index}.{part}");
        let uplinks = &self.uplinks[index];
        let ports = self.ports(index);
        at_least_one(key("lag"), uplinks.lag)?;
        if !ports.is_multiple_of(uplinks.lag) {
            return Err(InputError::new(key("lag"), uplinks.lag, format!("a divisor of {ports} ports")));
        }
        let above = if index + 1 < self.uplinks.len() { self.ports(index + 1) } else { 0 };
        let children = (self.radix - above) / uplinks.lag;
        if children == 0 {
            let expected = format!("1 to {}, the ports that lead down from the level above", self.radix - above);
            return Err(InputError::new(key("lag"), uplinks.lag, expected));
        }
        let Uplinks { lag, rate, cable, .. } = *uplinks;
        Ok(ClosStage { bundles: ports / lag, lag, children, rate, cable })
    }

    /// How many links there will be at most.
    fn links(&self, stages: &[ClosStage]) -> u64 {
        let mut switches = u64::from(self.hosts.div_ceil(self.hosts_per_leaf()));
        let mut subtrees = switches;
        let mut total = u64::from(self.hosts);
        for stage in stages {
            let bundles = switches.saturating_mul(u64::from(stage.bundles));
            total = total.saturating_add(bundles.saturating_mul(u64::from(stage.lag)));
            subtrees = subtrees.div_ceil(u64::from(stage.children));
            // Each subtree rounds its number of switches up.
            switches = (bundles / u64::from(stage.children)).saturating_add(subtrees);
        }
        total
    }

    fn plant(&self, builder: &mut Builder, branching: &Branching) -> Vec<Subtree> {
        let hosts_per_leaf = self.hosts_per_leaf();
        let leaves = self.hosts.div_ceil(hosts_per_leaf);
        for leaf in 0..leaves {
            builder.add_switch_at(format!("leaf{leaf}"), 0, &branching.place(0, leaf, 0));
        }
        for host in builder.add_hosts(self.hosts) {
            let leaf = SwitchId::new(host.get() / hosts_per_leaf);
            builder.link(host, leaf, self.host_rate, self.host_cable, LinkClass::Host);
        }
        (0..leaves).map(|first| Subtree { first, count: 1 }).collect()
    }

    /// A level on top of the one below.
    fn raise(
        &self,
        builder: &mut Builder,
        branching: &Branching,
        below: &[Subtree],
        index: usize,
        stage: &ClosStage,
    ) -> Vec<Subtree> {
        let mut next = below.last().map_or(0, |last| last.first + last.count);
        let mut number = 0;
        let mut subtrees = Vec::new();
        for (subtree, children) in (0..).zip(below.chunks(stage.children as usize)) {
            let bundles: u32 = children.iter().map(|child| child.count * stage.bundles).sum();
            let parents = Subtree { first: next, count: bundles.div_ceil(stage.children) };
            for place in 0..parents.count {
                let coordinates = branching.place(index + 1, subtree, place);
                builder.add_switch_at(self.name(index, number), index as u8 + 1, &coordinates);
                number += 1;
            }
            join(builder, children, parents, index, stage);
            next += parents.count;
            subtrees.push(parents);
        }
        subtrees
    }

    /// The top level is the core; what is between are spines, numbered by level when there are several.
    fn name(&self, index: usize, number: u32) -> String {
        match self.uplinks.len() {
            stages if index + 1 == stages => format!("core{number}"),
            2 => format!("spine{number}"),
            _ => format!("spine{}.{number}", index + 1),
        }
    }

    /// Checks whether the tree has as much up as down, and every subtree equally many links to each of its parents:
    /// then it is rearrangeable (Beneš, "Mathematical theory of connecting networks and telephone traffic", 1965).
    fn is_rearrangeable(&self, stages: &[ClosStage]) -> bool {
        let mut down = self.hosts_per_leaf();
        let mut subtrees = vec![1; self.hosts.div_ceil(down) as usize];
        let mut is_even = true;
        for stage in stages {
            let is_full = stage.bundles * stage.lag == down && stage.rate == self.host_rate;
            let pods = subtrees.chunks(stage.children as usize).map(|pod: &[u32]| {
                let parents = (pod.iter().sum::<u32>() * stage.bundles).div_ceil(stage.children);
                is_even &= pod.iter().all(|switches| (switches * stage.bundles).is_multiple_of(parents));
                parents
            });
            subtrees = pods.collect();
            is_even &= is_full;
            down = stage.children * stage.lag;
        }
        is_even
    }
}

fn join(builder: &mut Builder, children: &[Subtree], parents: Subtree, index: usize, stage: &ClosStage) {
    let class = if index == 0 { LinkClass::Local } else { LinkClass::Global };
    let mut turn = 0;
    for child in children.iter().flat_map(|child| child.first..child.first + child.count) {
        for _ in 0..stage.bundles {
            for _ in 0..stage.lag {
                let parent = SwitchId::new(parents.first + turn);
                builder.link(SwitchId::new(child), parent, stage.rate, stage.cable, class);
            }
            turn = (turn + 1) % parents.count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clos(radix: u32, hosts: u32, levels: usize) -> Topology {
        let uplinks = vec![Uplinks::default(); levels - 1];
        FoldedClos { radix, hosts, uplinks, ..FoldedClos::default() }.generate().unwrap()
    }

    fn at_level(topology: &Topology, level: u8) -> usize {
        (0..topology.switches()).filter(|&switch| topology.level(SwitchId::from_index(switch)) == level).count()
    }

    #[test]
    fn hosts_that_do_not_fill_the_last_leaf_leave_ports_free() {
        // 53 hosts on leaves of 3: 17 full leaves and one of 2; 6 pods of 3 leaves and 3 spines; 9 cores of 6.
        let topology = clos(6, 53, 3);
        assert_eq!([0, 1, 2].map(|level| at_level(&topology, level)), [18, 18, 9]);
        assert_eq!(topology.ports_used(SwitchId::new(17)), 5);
        assert_eq!(topology.coordinates(SwitchId::new(17)), [0, 5, 2]);
    }

    #[test]
    fn a_taper_and_its_lags_shape_the_next_level() {
        // 6 hosts and one bundle of 2 links per leaf; 20 hosts need 4 leaves, 8 uplinks, one core.
        let uplinks = vec![Uplinks { ports: Some(2), lag: 2, ..Uplinks::default() }];
        let topology = FoldedClos { hosts: 20, uplinks, ..FoldedClos::default() }.generate().unwrap();
        assert_eq!((topology.switches(), topology.ports_used(SwitchId::new(4))), (5, 8));
    }

    #[test]
    fn the_error_of_more_hosts_than_ports_names_the_limit() {
        let error = FoldedClos { hosts: 33, ..FoldedClos::default() }.generate().unwrap_err();
        assert_eq!(error.to_string(), "hosts: 33; expected 1 to 32 for 2 levels of switches with 8 ports");
    }
}
