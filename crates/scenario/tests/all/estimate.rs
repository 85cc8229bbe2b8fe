//! Scenarios that do not fit are refused before they are built, with the reason.

use std::{fs, time::Duration};

use etherweave_scenario::{Fabric, PointChoice, Processes, Run, RunOptions, ScenarioError};

use super::clock::ProcessorTime;

/// More than a job on the largest fabric of these tests may take before it is refused: far less than building it takes.
const SOON: Duration = Duration::from_secs(60);

/// A dragonfly of 16,512 hosts.
const DRAGONFLY: &str = "[topology.dragonfly]\np = 8\na = 16\nh = 8\n";

fn refusal(text: &str, memory_limit: &str) -> String {
    let options = RunOptions { memory_limit: Some(memory_limit), ..RunOptions::default() };
    let started = ProcessorTime::start();
    let Err(error) = Run::start_with(text, "x.toml", &[], options) else { panic!("{memory_limit} is enough") };
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    error.to_string()
}

fn contains(error: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(error.contains(part), "{part}: {error}"));
}

#[test]
fn an_all_gather_of_16384_ranks_is_refused_for_its_programs() {
    let workload = "osu_collective = { ranks = 16384, operation.allgather.bytes = \"1kB\" }";
    let text = format!("{DRAGONFLY}[[job]]\nname = \"gather\"\nworkload.{workload}\n");
    let error = refusal(&text, "16GiB");
    contains(
        &error,
        &["x.toml:7:", "osu_collective: about", "programs of ranks", "at most 16.0 GiB, as --memory-limit"],
    );
    contains(&error, &["fewer ranks, or fewer operations of each"]);
}

#[test]
fn all_to_alls_of_16384_ranks_over_tcp_are_refused_for_their_connections() {
    let job =
        |number| format!("[[job]]\nname = \"{number}\"\nworkload.all_to_all = {{ ranks = 4096, iterations = 1 }}\n");
    let text = format!("{DRAGONFLY}[transport.tcp]\n[flow_control.none]\n{}", (0..4).map(job).collect::<String>());
    let error = refusal(&text, "16GiB");
    contains(&error, &["connections", "fewer pairs of ranks that exchange messages"]);
}

#[test]
fn flows_are_refused_with_the_advice_of_fewer_flows_and_rows_of_a_crowd_go_to_a_file() {
    let text = |duration| {
        format!(
            "topology.fat_tree = {{ leaves = 4, cores = 4, hosts_per_leaf = 8 }}\n[[job]]\nname = \"crowd\"\n\
             workload.flows = {{ ranks = 32, load = 0.3, sizes.fixed = \"1kB\", duration = \"{duration}\" }}\n"
        )
    };
    contains(&refusal(&text("1ms"), "64MiB"), &["workload.flows: about", "fewer flows, by a shorter `duration`"]);
    // Three quarters of a million flows, more than have rows in memory.
    let memory = |duration| etherweave_scenario::foresee(&text(duration), "x.toml", &[]).unwrap();
    let (few, crowd) = (memory("4ms"), memory("6ms"));
    assert!(crowd.memory_bytes < few.memory_bytes && crowd.disk_bytes > few.disk_bytes, "{few:?} {crowd:?}");
}

#[test]
fn a_million_load_points_are_refused_for_their_reports() {
    let loads = vec!["0.5"; 1_000_000].join(",");
    let text = format!("[topology.dragonfly]\np = 1\na = 2\nh = 1\n[open_loop]\nloads = [{loads}]\n");
    let fabric = Fabric::parse(&text, "x.toml", &[]).unwrap();
    let error = fabric.curve(&Processes::ALONE, 1, Some("4GiB"), &mut |_| panic!("no point is simulated")).unwrap_err();
    contains(&error.to_string(), &["open_loop.loads: about", "reports of points", "fewer loads, routings or patterns"]);
}

