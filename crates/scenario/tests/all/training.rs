//! Training steps, from the file to the table: communication that no computation hides, by hand, and steps of which
//! some micro-batches are simulated.

use etherweave_scenario::{Column, Run, workload_figures};

/// A layer of 1,024: 4.2 M parameters of the attention, 12.6 M of the perceptron, and 1 M of embedding and output each.
const MODEL: &str =
    "layers = 4, hidden = 1024, feed_forward = 4096, key_value = 1024, vocabulary = 1024, sequence = 8192";
const PARAMETERS: f64 = 4.0 * (4.0 + 12.0) * 1024.0 * 1024.0 + 2.0 * 1024.0 * 1024.0;
/// Payload that a NIC sends in a second: 4,096 B in a frame of 4,178 B, with preamble and gap, at 400 Gb/s [B/s].
const PAYLOAD: f64 = 50e9 * 4096.0 / 4178.0;

/// A step: its time, the bound of its error [s], and parts that are known before.
struct Step {
    time: f64,
    error: f64,
    parts: serde_json::Value,
}

/// The table of `training` with these keys.
fn table(ranks: u32, keys: &str) -> String {
    let node = if keys.contains("node") { "" } else { "node.accelerators = 1\n" };
    format!("ranks = {ranks}\nmodel = {{ {MODEL} }}\n{node}{keys}\n")
}

/// The same on so many hosts of one switch.
fn scenario(ranks: u32, keys: &str) -> String {
    let training = table(ranks, keys);
    format!(
        "topology.single_switch = {{ hosts = {ranks}, rate = \"400Gb/s\" }}\ninterconnect.profile = \
         \"ethernet-400-roce\"\nrun.fidelity = \"flow\"\n[[job]]\nname = \"step\"\n[job.workload.training]\n{training}"
    )
}

/// A run of it.
fn step(ranks: u32, keys: &str) -> Step {
    let text = scenario(ranks, keys);
    let run = Run::start(&text, "x.toml", &[], 1, &[]).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run.finish(&mut |_| true).0;
    let times = |table: &str, column: &str| {
        let table = outcome.tables.iter().find(|own| own.name == table);
        let columns = table.iter().flat_map(|table| &table.columns);
        let times = columns.filter(|(name, _)| *name == column).flat_map(|(_, column)| match column {
            Column::Numbers(times) => times.clone(),
            Column::Integers(_) | Column::Texts(_) => panic!("durations are numbers"),
        });
        times.map(|time| time * 1e-9).collect::<Vec<_>>()
    };
    let longest = |times: Vec<f64>| times.into_iter().fold(0.0, f64::max);
    let shortest = times("repetitions", "waited_ns").into_iter().reduce(f64::min);
    let values: toml::Value = toml::from_str(&table(ranks, keys)).unwrap();
    let workload = serde_json::json!({ "training": values }).to_string();
    let parts = workload_figures(&workload, 1).unwrap_or_else(|error| panic!("{error}"));
    Step {
        time: longest(times("iterations", "duration_ns")),
        error: longest(times("repetitions", "error_ns")) + shortest.unwrap_or(0.0),
        parts: serde_json::from_str(&parts).unwrap(),
    }
}

/// Time of a step beside computation, the bubble, and the imbalance of stages [s].
fn exposed(ranks: u32, keys: &str) -> f64 {
    let Step { time, parts, .. } = step(ranks, keys);
    let known = ["computation_s", "bubble_s", "imbalance_s"].map(|name| parts[name].as_f64().unwrap());
    time - known.iter().sum::<f64>()
}

fn near(seconds: f64, expected: f64) {
    assert!((seconds / expected - 1.0).abs() < 0.02, "{seconds} s, expected {expected} s");
}

/// Two replicas exchange all gradients behind the last layer, and then parameters: each sends half of 4 B and half of
/// 2 B of every parameter. In buckets all gradients but the last leave while the layers before compute: those of the
/// embedding and of a layer are left.
#[test]
fn gradients_are_exposed_behind_the_last_layer() {
    let keys = "batch = 2\nparallel = { tensor = 1, pipeline = 1, zero = 1, bucket = \"1GiB\" }";
    near(exposed(2, keys), 3.0 * PARAMETERS / PAYLOAD);
    let in_buckets = exposed(2, "batch = 2\nparallel = { tensor = 1, pipeline = 1, zero = 1 }");
    let last = (PARAMETERS + 2.0 * 17.0 * 1024.0 * 1024.0) / PAYLOAD;
    near(in_buckets, last);
}

/// A micro-batch of four sequences passes two stages forward and back: 64 MiB of activations, and as much of their
/// gradients.
#[test]
fn activations_of_a_lone_micro_batch_are_exposed_forward_and_back() {
    let keys = "batch = 4\nmicro_batch = 4\nparallel = { tensor = 1, pipeline = 2 }";
    near(exposed(2, keys), 2.0 * 4.0 * 8192.0 * 1024.0 * 2.0 / PAYLOAD);
}

