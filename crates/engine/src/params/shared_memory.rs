//! Messages between two ranks of a host.

use etherweave_primitives::{Bytes, Duration};

use super::UCX_COPY_PER_KIB;

/// MPI between ranks of a host: what is short is copied into a queue in shared memory and out of it, what is longer the
/// receiver copies from the sender's memory at once (`process_vm_readv`). Defaults: the thresholds of Open MPI's
/// `vader` without XPMEM, the estimates of UCX (`mm_iface.c`, `cma_iface.c`).
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SharedMemoryParams {
    /// Processor time to post a send, more than 0.
    pub send_overhead: Duration,
    /// Delay from a written queue entry until another core reads it.
    pub latency: Duration,
    /// Cores, in order, that share a last-level cache: a socket, or a core complex. Absent: all of a host. Ranks are
    /// counted in place of cores where `host.cores` is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complex: Option<u32>,
    /// Last-level cache of a complex, in which NICs write what arrives; its ranks have equal shares. Default 0: none.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub cache: Bytes,
    /// The latency between cores that share no last-level cache. Absent: `latency`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub far_latency: Option<Duration>,
    /// Processor time to handle an arrived message or a completion.
    pub handling_overhead: Duration,
    /// Longer messages of non-blocking sends are copied once, by their receiver.
    pub eager_max: Bytes,
    /// The same for messages of collectives, which are blocking sends. Absent: `eager_max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collective_eager_max: Option<Bytes>,
    /// Copying 1 KiB of an eager message into the queue.
    pub eager_send_per_kib: Duration,
    /// Copying 1 KiB of an eager message out of it.
    pub eager_receive_per_kib: Duration,
    /// Processor time of a single copy, without its bytes: a system call.
    pub single_copy_overhead: Duration,
    /// Copying 1 KiB from another process.
    pub single_copy_per_kib: Duration,
}

impl Default for SharedMemoryParams {
    fn default() -> Self {
        SharedMemoryParams {
            send_overhead: Duration::from_ns(120),
            latency: Duration::from_ns(80),
            complex: None,
            cache: Bytes::ZERO,
            far_latency: None,
            handling_overhead: Duration::from_ns(120),
            eager_max: Bytes::new(4 << 10),
            collective_eager_max: None,
            eager_send_per_kib: UCX_COPY_PER_KIB,
            eager_receive_per_kib: UCX_COPY_PER_KIB,
            single_copy_overhead: Duration::from_ns(400),
            // 11,145 MB/s, with MB of 2^20 B.
            single_copy_per_kib: Duration::from_ps(1_000_000_000_000 / (11_145 << 10)),
        }
    }
}

impl SharedMemoryParams {
    /// The complex of the core, or the rank, that is number `place` of its host.
    pub fn complex_of(&self, place: u32) -> u32 {
        self.complex.map_or(0, |cores| place / cores)
    }

    /// Longest vector [B] that a rank reduces in its share of the cache, where a host has `ranks`: a third of it.
    pub fn vector_cached_max(&self, ranks: u64) -> u64 {
        let sharing = self.complex.map_or(ranks, |cores| ranks.min(u64::from(cores)));
        self.cache.get() / (3 * sharing.max(1))
    }

    /// Latency between two complexes.
    pub fn latency_between(&self, complexes: [u32; 2]) -> Duration {
        if complexes[0] == complexes[1] { self.latency } else { self.far_latency.unwrap_or(self.latency) }
    }
}
