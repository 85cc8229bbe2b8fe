//! Which accelerators do what together, and what of it leaves their nodes.

use etherweave_primitives::{Bytes, Duration, Rank};

use super::{AcceleratorNode, Outermost, Training};
use crate::Op;
use crate::collective::{Algorithm, Collective, Communicator, Rule};

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
    /// The group of `members` in two dimensions, the lower numbers first, that `rank` is one of; `context` keeps its
    /// messages apart. Every node has equally many of them.
    fn new([inner, outer]: [Members; 2], rank: u32, context: u8, node: &AcceleratorNode) -> Group {
        let in_node = inner.in_node(node) * outer.in_node(node);
        let number = inner.number(rank) + inner.size * outer.number(rank);
        let first = rank - inner.number(rank) * inner.stride - outer.number(rank) * outer.stride;
        let member = |number: u32| first + number % inner.size * inner.stride + number / inner.size * outer.stride;
        let across = (number % in_node..inner.size * outer.size).step_by(in_node as usize);
        let across = across.map(|number| Rank::new(member(number))).collect();
        Group { across: Communicator::new(across, context), me: number / in_node, in_node }
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
        let ops = if self.has_messages() { self.messages(&collective, training) } else { Vec::new() };
        Exchange { in_node: self.time_in_node(operation, bytes, &training.node), ops }
    }

    /// What passes between nodes: with `rounds`, a longer ring is carried out by so many of its rounds, each with the
    /// bytes of those that it stands for.
    fn messages(&self, collective: &Collective, training: &Training) -> Vec<Op> {
        let rule = Rule { network_rate: training.network_rate, ..Rule::of(training.library) };
        let all = self.across.size() - 1;
        match training.rounds {
            Some(rounds) if rounds < all && rule.algorithm(collective, all + 1) == Algorithm::Ring => {
                let ring = Rule { algorithm: Some(Algorithm::Ring), samples: Some(rounds), ..Rule::default() };
                let mut ops = collective.lower(&ring, &self.across, self.me);
                for op in &mut ops {
                    if let Op::Isend { bytes, .. } | Op::Irecv { bytes, .. } = op {
                        *bytes = *bytes * u64::from(all) / u64::from(rounds);
                    }
                }
                ops
            }
            _ => collective.lower(&rule, &self.across, self.me),
        }
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

/// Accelerators so many numbers apart.
#[derive(Clone, Copy)]
pub(super) struct Members {
    pub stride: u32,
    pub size: u32,
}

impl Members {
    /// A dimension of one.
    const ALONE: Members = Members { stride: 1, size: 1 };

    /// Where the next dimension's numbers begin.
    pub fn extent(self) -> u32 {
        self.stride * self.size
    }

    /// The place of an accelerator among them.
    fn number(self, rank: u32) -> u32 {
        rank / self.stride % self.size
    }

    /// How many of them a node has.
    fn in_node(self, node: &AcceleratorNode) -> u32 {
        (node.accelerators / self.stride).clamp(1, self.size)
    }
}

/// How accelerators are numbered.
pub(super) struct Numbering {
    pub tensor: Members,
    pub context: Members,
    pub data: Members,
    pub pipeline: Members,
}

impl Numbering {
    pub fn new(training: &Training) -> Numbering {
        let parallel = &training.parallel;
        let tensor = Members { stride: 1, size: parallel.tensor };
        let context = Members { stride: tensor.extent(), size: parallel.context };
        let data = |stride| Members { stride, size: training.data() };
        let pipeline = |stride| Members { stride, size: parallel.pipeline };
        let (data, pipeline) = match parallel.outermost {
            Outermost::Pipeline => {
                let data = data(context.extent());
                (data, pipeline(data.extent()))
            }
            Outermost::Data => {
                let pipeline = pipeline(context.extent());
                (data(pipeline.extent()), pipeline)
            }
        };
        Numbering { tensor, context, data, pipeline }
    }

    /// The stage of an accelerator.
    pub fn stage(&self, rank: u32) -> u32 {
        self.pipeline.number(rank)
    }

    /// The accelerator at a stage that has the same part of each matrix and the same sequences.
    pub fn at_stage(&self, rank: u32, stage: u32) -> Rank {
        Rank::new(rank - self.stage(rank) * self.pipeline.stride + stage * self.pipeline.stride)
    }
}

impl Groups {
    pub fn new(training: &Training, rank: u32) -> Groups {
        let Numbering { tensor, context, data, .. } = Numbering::new(training);
        let expert = Members { size: training.parallel.expert, ..data };
        let expert_data = Members { stride: expert.extent(), size: data.size / expert.size };
        let world = Members { stride: 1, size: training.ranks };
        let group = |members: [Members; 2], number: u8| Group::new(members, rank, number, &training.node);
        Groups {
            world: group([world, Members::ALONE], 0),
            tensor: group([tensor, Members::ALONE], 1),
            context: group([context, Members::ALONE], 2),
            expert: group([expert, Members::ALONE], 3),
            data: group([context, data], 4),
            expert_data: group([context, expert_data], 5),
        }
    }
}
