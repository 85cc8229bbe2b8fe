//! Sites of hosts, as every address plan needs them.

use etherweave_primitives::{HostId, SwitchId};
use etherweave_topology::Topology;

pub(crate) struct HostSites<'a> {
    pub topology: &'a Topology,
    /// The switch of each host.
    pub switch_of: Vec<SwitchId>,
    /// How many hosts of lower id each host's switch has.
    pub place: Vec<u32>,
    /// Switches with hosts, by coordinates and then by id.
    pub switches: Vec<SwitchId>,
    /// Leading coordinates that the switches of a group share, where that is stated.
    pub group_coordinates: Option<u32>,
}

impl HostSites<'_> {
    pub fn of(topology: &Topology, group_coordinates: Option<u32>) -> HostSites<'_> {
        let hosts = (0..topology.hosts()).map(HostId::from_index);
        let switch_of: Vec<SwitchId> = hosts.map(|host| topology.switch_of(host)).collect();
        let mut counts = vec![0; topology.switches()];
        let place = switch_of.iter().map(|switch| {
            counts[switch.index()] += 1;
            counts[switch.index()] - 1
        });
        let place = place.collect();
        let mut switches = switch_of.clone();
        switches.sort_unstable();
        switches.dedup();
        switches.sort_by_key(|&switch| (topology.coordinates(switch), switch));
        HostSites { topology, switch_of, place, switches, group_coordinates }
    }

    /// A value per host from a value per switch with hosts, which come in order.
    pub fn by_host(&self, of_switch: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let mut values = vec![0; self.topology.switches()];
        self.switches.iter().zip(of_switch).for_each(|(switch, value)| values[switch.index()] = value);
        self.switch_of.iter().map(|switch| values[switch.index()]).collect()
    }

    /// The first coordinates of a switch.
    pub fn prefix(&self, switch: SwitchId, axes: usize) -> &[u32] {
        &self.topology.coordinates(switch)[..axes]
    }

    /// Axes in which not all switches with hosts are at the same place.
    pub fn varying_axes(&self) -> Vec<usize> {
        let first = self.topology.coordinates(self.switches[0]);
        let varies =
            |axis: &usize| self.switches.iter().any(|&switch| self.topology.coordinates(switch)[*axis] != first[*axis]);
        (0..first.len()).filter(varies).collect()
    }

    /// Two switches with hosts at the same place, by name.
    pub fn twins(&self) -> Option<[String; 2]> {
        let place = |switch| self.topology.coordinates(switch);
        let twins = self.switches.windows(2).find(|pair| place(pair[0]) == place(pair[1]))?;
        Some([twins[0], twins[1]].map(|switch| self.topology.switch_name(switch).to_owned()))
    }
}
