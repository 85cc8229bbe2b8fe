//! Messages between two ranks of a host, which no NIC sees.
//!
//! ```text
//!   eager        sender ── copies into a queue ──► receiver copies out
//!   single copy  sender ── request to send ──────► receiver (matches) copies from the sender's memory
//!                sender ◄── finished ───────────── receiver
//! ```
//!
//! Two such ranks have no endpoints. What stands for one, wherever a rank knows its peer by an endpoint, is a
//! [`Neighbour`]: the thread at the other end.

use etherweave_engine::{Wires, event::Kind, packet::Handle, params::SharedMemoryParams};
use etherweave_kernel::indices::{EndpointIndex, ThreadIndex};
use etherweave_primitives::Duration;

use super::{message::Message, message::MessageKind, task_cost::TaskCost};
use crate::{Hosts, Processors};

/// No endpoint has so high a number.
const NEIGHBOUR: u32 = 1 << 31;

/// A rank on the same host, by its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Neighbour(pub ThreadIndex);

impl Neighbour {
    /// The number that stands where an endpoint's would.
    pub fn as_endpoint(self) -> EndpointIndex {
        EndpointIndex::new(NEIGHBOUR | self.0.get())
    }

    /// The neighbour for which `endpoint` stands, if it is one.
    #[inline]
    pub fn of(endpoint: EndpointIndex) -> Option<Neighbour> {
        let number = endpoint.get();
        (number & NEIGHBOUR != 0).then_some(Neighbour(ThreadIndex::new(number & !NEIGHBOUR)))
    }
}

/// Processor time to send by shared memory: an eager message is copied.
pub(super) fn send_cost(memory: &SharedMemoryParams, copied: u64) -> TaskCost {
    TaskCost::of(memory.send_overhead).and_copy(memory.eager_send_per_kib, copied)
}

/// Processor time to handle a message that came by shared memory.
pub(super) fn handling_cost(memory: &SharedMemoryParams, message: &Message) -> TaskCost {
    match message.kind {
        MessageKind::Eager => {
            TaskCost::of(memory.handling_overhead).and_copy(memory.eager_receive_per_kib, message.bytes)
        }
        MessageKind::ReadResponse => {
            let calls = TaskCost::of(memory.single_copy_overhead + memory.send_overhead);
            calls.and_copy(memory.single_copy_per_kib, message.bytes)
        }
        MessageKind::RequestToSend | MessageKind::Finished => TaskCost::of(memory.handling_overhead),
        MessageKind::Fragment
        | MessageKind::ReadRequest
        | MessageKind::ClearToSend
        | MessageKind::Payload
        | MessageKind::Put
        | MessageKind::GetRequest
        | MessageKind::GetResponse
        | MessageKind::AtomicRequest
        | MessageKind::AtomicResponse
        | MessageKind::Done => unreachable!("messages of a NIC and of TCP"),
    }
}

impl Processors {
    /// Puts a message into the queue of a neighbour. None of a rank overtakes another, and no two arrive at once: a
    /// send may take no time, but a thread makes one after the other.
    pub(super) fn share_message(&mut self, wires: &mut Wires, thread: ThreadIndex, to: Neighbour, message: Message) {
        let handle = wires.packets.insert(message.announcement(EndpointIndex::new(to.0.get())));
        let complexes = [thread, to.0].map(|thread| self.threads[thread].complex);
        let sender = &mut self.threads[thread];
        let key = wires.key(sender.place, Kind::Handover, thread.get());
        let time = wires.now + wires.constants.params.host.shared_memory.latency_between(complexes);
        sender.shared_at = time.max(sender.shared_at + Duration::from_ps(1));
        wires.expect_packet(sender.shared_at, key, handle);
    }
}

impl Hosts {
    /// A neighbour's message is in the queue of its receiver.
    pub fn handover(&mut self, wires: &mut Wires, from: ThreadIndex, handle: Handle) {
        let packet = wires.packets.remove(handle);
        self.take_message(
            wires,
            ThreadIndex::new(packet.endpoint.get()),
            Neighbour(from).as_endpoint(),
            Message::announced(&packet),
        );
    }
}
