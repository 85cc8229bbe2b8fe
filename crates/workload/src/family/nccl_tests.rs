//! One collective of NCCL after another, as the programs of nccl-tests call them: no barrier between them.

use std::sync::Arc;

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, InputErrors, params};

use crate::accelerators::{AcceleratorNode, Accelerators, Call, Group, Members, Operation};
use crate::collective::{Algorithm, Library, Protocol};
use crate::limits::{ALL_PAIRS_MAX, COLLECTIVE_MAX, at_least, at_most, positive, within};
use crate::{ExecutionStream, Graph, GraphBuilder, Traffic, TrafficSize, generator::Generator, size::sampled_graphs};

const RANKS_MAX: u32 = 1 << 16;
/// Most channels of NCCL 2.21 (`MAXCHANNELS` in `src/include/device.h`).
const CHANNELS_MAX: u32 = 32;
/// Most accelerators of a node that are groups of their own for switches of the network: numbers of communicators.
const COLLNET_MAX: u32 = 31;

/// Program of nccl-tests, named by what its accelerators do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum NcclOperation {
    /// `all_reduce_perf`.
    Allreduce {
        /// The whole vector [B].
        bytes: Bytes,
    },
    /// `reduce_scatter_perf`.
    ReduceScatter {
        /// The whole vector [B].
        bytes: Bytes,
    },
    /// `all_gather_perf`.
    Allgather {
        /// Block of each rank [B].
        bytes: Bytes,
    },
    /// `alltoall_perf`.
    Alltoall {
        /// Block of each pair [B].
        bytes: Bytes,
    },
    /// `broadcast_perf`.
    Bcast {
        /// Rank that has the data: 0.
        root: u32,
        /// The whole message [B].
        bytes: Bytes,
    },
    /// `reduce_perf`.
    Reduce {
        /// Rank that gets the result: 0.
        root: u32,
        /// The whole vector [B].
        bytes: Bytes,
    },
    /// `gather_perf`.
    Gather {
        /// Rank that gets the data: 0.
        root: u32,
        /// Block of each rank [B].
        bytes: Bytes,
    },
    /// `scatter_perf`.
    Scatter {
        /// Rank that has the data: 0.
        root: u32,
        /// Block of each rank [B].
        bytes: Bytes,
    },
    /// `sendrecv_perf`: each rank sends to the next, and the last to the first.
    Sendrecv {
        /// The message [B].
        bytes: Bytes,
    },
    /// `hypercube_perf`: an all-gather in rounds, each a call.
    Hypercube {
        /// Block of each rank [B].
        bytes: Bytes,
    },
}

params! {
    /// A collective of NCCL on accelerators in nodes (`nccl_tests`), each a rank with a network interface. An iteration
    /// is one call; the tool reports the bus bandwidth.
    pub struct NcclTests {
        /// Accelerators, 2 to 65,536.
        pub ranks: u32 = 16,
        /// Operation of the accelerators.
        pub operation: NcclOperation = NcclOperation::Allreduce { bytes: Bytes::new(32 << 20) },
        /// Links that join the accelerators of a node; their ranks are in a row.
        pub node: AcceleratorNode = AcceleratorNode::default(),
        /// Rate of an accelerator's network, by which NCCL chooses.
        pub network_rate: BitRate = BitRate::from_gbps(400),
        /// This algorithm instead of what NCCL picks: `ring`, or of an all-reduce `double_tree`; where switches of a
        /// node add up (`node.reduction_rate`) `in_network` in a single one (NVLS), also of an all-gather and a
        /// reduce-scatter, and `nvls_tree` in several. Of an all-gather and a reduce-scatter of nodes of one
        /// accelerator `pat`, which NCCL has from version 2.23 on and never picks here. Where switches of the network
        /// add up (`switch.reduction`), of an all-reduce `collnet_direct` and `collnet_chain`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub algorithm: Option<Algorithm> = None,
        /// Protocol of `algorithm`, which has none by itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub protocol: Option<Protocol> = None,
        /// Channels of `algorithm`, each a ring or a pair of trees with queue pairs of its own, 1 to 32 for all
        /// accelerators of a node; they take the interfaces in turn. Absent: as many as NCCL takes.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub channels: Option<u32> = None,
        /// Whether NCCL may leave all-reduces between nodes to switches of the network (`NCCL_COLLNET_ENABLE`), which
        /// `switch.reduction` has: `collnet_direct` and `collnet_chain`.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        pub collnet: bool = false,
        /// Rings of more rounds take so many, 2 or more, each of as many times longer messages: all bytes, but fewer
        /// latencies. For thousands of accelerators; absent: every round.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rounds: Option<u32> = None,
        /// Calls, 1 or more; each is measured.
        pub iterations: u32 = 20,
    }
}

