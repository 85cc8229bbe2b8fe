use std::io::Write;

use etherweave_primitives::Rank;
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use prost::Message;

use super::message::{Attribute, Bools, GlobalMetadata, Node, Value, Values, kind};
use super::*;
use crate::{ExecutionStream, Fft, Goal, GraphBuilder, GraphOp, Halo3d, Op, Workload};

fn trace(nodes: &[Node]) -> Vec<u8> {
    trace_of("0.0.4", nodes)
}

fn trace_of(version: &str, nodes: &[Node]) -> Vec<u8> {
    let metadata = GlobalMetadata { version: version.to_owned(), ..GlobalMetadata::default() };
    let mut bytes = metadata.encode_length_delimited_to_vec();
    nodes.iter().for_each(|node| node.encode_length_delimited(&mut bytes).unwrap());
    bytes
}

fn chakra(traces: &[Vec<u8>]) -> Chakra {
    let open = |bytes: &Vec<u8>| TraceFile::new(bytes.clone(), String::new());
    Chakra { content: traces.iter().map(open).collect(), ..Chakra::default() }
}

fn ranks(nodes: &[&[Node]]) -> Chakra {
    chakra(&nodes.iter().map(|nodes| trace(nodes)).collect::<Vec<_>>())
}

fn node(id: u64, kind: i32, attributes: &[(&str, i64)], after: &[u64]) -> Node {
    let attributes = attributes.iter().map(|&(name, number)| Attribute::new(name, Value::Int64(number))).collect();
    Node { id, name: format!("n{id}"), kind, attributes, data_dependencies: after.to_vec(), ..Node::default() }
}

fn compute(id: u64, us: u64, after: &[u64]) -> Node {
    Node { duration_micros: us, ..node(id, kind::COMPUTE, &[], after) }
}

fn send(id: u64, to: i64, after: &[u64]) -> Node {
    node(id, kind::SEND, &[("comm_dst", to), ("comm_size", 8)], after)
}

fn receive(id: u64, from: i64, after: &[u64]) -> Node {
    node(id, kind::RECEIVE, &[("comm_src", from), ("comm_size", 8)], after)
}

fn collective(id: u64, kind: i64, bytes: i64) -> Node {
    node(id, kind::COLLECTIVE, &[("comm_type", kind), ("comm_size", bytes)], &[])
}

fn in_group(name: &str, mut node: Node) -> Node {
    node.attributes.push(Attribute::new("pg_name", Value::Text(name.to_owned())));
    node
}

fn on_cpu(mut node: Node) -> Node {
    node.attributes.push(Attribute::new("is_cpu_op", Value::Bool(true)));
    node
}

fn process_groups(values: &str) -> Node {
    let inputs = Some(Values { values: values.to_owned() });
    let name = "## process_group:init ##".to_owned();
    Node { inputs, name, ..node(0, kind::METADATA, &[("is_cpu_op", 1)], &[]) }
}

fn refused(chakra: &Chakra) -> String {
    chakra.graphs().unwrap_err().to_string()
}

/// A rank's messages: peer, payload, whether sent.
fn messages(graph: &Graph) -> Vec<(u32, u64, bool)> {
    let message = |op| match op {
        GraphOp::Send { peer, bytes, .. } => Some((peer.get(), bytes, true)),
        GraphOp::Receive { peer: Some(peer), bytes, .. } => Some((peer.get(), bytes, false)),
        GraphOp::Receive { peer: None, .. }
        | GraphOp::Compute { .. }
        | GraphOp::Copy { .. }
        | GraphOp::Transfer { .. }
        | GraphOp::Repeat { .. } => None,
    };
    graph.nodes().unwrap().ops().filter_map(message).collect()
}

