//! Host parameters: NIC, processor, operating system, MPI library.
//!
//! Times of the two paths come from `etherweave calibrate`, which fits them to point-to-point figures only.

use etherweave_primitives::{BitRate, Bytes, Duration, Purpose, Stream, params};

use super::{
    CommandStall, CoreParams, EpochRates, LowPowerIdleTimes, Noise, Pcie, ReceiveParams, SharedMemoryParams,
    TokenBucket, TransmitParams, Transport,
};

params! {
    /// A NIC.
    pub struct NicParams {
        /// Receive buffer between wire and host memory.
        pub receive_buffer: Bytes = Bytes::new(262_016),
        /// Occupancy at which the NIC pauses its switch, if flow control is on. Default 128 KiB, or less where a cable
        /// of a host needs more than the rest of `receive_buffer` for what is sent until a pause takes effect.
        pub xoff: Bytes = Bytes::new(131_072),
        /// Occupancy at which it lets the switch go on. Default: three quarters of `xoff`.
        pub xon: Bytes = Bytes::new(98_304),
        /// Rate at which received packets reach host memory, where `pcie` does not give it.
        pub drain_rate: BitRate = BitRate::from_bps(107_000_000_000),
        /// The bus to host memory. Absent: `drain_rate`, whatever is sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pcie: Option<Pcie> = None,
        /// Extra drain time of a packet whose connection is not that of the packet before.
        pub context_switch: Duration = Duration::from_ns(25),
        /// Cache of the states of connections. Absent: the NIC holds all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub context_cache: Option<ContextCache> = None,
        /// Connections that share few initiators. Absent: each has a queue pair of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub dynamic_connections: Option<DynamicConnections> = None,
        /// Time from doorbell to first bit.
        pub transmit_latency: Duration = Duration::from_ns(216),
        /// Time from last bit to host memory.
        pub receive_latency: Duration = Duration::from_ns(200),
        /// Stops of reception for commands to the firmware, an assumption for experiments. Absent: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub command_stall: Option<CommandStall> = None,
        /// Shaper that slows the host below the rate of its link. Absent: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub shaper: Option<TokenBucket> = None,
        /// Times that its transmitter takes to sleep and to wake. Absent: it never sleeps.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub low_power_idle: Option<LowPowerIdleTimes> = None,
        /// Rates between which its transmitter chooses by its load, with switches that store and forward. Absent: the
        /// full rate.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rate_adaptation: Option<EpochRates> = None,
        /// Largest deviation of clocks of NICs from their nominal rate [ppm], 0..=1000: each sends slower than its link
        /// by a part that is drawn, up to twice this one. Ethernet allows 100. Default 0.
        pub clock_ppm: u32 = 0,
    }
}

params! {
    /// States of connections that a NIC holds; each has one place, by a hash of its number.
    pub struct ContextCache {
        /// States that it holds, 1 to 65536.
        pub entries: u32 = 5_000,
        /// Extra drain time of a packet whose connection has no state there: a read over the bus.
        pub miss: Duration = Duration::from_ns(500),
    }
}

params! {
    /// Dynamically connected transport (DC) of each rank, as UCX uses it: a destination keeps an initiator until all
    /// that was sent to it is acknowledged.
    pub struct DynamicConnections {
        /// Initiators of a rank, 1 to 4096.
        pub initiators: u32 = 32,
        /// Time that an initiator takes to change its destination: a packet before the data, or a round trip more with
        /// the full handshake.
        pub connect: Duration = Duration::from_ns(60),
    }
}

impl NicParams {
    /// Longest extra drain time of a packet of another connection than the one before.
    pub fn switching_max(&self) -> Duration {
        self.context_switch + self.context_cache.as_ref().map_or(Duration::ZERO, |cache| cache.miss)
    }

    /// The rate at which a NIC sends into a link.
    pub fn clocked(&self, rate: BitRate, seed: u64, host: u32) -> BitRate {
        /// Hosts of this purpose stand above those that draw noise.
        const CLOCKS: u64 = 1 << 41;
        if self.clock_ppm == 0 {
            return rate;
        }
        let draw = Stream::new(seed, Purpose::HostNoise, CLOCKS | u64::from(host)).bits() >> 32;
        // In 2^-32 ppm, so that all is whole numbers.
        let slower = 2 * u128::from(self.clock_ppm) * u128::from(draw);
        let less = u128::from(rate.as_bps()) * slower / (1_000_000 << 32);
        BitRate::from_bps(rate.as_bps() - less as u64)
    }
}

