//! A report as columns. Names carry their unit.

use etherweave_primitives::{Duration, Time};
use etherweave_sim::{
    ActivityRow, FailureRow, FlowRow, FlowSampleRow, PortRow, PortSampleRow, Report, Samples, SleepRow, StreamRow,
    TransferRow,
};
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
    let mut tables =
        vec![iterations(report, topology), ports(&report.ports), streams(&report.streams), flows(&report.flows)];
    if let Some((activities, transfers)) = &report.observed {
        tables.extend([activity_table(report, activities, topology), transfer_table(report, transfers)]);
    }
    tables.extend((!report.failures.is_empty()).then(|| failures(&report.failures)));
    tables.extend((!report.sleeps.is_empty()).then(|| sleeps(&report.sleeps)));
    tables.extend(report.samples.iter().flat_map(|samples| [port_samples(samples), flow_samples(samples)]));
    tables
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

/// What ranks did: the columns that a recorded program has, and those of jobs.
fn activity_table(report: &Report, rows: &[ActivityRow], topology: &Topology) -> Table {
    let host = |number: u32| topology.host_name(etherweave_primitives::HostId::new(number)).to_owned();
    Table {
        name: "activities",
        columns: vec![
            ("job", texts(rows, |row| report.jobs[row.job as usize].clone())),
            ("rank", integers(rows, |row| row.rank.into())),
            ("host", texts(rows, |row| host(row.host))),
            ("stream", integers(rows, |row| row.stream.into())),
            ("activity", texts(rows, |row| row.kind.name().to_owned())),
            ("start_ns", numbers(rows, |row| row.start.as_ns_f64())),
            ("end_ns", numbers(rows, |row| row.end.as_ns_f64())),
        ],
    }
}

fn transfer_table(report: &Report, rows: &[TransferRow]) -> Table {
    Table {
        name: "transfers",
        columns: vec![
            ("job", texts(rows, |row| report.jobs[row.job as usize].clone())),
            ("source", integers(rows, |row| row.source.into())),
            ("destination", integers(rows, |row| row.destination.into())),
            ("tag", integers(rows, |row| row.tag.into())),
            ("bytes", integers(rows, |row| row.bytes)),
            ("start_ns", numbers(rows, |row| row.start.as_ns_f64())),
            ("end_ns", numbers(rows, |row| row.end.as_ns_f64())),
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
            ("rx_out_of_buffer", integers(rows, |row| row.rx_out_of_buffer)),
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
            ("recovered_ns", numbers(rows, |row| row.recovered.as_ns_f64())),
        ],
    }
}

/// A link that does not return, or has lost nothing, has no number there.
fn failures(rows: &[FailureRow]) -> Table {
    let ns = |time: Option<Time>| time.map_or(f64::NAN, Time::as_ns_f64);
    Table {
        name: "failures",
        columns: vec![
            ("node", texts(rows, |row| row.node.clone())),
            ("port", integers(rows, |row| row.port.into())),
            ("peer", texts(rows, |row| row.peer.clone())),
            ("from_ns", numbers(rows, |row| row.from.as_ns_f64())),
            ("until_ns", numbers(rows, |row| ns(row.until))),
            ("packets_lost", integers(rows, |row| row.packets_lost)),
            ("bytes_lost", integers(rows, |row| row.bytes_lost)),
            ("last_loss_ns", numbers(rows, |row| ns(row.last_loss))),
            ("connections", integers(rows, |row| row.connections)),
            ("recovered_ns", numbers(rows, |row| ns(row.recovered))),
        ],
    }
}

fn sleeps(rows: &[SleepRow]) -> Table {
    Table {
        name: "sleeps",
        columns: vec![
            ("node", texts(rows, |row| row.node.clone())),
            ("port", integers(rows, |row| row.port.into())),
            ("peer", texts(rows, |row| row.peer.clone())),
            ("wakes", integers(rows, |row| row.wakes)),
            ("asleep_ns", numbers(rows, |row| row.asleep.as_ns_f64())),
            ("waited_ns", numbers(rows, |row| row.waited.as_ns_f64())),
        ],
    }
}

fn port_samples(samples: &Samples) -> Table {
    let rows = &samples.ports;
    let name = |row: &PortSampleRow| &samples.port_names[row.port as usize];
    let ns = |value: fn(&PortSampleRow) -> Duration| numbers(rows, move |row| value(row).as_ns_f64());
    Table {
        name: "port_samples",
        columns: vec![
            ("time_ns", numbers(rows, |row| row.time.as_ns_f64())),
            ("duration_ns", ns(|row| row.duration)),
            ("node", texts(rows, |row| name(row).node.clone())),
            ("port", integers(rows, |row| name(row).port.into())),
            ("peer", texts(rows, |row| name(row).peer.clone())),
            ("priority", integers(rows, |row| name(row).priority.get().into())),
            ("occupancy_bytes", integers(rows, |row| row.occupancy_bytes)),
            ("tx_bytes", integers(rows, |row| row.tx_bytes)),
            ("throughput_gbps", numbers(rows, |row| gbps(row.tx_bytes, row.duration))),
            ("rx_pause_duration_ns", ns(|row| row.rx_pause_duration)),
            ("tx_pause_duration_ns", ns(|row| row.tx_pause_duration)),
            ("credit_wait_duration_ns", ns(|row| row.credit_wait_duration)),
            ("ecn_marked_packets", integers(rows, |row| row.ecn_marked_packets)),
            ("drops_packets", integers(rows, |row| row.drops_packets)),
        ],
    }
}

/// A rate is not a number where there is no rate limiter.
fn flow_samples(samples: &Samples) -> Table {
    let rows = &samples.flows;
    let name = |row: &FlowSampleRow| &samples.flow_names[row.flow as usize];
    let rate = |row: &FlowSampleRow| row.rate.map_or(f64::NAN, |rate| rate.as_bps() as f64 / 1e9);
    Table {
        name: "flow_samples",
        columns: vec![
            ("time_ns", numbers(rows, |row| row.time.as_ns_f64())),
            ("duration_ns", numbers(rows, |row| row.duration.as_ns_f64())),
            ("source_host", texts(rows, |row| name(row).source_host.clone())),
            ("destination_host", texts(rows, |row| name(row).destination_host.clone())),
            ("flow", integers(rows, |row| name(row).flow.into())),
            ("bytes", integers(rows, |row| row.bytes)),
            ("goodput_gbps", numbers(rows, |row| gbps(row.bytes, row.duration))),
            ("window_bytes", integers(rows, |row| row.window_bytes)),
            ("in_flight_bytes", integers(rows, |row| row.in_flight_bytes)),
            ("rate_gbps", numbers(rows, rate)),
            ("packets", integers(rows, |row| row.packets)),
            ("retransmissions", integers(rows, |row| row.retransmissions)),
            ("timeouts", integers(rows, |row| row.timeouts)),
        ],
    }
}

fn gbps(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8.0 / span.as_ns_f64()
}
