//! Processes that carry one simulation together report what one process alone does. Real ones: where an MPI library is
//! installed, the example `ranks` is built against it and started by its launcher.

#[path = "../examples/dragonfly/mod.rs"]
mod dragonfly;
#[path = "../examples/dragonfly/json.rs"]
mod json;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dragonfly::{Act, Point, Setting, Words};
use etherweave_openloop::Experiment;
use etherweave_routing::PacketRouting;

/// Seven shards, with packets that ask queues; three shards of pauses, full; three until steady. With four processes
/// one has nothing to carry of the latter.
const RUNS: [&str; 3] = [
    "p=3 a=6 h=3 us=20 load=0.4 routing=MIN,PB,conditional steps=true",
    "p=2 a=4 h=2 us=20 load=1 routing=VAL pattern=ADV+1 flow_control=pauses steps=true",
    "p=2 a=4 h=2 us=steady load=0.6 routing=UGAL-L pattern=UN",
];

#[test]
fn one_two_and_four_processes_report_what_one_without_mpi_does() {
    let example = match build() {
        Ok(example) => example,
        Err(missing) => return skip(&missing),
    };
    for words in RUNS {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let expected = alone(&Words(words.clone()));
        for count in ["1", "2", "4"] {
            assert_eq!(launched(count, &example, &words), expected, "{words:?} on {count} processes");
        }
    }
}

/// Straight to the terminal: the harness keeps what a test that passes prints.
fn skip(missing: &str) {
    let printed =
        writeln!(std::io::stderr(), "SKIPPED one simulation on many processes: {missing}; see docs/guide/cluster.md");
    printed.expect("standard error is open");
}

/// The example, in a directory of its own so that the build that runs this test is not waited for.
fn build() -> Result<PathBuf, String> {
    for program in ["mpirun", "mpicc"] {
        let found = Command::new(program).arg("--version").output();
        found.map_err(|error| format!("no {program} ({error})"))?;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpi");
    let built = Command::new(env!("CARGO"))
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .args(["build", "--quiet", "--features", "mpi", "--example", "ranks", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .output()
        .expect("what runs this test also builds");
    if text(&built.stderr).contains("libclang") {
        return Err("no libclang, by which the library's interface is read".to_owned());
    }
    assert!(built.status.success(), "{}", text(&built.stderr));
    Ok(target.join("debug/examples/ranks"))
}

/// What so many processes print.
fn launched(count: &str, example: &Path, words: &[String]) -> Vec<String> {
    let mut launcher = Command::new("mpirun");
    // For Open MPI, whose launcher by default starts no more processes than cores, and none for a machine's root.
    launcher.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    launcher.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_mpi_yield_when_idle", "1");
    launcher.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    let Output { status, stdout, stderr } =
        launcher.args(["-n", count]).arg(example).args(words).output().expect("a launcher was found");
    assert!(status.success(), "{}", text(&stderr));
    text(&stdout).lines().map(str::to_owned).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What this process reports.
fn alone(words: &Words) -> Vec<String> {
    let setting = Setting::of(words);
    let mut reports = Reports(Vec::new());
    words.points().iter().for_each(|point| setting.with(point, &mut reports));
    reports.0
}

struct Reports(Vec<String>);

impl Act for Reports {
    fn act<R: PacketRouting>(&mut self, _: &Point<'_>, experiment: &Experiment<'_, R>) {
        self.0.push(json::json(&experiment.run(2).expect("parameters in range")).to_string());
    }
}
