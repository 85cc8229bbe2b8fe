//! The transport of an endpoint, whichever it is: all that hosts, jobs and reports ask of one.
//!
//! `etherweave_transport` lists transports. `by_nic` moves packets and timers of all that NICs carry out; the kernel's
//! TCP and messages of flow-level mode have files of their own beside it. The choice is a branch on a tag, not a call
//! through a table.

use etherweave_engine::params::{Fidelity, SimParams, Transport};
use etherweave_engine::{Wires, constants::RunConstants, event::PrefetchHint, packet::Handle, packet::Packet};
use etherweave_kernel::memory::{prefetch_address, prefetch_bytes};
use etherweave_kernel::{SlidingVec, indices::EndpointIndex, indices::HostIndex, indices::ThreadIndex};
use etherweave_primitives::{BitRate, Time};
use etherweave_transport::connection::{Alarm, OpenMessage, ReceivedCounts, SendState, SentCounts, SlowState};
use etherweave_transport::{ConnectionState, Ranges, roce::RoceEnd};

use super::{Endpoint, fluid::FluidState, message::MessageKind, socket::TcpState, task_cost::TaskCost, thread::Task};
use crate::{Hosts, Nics};

mod by_nic;
mod fluid;
mod slot;
mod tcp;

use slot::Slot;

/// The state of a transport, as [`TransportStates`] hold it.
pub trait ProtocolState: ConnectionState + Sized {
    /// States, or where they stand.
    type Slot: Slot<Self>;

    /// Those of a shard's endpoints.
    fn slots(states: &mut TransportStates) -> &mut SlidingVec<EndpointIndex, Self::Slot>;

    /// The state of an endpoint whose transport it is.
    #[inline]
    fn of(states: &mut TransportStates, endpoint: EndpointIndex) -> &mut Self {
        Self::slots(states)[endpoint].state_mut()
    }
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

