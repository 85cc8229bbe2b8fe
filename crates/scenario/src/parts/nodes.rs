//! Whether accelerators that share a node are in a server of the fabric, as far as a topology has servers.

use etherweave_primitives::HostId;
use etherweave_sim::Job;
use etherweave_topology::Shape;

use crate::{JobSpec, Scenario};

/// Accelerators of a node of a job that has some.
fn node_size(job: &JobSpec) -> Option<u32> {
    job.workload.node().map(|node| node.accelerators).filter(|&size| size > 1)
}

/// NICs of a server, where each is a host.
fn server_size(scenario: &Scenario) -> Option<u32> {
    if let Shape::Rails { nics_per_server } = scenario.topology.shape()
        && scenario.host_ports.is_default()
    {
        Some(nics_per_server)
    } else {
        None
    }
}

/// A line for each job whose nodes are no servers by their size. Several ranks of a host share its NIC.
pub(crate) fn warnings(scenario: &Scenario) -> Vec<String> {
    let Some(nics) = server_size(scenario) else { return Vec::new() };
    let line = |(number, job): (usize, &JobSpec)| {
        let server = nics.saturating_mul(job.ranks_per_host);
        let node = node_size(job).filter(|&node| node != server)?;
        let name = job.workload.name();
        let shared = if job.ranks_per_host > 1 {
            format!(", {} for each of {nics} NICs", job.ranks_per_host)
        } else {
            String::new()
        };
        Some(format!(
            "job.{number}.workload.{name}.node.accelerators: {node}; the servers of the topology have {server}{shared}"
        ))
    };
    scenario.job.iter().enumerate().filter_map(line).collect()
}

/// A line for each job of whose nodes some are in several servers, though they have their size.
pub(crate) fn placement_warnings(scenario: &Scenario, jobs: &[Job]) -> Vec<String> {
    let Some(server) = server_size(scenario) else { return Vec::new() };
    let line = |job: &Job| {
        let spec = scenario.job.iter().find(|spec| spec.name == job.name)?;
        let node = node_size(spec).filter(|&node| node == server.saturating_mul(spec.ranks_per_host))?;
        let is_scattered = |hosts: &&[HostId]| hosts.iter().any(|host| host.get() / server != hosts[0].get() / server);
        let count = job.hosts.chunks(node as usize).filter(is_scattered).count();
        let text = format!(
            "{}: {count} of its nodes of {node} accelerators have hosts of several servers; placement and rank_order \
             determine where its ranks are",
            job.name
        );
        (count > 0).then_some(text)
    };
    jobs.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing;

    /// Returns the warnings of a run of eight accelerators in nodes of so many, on eight servers of two.
    fn warnings(node: u32, keys: &str) -> Vec<String> {
        let model = "{ layers = 1, hidden = 64, feed_forward = 64, key_value = 64, vocabulary = 64, sequence = 64 }";
        let text = format!(
            "topology.rail_optimised = {{ rails = 2, servers = 8, host_rate = \"100Gb/s\" }}\n\
             [[job]]\nname = \"step\"\n{keys}\n[job.workload.training]\n\
             ranks = 8\nbatch = 8\nnode.accelerators = {node}\n\
             parallel = {{ tensor = 1, pipeline = 1 }}\nmodel = {model}\n"
        );
        testing::warnings(&text, &[])
    }

    #[test]
    fn nodes_that_are_no_servers_are_reported() {
        let sizes = "job.0.workload.training.node.accelerators: 8; the servers of the topology have 2";
        assert_eq!(warnings(8, ""), [sizes]);
        assert_eq!(warnings(1, ""), Vec::<String>::new(), "no links in nodes");
        assert_eq!(warnings(2, ""), Vec::<String>::new());
        assert_eq!(warnings(4, "ranks_per_host = 2"), Vec::<String>::new(), "two accelerators share each NIC");
        let shared = "job.0.workload.training.node.accelerators: 2; the servers of the topology have 4, 2 for each of \
                      2 NICs";
        assert_eq!(warnings(2, "ranks_per_host = 2"), [shared]);
        let places = "step: 4 of its nodes of 2 accelerators have hosts of several servers; placement and rank_order \
                      determine where its ranks are";
        assert_eq!(warnings(2, "placement.linear.first = 1"), [places]);
    }
}
