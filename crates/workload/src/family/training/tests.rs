use std::collections::{BTreeSet, VecDeque};

use etherweave_primitives::{BitRate, Bytes, Duration};

use super::{AcceleratorNode, Outermost, Parallelism, Training, Transformer, groups::Numbering};
use crate::{Graph, GraphFacts, GraphOp, Traffic, check_graphs, collective::Library, generator::Generator};

/// 4 layers of width 64, so that a step is small.
pub(super) fn small() -> Training {
    let model = Transformer {
        layers: 4,
        hidden: 64,
        feed_forward: 128,
        key_value: 32,
        vocabulary: 256,
        sequence: 64,
        ..Transformer::default()
    };
    let parallel = Parallelism { tensor: 1, sequence: false, pipeline: 1, ..Parallelism::default() };
    let node = AcceleratorNode { accelerators: 1, ..AcceleratorNode::default() };
    Training { ranks: 4, model, parallel, node, batch: 8, ..Training::default() }
}

/// Returns the bytes that a rank sends, but for the norm of the gradients [B].
fn sent(graph: &Graph) -> u64 {
    let of_op = |op| if let GraphOp::Send { bytes, .. } = op { bytes } else { 0 };
    graph.nodes().unwrap().ops().map(of_op).filter(|&bytes| bytes > 64).sum()
}

/// How long a rank computes, in its node too.
fn computed(graph: &Graph) -> Duration {
    Duration::from_ps(graph.facts().computed_ps)
}

/// Operations of a step, by the rule that backward takes twice as many as forward.
fn operations(training: &Training) -> u64 {
    3 * u64::from(training.batch) * u64::from(training.model.sequence) * training.model.operations()
}

fn time_of(operations: u64, training: &Training) -> Duration {
    Duration::from_ps((u128::from(operations) * u128::from(training.per_teraflop.as_ps()) / 1_000_000_000_000) as u64)
}

#[test]
fn every_plan_sends_what_is_received() {
    let plans = [
        Parallelism { tensor: 2, pipeline: 2, ..small().parallel },
        Parallelism { tensor: 2, context: 2, sequence: true, ..small().parallel },
        Parallelism { pipeline: 2, interleave: 2, ..small().parallel },
        Parallelism { expert: 4, zero: 1, ..small().parallel },
        Parallelism { expert: 2, context: 2, zero: 2, ..small().parallel },
        Parallelism { pipeline: 2, interleave: 2, zero: 2, prefetch: true, ..small().parallel },
        Parallelism { tensor: 2, expert: 2, zero: 3, ..small().parallel },
        Parallelism { bucket: Some(Bytes::new(20_000)), ..small().parallel },
        Parallelism { tensor: 4, pipeline: 2, outermost: Outermost::Data, ..small().parallel },
        Parallelism { tensor: 2, context: 2, expert: 2, outermost: Outermost::Data, ..small().parallel },
    ];
    for parallel in plans {
        for accelerators in [1, 2, 4] {
            let experts = parallel.expert.max(2);
            let model = Transformer { experts, experts_per_token: 2, is_tied: accelerators == 2, ..small().model };
            let node = AcceleratorNode { accelerators, ..AcceleratorNode::default() };
            let training =
                Training { ranks: 16, batch: 32, model, node, recompute: true, parallel: parallel.clone(), ..small() };
            let graphs = training.graphs().unwrap();
            assert_eq!(check_graphs(&graphs), Ok(()), "{parallel:?}");
        }
    }
}

/// How many transfers in the node may be in progress at once, if all else takes no time and `end` takes the next that
/// ends.
fn transfers_at_once(graph: &Graph, end: fn(&mut VecDeque<u32>) -> Option<u32>) -> u64 {
    let nodes = graph.nodes().unwrap();
    let mut waits = nodes.waits().to_vec();
    let mut ready: Vec<u32> = (0..).zip(&waits).filter(|&(_, &count)| count == 0).map(|(node, _)| node).collect();
    let (mut transfers, mut at_once) = (VecDeque::new(), 0);
    loop {
        let complete = match ready.pop() {
            Some(node) if matches!(nodes.op(node), GraphOp::Transfer { .. }) => {
                transfers.push_back(node);
                at_once = at_once.max(transfers.len() as u64);
                continue;
            }
            Some(node) => node,
            None => match end(&mut transfers) {
                Some(node) => node,
                None => return at_once,
            },
        };
        for &node in nodes.after(complete).iter().chain(nodes.after_start(complete)) {
            waits[node as usize] -= 1;
            ready.extend((waits[node as usize] == 0).then_some(node));
        }
    }
}

