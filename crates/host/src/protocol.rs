//! The transport of an endpoint, whichever it is: all that hosts, jobs and reports ask of one.
//!
//! A transport is a state machine in `etherweave_transport` with its parameters, a file beside this one that moves its
//! packets and timers, and its line in each function here. The choice is a branch on a tag, not a call through a table.

use etherweave_engine::Wires;
use etherweave_engine::constants::RunConstants;
use etherweave_engine::event::PrefetchHint;
use etherweave_engine::packet::Packet;
use etherweave_engine::params::{Fidelity, SimParams, Transport};
use etherweave_kernel::indices::{EndpointIndex, ThreadIndex};
use etherweave_primitives::{BitRate, Time};

use super::Endpoint;
use super::fluid::FluidState;
use super::message::MessageKind;
use super::mpi::{READ_REQUEST, operation};
use super::roce::{self, RoceState};
use super::socket::TcpState;
use super::task_cost::TaskCost;
use super::thread::Task;
use crate::{Hosts, Nics};

/// The transport of an endpoint. Its tag comes first, beside what all transports need of the endpoint.
#[repr(u8)]
pub enum Protocol {
    /// Reliable connection.
    Roce(RoceState),
    /// Kernel TCP.
    Tcp(Box<TcpState>),
    /// Reliable connection in flow-level mode.
    Fluid(Box<FluidState>),
}

/// What the sending side of a connection has counted.
pub struct SentCounts {
    /// Bytes acknowledged.
    pub bytes: u64,
    /// Data packets sent, again included.
    pub packets: u64,
    /// Data packets (RoCE) or segments (TCP) sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
}

/// How much the sending side of a connection may send, and how fast.
pub struct SendState {
    /// Congestion window (TCP), or the window of the transport [B].
    pub window: u64,
    /// In the network, as far as the sender knows [B].
    pub in_flight: u64,
    /// Rate of the rate limiter, if there is one.
    pub rate: Option<BitRate>,
}

/// What the receiving side of a connection has counted.
#[derive(Clone, Copy)]
pub struct ReceivedCounts {
    /// Data packets (RoCE) or segments (TCP) that arrived before one that was sent before them.
    pub out_of_order: u64,
    /// Negative acknowledgements sent.
    pub naks: u64,
    /// When a packet that was sent again last arrived; 0 if none did.
    pub resent_last: Time,
}

impl Protocol {
    /// A fresh connection at a NIC of `rate`.
    pub fn new(params: &SimParams, transport: &Transport, fidelity: Fidelity, rate: BitRate) -> Protocol {
        match transport {
            Transport::Roce(_) if fidelity == Fidelity::Flow => Protocol::Fluid(Box::default()),
            Transport::Roce(roce) => Protocol::Roce(RoceState::new(roce, rate)),
            Transport::Tcp(tcp) => {
                let mut state = TcpState::new(tcp, params.host.cpu.offload.get() as u32);
                state.flow = (fidelity == Fidelity::Flow).then(Box::default);
                Protocol::Tcp(Box::new(state))
            }
        }
    }

