//! Messages, bytes and time of every algorithm against closed forms. Time counts messages: each takes 1, a member sends
//! one after another, and receives as many as come.

use std::ops::RangeInclusive;

use etherweave_primitives::Bytes;

use super::super::{Algorithm, FlowOp, Kind, Library, Rule};
use super::execution::{Memory, State, executed};
use super::{collective, named};
use crate::{GraphOp, Op};

/// Block of a member or a pair [B].
const BLOCK: u64 = 24;

/// Figures that the formulas give for all members together.
struct Expected {
    messages: u64,
    bytes: u64,
    /// The most that a member sends [B], where it does not depend on more than the sizes.
    bytes_rank_max: Option<u64>,
    time: RangeInclusive<u64>,
}

#[derive(Clone)]
struct Sizes {
    p: u64,
    /// Rounds in which 1 becomes p: the logarithm to the base 2, rounded up.
    log: u64,
    /// The largest power of two in p, its logarithm, and how many members are beyond; of a larger radix its largest
    /// multiple of a power.
    core: u64,
    core_log: u64,
    tree_radix: u64,
    /// Members of each round of exchanges in the core.
    rounds: Vec<u64>,
    extra: u64,
    /// 1 where there are members beyond.
    fold: u64,
    /// A vector that divides evenly [B].
    vector: u64,
    /// A segment [B]: at most 64 of them where there are many members.
    segment: u64,
    /// Segments of a message, or 1.
    segments: u64,
}

impl Sizes {
    fn new(p: u64, is_segmented: bool) -> Sizes {
        Sizes::of_radix(p, 2, is_segmented)
    }

    fn of_radix(p: u64, radix: u64, is_segmented: bool) -> Sizes {
        let rounds = p.ilog(radix);
        let last = p / radix.pow(rounds);
        let core = radix.pow(rounds) * last;
        let vector = 16 * p * core;
        let segment = if p <= 16 { 16 } else { vector / 64 };
        Sizes {
            p,
            log: u64::from(p.next_power_of_two().ilog2()),
            core,
            core_log: core.ilog2().into(),
            tree_radix: 4,
            rounds: (0..rounds).map(|_| radix).chain((last > 1).then_some(last)).collect(),
            extra: p - core,
            fold: u64::from(p > core),
            vector,
            segment,
            segments: if is_segmented { vector / segment } else { 1 },
        }
    }

    /// Messages of a member of the core in all rounds.
    fn partners(&self) -> u64 {
        self.rounds.iter().map(|members| members - 1).sum()
    }

    /// Most bits set in a number of a member: the depth of a binomial tree.
    fn depth(&self) -> u64 {
        (0..self.p).map(|number| number.count_ones().into()).max().unwrap_or(0)
    }

    /// Members in the subtree of each number of a binomial tree but the root.
    fn subtrees(&self) -> impl Iterator<Item = u64> {
        let p = self.p;
        (1..p).map(move |number| (1 << number.trailing_zeros()).min(p - number))
    }

    /// Members in the first of up to four chains, and in the others, the first ones longer.
    fn chains(&self) -> Vec<u64> {
        let (rest, chains) = (self.p - 1, 4.min(self.p - 1));
        (0..chains).map(|chain| rest / chains + u64::from(chain < rest % chains)).collect()
    }

    /// Weights of the digits of a member's number in a tree.
    fn weights(&self) -> Vec<u64> {
        let weights = std::iter::successors(Some(1), |weight| Some(weight * self.tree_radix));
        weights.take_while(|&weight| weight < self.p).collect()
    }

    /// Children of the root of a knomial tree.
    fn knomial_children(&self) -> u64 {
        let children = |weight: u64| (self.tree_radix - 1).min(self.p.div_ceil(weight) - 1);
        self.weights().into_iter().map(children).sum()
    }
}