params! {
    /// Processor time of the kernel TCP path.
    pub struct CpuCosts {
        /// A send call, without its bytes.
        pub send_call: Duration = Duration::from_ns(2_000),
        /// A receive call, without its bytes.
        pub receive_call: Duration = Duration::from_ns(1_500),
        /// Copying 1 KiB from user to kernel, and all that grows with bytes sent.
        pub send_per_kib: Duration = Duration::from_ns(230),
        /// Copying 1 KiB from kernel to user, and all that grows with bytes received by the thread.
        pub receive_per_kib: Duration = Duration::from_ns(260),
        /// Interrupt side: one received frame.
        pub receive_frame: Duration = Duration::from_ns(200),
        /// Interrupt side: one batch of frames (poll, merge, TCP, wake-up).
        pub receive_batch: Duration = Duration::from_ns(1_200),
        /// Interrupt side: one acknowledgement.
        pub acknowledgement: Duration = Duration::from_ns(500),
        /// Time from the interrupt, which `host.receive.moderation` delays, to its handler: wake from idle.
        pub interrupt: Duration = Duration::from_ns(7_767),
        /// Largest segment that is handed to the NIC to cut (TSO), and largest batch that is merged (GRO).
        pub offload: Bytes = Bytes::new(65_536),
        /// Largest number of frames that are merged. Absent: as many as a batch has (Linux from 3.13 on). Before, a
        /// merged segment had 17 fragments of a page at most: 8 frames of two pages.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub merge_frames: Option<u32> = None,
    }
}

/// The MPI library over one transport.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MpiParams {
    /// Processor time to post a send.
    pub send_overhead: Duration,
    /// Processor time to post a receive.
    pub receive_overhead: Duration,
    /// Processor time to handle an arrived message or a completion.
    pub handling_overhead: Duration,
    /// Larger messages of non-blocking sends wait for their receiver (rendezvous).
    pub eager_max: Bytes,
    /// The same for messages of collectives, which are blocking sends. Absent: `eager_max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collective_eager_max: Option<Bytes>,
    /// Largest piece in which an eager message is copied and sent, so that copies at both ends and the wire overlap.
    /// Absent: the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment: Option<Bytes>,
    /// Copying 1 KiB of an eager message into the library's buffers.
    pub eager_send_per_kib: Duration,
    /// Copying 1 KiB of an eager message out of them.
    pub eager_receive_per_kib: Duration,
    /// Copying 1 KiB of what a rank sends to itself, all copies together.
    pub self_per_kib: Duration,
    /// Adding up 1 KiB of what a rank has received in a collective to its own. Default "0s".
    #[serde(skip_serializing_if = "super::is_zero")]
    pub reduce_per_kib: Duration,
    /// The same of a vector whose three buffers, sent, received and temporary, lie in the rank's share of
    /// `host.shared_memory.cache`, at most `reduce_per_kib`. Absent: as that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduce_cached_per_kib: Option<Duration>,
    /// Mapping 1 KiB of a temporary buffer of a collective, which the kernel clears. Default "0s".
    #[serde(skip_serializing_if = "super::is_zero")]
    pub temporary_per_kib: Duration,
    /// Shortest temporary buffer that is mapped anew at each call; shorter ones are memory that the process has kept.
    /// Default "0B".
    #[serde(skip_serializing_if = "super::is_zero")]
    pub temporary_min: Bytes,
    /// Processor time to look once for messages, and find none. Default "0s".
    #[serde(skip_serializing_if = "super::is_zero")]
    pub poll: Duration,
    /// Further time of a look for each connection to a rank of another host: the kernel is asked for the state of every
    /// socket. Default "0s".
    #[serde(skip_serializing_if = "super::is_zero")]
    pub poll_per_connection: Duration,
    /// The NIC matches a request to send with a posted receive, and READs the payload, without the processor. Default
    /// false; not of libraries over TCP.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub matched_by_nic: bool,
    /// Bytes of a larger message that its receiver clears at a time: they come in pieces of `fragment`, each of which
    /// it copies. Absent: the NIC READs the message; not of libraries over TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendezvous_window: Option<Bytes>,
    /// Envelope of every message on the wire.
    pub header: Bytes,
}

impl MpiParams {
    /// On reliable connections; what a release of UCX does is in its profile.
    pub fn roce() -> Self {
        MpiParams {
            send_overhead: Duration::from_ns(120),
            receive_overhead: Duration::from_ns(60),
            handling_overhead: Duration::from_ns(120),
            eager_max: Bytes::new(8 << 10),
            collective_eager_max: None,
            fragment: None,
            eager_send_per_kib: Duration::ZERO,
            eager_receive_per_kib: Duration::ZERO,
            self_per_kib: Duration::ZERO,
            reduce_per_kib: Duration::ZERO,
            reduce_cached_per_kib: None,
            temporary_per_kib: Duration::ZERO,
            temporary_min: Bytes::ZERO,
            poll: Duration::ZERO,
            poll_per_connection: Duration::ZERO,
            matched_by_nic: false,
            rendezvous_window: None,
            header: Bytes::new(8),
        }
    }

