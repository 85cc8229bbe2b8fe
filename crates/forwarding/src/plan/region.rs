//! Addresses that agree in their first fields, and the tree that they form.

use etherweave_primitives::{HostId, SwitchId};

use super::{field::AddressField, host_sites::HostSites};
use crate::Ternary;

/// All regions with hosts, by how many fields they fix.
#[derive(Clone, Debug)]
pub(super) struct RegionTree {
    /// Most significant first.
    fields: Vec<AddressField>,
    hosts: Vec<HostId>,
    /// Place in `hosts` where each region of each depth starts, and the end.
    starts: Vec<Vec<u32>>,
    /// Address of the first host of each region of each depth.
    addresses: Vec<Vec<u64>>,
    /// First region of the next depth in each region, and the end, by depth; none of the last.
    children: Vec<Vec<u32>>,
    /// Switch of the host at each place in `hosts`, and the next place with another one.
    runs: Vec<(SwitchId, u32)>,
    /// Coordinates of the hosts' switches, in the order of `hosts`.
    coordinates: Vec<u32>,
    axes: usize,
    /// Leading coordinates that all hosts of a region share, by depth.
    known: Vec<usize>,
}

impl RegionTree {
    /// `known` are the leading coordinates that each field and those before it determine.
    pub fn new(fields: Vec<AddressField>, addresses: &[u64], sites: &HostSites<'_>, known: &[usize]) -> RegionTree {
        let mut hosts: Vec<HostId> = (0..addresses.len()).map(HostId::from_index).collect();
        hosts.sort_by_key(|host| addresses[host.index()]);
        let shifts = fields.iter().map(|field| field.shift);
        let mut starts = vec![vec![0, hosts.len() as u32]];
        starts.extend(shifts.map(|shift| boundaries(&hosts, |host| addresses[host.index()] >> shift)));
        let first = |&start: &u32| hosts.get(start as usize).map(|host| addresses[host.index()]);
        let firsts = starts.iter().map(|starts| starts.iter().filter_map(first).collect()).collect();
        let children = starts.windows(2).map(|depths| places(&depths[0], &depths[1])).collect();
        let place = |host: &HostId| sites.topology.coordinates(sites.switch_of[host.index()]).iter().copied();
        let coordinates = hosts.iter().flat_map(place).collect();
        let known = std::iter::once(0).chain(known.iter().copied()).collect();
        let runs = runs(&hosts, &sites.switch_of);
        let axes = sites.topology.axes().len();
        RegionTree { fields, hosts, starts, addresses: firsts, children, runs, coordinates, axes, known }
    }
}

impl RegionTree {
    pub fn fields(&self) -> &[AddressField] {
        &self.fields
    }

    /// Bits of all fields.
    pub fn bits(&self) -> u32 {
        self.fields.iter().map(|field| field.bits).sum()
    }
}

/// Where a new key begins, and the end.
fn boundaries(hosts: &[HostId], key: impl Fn(HostId) -> u64) -> Vec<u32> {
    let mut starts = vec![0];
    starts.extend((1..hosts.len()).filter(|&at| key(hosts[at]) != key(hosts[at - 1])).map(|at| at as u32));
    starts.push(hosts.len() as u32);
    starts
}

/// Each host's switch, and where the run of hosts on that switch ends.
fn runs(hosts: &[HostId], switch_of: &[SwitchId]) -> Vec<(SwitchId, u32)> {
    let mut runs: Vec<(SwitchId, u32)> =
        hosts.iter().zip(1..).map(|(host, next)| (switch_of[host.index()], next)).collect();
    for at in (1..runs.len()).rev() {
        if runs[at].0 == runs[at - 1].0 {
            runs[at - 1].1 = runs[at].1;
        }
    }
    runs
}

/// Where the entries of `coarse` are in `fine`, which contains them.
fn places(coarse: &[u32], fine: &[u32]) -> Vec<u32> {
    let mut at = 0;
    let place = |&start: &u32| {
        while fine[at] != start {
            at += 1;
        }
        at as u32
    };
    coarse.iter().map(place).collect()
}

/// The hosts whose addresses agree in the first fields.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    tree: &'a RegionTree,
    /// How many fields agree.
    depth: usize,
    /// Number of the region among those of this depth.
    number: usize,
}