/// The limit of a run without progress counts on it.
#[test]
fn parameters_gradients_and_layers_are_a_chain_of_transfers_each() {
    let plan = |zero, prefetch| Parallelism {
        tensor: 2,
        zero,
        prefetch,
        bucket: Some(Bytes::new(20_000)),
        ..small().parallel
    };
    let at_once = [plan(0, false), plan(1, true), plan(2, false), plan(3, false)].map(|parallel| {
        let node = AcceleratorNode { accelerators: 4, ..AcceleratorNode::default() };
        let training = Training { ranks: 8, node, parallel, ..small() };
        let graphs = training.graphs().unwrap();
        let orders = [VecDeque::pop_front, VecDeque::pop_back];
        let counts = graphs.iter().flat_map(|graph| orders.map(|end| transfers_at_once(graph, end)));
        counts.max().unwrap()
    });
    assert_eq!(at_once, [2, 2, 2, GraphFacts::TRANSFERS_AT_ONCE_MAX]);
}

/// Without gradients that are exchanged in time, a step computes what the model counts, shared by all.
#[test]
fn computation_is_what_the_model_counts() {
    let training = Training { ranks: 2, ..small() };
    let each = time_of(operations(&training) / 2, &training);
    for graph in training.graphs().unwrap() {
        let difference = computed(&graph).as_ps().abs_diff(each.as_ps());
        assert!(difference <= 1_000, "{} {each}", computed(&graph));
    }
    let again = Training { recompute: true, ..training.clone() };
    let layers = 4 * (training.model.attention_operations() + training.model.perceptron_operations());
    let more = computed(&again.graphs().unwrap()[0]) - computed(&training.graphs().unwrap()[0]);
    let expected = time_of(layers * 64 * 4, &training);
    assert!(more.as_ps().abs_diff(expected.as_ps()) <= 1_000, "{more} {expected}");
}

/// 2 (d - 1)/d of the gradients by a ring; with ZeRO the same for gradients and parameters together, with ZeRO 3 a
/// third more for each pass that gathers parameters again.
#[test]
fn data_parallel_ranks_send_what_the_formulas_say() {
    let (d, elements) = (4, small().model.parameters());
    let of_zero = |zero: u32| {
        let parallel = Parallelism { zero, ..small().parallel };
        let training =
            Training { batch: 4, gradient_bytes: 2, library: Library::OpenMpi40, network_rate: None, ..small() };
        sent(&Training { parallel, ..training }.graphs().unwrap()[0])
    };
    let ring = 2 * elements * (d - 1) / d;
    let near = |bytes: u64, expected: u64| assert!(bytes.abs_diff(expected) * 100 <= expected, "{bytes} {expected}");
    near(of_zero(0), 2 * ring);
    near(of_zero(1), 2 * ring);
    near(of_zero(2), 2 * ring);
    let of_layers = 2 * (elements - 2 * small().model.embedding()) * (d - 1) / d;
    let of_ends = 2 * 2 * small().model.embedding() * (d - 1) / d;
    near(of_zero(3), ring + 2 * of_layers + of_ends);
}

/// The same bytes as at the end of a step, before what takes them: of the first layer from the start of the step on,
/// of each further one while the layer before computes.
#[test]
fn parameters_are_gathered_ahead_of_their_layers() {
    let of_prefetch = |prefetch: bool| {
        let parallel = Parallelism { zero: 1, prefetch, pipeline: 2, ..small().parallel };
        let training = Training { ranks: 8, library: Library::OpenMpi40, network_rate: None, parallel, ..small() };
        let graphs = training.graphs().unwrap();
        assert_eq!(check_graphs(&graphs), Ok(()));
        graphs[0].clone()
    };
    let [end, ahead] = [false, true].map(of_prefetch);
    assert_eq!(sent(&end), sent(&ahead));
    // What precedes the first computation of a layer: nothing, or the embedding and two layers.
    let first_sent = |graph: &Graph| {
        let ops: Vec<GraphOp> = graph.nodes().unwrap().ops().collect();
        let first = ops.iter().position(|op| matches!(op, GraphOp::Compute { duration } if !duration.is_zero()));
        ops[..first.unwrap()].iter().filter(|op| matches!(op, GraphOp::Send { .. })).count()
    };
    assert_eq!(first_sent(&end), 0);
    assert!(first_sent(&ahead) >= 3, "{}", first_sent(&ahead));
}

