//! No structure: an address per host, and an entry per host in every table (Benito et al. 2015, figure 2, "no
//! hierarchy").

use super::{Column, Sites};
use crate::ForwardingError;

pub(super) fn columns(sites: &Sites<'_>) -> Result<Vec<Column>, ForwardingError> {
    let axes = sites.topology.axes().len();
    Ok(vec![Column { name: "host".into(), values: (0..sites.switch_of.len() as u32).collect(), known: axes }])
}