    /// The piece of an eager message of `bytes` that follows the first `sent` of them.
    pub fn piece(&self, bytes: u64, sent: u64) -> u64 {
        self.fragment.map_or(bytes - sent, |fragment| fragment.get().min(bytes - sent))
    }

    /// Time of a look for messages, of a rank with so many connections to other hosts.
    pub fn poll_time(&self, connections: u64) -> Duration {
        self.poll + self.poll_per_connection * connections
    }

    /// The last piece of an eager message.
    pub fn last_piece(&self, bytes: u64) -> u64 {
        self.fragment.map_or(bytes, |fragment| bytes - bytes.saturating_sub(1) / fragment.get() * fragment.get())
    }

    /// The TCP byte transfer layer of Open MPI; what a release of it does is in its profile.
    pub fn tcp() -> Self {
        MpiParams {
            send_overhead: Duration::from_ns(300),
            receive_overhead: Duration::from_ns(150),
            handling_overhead: Duration::from_ns(300),
            eager_max: Bytes::new(64 << 10),
            header: Bytes::new(64),
            ..MpiParams::roce()
        }
    }
}

/// A copy by a core of the testbed, as UCX reckons it: 1 KiB at 5,800 MiB/s (`BCOPY_BW` of `ucp_context.c`).
pub const UCX_COPY_PER_KIB: Duration = Duration::from_ps(1_000_000_000_000 / (5_800 << 10));

/// Returns the size from which on rendezvous by READ is faster than an eager message, as UCX estimates it on a link of
/// `rate` (`ucp_ep_config_calc_rndv_thresh` of `ucp_ep.c`, versions 1.5 to 1.8).
///
/// Latency 0.8 us plus 1 ns for each of 48 connections, 40 ns of overhead per operation, 90 ns for a registered buffer
/// in its cache; rendezvous counts for 1 % less than it takes; of the link, the share of payloads of 4,096 B.
pub fn ucx_rendezvous_threshold(rate: BitRate) -> Bytes {
    let [latency, overhead, registration] = [848, 40, 90];
    let (eager, rendezvous) = (registration + overhead, registration * 2 + latency * 4 + overhead * 3);
    let wire = rate.serialization_time(Bytes::new(1024 * (4_096 + 82) / 4_096));
    ucx_threshold([eager, rendezvous], wire)
}

/// The same between ranks of a host: latency 80 ns, 10 ns of overhead to write and to read a queue (`mm_iface.c`), 400
/// ns for a copy by `process_vm_readv` (`cma_iface.c`).
pub fn ucx_single_copy_threshold(single_copy_per_kib: Duration) -> Bytes {
    let [latency, overhead, single_copy] = [80, 10, 400];
    ucx_threshold([overhead, latency * 4 + overhead * 2 + single_copy], single_copy_per_kib)
}

/// Where an eager message that costs the first of `fixed` [ns] and its copy takes as long as one by rendezvous.
fn ucx_threshold([eager, rendezvous]: [u64; 2], rendezvous_per_kib: Duration) -> Bytes {
    let ahead_ps = (99 * rendezvous - 100 * eager) * 1000;
    let behind_ps_per_kib = 100 * UCX_COPY_PER_KIB.as_ps() - 99 * rendezvous_per_kib.as_ps();
    Bytes::new(ahead_ps * 1024 / behind_ps_per_kib)
}

impl Default for MpiParams {
    fn default() -> Self {
        MpiParams::roce()
    }
}

/// Keys of an MPI library in a scenario; absent ones have the values of its transport.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct MpiChanges {
    send_overhead: Option<Duration>,
    receive_overhead: Option<Duration>,
    handling_overhead: Option<Duration>,
    eager_max: Option<Bytes>,
    collective_eager_max: Option<Bytes>,
    fragment: Option<Bytes>,
    eager_send_per_kib: Option<Duration>,
    eager_receive_per_kib: Option<Duration>,
    self_per_kib: Option<Duration>,
    reduce_per_kib: Option<Duration>,
    reduce_cached_per_kib: Option<Duration>,
    temporary_per_kib: Option<Duration>,
    temporary_min: Option<Bytes>,
    poll: Option<Duration>,
    poll_per_connection: Option<Duration>,
    header: Option<Bytes>,
}

