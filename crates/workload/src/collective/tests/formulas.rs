//! Messages, bytes and time of every algorithm against closed forms. Time counts messages: each takes 1, a member sends
//! one after another, and receives as many as come.

use std::ops::RangeInclusive;

use super::super::{Algorithm, Kind, Rule};
use super::execution::{Memory, State, executed};
use super::{collective, named};

/// Block of a member or a pair [B].
const BLOCK: u64 = 24;
/// Segments of divided messages [B].
const SEGMENT: u64 = 16;

/// What the formulas say of all members together.
struct Expected {
    messages: u64,
    bytes: u64,
    /// The most that a member sends [B], where it does not depend on more than the sizes.
    bytes_rank_max: Option<u64>,
    time: RangeInclusive<u64>,
}

/// Sizes by which formulas are written.
struct Sizes {
    /// Members.
    p: u64,
    /// Rounds in which 1 becomes p: the logarithm to the base 2, rounded up.
    log: u64,
    /// The largest power of two in p, its logarithm, and how many members are beyond.
    core: u64,
    core_log: u64,
    extra: u64,
    /// 1 where there are members beyond.
    fold: u64,
    /// A vector that divides evenly [B].
    vector: u64,
    /// Segments of a message, or 1.
    segments: u64,
}

impl Sizes {
    fn new(p: u64, is_segmented: bool) -> Sizes {
        let core = 1 << p.ilog2();
        let vector = 16 * p * core;
        Sizes {
            p,
            log: u64::from(p.next_power_of_two().ilog2()),
            core,
            core_log: core.ilog2().into(),
            extra: p - core,
            fold: u64::from(p > core),
            vector,
            segments: if is_segmented { vector / SEGMENT } else { 1 },
        }
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

    /// Children of the root of a tree of radix 4.
    fn knomial_children(&self) -> u64 {
        let weights = (0..16).map(|power| 4_u64.pow(power)).take_while(|&weight| weight < self.p);
        weights.map(|weight| 3.min(self.p.div_ceil(weight) - 1)).sum()
    }
}

fn expected(algorithm: Algorithm, kind: Kind, sizes: &Sizes) -> Expected {
    match kind {
        Kind::Barrier => barrier(algorithm, sizes),
        Kind::Bcast => bcast(algorithm, sizes),
        Kind::Reduce => reduce(algorithm, sizes),
        Kind::Allreduce => allreduce(algorithm, sizes),
        Kind::ReduceScatter => reduce_scatter(algorithm, sizes),
        Kind::Gather | Kind::Scatter => rooted(algorithm, kind, sizes),
        Kind::Allgather | Kind::Allgatherv => allgather(algorithm, kind, sizes),
        Kind::Alltoall | Kind::Alltoallv => alltoall(algorithm, kind, sizes),
        Kind::Scan => scan(algorithm, sizes),
    }
}

fn exactly(messages: u64, bytes: u64, bytes_rank_max: u64, time: u64) -> Expected {
    Expected { messages, bytes, bytes_rank_max: Some(bytes_rank_max), time: time..=time }
}

fn barrier(algorithm: Algorithm, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, core, core_log, extra, fold, .. } = sizes;
    let (messages, time) = match algorithm {
        Algorithm::Linear => (2 * (p - 1), 1 + p - 1),
        Algorithm::DoubleRing => (2 * p, 2 * p),
        Algorithm::RecursiveDoubling => (core * core_log + 2 * extra, core_log + 2 * fold),
        Algorithm::Bruck => (p * log, log),
        Algorithm::Binomial => (2 * (p - 1), sizes.depth() + log),
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
            let (levels, children) = (log.div_ceil(2), sizes.knomial_children());
            let least = if p == 4_u64.pow(levels as u32) { 3 * levels } else { levels };
            let time = if segments == 1 { least..=3 * levels } else { within(least, children, levels) };
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
    let &Sizes { p, core, core_log, extra, fold, vector, segments, .. } = sizes;
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
            let digits = |number: u64| (0..16).filter(|power| number >> (2 * power) & 3 != 0).count() as u64;
            tree((0..p).map(digits).max().unwrap())
        }
        // From the last member the result goes to the root in one message.
        Algorithm::InOrderBinaryTree => {
            let depth = u64::from(p.ilog2());
            exactly((p - 1) * segments + 1, p * vector, vector, depth + segments - 1 + 1)
        }
        Algorithm::Rabenseifner => exactly(
            extra + core * core_log + core - 1,
            extra * vector + (core - 1) * vector + core_log * vector / 2,
            (core - 1) * (vector / core) + vector / 2,
            fold + 2 * core_log,
        ),
        other => panic!("{other:?} is no reduction"),
    }
}

fn allreduce(algorithm: Algorithm, sizes: &Sizes) -> Expected {
    let &Sizes { p, core, core_log, extra, fold, vector, segments, .. } = sizes;
    match algorithm {
        Algorithm::Linear => exactly(2 * (p - 1), 2 * (p - 1) * vector, (p - 1) * vector, 1 + p - 1),
        Algorithm::RecursiveDoubling => {
            let messages = core * core_log + 2 * extra;
            exactly(messages, messages * vector, (core_log + fold) * vector, core_log + 2 * fold)
        }
        Algorithm::Ring => {
            let phases = if segments == 1 { 1 } else { (vector / p).div_ceil(SEGMENT) };
            let passes = (p - 1) * (phases + 1);
            exactly(p * passes, 2 * (p - 1) * vector, 2 * (p - 1) * (vector / p), passes)
        }
        Algorithm::Rabenseifner => exactly(
            2 * extra + 2 * core * core_log,
            2 * extra * vector + 2 * (core - 1) * vector,
            2 * (core - 1) * (vector / core) + fold * vector,
            2 * core_log + 2 * fold,
        ),
        other => panic!("{other:?} is no all-reduce"),
    }
}

fn reduce_scatter(algorithm: Algorithm, sizes: &Sizes) -> Expected {
    let &Sizes { p, core, core_log, extra, fold, vector, .. } = sizes;
    match algorithm {
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
        other => panic!("{other:?} is no reduce-scatter"),
    }
}

fn rooted(algorithm: Algorithm, kind: Kind, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, .. } = sizes;
    let blocks: u64 = sizes.subtrees().sum();
    match (algorithm, kind) {
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
    if matches!(kind, Kind::Allgatherv | Kind::Alltoallv) { p.div_ceil(2) * BLOCK } else { p * BLOCK }
}

fn allgather(algorithm: Algorithm, kind: Kind, sizes: &Sizes) -> Expected {
    let &Sizes { p, log, .. } = sizes;
    let rounds = match algorithm {
        Algorithm::Linear | Algorithm::Ring => p - 1,
        Algorithm::RecursiveDoubling | Algorithm::Bruck => log,
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
    for ranks in [2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65] {
        for (rule, kind) in named(ranks).into_iter().filter(|(rule, _)| rule.algorithm != Some(Algorithm::Composed)) {
            assert_formula(&rule, kind, ranks);
        }
    }
}

fn assert_formula(rule: &Rule, kind: Kind, ranks: u32) {
    let sizes = Sizes::new(ranks.into(), rule.segment.is_some());
    let is_vector = matches!(kind, Kind::Bcast | Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter | Kind::Scan);
    let bytes = if is_vector { sizes.vector } else { BLOCK };
    let states = executed(&collective(kind, bytes, 0), rule, ranks, Memory::Nothing);
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
