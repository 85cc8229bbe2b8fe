//! One-sided operations: a rank reaches into the memory of another.
//!
//! ```text
//!   RoCE  put           origin ── WRITE ─────────► target's NIC;  complete when it is acknowledged
//!         get           origin ── READ request ──► target's NIC ── READ response ──► origin
//!         fetch-and-op  origin ── FETCH & ADD ───► target's NIC ── its answer ─────► origin
//!   TCP   each          origin ── request ───────► target's library, while its rank waits ── answer ──► origin
//!   both  accumulate    fetch-and-op of a lock, get, put, fetch-and-op of the lock
//! ```
//!
//! Within a host the origin copies by itself.

use etherweave_engine::Wires;
use etherweave_kernel::indices::{EndpointIndex, ThreadIndex};
use etherweave_workload::Access;

use super::message::{Message, MessageKind, OpenPut};
use super::{mpi::READ_REQUEST, shared_memory::Neighbour, thread::Task};
use crate::Hosts;

/// Extension header of an atomic request: address, key, two operands [B].
const ATOMIC_REQUEST: u64 = 28;
/// Size of the result of an atomic operation [B].
const WORD: u64 = 8;

/// Step that follows the answer of a target, as the tag of the message.
mod then {
    /// The operation is complete.
    pub const COMPLETE: u32 = 0;
    /// The lock is taken: get what is there.
    pub const GET: u32 = 1;
    /// Put the sum.
    pub const PUT: u32 = 2;
    /// Give back the lock.
    pub const UNLOCK: u32 = 3;
}

/// Whether NICs carry out operations of a job by themselves.
fn is_by_nic(wires: &Wires, job: u32) -> bool {
    wires.constants.transport(job).has_remote_access()
}

impl Hosts {
    pub(super) fn one_sided(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        access: Access,
        bytes: u64,
    ) {
        if Neighbour::of(endpoint).is_some() {
            return;
        }
        self.processors.rank(thread).outstanding += 1;
        let (kind, next) = match access {
            Access::Put => (MessageKind::Put, then::COMPLETE),
            Access::Get => (MessageKind::GetRequest, then::COMPLETE),
            Access::FetchAndOp | Access::CompareAndSwap => (MessageKind::AtomicRequest, then::COMPLETE),
            Access::Accumulate | Access::GetAccumulate => (MessageKind::AtomicRequest, then::GET),
        };
        self.request_access(wires, thread, endpoint, kind, next, bytes);
    }

    fn request_access(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        kind: MessageKind,
        next: u32,
        bytes: u64,
    ) {
        let job = self.processors.threads[thread].job;
        let (header, is_by_nic) = (wires.constants.mpi(job).header.get(), is_by_nic(wires, job));
        let length = match kind {
            MessageKind::Put if !is_by_nic => header + bytes,
            MessageKind::Put => bytes,
            _ if !is_by_nic => header,
            MessageKind::GetRequest => READ_REQUEST,
            _ => ATOMIC_REQUEST,
        };
        let message = Message::new(kind, next, bytes);
        let end = self.post_message(wires, endpoint, message, length);
        if kind == MessageKind::Put && is_by_nic {
            let message = Message { end, ..message.answer(MessageKind::Done) };
            self.processors.rank(thread).puts.push_back(OpenPut { endpoint, message });
            self.nics.wait_for(endpoint, end);
        }
    }

    /// The peer has acknowledged `offset` bytes of the stream, and maybe more beyond: WRITEs that lie there are
    /// complete.
    pub(super) fn puts_acknowledged(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        offset: u64,
    ) {
        self.nics.endpoints[endpoint].owner_waits_for = u64::MAX;
        let mut place = 0;
        while let Some(&OpenPut { endpoint: other, message }) = self.processors.rank(thread).puts.get(place) {
            let state = self.nics.state(endpoint);
            let (has_all, ahead) = (message.end <= offset, state.acknowledged_ahead());
            if other != endpoint {
                place += 1;
            } else if has_all || ahead.is_some_and(|ahead| ahead.contain(message.write())) {
                self.processors.rank(thread).puts.remove(place);
                self.assign(wires, thread, Task::Handle(endpoint, message));
            } else {
                let is_last = ahead.is_none();
                self.nics.wait_for(endpoint, message.end);
                if is_last {
                    break;
                }
                place += 1;
            }
        }
    }

    /// The target does what it is asked for: over RoCE its NIC, at once, over TCP its library.
    pub(super) fn answer_access(&mut self, wires: &mut Wires, endpoint: EndpointIndex, message: Message) {
        let job = self.job_of(endpoint);
        let is_by_nic = is_by_nic(wires, job);
        let header = if is_by_nic { 0 } else { wires.constants.mpi(job).header.get() };
        let (kind, length) = match message.kind {
            MessageKind::Put if is_by_nic => return,
            MessageKind::Put => (MessageKind::Done, header),
            MessageKind::GetRequest => (MessageKind::GetResponse, header + message.bytes),
            _ => (MessageKind::AtomicResponse, header + WORD),
        };
        self.post_message(wires, endpoint, message.answer(kind), length);
    }

    pub(super) fn access_answered(
        &mut self,
        wires: &mut Wires,
        thread: ThreadIndex,
        endpoint: EndpointIndex,
        message: Message,
    ) {
        let (kind, next) = match message.tag {
            then::GET => (MessageKind::GetRequest, then::PUT),
            then::PUT => (MessageKind::Put, then::UNLOCK),
            then::UNLOCK => (MessageKind::AtomicRequest, then::COMPLETE),
            _ => return self.processors.rank(thread).request_complete(),
        };
        self.request_access(wires, thread, endpoint, kind, next, message.bytes);
    }
}
