//! Indices of entities within their shard, a type for each kind.

etherweave_kernel::local_index! {
    CoreIndex: "A core of a host, which ranks and interrupts share."
    EndpointIndex: "An end of a connection."
    HostIndex: "A host."
    InputQueueIndex: "The queue of an input port and priority of a switch with a crossbar."
    PortIndex: "A port of a switch or a host. Events are addressed to ports."
    ReceiveQueueIndex: "A receive queue of a host's kernel."
    SwitchIndex: "A switch."
    ThreadIndex: "A thread of a host."
}
