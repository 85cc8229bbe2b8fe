//! A sub-field per coordinate (Benito et al. 2015, section III-B and figure 5): what wildcards need to forward a
//! dimension, or a level, at a time. Coordinates that all switches with hosts share have no field.

use super::{FieldColumn, HostSites, no_coordinates};
use etherweave_primitives::InputError;

pub(super) fn columns(sites: &HostSites<'_>) -> Result<Vec<FieldColumn>, InputError> {
    if let Some(switches) = sites.twins() {
        return Err(no_coordinates("coordinates", switches));
    }
    let varying = sites.varying_axes();
    // Behind an axis, those in which all are at the same place are known as well.
    let known = varying.iter().skip(1).copied().chain([sites.topology.axes().len()]);
    let column = |(&axis, known): (&usize, usize)| {
        let values = sites.switches.iter().map(|&switch| sites.topology.coordinates(switch)[axis]);
        FieldColumn { name: sites.topology.axes()[axis].clone(), values: sites.by_host(values), known }
    };
    let mut columns: Vec<FieldColumn> = varying.iter().zip(known).map(column).collect();
    columns.push(FieldColumn::place(sites));
    Ok(columns)
}
