//! Load of the channels of a fabric, from what a run measured at its ports.

use std::collections::HashMap;

use etherweave_design::ChannelLoads;
use etherweave_power::RateTime;
use etherweave_primitives::{Bytes, ChannelId, HostId, InputError, SwitchId};
use etherweave_topology::{Node, Topology};

/// Traffic of a port in a priority, a row of the table `ports` of a result; how often it woke, of `sleeps`; or a
/// rate that it had, of `rates`.
#[derive(Clone, PartialEq, Debug)]
pub struct PortSent {
    /// Node of the port.
    pub node: String,
    /// Its number.
    pub port: u64,
    /// Bytes, with preamble and gap.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// How often it woke, in a row of a port that sleeps between frames.
    pub wakes: Option<u64>,
    /// A rate that it had, as a share of the full one, and for how long [ns], in a row of a port whose rate follows its
    /// load.
    pub rate: Option<(f64, f64)>,
}

/// The load that these rows mean over `span_ns`.
///
/// # Errors
/// When a row is of another fabric, no time passed, or a port sent more than its rate allows.
pub(crate) fn load(topology: &Topology, rows: &[PortSent], span_ns: f64) -> Result<ChannelLoads, InputError> {
    if !(span_ns.is_finite() && span_ns > 0.0) {
        return Err(InputError::new("", format!("a result over {span_ns} ns"), "one in which time passed"));
    }
    let names = names(topology);
    let (mut sent, mut packets) = (vec![0u64; topology.channels().len()], 0u64);
    let mut wakes_per_second = vec![None; topology.channels().len()];
    let mut rates = vec![Vec::new(); topology.channels().len()];
    for row in rows {
        let channel = channel(topology, &names, row)?;
        if let Some(wakes) = row.wakes {
            wakes_per_second[channel.index()] = Some(wakes as f64 * 1e9 / span_ns);
        }
        rates[channel.index()].extend(row.rate.map(|(rate, time_ns)| RateTime { rate, time: time_ns / span_ns }));
        sent[channel.index()] = sent[channel.index()].saturating_add(row.bytes);
        packets = packets.saturating_add(row.packets);
    }
    let bytes: u64 = sent.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes));
    let share = |(id, &bytes): (usize, &u64)| {
        let channel = topology.channel(ChannelId::from_index(id));
        let load = bytes as f64 * 8.0 / (channel.rate.as_bps() as f64 * span_ns / 1e9);
        // The last packet may still be on its way when the run ends.
        if load <= 1.001 { Ok(load.min(1.0)) } else { Err(too_much(topology, ChannelId::from_index(id), load)) }
    };
    let channels = sent.iter().enumerate().map(share).collect::<Result<_, InputError>>()?;
    Ok(ChannelLoads { channels, packet: Bytes::new((bytes / packets.max(1)).max(1)), wakes_per_second, rates })
}

fn too_much(topology: &Topology, id: ChannelId, load: f64) -> InputError {
    let from = topology.channel(id).from;
    let name = topology.name(from.node);
    let mistake = format!("port {} of {name} sent {load:.3} times what its rate allows", from.port);
    InputError::new("", mistake, "the result of this fabric")
}

fn names(topology: &Topology) -> HashMap<&str, Node> {
    let hosts = (0..topology.hosts()).map(HostId::from_index).map(Node::Host);
    let switches = (0..topology.switches()).map(SwitchId::from_index).map(Node::Switch);
    hosts.chain(switches).map(|node| (topology.name(node), node)).collect()
}

fn channel(topology: &Topology, names: &HashMap<&str, Node>, row: &PortSent) -> Result<ChannelId, InputError> {
    let error = |mistake: String| InputError::new("", mistake, "the result of this fabric");
    let node = names.get(row.node.as_str()).ok_or_else(|| error(format!("no node {} in this fabric", row.node)))?;
    let port = usize::try_from(row.port).ok().and_then(|port| topology.out_channels(*node).get(port));
    port.copied().ok_or_else(|| error(format!("no port {} of {} in this fabric", row.port, row.node)))
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Family, SingleSwitch};

    use super::*;

    fn sent(node: &str, port: u64, bytes: u64) -> PortSent {
        PortSent { node: node.to_owned(), port, bytes, packets: bytes / 100, wakes: None, rate: None }
    }

    #[test]
    fn a_port_that_sends_half_of_its_rate_is_half_loaded() {
        let topology = SingleSwitch { hosts: 2, ..SingleSwitch::default() }.generate().unwrap();
        // 100 Gb/s for 1 µs are 12,500 bytes; priorities add up.
        let rows = [sent("host0", 0, 5_000), sent("host0", 0, 1_250)];
        let load = load(&topology, &rows, 1_000.0).unwrap();
        let of_host = topology.host_channel(HostId::new(0));
        assert_eq!(load.channels[of_host.index()], 0.5);
        assert_eq!(load.channels.iter().sum::<f64>(), 0.5);
        assert_eq!(load.packet, Bytes::new(6_250 / (50 + 12)));
    }

    #[test]
    fn a_port_that_sleeps_says_how_often_it_woke() {
        let topology = SingleSwitch { hosts: 2, ..SingleSwitch::default() }.generate().unwrap();
        let woken = PortSent { wakes: Some(3), ..sent("host0", 0, 0) };
        // Three times in 1 µs.
        let load = load(&topology, &[sent("host0", 0, 5_000), woken], 1_000.0).unwrap();
        let of_host = topology.host_channel(HostId::new(0)).index();
        assert_eq!((load.channels[of_host], load.wakes_per_second[of_host]), (0.4, Some(3e6)));
        assert_eq!(load.wakes_per_second.iter().flatten().count(), 1);
    }

    #[test]
    fn a_port_whose_rate_follows_its_load_says_how_long_it_had_each() {
        let topology = SingleSwitch { hosts: 2, ..SingleSwitch::default() }.generate().unwrap();
        let had = |rate, time_ns| PortSent { rate: Some((rate, time_ns)), ..sent("host0", 0, 0) };
        let load = load(&topology, &[sent("host0", 0, 5_000), had(0.5, 250.0), had(1.0, 750.0)], 1_000.0).unwrap();
        let of_host = topology.host_channel(HostId::new(0)).index();
        assert_eq!(load.rates[of_host], [(0.5, 0.25), (1.0, 0.75)].map(|(rate, time)| RateTime { rate, time }));
        assert_eq!(load.rates.iter().filter(|rates| !rates.is_empty()).count(), 1);
    }

    #[test]
    fn rows_of_another_fabric_are_rejected() {
        let topology = SingleSwitch { hosts: 2, ..SingleSwitch::default() }.generate().unwrap();
        let error = |row, span_ns| load(&topology, &[row], span_ns).unwrap_err().to_string();
        assert!(error(sent("host9", 0, 1), 1e3).contains("no node host9"));
        assert!(error(sent("host0", 1, 1), 1e3).contains("no port 1 of host0"));
        assert!(error(sent("host0", 0, 1), 0.0).contains("time passed"));
        assert!(error(sent("host0", 0, 25_000), 1e3).contains("2.000 times"));
    }
}
