//! Which accelerators do what together, and what of it leaves their nodes.

use etherweave_primitives::{Bytes, Duration, Rank};

use super::{AcceleratorNode, Training};
use crate::Op;
use crate::collective::{Collective, Communicator, Rule};

/// The accelerators of a collective, as one of them sees them.
pub(super) struct Group {
    /// Those that have its place in their nodes, one of each node.
    across: Communicator,
    /// Its number among them.
    me: u32,
    /// How many of the group each node has.
    in_node: u32,
}

/// What a collective takes: time in the node before or after it, and messages between nodes.
pub(super) struct Exchange {
    pub in_node: Duration,
    pub ops: Vec<Op>,
}

/// What a group does with a vector, or with a block for each pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Allreduce,
    ReduceScatter,
    Allgather,
    Alltoall,
}

impl Group {
    /// The group of `members`, in ascending order, that `rank` is one of; `context` keeps its messages apart. Every
    /// node has equally many of them.
    pub fn new(members: &[u32], rank: u32, context: u8, node: &AcceleratorNode) -> Group {
        let in_first = members.iter().take_while(|&&one| one / node.accelerators == members[0] / node.accelerators);
        let in_node = in_first.count();
        let number = members.binary_search(&rank).expect("a rank is a member of its groups");
        let across = members.iter().skip(number % in_node).step_by(in_node).map(|&one| Rank::new(one)).collect();
        Group { across: Communicator::new(across, context), me: (number / in_node) as u32, in_node: in_node as u32 }
    }

    /// How many members.
    pub fn size(&self) -> u32 {
        self.across.size() * self.in_node
    }

    /// Whether messages leave the node.
    fn has_messages(&self) -> bool {
        self.across.size() > 1
    }

    /// What an operation on `bytes` takes: of a vector, the whole of it; of pairs, the block of each.
    pub fn exchange(&self, operation: Operation, bytes: u64, training: &Training) -> Exchange {
        let (nodes, in_node) = (u64::from(self.across.size()), u64::from(self.in_node));
        let collective = match operation {
            Operation::Allreduce => Collective::Allreduce { bytes: Bytes::new(bytes.div_ceil(in_node)) },
            Operation::ReduceScatter => Collective::ReduceScatter { bytes: Bytes::new(bytes.div_ceil(in_node)) },
            Operation::Allgather => Collective::Allgather { bytes: Bytes::new(bytes.div_ceil(in_node * nodes)) },
            // What all of a node have for one of another node: that one's place in the node sends it.
            Operation::Alltoall => Collective::Alltoall { bytes: Bytes::new(bytes * in_node) },
        };
        let rule = Rule { network_rate: training.network_rate, ..Rule::of(training.library) };
        let ops = if self.has_messages() { collective.lower(&rule, &self.across, self.me) } else { Vec::new() };
        Exchange { in_node: self.time_in_node(operation, bytes, &training.node), ops }
    }

    /// By the definition of bus bandwidth: n accelerators move (n - 1)/n of a vector, twice for an all-reduce; of
    /// pairs, what each has for the others of its node, or for their places in other nodes.
    fn time_in_node(&self, operation: Operation, bytes: u64, node: &AcceleratorNode) -> Duration {
        let in_node = u64::from(self.in_node);
        if in_node == 1 {
            return Duration::ZERO;
        }
        let others = in_node - 1;
        let moved = match operation {
            Operation::Allreduce => 2 * bytes * others / in_node,
            Operation::ReduceScatter | Operation::Allgather => bytes * others / in_node,
            Operation::Alltoall => bytes * others * u64::from(self.across.size()),
        };
        node.latency + node.rate.serialization_time(Bytes::new(moved))
    }
}

/// Those with whom an accelerator shares something.
pub(super) struct Groups {
    pub tensor: Group,
    pub context: Group,
    pub expert: Group,
    /// Those with the same dense parameters, and with the same experts.
    pub data: Group,
    pub expert_data: Group,
    pub world: Group,
}

impl Groups {
    pub fn new(training: &Training, rank: u32) -> Groups {
        let parallel = &training.parallel;
        let (tensor, replica) = (parallel.tensor, parallel.tensor * parallel.context);
        let (stage, sharing_experts) = (training.stage(), replica * parallel.expert);
        let (first, place) = (rank / stage * stage, rank % stage);
        let group = |context: u8, has_same: &dyn Fn(u32) -> [u32; 2]| {
            let members = (0..stage).filter(|&other| has_same(other) == has_same(place));
            let members: Vec<u32> = members.map(|other| first + other).collect();
            Group::new(&members, rank, context, &training.node)
        };
        let world: Vec<u32> = (0..training.ranks).collect();
        Groups {
            world: Group::new(&world, rank, 0, &training.node),
            tensor: group(1, &|other| [other / tensor, 0]),
            context: group(2, &|other| [other / replica, other % tensor]),
            expert: group(3, &|other| [other / sharing_experts, other % replica]),
            data: group(4, &|other| [other % tensor, 0]),
            expert_data: group(5, &|other| [other % tensor, other / replica % parallel.expert]),
        }
    }
}
