//! Three levels: group, switch, host (Benito et al. 2015, figures 2 and 5). A group is what shares all coordinates but
//! the last: a group of a dragonfly, a row of the first dimension of a flattened butterfly, a pod of a folded Clos.
//! With fewer coordinates groups are fewer and larger: planes of a flattened butterfly, what is below a switch of the
//! third stage of a folded Clos. Entries are fewest where there are about as many groups as switches in each (section
//! III-A).

use super::{FieldColumn, HostSites, no_coordinates};
use etherweave_primitives::InputError;

pub(super) fn columns(sites: &HostSites<'_>) -> Result<Vec<FieldColumn>, InputError> {
    let axes = sites.topology.axes().len();
    if axes == 0
        && let Some(switches) = sites.twins()
    {
        return Err(no_coordinates("per_group", switches));
    }
    let group_axes = match sites.group_coordinates {
        None => axes.saturating_sub(1),
        Some(given) if (1..axes).contains(&(given as usize)) => given as usize,
        Some(given) => {
            let expected = match axes {
                0 | 1 => format!("none: this fabric has {axes} coordinates"),
                axes => format!("1 to {}, of {}", axes - 1, sites.topology.axes().join(", ")),
            };
            return Err(InputError::new("group_coordinates", given, expected));
        }
    };
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