/// Bytes by the rules of Protocol Buffers, a field a line: its number and type in front, lengths before texts.
#[test]
fn a_trace_is_read_as_protocol_buffers_lay_it_out() {
    let metadata = [7, 0x0a, 5, b'0', b'.', b'0', b'.', b'4'].as_slice();
    let first = [
        &[13][..],
        // id 300, type 4, duration 2 us, an unknown field 99, which is skipped
        &[0x08, 0xac, 0x02],
        &[0x18, 4],
        &[0x38, 2],
        &[0x9a, 0x06, 3, b'a', b'b', b'c'],
    ]
    .concat();
    let attributes = |name: &[u8], value: &[u8]| {
        let length = 2 + name.len() + value.len();
        [&[0x52, length as u8, 0x0a, name.len() as u8], name, value].concat()
    };
    let second = [
        // id 7, type 5, waits for 300: unpacked in ctrl_deps, packed in data_deps
        &[0x08, 7, 0x18, 5, 0x20, 0xac, 0x02, 0x2a, 2, 0xac, 0x02][..],
        // int32_val 1, uint64_val 1024, sint32_val -3
        &attributes(b"comm_dst", &[0x38, 1]),
        &attributes(b"comm_size", &[0x68, 0x80, 0x08]),
        &attributes(b"comm_tag", &[0x78, 5]),
    ]
    .concat();
    let bytes = [metadata, &first, &[second.len() as u8], &second].concat();
    let receive = node(1, kind::RECEIVE, &[("comm_src", 0), ("comm_size", 1024), ("comm_tag", -3)], &[]);
    let graphs = chakra(&[bytes, trace(&[receive])]).graphs().unwrap();
    let tag = 3_u32.wrapping_neg();
    let nodes = graphs[0].nodes().unwrap();
    assert_eq!(nodes.op(0), GraphOp::Send { peer: Rank::new(1), tag, bytes: 1024 });
    assert_eq!(nodes.op(1), GraphOp::Compute { duration: Duration::from_us(2) });
    assert_eq!((nodes.after(1), nodes.waits()), ([0].as_slice(), [1, 0].as_slice()));
}

#[test]
fn integers_of_any_width_are_read() {
    let widths: [fn(u32) -> Value; 10] = [
        |number| Value::Int32(number as i32),
        |number| Value::Int64(number.into()),
        Value::Uint32,
        |number| Value::Uint64(number.into()),
        |number| Value::Sint32(number as i32),
        |number| Value::Sint64(number.into()),
        Value::Fixed32,
        |number| Value::Fixed64(number.into()),
        |number| Value::Sfixed32(number as i32),
        |number| Value::Sfixed64(number.into()),
    ];
    let expected = ranks(&[&[send(0, 1, &[])], &[receive(0, 0, &[])]]).graphs().unwrap();
    for width in widths {
        let widened = |mut node: Node| {
            for attribute in &mut node.attributes {
                let number = attribute.value.as_ref().and_then(Value::integer).unwrap();
                attribute.value = Some(width(number as u32));
            }
            node
        };
        let read = ranks(&[&[widened(send(0, 1, &[]))], &[widened(receive(0, 0, &[]))]]).graphs().unwrap();
        assert_eq!(read, expected);
    }
}

#[test]
fn versions_of_other_schemas_are_refused() {
    let node = [compute(0, 1, &[])];
    for version in ["", "0.0.4", "1.0.0", "1.2"] {
        assert!(chakra(&[trace_of(version, &node)]).graphs().is_ok(), "{version}");
    }
    let expected = "file: rank 0: version 0.0.1; expected 0.0.4 or 1 of Chakra's schema";
    assert_eq!(refused(&chakra(&[trace_of("0.0.1", &node)])), expected);
    let of_converter = |schema: &str| {
        let attributes = vec![Attribute::new("schema", Value::Text(schema.to_owned()))];
        let metadata = GlobalMetadata { attributes, ..GlobalMetadata::default() };
        chakra(&[[metadata.encode_length_delimited_to_vec(), node[0].encode_length_delimited_to_vec()].concat()])
    };
    assert!(of_converter("1.1.1-chakra.0.0.4").graphs().is_ok());
    assert_eq!(refused(&of_converter("1.0.1-chakra.0.0.1")), expected);
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
    compressed.write_all(bytes).unwrap();
    compressed.finish().unwrap()
}

#[test]
fn a_compressed_trace_is_the_same() {
    let plain = trace(&[compute(0, 5, &[]), compute(1, 7, &[0])]);
    let compressed = compressed(&plain);
    let cut = compressed[..compressed.len() - 12].to_vec();
    assert_eq!(chakra(&[compressed]).graphs().unwrap(), chakra(&[plain]).graphs().unwrap());
    let error = refused(&chakra(&[cut]));
    assert!(error.starts_with("file: rank 0: byte ") && error.ends_with("; expected a whole file"), "{error}");
}

#[test]
fn nodes_are_performed_by_threads_and_accelerators() {
    let with = |name: &str, number, mut node: Node| {
        node.attributes.push(Attribute::new(name, Value::Int64(number)));
        node
    };
    let nodes = [
        compute(0, 1, &[]),
        on_cpu(with("tid", 9, compute(1, 1, &[]))),
        with("stream", 7, compute(2, 1, &[])),
        collective(3, 9, 0),
        on_cpu(with("tid", 4, compute(4, 1, &[]))),
        with("tid", 7, compute(5, 1, &[])),
    ];
    let graph = &ranks(&[&nodes]).graphs().unwrap()[0];
    let (core, accelerator) = (ExecutionStream::Core, ExecutionStream::Accelerator);
    // Threads 4 and 9, stream 7, computation, communication, and who handles messages.
    assert_eq!(graph.streams(), [core, core, accelerator, accelerator, accelerator, core]);
    assert_eq!([0, 1, 2, 3, 4, 5].map(|node| graph.nodes().unwrap().stream(node)), [3, 1, 2, 4, 0, 2]);
    // Nobody else is needed where there is no thread, or where it is the one that communicates.
    let streams = |nodes: &[Node]| ranks(&[nodes]).graphs().unwrap()[0].streams().to_vec();
    assert_eq!(streams(&[collective(3, 9, 0)]), [accelerator]);
    assert_eq!(streams(&[on_cpu(collective(3, 9, 0)), compute(0, 1, &[])]), [core, accelerator]);
}

