//! Numbers of rules by formula: Benito et al. 2015, section III.

/// A hierarchy of addresses with equal groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hierarchy {
    /// Groups: `G`; 1 for a hierarchy of switches and hosts only.
    pub groups: u64,
    /// Switches with hosts in each group: `S`.
    pub switches: u64,
    /// Hosts on each of them: `T`.
    pub hosts: u64,
}

impl Hierarchy {
    /// All hosts: `H = G · S · T`.
    pub const fn hosts_total(&self) -> u64 {
        self.groups * self.switches * self.hosts
    }

    /// Rules of a switch with hosts, equation 1: `R = (G - 1) + (S - 1) + T`.
    pub const fn rules(&self) -> u64 {
        self.groups + self.switches + self.hosts - 2
    }

    /// The same hosts without groups.
    pub const fn without_groups(&self) -> Hierarchy {
        Hierarchy { groups: 1, switches: self.groups * self.switches, hosts: self.hosts }
    }

    /// The fewest rules of a dragonfly's switch with `ports` ports in use, section III-B: one per port and, for the
    /// groups behind each neighbour, another one; at most equation 1. All real tables lie between.
    pub const fn dragonfly_least(&self, ports: u64) -> u64 {
        ports + self.switches - 1
    }
}
