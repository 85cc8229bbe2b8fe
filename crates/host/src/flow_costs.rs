//! Costs of the hosts of a flow that has them for itself.

use etherweave_engine::{constants::RunConstants, params::SimParams, params::Transport};
use etherweave_primitives::Duration;

use super::{bus::Bus, bus::HostInterface, task_cost::per_kib};

/// Time from the start of a flow until the NIC may send its first frame, where NICs carry out the transport; and until
/// the last is in memory, where a NIC holds packets until then.
pub fn post_time(constants: &RunConstants, job: u32, bytes: u64) -> Duration {
    let (nic, payload) = (&constants.params.nic, constants.transport(job).payload());
    let posted = constants.mpi(job).send_overhead;
    let Some(interface) = HostInterface::new(nic, nic.pcie.as_ref().map(Bus::new)) else { return posted };
    let last = bytes - (bytes.div_ceil(payload.get()).max(1) - 1) * payload.get();
    posted + interface.fetch(bytes, true, payload).unwrap_or(Duration::ZERO) + interface.held(last as u32)
}

/// Arrivals of the frames of a flow at the receiver's NIC.
pub struct KernelArrivals {
    /// Payload [B].
    pub bytes: u64,
    /// Number of frames.
    pub frames: u64,
    /// Arrival of the first after it was handed to the NIC.
    pub first: Duration,
    /// Arrival of the last.
    pub last: Duration,
}

/// Completion time of a flow of a kernel's transport: exact where one batch takes all frames, else no more than it can
/// be.
pub fn kernel_time(params: &SimParams, transport: &Transport, arrivals: &KernelArrivals) -> Duration {
    let &KernelArrivals { bytes, frames, first, last } = arrivals;
    let (cpu, payload) = (&params.host.cpu, transport.payload().get());
    let written = cpu.send_call + per_kib(cpu.send_per_kib, bytes.min(cpu.offload.get()));
    let served = first + cpu.interrupt;
    let batch = |frames: u64| {
        let merged = cpu.merge_frames.map_or(1, |most| frames.div_ceil(most.into()));
        cpu.receive_batch * merged + cpu.receive_frame * frames
    };
    let read = |bytes: u64| cpu.receive_call + per_kib(cpu.receive_per_kib, bytes);
    let is_batch = last <= served && bytes <= cpu.offload.get().min(transport.initial_window().get());
    if is_batch {
        return written + served + batch(frames) + read(bytes);
    }
    let tail = last + batch(1) + read(bytes - (frames - 1) * payload);
    written + tail.max(served + batch(1) + read(bytes))
}