    /// The next packet, and whether more can follow at once.
    fn next_packet(
        nics: &mut Nics,
        endpoint: EndpointIndex,
        now: Time,
        constants: &RunConstants,
    ) -> (Option<Packet>, bool);

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
    ($($(#[$doc:meta])* $protocol:ident in $states:ident = $name:literal: $state:ty as $slot:ty,)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        enum ProtocolKind {
            $($(#[$doc])* $protocol,)*
        }

        /// States of the transports of a shard's endpoints, those of each in a vector of its own: with gaps where the
        /// endpoints of others stand between them, and empty where it has none.
        #[derive(Default)]
        pub struct TransportStates {
            /// Endpoints that there will be at once, as far as is known.
            pub expected: usize,
            $($states: SlidingVec<EndpointIndex, $slot>,)*
        }

        /// The state of an endpoint's transport, with its number in the run.
        #[derive(Clone, Copy)]
        pub enum StateRef<'s> {
            $($(#[$doc])* $protocol(u8, &'s $state),)*
        }

        impl TransportStates {
            /// A fresh connection of a transport, by its number in the run, at a NIC of `rate`: the state of the next
            /// endpoint.
            ///
            /// # Panics
            /// When the transport has no such fidelity.
            pub fn begin(
                &mut self,
                endpoint: EndpointIndex,
                params: &SimParams,
                (transport, fidelity): (u8, Fidelity),
                rate: BitRate,
            ) -> Protocol {
                let own = params.transport_of(transport);
                $(
                    if let Some(state) = <$state>::begin(params, own, fidelity, rate) {
                        slot::push(&mut self.$states, endpoint, state, self.expected);
                        return Protocol { kind: ProtocolKind::$protocol, transport };
                    }
                )*
                unreachable!("{} has no fidelity {fidelity:?}, which is checked", own.name())
            }

            /// That of an endpoint.
            #[inline(always)]
            pub(super) fn of(&self, protocol: Protocol, endpoint: EndpointIndex) -> StateRef<'_> {
                match protocol.kind {
                    $(ProtocolKind::$protocol => {
                        StateRef::$protocol(protocol.transport, self.$states[endpoint].state())
                    })*
                }
            }

            /// Removes those of the first endpoints.
            pub fn remove_first(&mut self, count: usize) {
                $(
                    if !self.$states.is_empty() {
                        self.$states.remove_first(count);
                    }
                )*
            }

            /// Begins to fetch what an endpoint has here that data arrives for, or that sends or is answered: states,
            /// or where they are.
            #[inline(always)]
            pub fn prefetch(&self, endpoint: EndpointIndex, is_data: bool) {
                $(
                    if !self.$states.is_empty() {
                        slot::prefetch_slot::<$state>(&self.$states, endpoint, is_data);
                    }
                )*
            }
        }

        impl Protocol {
            /// Memory of an end of a transport beside [`Endpoint`] in packets [B].
            pub fn memory(transport: &Transport) -> u64 {
                let states: &[fn(&Transport) -> Option<u64>] = &[$(<$state>::memory),*];
                states.iter().find_map(|memory| memory(transport)).unwrap_or_default()
            }

            /// The same of the vector in which states of a transport stand, in packets or in flow-level mode [B].
            pub fn slot_bytes(transport: &Transport, has_packets: bool) -> u64 {
                if !has_packets && transport.has_flow_level() {
                    return size_of::<FluidState>() as u64;
                }
                let slots = [$(<$state>::memory(transport).map(|_| size_of::<$slot>())),*];
                slots.into_iter().flatten().next().unwrap_or_default() as u64
            }

            /// All names in reports.
            pub const NAMES: &[&str] = &[$($name),*];

            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self.kind {
                    $(ProtocolKind::$protocol => $name,)*
                }
            }
        }

        impl<'s> StateRef<'s> {
            /// Begins to fetch what a packet touches beside the endpoint that arrives with data, or that leaves or
            /// answers: the state, or what a state that stands in the endpoint has beside itself.
            #[inline]
            pub fn prefetch(self, is_data: bool) {
                match self {
                    $(StateRef::$protocol(_, state) => {
                        if size_of::<$slot>() < size_of::<$state>() {
                            slot::prefetch_half::<$state>(state, is_data);
                        } else {
                            let values = state.beside(is_data);
                            values.into_iter().for_each(|(address, bytes)| prefetch_bytes(address, bytes));
                        }
                    })*
                }
            }

            /// Begins to fetch what a packet touches of memory apart from the state, which is there already.
            #[inline]
            pub fn prefetch_apart(self, is_data: bool) {
                match self {
                    $(StateRef::$protocol(_, state) => {
                        state.apart(is_data).into_iter().for_each(prefetch_address);
                    })*
                }
            }

            /// Counts of the sending side.
            pub fn sent(self) -> SentCounts {
                match self {
                    $(StateRef::$protocol(_, state) => state.sent(),)*
                }
            }

            /// See [`TransportState::received_ahead`].
            pub(super) fn received_ahead(self) -> Option<&'s Ranges> {
                match self {
                    $(StateRef::$protocol(_, state) => state.received_ahead(),)*
                }
            }

            /// See [`TransportState::acknowledged_ahead`].
            pub(super) fn acknowledged_ahead(self) -> Option<&'s Ranges> {
                match self {
                    $(StateRef::$protocol(_, state) => state.acknowledged_ahead(),)*
                }
            }

            /// See [`ConnectionState::moves_answers`].
            pub(super) fn moves_answers(self) -> bool {
                match self {
                    $(StateRef::$protocol(_, state) => state.moves_answers(),)*
                }
            }

            /// The longest message that a connection in packets has not had acknowledged, where later ones wait for
            /// it [B].
            pub fn longest_message(self) -> Option<u64> {
                match self {
                    $(StateRef::$protocol(_, state) => state.longest_message(),)*
                }
            }

            /// Window and rate of the sending side.
            pub fn send_state(self, now: Time, constants: &RunConstants) -> SendState {
                match self {
                    $(StateRef::$protocol(transport, state) => {
                        state.send_state(now, constants.params.transport_of(transport))
                    })*
                }
            }

            /// See [`ConnectionState::slow_state`].
            pub fn slow_state(self, since: Time, sending: SendState) -> SlowState {
                match self {
                    $(StateRef::$protocol(_, state) => state.slow_state(since, sending),)*
                }
            }

            /// See [`ConnectionState::repeatable_state`].
            pub fn repeatable_state(self, now: Time, left: u64) -> Result<u64, &'static str> {
                match self {
                    $(StateRef::$protocol(_, state) => state.repeatable_state(now, left),)*
                }
            }

            /// See [`ConnectionState::open_message`].
            pub fn open_message(self) -> Result<Option<OpenMessage>, &'static str> {
                match self {
                    $(StateRef::$protocol(_, state) => state.open_message(),)*
                }
            }

