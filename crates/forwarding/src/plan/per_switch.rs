//! Two levels: the number of a switch with hosts, and the host's place there (Benito et al. 2015, figure 2).

use super::{FieldColumn, HostSites};
use etherweave_primitives::InputError;

pub(super) fn columns(sites: &HostSites<'_>) -> Result<Vec<FieldColumn>, InputError> {
    let axes = sites.topology.axes().len();
    let switch = FieldColumn { name: "switch".into(), values: sites.by_host(0..), known: axes };
    Ok(vec![switch, FieldColumn::place(sites)])
}
