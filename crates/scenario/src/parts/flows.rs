//! Rates of which loads of flows are shares, and groups of hosts between which they go, from the fabric.

use std::ops::Range;

use etherweave_primitives::{BitRate, HostId, InputError, InputErrors, SwitchId};
use etherweave_topology::{Node, Topology};
use etherweave_workload::{LoadOf, OpenGroups, Workload};

use crate::{JobSpec, Scenario, parts::host_ports::generate};

/// Sets the rates and groups that are left open. The fabric is only built for them; its mistakes are found where it is
/// used.
///
/// # Errors
/// When a rate is that of uplinks, and the fabric has none.
pub(crate) fn complete(scenario: &mut Scenario) -> Result<(), InputErrors> {
    let is_open = |workload: &mut Workload| workload.open_rate().is_some() || workload.open_groups().is_some();
    if !scenario.job.iter_mut().any(|job| is_open(&mut job.workload)) {
        return Ok(());
    }
    let Ok(topology) = generate(scenario) else { return Ok(()) };
    let mut errors = InputErrors::default();
    for (number, job) in scenario.job.iter_mut().enumerate() {
        let Some((load_of, rate)) = job.workload.open_rate() else { continue };
        *rate = match load_of {
            LoadOf::HostLinks => Some(slowest_host_link(&topology)),
            LoadOf::Uplinks => errors.check(uplinks(&topology).ok_or_else(|| no_uplinks(number))),
        };
    }
    let fabric = topology.by_port();
    let leaf_of = |host| fabric.switch_of(topology.port_host(HostId::from_index(host), 0));
    let leaves: Vec<SwitchId> = (0..topology.hosts()).map(leaf_of).collect();
    let leaf = equal_runs(&leaves);
    let pod = pod_axes(fabric.axes()).and_then(|axes| {
        let pod = |&leaf: &SwitchId| fabric.coordinates(leaf)[axes.clone()].to_vec();
        equal_runs(&leaves.iter().map(pod).collect::<Vec<_>>())
    });
    for OpenGroups { group, leaf_hosts } in scenario.job.iter_mut().filter_map(|job| job.workload.open_groups()) {
        *group = group.or(if leaf_hosts.is_some() { pod } else { pod.or(leaf) });
        if let Some(hosts) = leaf_hosts {
            *hosts = hosts.or(leaf);
        }
    }
    errors.into_result()
}

fn no_uplinks(job: usize) -> InputError {
    let expected = "\"host_links\", or links from a switch with hosts to other switches";
    InputError::new(format!("job.{job}.workload.flows.load_of"), "\"uplinks\" of a fabric without any", expected)
}

/// Warnings of loads that are shares of another rate than that of the links of hosts, and more than these carry.
pub(crate) fn warnings(scenario: &Scenario, topology: &Topology) -> Vec<String> {
    let link = slowest_host_link(topology);
    let warning = |(number, job): (usize, &JobSpec)| {
        let offered = job.workload.offered_rate().filter(|&offered| offered > link)?;
        let name = &job.name;
        Some(format!(
            "job.{number}.workload.flows.load: each host of {name} offers {offered} of payload, and the links of a \
             host carry {link}: flows queue there, more and more"
        ))
    };
    scenario.job.iter().enumerate().filter_map(warning).collect()
}

/// Axes that leaves of a pod or group have in common, where a fabric has such: one of that name, or of a tree of three
/// or more levels all but the lowest digit of a leaf.
fn pod_axes(axes: &[String]) -> Option<Range<usize>> {
    let named = axes.iter().position(|axis| axis == "group" || axis == "pod").map(|axis| axis..axis + 1);
    let digits = axes.iter().filter(|axis| axis.starts_with('x')).count();
    named.or((axes.first().is_some_and(|axis| axis == "level") && digits > 1).then(|| 1..axes.len() - 1))
}