impl Generator for NcclTests {
    fn purpose(&self, tag: u32) -> Option<String> {
        // Messages of `sendrecv_perf` are no collective's.
        Some(crate::collective::kind_of(tag).map_or("sendrecv", |kind| kind.name()).to_owned())
    }

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
    /// Returns the graphs of some ranks in a call.
    ///
    /// # Errors
    /// When the ranks fill no whole nodes, or NCCL has no such collective.
    fn graphs_of(&self, ranks: impl Iterator<Item = u32>) -> Result<Vec<Arc<Graph>>, InputErrors> {
        let (operation, bytes) = self.check()?;
        Ok(ranks.map(|rank| Arc::new(self.graph(rank, operation, bytes))).collect())
    }

    fn graph(&self, rank: u32, operation: Operation, bytes: u64) -> Graph {
        let NcclTests { ref node, rounds, algorithm, protocol, channels, collnet, .. } = *self;
        let network_rate = Some(self.network_rate);
        let algorithm = match operation {
            Operation::Hypercube => Some(Algorithm::RecursiveDoubling),
            _ => algorithm.map(|named| wire(named, operation)),
        };
        let call = Some(Call { algorithm, protocol, channels, has_collnet: collnet });
        let (library, launch) = (Library::Nccl, Duration::ZERO);
        let accelerators = Accelerators { node, library, network_rate, rounds, launch, call };
        let world = Members { stride: 1, size: self.ranks };
        let group = Group::new([world, Members::ALONE], rank, 0, node);
        let mut graph = GraphBuilder::default();
        let [stream, links] = std::array::from_fn(|_| graph.stream(ExecutionStream::Accelerator));
        group.exchange(operation, bytes, &accelerators).put(&mut graph, stream, links, &[]);
        graph.build().expect("operations wait for earlier ones only")
    }

    /// Returns the operation of a call, and its bytes: of a vector all of them, of pairs and of ranks those of each.
    fn check(&self) -> Result<(Operation, u64), InputErrors> {
        within("ranks", self.ranks, 2..=RANKS_MAX)?;
        let (operation, root, bytes) = self.called();
        let (node, ranks) = (self.node.accelerators, self.ranks);
        InputErrors::all([
            within("node.accelerators", node, 1..=ranks),
            self.node.check(),
            positive("network_rate", self.network_rate),
            self.rounds.map_or(Ok(()), |rounds| at_least("rounds", rounds, 2)),
            at_least("iterations", self.iterations, 1),
            InputError::unless(root == 0, "operation.root", root, 0),
            at_most("operation.bytes", bytes, COLLECTIVE_MAX),
            self.check_call(operation),
            self.check_collnet(),
        ])?;
        let expected = format_args!("a multiple of {node}, the accelerators of a node");
        InputError::unless(ranks.is_multiple_of(node), "ranks", ranks, expected)?;
        match operation {
            Operation::Alltoall => within("ranks", ranks, 2..=ALL_PAIRS_MAX)?,
            Operation::Hypercube => {
                let expected = "a power of two, the corners of a hypercube";
                InputError::unless(ranks.is_power_of_two(), "ranks", ranks, expected)?;
            }
            _ => {}
        }
        let blocks = if operation == Operation::Allgather { u64::from(ranks) } else { 1 };
        Ok((operation, bytes.get() * blocks))
    }

    /// Returns the operation of accelerators in nodes, with its root.
    fn called(&self) -> (Operation, u32, Bytes) {
        match self.operation {
            NcclOperation::Allreduce { bytes } => (Operation::Allreduce, 0, bytes),
            NcclOperation::ReduceScatter { bytes } => (Operation::ReduceScatter, 0, bytes),
            NcclOperation::Allgather { bytes } => (Operation::Allgather, 0, bytes),
            NcclOperation::Alltoall { bytes } => (Operation::Alltoall, 0, bytes),
            NcclOperation::Bcast { root, bytes } => (Operation::Broadcast, root, bytes),
            NcclOperation::Reduce { root, bytes } => (Operation::Reduce, root, bytes),
            NcclOperation::Gather { root, bytes } => (Operation::Gather, root, bytes),
            NcclOperation::Scatter { root, bytes } => (Operation::Scatter, root, bytes),
            NcclOperation::Sendrecv { bytes } => (Operation::Sendrecv, 0, bytes),
            NcclOperation::Hypercube { bytes } => (Operation::Hypercube, 0, bytes),
        }
    }