#[test]
fn to_observe_300024_hosts_is_refused_for_the_steps() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/design/dragonfly_300k.toml");
    let fabric = Fabric::parse(&fs::read_to_string(file).unwrap(), "x.toml", &[]).unwrap();
    let error = fabric.observe(&PointChoice::default(), 1, Some("8GiB")).unwrap_err();
    contains(&error.to_string(), &["open_loop.batch: about", "steps of the animation", "longer batches"]);
}

#[test]
fn a_design_of_300024_hosts_is_refused_for_its_proofs_and_one_without_for_its_fabric() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/design/dragonfly_300k.toml");
    let text = fs::read_to_string(file).unwrap();
    let refused = |routings: &[(String, String)]| {
        let fabric = Fabric::parse(&text, "x.toml", routings).unwrap();
        fabric.design(Some("64MiB"), &mut |_| panic!("no step begins")).unwrap_err().to_string()
    };
    contains(&refused(&[]), &["design.routings: about", "deadlock proofs", "no routings to prove"]);
    let none = ("design.routings".to_owned(), "[]".to_owned());
    contains(&refused(&[none]), &["topology: about", "fabric", "fewer switches or hosts"]);
}

#[test]
fn what_fits_is_not_refused_and_its_estimate_is_in_the_summary() {
    let text = "[topology.single_switch]\nhosts = 2\n[[job]]\nname = \"ping\"\nworkload.osu_latency = {}\n";
    let run = Run::start(text, "x.toml", &[], 1, &[]).unwrap();
    let estimate = run.estimate().clone();
    // A thousand round trips of one packet and its acknowledgement each way, over two links.
    assert_eq!(estimate.packet_hops, Some((1_000 + 10) * 2 * 2 * 2 + 2 * 2 * 2));
    assert!((10_000..10_000_000).contains(&estimate.memory_bytes), "{estimate:?}");
    let (outcome, _) = run.finish(&mut |_| true);
    assert_eq!(outcome.summary.memory_bytes_estimated, estimate.memory_bytes);
    assert!(outcome.summary.packet_hops.abs_diff(estimate.packet_hops.unwrap()) < 100, "{:?}", outcome.summary);
}

#[test]
fn messages_without_payload_are_packets() {
    let text = "topology.single_switch.hosts = 8\n[transport.roce]\n[[job]]\nname = \"barrier\"\n\
                workload.osu_collective = { ranks = 8, iterations = 100, operation = { barrier = {} } }\n";
    let run = Run::start(text, "barrier.toml", &[], 1, &[]).unwrap();
    let estimated = run.estimate().packet_hops.unwrap();
    let taken = run.finish(&mut |_| true).0.summary.packet_hops;
    assert!(taken > 10_000 && estimated.abs_diff(taken) * 10 < taken, "{estimated} for {taken}");
}

#[test]
fn a_limit_that_is_no_size_is_a_mistake() {
    let text = "[topology.single_switch]\nhosts = 2\n[[job]]\nname = \"ping\"\nworkload.osu_latency = {}\n";
    let error = |limit| -> ScenarioError {
        let options = RunOptions { memory_limit: Some(limit), ..RunOptions::default() };
        let Err(error) = Run::start_with(text, "x.toml", &[], options) else { panic!("{limit} is accepted") };
        error
    };
    contains(&error("4 elephants").to_string(), &["x.toml: --memory-limit: "]);
    contains(&error("1KiB").to_string(), &["at most 1.0 KiB, as --memory-limit says"]);
}

#[test]
fn streams_without_an_end_are_estimated_by_the_link_of_their_receiver_until_the_run_ends() {
    let text = "topology.single_switch = { hosts = 4, rate = \"100Gb/s\" }\nrun.end = \"80us\"\n\
                transport.roce = { path_mtu = \"4KiB\", ack_every = 1 }\n[[job]]\nname = \"incast\"\n\
                workload.incast = { sources = 3 }\n";
    let estimate = etherweave_scenario::foresee(text, "x.toml", &[]).unwrap();
    // 100 Gb/s carry 1,000,000 B in 80 us: 244 packets of 4 KiB, an acknowledgement each, over two links.
    assert_eq!(estimate.packet_hops, Some((244 + 244) * 2));
}

