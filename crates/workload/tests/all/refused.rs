//! Refusals of workloads, patterns and arrivals.

use etherweave_workload::{Arrival, HostGroups, Pattern, Share, Workload};

use super::cases::check;

#[test]
fn workloads_say_what_they_expect_instead() {
    check("workloads", |text| {
        let traffic = toml::from_str::<Workload>(text).expect(text).traffic(1);
        traffic.expect_err(text).to_string()
    });
}

/// Sizes of the groups are the first line.
#[test]
fn patterns_say_which_fabric_they_expect() {
    check("patterns_on_groups_of_hosts", |text| {
        let (sizes, pattern) = text.split_once('\n').unwrap();
        let sizes: Vec<u32> = sizes.split(' ').map(|size| size.parse().unwrap()).collect();
        let plan = toml::from_str::<Pattern>(pattern).expect(text).plan(&HostGroups::new(&sizes).unwrap(), 1);
        plan.expect_err(text).to_string()
    });
}

/// The time of a packet and the load are the first line.
#[test]
fn arrivals_say_which_packets_and_loads_they_expect() {
    check("arrivals_of_packets_at_loads", |text| {
        let (offered, arrival) = text.split_once('\n').unwrap();
        let (packet, load) = offered.split_once(' ').unwrap();
        let (packet, load) = (packet.parse().unwrap(), load.parse::<f64>().unwrap());
        let plan = toml::from_str::<Arrival>(arrival).expect(text).plan(packet, Share::try_from(load).unwrap());
        plan.expect_err(text).to_string()
    });
}