    /// All names in reports.
    pub const NAMES: [&'static str; 2] = ["roce", "tcp"];

    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Protocol::Roce(_) | Protocol::Fluid(_) => Protocol::NAMES[0],
            Protocol::Tcp(_) => Protocol::NAMES[1],
        }
    }

    /// Whether the kernel sends and receives.
    pub fn is_in_kernel(&self) -> bool {
        match self {
            Protocol::Tcp(_) => true,
            Protocol::Roce(_) | Protocol::Fluid(_) => false,
        }
    }

    /// What the sending side has counted.
    pub fn sent(&self) -> SentCounts {
        match self {
            Protocol::Roce(state) => SentCounts {
                bytes: state.requester.acknowledged(),
                packets: state.requester.packets(),
                retransmissions: state.requester.retransmitted_packets(),
                timeouts: state.requester.timeouts(),
            },
            Protocol::Tcp(state) => SentCounts {
                bytes: state.sender.acknowledged(),
                packets: state.packets,
                retransmissions: state.sender.counters().retransmissions,
                timeouts: state.sender.counters().timeouts,
            },
            Protocol::Fluid(state) => {
                SentCounts { bytes: state.acknowledged(), packets: state.packets(), retransmissions: 0, timeouts: 0 }
            }
        }
    }

    /// The longest message that a connection of RoCE in packets has not had acknowledged: later ones wait for it [B].
    pub fn longest_message(&self) -> Option<u64> {
        match self {
            Protocol::Roce(state) => Some(state.requester.longest_message()),
            Protocol::Tcp(_) | Protocol::Fluid(_) => None,
        }
    }

    /// Whether what is sent is copied into a socket.
    pub(super) fn is_socket(&self) -> bool {
        match self {
            Protocol::Tcp(_) => true,
            Protocol::Roce(_) | Protocol::Fluid(_) => false,
        }
    }

    /// What has been posted and not written to a socket [B].
    pub(super) fn unwritten(&self) -> u64 {
        match self {
            Protocol::Tcp(state) => state.writes.iter().map(|write| write.left).sum(),
            Protocol::Roce(_) | Protocol::Fluid(_) => 0,
        }
    }

    /// Window and rate of the sending side.
    pub fn send_state(&self, now: Time, constants: &RunConstants) -> SendState {
        match self {
            Protocol::Roce(state) => SendState {
                window: state.requester.window(roce::params(constants)),
                in_flight: state.requester.in_flight(),
                rate: state.requester.rate(now),
            },
            Protocol::Tcp(state) => {
                SendState { window: state.sender.congestion_window(), in_flight: state.sender.in_flight(), rate: None }
            }
            Protocol::Fluid(state) => {
                SendState { window: roce::params(constants).window.get(), in_flight: state.in_flight(), rate: None }
            }
        }
    }
}

impl Endpoint {
    /// What the receiving side has counted.
    pub fn received(&self) -> ReceivedCounts {
        let (out_of_order, naks) = match &self.protocol {
            Protocol::Roce(state) => (state.responder.out_of_order_packets(), state.responder.naks()),
            Protocol::Tcp(state) => (state.receiver.out_of_order_segments(), 0),
            Protocol::Fluid(_) => (0, 0),
        };
        ReceivedCounts { out_of_order, naks, resent_last: self.resent_last }
    }

    pub(super) fn roce(&mut self) -> &mut RoceState {
        match &mut self.protocol {
            Protocol::Roce(state) => state,
            Protocol::Tcp(_) | Protocol::Fluid(_) => unreachable!("asked for RoCE state of another endpoint"),
        }
    }

    /// State of TCP.
    ///
    /// # Panics
    /// When the endpoint has another transport.
    pub fn tcp(&mut self) -> &mut TcpState {
        match &mut self.protocol {
            Protocol::Tcp(state) => state,
            Protocol::Roce(_) | Protocol::Fluid(_) => unreachable!("asked for TCP state of another endpoint"),
        }
    }

    pub(super) fn fluid(&mut self) -> &mut FluidState {
        match &mut self.protocol {
            Protocol::Fluid(state) => state,
            Protocol::Tcp(state) => &mut state.flow.as_mut().expect("asked for it in flow-level mode").fluid,
            Protocol::Roce(_) => unreachable!("asked for the state of flow-level mode of another endpoint"),
        }
    }

    /// Whether flow-level mode knows it only by what its packets take.
    pub(super) fn is_in_packets(&self) -> bool {
        matches!(self.protocol, Protocol::Roce(_))
    }

    /// Its messages in flow-level mode, unless TCP cuts them into segments.
    pub(super) fn messages(&self) -> Option<&FluidState> {
        match &self.protocol {
            Protocol::Fluid(state) => Some(state),
            Protocol::Roce(_) | Protocol::Tcp(_) => None,
        }
    }

