//! Assumptions about hosts where a scenario says nothing, as far as they make results too good or too bad.

use etherweave_primitives::Duration;

use crate::{JobSpec, Scenario};

/// Most ranks of a host that copy at once as fast as each alone: six copies of 11 GB/s, each read and written, are the
/// 128 GB/s of a socket with six channels of DDR4-2666.
const COPYING_MAX: u32 = 6;

/// Lines about hosts of jobs that must be known before a run.
pub(crate) fn warnings(scenario: &Scenario) -> Vec<String> {
    let lines = |(number, job): (usize, &JobSpec)| {
        [shared_cores(scenario, job), free_memory(scenario, job), copied_by_processors(scenario, number, job)]
    };
    scenario.job.iter().enumerate().flat_map(lines).flatten().collect()
}

fn shared_cores(scenario: &Scenario, job: &JobSpec) -> Option<String> {
    let (ranks, cores) = (job.ranks_per_host, scenario.host.cores.as_ref()?.count());
    let text = format!("{}: {ranks} ranks on hosts of {cores} cores; ranks of a core take turns", job.name);
    (ranks > cores).then_some(text)
}

/// Many ranks of a host whose memory has no limit, so that what they exchange within it is too fast.
fn free_memory(scenario: &Scenario, job: &JobSpec) -> Option<String> {
    let (host, ranks) = (&scenario.host, job.ranks_per_host);
    let cores = if host.cores.is_none() { "; host.cores is absent: each has a core of its own" } else { "" };
    let text = format!(
        "{}: {ranks} ranks of a host copy at once as fast as each alone, since host.memory_rate is absent{cores}",
        job.name
    );
    (host.memory_rate.is_none() && ranks > COPYING_MAX).then_some(text)
}

/// A job of NCCL over a library of MPI, in whose buffers a processor copies every message.
fn copied_by_processors(scenario: &Scenario, number: usize, job: &JobSpec) -> Option<String> {
    let library = &scenario.host.mpi_roce;
    let copies = [library.self_per_kib, library.eager_send_per_kib, library.eager_receive_per_kib];
    let is_copied = copies.iter().any(|&copy| copy > Duration::ZERO);
    let text = format!(
        "job.{number}.workload.{}: its messages are those of accelerators, and a processor copies them by \
         host.mpi_roce; host.mpi_roce.profile = \"nccl-2.21\" describes NCCL",
        job.workload.name()
    );
    (is_copied && job.workload.calls_nccl() && !scenario.transport_of(job).is_in_kernel()).then_some(text)
}

#[cfg(test)]
mod tests {
    use crate::testing;

    fn warnings(text: &str) -> Vec<String> {
        let text = format!("topology.single_switch.hosts = 16\nflow_control.pfc = {{}}\n{text}");
        testing::warnings(&text, &[])
    }

    #[test]
    fn many_ranks_of_a_host_need_the_rate_of_its_memory() {
        let job = "[[job]]\nname = \"j\"\nworkload.osu_collective.ranks = 16\nranks_per_host =";
        let expected = "j: 8 ranks of a host copy at once as fast as each alone, since host.memory_rate is absent; \
                        host.cores is absent: each has a core of its own";
        assert_eq!(warnings(&format!("{job} 8")), [expected]);
        assert_eq!(warnings(&format!("{job} 4")), Vec::<String>::new());
        assert_eq!(warnings(&format!("host.memory_rate = \"800Gb/s\"\n{job} 8")), Vec::<String>::new());
    }

    #[test]
    fn nccl_beside_a_job_of_mpi_is_copied_by_processors() {
        let profile = "interconnect.profile = \"ethernet-100-roce\"\n";
        let nccl = "[[job]]\nname = \"a\"\nworkload.nccl_tests = { ranks = 8, network_rate = \"100Gb/s\" }\n";
        let mpi = "[[job]]\nname = \"b\"\nworkload.osu_latency = {}\n";
        assert_eq!(warnings(&format!("{profile}{nccl}")), Vec::<String>::new());
        let expected = "job.0.workload.nccl_tests: its messages are those of accelerators, and a processor copies \
                        them by host.mpi_roce; host.mpi_roce.profile = \"nccl-2.21\" describes NCCL";
        assert_eq!(warnings(&format!("{profile}{nccl}{mpi}")), [expected]);
    }
}