    /// An algorithm has a protocol, and NCCL has both for the operation.
    fn check_call(&self, operation: Operation) -> Result<(), InputError> {
        let expected = if self.algorithm.is_some() { "one of ll, ll128, simple" } else { "none without an algorithm" };
        let protocol = self.protocol.map_or("none", Protocol::name);
        InputError::unless(self.algorithm.is_some() == self.protocol.is_some(), "protocol", protocol, expected)?;
        let Some(algorithm) = self.algorithm else {
            let channels = self.channels.unwrap_or(0);
            return InputError::unless(self.channels.is_none(), "channels", channels, "none without an algorithm");
        };
        self.channels.map_or(Ok(()), |channels| within("channels", channels, 1..=CHANNELS_MAX))?;
        let (is_known, expected) = match operation {
            Operation::Alltoall
            | Operation::Gather
            | Operation::Scatter
            | Operation::Sendrecv
            | Operation::Hypercube => (false, "none: NCCL sends and receives"),
            Operation::Allreduce if matches!(algorithm, Algorithm::InNetwork | Algorithm::NvlsTree) => {
                return self.check_switches(algorithm);
            }
            Operation::Allreduce if algorithm.is_collnet() => return Ok(()),
            Operation::Allreduce => {
                (matches!(algorithm, Algorithm::Ring | Algorithm::DoubleTree), "one of ring, double_tree")
            }
            Operation::Allgather | Operation::ReduceScatter if algorithm == Algorithm::Pat => return self.check_pat(),
            Operation::Allgather | Operation::ReduceScatter if algorithm == Algorithm::InNetwork => {
                return self.check_switches(algorithm);
            }
            Operation::Allgather | Operation::ReduceScatter | Operation::Broadcast | Operation::Reduce => {
                (algorithm == Algorithm::Ring, "ring")
            }
        };
        InputError::unless(is_known, "algorithm", algorithm.name(), expected)
    }
}

impl NcclTests {
    /// Sums in switches of the network need several nodes, `simple`, and no channels.
    fn check_collnet(&self) -> Result<(), InputError> {
        let named = self.algorithm.filter(|algorithm| algorithm.is_collnet());
        if named.is_none() && !self.collnet {
            return Ok(());
        }
        let (key, name) = named.map_or(("collnet", "true"), |algorithm| ("algorithm", algorithm.name()));
        let node = self.node.accelerators;
        let expected = format_args!("more than the {node} ranks of a node, whose switches of the network add up");
        InputError::unless(self.ranks > node, "ranks", self.ranks, expected)?;
        let expected = format_args!("nodes of at most {COLLNET_MAX} accelerators with it");
        InputError::unless(node <= COLLNET_MAX, key, name, expected)?;
        let protocol = self.protocol.filter(|_| named.is_some()).unwrap_or(Protocol::Simple);
        InputError::unless(protocol == Protocol::Simple, "protocol", protocol.name(), "simple, for collnet")?;
        let channels = self.channels.filter(|_| named.is_some());
        InputError::unless(channels.is_none(), "channels", channels.unwrap_or(0), "none, for collnet")
    }

    /// Trees for each block need a node for each accelerator, and `simple`.
    fn check_pat(&self) -> Result<(), InputError> {
        let expected = "1: NCCL takes pat where every accelerator has a node of its own";
        InputError::unless(self.node.accelerators == 1, "node.accelerators", self.node.accelerators, expected)?;
        let protocol = self.protocol.unwrap_or(Protocol::Simple);
        InputError::unless(protocol == Protocol::Simple, "protocol", protocol.name(), "simple, for pat")
    }

