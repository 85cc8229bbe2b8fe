//! A fat tree of any number of stages: the parallel-ports generalised fat tree (PGFT) of Zahavi, "Fat-tree routing
//! and node ordering providing contention free traffic for MPI global collectives", J. Parallel Distrib. Comput. 2012.
//!
//! ```text
//!   stage 3          core0   core1            m = down, w = up, p = links
//!                      |  \ /  |
//!   stage 2         spine0   spine1    ...    one switch of stage l joins m_l nodes below;
//!                      |  \ /  |              one node below joins w_l switches of stage l,
//!   stage 1          leaf0   leaf1     ...    each by p_l parallel links
//!                    / | \   / | \
//!   stage 0          hosts                    w_1 = p_1 = 1: a host has one link
//! ```
//!
//! Nodes of stage `l`: `(m_{l+1} · … · m_h) · (w_1 · … · w_l)`. A node is the pair of the subtree it belongs to
//! (digits `a`, one per stage above) and its place among the equals that span this subtree (digits `b`); two nodes of
//! neighbouring stages are joined when they agree in all digits that they share.

use etherweave_primitives::{BitRate, InputError, InputErrors, SwitchId, params};

use super::rail_optimised::parallel_links;
use crate::branching::Branching;
use crate::check::{at_least_one, each_at_least_one, links, list_len, product};
use crate::{AsBuilt, Bisection, Builder, Cable, Family, FamilyFit, LinkClass, Shape, SizeRequest, Topology};

params! {
    /// A fat tree of any number of stages, each with its own width and taper. Links of the first stage are local, those
    /// above join what the first stage has made and are global; with one stage all is one neighbourhood.
    pub struct StagedFatTree {
        /// Hosts on every leaf, at least 1: `m_1` of Zahavi. Default 12.
        pub hosts_per_leaf: u32 = 12,
        /// Rate of the links between hosts and leaves [bit/s]. Default "100Gb/s".
        pub host_rate: BitRate = BitRate::from_gbps(100),
        /// Cable between host and leaf. Default "3m".
        pub host_cable: Cable = Cable::from_m(3),
        /// The stages above the leaves, lowest first, at most 8. Default none: a single leaf.
        pub stages: Vec<Stage> = Vec::new(),
        /// Departures from the regular plan.
        #[serde(skip_serializing_if = "AsBuilt::is_default")]
        pub as_built: AsBuilt = AsBuilt::default(),
    }
}

params! {
    /// The switches of one stage above the leaves and the links to the stage below.
    pub struct Stage {
        /// Switches of the stage below that one switch of this stage joins, at least 1: `m_l`. Default 2.
        pub down: u32 = 2,
        /// Switches of this stage that one switch of the stage below joins, at least 1: `w_l`. Default 1.
        pub up: u32 = 1,
        /// Parallel links between two joined switches, at least 1: `p_l`. Default 1.
        pub links: u32 = 1,
        /// Rate of each of these links [bit/s]. Default "100Gb/s".
        pub rate: BitRate = BitRate::from_gbps(100),
        /// Each of these cables. Default "20m".
        pub cable: Cable = Cable::from_m(20),
    }
}

impl Family for StagedFatTree {
    fn generate(&self) -> Result<Topology, InputErrors> {
        self.check()?;
        let branching = self.branching();
        let mut builder = Builder::with_axes(branching.axes());
        let mut below = self.plant(&mut builder, &branching);
        for (index, stage) in self.stages.iter().enumerate() {
            below = self.raise(&mut builder, &branching, &below, index, stage);
        }
        Ok(builder.build_as(&self.as_built)?)
    }

    fn examples() -> Vec<Self> {
        let stages = |list: &[(u32, u32, u32)]| -> Vec<Stage> {
            list.iter().map(|&(down, up, links)| Stage { down, up, links, ..Stage::default() }).collect()
        };
        let tree = |hosts_per_leaf, list| StagedFatTree { hosts_per_leaf, stages: stages(list), ..Self::default() };
        vec![tree(3, &[]), tree(4, &[(4, 2, 2)]), tree(2, &[(2, 2, 1), (3, 2, 2)]), tree(1, &[(2, 2, 1); 4])]
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        Shape::Tree
    }

    fn hosts_planned(&self) -> u64 {
        product(self.stages.iter().map(|stage| stage.down).chain([self.hosts_per_leaf]))
    }

    /// The full-bisection tree of the fewest stages; the smallest has fewer subtrees under its top switches, and as
    /// many parallel links to them as fit.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        request.check(2)?;
        let half = request.radix / 2;
        let subtree = |stages: u32| u64::from(half).saturating_pow(stages);
        let room = |stages: u32| subtree(stages).saturating_mul(u64::from(request.radix));
        // One switch, when the radix cannot grow by stages.
        let stages_max = if half == 1 { 0 } else { 8 };
        request.check_room(room(stages_max))?;
        let stages = (0..=stages_max).find(|&stages| room(stages) >= u64::from(request.hosts)).unwrap_or(stages_max);
        let member = |top: u32| full_tree(request.radix, stages, top);
        let top = u64::from(request.hosts).div_ceil(subtree(stages)) as u32;
        Ok(FamilyFit { smallest: member(top), largest: Some(member(request.radix)) })
    }

    /// Half of the weakest stage above the leaves. When the top switches join an even number of subtrees, half of
    /// these is a cut of that size; and none is smaller, as flows spread evenly over all uplinks fill no link of a
    /// stage more than the stage's taper says (Zahavi 2012, section 3).
    fn bisection(&self) -> Option<Bisection> {
        let mut below = self.stages.iter().map(|stage| u128::from(stage.down)).product::<u128>();
        let mut weakest = u128::MAX;
        for stage in &self.stages {
            let upward = below * u128::from(stage.up);
            weakest = weakest.min(upward * u128::from(stage.links) * u128::from(stage.rate.as_bps()));
            below = upward / u128::from(stage.down);
        }
        let top = self.stages.last()?;
        top.down.is_multiple_of(2).then(|| Bisection::exact(weakest / 2, "half of the weakest stage"))
    }
}

