use std::io::Cursor;

use etherweave_primitives::{Bytes, Duration, Rank, Time};
use proptest::prelude::*;

use super::*;
use crate::collective::Collective;
use crate::{
    Block, Fft, GraphFacts, GraphOp, GraphRun, Halo3d, Op, OsuCollective, Program, Workload, programs_of_graphs,
};

/// The dissemination of LogGOPSim's examples, cut to four ranks: sends that wait for the receive before.
const DISSEMINATION: &str = "num_ranks 4
rank 0 {
l1: send 1b to 1 tag 0
l2: recv 1b from 3 tag 0
l3: send 1b to 2 tag 0
l3 requires l2
l4: recv 1b from 2 tag 0
}
rank 1 { // the same, one up
l1: send 1b to 2 tag 0
l2: recv 1b from 0 tag 0
l3: send 1b to 3 tag 0
l3 requires l2
l4: recv 1b from 3 tag 0
}
rank 2 {
l1: send 1b to 3 tag 0 cpu 0 nic 0
/* a comment
over two lines */ l2: recv 1 b from 1 tag 0
l3: send 1b to 0 tag 0
l3 requires l2
l4: recv 1b from 0 tag 0
}
rank 3 {
l1: send 1b to 0 tag 0
l2: recv 1b from 2 tag 0
l3: send 1b to 1 tag 0
l3 requires l2
l4: recv 1b from 1 tag 0
}
";

fn goal(text: &str) -> Goal {
    Goal { text: text.to_owned(), ..Goal::default() }
}

fn graphs_of(text: &str) -> Vec<Arc<Graph>> {
    goal(text).graphs().unwrap()
}

/// Returns the schedule of a file with this content.
fn of_file(bytes: Vec<u8>) -> Goal {
    Goal { content: Some(TraceFile::new(bytes, String::new())), ..Goal::default() }
}

fn text_of(traffic: &Traffic) -> String {
    let mut text = Vec::new();
    Goal::write(traffic, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn binary_of(traffic: &Traffic) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    Goal::write_binary(traffic, &mut bytes).unwrap();
    bytes.into_inner()
}

fn rewritten(bytes: Vec<u8>) -> String {
    text_of(&of_file(bytes).traffic(1).unwrap())
}

/// All operations one after another, without marks; a wait for nothing is none.
fn unrolled(program: &Program) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut open = 0;
    for op in program.ops().chain([&Op::WaitAll]) {
        match *op {
            Op::Copy { .. } | Op::Prepare { .. } | Op::Reduce { .. } | Op::Poll { .. } => continue,
            Op::IterationStart | Op::IterationEnd => continue,
            Op::WaitAll if open == 0 => continue,
            Op::WaitAll => open = 0,
            Op::Sleep { duration } => {
                ops.push(Op::Compute { duration });
                continue;
            }
            Op::Isend { .. } | Op::Irecv { .. } | Op::OneSided { .. } => open += 1,
            Op::Compute { .. } => {}
        }
        ops.push(*op);
    }
    ops
}

/// Jobs of ranks whose programs are small.
fn small_jobs() -> Vec<Traffic> {
    let bytes = Bytes::new(4096);
    let operation = Collective::Bcast { root: 3, bytes };
    let bcast = OsuCollective { operation, warm_up: 1, iterations: 2, ..OsuCollective::default() };
    let workloads = [
        Workload::Halo3d(Halo3d { iterations: 3, ..Halo3d::default() }),
        Workload::Fft(Fft { iterations: 2, ..Fft::default() }),
        Workload::OsuCollective(bcast),
    ];
    workloads.into_iter().map(|workload| workload.traffic(3).unwrap()).collect()
}

#[test]
fn what_is_written_is_read_back_as_the_same_sequence() {
    for traffic in small_jobs() {
        let read = graphs_of(&text_of(&traffic));
        let Traffic::Ranks(programs) = traffic else { panic!("ranks") };
        let again = programs_of_graphs(&read, 1).unwrap();
        assert_eq!(again.iter().map(unrolled).collect::<Vec<_>>(), programs.iter().map(unrolled).collect::<Vec<_>>());
    }
}

