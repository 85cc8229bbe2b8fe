//! Host parameters: NIC, processor, operating system, MPI library.
//!
//! Times of the two paths come from `etherweave calibrate`, which fits them to point-to-point figures only.

use etherweave_primitives::{BitRate, Bytes, Duration};

use super::{ReceiveParams, TokenBucket};

/// A NIC.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NicParams {
    /// Receive buffer between wire and host memory.
    pub receive_buffer: Bytes,
    /// Occupancy at which the NIC pauses its switch, if flow control is on.
    pub xoff: Bytes,
    /// Occupancy at which it lets the switch go on.
    pub xon: Bytes,
    /// Rate at which received packets reach host memory.
    pub drain_rate: BitRate,
    /// Extra drain time of a packet whose connection is not that of the packet before.
    pub context_switch: Duration,
    /// From doorbell to first bit.
    pub transmit_latency: Duration,
    /// From last bit to host memory.
    pub receive_latency: Duration,
    /// What slows the host below the rate of its link. Absent: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaper: Option<TokenBucket>,
}

impl Default for NicParams {
    fn default() -> Self {
        NicParams {
            receive_buffer: Bytes::new(262_016),
            xoff: Bytes::new(131_072),
            xon: Bytes::new(98_304),
            drain_rate: BitRate::from_bps(107_000_000_000),
            context_switch: Duration::from_ns(25),
            transmit_latency: Duration::from_ns(216),
            receive_latency: Duration::from_ns(200),
            shaper: None,
        }
    }
}

/// Processor time of the kernel TCP path.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CpuCosts {
    /// A send call, without its bytes.
    pub send_call: Duration,
    /// A receive call, without its bytes.
    pub receive_call: Duration,
    /// Copying 1 KiB from user to kernel, and all that grows with bytes sent.
    pub send_per_kib: Duration,
    /// Copying 1 KiB from kernel to user, and all that grows with bytes received by the thread.
    pub receive_per_kib: Duration,
    /// Interrupt side: one received frame.
    pub receive_frame: Duration,
    /// Interrupt side: one batch of frames (poll, merge, TCP, wake-up).
    pub receive_batch: Duration,
    /// Interrupt side: one acknowledgement.
    pub acknowledgement: Duration,
    /// From the interrupt, which `host.receive.moderation` delays, to its handler: wake from idle.
    pub interrupt: Duration,
    /// Largest segment that is handed to the NIC to cut (TSO), and largest batch that is merged (GRO).
    pub offload: Bytes,
}

impl Default for CpuCosts {
    fn default() -> Self {
        CpuCosts {
            send_call: Duration::from_ns(2_000),
            receive_call: Duration::from_ns(1_500),
            send_per_kib: Duration::from_ns(230),
            receive_per_kib: Duration::from_ns(260),
            receive_frame: Duration::from_ns(200),
            receive_batch: Duration::from_ns(1_200),
            acknowledgement: Duration::from_ns(500),
            interrupt: Duration::from_ns(7_767),
            offload: Bytes::new(65_536),
        }
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
    /// Larger messages wait for their receiver (rendezvous).
    pub eager_max: Bytes,
    /// Envelope of every message on the wire.
    pub header: Bytes,
}

impl MpiParams {
    /// UCX on reliable connections.
    pub fn roce() -> Self {
        MpiParams {
            send_overhead: Duration::from_ns(120),
            receive_overhead: Duration::from_ns(60),
            handling_overhead: Duration::from_ns(120),
            eager_max: Bytes::new(8 << 10),
            header: Bytes::new(8),
        }
    }

    /// The TCP byte transfer layer of Open MPI.
    pub fn tcp() -> Self {
        MpiParams {
            send_overhead: Duration::from_ns(300),
            receive_overhead: Duration::from_ns(150),
            handling_overhead: Duration::from_ns(300),
            eager_max: Bytes::new(64 << 10),
            header: Bytes::new(64),
        }
    }
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
        header: changes.header.unwrap_or(before.header),
    })
}

/// A computer.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostParams {
    /// Kernel TCP path.
    pub cpu: CpuCosts,
    /// Receive queues of the kernel.
    pub receive: ReceiveParams,
    /// MPI over RoCE.
    pub mpi_roce: MpiParams,
    /// MPI over TCP.
    #[serde(deserialize_with = "mpi_over_tcp")]
    pub mpi_tcp: MpiParams,
    /// How much later than asked a sleeping process wakes (Linux: 50 us for normal threads).
    pub timer_slack: Duration,
}

impl Default for HostParams {
    fn default() -> Self {
        HostParams {
            cpu: CpuCosts::default(),
            receive: ReceiveParams::default(),
            mpi_roce: MpiParams::roce(),
            mpi_tcp: MpiParams::tcp(),
            timer_slack: Duration::from_us(50),
        }
    }
}