/// Gradients of the embedding are exchanged once in one stage; in two stages both have them for a group of their
/// own, and then add them up: two of them send all of it to each other in halves, twice.
#[test]
fn an_embedding_that_is_the_output_layer_has_one_gradient() {
    let sent_by = |ranks: u32, is_tied: bool, pipeline: u32| {
        let model = Transformer { is_tied, ..small().model };
        let parallel = Parallelism { pipeline, ..small().parallel };
        let training = Training { ranks, model, parallel, library: Library::OpenMpi40, network_rate: None, ..small() };
        let graphs = training.graphs().unwrap();
        assert_eq!(check_graphs(&graphs), Ok(()));
        sent(&graphs[0])
    };
    let embedding = 4 * small().model.embedding();
    assert_eq!(sent_by(4, false, 1) - sent_by(4, true, 1), embedding * 2 * 3 / 4);
    assert_eq!(sent_by(2, true, 2) - sent_by(2, false, 2), embedding);
}

/// Four accelerators reduce 147,456 B of each layer, and 65,536 B of the embedding and the output layer. A ring sends a
/// quarter of a part at a time: of 20,000 B at most in 8 and 4 parts, 6 messages each.
#[test]
fn gradients_are_exchanged_in_parts_of_the_bucket() {
    let of_bucket = |bucket: Option<u64>| {
        let parallel = Parallelism { bucket: bucket.map(Bytes::new), ..small().parallel };
        let training = Training { library: Library::OpenMpi40, network_rate: None, parallel, ..small() };
        training.graphs().unwrap()[0].clone()
    };
    let longest = |graph: &Graph| {
        let of_op = |op| if let GraphOp::Send { bytes, .. } = op { bytes } else { 0 };
        graph.nodes().unwrap().ops().map(of_op).max().unwrap()
    };
    let [whole, parts] = [None, Some(20_000)].map(of_bucket);
    assert_eq!(sent(&whole), sent(&parts));
    assert!(longest(&parts) <= 20_000 / 4, "{}", longest(&parts));
    let messages = |graph: &Graph| graph.nodes().unwrap().ops().filter(|op| op.tag().is_some()).count();
    let of_norm = messages(&of_bucket(Some(1 << 30))) - 2 * 6;
    assert_eq!(messages(&parts) - of_norm, 2 * 6 * (4 * 8 + 2 * 4));
}

/// Two accelerators of a node share a sequence: keys and values of a micro-batch, 64 tokens of 2 x 32 elements of 2 B,
/// three times a layer, half of them over a channel of 1 Gb/s instead of the node's links.
#[test]
fn keys_and_values_pass_the_channels_of_their_communicator() {
    let node = AcceleratorNode { accelerators: 2, rate: BitRate::from_gbps(8), ..AcceleratorNode::default() };
    let time = |context_rate: Option<BitRate>| {
        let parallel = Parallelism { context: 2, context_rate, ..small().parallel };
        let training = Training { ranks: 2, batch: 1, node: node.clone(), parallel, ..small() };
        assert_eq!(check_graphs(&training.graphs().unwrap()), Ok(()));
        (computed(&training.graphs().unwrap()[0]), training.step_times().unwrap().in_node_s)
    };
    let [links, channel] = [None, Some(BitRate::from_gbps(1))].map(time);
    let difference = Duration::from_ns(4 * 3 * 64 * 2 * 32 * 2 / 2 * (8 - 1));
    assert_eq!(channel.0 - links.0, difference);
    assert!((channel.1 - links.1 - difference.as_s_f64()).abs() < 1e-9, "{} {}", channel.1, links.1);
}

/// Rings of which two rounds stand for seven send the same bytes in fewer messages.
#[test]
fn fewer_rounds_carry_all_bytes() {
    let library = Library::OpenMpi40;
    let all = Training { ranks: 8, library, network_rate: None, ..small() };
    let few = Training { rounds: Some(2), ..all.clone() };
    let [all, few] = [all, few].map(|training| training.graphs().unwrap());
    assert_eq!(check_graphs(&few), Ok(()));
    let sends = |graph: &Graph| graph.facts().sent.messages;
    assert!(sends(&few[3]) < sends(&all[3]), "{} {}", sends(&few[3]), sends(&all[3]));
    let difference = sent(&few[3]).abs_diff(sent(&all[3]));
    assert!(difference * 1_000 <= sent(&all[3]), "{} {}", sent(&few[3]), sent(&all[3]));
}

