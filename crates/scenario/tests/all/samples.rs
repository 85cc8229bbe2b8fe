//! Time series of a scenario: from `[observe]` to tables, estimates and mistakes.

use etherweave_scenario::{Fabric, PointChoice, Processes, Run, RunOptions, Table};

use super::cases::check;
use super::results::{numbers, texts};

fn start(text: &str, memory_limit: Option<&str>) -> Result<Run, String> {
    let options = RunOptions { memory_limit, ..RunOptions::default() };
    Run::start_with(text, "x.toml", &[], options).map_err(|error| error.to_string())
}

fn with(lines: &str) -> String {
    let job = "[[job]]\nname = \"j\"\nworkload.osu_latency = {}\n";
    format!("[topology.fat_tree]\n[run]\nend = \"1ms\"\n{job}[observe]\n{lines}\n")
}

#[test]
fn a_run_has_tables_of_samples_only_where_they_are_asked_for() {
    let outcome = start(&with("ports = [\"switches\"]"), None).unwrap().finish(&mut |_| true).0;
    assert_eq!(numbers(&outcome.tables, "flow_samples", "bytes").len(), 0);
    let [samples, ports] = ["port_samples", "ports"].map(|table| numbers(&outcome.tables, table, "tx_bytes"));
    let nodes = texts(&outcome.tables, "ports", "node");
    let of_switches = ports.iter().zip(nodes).filter(|(_, node)| !node.starts_with("host"));
    assert_eq!(samples.iter().sum::<f64>(), of_switches.map(|(bytes, _)| bytes).sum::<f64>());
    let plain = with("ports = [\"switches\"]");
    let plain = start(plain.split("[observe]").next().unwrap(), None).unwrap().finish(&mut |_| true).0;
    assert!(plain.tables.iter().all(|table| !table.name.ends_with("_samples")));
    assert_eq!(plain.summary.fingerprint, outcome.summary.fingerprint);
}

/// Three ping-pongs: what a rank does fills its time, and every message that is sent arrives.
#[test]
fn ranks_that_are_observed_account_for_all_of_their_time_and_change_nothing() {
    for bytes in [8.0, 1_048_576.0] {
        let workload = format!("workload.osu_latency = {{ bytes = \"{bytes}B\", warm_up = 0, iterations = 3 }}");
        let plain = format!("[topology.fat_tree]\n[[job]]\nname = \"j\"\n{workload}\n");
        let outcome = start(&format!("{plain}[observe]\nranks = true\n"), None).unwrap();
        let outcome = outcome.finish(&mut |_| true).0.with_all_tables();
        let without = start(&plain, None).unwrap().finish(&mut |_| true).0.with_all_tables();
        assert_eq!(outcome.summary.fingerprint, without.summary.fingerprint);
        assert!(without.tables.iter().all(|table| table.name != "activities" && table.name != "transfers"));
        check_activities(&outcome.tables);
        let [sources, sizes, starts, ends] =
            ["source", "bytes", "start_ns", "end_ns"].map(|name| numbers(&outcome.tables, "transfers", name));
        for source in [0.0, 1.0] {
            let own = sources.iter().zip(&sizes).filter(|&(&from, &size)| (from, size) == (source, bytes));
            assert_eq!(own.count(), 3, "{bytes} B from rank {source}");
        }
        assert!(starts.iter().zip(ends).all(|(start, end)| *start < end));
    }
}

/// Each activity of a rank begins when the one before it ends.
fn check_activities(tables: &[Table]) {
    let [ranks, starts, ends] = ["rank", "start_ns", "end_ns"].map(|name| numbers(tables, "activities", name));
    let pairs = (1..ranks.len()).filter(|&row| ranks[row] == ranks[row - 1]);
    let joins = pairs.map(|row| assert_eq!(starts[row], ends[row - 1], "row {row}")).count();
    assert_eq!(joins, ranks.len() - 2, "two ranks");
}

#[test]
fn each_mistake_names_its_key_and_what_is_there() {
    check("samples", |lines| match start(&with(lines), None) {
        Ok(_) => panic!("{lines} is accepted"),
        Err(error) => error,
    });
    let endless = with("flows = [\"* -> *\"]").replace("end = \"1ms\"", "");
    let Err(error) = start(&endless, None) else { panic!("nothing bounds the samples") };
    assert!(
        error.contains("observe.until: none; expected a time that bounds the samples, as `run.end` does not"),
        "{error}"
    );
}

#[test]
fn samples_that_cannot_fit_are_refused() {
    let lines = "ports = [\"switches\"]\nperiod = \"1ns\"";
    let Err(error) = start(&with(lines), Some("1GiB")) else { panic!("1,000,002 samples of 160 ports fit into 1 GiB") };
    assert!(error.starts_with("x.toml:9:1: observe.period: about "), "{error}");
    assert!(
        error.contains("samples ")
            && error.contains("a longer period, a shorter time, or fewer ports, flows and hosts")
    );
    let estimate = start(&with(lines), Some("1000GiB")).map(|run| run.estimate().clone()).unwrap();
    let bounded =
        start(&with(&format!("{lines}\nfrom = \"999us\"")), Some("1000GiB")).map(|run| run.estimate().clone());
    assert!(bounded.unwrap().memory_bytes * 100 < estimate.memory_bytes);
}

#[test]
fn what_ranks_note_is_a_part_of_the_memory_of_its_own() {
    let text = with("ranks = true").replace("osu_latency = {}", "osu_latency = { iterations = 10000000 }");
    let Err(error) = start(&text, Some("64MiB")) else { panic!("20,000,000 messages fit into 64 MiB") };
    assert!(error.contains("observe.ranks: about ") && error.contains("activities and messages of ranks "), "{error}");
    assert!(error.contains("fewer operations of ranks, or neither `observe.ranks` nor --trace"), "{error}");
}

#[test]
fn open_loops_refuse_what_only_a_run_samples() {
    let text = "[topology.dragonfly]\np = 1\na = 2\nh = 1\n[observe]\nports = [\"switches\"]\n";
    let fabric = Fabric::parse(text, "x.toml", &[]).unwrap();
    let expected = "x.toml:5:2: observe: given in a file without a job; expected none: open loops have no ports";
    let errors = [
        fabric.curve(&Processes::ALONE, 1, None, &mut |_| true).unwrap_err().to_string(),
        fabric.observe(&PointChoice::default(), 1, None).unwrap_err().to_string(),
    ];
    errors.iter().for_each(|error| assert!(error.starts_with(expected), "{error}"));
}
