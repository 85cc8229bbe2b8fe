//! Two levels: the number of a switch with hosts, and the host's place there (Benito et al. 2015, figure 2).

use super::{Column, Sites};
use crate::ForwardingError;

pub(super) fn columns(sites: &Sites<'_>) -> Result<Vec<Column>, ForwardingError> {
    let axes = sites.topology.axes().len();
    let switch = Column { name: "switch".into(), values: sites.by_host(0..), known: axes };
    Ok(vec![switch, Column::place(sites)])
}
