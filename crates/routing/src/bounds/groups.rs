//! The groups of a fabric, as patterns see them.

use etherweave_primitives::{HostId, InputError, SwitchId};
use etherweave_topology::Topology;
use etherweave_workload::HostGroups;

/// Hosts by the group of their switch where the fabric has an axis of that name, otherwise by their switch.
///
/// # Errors
/// When there are fewer than two hosts.
pub fn host_groups(topology: &Topology) -> Result<HostGroups, InputError> {
    let group_axis = topology.axes().iter().position(|axis| axis == "group");
    let group = |at: SwitchId| group_axis.map_or(at.get(), |axis| topology.coordinates(at)[axis]);
    let homes: Vec<u32> =
        (0..topology.hosts()).map(|host| group(topology.switch_of(HostId::from_index(host)))).collect();
    let sizes: Vec<u32> = homes.chunk_by(|a, b| a == b).map(|hosts| hosts.len() as u32).collect();
    HostGroups::new(&sizes).map_err(|error| error.within("pattern"))
}
