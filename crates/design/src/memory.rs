//! Memory of a design before it begins: counts times the sizes of what its steps keep.

use etherweave_forwarding::Survey;
use etherweave_routing::DeadlockProof;
use etherweave_topology::{Metrics, Topology, TopologyKind};

use crate::{DesignSpec, proofs};

/// Priorities of a routing, where none are given: as many as any that a family is known for needs.
const PRIORITIES: u8 = 4;

/// Memory that the steps of a design need, one after the other, beside the fabric [B].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DesignMemory {
    /// The topology.
    pub fabric: u64,
    /// Memory to measure distances and paths.
    pub metrics: u64,
    /// Memory to plan tables.
    pub tables: u64,
    /// Memory to prove a routing free of deadlock.
    pub proofs: u64,
}

impl DesignMemory {
    /// The memory of a design of `topology`, which `kind` has generated.
    pub fn of(kind: &TopologyKind, topology: &Topology, spec: &DesignSpec) -> DesignMemory {
        let routings = spec.routings.as_deref().unwrap_or(proofs::known_for(kind));
        let priorities = spec.priorities.unwrap_or(PRIORITIES);
        DesignMemory {
            fabric: topology.memory_bytes(),
            metrics: Metrics::memory_bytes(topology),
            tables: Survey::memory_bytes(topology),
            proofs: if routings.is_empty() { 0 } else { DeadlockProof::memory_bytes(topology, priorities) },
        }
    }

    /// The most at once.
    pub fn peak(&self) -> u64 {
        self.fabric.saturating_add(self.metrics.max(self.tables).max(self.proofs))
    }
}
