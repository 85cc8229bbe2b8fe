//! Indices of entities within their shard, a type for each kind.

crate::local_index! {
    CoreIndex: "A core of a host, which ranks and interrupts share."
    EndpointIndex: "An end of a connection."
    HostIndex: "A host."
    PortIndex: "A port of a switch or a host. Events are addressed to ports."
    ReceiveQueueIndex: "A receive queue of a host's kernel."
    SwitchIndex: "A switch."
    ThreadIndex: "A thread of a host."
}
