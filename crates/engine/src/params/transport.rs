//! The transports of hosts, and what networks, checks and estimates ask of any of them.

use etherweave_primitives::{Bytes, Duration};
use etherweave_transport::tcp::TcpParams;

use super::{HostParams, MpiParams, RoceParams};

/// Transport protocol of hosts.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// RDMA over Converged Ethernet, reliable connections, kernel bypass.
    Roce(RoceParams),
    /// Kernel TCP.
    Tcp(TcpParams),
}

impl Default for Transport {
    fn default() -> Self {
        Transport::Roce(RoceParams::default())
    }
}

/// What a connection may have in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionWindow {
    /// The key that sets it.
    pub key: &'static str,
    /// How much [B].
    pub bytes: Bytes,
}

impl Transport {
    /// The parameters of RoCE, where hosts use it.
    pub fn roce(&self) -> Option<&RoceParams> {
        match self {
            Transport::Roce(roce) => Some(roce),
            Transport::Tcp(_) => None,
        }
    }

    /// The parameters of RoCE, where hosts use it, to be changed.
    pub fn roce_mut(&mut self) -> Option<&mut RoceParams> {
        match self {
            Transport::Roce(roce) => Some(roce),
            Transport::Tcp(_) => None,
        }
    }

    /// The parameters of TCP, where hosts use it.
    pub fn tcp(&self) -> Option<&TcpParams> {
        match self {
            Transport::Tcp(tcp) => Some(tcp),
            Transport::Roce(_) => None,
        }
    }

    /// Its name in a scenario, below `transport`.
    pub fn name(&self) -> &'static str {
        match self {
            Transport::Roce(_) => "roce",
            Transport::Tcp(_) => "tcp",
        }
    }

    /// Whether its senders heed marks of switches.
    pub fn heeds_marks(&self) -> bool {
        match self {
            Transport::Roce(roce) => roce.heeds_marks(),
            Transport::Tcp(tcp) => tcp.ecn,
        }
    }

    /// Whether the kernel sends and receives: threads copy into sockets and out of them, and processors take frames.
    /// Otherwise NICs move messages between memories by themselves.
    pub fn is_in_kernel(&self) -> bool {
        match self {
            Transport::Roce(_) => false,
            Transport::Tcp(_) => true,
        }
    }

    /// Whether it is made for networks that lose no packets.
    pub fn expects_no_loss(&self) -> bool {
        match self {
            Transport::Roce(_) => true,
            Transport::Tcp(_) => false,
        }
    }

    /// Whether senders slow down by what they see of queues before anything is lost, where switches mark or not.
    pub fn slows_before_loss(&self, do_switches_mark: bool) -> bool {
        match self {
            Transport::Roce(roce) => !roce.congestion_controls().is_empty(),
            Transport::Tcp(tcp) => tcp.ecn && do_switches_mark,
        }
    }

    /// Whether packets that others have overtaken may be sent again.
    pub fn resends_overtaken(&self) -> bool {
        match self {
            Transport::Roce(roce) => roce.finds_by_time(),
            Transport::Tcp(_) => false,
        }
    }

    /// The MPI library over it, and its table in `host`.
    pub fn mpi<'h>(&self, host: &'h HostParams) -> (&'h MpiParams, &'static str) {
        match self {
            Transport::Roce(_) => (&host.mpi_roce, "mpi_roce"),
            Transport::Tcp(_) => (&host.mpi_tcp, "mpi_tcp"),
        }
    }

    /// The most payload of a packet [B].
    pub fn payload(&self) -> Bytes {
        match self {
            Transport::Roce(roce) => roce.path_mtu,
            Transport::Tcp(tcp) => tcp.mss,
        }
    }

    /// Data packets for each acknowledgement, at least 1.
    pub fn packets_per_ack(&self) -> u32 {
        match self {
            Transport::Roce(roce) => roce.ack_every.max(1),
            // A receiver of TCP answers every second segment (RFC 9293, section 3.8.6.3).
            Transport::Tcp(_) => 2,
        }
    }

    /// See [`ConnectionWindow`].
    pub fn window(&self) -> ConnectionWindow {
        match self {
            Transport::Roce(roce) => ConnectionWindow { key: "transport.roce.window", bytes: roce.window },
            Transport::Tcp(tcp) => ConnectionWindow { key: "transport.tcp.receive_buffer", bytes: tcp.receive_buffer },
        }
    }

    /// How long a connection waits for an answer, the first time, before it sends again.
    pub fn first_timeout(&self) -> Duration {
        match self {
            Transport::Roce(roce) => roce.retransmission_timeout,
            Transport::Tcp(tcp) => tcp.rto_initial.max(tcp.rto_min),
        }
    }
}