fn expected(algorithm: Algorithm, kind: Kind, sizes: &Sizes) -> Expected {
    match kind {
        Kind::Barrier => barrier(algorithm, sizes),
        Kind::Bcast => bcast(algorithm, sizes),
        Kind::Reduce => reduce(algorithm, sizes),
        Kind::Allreduce => allreduce(algorithm, sizes),
        Kind::ReduceScatter => reduce_scatter(algorithm, sizes),
        Kind::ReduceScatterBlock => reduce_scatter(algorithm, &Sizes { vector: sizes.p * BLOCK, ..sizes.clone() }),
        Kind::Gather | Kind::Gatherv | Kind::Scatter | Kind::Scatterv => rooted(algorithm, kind, sizes),
        Kind::Allgather | Kind::Allgatherv => allgather(algorithm, kind, sizes),
        Kind::Alltoall | Kind::Alltoallv | Kind::Alltoallw => alltoall(algorithm, kind, sizes),
        // Two messages in each dimension of more than one member.
        Kind::NeighborAllgather | Kind::NeighborAlltoall => {
            let even = if sizes.p > 2 { 4 } else { 2 };
            let sent = if sizes.p.is_multiple_of(2) { even } else { 2 };
            exactly(sizes.p * sent, sizes.p * sent * BLOCK, sent * BLOCK, sent)
        }
        Kind::Scan | Kind::Exscan => scan(algorithm, sizes),
    }
}

fn exactly(messages: u64, bytes: u64, bytes_rank_max: u64, time: u64) -> Expected {
    Expected { messages, bytes, bytes_rank_max: Some(bytes_rank_max), time: time..=time }
}

fn barrier(algorithm: Algorithm, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, core, extra, fold, .. } = sizes;
    let (messages, time) = match algorithm {
        Algorithm::Linear => (2 * (p - 1), 1 + p - 1),
        Algorithm::DoubleRing => (2 * p, 2 * p),
        Algorithm::RecursiveDoubling => (core * sizes.partners() + 2 * extra, sizes.partners() + 2 * fold),
        Algorithm::Bruck => (p * log, log),
        Algorithm::Binomial => (2 * (p - 1), sizes.depth() + log),
        Algorithm::InNetwork => (p, 1),
        other => panic!("{other:?} is no barrier"),
    };
    exactly(messages, 0, 0, time)
}

fn bcast(algorithm: Algorithm, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, vector, segments, .. } = sizes;
    // Along a tree everyone but the root gets every segment once.
    let tree = |children: u64, time: RangeInclusive<u64>| Expected {
        messages: (p - 1) * segments,
        bytes: (p - 1) * vector,
        bytes_rank_max: Some(children * vector),
        time,
    };
    // A member passes a segment to all children before the next: rounds of the busiest, then of the deepest.
    let within = |least: u64, children: u64, depth: u64| {
        if segments == 1 { least..=children * depth } else { segments * children..=children * (segments + depth) }
    };
    match algorithm {
        Algorithm::InNetwork => exactly(p * segments, p * vector, vector, segments),
        Algorithm::Linear => tree(p - 1, p - 1..=p - 1),
        Algorithm::Chain => {
            let chains = sizes.chains();
            let last = (1..).zip(&chains).map(|(head, length)| head + length - 1).max().unwrap();
            let count = chains.len() as u64;
            let time = if segments == 1 { last..=last } else { segments * count..=count * segments + last };
            tree(count, time)
        }
        Algorithm::Pipeline => tree(1, p - 2 + segments..=p - 2 + segments),
        Algorithm::BinaryTree => {
            let depth = u64::from(p.ilog2());
            let full = if (p + 1).is_power_of_two() { 2 * depth } else { depth };
            tree(2.min(p - 1), within(full, 2.min(p - 1), depth))
        }
        Algorithm::Binomial if segments == 1 => tree(log, log..=log),
        Algorithm::Binomial => tree(log, within(log, log, log)),
        Algorithm::Knomial => {
            let (levels, children) = (sizes.weights().len() as u64, sizes.knomial_children());
            let most = (sizes.tree_radix - 1) * levels;
            let least = if p == sizes.tree_radix.pow(levels as u32) { most } else { levels };
            let time = if segments == 1 { least..=most } else { within(least, children, levels) };
            tree(children, time)
        }
        // Two halves of a message; then everyone swaps, the root only gives.
        Algorithm::SplitBinaryTree if p > 2 => Expected {
            messages: (p - 1) * segments.div_ceil(2) + p - 1,
            bytes: (p - 1) * vector,
            bytes_rank_max: None,
            time: segments..=2 * (segments + u64::from(p.ilog2())) + 1,
        },
        Algorithm::SplitBinaryTree => tree(1, segments..=segments),
        Algorithm::ScatterAllgather => {
            let scattered = log * p / 2 * (vector / p);
            exactly(p - 1 + p * log, scattered + (p - 1) * vector, 2 * (p - 1) * (vector / p), 2 * log)
        }
        Algorithm::ScatterRing => Expected {
            messages: p - 1 + p * (p - 1),
            bytes: sizes.subtrees().sum::<u64>() * (vector / p) + (p - 1) * vector,
            bytes_rank_max: Some(2 * (p - 1) * (vector / p)),
            time: p..=log + p - 1,
        },
        other => panic!("{other:?} is no broadcast"),
    }
}

