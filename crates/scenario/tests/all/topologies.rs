//! Every family in a scenario: it simulates, and its mistakes have a line and a key.

use std::fs;

use etherweave_scenario::{Run, Scenario};
use etherweave_topology::TopologyKind;

use super::cases::check;

/// Two hosts that talk on a fabric, routed as suits any.
fn scenario(topology: &str) -> String {
    format!("routing = \"up_down\"\n{topology}\n[[job]]\nname = \"j\"\nworkload.osu_latency = {{}}\n")
}

fn error(topology: &str) -> String {
    let Err(error) = Run::start(&scenario(topology), "x.toml", &[], 1, &[]) else { panic!("{topology} is accepted") };
    error.to_string()
}

#[test]
fn every_example_of_every_family_simulates() {
    for kind in TopologyKind::examples() {
        if kind.generate().unwrap().hosts() < 2 {
            continue;
        }
        let mut root = toml::Table::new();
        root.insert("topology".to_owned(), toml::Value::try_from(&kind).unwrap());
        let text = scenario(&toml::to_string(&root).unwrap());
        let run = Run::start(&text, "x.toml", &[], 1, &[]).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        let summary = run.finish(&mut |_| true).0.summary;
        assert_eq!((summary.finished, summary.packets_dropped), ("complete", 0), "{kind:?}");
    }
}

#[test]
fn families_read_as_users_write_them_and_resolve_to_themselves() {
    let texts = [
        "[topology.dragonfly]\np = 2\na = 4\nh = 2\ngroups = 5\narrangement = { random = { seed = 3 } }",
        "[topology.flattened_butterfly]\nhosts_per_switch = 2\nsizes = [3, 3]\nglobal_cable = \"30m optical\"",
        "[topology.hyperx]\ndimensions = [{ size = 4 }, { size = 2, lag = 3, rate = \"400Gb/s\" }]",
        "[topology.torus]\ndimensions = [{ size = 4 }, { size = 4 }, { size = 4 }]",
        "[topology.folded_clos]\nradix = 8\nhosts = 100\nuplinks = [{ ports = 4 }, {}]",
        "[topology.slim_fly]\nq = 4\n[topology.slim_fly.as_built]\nhosts = 20\nfailed = [\"switch1.3.3\"]",
    ];
    for text in texts {
        let parsed = Scenario::parse(&scenario(text), "x.toml", &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(Scenario::parse(&parsed.resolved(), "x.toml", &[]).unwrap(), parsed, "{text}");
        assert!(parsed.topology.generate().is_ok(), "{text}");
    }
}

#[test]
fn each_mistake_names_its_line_key_and_range() {
    check("families", error);
}

#[test]
fn a_fabric_may_have_a_file_of_its_own() {
    let folder = std::env::temp_dir().join(format!("etherweave-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("two.csv"), "h0,s0,1Gb/s,3m\nh1,s0,1Gb/s,3m\n").unwrap();
    let origin = folder.join("x.toml").to_str().unwrap().to_owned();
    let read = |file: &str| Scenario::parse(&scenario(&format!("[topology.custom]\nfile = {file}")), &origin, &[]);
    let parsed = read("\"two.csv\"").unwrap();
    assert!(parsed.resolved().contains("h1,s0,1Gb/s,3m"), "{}", parsed.resolved());
    let error = |file: &str| read(file).unwrap_err().to_string().replace(&origin, "x.toml");
    assert!(error("\"none.csv\"").starts_with("x.toml:3:1: topology.custom.file: \"none.csv\" cannot be read"));
    assert!(
        error("\"two.dot\"")
            .contains("\"two.dot\" is of no known format; expected one of .csv, .tsv, .graphml, .xml, .json; ")
    );
    assert!(error("7").ends_with("topology.custom.file: 7; expected the name of a file as a string"));
    fs::remove_dir_all(&folder).unwrap();
}
