//! The header fields by which a switch distinguishes flows.

use etherweave_primitives::{HostId, mix};

/// The header fields that switches hash: addresses, and what else distinguishes flows of one pair of hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey {
    /// The host that sends.
    pub src: HostId,
    /// The host that receives.
    pub dst: HostId,
    /// Ports and whatever else a header carries: a UDP source port for RoCE v2, both TCP ports.
    pub entropy: u64,
}

impl FlowKey {
    /// All fields in one word, for switches to hash further. The same in every switch: compute it once per flow.
    pub const fn digest(&self) -> u64 {
        let pair = (self.src.get() as u64) << 32 | self.dst.get() as u64;
        mix(mix(pair.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ self.entropy)
    }
}