/// Streams, receives that leave source or tag open, and dependencies of either kind in both directions.
const GRAPH: &str = "num_ranks 3

rank 0 {
l1: recv 8b from -1 tag -1 cpu 2
l2: recv 8b from 2 tag -1
l1 irequires l2
l3: calc 700 cpu 1
l3 irequires l1
l3 requires l2
}

rank 1 {
l1: send 8b to 0 tag 7
}

rank 2 {
l1: send 8b to 0 tag 9
}
";

#[test]
fn a_graph_is_read_and_written_as_it_is() {
    let graphs = graphs_of(GRAPH);
    assert_eq!(graphs[0].streams(), [ExecutionStream::Core; 3]);
    let nodes = graphs[0].nodes().unwrap();
    assert_eq!(nodes.op(0), GraphOp::Receive { peer: None, tag: None, bytes: 8 });
    assert_eq!(nodes.op(2), GraphOp::Compute { duration: Duration::from_ns(700) });
    assert_eq!((nodes.after(1), nodes.after_start(1)), ([2].as_slice(), [0].as_slice()));
    drop(nodes);
    let traffic = Traffic::Graphs { ranks: graphs, iterations: 1 };
    assert_eq!(text_of(&traffic), GRAPH);
}

#[test]
fn a_binary_has_the_same_graph_as_its_text() {
    let jobs = small_jobs().into_iter().chain([Goal { text: GRAPH.to_owned(), ..Goal::default() }.traffic(1).unwrap()]);
    for traffic in jobs {
        let bytes = binary_of(&traffic);
        assert_eq!(rewritten(bytes), text_of(&traffic));
    }
    assert_eq!(of_file(GRAPH.into()).graphs().unwrap(), graphs_of(GRAPH));
}

