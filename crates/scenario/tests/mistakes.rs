//! Every mistake gives one error: where, what, and what is expected.

use etherweave_scenario::{Run, Scenario};
use proptest::prelude::*;

/// The error of a scenario that is `first` without the lines that `text` replaces.
fn error(text: &str) -> String {
    let Err(error) = Run::start(text, "x.toml", &[], 1, None) else { panic!("{text} is accepted") };
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
        ("[switch]\nlatencyy = \"1ns\"", "x.toml:4:1: switch.latencyy: unknown field `latencyy`, expected one of"),
        ("[switch]\nlatency = 300", "x.toml:4:1: switch.latency: "),
        ("[switch]\nlatency = \"300\"", "x.toml:4:1: switch.latency: "),
        ("[switch]\nprofile = \"tofino\"", "x.toml:4:1: switch.profile: no profile \"tofino\"; known: spectrum"),
        ("[switch]\nheadroom = \"17MiB\"", "x.toml:4:1: switch.headroom: "),
        ("[switch]\nbuffer = \"60KiB\"", "x.toml:4:1: switch.buffer: reserves and headroom of switch0 take"),
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
        ("[transport.ipx]", "x.toml:3:2: transport: unknown variant `ipx`, expected `roce` or `tcp`"),
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
        ("workload.fft = {}", "x.toml:3:1: job.0.placement"),
        ("workload.osu_latency = {}\nplacement.hosts = [0, 0]", "x.toml:6:11: job.0.placement.hosts: host 0 is taken"),
        ("workload.osu_latency = {}\nplacement.hosts = [0, 99]", "x.toml:6:11: job.0.placement.hosts: host 99"),
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
fn overrides_reach_into_lists_and_say_what_is_wrong_with_them() {
    let set = |key: &str, value: &str| {
        Scenario::parse(&with(""), "x.toml", &[(key.to_owned(), value.to_owned())]).map(|scenario| scenario.resolved())
    };
    assert!(set("job.0.workload.osu_latency.bytes", "\"64B\"").unwrap().contains("bytes = \"64B\""));
    assert!(set("switch.latency", "\"1us\"").unwrap().contains("latency = \"1us\""));
    assert_eq!(
        set("job.3.name", "1").unwrap_err().to_string(),
        "override: job.3.name: no element `3`; expected 0 to 0"
    );
    assert!(set("seed", "1 2").unwrap_err().to_string().starts_with("override: seed: `1 2` is no TOML value"));
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
