//! Every shipped scenario: the same on any number of threads, and as it was when it was last looked at.

use std::{fs, path::Path, path::PathBuf};

use etherweave_scenario::{Outcome, Run, Scenario};

use super::results::overrides;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Names and texts, in order of names.
fn shipped() -> Vec<(String, String)> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut scenarios: Vec<(String, String)> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    scenarios.sort();
    scenarios
}

/// The file of a scenario, beside which others may lie.
fn origin(name: &str) -> String {
    folder().join(format!("{name}.toml")).display().to_string()
}

fn run(name: &str, text: &str, threads: usize) -> Outcome {
    let run = Run::start(text, &origin(name), &[], threads, &[]).unwrap_or_else(|error| panic!("{error}"));
    run.finish(&mut |_| true).0
}

/// The tables in full; numbers that are not known are equal there.
fn printed(outcome: &Outcome) -> String {
    format!("{:?}", outcome.tables)
}

fn line(name: &str, outcome: &Outcome) -> String {
    let print = outcome.summary.fingerprint.as_ref().unwrap();
    format!("{name},{},{},{},{}", print.t, print.p, print.k, print.l)
}

#[test]
fn one_two_and_seven_threads_give_the_same_tables_and_fingerprints() {
    for (name, text) in shipped() {
        let alone = run(&name, &text, 1);
        let expected = if alone.summary.finished == "time_limit" { "time_limit" } else { "complete" };
        assert_eq!(alone.summary.finished, expected, "{name}: {:?}", alone.summary);
        for threads in [2, 7] {
            let together = run(&name, &text, threads);
            assert_eq!(printed(&together), printed(&alone), "{name} on {threads} threads");
            assert_eq!(together.summary.fingerprint, alone.summary.fingerprint, "{name} on {threads} threads");
        }
        let summary = &alone.summary;
        let lost = summary.packets_dropped + summary.packets_damaged + summary.packets_lost;
        let accounted = summary.packets_delivered + lost + summary.packets_in_flight;
        assert_eq!(summary.packets_created, accounted, "{name}");
        assert!(summary.warnings.is_empty(), "{name}: {:?}", summary.warnings);
    }
}