/// The switches of one stage: `subtrees` times `width` of them, numbered subtree by subtree.
struct TreeLevel {
    first: u32,
    subtrees: u32,
    width: u32,
}

impl StagedFatTree {
    /// Hosts and leaves: `m_1` consecutive hosts per leaf.
    fn plant(&self, builder: &mut Builder, branching: &Branching) -> TreeLevel {
        let leaves: u32 = self.stages.iter().map(|stage| stage.down).product();
        for leaf in 0..leaves {
            builder.add_switch_at(format!("leaf{leaf}"), 0, &branching.place(0, leaf, 0));
        }
        for host in builder.add_hosts(leaves * self.hosts_per_leaf) {
            let leaf = SwitchId::new(host.get() / self.hosts_per_leaf);
            builder.link(host, leaf, self.host_rate, self.host_cable, LinkClass::Host);
        }
        TreeLevel { first: 0, subtrees: leaves, width: 1 }
    }

    /// A stage on top of the one below; a switch's uplinks lead to consecutive parents, as in Al-Fares et al.
    fn raise(
        &self,
        builder: &mut Builder,
        branching: &Branching,
        below: &TreeLevel,
        index: usize,
        stage: &Stage,
    ) -> TreeLevel {
        let first = below.first + below.subtrees * below.width;
        let level = TreeLevel { first, subtrees: below.subtrees / stage.down, width: below.width * stage.up };
        for number in 0..level.subtrees * level.width {
            let place = branching.place(index + 1, number / level.width, number % level.width);
            builder.add_switch_at(self.name(index, number), index as u8 + 1, &place);
        }
        let class = if index == 0 { LinkClass::Local } else { LinkClass::Global };
        for (subtree, place) in (0..below.subtrees).flat_map(|a| (0..below.width).map(move |b| (a, b))) {
            let child = SwitchId::new(below.first + subtree * below.width + place);
            for parent in 0..stage.up {
                let parent = first + subtree / stage.down * level.width + place * stage.up + parent;
                for _ in 0..stage.links {
                    builder.link(child, SwitchId::new(parent), stage.rate, stage.cable, class);
                }
            }
        }
        level
    }

    /// The top stage is the core; what is between are spines, numbered by stage when there are several.
    fn name(&self, index: usize, number: u32) -> String {
        match self.stages.len() {
            stages if index + 1 == stages => format!("core{number}"),
            2 => format!("spine{number}"),
            _ => format!("spine{}.{number}", index + 1),
        }
    }

    fn check(&self) -> Result<(), InputErrors> {
        let mut errors = InputErrors::default();
        errors.check(at_least_one("hosts_per_leaf", self.hosts_per_leaf));
        errors.each("stages", &self.stages, |stage| {
            each_at_least_one([("down", stage.down), ("up", stage.up), ("links", stage.links)])
        });
        errors.check(list_len("stages", self.stages.len(), 0..=8));
        errors.into_result()?;
        links(self.links().unwrap_or(u64::MAX))?;
        Ok(())
    }

    fn branching(&self) -> Branching {
        let down = self.stages.iter().map(|stage| stage.down).collect();
        Branching { down, up: self.stages.iter().map(|stage| stage.up).collect() }
    }

    /// How many links there will be, when that fits 64 bits.
    fn links(&self) -> Option<u64> {
        let leaves = self.stages.iter().try_fold(1u64, |leaves, stage| leaves.checked_mul(u64::from(stage.down)))?;
        let mut total = leaves.checked_mul(u64::from(self.hosts_per_leaf))?;
        let mut below = leaves;
        for stage in &self.stages {
            let upward = below.checked_mul(u64::from(stage.up))?;
            total = total.checked_add(upward.checked_mul(u64::from(stage.links))?)?;
            below = upward / u64::from(stage.down);
        }
        Some(total)
    }
}

/// Identical switches, half of their ports upward, `top` subtrees under the top switches.
fn full_tree(radix: u32, stages: u32, top: u32) -> StagedFatTree {
    let half = radix / 2;
    if stages == 0 {
        return StagedFatTree { hosts_per_leaf: top, ..StagedFatTree::default() };
    }
    let mut list = vec![Stage { down: half, up: half, ..Stage::default() }; stages as usize];
    let links = parallel_links(half, top, radix);
    list[stages as usize - 1] = Stage { down: top, up: half / links, links, ..Stage::default() };
    StagedFatTree { hosts_per_leaf: half, stages: list, ..StagedFatTree::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_rise_by_stage() {
        let stages = vec![Stage::default(); 3];
        let topology = StagedFatTree { stages, ..StagedFatTree::default() }.generate().unwrap();
        let named = |switch| (topology.switch_name(switch).to_owned(), topology.level(switch));
        // 8 leaves, 4 + 2 spines, 1 core.
        let expected = [(7, "leaf7", 0), (8, "spine1.0", 1), (13, "spine2.1", 2), (14, "core0", 3)];
        for (switch, name, level) in expected {
            assert_eq!(named(SwitchId::new(switch)), (name.to_owned(), level));
        }
    }

    #[test]
    fn a_product_beyond_64_bits_is_too_large_and_not_small() {
        let stages = vec![Stage { down: u32::MAX, ..Stage::default() }; 8];
        let error = StagedFatTree { stages, ..StagedFatTree::default() }.generate().unwrap_err();
        assert!(error.to_string().starts_with("too many links"), "{error}");
    }
}
