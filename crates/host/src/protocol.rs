//! The transport of an endpoint, whichever it is: all that hosts, jobs and reports ask of one.
//!
//! `etherweave_transport` lists transports. `by_nic` moves packets and timers of all that NICs carry out; the kernel's
//! TCP and messages of flow-level mode have files of their own beside it. The choice is a branch on a tag, not a call
//! through a table.

use etherweave_engine::params::{Fidelity, SimParams, Transport};
use etherweave_engine::{
    Wires, constants::RunConstants, event::PrefetchHint, memory::prefetch_address, memory::prefetch_bytes,
    memory::prefetch_part, memory::prefetch_value, packet::Handle, packet::Packet,
};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, ThreadIndex};
use etherweave_primitives::{BitRate, Time};
use etherweave_transport::connection::{Alarm, ReceivedCounts, SendState, SentCounts, SlowState};
use etherweave_transport::{ConnectionState, Ranges};

use super::{Endpoint, fluid::FluidState, message::MessageKind, socket::TcpState, task_cost::TaskCost, thread::Task};
use crate::{Hosts, Nics};

mod by_nic;
mod fluid;
mod tcp;

/// The state of a transport, as [`Protocol`] holds it.
pub trait ProtocolState: ConnectionState + Sized {
    /// The state of a connection whose transport it is.
    fn of(protocol: &mut Protocol) -> &mut Self;
}

/// One end of a connection under its transport. What is given here holds for a transport that NICs carry out in packets
/// alone.
pub trait TransportState: ProtocolState {
    /// A fresh connection at a NIC of `rate`, if this is how the transport is simulated.
    fn begin(params: &SimParams, transport: &Transport, fidelity: Fidelity, rate: BitRate) -> Option<Self>;

    /// Memory of an end beside [`Endpoint`], if this is how the transport is simulated in packets [B].
    fn memory(transport: &Transport) -> Option<u64>;

    /// Bytes that are posted and not yet written to a socket.
    fn unwritten(&self) -> u64 {
        0
    }

    /// Releases what only further messages would need.
    fn finish(&mut self) {}

    /// Its messages in flow-level mode.
    fn fluid(&self) -> Option<&FluidState> {
        None
    }

    fn fluid_mut(&mut self) -> Option<&mut FluidState> {
        None
    }

    /// The next packet, and whether more can follow at once.
    fn next_packet(end: &mut Endpoint, now: Time, constants: &RunConstants) -> (Option<Packet>, bool);

    #[inline]
    fn entropy(_packet: &Packet) -> u16 {
        0
    }

    /// Schedules timers that a sent packet needs.
    fn after_sending(_nics: &mut Nics, _wires: &mut Wires, _endpoint: EndpointIndex) {}

    fn on_alarm(_hosts: &mut Hosts, _wires: &mut Wires, _endpoint: EndpointIndex, _alarm: Alarm) {}

    /// Puts a message of `length` bytes into a connection's stream; returns where it ends.
    fn post(hosts: &mut Hosts, wires: &mut Wires, end: EndpointIndex, kind: MessageKind, tag: u32, length: u64) -> u64;

    /// Has a stream's thread hand over its next message.
    fn begin_stream_message(hosts: &mut Hosts, wires: &mut Wires, thread: ThreadIndex, endpoint: EndpointIndex) {
        let cost = wires.constants.mpi(hosts.processors.threads[thread].job).send_overhead;
        hosts.processors.begin(wires, thread, Task::Post, TaskCost::of(cost), PrefetchHint::endpoint(endpoint, true));
    }

    /// Takes a packet that has arrived at a NIC.
    #[inline]
    fn arrive(hosts: &mut Hosts, wires: &mut Wires, host: HostIndex, handle: Handle) {
        hosts.take_by_nic(wires, host, handle);
    }

    /// Works on a packet where the NIC does so by itself.
    fn receive(hosts: &mut Hosts, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet);
}