impl<'a> Region<'a> {
    pub(super) fn root(tree: &'a RegionTree) -> Region<'a> {
        Region { tree, depth: 0, number: 0 }
    }

    /// Every host alone, by address.
    pub(super) fn hosts_alone(tree: &'a RegionTree) -> impl Iterator<Item = Region<'a>> {
        (0..tree.hosts.len()).map(move |number| Region { tree, depth: tree.fields.len(), number })
    }

    /// How many fields agree.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The hosts, by address; at least one.
    pub fn hosts(&self) -> &'a [HostId] {
        let starts = &self.tree.starts[self.depth];
        &self.tree.hosts[starts[self.number] as usize..starts[self.number + 1] as usize]
    }

    /// The only host, when it is the only one.
    pub fn host(&self) -> Option<HostId> {
        match self.hosts() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// The switches of its hosts, each once for hosts that follow one another by address.
    pub(crate) fn switches(&self) -> impl Iterator<Item = SwitchId> {
        let starts = &self.tree.starts[self.depth];
        let (mut at, end) = (starts[self.number], starts[self.number + 1]);
        std::iter::from_fn(move || {
            let (switch, next) = *self.tree.runs[..end as usize].get(at as usize)?;
            at = next;
            Some(switch)
        })
    }

    /// Whether the regions that it consists of fix all fields: they are single hosts.
    pub(crate) fn is_last(&self) -> bool {
        self.depth + 1 == self.tree.fields.len()
    }

    /// How many regions it consists of that fix one field more; none when it fixes all.
    pub fn len(&self) -> usize {
        self.tree.children.get(self.depth).map_or(0, |starts| {
            let [first, end] = [self.number, self.number + 1].map(|at| starts[at] as usize);
            end - first
        })
    }

    /// Whether it fixes all fields.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `index`-th of the regions that it consists of, by address.
    pub fn child(&self, index: usize) -> Region<'a> {
        let first = self.tree.children[self.depth][self.number] as usize;
        Region { tree: self.tree, depth: self.depth + 1, number: first + index }
    }

    /// The regions that fix one field more, by address.
    pub fn children(self) -> impl Iterator<Item = Region<'a>> {
        (0..self.len()).map(move |index| self.child(index))
    }

    /// The leading coordinates that the switches of all its hosts share by plan.
    pub fn known(&self) -> &'a [u32] {
        let tree = self.tree;
        let known = if self.host().is_some() { tree.axes } else { tree.known[self.depth] };
        let first = tree.starts[self.depth][self.number] as usize;
        &tree.coordinates[first * tree.axes..][..known]
    }

    fn address(&self) -> u64 {
        self.tree.addresses[self.depth][self.number]
    }

    /// The addresses that agree in the first fields.
    pub fn cube(&self) -> Ternary {
        let shift = self.depth.checked_sub(1).map_or(self.tree.bits(), |last| self.tree.fields[last].shift);
        let mask = ((1 << self.tree.bits()) - 1) >> shift << shift;
        Ternary::new(self.address(), mask)
    }

    /// The addresses that agree in the last of the fixed fields, whatever those before are.
    pub fn field_cube(&self) -> Ternary {
        let Some(last) = self.depth.checked_sub(1) else { return Ternary::ANY };
        let field = &self.tree.fields[last];
        let value = self.address() >> field.shift;
        Ternary::new(value << field.shift, field.matching(u32::MAX).mask())
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dragonfly, Family};

    use crate::PlanKind;

    #[test]
    fn regions_of_a_dragonfly_are_its_groups_and_their_switches() {
        let topology = Dragonfly::default().generate().unwrap();
        let plan = PlanKind::PerGroup.plan(&topology).unwrap();
        let group = plan.root().child(3);
        assert_eq!((plan.root().len(), group.len(), group.hosts().len()), (9, 4, 8));
        assert_eq!((group.known(), group.child(1).known()), ([3].as_slice(), [3, 1].as_slice()));
        assert_eq!(group.cube().to_string(), "0011***");
        assert_eq!(group.child(1).cube().to_string(), "001101*");
        assert_eq!(group.child(1).field_cube().to_string(), "01*");
        let host = group.child(1).child(0);
        assert_eq!((host.host(), host.is_empty()), (Some(host.hosts()[0]), true));
    }

    #[test]
    fn every_plan_gives_every_host_its_own_address() {
        for kind in etherweave_topology::TopologyKind::examples() {
            let topology = kind.generate().unwrap();
            for plan in PlanKind::ALL.iter().filter_map(|plan| plan.plan(&topology).ok()) {
                let mut addresses: Vec<u64> = (0..topology.hosts() as u32)
                    .map(|host| plan.address(etherweave_primitives::HostId::new(host)))
                    .collect();
                addresses.sort_unstable();
                addresses.dedup();
                assert_eq!(addresses.len(), topology.hosts(), "{} {}", kind.name(), plan.kind().name());
            }
        }
    }
}