fn reduce(algorithm: Algorithm, sizes: &Sizes) -> Expected {
    let &Sizes { p, core, extra, fold, vector, segments, ref rounds, .. } = sizes;
    let partners = sizes.partners();
    let tree = |depth: u64| {
        let time = depth + segments - 1;
        exactly((p - 1) * segments, (p - 1) * vector, vector, time)
    };
    match algorithm {
        Algorithm::Linear => tree(1),
        Algorithm::Chain => tree(sizes.chains()[0]),
        Algorithm::Pipeline => tree(p - 1),
        Algorithm::BinaryTree => tree(p.ilog2().into()),
        Algorithm::Binomial => tree(sizes.depth()),
        Algorithm::Knomial => {
            let weights = sizes.weights();
            let digits = |number: u64| {
                weights.iter().filter(|&&weight| !(number / weight).is_multiple_of(sizes.tree_radix)).count() as u64
            };
            tree((0..p).map(digits).max().unwrap())
        }
        // From the last member the result goes to the root in one message.
        Algorithm::InOrderBinaryTree => {
            let depth = u64::from(p.ilog2());
            exactly((p - 1) * segments + 1, p * vector, vector, depth + segments - 1 + 1)
        }
        // What is gathered in a round: all but one of its parts.
        Algorithm::Rabenseifner => exactly(
            extra + core * partners + core - 1,
            (extra + core - 1) * vector + rounds.iter().map(|members| vector - vector / members).sum::<u64>(),
            (core - 1) * (vector / core) + vector / rounds[0],
            fold + partners + rounds.len() as u64,
        ),
        Algorithm::InNetwork => exactly(p * segments, p * vector, vector, segments),
        other => panic!("{other:?} is no reduction"),
    }
}

fn allreduce(algorithm: Algorithm, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, core, extra, fold, vector, segments, .. } = sizes;
    let partners = sizes.partners();
    match algorithm {
        Algorithm::Linear => exactly(2 * (p - 1), 2 * (p - 1) * vector, (p - 1) * vector, 1 + p - 1),
        // A reduction, then a broadcast, in which members send a segment to all children before the next.
        Algorithm::Binomial => {
            let reduced = sizes.depth() + segments - 1;
            let least = if segments == 1 { log } else { segments * log };
            Expected {
                messages: 2 * (p - 1) * segments,
                bytes: 2 * (p - 1) * vector,
                bytes_rank_max: Some(log * vector),
                time: least..=reduced + log * (segments + log),
            }
        }
        // Both halves flow up and down a tree of log levels, a segment of each in every step: at most four messages
        // of a member.
        Algorithm::DoubleTree | Algorithm::NvlsTree => Expected {
            messages: 4 * (p - 1) * segments.div_ceil(2),
            bytes: 2 * (p - 1) * vector,
            bytes_rank_max: None,
            time: 2 * u64::from(p.ilog2())..=4 * (2 * log + segments.div_ceil(2)),
        },
        Algorithm::RecursiveDoubling => {
            let messages = core * partners + 2 * extra;
            exactly(messages, messages * vector, (partners + fold) * vector, partners + 2 * fold)
        }
        Algorithm::Ring => {
            let phases = if segments == 1 { 1 } else { (vector / p).div_ceil(sizes.segment) };
            let passes = (p - 1) * (phases + 1);
            exactly(p * passes, 2 * (p - 1) * vector, 2 * (p - 1) * (vector / p), passes)
        }
        Algorithm::Rabenseifner => exactly(
            2 * extra + 2 * core * partners,
            2 * extra * vector + 2 * (core - 1) * vector,
            2 * (core - 1) * (vector / core) + fold * vector,
            2 * partners + 2 * fold,
        ),
        algorithm if algorithm.is_of_switches() => exactly(p * segments, p * vector, vector, segments),
        other => panic!("{other:?} is no all-reduce"),
    }
}