/// One check for `show` and for `run`: of buffers, of priorities that a routing needs, of placements, of cores, of
/// selections of flows, of fidelity.
#[test]
fn what_a_run_refuses_has_no_estimate() {
    let job = "[[job]]\nname = \"job\"\nworkload.permutation = { ranks = 8, bytes = \"1MB\" }\n";
    let cases = [
        ("topology.single_switch.hosts = 512", "", "switch.buffer: reserves and headroom of switch0 take"),
        (
            "routing = \"valiant_group\"\ntopology.dragonfly = {}\nflow_control.pfc.priorities = [0]",
            "",
            "flow_control.pfc.priorities: [0]",
        ),
        ("topology.single_switch.hosts = 8", "placement.hosts = [0, 1]\n", "job.0.placement"),
        ("topology.single_switch.hosts = 8", "binding = [0]\n", "job.0.binding"),
        ("topology.single_switch.hosts = 8\nfaults.down = [{ link = \"a - b\" }]", "", "faults.down.0.link: "),
        (
            "topology.single_switch.hosts = 16\nobserve = { until = \"1ms\", flows = [\"host0 -> host15\"] }",
            "",
            "observe.flows.0",
        ),
        (
            "topology.single_switch.hosts = 16\nswitch.model = \"input_queued\"\nflow_control.credits = {}",
            "[[job]]\nname = \"beside\"\nfidelity = \"flow\"\nplacement.linear = { first = 8 }\n\
             workload.permutation = { ranks = 8, bytes = \"1MB\" }\n",
            "switch.model: input_queued",
        ),
    ];
    for (head, more, expected) in cases {
        let text = format!("{head}\n{job}{more}");
        let run = Run::start(&text, "x.toml", &[], 1, &[]).err().unwrap_or_else(|| panic!("{text}")).to_string();
        let estimate = etherweave_scenario::foresee(&text, "x.toml", &[]).map(drop);
        assert_eq!(estimate.unwrap_err().to_string(), run);
        contains(&run, &[expected]);
    }
}

/// A training step with few iterations, and an exchange with many. Work is counted in events, so that no clock matters.
#[test]
fn progress_predicts_the_work_left_within_a_factor_of_1_5_from_a_tenth_on() {
    let training = "topology.rail_optimised = { rails = 4, servers = 4, servers_per_pod = 4, spines = 4 }\n\
                    interconnect.profile = \"ethernet-400-roce\"\n[[job]]\nname = \"step\"\n[job.workload.training]\n\
                    ranks = 16\nbatch = 16\nparallel = { tensor = 4, pipeline = 2 }\nnode.accelerators = 4\n\
                    model = { layers = 8, hidden = 512, feed_forward = 1024, key_value = 512, vocabulary = 1000 }\n";
    let exchange = "topology.fat_tree = { leaves = 2, hosts_per_leaf = 4 }\n[transport.roce]\n\
                    [[job]]\nname = \"halo\"\n\
                    workload.halo3d = { pex = 2, pey = 2, pez = 2, iterations = 40 }\n";
    for text in [training, exchange] {
        let (mut shares, run) = (Vec::new(), Run::start(text, "progress.toml", &[], 1, &[]).unwrap());
        let outcome = run.finish(&mut |now| {
            shares.push((now.events as f64, now.fraction.expect("its end is known")));
            true
        });
        let all = outcome.0.summary.events as f64;
        let between: Vec<_> = shares.iter().filter(|(events, _)| (0.1..0.9).contains(&(events / all))).collect();
        assert!(between.len() > 20, "{}", between.len());
        for (events, share) in between {
            let ratio = events * (1.0 / share - 1.0) / (all - events);
            assert!((1.0 / 1.5..=1.5).contains(&ratio), "{share} done after {} of the events\n{text}", events / all);
        }
    }
}

