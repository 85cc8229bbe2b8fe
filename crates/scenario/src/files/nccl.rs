//! The library of accelerators: where all jobs call NCCL, `host.mpi_roce` has its profile.

use etherweave_workload::Workload;
use toml::{Table, Value};

use super::PROFILE;
use crate::reader;

/// Library over RoCE, and the profile that jobs of NCCL have.
const LIBRARY: &str = "mpi_roce";
const NCCL: &str = "nccl-2.21";

/// The part of a job that says whose calls it makes.
#[derive(serde::Deserialize)]
struct Caller {
    workload: Workload,
}

/// Names the profile of NCCL in `host.mpi_roce` if every job calls NCCL and the scenario has no such table.
pub(super) fn insert(values: &mut Table) {
    let jobs = values.get("job").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if jobs.is_empty() || !jobs.iter().all(calls_nccl) {
        return;
    }
    let host = values.entry("host").or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(host) = host
        && !host.contains_key(LIBRARY)
    {
        let profile = Table::from_iter([(PROFILE.to_owned(), NCCL.into())]);
        host.insert(LIBRARY.to_owned(), profile.into());
    }
}

/// Mistakes of a job are reported with the others of the scenario.
fn calls_nccl(job: &Value) -> bool {
    let Some(workload) = job.get("workload") else { return false };
    let caller = Table::from_iter([("workload".to_owned(), workload.clone())]);
    reader::read::<Caller>(&caller).is_ok_and(|caller| caller.workload.calls_nccl())
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;

    use crate::Scenario;

    fn library(text: &str) -> (Duration, Duration) {
        let text = format!("topology.single_switch.hosts = 16\ninterconnect.profile = \"ethernet-400-roce\"\n{text}");
        let library = Scenario::parse(&text, "x.toml", &[]).unwrap().host.mpi_roce;
        (library.send_overhead, library.self_per_kib)
    }

    const OF_NCCL: (Duration, Duration) = (Duration::from_us(1), Duration::ZERO);

    #[test]
    fn jobs_of_nccl_have_its_profile() {
        for workload in ["nccl_tests = {}", "training = {}", "osu_collective = { library = \"nccl\" }"] {
            assert_eq!(library(&format!("[[job]]\nname = \"j\"\nworkload.{workload}\n")), OF_NCCL, "{workload}");
        }
    }

    #[test]
    fn a_job_of_mpi_or_a_library_that_is_given_keeps_the_library() {
        let jobs = "[[job]]\nname = \"a\"\nworkload.nccl_tests.ranks = 8\n\
                    [[job]]\nname = \"b\"\nworkload.osu_latency = {}\n";
        assert_ne!(library(jobs), OF_NCCL);
        let given = "host.mpi_roce.profile = \"ucx-1.18\"\n[[job]]\nname = \"a\"\nworkload.nccl_tests.ranks = 8\n";
        assert_ne!(library(given), OF_NCCL);
    }
}