/// The layout of LogGOPSim's `Parser.hpp`, written out: rank 0 sends 10 B to rank 1 after 5 ns.
#[test]
fn a_binary_has_the_layout_that_loggopsim_maps() {
    let node = |waits: u32, kind: u8, peer: u32, size: u64, tag: u32, lists: [u32; 4]| {
        let mut bytes = waits.to_le_bytes().to_vec();
        bytes.push(kind);
        bytes.extend(peer.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(tag.to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend(lists.into_iter().flat_map(u32::to_le_bytes));
        bytes
    };
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let first = [words(&[2, 1, 0]), node(0, 3, 0, 5, 0, [1, 0, 0, 1]), node(1, 1, 1, 10, 3, [0, 1, 0, 1]), words(&[1])];
    let second = [words(&[1, 1, 0]), node(0, 2, 0, 10, 3, [0; 4])];
    let (first, second) = (first.concat(), second.concat());
    let start = 6 + 2 * 16;
    let places = [start, start + first.len(), start + first.len(), start + first.len() + second.len()];
    let places = places.into_iter().flat_map(|place| (place as u64).to_le_bytes()).collect::<Vec<u8>>();
    let expected = [4223_u64.to_le_bytes().to_vec(), words(&[2]), vec![0, 0], places, first, second].concat();
    let text = "num_ranks 2\nrank 0 {\na: calc 5\nb: send 10b to 1 tag 3\nb requires a\n}\n\
                rank 1 {\nr: recv 10b from 0 tag 3\n}\n";
    assert_eq!(binary_of(&goal(text).traffic(1).unwrap()), expected);
    let used_up = [2342_u64.to_le_bytes().to_vec(), expected[8..].to_vec()].concat();
    let error = of_file(used_up).graphs().unwrap_err().to_string();
    assert!(error.contains("byte 0: a file that LogGOPSim has used up"), "{error}");
}

#[test]
fn damage_of_a_binary_is_reported_with_its_byte() {
    let good = binary_of(&goal(GRAPH).traffic(1).unwrap());
    // Behind the header of 14 B and three places lie two counts and the root of rank 0, then its nodes.
    let node = |number: usize| 14 + 3 * 16 + 3 * 4 + 39 * number;
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    for (bytes, message) in [
        (good[..10].to_vec(), "byte 8: a header of 6 bytes from 0 on, in 2 bytes"),
        (with(11, 1), "byte 8: 16777219 ranks; expected 1 to"),
        (good[..60].to_vec(), "byte 8: places of ranks of 48 bytes from 6 on, in 52 bytes"),
        (with(14, 200), "byte 14: rank 0 from 200 to"),
        (with(49, 1), "byte 46: rank 2 from"),
        ([good.clone(), vec![0; 3]].concat(), "3 bytes behind the last rank; expected the end of the file"),
        (with(30, 5), "byte 30: rank 1 from 5 to"),
        (with(14 + 3 * 16 + 3, 1), "byte 62: nodes of"),
        (with(node(1) + 4, 7), "operation of kind 7; expected 1, 2 or 3"),
        (with(node(1) + 5, 0), "a message of rank 0 to itself; expected another rank of the job; in a text such"),
        (with(node(1) + 14, 2), "a size of 2199023255560; expected at most"),
        (with(node(2) + 24, 1), "256 dependants; expected at most"),
        (with(node(1) + 27, 9), "dependants of 4 bytes from 36 on"),
        (with(node(3), 9), "operation 9; expected one below 3"),
    ] {
        let error = of_file(bytes).graphs().unwrap_err().to_string();
        assert!(error.contains(message), "{message}: {error}");
    }
}

#[test]
fn a_message_is_written_as_loggopsim_reads_it_and_times_are_rounded() {
    let send = Op::Isend { peer: Rank::new(1), tag: 7, bytes: 10 };
    let compute = Op::Compute { duration: Duration::from_ps(1_999_500) };
    let program = Program::new([Block::unmeasured(vec![send, Op::WaitAll, compute])]);
    let text = text_of(&Traffic::Ranks(vec![program, Program::default()]));
    let expected = "num_ranks 2\n\nrank 0 {\nl1: send 10b to 1 tag 7\nl2: calc 0\nl2 irequires l1\nl2 requires l1\n\
                    l3: calc 2000\nl3 requires l2\n}\n\nrank 1 {\n}\n";
    assert_eq!(text, expected);
}

fn not_a_sequence(text: &str) -> String {
    programs_of_graphs(&graphs_of(text), 1).unwrap_err().to_string()
}

#[test]
fn a_graph_that_waits_for_less_is_no_sequence() {
    // l3 requires the receive l2; a wait for all waits for the send l1 too.
    let error = not_a_sequence(DISSEMINATION);
    assert!(error.starts_with("rank0 has an operation, number 2, that may start before"), "{error}");
    assert!(not_a_sequence(GRAPH).starts_with("rank0 has 3 streams; expected a graph that is a sequence"));
    let any = "num_ranks 2\nrank 0 {\na: recv 8b from -1\n}\nrank 1 {\na: send 8b to 0\n}\n";
    assert!(not_a_sequence(any).starts_with("rank0 has a receive from any rank or with any tag"));
}

#[test]
fn ranks_of_a_text_that_differ_in_peers_only_share_nodes() {
    // Among the peers of rank 0 (1, 2, 3) and of rank 3 (0, 1, 2) messages have places 0, 2, 1 and 1.
    let runs: Vec<GraphRun> = graphs_of(DISSEMINATION).into_iter().map(GraphRun::new).collect();
    let nodes = |rank: usize| std::ptr::from_ref(runs[rank].in_memory().unwrap().0);
    let equal = |a, b| nodes(a) == nodes(b);
    assert_eq!([equal(0, 3), equal(0, 1), equal(0, 2), equal(1, 2)], [true, false, false, false]);
}

#[test]
fn a_tree_of_calculations_and_messages_is_a_sequence() {
    let text = "num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: calc 5\nb requires a\nc: send 8b to 1\nc requires b\n}\n\
                rank 1 {\nc: send 8b to 0\nd: recv 8b from 0\n}\n";
    let programs = programs_of_graphs(&graphs_of(text), 1).unwrap();
    let peer = Rank::new(1);
    let [receive, send] = [Op::Irecv { peer, tag: 0, bytes: 8 }, Op::Isend { peer, tag: 0, bytes: 8 }];
    let compute = Op::Compute { duration: Duration::from_ns(5) };
    assert_eq!(
        programs[0].blocks[0].ops[..],
        [Op::IterationStart, receive, Op::WaitAll, compute, send, Op::WaitAll, Op::IterationEnd]
    );
}

#[test]
fn a_calculation_beside_a_receive_keeps_its_place() {
    // The send must not start before the calculation ends: nothing in the graph says so.
    let text = "num_ranks 2\nrank 0 {\nb: calc 5\nc: send 8b to 1\n}\nrank 1 {\nd: recv 8b from 0\n}\n";
    assert!(not_a_sequence(text).starts_with("rank0 has an operation, number 1, that may start before"));
    let ordered = text.replace("c: send 8b to 1", "c: send 8b to 1\nc requires b");
    assert!(programs_of_graphs(&graphs_of(&ordered), 1).is_ok());
}

/// A rank that sends to itself under two tags.
const OWN: &str = "num_ranks 1
rank 0 {
r: recv 9b from 0 tag 1
c: calc 5
c requires r
s: send 8b to 0
t: recv 8b from 0
u: send 9b to 0 tag 1
}
";

#[test]
fn a_message_of_a_rank_to_itself_is_a_copy_that_its_receive_waits_for() {
    let graph = &graphs_of(OWN)[0];
    let nodes = graph.nodes().unwrap();
    assert_eq!([2, 4].map(|node| nodes.op(node)), [8, 9].map(|bytes| GraphOp::Copy { bytes }));
    assert_eq!([2, 4, 0].map(|node| nodes.after(node)), [[3], [0], [1]]);
    assert_eq!((graph.facts().sent.messages, graph.facts().peers()), (0, [].as_slice()));
}

/// Reads what may be a text; what is read is written and read back as the same.
fn words() -> impl Strategy<Value = Vec<&'static str>> {
    let word = prop_oneof![
        Just("rank 0 {\n"),
        Just("rank 1 {\n"),
        Just("}\n"),
        Just("l1: "),
        Just("l2: "),
        Just("send 8b to 1"),
        Just("recv 8b from 0"),
        Just("recv 8b from -1"),
        Just("recv 8b from 1"),
        Just("calc 0"),
        Just("calc 7"),
        Just(" tag 1"),
        Just(" tag -1"),
        Just(" cpu 3"),
        Just(" nic 1"),
        Just("\n"),
        Just("l1 requires l2\n"),
        Just("l2 irequires l1\n"),
        Just("/*"),
        Just("*/"),
        Just("//"),
        Just("ß"),
    ];
    prop::collection::vec(word, 0..30)
}

/// Bytes of a binary that are changed, and where it is cut.
fn damage() -> impl Strategy<Value = (Vec<(prop::sample::Index, u8)>, prop::sample::Index)> {
    (prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), any::<prop::sample::Index>())
}

