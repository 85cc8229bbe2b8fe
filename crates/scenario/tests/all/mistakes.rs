//! Every mistake gives a line: where, what, and what is expected.

use etherweave_scenario::{Fabric, Processes, Run, Scenario};
use proptest::prelude::*;

use super::cases::check;

/// The error of a scenario that is `first` without the lines that `text` replaces.
fn error(text: &str) -> String {
    let Err(error) = Run::start(text, "x.toml", &[], 1, &[]) else { panic!("{text} is accepted") };
    error.to_string()
}

/// A valid scenario with `lines` before its job.
fn with(lines: &str) -> String {
    format!("[topology.single_switch]\nhosts = 4\n{lines}\n[[job]]\nname = \"j\"\nworkload.osu_latency = {{}}\n")
}

#[test]
fn the_valid_one_is_accepted() {
    assert!(Scenario::parse(&with(""), "x.toml", &[]).is_ok());
}

#[test]
fn each_mistake_names_its_line_key_and_what_is_expected() {
    check("values", |lines| {
        let error = error(&with(lines));
        assert!(error.contains("expected") || error.contains("known"), "{error}");
        assert!(!error.contains('\n'), "{error}");
        error
    });
}

#[test]
fn mistakes_about_jobs_name_the_job() {
    check("jobs", |lines| error(&format!("[topology.single_switch]\nhosts = 4\n[[job]]\nname = \"j\"\n{lines}\n")));
    let none = error("seed = 1\n");
    assert_eq!(none, "x.toml: job: no job; expected at least one `[[job]]` with a name and a workload");
}

#[test]
fn mistakes_about_storms_and_watchdogs_name_the_key() {
    let storm = |lines: &str| error(&with(&format!("[[faults.pause_storm]]\n{lines}")));
    check("pause_storms", storm);
    let twice = "host = \"host0\"\n[[faults.pause_storm]]\nhost = \"host0\"";
    assert!(storm(twice).contains("faults.pause_storm.1.from: 0ps; expected a time apart from"), "{}", storm(twice));
    let without = error(&with("[flow_control.none]\n[[faults.pause_storm]]\nhost = \"host0\""));
    assert!(without.contains("expected flow_control.pfc or flow_control.global_pause"), "{without}");
    check("watchdogs", |keys| error(&with(&format!("[flow_control.pfc]\nwatchdog = {{ {keys} }}\n"))));
}

#[test]
fn a_storm_names_a_host_or_one_of_its_ports() {
    let storms = |hosts: &[&str]| {
        let storm = |host: &&str| format!("[[faults.pause_storm]]\nhost = \"{host}\"\n");
        let storms: String = hosts.iter().map(storm).collect();
        with(&format!("[host_ports]\nplanes = 2\n[flow_control.pfc]\n{storms}"))
    };
    for apart in [&["host0"][..], &["host0.0", "host0.1"]] {
        assert!(Run::start(&storms(apart), "x.toml", &[], 1, &[]).is_ok(), "{apart:?}");
    }
    let unknown = error(&storms(&["host0.2"]));
    assert!(unknown.contains("no host \"host0.2\"; expected one such as \"host0.0\""), "{unknown}");
    let twice = error(&storms(&["host0", "host0.1"]));
    assert!(twice.contains("faults.pause_storm.1.from"), "{twice}");
}

