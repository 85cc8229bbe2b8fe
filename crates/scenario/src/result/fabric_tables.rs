//! A fabric as columns: its switches, hosts and links.

use etherweave_primitives::{HostId, SwitchId};
use etherweave_sim::PortBuffer;
use etherweave_topology::{Channel, LinkClass, Node, Topology};

use crate::result::tables::{Table, integers, numbers, texts};

/// Names of the columns for coordinates, by axis.
const COORDINATES: [&str; 16] = [
    "coordinate_0",
    "coordinate_1",
    "coordinate_2",
    "coordinate_3",
    "coordinate_4",
    "coordinate_5",
    "coordinate_6",
    "coordinate_7",
    "coordinate_8",
    "coordinate_9",
    "coordinate_10",
    "coordinate_11",
    "coordinate_12",
    "coordinate_13",
    "coordinate_14",
    "coordinate_15",
];

/// Switches, hosts and links; rows are in the order of ids, and nodes are named.
pub(crate) fn tables(topology: &Topology) -> Vec<Table> {
    vec![switches(topology), hosts(topology), links(topology)]
}

fn switches(topology: &Topology) -> Table {
    let rows: Vec<SwitchId> = (0..topology.switches()).map(SwitchId::from_index).collect();
    let mut columns = vec![
        ("switch", texts(&rows, |&switch| topology.switch_name(switch).to_owned())),
        ("level", integers(&rows, |&switch| topology.level(switch).into())),
        ("hosts", integers(&rows, |&switch| hosts_on(topology, switch))),
        ("ports_used", integers(&rows, |&switch| topology.ports_used(switch).into())),
    ];
    let along = |axis: usize| integers(&rows, |&switch| topology.coordinates(switch)[axis].into());
    columns.extend((0..topology.axes().len()).map(|axis| (COORDINATES[axis], along(axis))));
    Table { name: "switches", columns }
}

fn hosts_on(topology: &Topology, switch: SwitchId) -> u64 {
    let channels = topology.out_channels(switch).iter().map(|&id| topology.channel(id));
    channels.filter(|channel| channel.class == LinkClass::Host).count() as u64
}

/// A row for each port of a host.
fn hosts(topology: &Topology) -> Table {
    let rows: Vec<(HostId, usize)> = topology.host_ports().collect();
    let switch = |&(host, port): &(HostId, usize)| topology.channel(topology.host_channels(host)[port]).to.node;
    Table {
        name: "hosts",
        columns: vec![
            ("host", texts(&rows, |&(host, _)| topology.host_name(host).to_owned())),
            ("switch", texts(&rows, |row| topology.name(switch(row)).to_owned())),
            ("name", texts(&rows, |&(host, port)| topology.host_port_name(host, port))),
        ],
    }
}

fn links(topology: &Topology) -> Table {
    let rows: Vec<&Channel> = topology.channels().iter().step_by(2).collect();
    let name = |node: Node| topology.name(node).to_owned();
    Table {
        name: "links",
        columns: vec![
            ("from", texts(&rows, |link| name(link.from.node))),
            ("from_port", integers(&rows, |link| link.from.port.get().into())),
            ("to", texts(&rows, |link| name(link.to.node))),
            ("to_port", integers(&rows, |link| link.to.port.get().into())),
            ("class", texts(&rows, |link| link.class.name().to_owned())),
            ("rate_gbps", numbers(&rows, |link| link.rate.as_bps() as f64 / 1e9)),
            ("length_m", numbers(&rows, |link| link.length.as_mm() as f64 / 1e3)),
            ("medium", texts(&rows, |link| link.medium.name().to_owned())),
        ],
    }
}

/// Returns the table of the memory that ports of switches have.
pub(crate) fn buffers(topology: &Topology, ports: &[PortBuffer]) -> Table {
    Table {
        name: "buffers",
        columns: vec![
            ("switch", texts(ports, |row| topology.switch_name(row.switch).to_owned())),
            ("port", integers(ports, |row| row.port.get().into())),
            ("headroom_bytes", integers(ports, |row| row.headroom.get())),
            ("credit_bytes", integers(ports, |row| row.credits.get())),
            ("pool_bytes", integers(ports, |row| row.pool.get())),
        ],
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::TopologyKind;

    use super::*;
    use crate::Column;

    #[test]
    fn every_family_has_a_row_for_each_switch_host_and_link() {
        for kind in TopologyKind::examples() {
            let topology = kind.generate().unwrap();
            let rows = |table: &Table| match &table.columns[0].1 {
                Column::Texts(names) => names.len(),
                Column::Integers(_) | Column::Numbers(_) => unreachable!("the first column is a name"),
            };
            let expected = [topology.switches(), topology.hosts(), topology.channels().len() / 2];
            assert_eq!(tables(&topology).iter().map(rows).collect::<Vec<_>>(), expected, "{}", kind.name());
        }
    }
}
