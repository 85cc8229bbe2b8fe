//! Transports.

use super::Checked;
use crate::params::SimParams;

/// Each transport by itself; marks are heeded by one of them at least.
pub(super) fn check(params: &SimParams) -> Checked {
    let do_switches_mark = params.switch.ecn.is_some();
    let is_heeded = params.transports().any(|transport| transport.heeds_marks());
    params.transports().try_for_each(|transport| {
        // Another may heed the marks that this one does not.
        transport.check(do_switches_mark && (transport.heeds_marks() || !is_heeded))
    })
}