fn damaged(good: &[u8], (changes, cut): &(Vec<(prop::sample::Index, u8)>, prop::sample::Index)) -> Vec<u8> {
    let mut bytes = good.to_vec();
    changes.iter().for_each(|(place, byte)| *place.get_mut(&mut bytes[8..]) = *byte);
    // One in a few is cut.
    let length = cut.index(4 * bytes.len());
    bytes.truncate(length.max(8));
    bytes
}

fn job_in_file(ranks: Vec<GraphBuilder>) -> Result<Vec<Arc<Graph>>, InputError> {
    let ranks = ranks.into_iter().map(|rank| Arc::new(rank.build().unwrap())).collect();
    of_file(binary_of(&Traffic::Graphs { ranks, iterations: 1 })).graphs()
}

fn one_stream() -> (GraphBuilder, u8) {
    let mut builder = GraphBuilder::default();
    let stream = builder.stream(ExecutionStream::Core);
    (builder, stream)
}

fn compute() -> GraphOp {
    GraphOp::Compute { duration: Duration::from_ns(1) }
}

/// Performs a graph in the order in which operations become ready; gives most blocks in memory, and that order.
fn performed(graph: &Arc<Graph>) -> (usize, Vec<u32>) {
    let (mut ready, mut order) = (std::collections::VecDeque::new(), Vec::new());
    let mut run = GraphRun::new(graph.clone());
    run.begin(Time::ZERO, |node, _| ready.push_back(node));
    while let Some(node) = ready.pop_front() {
        assert!(run.start(node, |node, _| ready.push_back(node)));
        run.complete(node, Time::ZERO, None, |node, _| ready.push_back(node));
        order.push(node);
    }
    assert_eq!((run.left(), run.failure()), (0, None));
    (run.blocks_max(), order)
}

