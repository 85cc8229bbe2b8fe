//! Needs of switches that reduce in the network.

/// Need of a switch for the aggregation trees of all jobs.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct ReductionCost {
    /// The switch, by name.
    pub switch: String,
    /// Trees that it is part of.
    pub trees: u32,
    /// Trees that it may be part of.
    pub trees_max: u32,
    /// Entries of its groups: the ports of children, and that of the parent.
    pub entries: u32,
    /// Packets that it may keep until a segment is complete, a full one of each child.
    pub segment_packets: u32,
    /// Memory for all open segments [B].
    pub buffer_bytes: u64,
}