/// Everything that follows from the list of states.
macro_rules! protocols {
    ($($(#[$doc:meta])* $protocol:ident($kept:ty) of $name:literal by $state:ty,)*) => {
        /// The transport of an endpoint. Its tag comes first, beside what all transports need of the endpoint.
        #[repr(u8)]
        pub enum Protocol {
            $(
                $(#[$doc])*
                $protocol {
                    /// Number of its transport in the run.
                    transport: u8,
                    /// State.
                    state: $kept,
                },
            )*
        }

        impl Protocol {
            /// A fresh connection of a transport, by its number in the run, at a NIC of `rate`.
            ///
            /// # Panics
            /// When the transport has no such fidelity.
            pub fn new(params: &SimParams, transport: u8, fidelity: Fidelity, rate: BitRate) -> Protocol {
                let own = params.transport_of(transport);
                $(
                    if let Some(state) = <$state>::begin(params, own, fidelity, rate) {
                        return Protocol::$protocol { transport, state: state.into() };
                    }
                )*
                unreachable!("{} has no fidelity {fidelity:?}, which is checked", own.name())
            }

            /// Memory of an end of a transport beside [`Endpoint`] in packets [B].
            pub fn memory(transport: &Transport) -> u64 {
                let states: &[fn(&Transport) -> Option<u64>] = &[$(<$state>::memory),*];
                states.iter().find_map(|memory| memory(transport)).unwrap_or_default()
            }

            /// All names in reports.
            pub const NAMES: &[&str] = &[$($name),*];

            /// Its name in reports.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Protocol::$protocol { .. } => $name,)*
                }
            }

            /// Number of its transport in the run.
            #[inline]
            pub fn transport(&self) -> u8 {
                match self {
                    $(Protocol::$protocol { transport, .. } => *transport,)*
                }
            }

            /// Begins to fetch what a packet touches beside the endpoint that arrives with data, or that leaves or
            /// answers: the state, or what a state that stands in the endpoint has beside itself.
            #[inline]
            pub fn prefetch(&self, is_data: bool) {
                match self {
                    $(Protocol::$protocol { state, .. } => {
                        if size_of::<$kept>() < size_of::<$state>() {
                            match (<$state as ConnectionState>::SENDING, is_data) {
                                (None, _) => prefetch_value::<$state>(state),
                                (Some(half), true) => prefetch_part::<$state>(state, half..size_of::<$state>()),
                                (Some(half), false) => prefetch_part::<$state>(state, 0..half),
                            }
                        } else {
                            let values = state.beside(is_data);
                            values.into_iter().for_each(|(address, bytes)| prefetch_bytes(address, bytes));
                        }
                    })*
                }
            }

            /// Begins to fetch what a packet touches of memory apart from the state, which is there already.
            #[inline]
            pub fn prefetch_apart(&self, is_data: bool) {
                match self {
                    $(Protocol::$protocol { state, .. } => {
                        state.apart(is_data).into_iter().for_each(prefetch_address);
                    })*
                }
            }

            /// Counts of the sending side.
            pub fn sent(&self) -> SentCounts {
                match self {
                    $(Protocol::$protocol { state, .. } => state.sent(),)*
                }
            }

            /// See [`TransportState::received_ahead`].
            pub(super) fn received_ahead(&self) -> Option<&Ranges> {
                match self {
                    $(Protocol::$protocol { state, .. } => state.received_ahead(),)*
                }
            }

            /// See [`TransportState::acknowledged_ahead`].
            pub(super) fn acknowledged_ahead(&self) -> Option<&Ranges> {
                match self {
                    $(Protocol::$protocol { state, .. } => state.acknowledged_ahead(),)*
                }
            }

            /// See [`ConnectionState::moves_answers`].
            pub(super) fn moves_answers(&self) -> bool {
                match self {
                    $(Protocol::$protocol { state, .. } => state.moves_answers(),)*
                }
            }

            /// The longest message that a connection in packets has not had acknowledged, where later ones wait for
            /// it [B].
            pub fn longest_message(&self) -> Option<u64> {
                match self {
                    $(Protocol::$protocol { state, .. } => state.longest_message(),)*
                }
            }

            /// Window and rate of the sending side.
            pub fn send_state(&self, now: Time, constants: &RunConstants) -> SendState {
                match self {
                    $(Protocol::$protocol { transport, state } => {
                        state.send_state(now, constants.params.transport_of(*transport))
                    })*
                }
            }

            /// See [`ConnectionState::slow_state`].
            pub fn slow_state(&self, since: Time, sending: SendState) -> SlowState {
                match self {
                    $(Protocol::$protocol { state, .. } => state.slow_state(since, sending),)*
                }
            }

            /// See [`ConnectionState::repeatable_state`].
            pub fn repeatable_state(&self, now: Time) -> Result<u64, &'static str> {
                match self {
                    $(Protocol::$protocol { state, .. } => state.repeatable_state(now),)*
                }
            }

            /// Bytes that are posted and not yet written to a socket.
            pub(super) fn unwritten(&self) -> u64 {
                match self {
                    $(Protocol::$protocol { state, .. } => state.unwritten(),)*
                }
            }

            /// Releases what only further messages would need: all are acknowledged, and none follows.
            pub(super) fn finish(&mut self) {
                match self {
                    $(Protocol::$protocol { state, .. } => <$state as TransportState>::finish(state),)*
                }
            }

            fn received(&self) -> ReceivedCounts {
                match self {
                    $(Protocol::$protocol { state, .. } => state.received(),)*
                }
            }

            /// Its messages in flow-level mode.
            fn fluid(&self) -> Option<&FluidState> {
                match self {
                    $(Protocol::$protocol { state, .. } => state.fluid(),)*
                }
            }

            fn fluid_mut(&mut self) -> Option<&mut FluidState> {
                match self {
                    $(Protocol::$protocol { state, .. } => state.fluid_mut(),)*
                }
            }

        }

        $(
            impl ProtocolState for $state {
                #[inline]
                fn of(protocol: &mut Protocol) -> &mut $state {
                    if let Protocol::$protocol { state, .. } = protocol {
                        return state;
                    }
                    unreachable!("asked for the state of another transport")
                }
            }
        )*

        impl Endpoint {
            /// The next packet, and whether more can follow at once.
            #[inline]
            pub(super) fn next_packet(&mut self, now: Time, constants: &RunConstants) -> (Option<Packet>, bool) {
                match self.protocol {
                    $(Protocol::$protocol { .. } => <$state>::next_packet(self, now, constants),)*
                }
            }

            #[inline]
            pub(super) fn entropy(&self, packet: &Packet) -> u16 {
                match self.protocol {
                    $(Protocol::$protocol { .. } => <$state>::entropy(packet),)*
                }
            }
        }

        impl Nics {
            /// Timers that a sent packet needs.
            #[inline]
            pub(super) fn after_sending(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
                match self.endpoints[endpoint].protocol {
                    $(Protocol::$protocol { .. } => <$state>::after_sending(self, wires, endpoint),)*
                }
            }
        }

        impl Hosts {
            /// Something is due for an endpoint.
            pub fn transport_alarm(&mut self, wires: &mut Wires, endpoint: EndpointIndex, alarm: Alarm) {
                match self.nics.endpoints[endpoint].protocol {
                    $(Protocol::$protocol { .. } => <$state>::on_alarm(self, wires, endpoint, alarm),)*
                }
            }

            /// Puts a message of `length` bytes into a connection's stream; returns where it ends.
            pub fn post_bytes(
                &mut self,
                wires: &mut Wires,
                endpoint: EndpointIndex,
                kind: MessageKind,
                tag: u32,
                length: u64,
            ) -> u64 {
                match self.nics.endpoints[endpoint].protocol {
                    $(Protocol::$protocol { .. } => <$state>::post(self, wires, endpoint, kind, tag, length),)*
                }
            }

            /// A stream's thread hands over its next message.
            pub(super) fn begin_stream_message(
                &mut self,
                wires: &mut Wires,
                thread: ThreadIndex,
                endpoint: EndpointIndex,
            ) {
                match self.nics.endpoints[endpoint].protocol {
                    $(Protocol::$protocol { .. } => <$state>::begin_stream_message(self, wires, thread, endpoint),)*
                }
            }

            #[inline]
            pub(super) fn take_for(
                &mut self,
                wires: &mut Wires,
                endpoint: EndpointIndex,
                host: HostIndex,
                handle: Handle,
            ) {
                match self.nics.endpoints[endpoint].protocol {
                    $(Protocol::$protocol { .. } => <$state>::arrive(self, wires, host, handle),)*
                }
            }

            /// A packet for an endpoint is where the NIC works on it.
            #[inline]
            pub(super) fn receive(&mut self, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet) {
                match self.nics.endpoints[endpoint].protocol {
                    $(Protocol::$protocol { .. } => <$state>::receive(self, wires, endpoint, packet),)*
                }
            }
        }
    };
}

