//! Processor time of operations, and which messages go at once.

use etherweave_engine::{constants::RunConstants, params::MpiParams, params::SharedMemoryParams};
use etherweave_kernel::indices::EndpointIndex;
use etherweave_primitives::{Bytes, Duration};
use etherweave_workload::{Access, Op, collective::TAG_BASE};

use super::{shared_memory, shared_memory::Neighbour, task_cost::TaskCost, task_cost::per_kib};

/// Longest messages that go without waiting for their receivers.
#[derive(Clone, Copy)]
pub(super) struct EagerLimits {
    any: Bytes,
    of_collectives: Option<Bytes>,
}

impl EagerLimits {
    pub fn of_mpi(mpi: &MpiParams) -> EagerLimits {
        EagerLimits { any: mpi.eager_max, of_collectives: mpi.collective_eager_max }
    }

    pub fn of_shared_memory(memory: &SharedMemoryParams) -> EagerLimits {
        EagerLimits { any: memory.eager_max, of_collectives: memory.collective_eager_max }
    }

    /// Whether a message goes without waiting for its receiver. Collectives send by blocking sends.
    pub fn admit(self, tag: u32, bytes: u64) -> bool {
        let of_collectives = self.of_collectives.filter(|_| tag >= TAG_BASE);
        bytes <= of_collectives.unwrap_or(self.any).get()
    }
}

/// Processor time of an operation, or of the next fragment of a message. A TCP send writes what it can at once.
pub(super) fn op_cost(constants: &RunConstants, job: u32, endpoint: EndpointIndex, op: Op, sent: u64) -> TaskCost {
    match op {
        Op::Isend { tag, bytes, .. } => send_cost(constants, job, endpoint, tag, bytes, sent),
        Op::OneSided { access, bytes, .. } => access_cost(constants, job, endpoint, access, bytes),
        Op::Irecv { .. } => TaskCost::of(constants.mpi(job).receive_overhead),
        Op::Copy { bytes } => copy_cost(constants, job, bytes),
        Op::Prepare { copied, temporary } => prepare_cost(constants.mpi(job), copied, temporary),
        Op::Reduce { bytes, vector } => reduce_cost(constants, job, bytes, vector),
        Op::Compute { duration } => TaskCost::of(duration),
        // A rank prices its looks by its connections.
        Op::Poll { .. } | Op::Sleep { .. } | Op::WaitAll | Op::IterationStart | Op::IterationEnd => {
            TaskCost::of(Duration::ZERO)
        }
    }
}

/// Whether an operation in memory costs nothing, so that it is no task.
pub(super) fn is_free(constants: &RunConstants, job: u32, op: Op) -> bool {
    op_cost(constants, job, EndpointIndex::new(0), op, 0).time.is_zero()
}

/// Processor time to add up what came: of a vector that lies in caches nothing moves through memory.
fn reduce_cost(constants: &RunConstants, job: u32, bytes: u64, vector: u64) -> TaskCost {
    let mpi = constants.mpi(job);
    match mpi.reduce_cached_per_kib.filter(|_| vector <= constants.vector_cached_max) {
        Some(cached) => TaskCost::of(per_kib(cached.min(mpi.reduce_per_kib), bytes)),
        None => TaskCost::of_reduction(mpi.reduce_per_kib, bytes),
    }
}

/// Processor time of a copy, and of the kernel for a temporary buffer that the allocator maps anew.
fn prepare_cost(mpi: &MpiParams, copied: u64, temporary: u64) -> TaskCost {
    let mapped = if temporary < mpi.temporary_min.get() { 0 } else { temporary };
    TaskCost::of(Duration::ZERO).and_copy(mpi.self_per_kib, copied).and_copy(mpi.temporary_per_kib, mapped)
}

/// Processor time of a send, or of its next fragment.
pub(super) fn send_cost(
    constants: &RunConstants,
    job: u32,
    endpoint: EndpointIndex,
    tag: u32,
    bytes: u64,
    sent: u64,
) -> TaskCost {
    let (host, mpi) = (&constants.params.host, constants.mpi(job));
    if Neighbour::of(endpoint).is_some() {
        let memory = &host.shared_memory;
        let is_copied = EagerLimits::of_shared_memory(memory).admit(tag, bytes);
        return shared_memory::send_cost(memory, if is_copied { bytes } else { 0 });
    }
    let eager = if EagerLimits::of_mpi(mpi).admit(tag, bytes) { mpi.piece(bytes, sent) } else { 0 };
    if constants.is_in_kernel(job) {
        let posted = TaskCost::of(mpi.send_overhead + host.cpu.send_call);
        let buffered = posted.and_copy(mpi.eager_send_per_kib, eager);
        buffered.and_copy(host.cpu.send_per_kib, mpi.header.get() + eager)
    } else {
        TaskCost::of(mpi.send_overhead).and_copy(mpi.eager_send_per_kib, eager)
    }
}

/// Cost of a message to itself: both posts, the completion, and its copies.
pub(super) fn copy_cost(constants: &RunConstants, job: u32, bytes: u64) -> TaskCost {
    let mpi = constants.mpi(job);
    let posted = mpi.send_overhead + mpi.receive_overhead + mpi.handling_overhead;
    TaskCost::of(posted).and_copy(mpi.self_per_kib, bytes)
}

/// Why a send to a peer waits for its receive.
pub fn reason_of_rendezvous(constants: &RunConstants, job: u32, endpoint: EndpointIndex) -> String {
    let library = match Neighbour::of(endpoint) {
        Some(_) => "shared_memory",
        None => constants.params.host.mpi(constants.transport(job)).1,
    };
    format!("longer than host.{library}.eager_max")
}

/// Processor time to ask for a one-sided operation: over TCP a put is copied into fragments.
fn access_cost(constants: &RunConstants, job: u32, endpoint: EndpointIndex, access: Access, bytes: u64) -> TaskCost {
    if Neighbour::of(endpoint).is_some() {
        let memory = &constants.params.host.shared_memory;
        let (written, read) = access.payload(bytes);
        let calls = TaskCost::of(memory.send_overhead + memory.single_copy_overhead);
        return calls.and_copy(memory.single_copy_per_kib, written + read);
    }
    let mpi = constants.mpi(job);
    let copied = if constants.is_in_kernel(job) && access == Access::Put { bytes } else { 0 };
    TaskCost::of(mpi.send_overhead).and_copy(mpi.eager_send_per_kib, copied)
}
