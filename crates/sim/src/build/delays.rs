//! Times from one end of a channel to the other.

use etherweave_engine::params::{FlowControl, SimParams};
use etherweave_primitives::Duration;
use etherweave_topology::{Channel, LinkClass, Node};

/// Time from the last bit sent into a channel to service at its end.
pub(crate) fn delay(channel: &Channel, params: &SimParams) -> Duration {
    let sender = match channel.from.node {
        Node::Host(_) => params.nic.transmit_latency,
        Node::Switch(_) => Duration::ZERO,
    };
    let receiver = match channel.to.node {
        Node::Host(_) => params.nic.receive_latency,
        Node::Switch(_) => params.switch.latency,
    };
    let header = match channel.class {
        LinkClass::Host => params.switch.outer_header.map_or(Duration::ZERO, |header| header.latency),
        LinkClass::Local | LinkClass::Global => Duration::ZERO,
    };
    params.fec.adjust(sender + channel.length.propagation_time() + receiver + header, channel)
}

/// Time from the last bit of a pause frame sent into a channel to the stop of the transmitter at its end.
pub(super) fn pause_delay(channel: &Channel, params: &SimParams) -> Duration {
    let reaction = match &params.flow_control {
        FlowControl::None {} | FlowControl::Credits(_) => Duration::ZERO,
        FlowControl::GlobalPause(pause) => pause.reaction,
        FlowControl::Pfc(pfc) => pfc.reaction,
    };
    params.fec.adjust(channel.length.propagation_time() + reaction, channel)
}
