//! Transports.

use super::Checked;
use crate::params::SimParams;

/// Each transport by itself; marks are heeded by one of them at least.
pub(super) fn check(params: &SimParams) -> Checked {
    let ecn = params.switch.ecn.as_ref();
    let is_heeded = params.transports().any(|transport| transport.heeds_marks());
    params.transports().try_for_each(|transport| {
        // Another may heed the marks that this one does not.
        transport.check(ecn.filter(|_| transport.heeds_marks() || !is_heeded))
    })
}