/// After a change that is meant to move packets, run with `ETHERWEAVE_BLESS=1` and read what has changed.
#[test]
fn fingerprints_are_those_on_record() {
    let path = folder().join("fingerprints.csv");
    let lines = shipped().iter().map(|(name, text)| line(name, &run(name, text, 1))).collect::<Vec<_>>();
    let now = format!("scenario,t,p,k,l\n{}\n", lines.join("\n"));
    if std::env::var_os("ETHERWEAVE_BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    assert_eq!(now, fs::read_to_string(&path).unwrap_or_default());
}

#[test]
fn a_resolved_scenario_resolves_to_itself_and_runs_alike() {
    for (name, text) in shipped() {
        let resolved = Scenario::parse(&text, &origin(&name), &[]).unwrap().resolved();
        let again = Scenario::parse(&resolved, "other", &[]).unwrap_or_else(|error| panic!("{error}\n{resolved}"));
        assert_eq!(again.resolved(), resolved, "{name}");
    }
    let (name, text) = &shipped()[0];
    let resolved = Scenario::parse(text, &origin(name), &[]).unwrap().resolved();
    assert_eq!(line(name, &run(name, &resolved, 1)), line(name, &run(name, text, 1)));
}

/// Whether a run with exact skips has skipped anything, after a comparison of its tables with those of a full run.
/// `None` where a scenario is refused: it has no long loop, or things that happen at given times.
fn has_exact_skips(name: &str, text: &str, longer: &[(&str, &str)]) -> Option<bool> {
    let longer = overrides(longer);
    let start = |changes: &[(String, String)]| Run::start(text, &origin(name), changes, 1, &[]);
    let changes = [longer.as_slice(), &[("run.fast_forward".to_owned(), "{}".to_owned())]].concat();
    let built = start(&changes).ok()?;
    let full = start(&longer).unwrap_or_else(|error| panic!("{error}")).finish(&mut |_| true).0;
    let mut forward = built.finish(&mut |_| true).0;
    let skips = forward.tables.iter().position(|table| table.name == "skips");
    skips.into_iter().for_each(|place| drop(forward.tables.remove(place)));
    assert!(printed(&forward) == printed(&full), "{name}");
    Some(skips.is_some())
}

#[test]
fn exact_skips_give_the_tables_of_the_full_run() {
    let is_skipping = |(name, text): &(String, String)| has_exact_skips(name, text, &[]) == Some(true);
    let skipping: Vec<String> = shipped().into_iter().filter(is_skipping).map(|(name, _)| name).collect();
    assert!(skipping.contains(&"first".to_owned()), "{skipping:?}");
}

/// Shipped loops of a few repetitions, with more of them.
#[test]
fn shipped_loops_with_more_repetitions_are_skipped() {
    let longer = [
        ("bandwidth_roce", "job.0.workload.osu_bw.iterations", "24"),
        ("collectives", "job.0.workload.osu_collective.iterations", "60"),
    ];
    let scenarios = shipped();
    for (name, key, repetitions) in longer {
        let (_, text) = scenarios.iter().find(|(known, _)| known == name).unwrap();
        assert_eq!(has_exact_skips(name, text, &[(key, repetitions)]), Some(true), "{name}");
    }
}

/// Each of 24 ranks passes 23 blocks on while they are added up, and 23 sums. Of uneven blocks ranks have rounds at
/// other places, and of a broadcast in pieces the root has more of them: its calls are the loop then.
#[test]
fn steps_of_a_ring_are_skipped_within_a_call() {
    let ring = |bytes: u64| format!("operation.allreduce.bytes = \"{bytes}B\", algorithm = \"ring\"");
    let broadcast = "operation.bcast = { root = 0, bytes = \"64KiB\" }, algorithm = \"pipeline\", segment = \"4KiB\"";
    let calls = "warm_up = 10, iterations = 100";
    for (operation, calls, is_skipped) in [
        (ring(786_432), "warm_up = 0, iterations = 1", true),
        (ring(786_432), "warm_up = 2, iterations = 3", true),
        (ring(786_000), "warm_up = 0, iterations = 1", false),
        (broadcast.to_owned(), calls, true),
    ] {
        let text = format!(
            "topology.fat_tree = {{ leaves = 2, hosts_per_leaf = 12, cores = 12, links_per_core = 1 }}\n\
             routing = \"up_down\"\ntransport.roce = {{}}\n[[job]]\nname = \"ring\"\n\
             workload.osu_collective = {{ ranks = 24, {operation}, {calls} }}\n"
        );
        assert_eq!(has_exact_skips("ring", &text, &[]), Some(is_skipped), "{operation}, {calls}");
    }
}

/// Accelerators of a node run ahead of those that receive over the network.
#[test]
fn ranks_that_drift_without_packets_are_no_repetition() {
    let text = "[[job]]\nname = \"ring\"\nworkload.nccl_tests.operation.sendrecv.bytes = \"12018B\"\n";
    assert_eq!(has_exact_skips("drift", text, &[]), Some(false));
}

/// Every scenario below a folder. Descriptions of studies and sites are TOML too, and so are the questions and price
/// books of advice.
fn scenarios_below(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| !path.ends_with("scenarios/advise"));
    let files = paths.flat_map(|path| if path.is_dir() { scenarios_below(&path) } else { vec![path] });
    let is_scenario = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".toml") && name != "study.toml" && !name.ends_with("-site.toml")
    };
    files.filter(is_scenario).collect()
}

#[test]
fn every_scenario_resolves_to_itself_with_or_without_a_job() {
    let folders = [folder(), folder().join("../studies"), folder().join("../bench")];
    let paths: Vec<PathBuf> = folders.iter().flat_map(|folder| scenarios_below(folder)).collect();
    assert!(paths.len() > 40, "{paths:?}");
    for path in paths {
        let (text, origin) = (fs::read_to_string(&path).unwrap(), path.display().to_string());
        let resolve = |text: &str| Scenario::parse(text, &origin, &[]).unwrap_or_else(|error| panic!("{error}"));
        let resolved = resolve(&text).resolved();
        assert_eq!(resolve(&resolved).resolved(), resolved, "{origin}");
    }
}
