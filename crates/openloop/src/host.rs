//! Hosts as sources of traffic.

use etherweave_primitives::Stream;
use etherweave_workload::HostArrivals;

use etherweave_routing::HashScope;

/// Entries of a host's table of flowlets, found by a hash of the destination: flows that meet there part each other, as
/// in a switch (Alizadeh et al., "CONGA", SIGCOMM 2014, section 3.4).
pub(crate) const FLOWLETS: usize = 8;

/// Packets of a host to another in close succession.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flowlet {
    pub dst: u32,
    /// When its last packet was made [ticks].
    pub last: u32,
    /// How many there were in this entry.
    pub count: u32,
}

pub(crate) struct Host {
    /// When its next packet comes to its queue [ps].
    pub next: u64,
    /// Draws when it makes packets.
    pub arrivals: HostArrivals,
    /// Draws whom they are for.
    pub destinations: Stream,
    /// Its port at its switch, counted within the shard.
    pub port: u32,
    /// Packets it had in the measured time, made or source-blocked.
    pub wanted: u32,
    /// Packets it made in the measured time.
    pub made: u32,
}

impl Flowlet {
    /// Tables for so many hosts, where a routing asks for them.
    pub fn tables(hosts: usize, hash_scope: HashScope) -> Vec<Flowlet> {
        match hash_scope {
            HashScope::PerPacket | HashScope::PerFlow => Vec::new(),
            HashScope::PerFlowlet { .. } => vec![Flowlet::default(); hosts * FLOWLETS],
        }
    }
}