/// Length of the runs of equal areas of consecutive hosts, where all are equally long.
fn equal_runs<A: PartialEq>(areas: &[A]) -> Option<u32> {
    let mut lengths = areas.chunk_by(|left, right| left == right).map(<[A]>::len);
    let first = lengths.next()?;
    lengths.all(|length| length == first).then_some(first as u32)
}

/// All links of a host together, of the host whose links carry least.
fn slowest_host_link(topology: &Topology) -> BitRate {
    let of_host = |host| {
        let channels = topology.host_channels(HostId::from_index(host)).iter();
        BitRate::from_bps(channels.map(|&channel| topology.channel(channel).rate.as_bps()).sum())
    };
    (0..topology.hosts()).map(of_host).min().unwrap_or(BitRate::from_gbps(100))
}

/// Rate of links from switches with hosts to others, for each host; none where there is no such link.
fn uplinks(topology: &Topology) -> Option<BitRate> {
    let has_hosts = |node| match node {
        Node::Switch(switch) => {
            let mut channels = topology.out_channels(switch).iter().map(|&channel| topology.channel(channel));
            channels.any(|channel| matches!(channel.to.node, Node::Host(_)))
        }
        Node::Host(_) => false,
    };
    let between = topology.channels().iter().filter(|channel| matches!(channel.to.node, Node::Switch(_)));
    let sum: u64 = between.filter(|channel| has_hosts(channel.from.node)).map(|channel| channel.rate.as_bps()).sum();
    (sum > 0).then(|| BitRate::from_bps(sum / topology.hosts().max(1) as u64))
}

#[cfg(test)]
mod tests {
    use crate::{Run, testing::warnings};

    #[test]
    fn requests_beyond_what_servers_can_do_are_warned_of() {
        let text = "topology.single_switch.hosts = 2\n[[job]]\nname = \"store\"\nworkload.request_response = { \
                    service = \"3us\", load.open.interval = \"2us\" }";
        let expected = "job.0.workload.request_response.load: 1.50 times the work that the servers can do: requests \
                        wait more and more, so that times grow with the run";
        assert_eq!(warnings(text, &[]), [expected]);
    }

    #[test]
    fn a_load_of_uplinks_needs_uplinks() {
        let text = "topology.single_switch.hosts = 4\n[[job]]\nname = \"a\"\n\
                    workload.flows = { ranks = 4, load_of = \"uplinks\" }";
        let error = Run::start(text, "x.toml", &[], 1, &[]).err().expect("no uplinks").to_string();
        let expected = "job.0.workload.flows.load_of: \"uplinks\" of a fabric without any; expected \"host_links\", or \
                        links from a switch with hosts to other switches";
        assert!(error.ends_with(expected), "{error}");
        let rate = [("job.0.workload.flows.rate".to_owned(), "\"50Gb/s\"".to_owned())];
        assert!(Run::start(text, "x.toml", &rate, 1, &[]).is_ok());
    }

    #[test]
    fn a_load_beyond_the_links_of_a_host_is_warned_of() {
        let warnings_at = |load: &str, keys: &str| {
            let text = format!(
                "topology.fat_tree = {{ leaves = 2, hosts_per_leaf = 2, cores = 2, links_per_core = 2, host_rate = \
                 \"100Gb/s\", uplink_rate = \"100Gb/s\" }}\ntransport.roce = {{}}\n[[job]]\nname = \"storage\"\n\
                 workload.flows = {{ ranks = 4, load = {load}, duration = \"1ms\", {keys} }}"
            );
            warnings(&text, &[])
        };
        let uplinks = "load_of = \"uplinks\"";
        assert_eq!(warnings_at("0.9", "rate = \"100Gb/s\""), Vec::<String>::new());
        assert_eq!(warnings_at("0.5", uplinks), Vec::<String>::new());
        let expected = "job.0.workload.flows.load: each host of storage offers 180Gb/s of payload, and the links of a \
                        host carry 100Gb/s: flows queue there, more and more";
        assert_eq!(warnings_at("0.9", uplinks), [expected]);
        assert_eq!(warnings_at("0.45", "rate = \"400Gb/s\""), [expected]);
    }
}