/// Two accelerators share a sequence: in each of four layers half of all keys and values, 16 MiB, forward, backward,
/// and of their gradients; then the gradients and the parameters, as above.
#[test]
fn keys_and_values_are_exposed_three_times_a_layer() {
    let keys = "batch = 1\nparallel = { tensor = 1, pipeline = 1, context = 2, zero = 1, bucket = \"1GiB\" }";
    let of_keys = 4.0 * 3.0 * 8192.0 * 2.0 * 1024.0 * 2.0 / 2.0;
    near(exposed(2, keys), (of_keys + 3.0 * PARAMETERS) / PAYLOAD);
}

/// Four accelerators of a node with links of 100 GB/s, two that share every matrix and two replicas. Each layer has two
/// all-reduces of 16 MiB forward and two backward, between two accelerators: the vector once. Gradients, 4 B of half of
/// the parameters, pass the same links meanwhile: links that do nothing but transfers take the sum of both.
#[test]
fn gradients_and_layers_share_the_links_of_a_node() {
    let node = "node = { accelerators = 4, rate = \"800Gb/s\", latency = \"0s\" }";
    let keys = format!("{node}\nper_teraflop = \"1us\"\nbatch = 2\nparallel = {{ tensor = 2, pipeline = 1 }}");
    let of_layers = 4.0 * 4.0 * 8192.0 * 1024.0 * 2.0;
    near(exposed(4, &keys), (of_layers + 4.0 * PARAMETERS / 2.0) / 100e9);
    // At 100 kB/s the exchange of a layer of 168 s lasts twice as long beside gradients: longer than any alone, and
    // no deadlock.
    let slow = keys.replace("800Gb/s", "800kb/s");
    near(exposed(4, &slow), (of_layers + 4.0 * PARAMETERS / 2.0) / 100e3);
}

/// A transfer of 16 MiB at 0.5 GB/s takes 34 ms, and three at once 101 ms: all of a step, one after another, take some
/// seconds, but the next of them ends within a second.
#[test]
fn the_limit_without_progress_is_that_of_transfers_at_once() {
    let node = "node = { accelerators = 4, rate = \"4Gb/s\", latency = \"0s\" }";
    let keys =
        format!("{node}\nper_teraflop = \"1us\"\nbatch = 16\nparallel = {{ tensor = 2, pipeline = 1, zero = 3 }}");
    let with_limit = |limit: &str| {
        let text = scenario(4, &keys).replace("run.fidelity", &format!("run.stall_limit = \"{limit}\"\nrun.fidelity"));
        Run::start(&text, "x.toml", &[], 1, &[]).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with_limit("1s"), Ok(()));
    let error = with_limit("80ms").unwrap_err();
    let expected = "for which job.0 computes or transfers within its node: that is waiting, not stuck";
    assert!(error.contains("run.stall_limit: 80ms; expected more than ") && error.contains(expected), "{error}");
}

/// Computation is divided in picoseconds, once for each round [s].
const ROUNDING: f64 = 1e-9;

/// A part of the micro-batches stands for all of them, with the fewest that are allowed and with more. The error that
/// the run states covers the true one.
#[test]
fn sampled_micro_batches_are_as_near_as_their_error_states() {
    // Stages, parts of the model in each, accelerators that share a sequence, micro-batches, those simulated, and the
    // largest relative error. Where all messages of four stages share their NICs with keys and values, rounds differ.
    let cases = [
        (1, 1, 1, 64, [4, 8], 0.001),
        (2, 1, 1, 64, [8, 16], 0.001),
        (2, 1, 2, 64, [8, 16], 0.001),
        (2, 2, 1, 32, [10, 16], 0.001),
        (2, 2, 2, 64, [10, 16], 0.001),
        (4, 1, 1, 33, [16, 20], 0.001),
        (4, 1, 1, 128, [16, 32], 0.001),
        (4, 1, 2, 64, [20, 32], 0.005),
        (4, 1, 2, 64, [16, 18], 0.02),
    ];
    for (stages, parts, context, micro_batches, simulated, bound) in cases {
        let batch = micro_batches * 8 / stages / context;
        let parallel = format!("pipeline = {stages}, interleave = {parts}, context = {context}");
        let keys = format!("batch = {batch}\nparallel = {{ tensor = 1, {parallel}, zero = 1, prefetch = true }}");
        let all = step(8, &keys);
        assert_eq!(all.error, 0.0);
        for few in simulated {
            let sampled = step(8, &format!("micro_batches = {few}\n{keys}"));
            let (off, error) = ((sampled.time - all.time).abs(), sampled.error);
            assert!(off <= error + ROUNDING, "{keys}, {few}: {off} s, stated {error} s");
            assert!(off < bound * all.time, "{keys}, {few}: {off} s of {} s", all.time);
        }
    }
}

#[test]
fn too_few_micro_batches_are_refused() {
    let error = |keys: &str| {
        let text =
            format!("topology.single_switch.hosts = 64\n[[job]]\nname = \"j\"\n[job.workload.training]\n{keys}\n");
        Run::start(&text, "x.toml", &[], 1, &[]).err().expect("it is refused").to_string()
    };
    let few = "batch = 64\nmicro_batches = 4";
    assert!(error(few).contains("4; expected at least 16, of which 4 stages have a steady state"), "{}", error(few));
    let divided = "batch = 64\nmicro_batches = 16\nparallel.zero = 2";
    assert!(error(divided).contains("expected absent where gradients are exchanged"), "{}", error(divided));
}
