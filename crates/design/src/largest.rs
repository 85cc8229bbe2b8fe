//! The largest fabrics of switches of one radix, by formula: Benito, Vallejo and Beivide, "On the use of commodity
//! Ethernet technology in exascale HPC systems", HiPC 2015, table I and figures 4 and 6.
//!
//! Fabrics too large to be built have figures all the same; tests hold the formulas against tables that were built.

use std::ops::RangeInclusive;

use etherweave_forwarding::Hierarchy;
use etherweave_primitives::InputError;
use etherweave_topology::{Dragonfly, Family, FlattenedButterfly, KAryFatTree, SizeRequest, TopologyKind};

/// Radices, from rows of two in five dimensions to the largest k-ary fat tree.
const RADICES: RangeInclusive<u32> = 8..=128;

/// The largest balanced fabric of a family from switches of one radix. Groups are pods, rows of the first dimension,
/// groups of dragonflies.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Largest {
    /// Name: "clos_3", "butterfly_2d" to "butterfly_5d", "dragonfly".
    pub name: String,
    /// Ports of every switch: `P` of the paper.
    pub radix: u32,
    /// Parameters that generate it.
    #[serde(skip)]
    pub kind: TopologyKind,
    /// Hosts: `H`.
    pub hosts: u64,
    /// Switches, those without hosts included.
    pub switches: u64,
    /// Hosts on a switch that has any: `T`.
    pub hosts_per_access_switch: u64,
    /// Hosts over switches.
    pub hosts_per_switch: f64,
    /// Ports in use on a switch with hosts.
    pub ports: u64,
    /// Groups: `G`.
    pub groups: u64,
    /// Switches with hosts in a group: `S`.
    pub switches_per_group: u64,
    /// Entries with flat addresses, of any switch.
    pub entries_flat: u64,
    /// Entries with addresses of two levels, of a switch with hosts.
    pub entries_per_switch: u64,
    /// Entries with addresses of three levels, of a switch with hosts.
    pub entries_per_group: u64,
    /// Lower bound of the compacted tables, section III-B; all have as many where it equals the upper one.
    pub rules_least: u64,
    /// Upper bound of the compacted tables.
    pub rules_most: u64,
    /// Its row of table I; none where the table has no such row.
    pub published: Option<Proportions>,
}

/// A row of table I, at some radix. The paper gives all but the hosts of the Clos as approximate.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Proportions {
    /// Hosts on a switch that has any.
    pub hosts_per_access_switch: f64,
    /// Hosts over switches.
    pub hosts_per_switch: f64,
    /// The most hosts.
    pub hosts: f64,
    /// The same formula with a host less on every switch that has any, where the paper gives it as approximate.
    pub hosts_low: f64,
    /// The same formula with a host more.
    pub hosts_high: f64,
}

impl Proportions {
    /// Returns proportions with as many hosts on every switch as there are in each row.
    fn direct(share: f64, hosts: impl Fn(f64) -> f64) -> Proportions {
        let (hosts_low, hosts_high) = (hosts((share - 1.0).max(0.0)), hosts(share + 1.0));
        Proportions {
            hosts_per_access_switch: share,
            hosts_per_switch: share,
            hosts: hosts(share),
            hosts_low,
            hosts_high,
        }
    }
}

impl Largest {
    /// All six, in the order of table I, then the butterfly of five dimensions.
    ///
    /// # Errors
    /// When the radix is not in 8..=128.
    pub fn all(radix: u32) -> Result<Vec<Largest>, InputError> {
        if !RADICES.contains(&radix) {
            let expected = format!("{} to {}", RADICES.start(), RADICES.end());
            return Err(InputError::new("radix", radix, expected));
        }
        let butterfly = |dimensions| Largest::butterfly(radix, dimensions);
        let (two, three, four, five) = (butterfly(2), butterfly(3), butterfly(4), butterfly(5));
        Ok(vec![Largest::clos(radix)?, two, three, Largest::dragonfly(radix)?, four, five])
    }

    /// Three levels: `k` pods of `k/2` leaves and `k/2` spines under `(k/2)²` cores.
    fn clos(radix: u32) -> Result<Largest, InputError> {
        let tree =
            KAryFatTree::fit(&SizeRequest { hosts: 1, radix })?.largest.expect("trees of three levels have an end");
        let (k, p) = (u64::from(tree.k), f64::from(radix));
        let pods = Hierarchy { groups: k, switches: k / 2, hosts: k / 2 };
        let hosts = p.powi(3) / 4.0;
        let published = Proportions {
            hosts_per_access_switch: p / 2.0,
            hosts_per_switch: p / 5.0,
            hosts,
            hosts_low: hosts,
            hosts_high: hosts,
        };
        let shape = Shape { groups: pods, switches: 5 * k * k / 4, ports: k, rules: (k, k) };
        Ok(shape.named("clos_3".to_owned(), radix, TopologyKind::KAryFatTree(tree), Some(published)))
    }

    /// Returns the largest butterfly with as many hosts on a switch as switches in a row.
    fn butterfly(radix: u32, dimensions: u32) -> Largest {
        let butterfly = FlattenedButterfly::balanced(radix, dimensions);
        let side = u64::from(butterfly.hosts_per_switch);
        let rows = Hierarchy { groups: side.pow(dimensions - 1), switches: side, hosts: side };
        let ports = side + u64::from(dimensions) * (side - 1);
        let share = f64::from(radix) / f64::from(dimensions + 1);
        let published = Proportions::direct(share, |share| share.powi(dimensions as i32 + 1));
        let shape = Shape { groups: rows, switches: side.pow(dimensions), ports, rules: (ports, ports) };
        let kind = TopologyKind::FlattenedButterfly(butterfly);
        shape.named(format!("butterfly_{dimensions}d"), radix, kind, (dimensions < 5).then_some(published))
    }

    /// `a = 2p = 2h`, and every two groups joined once.
    fn dragonfly(radix: u32) -> Result<Largest, InputError> {
        let dragonfly = Dragonfly::fit(&SizeRequest { hosts: 1, radix })?.largest.expect("a dragonfly has an end");
        let [p, a, h] = [dragonfly.p, dragonfly.a, dragonfly.h].map(u64::from);
        let groups = Hierarchy { groups: a * h + 1, switches: a, hosts: p };
        let ports = p + a - 1 + h;
        let published = Proportions::direct(f64::from(radix) / 4.0, |quarter| 4.0 * quarter.powi(4));
        let rules = (groups.dragonfly_least(ports), groups.rules());
        let shape = Shape { groups, switches: groups.groups * a, ports, rules };
        Ok(shape.named("dragonfly".to_owned(), radix, TopologyKind::Dragonfly(dragonfly), Some(published)))
    }
}

struct Shape {
    groups: Hierarchy,
    switches: u64,
    ports: u64,
    rules: (u64, u64),
}

impl Shape {
    fn named(self, name: String, radix: u32, kind: TopologyKind, published: Option<Proportions>) -> Largest {
        let Shape { groups, switches, ports, rules } = self;
        let hosts = groups.hosts_total();
        Largest {
            name,
            radix,
            kind,
            hosts,
            switches,
            hosts_per_access_switch: groups.hosts,
            hosts_per_switch: hosts as f64 / switches as f64,
            ports,
            groups: groups.groups,
            switches_per_group: groups.switches,
            entries_flat: hosts,
            entries_per_switch: groups.without_groups().rules(),
            entries_per_group: groups.rules(),
            rules_least: rules.0,
            rules_most: rules.1,
            published,
        }
    }
}