#[test]
fn times_are_scaled_and_follow_from_operations_where_there_are_none() {
    let duration = |chakra: &Chakra| match chakra.graphs().unwrap()[0].nodes().unwrap().op(0) {
        GraphOp::Compute { duration } => duration,
        op => panic!("{op:?}"),
    };
    let timed = ranks(&[&[compute(0, 30, &[])]]);
    assert_eq!(duration(&timed), Duration::from_us(30));
    assert_eq!(duration(&Chakra { compute_scale: 0.5, ..timed }), Duration::from_us(15));
    // 5 · 10^9 operations at 2 ms for 10^12.
    let counted = ranks(&[&[node(0, kind::COMPUTE, &[("num_ops", 5_000_000_000)], &[])]]);
    assert_eq!(
        refused(&counted),
        "file: rank 0: node 0 \"n0\": 5000000000 operations and no duration; expected a duration, or \
         `per_teraflop` in the scenario"
    );
    assert_eq!(duration(&Chakra { per_teraflop: Some(Duration::from_us(2_000)), ..counted }), Duration::from_us(10));
    // Accesses to memory take the time that they say, or none.
    for kind in [kind::LOAD, kind::STORE] {
        let access = node(0, kind, &[("tensor_size", 1 << 20), ("num_ops", 5)], &[]);
        assert_eq!(duration(&ranks(&[std::slice::from_ref(&access)])), Duration::ZERO);
        assert_eq!(duration(&ranks(&[&[Node { duration_micros: 3, ..access }]])), Duration::from_us(3));
    }
}

/// Data that each type moves of 96 bytes in a group of three by messages from each to each other.
#[test]
fn a_collective_works_on_what_each_member_puts_in() {
    let sent = |kind: i64, bytes: i64| {
        let nodes = [collective(0, kind, bytes)];
        let linear = Chakra { library: Library::Nccl, ..ranks(&[&nodes, &nodes, &nodes]) };
        linear.graphs().unwrap().iter().map(|graph| graph.facts().sent.bytes).collect::<Vec<_>>()
    };
    // Pairs: a third of it for each of two others. Gathers: all of it to the root. Scatters: a third from the root.
    assert_eq!(sent(6, 96), [64, 64, 64]);
    assert_eq!(sent(3, 96), [0, 96, 96]);
    assert_eq!(sent(4, 96), [64, 0, 0]);
    // By a ring, with a flag for each four bytes: two blocks of each member, and two thirds of the vector.
    assert_eq!(sent(2, 96), [2 * 96 * 2; 3]);
    assert_eq!(sent(7, 96), [2 * 32 * 2; 3]);
    assert_eq!(sent(8, 96), [2 * 32 * 2; 3]);
    assert_eq!(sent(9, 0).iter().sum::<u64>(), 0);
    for kind in [0, 1, 5] {
        assert!(sent(kind, 96).iter().sum::<u64>() >= 2 * 96, "{kind}");
    }
}

#[test]
fn collectives_of_a_group_are_matched_by_number_and_keep_their_messages_apart() {
    // The second of each rank comes first in the file of rank 1.
    let [first, second] = [collective(4, 6, 20), collective(9, 6, 40)];
    let graphs = ranks(&[&[first.clone(), second.clone()], &[second, first]]).graphs().unwrap();
    assert_eq!(graphs[0].nodes().unwrap().ops().collect::<Vec<_>>().len(), graphs[1].len());
    let tags = |graph: &Graph, bytes: u64| -> Vec<u32> {
        let tag = |op| match op {
            GraphOp::Send { tag, bytes: sent, .. } if sent == bytes => Some(tag),
            _ => None,
        };
        graph.nodes().unwrap().ops().filter_map(tag).collect()
    };
    assert_eq!(tags(&graphs[0], 10), tags(&graphs[1], 10));
    assert_eq!(tags(&graphs[0], 20), tags(&graphs[1], 20));
    assert_ne!(tags(&graphs[0], 10), tags(&graphs[0], 20));
}

