//! An all-reduce along two binary trees, half of the vector along each: who passes on in one is a leaf of the other,
//! but for one member at most (P. Sanders, J. Speck, J. L. Träff, *Two-tree algorithms for full bandwidth broadcast,
//! reduction and scan*, Parallel Computing 35(12), 2009). Their shape is that of NCCL (`src/graph/trees.cc`), and as
//! there segments flow up and down both at once (`runTreeSplit` in `src/device/all_reduce.h`).
//!
//! In step n a member of level l, in trees of d levels below their roots, deals with
//!
//! ```text
//!   segment n - (d - l - 1)   from its children, which it adds
//!           n - (d - l)       to its parent
//!           n - (d + l - 1)   from its parent: the result
//!           n - (d + l)       to its children
//! ```
//!
//! so that each message is sent and received in the same step, and one segment of each tree is done with in every step.
//!
//! In a graph nobody waits for a step: each segment goes on as soon as it is there, as in NCCL, whose halves of a block
//! of threads serve up and down.

use super::Form;
use crate::collective::tree::{Tree, balanced_levels, segments};
use crate::collective::{Algorithm, Combining, ELEMENT, FlowOp, Kind, Member, Protocol};
use crate::{GraphOp, collective::layout::Part, collective::layout::share_start};

pub(super) const FORMS: &[Form] = &[Form::segmented(Kind::Allreduce, allreduce)];

/// A tree with the level of the member, and what flows along it.
struct Flow {
    tree: (Tree, usize),
    segments: Vec<Part>,
}

fn flows(member: &Member<'_>) -> [Flow; 2] {
    let (total, segment, me, size) = (member.layout.total(), member.choice.segment, member.me, member.size());
    let middle = (share_start(total.div_ceil(ELEMENT), 2, 1) * ELEMENT).min(total);
    let parts = [Part::Bytes(0, middle), Part::Bytes(middle, total)].map(|half| segments(half, segment).collect());
    // In the second tree members are mirrored where there are as many odd numbers as even ones, else moved.
    let second = if size.is_multiple_of(2) {
        Tree::balanced(size - 1 - me, size, |number| size - 1 - number)
    } else {
        Tree::balanced((me + size - 1) % size, size, |number| (number + 1) % size)
    };
    let [first_half, second_half] = parts;
    let first = Flow { tree: Tree::balanced(me, size, |number| number), segments: first_half };
    [first, Flow { tree: second, segments: second_half }]
}

pub(in crate::collective) fn flow_ops(member: &Member<'_>) -> Vec<FlowOp> {
    let mut ops = Vec::new();
    flows(member).iter().zip(0..).for_each(|(flow, number)| flow.put(member, number, &mut ops));
    ops
}

fn allreduce(member: &mut Member<'_>) {
    let flows = flows(member);
    let levels = balanced_levels(member.size());
    let longest = flows.iter().map(|flow| flow.segments.len()).max().unwrap_or(0);
    for step in 0..longest + 2 * levels {
        let before = member.ops.len();
        flows.iter().for_each(|flow| flow.step(member, step, levels));
        if member.ops.len() > before {
            member.wait();
        }
    }
}

impl Flow {
    /// Each segment is sent up when all children have sent theirs, and down when the parent, or at the root all
    /// children have. Of one kind of message so many are open as the receiver has slots.
    fn put(&self, member: &Member<'_>, number: u32, ops: &mut Vec<FlowOp>) {
        let Tree { parent, children } = &self.tree.0;
        let in_flight = match member.choice.algorithm {
            // A chunk is a slot at most.
            Algorithm::NvlsTree => Protocol::SLOTS,
            _ => member.choice.protocol.unwrap_or(Protocol::Simple).in_flight(),
        };
        let mut begun: Vec<Vec<u32>> = Vec::new();
        for (place, &part) in self.segments.iter().enumerate() {
            let mut own = Vec::new();
            let mut add = |op: GraphOp, after: &[u32]| {
                let slot = place.checked_sub(in_flight).map(|before| begun[before][own.len()]);
                own.push(ops.len() as u32);
                ops.push(FlowOp { op, after: after.iter().copied().chain(slot).collect() });
                ops.len() as u32 - 1
            };
            let up: Vec<u32> = children.iter().map(|&child| add(member.receive_op(child, part, number), &[])).collect();
            let result = match *parent {
                Some(parent) => {
                    add(member.send_op(parent, part, number), &up);
                    vec![add(member.receive_op(parent, part, number), &[])]
                }
                None => up,
            };
            for &child in children {
                add(member.send_op(child, part, number), &result);
            }
            begun.push(own);
        }
    }

    fn step(&self, member: &mut Member<'_>, step: usize, levels: usize) {
        let segment = |delay: usize| self.segments.get(step.checked_sub(delay)?).copied();
        let (Tree { parent, children }, level) = &self.tree;
        if let Some(part) = segment((levels - level).saturating_sub(1)) {
            children.iter().for_each(|&child| member.receive(child, part, Combining::Add));
        }
        if let (Some(part), Some(parent)) = (segment(levels + level.saturating_sub(1)), *parent) {
            member.receive(parent, part, Combining::Replace);
        }
        if let (Some(part), Some(parent)) = (segment(levels - level), *parent) {
            member.send(parent, part);
        }
        if let Some(part) = segment(levels + level) {
            children.iter().for_each(|&child| member.send(child, part));
        }
    }
}
