//! Hosts, behind their ports.

use std::collections::BTreeMap;

use etherweave_engine::{Wires, constants::RunConstants, port::Owner};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, PortIndex, ReceiveQueueIndex};
use etherweave_kernel::{IndexVec, SlidingVec};

use super::{
    Endpoint, Host, Processors, ReceiveQueue, connection::OpenAnswers, contexts::Contexts, initiators::Initiators,
    nic_times::NicTimes, packet_route::Flowlet, port_paths::SendingPorts, protocol::Protocol,
    protocol::TransportStates,
};

/// NICs of a shard's hosts, the ends of their connections, and what kernels have received.
pub struct Nics {
    /// Receive side of all NICs.
    pub times: NicTimes,
    /// NICs, those of a host one behind the other.
    pub hosts: IndexVec<HostIndex, Host>,
    /// Ends of connections.
    pub endpoints: SlidingVec<EndpointIndex, Endpoint>,
    /// States of their transports.
    pub states: TransportStates,
    /// Whether a transport keeps states beside its endpoints, as TCP and Ultra Ethernet's do.
    pub has_states_beside: bool,
    /// States of connections that NICs hold, where not all.
    pub contexts: Contexts,
    /// Initiators of dynamically connected transport, where it is used.
    pub initiators: Option<Initiators>,
    /// Selection of ports, where hosts have several.
    pub ports: SendingPorts,
    /// Flowlets of endpoints, where a routing distinguishes them.
    pub flowlets: IndexVec<EndpointIndex, Flowlet>,
    /// Receive queues of the kernel that connections use.
    pub receive_queues: IndexVec<ReceiveQueueIndex, ReceiveQueue>,
    /// Places of connections in packets among those in flow-level mode, where both exist.
    pub places_in_packets: IndexVec<EndpointIndex, u32>,
    /// Answers to READs, by connection.
    pub(super) answers: BTreeMap<EndpointIndex, OpenAnswers>,
    /// Rows among [`super::RankRecords::posted`] of answers that have been sent, and where these end.
    pub answer_ends: Vec<(u32, u64)>,
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
            endpoints: SlidingVec::default(),
            states: TransportStates::default(),
            has_states_beside: constants.params.transports().any(|transport| Protocol::memory(transport) > 0),
            contexts: Contexts::default(),
            initiators: None,
            ports: SendingPorts::default(),
            flowlets: IndexVec::default(),
            receive_queues: IndexVec::default(),
            places_in_packets: IndexVec::default(),
            answers: BTreeMap::default(),
            answer_ends: Vec::new(),
        };
        Hosts { nics, processors: Processors::default() }
    }
}

impl Nics {
    /// Starts the transmitter of a NIC's port now if it is idle, or when it becomes free.
    #[inline(never)]
    pub fn kick(&mut self, wires: &mut Wires, port: PortIndex) {
        let Owner::Host(host) = wires.ports[port].owner else { unreachable!("a NIC has a port of its host") };
        if wires.may_transmit(port, || self.hosts[host].next_sender()) {
            self.transmit_from_host(wires, host);
        }
    }
}
