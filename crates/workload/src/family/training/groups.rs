//! Groups of accelerators that work together.

use etherweave_primitives::Rank;

use super::{Outermost, Training};
use crate::accelerators::{Group, Members};
use crate::collective::{context_of, kind_of};

/// Those with whom an accelerator shares something.
pub(super) struct Groups {
    pub tensor: Group,
    pub context: Group,
    pub expert: Group,
    /// Those with the same dense parameters, and with the same experts.
    pub data: Group,
    pub expert_data: Group,
    pub world: Group,
    /// The first and the last stage, if it is in one and both have the same embedding.
    pub embedding: Option<Group>,
}

/// Names of groups, by the number that keeps their messages apart.
const NAMES: [&str; 7] = [
    "world",
    "tensor-parallel",
    "context-parallel",
    "expert-parallel",
    "data-parallel",
    "expert-data-parallel",
    "embedding",
];

/// Purpose of messages with a tag: a collective of a group, or what a stage of the pipeline passes on.
pub(super) fn purpose(tag: u32) -> Option<String> {
    let Some(kind) = kind_of(tag) else { return Some("pipeline".to_owned()) };
    NAMES.get(usize::from(context_of(tag))).map(|group| format!("{group} {}", kind.name()))
}

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
    /// Whether several of those that share parameters are in a node.
    pub fn share_node(&self) -> bool {
        [&self.data, &self.expert_data].iter().any(|group| group.has_neighbours())
    }

    pub fn new(training: &Training, rank: u32) -> Groups {
        let numbering = Numbering::new(training);
        let Numbering { tensor, context, data, .. } = numbering;
        let expert = Members { size: training.parallel.expert, ..data };
        let expert_data = Members { stride: expert.extent(), size: data.size / expert.size };
        let world = Members { stride: 1, size: training.ranks };
        let group = |members: [Members; 2], number: u8| Group::new(members, rank, number, &training.node);
        Groups {
            world: group([world, Members::ALONE], 0),
            tensor: group([tensor, Members::ALONE], 1),
            context: group([context, Members::ALONE], 2).with_rate(training.parallel.context_rate),
            expert: group([expert, Members::ALONE], 3),
            data: group([context, data], 4),
            expert_data: group([context, expert_data], 5),
            embedding: embedding(training, &numbering, rank),
        }
    }
}

/// Those of the first and the last stage that have the same part of the embedding, in nodes of their own.
fn embedding(training: &Training, numbering: &Numbering, rank: u32) -> Option<Group> {
    let ends = [0, training.parallel.pipeline - 1];
    let is_twice = training.model.is_tied && !training.is_embedding_reused() && training.adapters.is_none();
    let me = ends.iter().position(|&stage| is_twice && stage == numbering.stage(rank))?;
    let ranks = ends.map(|stage| numbering.at_stage(rank, stage));
    Some(Group::apart(ranks.to_vec(), me as u32, 6))
}