/// Reads changes to the library over TCP: a key that is absent must not fall back on the other transport.
fn mpi_over_tcp<'de, D: serde::Deserializer<'de>>(source: D) -> Result<MpiParams, D::Error> {
    let changes: MpiChanges = serde::Deserialize::deserialize(source)?;
    let before = MpiParams::tcp();
    Ok(MpiParams {
        send_overhead: changes.send_overhead.unwrap_or(before.send_overhead),
        receive_overhead: changes.receive_overhead.unwrap_or(before.receive_overhead),
        handling_overhead: changes.handling_overhead.unwrap_or(before.handling_overhead),
        eager_max: changes.eager_max.unwrap_or(before.eager_max),
        collective_eager_max: changes.collective_eager_max.or(before.collective_eager_max),
        fragment: changes.fragment.or(before.fragment),
        eager_send_per_kib: changes.eager_send_per_kib.unwrap_or(before.eager_send_per_kib),
        eager_receive_per_kib: changes.eager_receive_per_kib.unwrap_or(before.eager_receive_per_kib),
        self_per_kib: changes.self_per_kib.unwrap_or(before.self_per_kib),
        reduce_per_kib: changes.reduce_per_kib.unwrap_or(before.reduce_per_kib),
        reduce_cached_per_kib: changes.reduce_cached_per_kib.or(before.reduce_cached_per_kib),
        temporary_per_kib: changes.temporary_per_kib.unwrap_or(before.temporary_per_kib),
        temporary_min: changes.temporary_min.unwrap_or(before.temporary_min),
        poll: changes.poll.unwrap_or(before.poll),
        poll_per_connection: changes.poll_per_connection.unwrap_or(before.poll_per_connection),
        matched_by_nic: false,
        rendezvous_window: None,
        header: changes.header.unwrap_or(before.header),
    })
}

params! {
    /// A computer.
    pub struct HostParams {
        /// Kernel TCP path.
        pub cpu: CpuCosts = CpuCosts::default(),
        /// Cores that ranks and receive queues share. Absent: each has one of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub cores: Option<CoreParams> = None,
        /// Memory that programs may take. Absent: enough.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub memory: Option<Bytes> = None,
        /// Rate at which all cores together copy in memory. Absent: each copies as fast as alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub memory_rate: Option<BitRate> = None,
        /// Longest copy at once that caches serve, so that it takes nothing of `memory_rate`. Default 0: none.
        #[serde(skip_serializing_if = "super::is_zero")]
        pub cached_max: Bytes = Bytes::ZERO,
        /// Receive queues of the kernel.
        pub receive: ReceiveParams = ReceiveParams::default(),
        /// Interrupts for what the kernel sends. Absent: what has been sent interrupts nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub transmit: Option<TransmitParams> = None,
        /// MPI over RoCE.
        pub mpi_roce: MpiParams = MpiParams::roce(),
        /// MPI over TCP.
        #[serde(deserialize_with = "mpi_over_tcp")]
        pub mpi_tcp: MpiParams = MpiParams::tcp(),
        /// MPI between ranks of a host.
        pub shared_memory: SharedMemoryParams = SharedMemoryParams::default(),
        /// Delay of a sleeping process behind the time at which it asked to wake (Linux: 50 us for normal threads).
        pub timer_slack: Duration = Duration::from_us(50),
        /// Longest delay of the start of each rank and each stream behind that of its job; drawn for each. Default
        /// "0s".
        pub start_jitter: Duration = Duration::ZERO,
        /// Interruptions of computation by the operating system. Absent: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub noise: Option<Noise> = None,
    }
}

impl HostParams {
    /// The MPI library over a transport, and the table of its parameters.
    pub fn mpi(&self, transport: &Transport) -> (&MpiParams, &'static str) {
        if transport.is_in_kernel() { (&self.mpi_tcp, "mpi_tcp") } else { (&self.mpi_roce, "mpi_roce") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (0.99 (2 · 90 + 4 · 848 + 3 · 40) - 90 - 40) ns / (0.1644 - 0.99 / 12.26) ns/B = 3,525 ns / 0.0837 ns/B.
    #[test]
    fn the_rendezvous_threshold_is_the_one_of_ucx() {
        let threshold = ucx_rendezvous_threshold(BitRate::from_gbps(100)).get();
        assert!((41_500..43_000).contains(&threshold), "{threshold}");
    }

    /// (0.99 (4 · 80 + 2 · 10 + 400) - 10) ns / (0.1644 - 0.99 / 11.69) ns/B = 723 ns / 0.0797 ns/B.
    #[test]
    fn the_threshold_of_single_copies_is_the_one_of_ucx() {
        let threshold = ucx_single_copy_threshold(SharedMemoryParams::default().single_copy_per_kib).get();
        assert!((9_000..9_100).contains(&threshold), "{threshold}");
    }
}