    /// Whether TCP sends segments in flow-level mode.
    pub(super) fn sends_segments(&self) -> bool {
        matches!(&self.protocol, Protocol::Tcp(state) if state.flow.is_some())
    }

    /// The place among the active connections of flow-level mode, if its messages are simulated and it has one.
    pub(super) fn fluid_place(&self) -> Option<u32> {
        match &self.protocol {
            Protocol::Fluid(state) => state.place(),
            Protocol::Tcp(state) => state.flow.as_ref().and_then(|flow| flow.fluid.place()),
            Protocol::Roce(_) => None,
        }
    }

    /// The next packet, and whether more can follow at once.
    #[inline]
    pub(super) fn next_packet(&mut self, now: Time, constants: &RunConstants) -> (Option<Packet>, bool) {
        match self.protocol {
            Protocol::Roce(_) => self.next_roce_packet(now, constants),
            Protocol::Tcp(_) => self.next_tcp_packet(now, constants),
            Protocol::Fluid(_) => unreachable!("flow-level mode makes no packets"),
        }
    }
}

impl Nics {
    /// Timers that a sent packet needs.
    #[inline]
    pub(super) fn after_sending(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        match self.endpoints[endpoint].protocol {
            Protocol::Roce(_) => self.after_sending_roce(wires, endpoint),
            Protocol::Tcp(_) => self.after_sending_tcp(wires, endpoint),
            Protocol::Fluid(_) => unreachable!("flow-level mode makes no packets"),
        }
    }

    /// A timer of an endpoint is due.
    pub fn transport_timer(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        match self.endpoints[endpoint].protocol {
            Protocol::Roce(_) => self.roce_timer(wires, endpoint),
            Protocol::Tcp(_) => self.tcp_timer(wires, endpoint),
            Protocol::Fluid(_) => unreachable!("flow-level mode has no timers"),
        }
    }

    /// How a receiver that is ready asks for the payload of a rendezvous: the message and its length.
    pub(super) fn rendezvous_request(&self, wires: &Wires, endpoint: EndpointIndex) -> (MessageKind, u64) {
        match self.endpoints[endpoint].protocol {
            Protocol::Roce(_) | Protocol::Fluid(_) => (MessageKind::ReadRequest, READ_REQUEST),
            Protocol::Tcp(_) => (MessageKind::ClearToSend, wires.constants.params.host.mpi_tcp.header.get()),
        }
    }
}

impl Hosts {
    /// Puts a message of `length` bytes into a connection's stream; returns where it ends.
    pub(super) fn post_bytes(
        &mut self,
        wires: &mut Wires,
        endpoint: EndpointIndex,
        kind: MessageKind,
        length: u64,
    ) -> u64 {
        match self.nics.endpoints[endpoint].protocol {
            Protocol::Roce(_) => self.nics.roce_post(wires, endpoint, length, operation(kind)),
            Protocol::Tcp(_) => self.tcp_post(wires, endpoint, kind, length),
            Protocol::Fluid(_) => self.nics.fluid_post(wires, endpoint, kind, length),
        }
    }

    /// A stream's thread hands over its next message.
    pub(super) fn begin_stream_message(&mut self, wires: &mut Wires, thread: ThreadIndex, endpoint: EndpointIndex) {
        match self.nics.endpoints[endpoint].protocol {
            Protocol::Roce(_) | Protocol::Fluid(_) => {
                let cost = wires.constants.params.host.mpi_roce.send_overhead;
                self.begin_with(wires, thread, Task::Post, TaskCost::of(cost), PrefetchHint::endpoint(endpoint, true));
            }
            Protocol::Tcp(_) => {
                self.processors.source(thread).post();
                self.tcp_write_stream(wires, thread);
            }
        }
    }
}

etherweave_kernel::wire! { ReceivedCounts { out_of_order, naks, resent_last } }