/// 20,000 operations of a chain, of two chains far from each other that meet at each step, and of none at all.
#[test]
fn of_a_graph_in_a_file_only_what_is_in_progress_is_in_memory() {
    let (mut chain, stream) = one_stream();
    (0..20_000).for_each(|_| _ = chain.chain(stream, compute()));
    let (mut far, stream) = one_stream();
    let halves = [0, 1].map(|_| (0..10_000).map(|_| far.add(stream, compute(), &[])).collect::<Vec<_>>());
    for step in 1..10_000 {
        let before = halves.each_ref().map(|half| half[step - 1]);
        halves.iter().for_each(|half| far.after(half[step], &before));
    }
    let (mut free, stream) = one_stream();
    (0..20_000).for_each(|_| _ = free.add(stream, compute(), &[]));
    for (builder, blocks) in [(chain, 2), (far, 4), (free, 2)] {
        let in_memory = Arc::new(builder.build().unwrap());
        let traffic = Traffic::Graphs { ranks: vec![in_memory.clone()], iterations: 1 };
        let in_file = of_file(binary_of(&traffic)).graphs().unwrap().remove(0);
        assert_eq!(in_file.nodes().unwrap(), in_memory.nodes().unwrap());
        let (most, order) = performed(&in_file);
        assert!(most <= blocks, "{most} blocks of 64 operations");
        assert_eq!(order, performed(&in_memory).1);
    }
}

/// 6,400 operations are in 100 blocks of 64, each of 40 B, with 32 B besides; those of a chain are in a few.
#[test]
fn memory_of_a_binary_counts_what_waits_for_nothing() {
    let size = |is_chain: bool| {
        let (mut builder, stream) = one_stream();
        for _ in 0..6_400 {
            let _ = if is_chain { builder.chain(stream, compute()) } else { builder.add(stream, compute(), &[]) };
        }
        let ranks = vec![Arc::new(builder.build().unwrap())];
        let goal = of_file(binary_of(&Traffic::Graphs { ranks, iterations: 1 }));
        Workload::Goal(goal).size().unwrap().program_bytes
    };
    assert!((6_400 * 72..6_400 * 80).contains(&size(false)), "{}", size(false));
    assert!(size(true) < 6 * 64 * 40, "{}", size(true));
}

#[test]
fn graphs_in_a_file_that_do_not_end_name_rank_and_operation() {
    let message = |peer, is_send| match (Rank::new(peer), is_send) {
        (peer, true) => GraphOp::Send { peer, tag: 5, bytes: 8 },
        (peer, false) => GraphOp::Receive { peer: Some(peer), tag: Some(5), bytes: 8 },
    };
    let rank = |ops: &[GraphOp]| {
        let (mut builder, stream) = one_stream();
        ops.iter().for_each(|&op| _ = builder.chain(stream, op));
        builder
    };
    let refused = |ranks| job_in_file(ranks).unwrap_err().to_string();
    let error = refused(vec![rank(&[message(1, true)]), rank(&[])]);
    assert!(error.contains("rank0 sends a message of 8 B under tag 5 that rank1 does not receive"), "{error}");
    let error = refused(vec![rank(&[compute()]), rank(&[compute(), message(0, false), compute()])]);
    let expected = "rank1 waits for ever, for rank0 to send under tag 5 (8 B); its operation 2 does not start; \
                    expected a send for every receive";
    assert!(error.contains(expected), "{error}");
    let open = GraphOp::Receive { peer: None, tag: None, bytes: 8 };
    let error = refused(vec![rank(&[message(1, true)]), rank(&[open, open])]);
    assert!(
        error.contains("1 messages sent and 2 received over all ranks; expected a send for every receive"),
        "{error}"
    );
}