fn reduce_scatter(algorithm: Algorithm, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, core, core_log, extra, fold, vector, .. } = sizes;
    match algorithm {
        Algorithm::InNetwork => exactly(p * p, p * vector, vector, p),
        Algorithm::Pat => exactly(p * log, (p - 1) * vector, (p - 1) * (vector / p), log),
        Algorithm::RecursiveHalving => Expected {
            messages: core * core_log + 2 * extra,
            bytes: (extra + core - 1) * vector + extra * (vector / p),
            bytes_rank_max: (extra == 0).then_some((p - 1) * (vector / p)),
            time: core_log + 2 * fold..=core_log + 2 * fold,
        },
        // All shares are delivered but those that end at their owner, where the bits of a number are a palindrome.
        Algorithm::Butterfly => {
            let delivered = p - (1 << core_log.div_ceil(2));
            Expected {
                messages: core * core_log + extra + delivered,
                bytes: (extra + core - 1) * vector + delivered * (vector / p),
                bytes_rank_max: None,
                time: core_log + fold..=core_log + fold + 2,
            }
        }
        Algorithm::Pairwise | Algorithm::Ring => exactly(p * (p - 1), (p - 1) * vector, (p - 1) * (vector / p), p - 1),
        // In round k of the core all but the 2^k blocks of the own group, or more where members beyond have theirs.
        Algorithm::RecursiveDoubling => {
            let exchanged = p * core * core_log - (core - 1) * p;
            Expected {
                messages: core * core_log + 2 * extra,
                bytes: (exchanged + extra * p + extra) * (vector / p),
                bytes_rank_max: (extra == 0).then_some((p * core_log - (p - 1)) * (vector / p)),
                time: core_log + 2 * fold..=core_log + 2 * fold,
            }
        }
        other => panic!("{other:?} is no reduce-scatter"),
    }
}

fn rooted(algorithm: Algorithm, kind: Kind, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, .. } = sizes;
    let blocks: u64 = sizes.subtrees().sum();
    match (algorithm, kind) {
        // The root has a block of its own: number 0, of every second one.
        (Algorithm::Linear, Kind::Gatherv | Kind::Scatterv) => {
            let bytes = (p - 1) / 2 * BLOCK;
            let is_gather = kind == Kind::Gatherv;
            let (most, time) = if is_gather { (bytes.min(BLOCK), 1) } else { (bytes, p - 1) };
            exactly(p - 1, bytes, most, time)
        }
        (Algorithm::Linear, Kind::Gather) => exactly(p - 1, (p - 1) * BLOCK, BLOCK, 1),
        (Algorithm::Linear, _) => exactly(p - 1, (p - 1) * BLOCK, (p - 1) * BLOCK, p - 1),
        (Algorithm::LinearSync, _) => Expected {
            messages: 3 * (p - 1),
            bytes: (p - 1) * BLOCK,
            bytes_rank_max: Some(BLOCK),
            // A signal, its answer, and the rest of the last.
            time: 2 * (p - 1) + 1..=2 * (p - 1) + 1,
        },
        (Algorithm::Binomial, Kind::Gather) => {
            exactly(p - 1, blocks * BLOCK, sizes.subtrees().max().unwrap() * BLOCK, sizes.depth())
        }
        (Algorithm::Binomial, _) => exactly(p - 1, blocks * BLOCK, (p - 1) * BLOCK, log),
        (other, _) => panic!("{other:?} is neither gather nor scatter"),
    }
}

/// Bytes of all blocks; with different lengths every second one is empty.
fn all_blocks(kind: Kind, p: u64) -> u64 {
    if matches!(kind, Kind::Allgatherv | Kind::Alltoallv | Kind::Alltoallw) { p.div_ceil(2) * BLOCK } else { p * BLOCK }
}

