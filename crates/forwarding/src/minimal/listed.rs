//! Any routing of the routing crate, host by host: for small fabrics.

use etherweave_primitives::{HostId, InputError, Port, SwitchId};
use etherweave_routing::{RoutingKind, RoutingTable};
use etherweave_topology::Topology;

use crate::Region;

/// Pairs of a switch and a switch with hosts that a list may have: 64 MiB of entries.
const PAIRS_MAX: u64 = 1 << 24;

/// A routing as a table over all switches.
#[derive(Clone, Debug)]
pub struct ListedRouting {
    table: RoutingTable,
}

impl ListedRouting {
    pub(super) fn of(topology: &Topology, routing: RoutingKind) -> Result<ListedRouting, InputError> {
        let mut destinations: Vec<SwitchId> =
            (0..topology.hosts()).map(|host| topology.switch_of(HostId::from_index(host))).collect();
        destinations.sort_unstable();
        destinations.dedup();
        let pairs = topology.switches() as u64 * destinations.len() as u64;
        if pairs > PAIRS_MAX {
            let mistake = format!("an irregular fabric has {pairs} pairs of a switch and a switch with hosts");
            return Err(InputError::new("", mistake, format!("at most {PAIRS_MAX}")));
        }
        Ok(ListedRouting { table: routing.build(topology)? })
    }

    pub(super) fn ports(&self, topology: &Topology, at: SwitchId, region: &Region<'_>, ports: &mut Vec<Port>) -> bool {
        let mut hosts = region.hosts().iter().map(|&host| self.table.legal(at, host));
        let first = hosts.next().expect("a region has hosts");
        if hosts.any(|channels| channels != first) {
            return false;
        }
        ports.extend(first.iter().map(|&channel| topology.channel(channel).from.port));
        ports.sort_unstable();
        true
    }
}
