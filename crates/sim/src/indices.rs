//! Indices of entities within their shard, a type for each kind.

etherweave_kernel::local_index! {
    EndpointIndex: "An end of a connection."
    HostIndex: "A host."
    ThreadIndex: "A thread of a host."
}
