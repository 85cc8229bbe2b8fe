//! The library of accelerators: jobs that call NCCL have connections for each communicator, others those of their
//! library, and where all call such a library, `host.mpi_roce` has its profile.

use etherweave_sim::params::MpiParams;
use etherweave_workload::Workload;
use toml::{Table, Value};

use super::PROFILE;
use crate::text::reader;

const LIBRARY: &str = "mpi_roce";
const NCCL: &str = "nccl-2.21";

/// The part of a job that says whose calls it makes.
#[derive(serde::Deserialize)]
struct Caller {
    workload: Workload,
}

/// Gives connections to jobs that call NCCL or another library of accelerators and do not name any; and names the
/// profile of that library in `host.mpi_roce` if every job calls one and the scenario names none: that of NCCL where
/// they differ. Keys of `host.mpi_roce` that the scenario sets stand before those of the profile.
pub(super) fn insert(values: &mut Table) {
    let jobs = values.get_mut("job").and_then(Value::as_array_mut).map_or(&mut [][..], Vec::as_mut_slice);
    let profiles: Vec<Option<&str>> = jobs.iter_mut().map(insert_connections).collect();
    let Some(profiles) = profiles.into_iter().collect::<Option<Vec<&str>>>() else { return };
    let Some(&first) = profiles.first() else { return };
    let name = if profiles.iter().all(|&name| name == first) { first } else { NCCL };
    let empty = || Value::Table(Table::new());
    if let Value::Table(host) = values.entry("host").or_insert_with(empty)
        && let Value::Table(library) = host.entry(LIBRARY).or_insert_with(empty)
        && !is_resolved(library)
    {
        library.entry(PROFILE).or_insert_with(|| name.into());
    }
}

/// Whether a table has all keys of a scenario that is filled in, which names no profile any more.
fn is_resolved(library: &Table) -> bool {
    let always = Table::try_from(MpiParams::roce()).expect("parameters are a table");
    always.keys().all(|key| library.contains_key(key))
}

/// Gives connections to a job, if it calls a library of accelerators; gives the profile of that library.
fn insert_connections(job: &mut Value) -> Option<&'static str> {
    let workload = caller(job)?;
    if let Value::Table(job) = job {
        let count = || workload.connections().map_or("per communicator".into(), |count| i64::from(count).into());
        job.entry("connections").or_insert_with(count);
    }
    Some(workload.message_profile().unwrap_or(NCCL))
}

/// The workload of a job that calls a library of accelerators. Mistakes are reported with the others of the scenario.
fn caller(job: &Value) -> Option<Workload> {
    let caller = Table::from_iter([("workload".to_owned(), job.get("workload")?.clone())]);
    let workload = reader::read::<Caller>(&caller).ok()?.workload;
    workload.calls_nccl().then_some(workload)
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;

    use crate::{Connections, Scenario, testing::Folder};

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
    fn jobs_of_another_library_have_that_of_their_own_unless_nccl_is_beside_them() {
        let [moe, nccl] = ["moe = {}", "nccl_tests.ranks = 8"].map(|workload| {
            let name = &workload[..3];
            format!("[[job]]\nname = \"{name}\"\nworkload.{workload}\n")
        });
        assert_eq!(library(&moe).0, Duration::from_ns(190));
        assert_eq!(library(&format!("{moe}{nccl}")), OF_NCCL);
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
        assert_eq!(connections("workload.moe.ranks = 16"), Connections::Count(10));
    }

    #[test]
    fn a_list_in_a_file_changes_neither_profile_nor_connections() {
        let folder = Folder::new("lists");
        folder.write("list.csv", "0,100,10\n1,100,10\n");
        folder.write("loads.csv", "1\n".repeat(256));
        let cases = [
            ("moe.gate.loads.file = \"loads.csv\"", Connections::Count(10), Duration::from_ns(190)),
            ("inference.requests.listed.file = \"list.csv\"", Connections::PerCommunicator, Duration::from_us(1)),
        ];
        for (workload, connections, overhead) in cases {
            let text = format!("topology.single_switch.hosts = 32\n[[job]]\nname = \"j\"\nworkload.{workload}\n");
            let scenario = Scenario::parse(&text, &folder.origin(), &[]).unwrap();
            assert_eq!(scenario.job[0].connections, connections, "{workload}");
            assert_eq!(scenario.host.mpi_roce.send_overhead, overhead, "{workload}");
        }
    }

    #[test]
    fn a_job_of_mpi_or_a_library_that_is_given_keeps_the_library() {
        let jobs = "[[job]]\nname = \"a\"\nworkload.nccl_tests.ranks = 8\n\
                    [[job]]\nname = \"b\"\nworkload.osu_latency = {}\n";
        assert_ne!(library(jobs), OF_NCCL);
        let profiled = "host.mpi_roce.profile = \"ucx-1.18\"\n[[job]]\nname = \"a\"\nworkload.nccl_tests.ranks = 8\n";
        assert_ne!(library(profiled), OF_NCCL);
    }

    #[test]
    fn a_library_that_is_filled_in_stays() {
        for profile in ["ucx-1.6", "ucx-1.18", "openmpi-4.0", "deepep", "nccl-2.21"] {
            let text = format!(
                "topology.single_switch.hosts = 8\nhost.mpi_roce.profile = \"{profile}\"\n\
                 [[job]]\nname = \"a\"\nworkload.nccl_tests.ranks = 8\n"
            );
            let resolve = |text: &str| Scenario::parse(text, "x.toml", &[]).unwrap().resolved();
            let resolved = resolve(&text);
            assert_eq!(resolve(&resolved), resolved, "{profile}");
        }
    }

    /// A key of the table, such as one that samples draw, leaves the others to the profile.
    #[test]
    fn a_key_of_the_library_does_not_take_its_profile_away() {
        let job = "[[job]]\nname = \"a\"\nworkload.nccl_tests.ranks = 8\n";
        assert_eq!(library(&format!("host.mpi_roce.temporary_per_kib = \"60ns\"\n{job}")), OF_NCCL);
        let (overhead, copy) = library(&format!("host.mpi_roce.send_overhead = \"2us\"\n{job}"));
        assert_eq!((overhead, copy), (Duration::from_us(2), Duration::ZERO));
    }
}
