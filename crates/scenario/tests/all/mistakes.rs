//! Every mistake gives a line: where, what, and what is expected.

use etherweave_scenario::{Fabric, Processes, Run, Scenario};
use proptest::prelude::*;

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
    let cases = [
        ("[switch]\nlatencyy = \"1ns\"", "x.toml:4:1: switch.latencyy: unknown key; expected one of"),
        ("[switch]\nlatency = 300", "x.toml:4:1: switch.latency: "),
        ("[switch]\nlatency = \"300\"", "x.toml:4:1: switch.latency: "),
        ("[switch]\nprofile = \"tofino\"", "x.toml:4:1: switch.profile: no profile \"tofino\"; expected spectrum"),
        (
            "[transport.roce.dcqcn]\nprofile = \"fast\"",
            "x.toml:4:1: transport.roce.dcqcn.profile: no profile \"fast\"; expected paper",
        ),
        ("[switch]\nheadroom = \"17MiB\"", "x.toml:4:1: switch.headroom: "),
        ("[switch]\nbuffer = \"60KiB\"", "x.toml:4:1: switch.buffer: reserves and headroom of switch0 take"),
        (
            "[switch]\nmodel = \"input_queued\"",
            "x.toml:4:1: switch.model: input_queued with flow_control.pfc; expected input_queued with flow_control",
        ),
        (
            "[switch]\nmodel = \"input_queued\"\nbuffer = \"1MiB\"\n[flow_control.credits]",
            "x.toml:5:1: switch.buffer: 1MiB; expected 16MiB, the default: nothing here has a shared buffer, so that \
             it cannot take effect",
        ),
        ("[switch]\nspeed_up = 3", "x.toml:4:1: switch.speed_up: 3; expected 2, the default: nothing here"),
        ("[flow_control.pfc]\npriorities = [9]", "x.toml:4:15: flow_control.pfc.priorities.0: "),
        ("[flow_control.pfc]\ncoupled = true", "x.toml:4:1: flow_control.pfc.coupled: true with 1 priority; expected"),
        ("[nic]\nxon = \"1MiB\"", "x.toml:4:1: nic.xon: 1MiB; expected at most nic.xoff"),
        ("[nic]\ndrain_rate = \"0Gb/s\"", "x.toml:4:1: nic.drain_rate: "),
        (
            "[ets]\nweights = [50, 49, 0, 0, 0, 0, 0, 0]",
            "x.toml:4:1: ets.weights: a sum of 99 %; expected a sum of 100 %",
        ),
        ("[transport.roce]\ndcqcn = {}", "x.toml:4:1: transport.roce.dcqcn: no switch.ecn; expected marking switches"),
        ("[transport.roce]\npath_mtu = \"4000B\"", "x.toml:4:1: transport.roce.path_mtu: "),
        ("[transport.ipx]", "x.toml:3:2: transport: unknown name `ipx`; expected one of `roce`, `uet`, `tcp`"),
        ("[switch", "x.toml:3:8: "),
    ];
    for (lines, expected) in cases {
        let error = error(&with(lines));
        assert!(error.starts_with(expected), "{lines}\ngave     {error}\nexpected {expected}");
        assert!(error.contains("expected") || error.contains("known"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn mistakes_about_jobs_name_the_job() {
    let job = |lines: &str| error(&format!("[topology.single_switch]\nhosts = 4\n[[job]]\nname = \"j\"\n{lines}\n"));
    let cases = [
        ("workload.fft = {}", "x.toml:5:1: job.0.workload: 48 ranks; expected at most 4, one for each host"),
        ("workload.osu_latency = {}\nplacement.linear.first = 3", "x.toml:6:11: job.0.placement.linear: 2 hosts; exp"),
        ("workload.osu_latency = {}\nplacement.hosts = [0, 0]", "x.toml:6:11: job.0.placement.hosts: host 0 is taken"),
        ("workload.osu_latency = {}\nplacement.hosts = [0, 99]", "x.toml:6:11: job.0.placement.hosts: host 99"),
        ("workload.osu_latency = {}\nranks_per_host = 0", "x.toml:6:1: job.0.ranks_per_host: 0; expected 1 or more"),
        (
            "workload.fft = {}\nranks_per_host = 11",
            "x.toml:5:1: job.0.workload: 48 ranks; expected at most 44, 11 for each of the 4 hosts of the fabric",
        ),
        (
            "workload.osu_latency = {}\nranks_per_host = 2\nrank_order.listed = [0, 1, 1]",
            "x.toml:7:12: job.0.rank_order.listed: 3 entries; expected 2, one for each rank",
        ),
        (
            "workload.incast = {}\nranks_per_host = 8",
            "x.toml:6:1: job.0.ranks_per_host: 8 for streams; expected 1: each stream is between two hosts",
        ),
        (
            "workload.osu_latency = {}\nbinding = \"socket\"",
            "x.toml:6:1: job.0.binding: without host.cores; expected cores of hosts: each rank has one of its own",
        ),
        (
            "workload.osu_latency = {}\nplacement.groups = [0, 0]",
            "x.toml:6:11: job.0.placement.groups: a fabric without",
        ),
        ("workload.osu_latency = {}\npriority = 9", "x.toml:6:1: job.0.priority: "),
        ("workload.osu_latency = {}\npriority = 3", "x.toml:6:1: job.0.priority: RoCE in priority 3"),
        ("workload.halo3d = { pex = 0 }", "x.toml:5:21: job.0.workload.halo3d.pex: 0; expected at least 1"),
    ];
    for (lines, expected) in cases {
        let error = job(lines);
        assert!(error.starts_with(expected), "{lines}\ngave     {error}\nexpected {expected}");
    }
    let none = error("seed = 1\n");
    assert_eq!(none, "x.toml: job: no job; expected at least one `[[job]]` with a name and a workload");
}

#[test]
fn mistakes_about_storms_and_watchdogs_name_the_key() {
    let storm = |lines: &str| error(&with(&format!("[[faults.pause_storm]]\n{lines}")));
    for (lines, expected) in [
        ("host = \"leaf9\"", "faults.pause_storm.0.host: no host \"leaf9\"; expected one such as \"host0\""),
        ("host = \"host0\"\npriorities = [5]", "faults.pause_storm.0.priorities: 5; expected lossless priorities: 0"),
        (
            "host = \"host0\"\nfrom = \"2us\"\nuntil = \"1us\"",
            "faults.pause_storm.0.until: 1us; expected more than 2us, when it begins",
        ),
    ] {
        assert!(storm(lines).contains(expected), "{}", storm(lines));
    }
    let twice = "host = \"host0\"\n[[faults.pause_storm]]\nhost = \"host0\"";
    assert!(storm(twice).contains("faults.pause_storm.1.from: 0ps; expected a time apart from"), "{}", storm(twice));
    let without = error(&with("[flow_control.none]\n[[faults.pause_storm]]\nhost = \"host0\""));
    assert!(without.contains("expected flow_control.pfc or flow_control.global_pause"), "{without}");
    let watchdog = |keys: &str| error(&with(&format!("[flow_control.pfc]\nwatchdog = {{ {keys} }}\n")));
    for (keys, expected) in [
        ("poll = \"100ns\"", "flow_control.pfc.watchdog.poll: 100ns; expected 1us to 60s"),
        ("detection = \"1ms\"", "flow_control.pfc.watchdog.detection: 1ms; expected 200ms to 60s"),
        ("action = \"reset\"", "flow_control.pfc.watchdog.action: unknown name `reset`; expected"),
    ] {
        assert!(watchdog(keys).contains(expected), "{}", watchdog(keys));
    }
}

#[test]
fn mistakes_about_faults_name_the_fault() {
    let degraded = |lines: &str| error(&with(&format!("[[faults.degraded]]\n{lines}")));
    let cases = [
        (
            "link = \"host9 - switch0\"\nbit_error_rate = 1e-9",
            "x.toml:4:1: faults.degraded.0.link: no cable \"host9 - switch0\"; expected two nodes with one, such as",
        ),
        ("link = \"host0 - switch0\"", "x.toml:3:1: faults.degraded.0.bit_error_rate: missing; expected a value"),
        (
            "link = \"host0 - switch0\"\nbit_error_rate = 0.01",
            "x.toml:5:1: faults.degraded.0.bit_error_rate: 0.01; expected 0 to 0.001, per bit",
        ),
        (
            "link = \"host0 - switch0\"\nbit_error_rate = 1e-9\nparallel = 1",
            "x.toml:6:1: faults.degraded.0.parallel: 1; expected 0 to 0",
        ),
        (
            "link = \"host0 - switch0\"\nbit_error_rate = 1e-9\nfrom = \"2us\"\nuntil = \"1us\"",
            "x.toml:7:1: faults.degraded.0.until: 1us; expected more than 2us, when it begins",
        ),
        (
            "link = \"host0 - switch0\"\nbit_error_rate = 1e-9\nfrom = \"1ms\"\n[run]\nend = \"1ms\"",
            "x.toml:6:1: faults.degraded.0.from: 1ms; expected less than the end of the run, 1ms",
        ),
        (
            "link = \"host0 - switch0\"\nbit_error_rate = 1e-9\nuntill = 1",
            "x.toml:6:1: faults.degraded.0.untill: unknown key; expected one of `link`, `parallel`",
        ),
    ];
    for (lines, expected) in cases {
        let error = degraded(lines);
        assert!(error.starts_with(expected), "{lines}\ngave     {error}\nexpected {expected}");
    }
    let twice = "link = \"host0 - switch0\"\nbit_error_rate = 1e-9\n";
    let again = "[[faults.degraded]]\nlink = \"switch0 - host0\"\nbit_error_rate = 0\nfrom = \"1us\"";
    let message = degraded(&format!("{twice}{again}"));
    assert!(message.starts_with("x.toml:9:1: faults.degraded.1.from: 1us; expected a time apart from"), "{message}");
}

#[test]
fn errors_name_the_members_of_a_family_and_the_range_of_a_number() {
    let placements = "expected one of `hosts`, `leaves`, `groups`, `random`, `linear`";
    let cases = [
        ("[flow_control]", "flow_control: an empty table; expected one of `none`, `global_pause`, `pfc`, `credits`"),
        ("[flow_control]\npfc = {}\nnone = {}", "flow_control: several members at once; expected one of `none`"),
        ("[flow_control]\nnone = 1", "flow_control.none: 1; expected a table"),
        ("[switch]\ningress_threshold = 1", "switch.ingress_threshold: 1; expected `alpha` or `static`"),
        ("[switch]\necn = {}", "switch.ecn.queue_min: missing; expected a value, for it has no default"),
        ("[ets]\nweights = [256, 0, 0, 0, 0, 0, 0, 0]", "ets.weights.0: 256; expected a whol"),
        ("[ets]\nweights = [100]", "ets.weights: a list of 1; expected a list of 8"),
        ("[transport.tcp]\ninitial_window = -1", "-1; expected a whole number, 0 to 4294967295"),
        ("[switch]\nlatency = \"1ns\"\nlatency = \"1ns\"", "x.toml:5:1: duplicate key; expected TOML, and each key"),
        ("[[job]]\nname = \"k\"\nworkload = {}", "job.0.workload: an empty table; expected one of `halo3d`, `fft`"),
        ("[[job]]\nname = \"k\"", "job.0.workload: missing; expected a value, for it has no default"),
        ("[[job]]\nname = \"k\"\nworkload.osu_bw = {}\nplacement = {}", placements),
        (
            "[[job]]\nname = \"k\"\nworkload.osu_bw = {}\nplacement = \"random\"",
            "placement.random: a name alone; expected a table of its parameters",
        ),
    ];
    for (lines, expected) in cases {
        let error = error(&with(lines));
        assert!(error.contains(expected), "{lines}\ngave     {error}\nexpected {expected}");
        assert!(error.starts_with("x.toml:"), "{error}");
    }
}

#[test]
fn mistakes_about_a_fabric_name_the_parameter_or_the_line_of_the_edge_list() {
    let fabric = |lines: &str| error(&format!("{lines}\n[[job]]\nname = \"j\"\nworkload.osu_latency = {{}}\n"));
    let cases = [
        ("[topology.k_ary_fat_tree]\nk = 3", "x.toml:2:1: topology.k_ary_fat_tree.k: 3; expected an even number"),
        ("[topology.custom]", "x.toml:1:11: topology.custom.links: empty; expected an edge list"),
        (
            "[topology.custom]\nhosts = 2\nlinks = \"\"\"\n# two\nh0,s0,1Gb/s,3m\nh1\n\"\"\"",
            "x.toml:6:1: topology.custom.links: line 3: 1 fields; expected 2 to 5: from,to,rate,length,medium",
        ),
        (
            "[topology.custom]\nhosts = 2\nlinks = '''h0,s0,1Gb/s,3m\nh2,s0,1Gb/s,3m'''",
            "x.toml:4:1: topology.custom.links: line 2: there is no host \"h2\"; expected h0 to h1",
        ),
        (
            "[topology.custom]\nhosts = 2\nlinks = \"h0,s0,1Gb/s,3m\\nh1,x,1Gb/s,3m\"",
            "x.toml:3:1: topology.custom.links: line 2: \"x\" is not a node; expected a host such as h0",
        ),
    ];
    for (lines, expected) in cases {
        let error = fabric(lines);
        assert!(error.starts_with(expected), "{lines}\ngave     {error}\nexpected {expected}");
    }
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
