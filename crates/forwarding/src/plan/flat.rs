//! No structure: an address per host, and an entry per host in every table (Benito et al. 2015, figure 2, "no
//! hierarchy").

use super::{FieldColumn, HostSites};
use etherweave_primitives::InputError;

pub(super) fn columns(sites: &HostSites<'_>) -> Result<Vec<FieldColumn>, InputError> {
    let axes = sites.topology.axes().len();
    Ok(vec![FieldColumn { name: "host".into(), values: (0..sites.switch_of.len() as u32).collect(), known: axes }])
}
