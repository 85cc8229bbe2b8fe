//! Graphs as traces. A dependency on a start, which Chakra does not have, becomes one on all that this start waits for:
//! streams perform what is ready at once in the order of numbers.

use etherweave_primitives::InputError;
use prost::Message;

use super::message::{Attribute, GlobalMetadata, Node, Value, kind};
use super::{attribute, groups};
use crate::{ExecutionStream, Graph, GraphOp, NodeLists, Traffic, graph::graphs_of, graph::topological};

const VERSION: &str = "1.0.0";

/// The traces of all ranks.
///
/// # Errors
/// When a job has more operations than files should, or a rank receives from any rank or with any tag; for streams.
pub(super) fn traces(traffic: &Traffic) -> Result<Vec<Vec<u8>>, InputError> {
    graphs_of(traffic, "Chakra")?.enumerate().map(|(rank, graph)| trace(&graph, rank)).collect()
}

fn trace(graph: &Graph, rank: usize) -> Result<Vec<u8>, InputError> {
    let mut bytes = begin();
    let nodes = graph.nodes()?;
    for (number, dependencies) in dependencies(&nodes).into_iter().enumerate() {
        let node = node(&nodes, graph.streams(), number as u32).ok_or_else(|| {
            let mistake = format_args!("operation {number} of rank {rank} receives from any rank or with any tag");
            InputError::new("", mistake, "receives that name both, which Chakra takes")
        })?;
        push(&mut bytes, &Node { data_dependencies: dependencies, ..node });
    }
    Ok(bytes)
}

fn begin() -> Vec<u8> {
    let mut bytes = Vec::new();
    push(&mut bytes, &GlobalMetadata { version: VERSION.to_owned(), ..GlobalMetadata::default() });
    bytes
}

fn push(bytes: &mut Vec<u8>, message: &impl Message) {
    message.encode_length_delimited(bytes).expect("a vector grows");
}

/// Returns the nodes that each node waits for to be complete, lowest first.
fn dependencies(graph: &NodeLists) -> Vec<Vec<u64>> {
    let mut complete: Vec<Vec<u64>> = vec![Vec::new(); graph.len()];
    let mut started: Vec<Vec<u32>> = vec![Vec::new(); graph.len()];
    for on in 0..graph.len() as u32 {
        graph.after(on).iter().for_each(|&node| complete[node as usize].push(on.into()));
        graph.after_start(on).iter().for_each(|&node| started[node as usize].push(on));
    }
    for node in topological(graph) {
        for on in std::mem::take(&mut started[node]) {
            let others = complete[on as usize].clone();
            complete[node].extend(others);
        }
        complete[node].sort_unstable();
        complete[node].dedup();
    }
    complete
}

fn node(graph: &NodeLists, streams: &[ExecutionStream], number: u32) -> Option<Node> {
    let integer = |name, number| Attribute::new(name, Value::Int64(number));
    let message = |name, peer: u32, tag: u32, bytes: u64| {
        let peer = Attribute::new(name, Value::Int32(peer as i32));
        vec![peer, Attribute::new(attribute::TAG, Value::Int32(tag as i32)), integer(attribute::SIZE, bytes as i64)]
    };
    let (name, kind, mut attributes, duration_micros) = match graph.op(number) {
        GraphOp::Send { peer, tag, bytes } => {
            ("send", kind::SEND, message(attribute::DESTINATION, peer.get(), tag, bytes), 0)
        }
        GraphOp::Receive { peer, tag, bytes } => {
            ("receive", kind::RECEIVE, message(attribute::SOURCE, peer?.get(), tag?, bytes), 0)
        }
        GraphOp::Compute { duration } | GraphOp::Transfer { duration, .. } => {
            let ps = duration.as_ps();
            let exact = Attribute::new(attribute::DURATION, Value::Uint64(ps));
            ("compute", kind::COMPUTE, vec![exact], (ps + 500_000) / 1_000_000)
        }
        GraphOp::Copy { .. } | GraphOp::Repeat { .. } => ("copy", kind::COMPUTE, Vec::new(), 0),
    };
    let stream = graph.stream(number);
    let is_cpu = streams[usize::from(stream)] == ExecutionStream::Core;
    attributes.push(Attribute::new(attribute::IS_CPU, Value::Bool(is_cpu)));
    attributes.push(integer(if is_cpu { attribute::THREAD } else { attribute::STREAM }, stream.into()));
    let id = number.into();
    Some(Node { id, name: name.to_owned(), kind, duration_micros, attributes, ..Node::default() })
}

/// A rank that computes, and adds up a vector with all others.
pub(super) fn example() -> Vec<u8> {
    let mut bytes = begin();
    let compute = Node { name: "compute".to_owned(), kind: kind::COMPUTE, duration_micros: 100, ..Node::default() };
    let attributes = [(attribute::COLLECTIVE, groups::ALL_REDUCE), (attribute::SIZE, 1 << 20)];
    let reduce = Node {
        id: 1,
        name: "all_reduce".to_owned(),
        kind: kind::COLLECTIVE,
        data_dependencies: vec![0],
        attributes: attributes.map(|(name, number)| Attribute::new(name, Value::Int64(number))).into(),
        ..Node::default()
    };
    push(&mut bytes, &compute);
    push(&mut bytes, &reduce);
    bytes
}
