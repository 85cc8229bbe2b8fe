//! Three levels: group, switch, host (Benito et al. 2015, figures 2 and 5). A group is what shares all coordinates but
//! the last: a group of a dragonfly, a row of the first dimension of a flattened butterfly, a pod of a folded Clos.

use super::{FieldColumn, HostSites, no_coordinates};
use etherweave_primitives::InputError;

pub(super) fn columns(sites: &HostSites<'_>) -> Result<Vec<FieldColumn>, InputError> {
    let axes = sites.topology.axes().len();
    if axes == 0
        && let Some(switches) = sites.twins()
    {
        return Err(no_coordinates("per_group", switches));
    }
    let group_axes = axes.saturating_sub(1);
    let (mut groups, mut places) = (Vec::new(), Vec::new());
    let group = |pair: &_| sites.prefix(*pair, group_axes);
    for (number, switches) in (0..).zip(sites.switches.chunk_by(|a, b| group(a) == group(b))) {
        groups.extend(switches.iter().map(|_| number));
        places.extend(0..switches.len() as u32);
    }
    let group = FieldColumn { name: "group".into(), values: sites.by_host(groups), known: group_axes };
    let switch = FieldColumn { name: "switch".into(), values: sites.by_host(places), known: axes };
    Ok(vec![group, switch, FieldColumn::place(sites)])
}
