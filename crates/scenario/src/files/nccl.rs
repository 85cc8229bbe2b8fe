//! The library of accelerators: jobs that call NCCL have connections for each communicator, and where all do,
//! `host.mpi_roce` has its profile.

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

/// Gives connections to jobs that call NCCL and do not name any; and names the profile of NCCL in `host.mpi_roce` if
/// every job calls NCCL and the scenario has no such table.
pub(super) fn insert(values: &mut Table) {
    let jobs = values.get_mut("job").and_then(Value::as_array_mut).map_or(&mut [][..], Vec::as_mut_slice);
    let are_callers: Vec<bool> = jobs.iter_mut().map(insert_connections).collect();
    if are_callers.is_empty() || are_callers.contains(&false) {
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

/// Gives connections to a job, if it calls NCCL; and whether it does.
fn insert_connections(job: &mut Value) -> bool {
    let is_caller = calls_nccl(job);
    if let (true, Value::Table(job)) = (is_caller, job) {
        job.entry("connections").or_insert_with(|| "per communicator".into());
    }
    is_caller
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

    use crate::{Connections, Scenario};

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
    fn jobs_of_nccl_have_connections_for_each_communicator() {
        let connections = |text: &str| {
            let text = format!("topology.single_switch.hosts = 16\n[[job]]\nname = \"j\"\n{text}\n");
            Scenario::parse(&text, "x.toml", &[]).unwrap().job[0].connections
        };
        assert_eq!(connections("workload.training = {}"), Connections::PerCommunicator);
        assert_eq!(connections("workload.training = {}\nconnections = 2"), Connections::Count(2));
        assert_eq!(connections("workload.osu_latency = {}"), Connections::PerPair);
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