#[test]
fn groups_are_those_of_the_scenario_and_of_pytorch() {
    let barrier = |name: &str| in_group(name, collective(5, 6, 12));
    let named = ranks(&[&[barrier("7")], &[], &[barrier("7")]]);
    let groups = Chakra::groups_of("{\"7\": [2, 0]}").unwrap();
    let of_scenario = Chakra { groups, ..named }.graphs().unwrap();
    assert_eq!(messages(&of_scenario[0]), [(2, 6, false), (2, 6, true)]);
    assert!(of_scenario[1].is_empty());
    // What `str` makes of a list with a string.
    let text =
        r#"['[{"pg_name": "7", "ranks": [0, 2], "backend_config": "cuda:nccl"}, {"pg_name": "0", "ranks": []}]']"#;
    let noted = process_groups(text);
    let of_trace = ranks(&[&[noted.clone(), barrier("7")], &[], &[noted.clone(), barrier("7")]]).graphs().unwrap();
    assert_eq!(messages(&of_trace[0]), [(2, 6, false), (2, 6, true)]);
    for (list, size, message) in [
        ("", 8, "group_size 8 of group \"a\"; expected 1, a trace for each: a group without a list has all ranks"),
        ("0", 2, "group_size 2 of group \"a\"; expected 1, as many as its list has"),
    ] {
        let values = format!("['[{{\"pg_name\": \"a\", \"ranks\": [{list}], \"group_size\": {size}}}]']");
        let error = refused(&ranks(&[&[process_groups(&values)]]));
        assert!(error.contains(message), "{error}");
    }
    let error = refused(&ranks(&[&[process_groups(r#"['[{"pg_name": 7}]']"#)]]));
    assert!(
        error.starts_with(
            "file: rank 0: node 0 \"## process_group:init ##\": process groups: invalid type: integer `7`"
        ),
        "{error}"
    );
    // An empty list is of all ranks, as no name is.
    let all = ranks(&[&[noted.clone(), barrier("0")], &[collective(5, 6, 12)]]);
    let error = refused(&all);
    assert!(error.contains("rank 1 has 0 collectives of group \"0\""), "{error}");
    let all = ranks(&[&[noted, barrier("0")], &[barrier("0")]]).graphs().unwrap();
    assert_eq!(messages(&all[1]), [(0, 6, false), (0, 6, true)]);
}

/// Halo, transforms and collectives, as GOAL has them too.
#[test]
fn what_is_written_waits_for_the_same_as_in_goal() {
    let workloads = [
        Workload::Halo3d(Halo3d { iterations: 2, ..Halo3d::default() }),
        Workload::Fft(Fft { iterations: 2, ..Fft::default() }),
    ];
    for workload in workloads {
        let traffic = workload.traffic(3).unwrap();
        let read = chakra(&Chakra::write(&traffic).unwrap()).graphs().unwrap();
        let mut text = Vec::new();
        Goal::write(&traffic, &mut text).unwrap();
        let goal = Goal { text: String::from_utf8(text).unwrap(), ..Goal::default() };
        let sequence = |graphs: &[Arc<Graph>]| {
            let programs = crate::programs_of_graphs(graphs, 1).unwrap();
            programs.iter().map(|program| program.ops().copied().collect::<Vec<Op>>()).collect::<Vec<_>>()
        };
        assert_eq!(sequence(&read), sequence(&goal.graphs().unwrap()));
    }
}

/// Times of picoseconds, streams of either kind, and dependencies on starts.
#[test]
fn a_graph_is_read_as_it_was_written() {
    let mut builder = GraphBuilder::default();
    let [core, gpu] = [ExecutionStream::Core, ExecutionStream::Accelerator].map(|stream| builder.stream(stream));
    let work = |ps| GraphOp::Compute { duration: Duration::from_ps(ps) };
    let first = builder.add(gpu, work(1_234_567), &[]);
    let send = builder.add(core, GraphOp::Send { peer: Rank::new(1), tag: 5, bytes: 9 }, &[first]);
    let beside = builder.add(gpu, work(77), &[]);
    builder.after_start(beside, &[send]);
    let graph = Arc::new(builder.build().unwrap());
    let receive = {
        let mut builder = GraphBuilder::default();
        let core = builder.stream(ExecutionStream::Core);
        builder.add(core, GraphOp::Receive { peer: Some(Rank::new(0)), tag: Some(5), bytes: 9 }, &[]);
        Arc::new(builder.build().unwrap())
    };
    let written = Chakra::write(&Traffic::Graphs { ranks: vec![graph.clone(), receive], iterations: 1 }).unwrap();
    let read = chakra(&written).graphs().unwrap();
    assert_eq!(read[0].nodes().unwrap().ops().collect::<Vec<_>>(), graph.nodes().unwrap().ops().collect::<Vec<_>>());
    assert_eq!(read[0].streams(), graph.streams());
    // What waits for the start of the send waits for what the send waits for.
    let nodes = read[0].nodes().unwrap();
    assert_eq!((nodes.after(0), nodes.after_start(1)), ([1, 2].as_slice(), [].as_slice()));
}

#[test]
fn what_chakra_does_not_have_is_not_written() {
    let any = "num_ranks 2\nrank 0 {\na: recv 8b from -1\n}\nrank 1 {\na: send 8b to 0\n}\n";
    let traffic = Goal { text: any.to_owned(), ..Goal::default() }.traffic(1).unwrap();
    let error = Chakra::write(&traffic).unwrap_err().to_string();
    assert!(error.starts_with("operation 0 of rank 0 receives from any rank or with any tag"), "{error}");
}

#[test]
fn nodes_that_cannot_be_performed_are_named() {
    let long = 1 << 41;
    for (node, message) in [
        (node(3, 0, &[], &[]), "a node of type 0; expected a type from 1 to 7"),
        (compute(3, 1, &[4]), "waits for node 4 of data_deps, which does not exist; expected a node of the same trace"),
        (compute(3, 1, &[3]), "waits for itself through others; expected dependencies without a cycle"),
        (node(3, kind::SEND, &[("comm_size", 8)], &[]), "no comm_dst; expected an attribute of this name"),
        (node(3, kind::SEND, &[("comm_dst", 0)], &[]), "no comm_size; expected"),
        (node(3, kind::SEND, &[("comm_dst", -1), ("comm_size", 8)], &[]), "comm_dst -1; expected 0 to"),
        (node(3, kind::SEND, &[("comm_dst", 0), ("comm_size", long)], &[]), "comm_size 2199023255552; expected 0 to"),
        (node(3, kind::SEND, &[("comm_dst", 9), ("comm_size", 8)], &[]), "comm_dst 9; expected 0 to 0"),
        (
            node(3, kind::SEND, &[("comm_dst", 0), ("comm_size", 8), ("comm_tag", -1)], &[]),
            "comm_tag -1; expected 0 to 4294967294, or -2147483648 to -2 for the upper half of them",
        ),
        (
            send(3, 0, &[]),
            "a send to the rank itself of 8 B under tag 0; expected a receive from itself under this tag",
        ),
        (receive(3, 0, &[]), "a receive from the rank itself of 8 B under tag 0; expected a send to itself"),
        (
            node(3, kind::SEND, &[("comm_src", 1), ("comm_dst", 1)], &[]),
            "comm_src 1 in the trace of rank 0; expected 0",
        ),
        (node(3, kind::RECEIVE, &[("comm_tag", long), ("comm_src", 0)], &[]), "comm_tag 2199023255552; expected"),
        (node(3, kind::COLLECTIVE, &[("comm_size", 8)], &[]), "no comm_type; expected the type of the collective"),
        (collective(3, 10, 8), "comm_type 10; expected 0 to 9"),
        (compute(3, u64::MAX, &[]), "duration [ps] 18446744073709551615000000; expected 0 to"),
    ] {
        let error = refused(&ranks(&[&[node]]));
        assert!(error.starts_with(&format!("file: rank 0: node 3 \"n3\": {message}")), "{message}: {error}");
    }
    let twice = refused(&ranks(&[&[compute(3, 1, &[]), compute(3, 1, &[])]]));
    assert!(twice.contains("node 3 \"n3\": a second node of this number"), "{twice}");
    let cycle = refused(&ranks(&[&[compute(1, 1, &[]), compute(2, 1, &[3]), compute(3, 1, &[2])]]));
    assert!(cycle.contains("node 2 \"n2\": waits for itself through others"), "{cycle}");
    // Of characters of three bytes 21 are 63 bytes, and 22 more than are shown.
    let long = Node { name: "\u{20ac}".repeat(99), ..node(3, 0, &[], &[]) };
    let long = refused(&ranks(&[&[long]]));
    assert!(long.contains(&format!("node 3 \"{}\": a node of type 0", "\u{20ac}".repeat(21))), "{long}");
    let text = Attribute::new("comm_dst", Value::Text("1".to_owned()));
    let text = refused(&ranks(&[&[Node { attributes: vec![text], ..node(3, kind::SEND, &[], &[]) }]]));
    assert!(text.contains("comm_dst is no integer; expected an integer of any width"), "{text}");
    let dimensions = Attribute::new("involved_dim", Value::Bools(Bools { values: vec![true, false] }));
    let mut partial = collective(3, 0, 8);
    partial.attributes.push(dimensions);
    let text = refused(&ranks(&[&[partial]]));
    assert!(text.contains("involved_dim that leaves dimensions of a network out; expected pg_name"), "{text}");
}

/// MPI counts bytes in an `int`, NCCL and UCC do not.
#[test]
fn only_libraries_of_mpi_bound_collectives_by_an_int() {
    let large = [collective(3, 0, 1 << 31)];
    let by = |library| Chakra { library, ..ranks(&[&large, &large]) };
    for library in [Library::Nccl, Library::Ucc] {
        let sent: u64 = by(library).graphs().unwrap().iter().map(|graph| graph.facts().sent.bytes).sum();
        assert!(sent >= 2 << 31, "{library:?}: {sent}");
    }
    let error = refused(&by(Library::Mpich4));
    let expected = "node 3 \"n3\": ALL_REDUCE of 2GiB of 2 members; expected at most 2147483647B of each with mpich_4";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_message_of_a_rank_to_itself_is_a_copy_that_its_receive_waits_for() {
    let graph = &ranks(&[&[receive(1, 0, &[]), compute(2, 1, &[1]), send(3, 0, &[])]]).graphs().unwrap()[0];
    let nodes = graph.nodes().unwrap();
    assert_eq!(nodes.op(2), GraphOp::Copy { bytes: 8 });
    assert_eq!((nodes.after(2), nodes.after(0)), ([0].as_slice(), [1].as_slice()));
}

#[test]
fn the_call_of_a_collective_on_the_cpu_is_a_computation() {
    let call = on_cpu(Node { duration_micros: 85, ..node(0, kind::COLLECTIVE, &[], &[]) });
    let graph = &ranks(&[&[call]]).graphs().unwrap()[0];
    assert_eq!(graph.nodes().unwrap().op(0), GraphOp::Compute { duration: Duration::from_us(85) });
}

#[test]
fn control_dependencies_can_be_left_out() {
    let child = Node { control_dependencies: vec![99], ..compute(1, 1, &[0]) };
    let with = ranks(&[&[compute(0, 1, &[]), child]]);
    let dangling = refused(&with);
    let expected = "waits for node 99 of ctrl_deps, which does not exist; expected a node of the same trace, or \
                    `control_dependencies = false`";
    assert!(dangling.contains(expected), "{dangling}");
    let without = Chakra { control_dependencies: false, ..with }.graphs().unwrap();
    assert_eq!(without[0].nodes().unwrap().waits(), [0, 1]);
}

/// A thread launches kernels on streams 7 and 20 of device 0 and on stream 7 of device 1, a broadcast and a reduction
/// among them; nothing but launches is written, as in mlcommons/chakra, issue 215.
fn profile() -> Vec<Node> {
    let launch = |id| on_cpu(Node { duration_micros: 1, ..node(id, kind::COMPUTE, &[("tid", 1)], &[]) });
    let kernel = |id: u64, [device, stream]: [i64; 2], [start, duration]: [u64; 2]| Node {
        start_micros: start,
        duration_micros: duration,
        ..node(id, kind::COMPUTE, &[("device", device), ("stream", stream)], &[id - 100])
    };
    let of_all = |kind: i64, kernel: Node| {
        let attributes = [("comm_type", kind), ("comm_size", 8)];
        let own = attributes.map(|(name, number)| Attribute::new(name, Value::Int64(number)));
        Node { kind: kind::COLLECTIVE, attributes: kernel.attributes.iter().cloned().chain(own).collect(), ..kernel }
    };
    let kernels = [
        of_all(5, kernel(101, [0, 20], [10, 5])),
        kernel(102, [0, 7], [15, 10]),
        kernel(103, [0, 7], [25, 10]),
        of_all(0, kernel(104, [0, 20], [27, 20])),
        kernel(105, [0, 7], [35, 4]),
        kernel(106, [1, 7], [36, 1]),
        kernel(107, [0, 7], [47, 3]),
    ];
    (1..=7).map(launch).chain(kernels).collect()
}

/// Places of nodes that a node waits for, by the numbers of nodes.
fn waits(graph: &Graph, chakra: &Chakra) -> Vec<(u64, Vec<u64>)> {
    let trace = RankTrace::read(&chakra.content[0], 0, &RULES).unwrap();
    let order = stream_order::order(&trace, chakra.missing_dependencies).unwrap();
    assert!(graph.len() >= trace.nodes.len());
    let id = |place: u32| trace.nodes[place as usize].id;
    let mut waits: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    order.iter().for_each(|&[node, other]| waits.entry(id(node)).or_default().push(id(other)));
    waits.values_mut().for_each(|others| others.sort_unstable());
    waits.into_iter().collect()
}

/// Rank 0 sends with two tags, one of them twice, before an allreduce of both ranks.
#[test]
fn messages_have_the_names_of_nodes_that_send_or_of_their_collective() {
    let tagged = |node: Node, tag| {
        let attributes = [node.attributes.clone(), vec![Attribute::new("comm_tag", Value::Int64(tag))]].concat();
        Node { attributes, ..node }
    };
    let allreduce = |name: &str| Node { name: name.to_owned(), ..collective(9, 0, 64) };
    let sends = [(1, 5), (2, 6), (3, 6)].map(|(id, tag)| tagged(send(id, 1, &[]), tag));
    let receives = [(1, 5), (2, 6), (3, 6)].map(|(id, tag)| tagged(receive(id, 0, &[]), tag));
    let long = format!("gradients \n{}", "ä".repeat(99));
    let nodes = [[&sends[..], &[allreduce(&long)]].concat(), [&receives[..], &[allreduce("other")]].concat()];
    let chakra = ranks(&[&nodes[0], &nodes[1]]);
    let graphs = chakra.graphs().unwrap();
    let tags: BTreeSet<u32> = graphs[0].nodes().unwrap().ops().filter_map(GraphOp::tag).collect();
    let names = chakra.purposes(&tags);
    assert_eq!(names.keys().copied().collect::<BTreeSet<u32>>(), tags);
    let cut = format!("gradients \n{}", "ä".repeat(26));
    let names: Vec<String> = names.into_values().collect();
    assert_eq!(names[..2], ["n1", "tag 6"]);
    assert!(names.len() > 2 && names[2..].iter().all(|name| *name == cut), "{names:?}");
}

#[test]
fn missing_dependencies_of_streams_are_refused_or_rebuilt_from_device_stream_and_start() {
    let nodes = profile();
    let refuse = ranks(&[&nodes, &nodes]);
    // The last ones of three streams have none behind them.
    assert_eq!(
        refused(&refuse),
        "file: rank 0: node 101 \"n101\": one of 4 on streams of an accelerator, behind which others follow, and for \
         which nothing waits; expected dependencies on them, or `missing_dependencies` as \"rebuild\", by device, \
         stream and start, or as \"ignore\""
    );
    let ignore = Chakra { missing_dependencies: MissingDependencies::Ignore, ..refuse.clone() };
    let rebuild = Chakra { missing_dependencies: MissingDependencies::Rebuild, ..refuse };
    let graphs = rebuild.graphs().unwrap();
    assert_eq!(graphs[0].len(), ignore.graphs().unwrap()[0].len(), "the broadcast is kept");
    // Kernel 102 waits for the broadcast, which ended when it began, the reduction for 102 alone on stream 7, and 107
    // for the reduction; 105 began before that ended, and device 1 is apart.
    let expected = [(102, vec![101]), (103, vec![102]), (104, vec![101, 102]), (105, vec![103]), (107, vec![104, 105])];
    assert_eq!(waits(&graphs[0], &rebuild), expected);
    assert_eq!(waits(&graphs[0], &ignore), []);
    let unstarted: Vec<Node> = nodes.into_iter().map(|node| Node { start_micros: 0, ..node }).collect();
    assert_eq!(
        refused(&Chakra { missing_dependencies: MissingDependencies::Rebuild, ..ranks(&[&unstarted, &unstarted]) }),
        "file: rank 0: node 102 \"n102\": one of 7 on streams of an accelerator without start_time_micros; expected \
         starts, by which dependencies are rebuilt"
    );
}

#[test]
fn ranks_that_do_not_fit_together_are_named() {
    let in_7 = |node| in_group("7", node);
    let groups = |chakra: Chakra, members: &[u32]| Chakra {
        groups: BTreeMap::from([("7".to_owned(), members.to_vec())]),
        ..chakra
    };
    let pair = || ranks(&[&[in_7(collective(0, 0, 8))], &[in_7(collective(0, 0, 8))]]);
    for (found, message) in [
        (
            ranks(&[&[send(0, 1, &[])], &[]]),
            "file: rank0 sends a message of 8 B under tag 0 that rank1 does not receive",
        ),
        (ranks(&[&[send(0, 2, &[])], &[]]), "file: rank 0: node 0 \"n0\": comm_dst 2; expected 0 to 1"),
        (
            ranks(&[&[], &[receive(0, 0, &[])]]),
            "file: rank1 waits for a message of 8 B under tag 0 that rank0 does not send",
        ),
        (
            ranks(&[&[receive(0, 1, &[]), send(1, 1, &[0])], &[receive(0, 0, &[]), send(1, 0, &[0])]]),
            "file: 2 ranks wait for ever, rank0 first",
        ),
        (pair(), "file: rank 0: node 0 \"n0\": a collective of group \"7\", which is not defined"),
        (groups(pair(), &[]), "groups.7: a group without ranks; expected at least one rank"),
        (groups(pair(), &[0, 2]), "groups.7: rank 2 of a job of 2 ranks; expected ranks of the job"),
        (groups(pair(), &[0, 0]), "groups.7: rank 0 twice; expected each rank once"),
        (
            groups(pair(), &[0]),
            "file: rank 1: node 0 \"n0\": a collective of group \"7\", to which rank 1 does not belong",
        ),
        (
            groups(ranks(&[&[in_7(collective(0, 0, 8))], &[]]), &[0, 1]),
            "file: rank 1 has 0 collectives of group \"7\", and rank 0 one more, node 0; expected the same collectives",
        ),
        (
            ranks(&[&[collective(0, 0, 8)], &[collective(5, 2, 8)]]),
            "file: rank 1: node 5 \"n5\": ALL_GATHER of 8 B as collective 0 of group \"\"; expected ALL_REDUCE of 8 B, \
             as rank 0 has in node 0",
        ),
        (
            ranks(&[&[collective(0, 0, 8)], &[collective(5, 0, 16)]]),
            "file: rank 1: node 5 \"n5\": ALL_REDUCE of 16 B as collective 0",
        ),
        (chakra(&[]), "file: 0 traces; expected 1 or more"),
        (Chakra { compute_scale: -1.0, ..pair() }, "compute_scale: -1; expected a number of 0 or more"),
    ] {
        let error = refused(&found);
        assert!(error.starts_with(message), "{message}: {error}");
    }
}

#[test]
fn damage_is_reported_with_its_byte() {
    let good = trace(&[compute(0, 5, &[]), compute(1, 7, &[0])]);
    // The metadata takes 8 bytes, the first node 9.
    let cut = |length: usize| good[..length].to_vec();
    for (bytes, message) in [
        (Vec::new(), "an empty file; expected a trace"),
        (cut(5), "byte 0: the trace ends 4 bytes into a message of 7; expected all of it"),
        (cut(good.len() - 1), "byte 17: the trace ends 12 bytes into a message of 13"),
        ([cut(8), vec![0x80]].concat(), "byte 8: the trace ends within the length of a message"),
        ([cut(8), vec![0xff; 6]].concat(), "byte 8: a length of more than 32 bits; expected 32 bits at most"),
        (
            [cut(8), vec![0xff, 0xff, 0xff, 0xff, 0x0f]].concat(),
            "byte 8: a message of 4294967295 bytes; expected at most",
        ),
        ([cut(8), vec![0xff, 0xff, 0x7f]].concat(), "byte 8: the trace ends 0 bytes into a message of 2097151"),
        ([cut(8), vec![2, 0x0a, 9]].concat(), "byte 8: failed to decode"),
    ] {
        let error = refused(&chakra(&[bytes]));
        assert!(error.starts_with(&format!("file: rank 0: {message}")), "{message}: {error}");
    }
}

/// Two ranks with all kinds of nodes, which fit together.
fn good() -> [Vec<u8>; 2] {
    let text = r#"['[{"pg_name": "1", "ranks": [1, 0]}]']"#;
    let noted = process_groups(text);
    let shared = |id| [noted.clone(), in_group("1", collective(id, 0, 64)), compute(8, 3, &[id])];
    [(5, send(9, 1, &[8])), (6, receive(9, 0, &[8]))]
        .map(|(id, message)| trace(&[shared(id).as_slice(), &[message]].concat()))
}

#[test]
fn the_trace_that_is_damaged_below_is_a_good_one() {
    assert_eq!(chakra(&good()).graphs().unwrap().len(), 2);
}

const RULES: Rules = Rules { ranks: 2, control_dependencies: true, compute_scale: 1.0, per_teraflop: None };

proptest! {
    #[test]
    fn no_damage_breaks_the_reader(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        is_compressed in any::<bool>(),
    ) {
        let [mut first, second] = good();
        if is_compressed {
            first = compressed(&first);
        }
        changes.iter().for_each(|(place, byte)| *place.get_mut(&mut first) = *byte);
        // One in a few is cut.
        first.truncate(cut.index(4 * first.len()));
        let length = first.len();
        if let Ok(read) = RankTrace::read(&TraceFile::new(first.clone(), String::new()), 0, &RULES) {
            // A byte that is compressed stands for 1,032 at most (RFC 1951).
            let longest = if is_compressed { 1_032 * length } else { length };
            assert!(read.memory() <= 64 * longest, "{} B of {length} B", read.memory());
        }
        let damaged = chakra(&[first, second]);
        if let Ok(graphs) = damaged.graphs() {
            let written = Chakra::write(&Traffic::Graphs { ranks: graphs, iterations: 1 }).unwrap();
            assert!(chakra(&written).graphs().is_ok());
        }
    }
}
