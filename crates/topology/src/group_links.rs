//! Links between the groups of a dragonfly: the group to which each global port leads.

use etherweave_primitives::{BitRate, InputError, Purpose, Stream, SwitchId};

use crate::{Builder, Cable, LinkClass};

/// An order of the global ports of each group: port `j` of a group belongs to its switch `j / h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrangement {
    /// Port `j` of group `i` leads to group `i - j - 1`, the default: Camarero, Vallejo and Beivide, "Topological
    /// characterization of Hamming and dragonfly networks and its implications on routing", ACM TACO 2015, section 3.
    #[default]
    PalmTree,
    /// The ports of a group lead to the other groups in ascending order: Kim et al., ISCA 2008, figure 5; Camarero et
    /// al., section 3.
    Consecutive,
    /// The ports of every group in an order drawn from a seed.
    Random {
        /// Seed of the order.
        seed: u64,
    },
}

/// Declares the parameters of a family of groups that are all joined with each other, with their defaults.
macro_rules! group_family {
    (
        $(#[$doc:meta])*
        $family:ident {
            $(
                $(#[$size_doc:meta])*
                $size:ident = $default:literal,
            )*
        }
        $(#[$groups_doc:meta])*
        groups
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $family {
            $(
                $(#[$size_doc])*
                pub $size: u32,
            )*
            $(#[$groups_doc])*
            #[serde(skip_serializing_if = "Option::is_none")]
            pub groups: Option<u32>,
            /// Groups to which global ports lead. Default "palm_tree".
            pub arrangement: $crate::Arrangement,
            /// Rate of the links between hosts and switches [bit/s]. Default "100Gb/s".
            pub host_rate: etherweave_primitives::BitRate,
            /// Rate of the links within groups [bit/s]. Default "100Gb/s".
            pub local_rate: etherweave_primitives::BitRate,
            /// Rate of the links between groups [bit/s]. Default "100Gb/s".
            pub global_rate: etherweave_primitives::BitRate,
            /// Cable between host and switch. Default "3m".
            pub host_cable: $crate::Cable,
            /// Cable within a group. Default "8m", as Benito et al. 2015, table III.
            pub local_cable: $crate::Cable,
            /// Cable between groups. Default "80m", as Benito et al. 2015, table III.
            pub global_cable: $crate::Cable,
            /// Departures from the regular plan.
            #[serde(skip_serializing_if = "AsBuilt::is_default")]
            pub as_built: $crate::AsBuilt,
        }

        impl Default for $family {
            fn default() -> Self {
                let rate = etherweave_primitives::BitRate::from_gbps(100);
                $family {
                    $($size: $default,)*
                    groups: None,
                    arrangement: $crate::Arrangement::default(),
                    host_rate: rate,
                    local_rate: rate,
                    global_rate: rate,
                    host_cable: $crate::Cable::from_m(3),
                    local_cable: $crate::Cable::from_m(8),
                    global_cable: $crate::Cable::from_m(80),
                    as_built: $crate::AsBuilt::default(),
                }
            }
        }

        impl $family {
            /// Joins `hosts` hosts with the switches 0 and on, `p` with each.
            fn join_hosts(&self, builder: &mut $crate::Builder, hosts: u32) {
                for host in builder.add_hosts(hosts) {
                    let switch = etherweave_primitives::SwitchId::new(host.get() / self.p);
                    builder.link(host, switch, self.host_rate, self.host_cable, $crate::LinkClass::Host);
                }
            }
        }
    };
}
pub(crate) use group_family;

/// Groups that `switches` of each with `h` global links join at most: `a·h + 1` of Kim et al., or the largest number.
pub(crate) fn groups_max(switches: u32, h: u32) -> u32 {
    switches.saturating_mul(h).saturating_add(1)
}

/// How many groups there are: `count`, or as many as possible.
///
/// # Errors
/// When there is none, or more than possible; `name` is the key of `switches`.
pub(crate) fn groups(count: Option<u32>, (name, switches): (&str, u32), h: u32) -> Result<u32, InputError> {
    let groups_max = groups_max(switches, h);
    let groups = count.unwrap_or(groups_max);
    let expected = format_args!("1 to {name}·h + 1, which is {groups_max}");
    InputError::unless((1..=groups_max).contains(&groups), "groups", groups, expected)?;
    Ok(groups)
}

pub(crate) struct GroupLinks {
    pub groups: u32,
    /// Global ports of a group: `a·h`.
    pub ports: u32,
    pub arrangement: Arrangement,
}

/// A link between the port of one group and the port of another.
struct GroupLink {
    groups: [u32; 2],
    ports: [u32; 2],
}

impl GroupLinks {
    /// Joins the groups; `switch` has a port of a group.
    pub fn join(&self, builder: &mut Builder, rate: BitRate, cable: Cable, switch: impl Fn(u32, u32) -> SwitchId) {
        for GroupLink { groups, ports } in self.links() {
            builder.link(switch(groups[0], ports[0]), switch(groups[1], ports[1]), rate, cable, LinkClass::Global);
        }
    }

    /// All links, by the lower group and its port. Every two groups are joined by as many links as any other two, give
    /// or take one; where what is left cannot be shared evenly, a port per group stays free.
    fn links(&self) -> Vec<GroupLink> {
        let peers: Vec<Vec<u32>> = (0..self.groups).map(|group| self.peers(group)).collect();
        let places: Vec<Vec<(u32, u32)>> = peers.iter().map(|peers| by_peer(peers)).collect();
        let mut links = Vec::with_capacity(self.groups as usize * self.ports as usize / 2);
        let mut taken = vec![0; self.groups as usize];
        for group in 0..self.groups {
            taken.fill(0usize);
            for (port, &peer) in (0..).zip(&peers[group as usize]).filter(|&(_, &peer)| peer > group) {
                // The k-th port towards a peer meets the peer's k-th port back.
                let back = &places[peer as usize];
                let first = back.partition_point(|&(other, _)| other < group);
                let (_, peer_port) = back[first + taken[peer as usize]];
                taken[peer as usize] += 1;
                links.push(GroupLink { groups: [group, peer], ports: [port, peer_port] });
            }
        }
        links
    }

    /// The group that each port of a group leads to.
    fn peers(&self, group: u32) -> Vec<u32> {
        let behind = |offset: u32| (group + self.groups - offset) % self.groups;
        let mut rounds = self.rounds();
        rounds.iter_mut().flatten().for_each(|offset| *offset = behind(*offset));
        match self.arrangement {
            Arrangement::PalmTree => {}
            Arrangement::Consecutive => rounds.iter_mut().for_each(|round| round.sort_unstable()),
            Arrangement::Random { seed } => {
                let mut all = rounds.concat();
                Stream::new(seed, Purpose::Wiring, u64::from(group)).shuffle(&mut all);
                return all;
            }
        }
        rounds.concat()
    }

    /// Offsets to the groups that each round of ports leads to: full rounds over all groups, then one over the nearest
    /// groups on both sides, and the opposite one when there is one and a port for it.
    fn rounds(&self) -> Vec<Vec<u32>> {
        let others = self.groups - 1;
        if others == 0 {
            return Vec::new();
        }
        let (full, rest) = (self.ports / others, self.ports % others);
        let near = rest / 2;
        let opposite = (rest % 2 == 1 && self.groups.is_multiple_of(2)).then_some(self.groups / 2);
        let mut rounds = vec![(1..=others).collect(); full as usize];
        rounds.push((1..=near).chain(opposite).chain(self.groups - near..self.groups).collect());
        rounds
    }
}

/// Ports by peer: pairs of a peer and a port that leads to it, ascending.
fn by_peer(peers: &[u32]) -> Vec<(u32, u32)> {
    let mut places: Vec<(u32, u32)> = peers.iter().copied().zip(0..).collect();
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Arrangement; 3] = [Arrangement::PalmTree, Arrangement::Consecutive, Arrangement::Random { seed: 7 }];

    /// Links between every two groups, checked for even shares; ports used per group.
    fn check(groups: u32, ports: u32, used: u32) {
        for arrangement in ALL {
            let links = GroupLinks { groups, ports, arrangement }.links();
            let mut counts = vec![vec![0u32; groups as usize]; groups as usize];
            let mut is_used = vec![vec![false; ports as usize]; groups as usize];
            for link in &links {
                counts[link.groups[0] as usize][link.groups[1] as usize] += 1;
                for end in 0..2 {
                    let port = &mut is_used[link.groups[end] as usize][link.ports[end] as usize];
                    assert!(!std::mem::replace(port, true), "{arrangement:?} uses a port twice");
                }
            }
            let share = ports / (groups - 1);
            for (a, b) in (0..groups).flat_map(|b| (0..b).map(move |a| (a, b))) {
                assert!([share, share + 1].contains(&counts[a as usize][b as usize]), "{arrangement:?} {a} {b}");
            }
            assert!(is_used.iter().all(|ports| ports.iter().filter(|used| **used).count() == used as usize));
        }
    }

    #[test]
    fn a_full_dragonfly_has_one_link_between_every_two_groups() {
        check(9, 8, 8);
        check(2, 1, 1);
    }

    #[test]
    fn a_smaller_one_shares_its_ports_evenly() {
        check(3, 8, 8);
        check(6, 8, 8);
        check(4, 5, 5);
        check(463, 648, 648);
    }

    #[test]
    fn an_odd_rest_among_odd_groups_leaves_one_port_free() {
        check(5, 7, 6);
    }

    #[test]
    fn a_palm_tree_counts_back_and_consecutive_ports_count_up() {
        let ports = |arrangement| GroupLinks { groups: 5, ports: 4, arrangement }.peers(2);
        assert_eq!(ports(Arrangement::PalmTree), [1, 0, 4, 3]);
        assert_eq!(ports(Arrangement::Consecutive), [0, 1, 3, 4]);
    }

    #[test]
    fn a_seed_is_an_arrangement() {
        let peers = |seed| GroupLinks { groups: 20, ports: 19, arrangement: Arrangement::Random { seed } }.peers(3);
        assert_eq!(peers(1), peers(1));
        assert_ne!(peers(1), peers(2));
    }
}
