//! RoCE in flow-level mode, as others see it. What its messages do is in `fluid.rs` of the crate.

use etherweave_engine::params::{Fidelity, SimParams, Transport};
use etherweave_engine::{Wires, constants::RunConstants, packet::Handle, packet::Packet};
use etherweave_kernel::indices::{EndpointIndex, HostIndex};
use etherweave_primitives::{BitRate, Time};
use etherweave_transport::ConnectionState;

use super::{SendState, SentCounts, TransportState};
use crate::{Hosts, Nics, fluid::FluidState, message::MessageKind};

impl ConnectionState for FluidState {
    fn beside(&self, _: bool) -> [(*const u8, usize); 2] {
        [self.open_memory(), (std::ptr::null(), 0)]
    }

    fn sent(&self) -> SentCounts {
        SentCounts { bytes: self.acknowledged(), packets: self.packets(), retransmissions: 0, ..SentCounts::default() }
    }

    fn moves_answers(&self) -> bool {
        true
    }

    fn send_state(&self, _now: Time, transport: &Transport) -> SendState {
        SendState { window: transport.window().bytes.get(), in_flight: self.in_flight(), rate: None }
    }
}

impl TransportState for FluidState {
    fn begin(_: &SimParams, transport: &Transport, fidelity: Fidelity, _: BitRate) -> Option<FluidState> {
        (!fidelity.is_packet() && transport.has_flow_level()).then(FluidState::default)
    }

    fn memory(_: &Transport) -> Option<u64> {
        None
    }

    fn next_packet(_: &mut Nics, _: EndpointIndex, _: Time, _: &RunConstants) -> (Option<Packet>, bool) {
        unreachable!("flow-level mode makes no packets")
    }

    fn post(
        hosts: &mut Hosts,
        wires: &mut Wires,
        endpoint: EndpointIndex,
        kind: MessageKind,
        _: u32,
        length: u64,
    ) -> u64 {
        hosts.nics.fluid_post(wires, endpoint, kind, length)
    }

    fn arrive(_: &mut Hosts, _: &mut Wires, _: HostIndex, _: Handle) {
        unreachable!("flow-level mode makes no packets")
    }

    fn receive(_: &mut Hosts, _: &mut Wires, _: EndpointIndex, _: &Packet) {
        unreachable!("flow-level mode makes no packets")
    }
}