            /// Bytes that are posted and not yet written to a socket.
            pub(super) fn unwritten(self) -> u64 {
                match self {
                    $(StateRef::$protocol(_, state) => state.unwritten(),)*
                }
            }

            /// Counts of the receiving side, but for packets sent again.
            pub fn received(self) -> ReceivedCounts {
                match self {
                    $(StateRef::$protocol(_, state) => state.received(),)*
                }
            }
        }

        $(
            impl ProtocolState for $state {
                type Slot = $slot;

                #[inline]
                fn slots(states: &mut TransportStates) -> &mut SlidingVec<EndpointIndex, $slot> {
                    &mut states.$states
                }
            }
        )*

        impl Endpoint {
            #[inline]
            pub(super) fn entropy(&self, packet: &Packet) -> u16 {
                match self.protocol.kind {
                    $(ProtocolKind::$protocol => <$state>::entropy(packet),)*
                }
            }
        }

        impl Nics {
            /// Releases what only further messages of an endpoint would need: all are acknowledged, and none follows.
            pub(super) fn finish(&mut self, endpoint: EndpointIndex) {
                match self.endpoints[endpoint].protocol.kind {
                    $(ProtocolKind::$protocol => TransportState::finish(<$state>::of(&mut self.states, endpoint)),)*
                }
            }

            /// Takes bytes that are still to be sent away from the message that an endpoint is sending.
            pub(super) fn shorten_open(&mut self, endpoint: EndpointIndex, bytes: u64) {
                match self.endpoints[endpoint].protocol.kind {
                    $(ProtocolKind::$protocol => <$state>::of(&mut self.states, endpoint).shorten(bytes),)*
                }
            }

            /// The next packet of an endpoint, and whether more can follow at once.
            #[inline]
            pub(super) fn cut_packet(
                &mut self,
                endpoint: EndpointIndex,
                now: Time,
                constants: &RunConstants,
            ) -> (Option<Packet>, bool) {
                match self.endpoints[endpoint].protocol.kind {
                    $(ProtocolKind::$protocol => <$state>::next_packet(self, endpoint, now, constants),)*
                }
            }

            /// Timers that a sent packet needs.
            #[inline]
            pub(super) fn after_sending(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
                match self.endpoints[endpoint].protocol.kind {
                    $(ProtocolKind::$protocol => <$state>::after_sending(self, wires, endpoint),)*
                }
            }
        }

        impl Hosts {
            /// Something is due for an endpoint.
            pub fn transport_alarm(&mut self, wires: &mut Wires, endpoint: EndpointIndex, alarm: Alarm) {
                match self.nics.endpoints[endpoint].protocol.kind {
                    $(ProtocolKind::$protocol => <$state>::on_alarm(self, wires, endpoint, alarm),)*
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
                match self.nics.endpoints[endpoint].protocol.kind {
                    $(ProtocolKind::$protocol => <$state>::post(self, wires, endpoint, kind, tag, length),)*
                }
            }

            /// A stream's thread hands over its next message.
            pub(super) fn begin_stream_message(
                &mut self,
                wires: &mut Wires,
                thread: ThreadIndex,
                endpoint: EndpointIndex,
            ) {
                match self.nics.endpoints[endpoint].protocol.kind {
                    $(ProtocolKind::$protocol => <$state>::begin_stream_message(self, wires, thread, endpoint),)*
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
                match self.nics.endpoints[endpoint].protocol.kind {
                    $(ProtocolKind::$protocol => <$state>::arrive(self, wires, host, handle),)*
                }
            }

            /// A packet for an endpoint is where the NIC works on it.
            #[inline]
            pub(super) fn receive(&mut self, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet) {
                match self.nics.endpoints[endpoint].protocol.kind {
                    $(ProtocolKind::$protocol => <$state>::receive(self, wires, endpoint, packet),)*
                }
            }
        }
    };
}