/// Adds the states that hosts have of their own to those of transports that NICs carry out.
macro_rules! define_protocols {
    (nics { $($(#[$doc:meta])* $module:ident: $transport:ident($params:ty) = $name:literal, $end:ty as $kept:ty;)* }
     kernels { $($kernel:tt)* }) => {
        protocols! {
            $($(#[$doc])* $transport($kept) of $name by $end,)*
            /// Kernel TCP.
            Tcp(Box<TcpState>) of "tcp" by TcpState,
            /// Reliable connection in flow-level mode.
            Fluid(FluidState) of "roce" by FluidState,
        }
    };
}

etherweave_transport::transports!(define_protocols);

impl Endpoint {
    /// Returns the counters of the receiving side.
    pub fn received(&self) -> ReceivedCounts {
        ReceivedCounts { resent_last: self.resent_last, ..self.protocol.received() }
    }

    /// Its socket, if the kernel sends and receives.
    pub fn socket(&mut self) -> Option<&mut TcpState> {
        if let Protocol::Tcp { state, .. } = &mut self.protocol { Some(state) } else { None }
    }

    #[inline]
    pub(super) fn tcp(&mut self) -> &mut TcpState {
        self.socket().expect("an endpoint of the kernel has a socket")
    }

    pub(super) fn fluid(&mut self) -> &mut FluidState {
        self.protocol.fluid_mut().expect("asked for it in flow-level mode")
    }

    /// Whether flow-level mode knows it only by what its packets take.
    pub(super) fn is_in_packets(&self) -> bool {
        self.protocol.fluid().is_none()
    }

    /// Its messages in flow-level mode.
    pub(super) fn messages(&self) -> Option<&FluidState> {
        self.protocol.fluid()
    }

    /// The place among the active connections of flow-level mode, if its messages are simulated and it has one.
    pub(super) fn fluid_place(&self) -> Option<u32> {
        self.protocol.fluid().and_then(FluidState::place)
    }
}
