use std::sync::Arc;

use super::*;
use crate::{Fft, Op, RankWorkload};

fn compute(us: u64) -> GraphOp {
    GraphOp::Compute { duration: Duration::from_us(us) }
}

fn send(peer: u32, tag: u32) -> GraphOp {
    GraphOp::Send { peer: Rank::new(peer), tag, bytes: 8 }
}

fn receive(peer: Option<u32>, tag: Option<u32>) -> GraphOp {
    GraphOp::Receive { peer: peer.map(Rank::new), tag, bytes: 8 }
}

/// Operations that wait for nothing.
fn graph(ops: &[GraphOp]) -> Arc<Graph> {
    let mut builder = GraphBuilder::default();
    let stream = builder.stream(ExecutionStream::Core);
    ops.iter().for_each(|&op| {
        builder.add(stream, op, &[]);
    });
    Arc::new(builder.build().unwrap())
}

/// Operations one after another.
fn chain(ops: &[GraphOp]) -> Arc<Graph> {
    let mut builder = GraphBuilder::default();
    let stream = builder.stream(ExecutionStream::Core);
    ops.iter().for_each(|&op| {
        builder.chain(stream, op);
    });
    Arc::new(builder.build().unwrap())
}

fn refused(graphs: &[Arc<Graph>]) -> String {
    check_graphs(graphs).unwrap_err().to_string()
}

#[test]
fn a_node_releases_what_waits_for_its_start_and_what_waits_for_its_completion() {
    let mut builder = GraphBuilder::default();
    let stream = builder.stream(ExecutionStream::Core);
    let first = builder.add(stream, compute(1), &[]);
    let third = builder.add(stream, compute(3), &[first]);
    let second = builder.add(stream, receive(None, Some(7)), &[first]);
    builder.after_start(third, &[second, first]);
    let graph = builder.build().unwrap();
    let graph = graph.nodes().unwrap();
    assert_eq!((graph.after(0), graph.after_start(0)), ([1, 2].as_slice(), [1].as_slice()));
    assert_eq!((graph.after(2), graph.after_start(2)), ([].as_slice(), [1].as_slice()));
    assert_eq!(graph.waits(), [0, 3, 1]);
    assert_eq!(graph.ops().collect::<Vec<_>>(), [compute(1), compute(3), receive(None, Some(7))]);
}

#[test]
fn a_chain_goes_on_where_its_stream_stopped() {
    let mut builder = GraphBuilder::default();
    let [gpu, core] = [ExecutionStream::Accelerator, ExecutionStream::Core].map(|stream| builder.stream(stream));
    let nodes = [gpu, core, gpu, core].map(|stream| builder.chain(stream, compute(1)));
    let graph = builder.build().unwrap();
    let graph = graph.nodes().unwrap();
    assert_eq!(nodes.map(|node| graph.after(node.get()).to_vec()), [vec![2], vec![3], vec![], vec![]]);
    assert_eq!([0, 1, 2, 3].map(|node| graph.stream(node)), [gpu, core, gpu, core]);
}

#[test]
fn ranks_that_do_the_same_with_different_peers_share_nodes() {
    let ops = |peer| [send(peer, 1), receive(Some(peer + 1), Some(2)), receive(None, Some(3))];
    let mut shared = BTreeSet::new();
    let graphs = [3, 5].map(|peer| {
        let mut graph = Arc::unwrap_or_clone(chain(&ops(peer)));
        graph.share(&mut shared);
        graph
    });
    let holders = shared.first().map(Arc::strong_count);
    assert_eq!((shared.len(), holders), (1, Some(3)), "the set and both graphs");
    for (peer, graph) in [3, 5].into_iter().zip(graphs) {
        assert_eq!(graph.nodes().unwrap().ops().collect::<Vec<_>>(), ops(peer));
        let run = GraphRun::new(Arc::new(graph));
        assert_eq!([0, 1, 2].map(|node| run.op(node)), ops(peer));
    }
}

#[test]
fn operations_that_wait_for_each_other_are_no_graph() {
    let mut builder = GraphBuilder::default();
    let stream = builder.stream(ExecutionStream::Core);
    let nodes = [1, 2, 3].map(|us| builder.add(stream, compute(us), &[]));
    builder.after(nodes[1], &[nodes[2]]);
    builder.after_start(nodes[2], &[nodes[1]]);
    let error = builder.build().unwrap_err();
    assert_eq!(error.to_string(), "operation 1 waits for itself through others; expected dependencies without a cycle");
}