/// 126 layers on 16 stages of 8 parts, as those who trained Llama 3 did it: no layer in the first and the last part.
#[test]
fn the_first_and_the_last_part_may_have_a_layer_less() {
    let parallel = Parallelism { pipeline: 16, interleave: 8, ..small().parallel };
    let training = Training { model: Transformer { layers: 126, ..small().model }, parallel, ..small() };
    assert_eq!([training.layers(0, 0), training.layers(15, 7)], [0, 0]);
    let all: u32 = (0..16)
        .flat_map(|stage| (0..8).map(move |part| (stage, part)))
        .map(|(stage, part)| training.layers(stage, part))
        .sum();
    assert_eq!(all, 126);
}

/// Eight accelerators in two stages of two replicas that divide tensors by two.
#[test]
fn replicas_or_stages_are_outermost() {
    let numbering = |outermost: Outermost| {
        let parallel = Parallelism { tensor: 2, pipeline: 2, outermost, ..small().parallel };
        Numbering::new(&Training { ranks: 8, parallel, ..small() })
    };
    let stages = |outermost: Outermost| (0..8).map(|rank| numbering(outermost).stage(rank)).collect::<Vec<_>>();
    assert_eq!(stages(Outermost::Pipeline), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(stages(Outermost::Data), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(numbering(Outermost::Pipeline).at_stage(3, 1).get(), 7);
    assert_eq!(numbering(Outermost::Data).at_stage(5, 1).get(), 7);
}

/// Activations to the next stage of each micro-batch; half of them where two accelerators share the tokens.
#[test]
fn stages_pass_activations_on() {
    let parallel = Parallelism { pipeline: 2, tensor: 2, ..small().parallel };
    let node = AcceleratorNode { accelerators: 2, ..AcceleratorNode::default() };
    let training = Training { parallel: parallel.clone(), node, ..small() };
    let activation = 64 * 64 * 2;
    assert_eq!(sent(&training.graphs().unwrap()[0]), 8 * activation);
    let shared = Training { parallel: Parallelism { sequence: true, ..parallel.clone() }, ..training.clone() };
    assert_eq!(sent(&shared.graphs().unwrap()[0]), 8 * activation / 2);
    let parts = Training { parallel: Parallelism { interleave: 2, ..parallel }, ..training };
    // Forward from both parts of the first stage, and back from its second.
    assert_eq!(sent(&parts.graphs().unwrap()[0]), 3 * 8 * activation);
}

/// Two all-reduces of the activations in each layer and direction; in a node they take the time of the formula.
#[test]
fn tensors_are_exchanged_twice_a_layer_and_direction() {
    let parallel = Parallelism { tensor: 4, ..small().parallel };
    let model = Transformer { sequence: 1_024, ..small().model };
    let training = Training { batch: 1, model, library: Library::OpenMpi40, network_rate: None, parallel, ..small() };
    let activation = 1_024 * 64 * 2;
    assert_eq!(sent(&training.graphs().unwrap()[0]), 4 * 4 * activation * 2 * 3 / 4);
    let (rate, latency) = (BitRate::from_gbps(8), Duration::from_us(1));
    let node = AcceleratorNode { accelerators: 4, rate, latency, ..AcceleratorNode::default() };
    let in_node = Training { node, ..training };
    let graph = &in_node.graphs().unwrap()[0];
    let of_exchanges = (Duration::from_us(1) + Duration::from_ns(activation * 2 * 3 / 4)) * 16;
    let of_norm = Duration::from_us(1) + Duration::from_ns(12);
    let expected = time_of(operations(&in_node) / 4, &in_node) + of_exchanges + of_norm;
    let duration = computed(graph);
    assert!(duration.as_ps().abs_diff(expected.as_ps()) <= 20_000, "{duration} {expected}");
}

#[test]
fn all_messages_of_a_step_have_a_purpose() {
    let parallel = Parallelism { tensor: 2, context: 2, pipeline: 2, ..small().parallel };
    let training = Training { ranks: 16, parallel, ..small() };
    let Traffic::Graphs { ranks, .. } = training.traffic(0).unwrap() else { panic!("a step is a graph") };
    let ops = ranks.iter().flat_map(|graph| graph.nodes().unwrap().ops().collect::<Vec<_>>());
    let purposes: BTreeSet<String> = ops.filter_map(GraphOp::tag).map(|tag| training.purpose(tag).unwrap()).collect();
    let expected = [
        "context-parallel allgather",
        "context-parallel reduce_scatter",
        "data-parallel allreduce",
        "pipeline",
        "tensor-parallel allreduce",
        "world allreduce",
    ];
    assert_eq!(purposes.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}
