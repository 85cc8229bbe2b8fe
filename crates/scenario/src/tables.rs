//! A report as columns. Names carry their unit.

use etherweave_primitives::Duration;
use etherweave_sim::{FlowRow, PortRow, Report, StreamRow};
use etherweave_topology::{LinkClass, Topology};

/// The values of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// Counts and whole units.
    Integers(Vec<u64>),
    /// Measures.
    Numbers(Vec<f64>),
    /// Names.
    Texts(Vec<String>),
}

/// Named columns of one length.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// What it is called in a result.
    pub name: &'static str,
    /// In order.
    pub columns: Vec<(&'static str, Column)>,
}

/// All tables of a report.
pub(crate) fn tables(report: &Report, topology: &Topology) -> Vec<Table> {
    vec![iterations(report, topology), ports(&report.ports), streams(&report.streams), flows(&report.flows)]
}

pub(crate) fn integers<T>(rows: &[T], value: impl Fn(&T) -> u64) -> Column {
    Column::Integers(rows.iter().map(value).collect())
}

pub(crate) fn numbers<T>(rows: &[T], value: impl Fn(&T) -> f64) -> Column {
    Column::Numbers(rows.iter().map(value).collect())
}

pub(crate) fn texts<T>(rows: &[T], value: impl Fn(&T) -> String) -> Column {
    Column::Texts(rows.iter().map(value).collect())
}

fn iterations(report: &Report, topology: &Topology) -> Table {
    let rows = &report.iterations;
    let host = |number: u32| topology.host_name(etherweave_primitives::HostId::new(number)).to_owned();
    Table {
        name: "iterations",
        columns: vec![
            ("job", texts(rows, |row| report.jobs[row.job as usize].clone())),
            ("rank", integers(rows, |row| row.rank.into())),
            ("host", texts(rows, |row| host(row.host))),
            ("iteration", integers(rows, |row| row.iteration.into())),
            ("start_ns", numbers(rows, |row| row.start.as_ns_f64())),
            ("duration_ns", numbers(rows, |row| row.duration.as_ns_f64())),
        ],
    }
}

fn ports(rows: &[PortRow]) -> Table {
    let ns = |value: fn(&PortRow) -> Duration| numbers(rows, move |row| value(row).as_ns_f64());
    Table {
        name: "ports",
        columns: vec![
            ("node", texts(rows, |row| row.node.clone())),
            ("port", integers(rows, |row| row.port.into())),
            ("peer", texts(rows, |row| row.peer.clone())),
            ("rate_gbps", numbers(rows, |row| row.rate.as_bps() as f64 / 1e9)),
            ("class", texts(rows, |row| class(row.class).to_owned())),
            ("priority", integers(rows, |row| row.priority.get().into())),
            ("tx_packets", integers(rows, |row| row.tx_packets)),
            ("tx_bytes", integers(rows, |row| row.tx_bytes)),
            ("rx_packets", integers(rows, |row| row.rx_packets)),
            ("rx_bytes", integers(rows, |row| row.rx_bytes)),
            ("tx_pause_packets", integers(rows, |row| row.tx_pauses.total())),
            ("tx_pause_xoff_packets", integers(rows, |row| row.tx_pauses.xoff.into())),
            ("tx_pause_refresh_packets", integers(rows, |row| row.tx_pauses.refresh.into())),
            ("tx_pause_xon_packets", integers(rows, |row| row.tx_pauses.xon.into())),
            ("rx_pause_packets", integers(rows, |row| row.rx_pauses.total())),
            ("rx_pause_xoff_packets", integers(rows, |row| row.rx_pauses.xoff.into())),
            ("rx_pause_refresh_packets", integers(rows, |row| row.rx_pauses.refresh.into())),
            ("rx_pause_xon_packets", integers(rows, |row| row.rx_pauses.xon.into())),
            ("tx_pause_duration_ns", ns(|row| row.tx_pause_duration)),
            ("rx_pause_duration_ns", ns(|row| row.rx_pause_duration)),
            ("credit_wait_duration_ns", ns(|row| row.credit_wait_duration)),
            ("drops_packets", integers(rows, |row| row.drops_packets)),
            ("drops_bytes", integers(rows, |row| row.drops_bytes)),
            ("fcs_errors", integers(rows, |row| row.fcs_errors)),
            ("fcs_errors_pause", integers(rows, |row| row.fcs_errors_pause)),
            ("ecn_marked_packets", integers(rows, |row| row.ecn_marked_packets)),
            ("occupancy_bytes_max", integers(rows, |row| row.occupancy_bytes_max)),
        ],
    }
}

fn class(class: LinkClass) -> &'static str {
    match class {
        LinkClass::Host => "host",
        LinkClass::Local => "local",
        LinkClass::Global => "global",
    }
}

fn streams(rows: &[StreamRow]) -> Table {
    Table {
        name: "streams",
        columns: vec![
            ("job", texts(rows, |row| row.job.clone())),
            ("source_host", texts(rows, |row| row.source_host.clone())),
            ("destination_host", texts(rows, |row| row.destination_host.clone())),
            ("stream", integers(rows, |row| row.stream.into())),
            ("messages", integers(rows, |row| row.messages)),
            ("bytes", integers(rows, |row| row.bytes)),
            ("start_ns", numbers(rows, |row| row.start.as_ns_f64())),
            ("end_ns", numbers(rows, |row| row.end.as_ns_f64())),
            ("goodput_gbps", numbers(rows, StreamRow::goodput_gbps)),
        ],
    }
}

fn flows(rows: &[FlowRow]) -> Table {
    Table {
        name: "flows",
        columns: vec![
            ("source_host", texts(rows, |row| row.source_host.clone())),
            ("destination_host", texts(rows, |row| row.destination_host.clone())),
            ("transport", texts(rows, |row| row.transport.to_owned())),
            ("bytes", integers(rows, |row| row.bytes)),
            ("packets", integers(rows, |row| row.packets)),
            ("retransmissions", integers(rows, |row| row.retransmissions)),
            ("timeouts", integers(rows, |row| row.timeouts)),
            ("out_of_order", integers(rows, |row| row.out_of_order)),
            ("naks", integers(rows, |row| row.naks)),
        ],
    }
}