#[test]
fn a_word_without_quotes_and_a_key_beside_its_job_are_named() {
    let message = error("[topology.single_switch]\nhosts = four\n");
    assert!(message.contains("x.toml:2:9: no value of TOML; expected a number, true, false, or a text"), "{message}");
    for (line, key) in [("workload.halo3d = {}", "workload"), ("ranks_per_host = 2", "ranks_per_host")] {
        let message = error(&format!("topology.single_switch.hosts = 2\n{line}\n"));
        let expected = format!("x.toml:2:1: {key}: unknown key; expected `{key}` in a table [[job]]");
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn mistakes_about_faults_name_the_fault() {
    let degraded = |lines: &str| error(&with(&format!("[[faults.degraded]]\n{lines}")));
    check("degraded_links", degraded);
    let twice = "link = \"host0 - switch0\"\nbit_error_rate = 1e-9\n";
    let again = "[[faults.degraded]]\nlink = \"switch0 - host0\"\nbit_error_rate = 0\nfrom = \"1us\"";
    let message = degraded(&format!("{twice}{again}"));
    assert!(message.starts_with("x.toml:9:1: faults.degraded.1.from: 1us; expected a time apart from"), "{message}");
}

#[test]
fn errors_name_the_members_of_a_family_and_the_range_of_a_number() {
    check("members_and_ranges", |lines| error(&with(lines)));
}

#[test]
fn mistakes_about_a_fabric_name_the_parameter_or_the_line_of_the_edge_list() {
    check("fabrics_of_jobs", |lines| error(&format!("{lines}\n[[job]]\nname = \"j\"\nworkload.osu_latency = {{}}\n")));
}

#[test]
fn overrides_reach_into_lists_and_their_mistakes_are_named() {
    let set = |key: &str, value: &str| {
        Scenario::parse(&with(""), "x.toml", &[(key.to_owned(), value.to_owned())]).map(|scenario| scenario.resolved())
    };
    assert!(set("job.0.workload.osu_latency.bytes", "\"64B\"").unwrap().contains("bytes = \"64B\""));
    assert!(set("switch.latency", "\"1us\"").unwrap().contains("latency = \"1us\""));
    assert_eq!(
        set("job.3.name", "1").unwrap_err().to_string(),
        "override: job.3.name: no element `3`; expected 0 to 0"
    );
    assert_eq!(
        set("job.0.workload.osu_latency", "{ bytes = \"2000GB\", lost = 1 }").unwrap_err().to_string(),
        "override: job.0.workload.osu_latency.lost: unknown key; \
         expected one of `bytes`, `pairs`, `warm_up`, `iterations`"
    );
    assert!(set("seed", "1 2").unwrap_err().to_string().starts_with("override: seed: `1 2` is no TOML value"));
    // A table that only the override has made, beside those of the text.
    for (key, mistaken) in [("switch.latenci.value", "switch.latenci"), ("swich.latency", "swich")] {
        let mistake = set(key, "\"1us\"").unwrap_err().to_string();
        assert!(mistake.starts_with(&format!("override: {mistaken}: unknown key")), "{mistake}");
    }
}

#[test]
fn an_override_without_a_value_takes_a_key_out() {
    let text = "topology.single_switch.hosts = 2\nrun.fast_forward = {}\nrun.end = \"1ms\"\n\
                [[job]]\nname = \"a\"\nworkload.osu_latency = { bytes = \"8B\", iterations = 3 }\n";
    let set = |key: &str| Scenario::parse(text, "x.toml", &[(key.to_owned(), String::new())]);
    let parsed = set("run.fast_forward").unwrap();
    assert!(parsed.run.fast_forward.is_none() && parsed.run.end.is_some());
    let job = set("job.0.workload.osu_latency.iterations").unwrap().resolved();
    assert!(job.contains("iterations = 1000") && job.contains("bytes = \"8B\""), "{job}");
    for key in ["run.fast_foward", "job.1.name", "seed.x", ""] {
        let mistake = set(key).unwrap_err().to_string();
        assert!(mistake.contains("not in the scenario; expected a key of a table"), "{mistake}");
    }
    let mistake = set("job.0").unwrap_err().to_string();
    assert_eq!(mistake, "override: job.0: an element of a list; expected a key of a table");
}

#[test]
fn a_mistake_of_the_text_beside_an_override_keeps_its_place() {
    let text = with("[switch]\nlatenci = { value = \"1us\" }");
    let key = ("switch.latenci.value".to_owned(), "\"2us\"".to_owned());
    let mistake = Scenario::parse(&text, "x.toml", &[key]).unwrap_err().to_string();
    assert!(mistake.starts_with("x.toml:") && mistake.contains("switch.latenci: unknown key"), "{mistake}");
}

#[test]
fn independent_mistakes_are_reported_together() {
    let text = "[topology.single_switch]\nhosts = 4\ncabel = \"1m\"\n[switch]\nlatency = 300\n[ets]\nweights = [1]\n\
                [[job]]\nname = \"a\"\nworkload.ossu = {}\n[[job]]\nnmae = \"b\"\nworkload.osu_latency = {}\n";
    let lines = error(text);
    let starts = [
        "x.toml:7:1: ets.weights: a list of 1; expected a list of 8",
        "x.toml:10:1: job.0.workload: unknown name `ossu`; expected one of",
        "x.toml:5:1: switch.latency: 300; expected a duration",
        "x.toml:3:1: topology.single_switch.cabel: unknown key; expected",
    ];
    for start in starts {
        assert!(lines.lines().any(|line| line.starts_with(start)), "{start}\nis not in\n{lines}");
    }
    let values = error(&with("[nic]\nxon = \"1MiB\"\n[run]\nend = \"1ms\"\nwarm_up = \"1s\"\nstall_limit = \"0s\""));
    assert_eq!(values.lines().count(), 3, "{values}");
}

#[test]
fn all_parameters_of_a_fabric_and_of_all_workloads_are_checked_together() {
    let keys = |text: &str| -> Vec<String> {
        let key = |line: &str| line.split(": ").nth(1).unwrap_or_default().to_owned();
        error(text).lines().map(key).collect()
    };
    let job = "[[job]]\nname = \"a\"\nworkload.osu_latency = {}\n";
    assert_eq!(
        keys(&format!("[topology.dragonfly]\np = 0\nh = 0\n{job}")),
        ["topology.dragonfly.p", "topology.dragonfly.h"]
    );
    let jobs = "[[job]]\nname = \"b\"\nworkload.osu_bw = { window = 0, iterations = 0 }\n\
                [[job]]\nname = \"c\"\nworkload.permutation = { ranks = 2, iterations = 0 }\n";
    assert_eq!(
        keys(&format!("topology.single_switch.hosts = 6\n{job}{jobs}")),
        ["job.1.workload.osu_bw.window", "job.1.workload.osu_bw.iterations", "job.2.workload.permutation.iterations"]
    );
}

#[test]
fn mistakes_of_open_loops_are_reported_together_before_the_first_point() {
    let text = "[topology.dragonfly]\n[open_loop]\nloads = [0.5, 2]\n\
                patterns = [\"uniform\", { shift = { offset = 0 } }]\nprecision = 0.0\nlongest = \"0s\"\n\
                [switch]\noutput_queue = \"65kB\"\nlatency = \"1.5ns\"\n";
    let fabric = Fabric::parse(text, "x.toml", &[]).unwrap();
    let error = fabric.curve(&Processes::ALONE, 1, None, &mut |_| panic!("no point is simulated")).unwrap_err();
    let lines = error.to_string();
    let starts = [
        "x.toml:8:1: switch.output_queue: 65; expected 1 to 64",
        "x.toml:9:1: switch.latency: 1500ps; expected a whole number of nanoseconds",
        "x.toml:6:1: open_loop.longest: 0; expected 1 to",
        "x.toml:5:1: open_loop.precision: 0; expected 0.000001 to 1",
        "x.toml:3:15: open_loop.loads.1: 2; expected 0.000001 to 1",
        "x.toml:4:",
    ];
    assert_eq!(lines.lines().count(), starts.len(), "{lines}");
    for start in starts {
        assert!(lines.lines().any(|line| line.starts_with(start)), "{start}\nis not in\n{lines}");
    }
}

#[test]
fn overrides_of_any_size_are_rejected_in_a_short_line() {
    let set =
        |key: String, value: String| Scenario::parse(&with(""), "x.toml", &[(key, value)]).unwrap_err().to_string();
    let cases = [
        set("seed".to_owned(), "9".repeat(5_000)),
        set("seed".to_owned(), "[".repeat(1_000) + &"]".repeat(1_000)),
        set("a.".repeat(100_000) + "b", "1".to_owned()),
        set("seed".to_owned(), "1\n[switch]".to_owned()),
        set("seed".to_owned(), String::new()),
    ];
    for line in cases {
        assert!(line.starts_with("override: ") && line.contains("expected") && line.len() < 300, "{line}");
    }
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*") {
        let _ = Scenario::parse(&text, "x.toml", &[]);
    }

    #[test]
    fn almost_right_text_never_panics(key in "[a-z_.]{1,20}", value in "[0-9a-zA-Z\"/\\[\\]{}=, ]{0,20}") {
        let _ = Scenario::parse(&with(&format!("{key} = {value}")), "x.toml", &[]);
        let _ = Scenario::parse(&with(""), "x.toml", &[(key, value)]);
    }
}

#[test]
fn a_controller_beside_another_routing_is_an_error() {
    let error = Scenario::parse(&with("[controller]\nreaction = \"1ms\"\n"), "x.toml", &[]).unwrap_err().to_string();
    let expected = "controller: given with routing = \"up_down\"; expected routing = \"controller\" or \
                    \"elastic_tree\" beside it";
    assert!(error.contains(expected), "{error}");
    let tree = "routing = \"elastic_tree\"\n[topology.fat_tree]\n[controller]\nchange_max = 0.2\n\
                [[job]]\nname = \"j\"\nworkload.osu_latency = {}\n";
    let error = Scenario::parse(tree, "x.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("controller.change_max: given; expected none: elastic_tree chooses links"), "{error}");
}

#[test]
fn triggers_that_no_deployed_switch_acts_on_are_refused_in_plans() {
    let plan = |rules: &str, trigger: &str| {
        let text = format!(
            "topology.dragonfly = {{ p = 1, a = 2, h = 1 }}\ncontrol.rules = \"{rules}\"\n\
             open_loop.tables.conditional.trigger = {trigger}\n"
        );
        Fabric::parse(&text, "x.toml", &[]).unwrap().deployment(&[]).map(drop).map_err(|error| error.to_string())
    };
    let notification = "{ notification = { hold = \"60us\" } }";
    let congestion = "{ congestion = { packets = 5 } }";
    for (name, trigger) in [("notification", notification), ("congestion", congestion)] {
        let error = plan("conditional", trigger).unwrap_err();
        let expected = format!("x.toml:3:30: open_loop.tables.conditional.trigger: {name}; expected full or pause");
        assert!(error.starts_with(&expected), "{error}");
        assert_eq!(plan("minimal", trigger), Ok(()));
    }
    assert_eq!(plan("conditional", "\"full\"").and(plan("conditional", "\"pause\"")), Ok(()));
}