/// Where numbers of a node are in a file of one rank: behind a header of 14 B, the place of the rank, counts, one root.
fn number_of_node(node: usize, within: usize) -> usize {
    14 + 16 + 8 + 4 + 39 * node + within
}

#[test]
fn numbers_of_dependencies_are_those_of_the_appendix() {
    let (mut builder, stream) = one_stream();
    (0..4).for_each(|_| _ = builder.chain(stream, compute()));
    let good = binary_of(&Traffic::Graphs { ranks: vec![Arc::new(builder.build().unwrap())], iterations: 1 });
    let with = |changes: &[(usize, u8)]| {
        let mut bytes = good.clone();
        changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
        of_file(bytes).graphs().unwrap_err().to_string()
    };
    let (waits, entry) = (|node| number_of_node(node, 0), |place: usize| number_of_node(4, 4 * place));
    for (changes, message) in [
        (vec![(waits(1), 2)], "nodes that wait for 4 operations in all, and 3 dependants; expected equal numbers"),
        (vec![(waits(1), 2), (waits(2), 0)], "byte 42: the end of the roots; expected 2, which waits for nothing"),
        (vec![(waits(0), 1), (waits(1), 0)], "byte 38: root 0; expected 1, which waits for nothing"),
        (vec![(38, 3)], "byte 38: root 3; expected 0, which waits for nothing"),
        // The last waits in vain, as another is released twice; and two that wait for each other.
        (vec![(entry(2), 1)], "operation 1 waits for fewer operations than it is to wait for"),
        (vec![(waits(1), 2), (waits(3), 0), (entry(2), 1)], "expected 3, which waits for nothing"),
        (vec![(entry(0), 3), (entry(2), 1)], "rank0: operation 1 waits for itself through others; expected"),
    ] {
        let error = with(&changes);
        assert!(error.contains(message), "{message}: {error}");
    }
}

/// A file that cannot be read any more after so many reads.
struct Vanishing(Vec<u8>, std::sync::atomic::AtomicU64);

impl crate::ReadAt for Vanishing {
    fn length(&self) -> u64 {
        self.0.length()
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> std::io::Result<()> {
        let left = self.1.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        if left == 0 { Err(std::io::ErrorKind::NotFound.into()) } else { self.0.read_at(bytes, at) }
    }
}

#[test]
fn a_file_that_cannot_be_read_any_more_ends_its_graph() {
    let (mut builder, stream) = one_stream();
    (0..200).for_each(|_| _ = builder.chain(stream, compute()));
    let bytes = binary_of(&Traffic::Graphs { ranks: vec![Arc::new(builder.build().unwrap())], iterations: 1 });
    let file = TraceFile::new(Vanishing(bytes, 40.into()), String::new());
    let graph = Goal { content: Some(file), ..Goal::default() }.graphs().unwrap().remove(0);
    for _ in 0..9 {
        let (mut ready, mut run) = (Vec::new(), GraphRun::new(graph.clone()));
        run.begin(Time::ZERO, |node, _| ready.push(node));
        while let Some(node) = ready.pop() {
            if run.start(node, |node, _| ready.push(node)) {
                run.complete(node, Time::ZERO, None, |node, _| ready.push(node));
            }
        }
        if let Some(failure) = run.failure() {
            assert!(failure.to_string().contains("cannot be read"), "{failure}");
            return assert!(run.left() > 0);
        }
    }
    panic!("the file could always be read");
}

#[test]
fn a_text_becomes_a_binary_rank_by_rank() {
    let converted = |text: &str| {
        let mut bytes = Cursor::new(Vec::new());
        Goal::convert(text.as_bytes(), &mut bytes).map(|()| bytes.into_inner())
    };
    for text in [DISSEMINATION, GRAPH, OWN] {
        assert_eq!(converted(text).unwrap(), binary_of(&goal(text).traffic(1).unwrap()));
    }
    for (text, message) in [
        (String::new(), "line 1: nothing; expected `num_ranks`"),
        (
            "num_ranks 2\nrank 1 {\n}\nrank 0 {\n}\n".into(),
            "line 3: the end of rank 1 in place of rank 0; expected ranks in order",
        ),
        ("num_ranks 2\nrank 1 {\nl1: calc\n}\n".into(), "line 3: l1: calc; expected `send Nb to RANK`"),
        ("num_ranks 2\nrank 1 {\n".into(), "line 2: the text ends inside of rank 1"),
        (format!("num_ranks 2\n//{}\n", " ".repeat(1 << 20)), "line 2: 1048576 bytes without an end"),
    ] {
        let error = converted(&text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("text: {message}")), "{error}");
    }
}

