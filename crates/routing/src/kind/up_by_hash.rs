//! ECMP, spraying and flowlets on a tree: up by hash, and down by the only path.

use etherweave_primitives::{Duration, InputError, params};

use super::RoutingParams;
use crate::per_packet::{
    HashScope, InputChannel, LoadView, NextHop, Oblivious, OutputChannel, PacketRouting, RoutedPacket, WalkTarget,
};
use crate::{per_packet::choice::any, per_packet::clos::ClosPlan, per_packet::clos::HostPlace};

params! {
    /// Parameters of flowlets.
    #[derive(Copy, Eq)]
    pub struct FlowletParams {
        /// Time without a packet from a host to another after which their next packet may take another port, "1ns" to
        /// "4s" in whole nanoseconds. Default "1us".
        // Five packets of 1,000 bytes at 40 Gb/s.
        pub gap: Duration = Duration::from_ns(1_000),
    }
}

impl RoutingParams for FlowletParams {
    fn check(&self) -> Result<(), InputError> {
        let is_whole = self.gap.as_ps().is_multiple_of(NS);
        let is_within = (NS..=GAP_MAX_NS * NS).contains(&self.gap.as_ps());
        InputError::unless(is_whole && is_within, "gap", self.gap, "\"1ns\" to \"4s\" in whole nanoseconds")
    }
}

/// A nanosecond [ps].
const NS: u64 = 1_000;
/// Longest gap of flowlets [ns].
const GAP_MAX_NS: u64 = 4_000_000_000;

impl FlowletParams {
    /// How long packets keep their hash.
    pub(super) fn hash_scope(&self) -> HashScope {
        HashScope::PerFlowlet { gap_ns: (self.gap.as_ps() / NS) as u32 }
    }
}

/// Any port up, each as likely, by the packet's hash: per flow as in ECMP (Hopps, RFC 2992), per packet (Dixit et al.,
/// "On the impact of packet spraying in data center networks", INFOCOM 2013), or per flowlet (Vanini et al., "Let it
/// flow", NSDI 2017). Where several ports lead to the same switch below, one of them by hash too.
pub struct UpByHash {
    /// Where everything is.
    pub plan: ClosPlan,
    /// How long packets keep their hash.
    pub hash_scope: HashScope,
}

impl PacketRouting for UpByHash {
    fn channels(&self) -> u8 {
        1
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(self.plan.rank(out))
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn hash_scope(&self) -> HashScope {
        self.hash_scope
    }

    /// Writes the place of the destination into the packet: each switch needs it.
    fn start(&self, packet: &mut RoutedPacket) {
        packet.route_state = self.plan.place(packet.dst).state();
    }

    #[inline(always)]
    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        let place = HostPlace::of_state(packet.route_state);
        NextHop { port: any(self.plan.ports_to(at.switch, place), packet), channel: 0 }
    }
}

/// All ports up alike, and all ports down to the same subtree. Where a flow keeps its path, some ports carry more than
/// their share. Those beside them carry less, so that the most loaded one has the expected load at least, and the bound
/// holds.
impl Oblivious for UpByHash {
    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        let (WalkTarget::Via(leaf) | WalkTarget::Switch(leaf)) = target;
        if at != leaf {
            let ports = self.plan.ports_towards(at, self.plan.first_host(leaf));
            ports.clone().for_each(|port| each(port, 1.0 / ports.len() as f64));
        }
    }
}
