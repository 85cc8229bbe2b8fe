//! ECMP, spraying and flowlets on a tree: up by hash, and down by the only path.

use crate::per_packet::choice::any;
use crate::per_packet::clos::ClosPlan;
use crate::per_packet::{
    HashScope, InputChannel, LoadView, NextHop, Oblivious, OutputChannel, PacketRouting, RoutedPacket, WalkTarget,
};

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

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        NextHop { port: any(self.plan.ports_towards(at.switch, packet.dst), packet), channel: 0 }
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