    /// Sums in switches need these, `simple`, and a single node or several.
    fn check_switches(&self, algorithm: Algorithm) -> Result<(), InputError> {
        let is_single = self.ranks == self.node.accelerators;
        let fitting = if is_single { Algorithm::InNetwork } else { Algorithm::NvlsTree };
        let has_switches = self.node.reduction_rate.is_some() && self.node.accelerators > 1;
        let expected = match (has_switches, is_single) {
            (false, _) => "none in switches: node.reduction_rate, of several accelerators, says that they add up",
            (true, true) => "in_network in a single node",
            (true, false) => "nvls_tree between nodes, of an all-reduce",
        };
        InputError::unless(has_switches && algorithm == fitting, "algorithm", algorithm.name(), expected)?;
        let protocol = self.protocol.unwrap_or(Protocol::Simple);
        InputError::unless(protocol == Protocol::Simple, "protocol", protocol.name(), "simple, for sums in switches")
    }
}

/// How the ring of NCCL is carried out: a broadcast and a reduction pass it once.
fn wire(algorithm: Algorithm, operation: Operation) -> Algorithm {
    match operation {
        Operation::Broadcast | Operation::Reduce => Algorithm::Pipeline,
        _ => algorithm,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{GraphOp, check_graphs};

    #[test]
    fn every_call_sends_what_is_received() {
        let vectors = ["allreduce", "reduce_scatter", "allgather", "alltoall", "sendrecv", "hypercube"];
        let rooted = ["bcast", "reduce", "gather", "scatter"];
        for (operation, bytes) in vectors.iter().chain(&rooted).flat_map(|name| [(name, "8B"), (name, "3MB")]) {
            let ranks = if *operation == "hypercube" { 16 } else { 24 };
            for node in [1, 2, ranks / 2] {
                let tests = tests_of(ranks, node, operation, bytes);
                let Traffic::Graphs { ranks: graphs, .. } = tests.traffic(1).unwrap() else { panic!("graphs") };
                assert_eq!((graphs.len() as u32, check_graphs(&graphs)), (ranks, Ok(())), "{operation} {bytes} {node}");
            }
        }
    }

    fn tests_of(ranks: u32, node: u32, operation: &str, bytes: &str) -> NcclTests {
        let root = if ["bcast", "reduce", "gather", "scatter"].contains(&operation) { "root = 0, " } else { "" };
        toml::from_str(&format!(
            "ranks = {ranks}\nnode.accelerators = {node}\noperation.{operation} = {{ {root}bytes = \"{bytes}\" }}"
        ))
        .unwrap()
    }

    /// Bytes that each of sixteen ranks in two nodes sends to the other node, of 1000 B. What is for the first, or for
    /// the next node, leaves by the first of a node; what the first has for others, by their places; of a hypercube,
    /// the blocks of a node leave by each of its ranks.
    #[test]
    fn what_leaves_a_node_leaves_by_the_interface_of_its_place() {
        let first_of_both: [u64; 16] = std::array::from_fn(|rank| if rank % 8 == 0 { 1_000 } else { 0 });
        let gathered: [u64; 16] = std::array::from_fn(|rank| if rank == 8 { 8_000 } else { 0 });
        let scattered: [u64; 16] = std::array::from_fn(|rank| if rank < 8 { 1_000 } else { 0 });
        let all =
            [("sendrecv", first_of_both), ("gather", gathered), ("scatter", scattered), ("hypercube", [8_000; 16])];
        for (operation, expected) in all {
            let Traffic::Graphs { ranks, .. } = tests_of(16, 8, operation, "1kB").traffic(1).unwrap() else {
                panic!("graphs")
            };
            let sent: Vec<u64> = ranks.iter().map(|graph| graph.facts().sent.bytes).collect();
            assert_eq!(sent, expected, "{operation}");
        }
    }

    /// Each of 16 accelerators in two nodes passes 2 · 15/16 of what its channels have: of four channels half of
    /// the accelerators have none, of ten two have two; a channel has messages of its own.
    #[test]
    fn channels_take_the_interfaces_in_turn() {
        for (channels, own) in [(4_u64, [1, 1, 1, 1, 0, 0, 0, 0]), (10, [2, 2, 1, 1, 1, 1, 1, 1])] {
            let keys = format!(
                "ranks = 16\noperation.allreduce.bytes = \"3840kB\"\nchannels = {channels}\n\
                 algorithm = \"ring\"\nprotocol = \"simple\""
            );
            let tests = toml::from_str::<NcclTests>(&keys).unwrap();
            let Traffic::Graphs { ranks, .. } = tests.traffic(1).unwrap() else { panic!("graphs") };
            for (graph, own) in ranks.iter().zip(own.into_iter().cycle()) {
                assert_eq!(graph.facts().sent.bytes, 2 * 15 * 3_840_000 / 16 / channels * own);
                let nodes = graph.nodes().unwrap();
                let communicators: BTreeSet<u8> =
                    nodes.ops().filter_map(|op| op.tag()).map(crate::collective::communicator_of).collect();
                assert_eq!(communicators.len() as u64, own);
            }
        }
    }

    /// A tree of two nodes carries 41.4 GB/s on each channel: 64 MiB, twice, take 811 us with four channels.
    #[test]
    fn few_channels_take_the_time_of_what_each_carries() {
        let call = "algorithm = \"double_tree\"\nprotocol = \"simple\"";
        let keys = format!("ranks = 16\noperation.allreduce.bytes = \"64MiB\"\nchannels = 4\n{call}");
        let tests = toml::from_str::<NcclTests>(&keys).unwrap();
        let (operation, bytes) = tests.check().unwrap();
        let graph = tests.graph(0, operation, bytes);
        let is_expected = |op| match op {
            GraphOp::Transfer { duration, .. } => duration.as_ps() / 1_000_000 == 2 * (64 << 20) / (4 * 41_400),
            _ => false,
        };
        assert!(graph.nodes().unwrap().ops().any(is_expected));
    }

    /// Switches of H100 nodes add up: one of eight has the 481.42 GB/s of Azure's notes. Between two nodes each of 16
    /// interfaces carries a sixteenth of the vector up one tree and down the other, of a root and a leaf.
    #[test]
    fn switches_of_nodes_add_up_in_calls_that_say_so() {
        let of = |ranks: u32, algorithm: &str| {
            let call = format!("algorithm = \"{algorithm}\"\nprotocol = \"simple\"");
            let node = "node.reduction_rate = \"2476Gb/s\"";
            toml::from_str(&format!("ranks = {ranks}\n{node}\n{call}\noperation.allreduce.bytes = \"2GB\"")).unwrap()
        };
        let single: NcclTests = of(8, "in_network");
        let (operation, bytes) = single.check().unwrap();
        let time = single.graph(0, operation, bytes).facts().computed_ps as f64 * 1e-3;
        let bus = 2.0 * 7.0 / 8.0 * bytes as f64 / time;
        assert!((bus / 481.42 - 1.0).abs() < 0.01, "{bus} GB/s");
        let tests: NcclTests = of(16, "nvls_tree");
        let Traffic::Graphs { ranks, .. } = tests.traffic(1).unwrap() else { panic!("graphs") };
        assert!(ranks.iter().all(|graph| graph.facts().sent.bytes == 2_000_000_000 / 8));
    }

    /// Sixteen nodes of one gather blocks of 1 MB: each sends fifteen of them along the trees of all, in four rounds. A
    /// small call begins with 8 us, 4 us for each round but 2 us of the network, and 2.8 us for each rank.
    #[test]
    fn trees_for_each_block_pass_every_block_to_every_rank() {
        let call = "algorithm = \"pat\"\nprotocol = \"simple\"";
        for (operation, bytes) in [("allgather", "1MB"), ("reduce_scatter", "16MB")] {
            let keys = format!("ranks = 16\nnode.accelerators = 1\n{call}\noperation.{operation}.bytes = \"{bytes}\"");
            let tests = toml::from_str::<NcclTests>(&keys).unwrap();
            let Traffic::Graphs { ranks, .. } = tests.traffic(1).unwrap() else { panic!("graphs") };
            assert!(ranks.iter().all(|graph| graph.facts().sent.bytes == 15_000_000), "{operation}");
            let (operation, bytes) = tests.check().unwrap();
            let graph = tests.graph(0, operation, bytes);
            let is_latency = |op| match op {
                GraphOp::Compute { duration } => duration.as_ps() == (8_000 + 4 * (4_000 - 2_000) + 16 * 2_800) * 1_000,
                _ => false,
            };
            assert!(graph.nodes().unwrap().ops().any(is_latency));
        }
    }

    /// Switches add up the eighth of each place, 1 MB of 8 MB, which each accelerator sends once to itself.
    ///
    /// Latencies of the tables are, less 2 us of the network, 2 (3.7 + 7 · 0.4) + 31 us where accelerators of a node
    /// send to each other, 2 · 7 · 2.8 + 30 us along chains; one alone has that of the network.
    #[test]
    fn switches_of_the_network_get_the_share_of_each_place_once() {
        let named = |node: u32, algorithm: &str, more: &str| {
            let call = format!("algorithm = \"{algorithm}\"\nprotocol = \"simple\"");
            let vector = "operation.allreduce.bytes = \"8MB\"";
            let keys = format!("ranks = 32\nnode.accelerators = {node}\n{call}\n{vector}");
            toml::from_str::<NcclTests>(&format!("{keys}\n{more}")).unwrap()
        };
        let latencies = [(8, "collnet_direct", 44_000), (8, "collnet_chain", 69_200), (1, "collnet_chain", 30_000)];
        for (node, algorithm, latency) in latencies {
            let tests = named(node, algorithm, "");
            let Traffic::Graphs { ranks, .. } = tests.traffic(1).unwrap() else { panic!("graphs") };
            for (rank, graph) in (0..).zip(&ranks) {
                assert_eq!(graph.facts().sent.bytes, 8_000_000 / u64::from(node));
                let peers: Vec<_> = graph.facts().communicators().collect();
                assert_eq!(peers, [(etherweave_primitives::Rank::new(rank), 2 << (rank % node))]);
            }
            let (operation, bytes) = tests.check().unwrap();
            let graph = tests.graph(0, operation, bytes);
            let is_latency = |op| match op {
                GraphOp::Compute { duration } => duration.as_ps() == (latency - 2_000) * 1_000,
                _ => false,
            };
            assert!(graph.nodes().unwrap().ops().any(is_latency), "{algorithm}");
        }
    }

    #[test]
    fn messages_are_for_the_operation_of_the_call() {
        for operation in ["allreduce", "sendrecv", "alltoall"] {
            let keys = format!("node.accelerators = 1\noperation.{operation}.bytes = \"1MB\"");
            let tests = toml::from_str::<NcclTests>(&keys).unwrap();
            let (called, bytes) = tests.check().unwrap();
            let graph = tests.graph(0, called, bytes);
            let tags: Vec<u32> = graph.nodes().unwrap().ops().filter_map(GraphOp::tag).collect();
            assert!(!tags.is_empty() && tags.iter().all(|&tag| tests.purpose(tag).as_deref() == Some(operation)));
        }
    }

    /// Latencies of NCCL's tables, less 2 us of the network for each hop between nodes.
    #[test]
    fn a_small_call_takes_the_latency_of_the_tables() {
        let time = |ranks: u32, bytes: &str, algorithm: &str, protocol: &str| {
            let call = format!("algorithm = \"{algorithm}\"\nprotocol = \"{protocol}\"");
            let keys = format!("ranks = {ranks}\noperation.allreduce.bytes = \"{bytes}\"\n{call}");
            let tests = toml::from_str::<NcclTests>(&keys).unwrap();
            let (operation, bytes) = tests.check().unwrap();
            let graph = tests.graph(0, operation, bytes);
            if graph.facts().sent.messages == 0 {
                return Some(graph.facts().computed_ps / 1_000);
            }
            graph.nodes().unwrap().ops().find_map(|op| match op {
                GraphOp::Compute { duration } => Some(duration.as_ps() / 1_000),
                _ => None,
            })
        };
        let latency = |ranks, algorithm, protocol| time(ranks, "8B", algorithm, protocol);
        // Two and four nodes of eight: 6.8 us, 2 · 7 hops of NVLink, 2 log2(nodes) of the network.
        assert_eq!(latency(16, "double_tree", "ll"), Some(6_800 + 14 * 600 + 2 * (5_000 - 2_000)));
        assert_eq!(latency(32, "double_tree", "ll"), Some(6_800 + 14 * 600 + 4 * (5_000 - 2_000)));
        // 30 steps around two nodes, four of which count for the network; NVLink's 3.4 us are more than 3 us to post.
        assert_eq!(latency(16, "ring", "simple"), Some(8_400 + 26 * 3_400 + 4 * (14_000 - 2_000)));
        // One node: no message leaves it.
        assert_eq!(latency(8, "ring", "ll"), Some(6_600 + 14 * 600));
        // Of 1 MiB each passes 14 eighths at 39 GB/s, 47,051 ns, the most that LL carries in a node.
        assert_eq!(time(8, "1MiB", "ring", "ll"), Some(6_600 + 14 * 600 + 47_051));
    }
}
