//! The operations of a driver as a graph, for files of traces: every message is known before a run.

use etherweave_primitives::{Duration, InputError, Rank};

use super::driver::{LINKS, NETWORK};
use super::plan::{Chunk, Phase, Plan};
use crate::{ExecutionStream, Graph, GraphBuilder, GraphOp, NodeId};

/// Stream of what reaches a rank over the links of its node, beside all else.
const REACHING: u8 = 2;
/// Most operations of a rank: some hundred bytes each.
const OPERATIONS_MAX: usize = 1 << 21;

/// The graph of a rank.
///
/// # Errors
/// When it has more operations than memory is meant for.
pub(super) fn graph(plan: &Plan, rank: u32) -> Result<Graph, InputError> {
    let mut graph = GraphBuilder::default();
    (0..=REACHING).for_each(|_| _ = graph.stream(ExecutionStream::Accelerator));
    let mut last: Vec<NodeId> = Vec::new();
    for number in 1..=2 * plan.moe.iterations {
        let phase = if number % 2 == 1 { Phase::Dispatch } else { Phase::Combine };
        let computed = if phase == Phase::Combine { plan.moe.compute } else { Duration::ZERO };
        let latency = plan.moe.latencies()[usize::from(phase == Phase::Combine)];
        let start = graph.add(LINKS, GraphOp::Compute { duration: computed + latency }, &last);
        last = exchange(&mut graph, plan, [rank, number], phase, start);
        let mistake = format_args!("more than {OPERATIONS_MAX} operations of a rank");
        let expected = "fewer tokens or iterations, or larger chunks";
        InputError::unless(graph.operations() <= OPERATIONS_MAX, "iterations", mistake, expected)?;
    }
    Ok(graph.build().expect("operations wait for earlier ones only"))
}

/// Adds an exchange behind `start`; gives all that the next one waits for.
fn exchange(graph: &mut GraphBuilder, plan: &Plan, [rank, tag]: [u32; 2], phase: Phase, start: NodeId) -> Vec<NodeId> {
    let bytes = plan.bytes(phase);
    let [near, reaching] = plan.near_and_reaching(rank, bytes);
    let (is_dispatch, is_hierarchical) = (phase == Phase::Dispatch, plan.is_hierarchical());
    let mut all = vec![graph.add(REACHING, GraphOp::Compute { duration: reaching }, &[start])];
    for peer in plan.peers(rank) {
        let (copies, most) = (plan.copies(phase, peer, rank), plan.moe.chunk());
        for number in 0..plan.messages(copies) {
            let tokens = most.min(copies - number * most);
            let (peer_rank, tag) = (Some(Rank::new(peer)), Some(tag));
            let receive = GraphOp::Receive { peer: peer_rank, tag, bytes: tokens * bytes };
            let received = graph.add(NETWORK, receive, &[start]);
            all.push(received);
            if is_dispatch && is_hierarchical {
                let duration = plan.forwarding(phase, rank, Chunk { peer, tokens });
                all.push(graph.add(LINKS, GraphOp::Compute { duration }, &[received]));
            }
        }
    }
    for chunk in plan.chunks(phase, rank) {
        let mut before = start;
        if !is_dispatch && is_hierarchical {
            let duration = plan.forwarding(phase, rank, chunk);
            before = graph.add(LINKS, GraphOp::Compute { duration }, &[start]);
        }
        let send = GraphOp::Send { peer: Rank::new(chunk.peer), tag, bytes: chunk.tokens * bytes };
        all.push(graph.add(NETWORK, send, &[before]));
    }
    all.push(graph.add(LINKS, GraphOp::Compute { duration: near }, &[start]));
    all
}