#[test]
fn what_is_sent_must_be_received() {
    let nothing = graph(&[]);
    let error = refused(&[graph(&[send(1, 5)]), nothing.clone()]);
    assert!(error.contains("rank0 sends a message of 8 B under tag 5 that rank1 does not receive"), "{error}");
    let error = refused(&[nothing.clone(), graph(&[receive(Some(0), Some(5)), receive(Some(0), Some(5))])]);
    assert!(error.contains("rank1 waits for 2 messages of 16 B together under tag 5 that rank0 does not"), "{error}");
    for peer in [0, 2] {
        let error = refused(&[graph(&[send(peer, 5)]), nothing.clone()]);
        assert!(error.contains("in a job of 2 ranks; expected another rank of the job"), "{error}");
    }
}

#[test]
fn receives_from_any_rank_and_with_any_tag_take_as_many_messages_as_they_can_match() {
    let senders = [graph(&[send(2, 1), send(2, 2)]), graph(&[send(2, 2)])];
    let job = |receives: &[GraphOp]| [senders[0].clone(), senders[1].clone(), graph(receives)];
    let (any, from_0, tag_2) = (receive(None, None), receive(Some(0), None), receive(None, Some(2)));
    for receives in [[any; 3], [from_0, from_0, tag_2], [receive(Some(1), Some(2)), from_0, any]] {
        assert_eq!(check_graphs(&job(&receives)), Ok(()));
    }
    let error = refused(&job(&[any, any]));
    assert!(
        error.contains("rank2 has 2 receives like one of 8 B from any rank with any tag, for 3 messages"),
        "{error}"
    );
    let error = refused(&job(&[tag_2, tag_2, tag_2]));
    assert!(error.contains("rank0 sends a message of 8 B under tag 1 that rank2 does not receive"), "{error}");
    let error = refused(&job(&[receive(Some(1), Some(1)), any, any]));
    assert!(error.contains("rank2 waits for a message of 8 B under tag 1 that rank1 does not send"), "{error}");
}

#[test]
fn ranks_that_wait_for_each_other_are_refused_unless_a_stream_is_free() {
    let first_receive = |peer| [receive(Some(peer), Some(0)), send(peer, 0)];
    let error = refused(&[chain(&first_receive(1)), chain(&first_receive(0))]);
    assert!(error.contains("2 ranks wait for ever, rank0 first, for rank1 to send under tag 0"), "{error}");
    assert_eq!(check_graphs(&[graph(&first_receive(1)), graph(&first_receive(0))]), Ok(()));
    // Both send first: whether that ends depends on the host's eager limits, which a run knows.
    let first_send = |peer| [send(peer, 0), receive(Some(peer), Some(0))];
    assert_eq!(check_graphs(&[chain(&first_send(1)), chain(&first_send(0))]), Ok(()));
}

#[test]
fn a_sequence_starts_its_messages_in_order_and_joins_them_where_it_waits() {
    let peer = Rank::new(1);
    let ops = [
        Op::Irecv { peer, tag: 3, bytes: 8 },
        Op::Isend { peer, tag: 3, bytes: 8 },
        Op::WaitAll,
        Op::Compute { duration: Duration::from_us(2) },
        Op::Isend { peer, tag: 4, bytes: 8 },
    ];
    let mut builder = GraphBuilder::default();
    let stream = builder.stream(ExecutionStream::Core);
    let before = builder.add(stream, compute(1), &[]);
    let last = builder.sequence(stream, &ops, &[before]).unwrap();
    let graph = builder.build().unwrap();
    let graph = graph.nodes().unwrap();
    let expected = [compute(1), receive(Some(1), Some(3)), send(1, 3), compute(0), compute(2), send(1, 4), compute(0)];
    assert_eq!(graph.ops().collect::<Vec<_>>(), expected);
    let after: Vec<_> = (0..7).map(|node| graph.after(node).to_vec()).collect();
    assert_eq!(after, [vec![1], vec![3], vec![3], vec![4], vec![5], vec![6], vec![]]);
    let after_start: Vec<_> = (0..7).map(|node| graph.after_start(node).to_vec()).collect();
    assert_eq!(after_start, [vec![], vec![2], vec![3], vec![], vec![], vec![6], vec![]]);
    assert_eq!(last.get(), 6);
}

#[test]
fn programs_of_ranks_are_graphs_that_end() {
    let programs = Fft { iterations: 2, ..Fft::default() }.programs(1).unwrap();
    let graphs: Vec<Arc<Graph>> = programs
        .iter()
        .map(|program| {
            let mut builder = GraphBuilder::default();
            let stream = builder.stream(ExecutionStream::Core);
            builder.sequence(stream, program.ops(), &[]);
            Arc::new(builder.build().unwrap())
        })
        .collect();
    assert_eq!(check_graphs(&graphs), Ok(()));
    let sent: u64 = programs.iter().map(crate::bytes_sent).sum();
    assert_eq!(graphs.iter().map(|graph| graph.facts().sent.bytes).sum::<u64>(), sent);
}
