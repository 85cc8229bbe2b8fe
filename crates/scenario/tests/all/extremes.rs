//! Values at the edge of sense, key by key: each runs, or is rejected with what is expected.

use etherweave_scenario::Run;

use super::cases::cases;

/// Four hosts, an incast of three into the fourth, and `lines` of dotted keys.
fn scenario(lines: &str) -> String {
    let topology = if lines.contains("topology.") { "" } else { "topology.single_switch = { hosts = 4 }\n" };
    let run = if lines.contains("run") { "" } else { "run.end = \"20us\"\n" };
    let job = "[[job]]\nname = \"j\"\nworkload.incast = { sources = 3, message = \"64KiB\" }\n";
    let job = if lines.contains("[[job]]") { "" } else { job };
    format!("{topology}{run}{lines}\n{job}")
}

/// Each case is rejected with an error of a line, or moves packets and keeps count of them.
fn check(section: &str) {
    for (lines, expected) in cases(section) {
        match (Run::start(&scenario(&lines), "x.toml", &[], 1, &[]), expected) {
            (Err(error), Some(expected)) => {
                let error = error.to_string();
                assert!(error.contains(&expected), "{lines}\ngave     {error}\nexpected {expected}");
                assert!(error.lines().all(|line| line.starts_with("x.toml:")), "{error}");
            }
            (Ok(run), None) => {
                let summary = run.finish(&mut |_| true).0.summary;
                let lost = summary.packets_dropped + summary.packets_damaged + summary.packets_lost;
                let accounted = summary.packets_delivered + lost + summary.packets_in_flight;
                assert_eq!(summary.packets_created, accounted, "{lines}");
                assert!(summary.packets_created > 0, "{lines}: {summary:?}");
            }
            (Err(error), None) => panic!("{lines}: {error}"),
            (Ok(_), Some(_)) => panic!("{lines} is accepted"),
        }
    }
}

#[test]
fn switches() {
    check("switches");
}

#[test]
fn marking() {
    check("marking");
}

#[test]
fn flow_control() {
    check("flow_control");
}

#[test]
fn hosts() {
    check("hosts");
}

#[test]
fn roce() {
    check("roce");
}

#[test]
fn tcp() {
    check("tcp");
}

#[test]
fn fabrics() {
    check("fabrics");
}

#[test]
fn messages_and_ranks() {
    check("messages_and_ranks");
}

#[test]
fn times_of_runs_and_jobs() {
    check("times_of_runs_and_jobs");
}