/// Two ranks label messages with tag 1 alike, one alone those with tag 2, and both differently those with tag 3.
#[test]
fn messages_have_the_label_of_all_sends_with_their_tag_or_the_tag() {
    let rank = |number, label: &str| {
        let peer = 1 - number;
        let send = |label: &str, tag| format!("{label}send 8b to {peer} tag {tag}\nrecv 8b from {peer} tag {tag}\n");
        let sends = [send("grad: ", 1), send(if number == 0 { "a: " } else { "" }, 2), send(label, 3)];
        format!("rank {number} {{\n{}}}\n", sends.concat())
    };
    let text = format!("num_ranks 2\n{}{}", rank(0, "b: "), rank(1, "c: "));
    let (tags, own) = (BTreeSet::from([1, 2, 3, 4]), Goal { text, ..Goal::default() });
    let of = |goal: &Goal| goal.purposes(&tags).into_values().collect::<Vec<_>>();
    assert_eq!(of(&own), ["grad (tag 1)", "tag 2", "tag 3", "tag 4"]);
    let traffic = own.traffic(1).unwrap();
    assert_eq!(of(&of_file(binary_of(&traffic))), ["tag 1", "tag 2", "tag 3", "tag 4"]);
    let long = Goal { text: own.text.replace("grad", &"g".repeat(99)), ..Goal::default() };
    assert_eq!(of(&long)[0], format!("{} (tag 1)", "g".repeat(63)));
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(words in [words(), words()], noise in "\\PC{0,20}", has_ranks in any::<bool>()) {
        let [first, second] = words.map(|words| words.concat());
        let text = match has_ranks {
            true => format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}\n{noise}"),
            false => format!("num_ranks 2\n{first}{noise}"),
        };
        let length = text.len() as u64;
        if let Ok(ranks) = (Goal { text, ..Goal::default() }).graphs() {
            let memory: u64 = ranks.iter().map(|rank| rank.memory() - size_of::<Graph>() as u64).sum();
            assert!(memory <= 16 * length, "{memory} B of {length} B");
            let written = |ranks| text_of(&Traffic::Graphs { ranks, iterations: 1 });
            let once = written(ranks);
            assert_eq!(written(graphs_of(&once)), once);
        }
    }

    #[test]
    fn no_damage_breaks_the_reader_of_binaries(damage in damage(), is_named in any::<bool>()) {
        let text = if is_named { DISSEMINATION } else { GRAPH };
        let good = binary_of(&goal(text).traffic(1).unwrap());
        let bytes = damaged(&good, &damage);
        // Graphs that pass the checks run to their end.
        if let Ok(graphs) = of_file(bytes).graphs() {
            let memory = graphs.iter().map(|graph| graph.memory()).max().unwrap_or(0);
            // A byte for each stream, and for each of three peers its rank and its communicators.
            assert!(memory <= size_of::<Graph>() as u64 + 256 + (4 + 4) * 3, "{memory} B of a graph in its file");
            let nodes: Vec<_> = graphs.iter().map(|graph| graph.nodes().unwrap()).collect();
            let in_memory = graphs.iter().zip(nodes).map(|(graph, nodes)| (graph.facts(), GraphFacts::of(nodes.ops())));
            in_memory.for_each(|(facts, again)| assert_eq!(*facts, again));
        }
    }
}