fn allgather(algorithm: Algorithm, kind: Kind, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, .. } = sizes;
    if algorithm == Algorithm::InNetwork {
        let bytes_rank_max = (kind == Kind::Allgather).then_some(p * BLOCK);
        return Expected { messages: p * p, bytes: p * all_blocks(kind, p), bytes_rank_max, time: p..=p };
    }
    let rounds = match algorithm {
        Algorithm::Linear | Algorithm::Ring => p - 1,
        Algorithm::RecursiveDoubling | Algorithm::Bruck | Algorithm::Pat => log,
        Algorithm::NeighbourExchange => p / 2,
        other => panic!("{other:?} is no all-gather"),
    };
    Expected {
        messages: p * rounds,
        // Every block goes to all others once.
        bytes: (p - 1) * all_blocks(kind, p),
        bytes_rank_max: (kind == Kind::Allgather).then_some((p - 1) * BLOCK),
        time: rounds..=rounds,
    }
}

fn alltoall(algorithm: Algorithm, kind: Kind, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, .. } = sizes;
    let is_equal = kind == Kind::Alltoall;
    match algorithm {
        Algorithm::Linear | Algorithm::Pairwise => Expected {
            messages: p * (p - 1),
            bytes: (p - 1) * all_blocks(kind, p),
            bytes_rank_max: is_equal.then_some((p - 1) * BLOCK),
            time: p - 1..=p - 1,
        },
        Algorithm::Bruck => {
            // A block moves once per set bit of its distance.
            let moved: u64 = (1..p).map(|distance| u64::from(distance.count_ones())).sum();
            exactly(p * log, p * moved * BLOCK, moved * BLOCK, log)
        }
        other => panic!("{other:?} is no all-to-all"),
    }
}

fn scan(algorithm: Algorithm, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, vector, .. } = sizes;
    match algorithm {
        Algorithm::Linear => exactly(p - 1, (p - 1) * vector, vector, p - 1),
        Algorithm::RecursiveDoubling => {
            let partners = |me: u64| (0..log).filter(|round| me ^ 1 << round < p).count() as u64;
            let messages = (0..p).map(partners).sum::<u64>();
            exactly(messages, messages * vector, log * vector, log)
        }
        other => panic!("{other:?} is no scan"),
    }
}

#[test]
fn messages_bytes_and_rounds_are_those_of_the_formulas() {
    for ranks in 2..=65 {
        let has_formula = |rule: &Rule| !matches!(rule.algorithm, Some(Algorithm::Composed | Algorithm::Hierarchical));
        for (rule, kind) in named(ranks).into_iter().filter(|(rule, _)| has_formula(rule)) {
            assert_formula(&rule, kind, ranks);
        }
    }
}

fn assert_formula(rule: &Rule, kind: Kind, ranks: u32) {
    // Two ranks take part in one exchange of two, whatever the radix.
    let radix = rule.radix.unwrap_or(2).min(ranks).into();
    let tree_radix = rule.radix.unwrap_or(4).into();
    let sizes = Sizes { tree_radix, ..Sizes::of_radix(ranks.into(), radix, rule.segment.is_some()) };
    let is_vector =
        matches!(kind, Kind::Bcast | Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter | Kind::Scan | Kind::Exscan);
    let bytes = if is_vector { sizes.vector } else { BLOCK };
    let rule = &Rule { segment: rule.segment.map(|_| Bytes::new(sizes.segment)), ..*rule };
    let states = executed(&collective(kind, bytes, 0, ranks), rule, ranks, Memory::Nothing);
    let formula = expected(rule.algorithm.expect("a named algorithm"), kind, &sizes);
    let sum = |value: fn(&State) -> u64| states.iter().map(value).sum::<u64>();
    let most = |value: fn(&State) -> u64| states.iter().map(value).max().unwrap();
    let context = format!("{kind:?} by {rule:?} on {ranks}");
    assert_eq!(sum(|state| state.messages), formula.messages, "messages: {context}");
    assert_eq!(sum(|state| state.bytes), formula.bytes, "bytes: {context}");
    if let Some(bytes) = formula.bytes_rank_max {
        assert_eq!(most(|state| state.bytes), bytes, "bytes of a rank: {context}");
    }
    let time = most(|state| state.now);
    assert!(formula.time.contains(&time), "{time} in {:?}: {context}", formula.time);
}

