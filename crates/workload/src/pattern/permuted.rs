//! A destination for each host, fixed for the run.

use etherweave_primitives::{HostId, Stream, Time};

use crate::HostRange;

/// Partner of each host: what every permutation is in the end.
#[derive(Clone, Debug)]
pub(super) struct Permuted(Box<[u32]>);

impl Permuted {
    /// The permutation of `hosts` hosts that leads `host` to `to(host)`.
    pub(super) fn new(hosts: u32, to: impl Fn(u32) -> u32) -> Permuted {
        Permuted((0..hosts).map(to).collect())
    }

    /// None where a host is its own partner.
    #[inline]
    pub(super) fn destination(&self, src: HostId, _: Time, _: &mut Stream) -> Option<HostId> {
        let partner = self.0[src.index()];
        (partner != src.get()).then_some(HostId::new(partner))
    }

    pub(super) fn shares(&self, src: HostId, _: Time, each: &mut dyn FnMut(HostRange, f64)) {
        let partner = self.0[src.index()];
        if partner != src.get() {
            each(HostRange::of(HostId::new(partner)), 1.0);
        }
    }
}
