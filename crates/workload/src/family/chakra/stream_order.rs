//! Dependencies among what an accelerator performs, where a trace has none.
//!
//! Converters of PyTorch's profiles write that a kernel waits for the call that launches it, and nothing about kernels
//! and collectives among themselves (mlcommons/chakra, issue 215). A stream of CUDA performs its operations one after
//! another, so that the order of their starts says what each waits for. Between streams of a device, a node waits for
//! what had ended when it began: each dependency that the traced machine kept is among these, and overlap that the
//! trace does not show is not found.

use std::collections::BTreeMap;

use etherweave_primitives::InputError;

use super::MissingDependencies;
use super::node::{RankTrace, StreamName, TraceNode};

/// Most dependencies that are rebuilt of a rank.
const DEPENDENCIES_MAX: usize = 1 << 22;

/// Places of a stream's nodes in the order in which it performs them, and until when all up to each had ended [us].
type Performed = Vec<(usize, u64)>;

/// Rebuilt dependencies, as pairs of the place of a node and of that which it waits for.
///
/// # Errors
/// Fails where dependencies are missing and shall not be rebuilt, or have no starts for it; with the number of nodes.
pub(super) fn order(trace: &RankTrace, missing: MissingDependencies) -> Result<Vec<[u32; 2]>, InputError> {
    let unwaited = match missing {
        MissingDependencies::Ignore => return Ok(Vec::new()),
        MissingDependencies::Refuse | MissingDependencies::Rebuild => unwaited(trace)?,
    };
    let Some(&first) = unwaited.first() else { return Ok(Vec::new()) };
    let first = &trace.nodes[first];
    if missing == MissingDependencies::Refuse {
        let mistake = format_args!(
            "one of {} on streams of an accelerator, behind which others follow, and for which nothing waits",
            unwaited.len()
        );
        let expected = "dependencies on them, or `missing_dependencies` as \"rebuild\", by device, stream and start, \
                        or as \"ignore\"";
        return Err(first.error(mistake, expected));
    }
    rebuild(trace)
}

/// Streams of an accelerator that the trace numbers, each with its nodes in the order of their starts.
fn streams(trace: &RankTrace) -> BTreeMap<StreamName, Vec<usize>> {
    let mut streams: BTreeMap<StreamName, Vec<usize>> = BTreeMap::new();
    for (place, node) in trace.nodes.iter().enumerate() {
        if node.stream.device().is_some() {
            streams.entry(node.stream).or_default().push(place);
        }
    }
    streams.values_mut().for_each(|places| places.sort_by_key(|&place| (trace.nodes[place].start_micros, place)));
    streams
}

/// Nodes that threads launch on streams of an accelerator, others behind them, and for which nothing waits.
fn unwaited(trace: &RankTrace) -> Result<Vec<usize>, InputError> {
    let mut is_awaited = vec![false; trace.nodes.len()];
    let mut is_launched = vec![false; trace.nodes.len()];
    for (place, node) in trace.nodes.iter().enumerate() {
        for other in trace.dependencies(node) {
            let other = other?;
            is_awaited[other] = true;
            is_launched[place] |= matches!(trace.nodes[other].stream, StreamName::Thread(_));
        }
    }
    let followed = streams(trace).into_values().flat_map(|mut places| {
        places.pop();
        places
    });
    let mut unwaited: Vec<usize> = followed.filter(|&place| is_launched[place] && !is_awaited[place]).collect();
    unwaited.sort_unstable();
    Ok(unwaited)
}

fn rebuild(trace: &RankTrace) -> Result<Vec<[u32; 2]>, InputError> {
    let streams = streams(trace);
    // The first node of all may begin at 0.
    let unstarted = |node: &&TraceNode| node.start_micros == 0 && node.stream.device().is_some();
    let mut without_start = trace.nodes.iter().filter(unstarted);
    if let (Some(_), Some(second)) = (without_start.next(), without_start.next()) {
        let mistake =
            format_args!("one of {} on streams of an accelerator without start_time_micros", 2 + without_start.count());
        return Err(second.error(mistake, "starts, by which dependencies are rebuilt"));
    }
    let performed: Vec<(StreamName, Performed)> = streams
        .into_iter()
        .map(|(name, places)| {
            let mut ended = 0;
            let until = |place: usize| {
                ended = trace.nodes[place].end_micros().max(ended);
                (place, ended)
            };
            (name, places.into_iter().map(until).collect())
        })
        .collect();
    let mut order = Vec::new();
    for (name, own) in &performed {
        order.extend(own.windows(2).map(|pair| [pair[1].0 as u32, pair[0].0 as u32]));
        for (other, others) in &performed {
            if name != other && name.device() == other.device() {
                add_ended(trace, own, others, &mut order);
            }
            let mistake = format_args!("more than {DEPENDENCIES_MAX} dependencies between streams");
            InputError::unless(
                order.len() <= DEPENDENCIES_MAX,
                "",
                mistake,
                "fewer streams, or fewer nodes of a rank",
            )?;
        }
    }
    Ok(order)
}

/// Has each node of a stream wait for the last of another that had ended when it began, unless one before it does.
fn add_ended(trace: &RankTrace, own: &Performed, others: &Performed, order: &mut Vec<[u32; 2]>) {
    let (mut ended, mut waited) = (0, 0);
    for &(place, _) in own {
        let start = trace.nodes[place].start_micros;
        // Of nodes without a duration that begin at once, only those of lower numbers are waited for.
        let is_before = |&(other, until): &(usize, u64)| {
            until <= start && (trace.nodes[other].start_micros, other) < (start, place)
        };
        ended += others[ended..].iter().take_while(|other| is_before(other)).count();
        if ended > waited {
            order.push([place, others[ended - 1].0].map(|place| place as u32));
            waited = ended;
        }
    }
}