/// Halos whose repetitions repeat others after some. What is left lies between what is left if most are skipped as soon
/// as can be, and if none are; once they are skipped, it is about the latter.
#[test]
fn progress_counts_no_repetitions_that_are_skipped() {
    let text = "topology.fat_tree = { leaves = 2, hosts_per_leaf = 8, links_per_core = 4 }\n[flow_control.pfc]\n\
                [transport.roce]\n[run]\nfast_forward = { error = 0.01 }\n[[job]]\nname = \"halo\"\n\
                workload.halo3d = { pex = 4, pey = 2, pez = 2, iterations = 400 }\n";
    let (mut shares, mut ends) = (Vec::new(), Vec::new());
    let run = Run::start(text, "progress.toml", &[], 1, &[]).unwrap();
    let outcome = run.finish(&mut |now| {
        shares.push((now.events as f64, now.fraction.expect("its end is known")));
        ends.push(now.fraction_max.expect("more may be skipped"));
        true
    });
    // Skipped events are counted at the end, and in no progress.
    let skipped = outcome.0.summary.skipped.as_ref().expect("its repetitions repeat others");
    let all = outcome.0.summary.events as f64 * (1.0 - skipped.events_share);
    let ratio = |&(events, share): &(f64, f64)| events * (1.0 / share - 1.0) / (all - events);
    let skip = shares.windows(2).position(|pair| pair[1].1 > pair[0].1 + 0.2).expect("most are skipped at once");
    let (before, after) = shares.split_at(skip + 1);
    assert!(before.iter().filter(|(_, share)| *share > 0.0).all(|row| ratio(row) > 1.5));
    let soonest: Vec<_> = before.iter().zip(ends).map(|(&(events, _), share)| (events, share)).collect();
    assert!(soonest.iter().filter(|(_, share)| *share > 0.0).all(|row| ratio(row) < 1.0), "{soonest:?} of {all}");
    assert!(soonest.iter().any(|row| ratio(row) > 0.1), "the range is not empty below");
    let ratios: Vec<_> = after.iter().filter(|(events, _)| *events < 0.9 * all).map(ratio).collect();
    assert!(!ratios.is_empty() && ratios.iter().all(|ratio| (1.0 / 1.5..=1.5).contains(ratio)), "{ratios:?}");
}

#[test]
fn records_of_ranks_are_estimated_until_jobs_are_done_that_are_not_in_the_background() {
    let text = |iterations| {
        format!(
            "topology.single_switch = {{ hosts = 4, rate = \"100Gb/s\" }}\nobserve.ranks = true\n[[job]]\nname = \
             \"ping\"\nworkload.osu_latency = {{ bytes = \"8B\", warm_up = 0, iterations = {iterations} }}\n[[job]]\n\
             name = \"others\"\nbackground = true\nworkload.osu_bw = {{ bytes = \"1MiB\", iterations = 1000000 }}\n"
        )
    };
    let memory = |text: &str| etherweave_scenario::foresee(text, "x.toml", &[]).unwrap().memory_bytes;
    let (few, many) = (memory(&text(1_000)), memory(&text(1_000_000)));
    // A million windows of 64 messages take a hundred gigabytes; a thousand round trips leave time for some of 1 MiB.
    assert!(few < 16 << 20, "{few}");
    assert!(many > 16 * few && many < 4 << 30, "{few} {many}");
    // A job that does not run ends at no time that counts.
    let idle = "[[job]]\nname = \"idle\"\nworkload.osu_latency = {}\n[run]\njobs = [\"ping\", \"others\"]\n";
    let idle = text(1_000).replace("hosts = 4", "hosts = 6") + idle;
    assert!(memory(&idle) < 16 << 20);
    // Nothing is known of the end of flows, so that all of the background counts until the run ends.
    let ping = "osu_latency = { bytes = \"8B\", warm_up = 0, iterations = 1000 }";
    let arrivals = text(1_000).replace(ping, "flows = { ranks = 2, load = 0.1, duration = \"1ms\" }");
    assert!(memory(&arrivals) > 10 << 30 && memory(&format!("run.end = \"2ms\"\n{arrivals}")) < 16 << 20);
}