/// Nodes of equal size: the time of each level is that of its algorithm, one level after the other.
#[test]
fn a_hierarchical_collective_takes_the_rounds_of_its_levels() {
    for ranks in 4..=65_u32 {
        for node in (2..ranks).filter(|node| ranks.is_multiple_of(*node)) {
            for &kind in &[Kind::Barrier, Kind::Bcast, Kind::Reduce, Kind::Allreduce, Kind::Gather, Kind::Scatter] {
                assert_levels(kind, ranks, node);
            }
        }
    }
}

/// Checks what MPICH picks for 8 B: binomial trees, a dissemination, recursive doubling.
fn assert_levels(kind: Kind, ranks: u32, node: u32) {
    let rule = Rule { algorithm: Some(Algorithm::Hierarchical), nodes: Some(node), ..Rule::of(Library::Mpich4) };
    let states = executed(&collective(kind, 8, 0, ranks), &rule, ranks, Memory::Nothing);
    let (p, members, nodes) = (u64::from(ranks), u64::from(node), u64::from(ranks / node));
    let (within, between) = (Sizes::new(members, false), Sizes::new(nodes, false));
    let (messages, time) = match kind {
        Kind::Bcast | Kind::Scatter => (p - 1, within.log + between.log),
        Kind::Reduce | Kind::Gather => (p - 1, within.depth() + between.depth()),
        Kind::Allreduce => (
            2 * (p - nodes) + between.core * between.core_log + 2 * between.extra,
            within.depth() + between.core_log + 2 * between.fold + within.log,
        ),
        Kind::Barrier => (p * within.log + nodes * between.log + p - nodes, 2 * within.log + between.log),
        other => panic!("{other:?} is none of the levels'"),
    };
    let context = format!("{kind:?} on {nodes} nodes of {node}");
    assert_eq!(states.iter().map(|state| state.messages).sum::<u64>(), messages, "messages: {context}");
    assert_eq!(states.iter().map(|state| state.now).max(), Some(time), "time: {context}");
}

/// Trees of NCCL send the same messages in a graph as in steps, and a result goes down only after all have joined
/// it: what a member sends waits for the segments of all below it, or for that of its parent.
#[test]
fn flows_of_two_trees_are_those_of_its_steps() {
    for size in 2..20 {
        let segment = Some(Bytes::new(800));
        let rule = Rule { algorithm: Some(Algorithm::DoubleTree), segment, ..Rule::default() };
        let group = crate::collective::Communicator::world(size);
        let allreduce = collective(Kind::Allreduce, 8_000, 0, size);
        let mut sent_to = vec![0; size as usize];
        for me in 0..size {
            let flow = allreduce.flow(&rule, &group, me).unwrap();
            let mut steps: Vec<_> = allreduce.lower(&rule, &group, me).iter().filter_map(sent_in_steps).collect();
            let mut flown: Vec<_> = flow.iter().filter_map(|flow_op| sent_in_flow(flow_op.op)).collect();
            flown.iter().for_each(|&(peer, _)| sent_to[peer as usize] += 1);
            steps.sort_unstable();
            flown.sort_unstable();
            assert_eq!(flown, steps, "{me} of {size}");
            let is_passed_on =
                |flow_op: &FlowOp| flow_op.after.iter().any(|&earlier| is_receive(flow[earlier as usize].op));
            let interior = flow.iter().any(|flow_op| is_receive(flow_op.op) && flow_op.after.is_empty());
            assert!(
                interior && flow.iter().filter(|flow_op| !is_receive(flow_op.op)).any(is_passed_on),
                "{me} of {size}"
            );
        }
        // Ten segments in all, each up and down one tree of size - 1 edges.
        assert_eq!(sent_to.iter().sum::<u32>(), 10 * 2 * (size - 1));
    }
}

fn is_receive(op: GraphOp) -> bool {
    matches!(op, GraphOp::Receive { .. })
}

fn sent_in_steps(op: &Op) -> Option<(u32, u64)> {
    if let Op::Isend { peer, bytes, .. } = op { Some((peer.get(), *bytes)) } else { None }
}

fn sent_in_flow(op: GraphOp) -> Option<(u32, u64)> {
    if let GraphOp::Send { peer, bytes, .. } = op { Some((peer.get(), bytes)) } else { None }
}
