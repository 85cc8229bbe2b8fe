//! Rates of which loads of flows are shares, from the fabric.

use etherweave_primitives::{BitRate, HostId};
use etherweave_topology::{Node, Topology};
use etherweave_workload::LoadOf;

use crate::{Scenario, host_ports::generate};

/// Sets the rates that are left open. The fabric is only built for them; its mistakes are found where it is used.
pub(crate) fn complete(scenario: &mut Scenario) {
    if !scenario.job.iter_mut().any(|job| job.workload.open_rate().is_some()) {
        return;
    }
    let Ok(topology) = generate(scenario) else { return };
    for (load_of, rate) in scenario.job.iter_mut().filter_map(|job| job.workload.open_rate()) {
        *rate = Some(match load_of {
            LoadOf::HostLinks => slowest_host_link(&topology),
            LoadOf::Uplinks => uplinks(&topology),
        });
    }
}

/// All links of a host together, of the host whose links carry least.
fn slowest_host_link(topology: &Topology) -> BitRate {
    let of_host = |host| {
        let channels = topology.host_channels(HostId::from_index(host)).iter();
        BitRate::from_bps(channels.map(|&channel| topology.channel(channel).rate.as_bps()).sum())
    };
    (0..topology.hosts()).map(of_host).min().unwrap_or(BitRate::from_gbps(100))
}

/// Rate of links from switches with hosts to others, for each host; that of hosts' own links where there is one switch.
fn uplinks(topology: &Topology) -> BitRate {
    let has_hosts = |node| match node {
        Node::Switch(switch) => {
            let mut channels = topology.out_channels(switch).iter().map(|&channel| topology.channel(channel));
            channels.any(|channel| matches!(channel.to.node, Node::Host(_)))
        }
        Node::Host(_) => false,
    };
    let between = topology.channels().iter().filter(|channel| matches!(channel.to.node, Node::Switch(_)));
    let sum: u64 = between.filter(|channel| has_hosts(channel.from.node)).map(|channel| channel.rate.as_bps()).sum();
    if sum == 0 { slowest_host_link(topology) } else { BitRate::from_bps(sum / topology.hosts().max(1) as u64) }
}
