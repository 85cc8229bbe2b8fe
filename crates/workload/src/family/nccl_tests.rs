//! One collective of NCCL after another, as the programs of nccl-tests call them: no barrier between them.

use std::sync::Arc;

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, InputErrors, params};

use crate::accelerators::{AcceleratorNode, Accelerators, Group, Members, Operation};
use crate::collective::{Collective, Library};
use crate::generator::Generator;
use crate::limits::{ALL_PAIRS_MAX, at_least, positive, within};
use crate::size::sampled_graphs;
use crate::{ExecutionStream, Graph, GraphBuilder, Traffic, TrafficSize};

/// Most accelerators.
const RANKS_MAX: u32 = 1 << 16;

params! {
    /// A collective of NCCL on accelerators in nodes (`nccl_tests`), each a rank with a network interface. An iteration
    /// is one call; the tool reports the bus bandwidth.
    pub struct NcclTests {
        /// Accelerators, 2 to 65,536.
        pub ranks: u32 = 16,
        /// What they do: allreduce, reduce_scatter, allgather or alltoall.
        pub operation: Collective = Collective::Allreduce { bytes: Bytes::new(32 << 20) },
        /// What joins those of a node; their ranks are in a row.
        pub node: AcceleratorNode = AcceleratorNode::default(),
        /// Rate of an accelerator's network, by which NCCL chooses.
        pub network_rate: BitRate = BitRate::from_gbps(400),
        /// Rings of more rounds take so many, 2 or more, each of as many times longer messages: all bytes, but fewer
        /// latencies. For thousands of accelerators; absent: every round.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rounds: Option<u32> = None,
        /// Calls, 1 or more; each is measured.
        pub iterations: u32 = 20,
    }
}

impl Generator for NcclTests {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    fn traffic(&self, _: u64) -> Result<Traffic, InputErrors> {
        Ok(Traffic::Graphs { ranks: self.graphs_of(0..self.ranks)?, iterations: self.iterations })
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        sampled_graphs(self.ranks(), self.iterations, |rank| self.graphs_of(std::iter::once(rank)))
    }

    fn calls_nccl(&self) -> bool {
        true
    }

    fn node(&self) -> Option<&AcceleratorNode> {
        Some(&self.node)
    }
}

impl NcclTests {
    /// What some ranks do in a call.
    ///
    /// # Errors
    /// When the ranks fill no whole nodes, or NCCL has no such collective.
    fn graphs_of(&self, ranks: impl Iterator<Item = u32>) -> Result<Vec<Arc<Graph>>, InputErrors> {
        let (operation, bytes) = self.check()?;
        Ok(ranks.map(|rank| Arc::new(self.graph(rank, operation, bytes))).collect())
    }

    fn graph(&self, rank: u32, operation: Operation, bytes: u64) -> Graph {
        let NcclTests { ref node, rounds, .. } = *self;
        let network_rate = Some(self.network_rate);
        let launch = Duration::ZERO;
        let accelerators = Accelerators { node, library: Library::Nccl, network_rate, rounds, launch };
        let world = Members { stride: 1, size: self.ranks };
        let group = Group::new([world, Members::ALONE], rank, 0, node);
        let mut graph = GraphBuilder::default();
        let [stream, links] = std::array::from_fn(|_| graph.stream(ExecutionStream::Accelerator));
        group.exchange(operation, bytes, &accelerators).put(&mut graph, stream, links, &[]);
        graph.build().expect("operations wait for earlier ones only")
    }

    /// What a call is, of how many bytes: of a vector all of them, of pairs those of each.
    fn check(&self) -> Result<(Operation, u64), InputErrors> {
        within("ranks", self.ranks, 2..=RANKS_MAX)?;
        let node = self.node.accelerators;
        InputErrors::all([
            within("node.accelerators", node, 1..=self.ranks),
            self.node.check(),
            positive("network_rate", self.network_rate),
            self.rounds.map_or(Ok(()), |rounds| at_least("rounds", rounds, 2)),
            at_least("iterations", self.iterations, 1),
        ])?;
        self.operation.check("operation", self.ranks)?;
        let expected = format_args!("a multiple of {node}, the accelerators of a node");
        InputError::unless(self.ranks.is_multiple_of(node), "ranks", self.ranks, expected)?;
        let called = match self.operation {
            Collective::Allreduce { bytes } => (Operation::Allreduce, bytes.get()),
            Collective::ReduceScatter { bytes } => (Operation::ReduceScatter, bytes.get()),
            Collective::Allgather { bytes } => (Operation::Allgather, bytes.get() * u64::from(self.ranks)),
            Collective::Alltoall { bytes } => {
                within("ranks", self.ranks, 2..=ALL_PAIRS_MAX)?;
                (Operation::Alltoall, bytes.get())
            }
            _ => {
                let expected = "one of allreduce, reduce_scatter, allgather, alltoall";
                return Err(InputError::new("operation", self.operation.kind().name(), expected).into());
            }
        };
        Ok(called)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_graphs;

    #[test]
    fn every_call_sends_what_is_received() {
        let operations = ["allreduce", "reduce_scatter", "allgather", "alltoall"];
        for (operation, bytes) in operations.iter().flat_map(|one| [(one, "8B"), (one, "3MB")]) {
            for node in [1, 2, 12] {
                let keys = format!("ranks = 24\noperation.{operation}.bytes = \"{bytes}\"\nnode.accelerators = {node}");
                let Traffic::Graphs { ranks, .. } = toml::from_str::<NcclTests>(&keys).unwrap().traffic(1).unwrap()
                else {
                    panic!("graphs of {keys}")
                };
                assert_eq!((ranks.len(), check_graphs(&ranks)), (24, Ok(())), "{keys}");
            }
        }
    }

    #[test]
    fn what_nccl_has_not_is_refused() {
        let error = |keys: &str| toml::from_str::<NcclTests>(keys).unwrap().traffic(1).unwrap_err().to_string();
        assert_eq!(error("ranks = 12"), "ranks: 12; expected a multiple of 8, the accelerators of a node");
        let expected = "operation: gather; expected one of allreduce, reduce_scatter, allgather, alltoall";
        assert_eq!(error("operation.gather = { root = 0, bytes = \"1kB\" }"), expected);
        let expected = "ranks: 8192; expected 2 to 4096";
        assert_eq!(error("ranks = 8192\noperation.alltoall.bytes = \"1kB\""), expected);
        assert_eq!(error("node.rate = \"0Gb/s\""), "node.rate: 0Gb/s; expected more than 0");
        assert_eq!(error("network_rate = \"0Gb/s\""), "network_rate: 0Gb/s; expected more than 0");
        assert_eq!(error("rounds = 1"), "rounds: 1; expected at least 2");
    }
}
