//! Hosts, behind their ports.

use etherweave_engine::Wires;
use etherweave_engine::constants::RunConstants;
use etherweave_engine::port::Owner;
use etherweave_kernel::IndexVec;
use etherweave_kernel::indices::{CoreIndex, EndpointIndex, HostIndex, PortIndex, ReceiveQueueIndex, ThreadIndex};
use etherweave_primitives::Time;

use super::nic_times::NicTimes;
use super::packet_route::Flowlet;
use super::port_paths::SendingPorts;
use super::rank_records::RankRecords;
use super::{Core, Endpoint, Host, ReceiveQueue, Thread};

/// NICs of a shard's hosts, the ends of their connections, and what kernels have received.
pub struct Nics {
    /// Receive side of all NICs.
    pub times: NicTimes,
    /// NICs, those of a host one behind the other.
    pub hosts: IndexVec<HostIndex, Host>,
    /// Ends of connections.
    pub endpoints: IndexVec<EndpointIndex, Endpoint>,
    /// What chooses ports, where hosts have several.
    pub ports: SendingPorts,
    /// Flowlets of endpoints, where a routing distinguishes them.
    pub flowlets: IndexVec<EndpointIndex, Flowlet>,
    /// Receive queues of the kernel that connections use.
    pub receive_queues: IndexVec<ReceiveQueueIndex, ReceiveQueue>,
    /// Places of connections in packets among those in flow-level mode, where both exist.
    pub places_in_packets: IndexVec<EndpointIndex, u32>,
}

/// Threads of a shard's hosts, the cores that they share, and the memory that they copy in.
#[derive(Default)]
pub struct Processors {
    /// Threads of ranks and streams.
    pub threads: IndexVec<ThreadIndex, Thread>,
    /// Cores of all hosts, where ranks and receive queues share them.
    pub cores: IndexVec<CoreIndex, Core>,
    /// When the memory of each host has copied all that was begun, where that has a rate.
    pub memory_free_at: IndexVec<HostIndex, Time>,
    /// Whether steps of ranks are noted.
    pub observes_ranks: bool,
    /// What is noted of them.
    pub records: RankRecords,
}

/// All hosts of a shard.
pub struct Hosts {
    /// NICs, connections and receive queues.
    pub nics: Nics,
    /// Threads, cores and memory.
    pub processors: Processors,
}

impl Hosts {
    /// No hosts yet, of a run.
    pub fn new(constants: &RunConstants) -> Hosts {
        let nics = Nics {
            times: NicTimes::new(constants),
            hosts: IndexVec::default(),
            endpoints: IndexVec::default(),
            ports: SendingPorts::default(),
            flowlets: IndexVec::default(),
            receive_queues: IndexVec::default(),
            places_in_packets: IndexVec::default(),
        };
        Hosts { nics, processors: Processors::default() }
    }
}

impl Processors {
    /// A job has made progress. Of one in the background that says nothing where others may be stuck.
    #[inline]
    pub fn progress_of(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        let constants = &wires.constants;
        if !constants.has_background || !constants.is_background[self.threads[thread].job as usize] {
            wires.totals.last_progress = wires.now;
        }
    }
}

impl Nics {
    /// Starts the transmitter of a NIC's port now if it is idle, or when it becomes free.
    #[inline(never)]
    pub fn kick(&mut self, wires: &mut Wires, port: PortIndex) {
        let Owner::Host(host) = wires.ports[port].owner else { unreachable!("a NIC has a port of its host") };
        if wires.may_transmit(port) {
            self.transmit_from_host(wires, host);
        }
    }
}
