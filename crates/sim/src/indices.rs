//! Indices of entities within their shard, a type for each kind.

etherweave_kernel::local_index! {
    HostIndex: "A host."
    ThreadIndex: "A thread of a host."
}