/// Adds the states that hosts have of their own to those of transports that NICs carry out.
macro_rules! define_protocols {
    (nics { $($(#[$doc:meta])* $module:ident: $transport:ident($params:ty) = $name:literal, $end:ty as $slot:ty;)* }
     kernels { $($kernel:tt)* }) => {
        protocols! {
            $($(#[$doc])* $transport in $module = $name: $end as $slot,)*
            /// Kernel TCP.
            Tcp in tcp = "tcp": TcpState as Option<Box<TcpState>>,
            /// Reliable connection in flow-level mode.
            Fluid in fluid = "roce": FluidState as FluidState,
        }
    };
}

etherweave_transport::transports!(define_protocols);

/// The transport of an endpoint, as it is simulated. Its state is in [`TransportStates`].
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    kind: ProtocolKind,
    /// Number in the run.
    transport: u8,
}

impl Protocol {
    /// Number of its transport in the run.
    #[inline]
    pub fn transport(self) -> u8 {
        self.transport
    }

    /// Whether it moves packets: flow-level mode knows such a connection only by what its packets take.
    pub(super) fn is_in_packets(self) -> bool {
        self.kind != ProtocolKind::Fluid
    }
}

impl TransportStates {
    /// The same where all packets are of transports whose states stand here.
    #[inline(always)]
    pub fn prefetch_plain(&self, endpoint: EndpointIndex, is_data: bool) {
        slot::prefetch_slot::<RoceEnd>(&self.roce, endpoint, is_data);
    }

    /// Socket of an endpoint, if the kernel sends and receives.
    pub fn socket(&mut self, endpoint: EndpointIndex) -> Option<&mut TcpState> {
        let place = self.tcp.place(endpoint);
        self.tcp.iter_mut().nth(place)?.as_deref_mut()
    }

    #[inline]
    pub(super) fn tcp(&mut self, endpoint: EndpointIndex) -> &mut TcpState {
        TcpState::of(self, endpoint)
    }

    pub(super) fn fluid(&mut self, endpoint: EndpointIndex) -> &mut FluidState {
        FluidState::of(self, endpoint)
    }

    /// Messages of an endpoint in flow-level mode, if they are simulated.
    pub(super) fn messages(&self, endpoint: EndpointIndex) -> Option<&FluidState> {
        self.fluid.get(endpoint)
    }
}

impl Nics {
    /// The state of an endpoint's transport.
    #[inline(always)]
    pub fn state(&self, endpoint: EndpointIndex) -> StateRef<'_> {
        self.states.of(self.endpoints[endpoint].protocol, endpoint)
    }

    /// Returns the counters of the receiving side of an endpoint.
    pub fn received(&self, endpoint: EndpointIndex) -> ReceivedCounts {
        ReceivedCounts { resent_last: self.endpoints[endpoint].resent_last, ..self.state(endpoint).received() }
    }
}
