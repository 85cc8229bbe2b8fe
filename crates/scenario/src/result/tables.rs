//! A report as columns. Names carry their unit.

use std::{borrow::Borrow, collections::BTreeMap, collections::BTreeSet, fmt, iter, sync::Arc};

pub use etherweave_kernel::{Column, Texts};
use etherweave_kernel::{RowNames, TableRow, column};
use etherweave_primitives::HostId;
use etherweave_sim::{ActivityRow, Observed, Report, Samples, StreamRow, TransferRow, WaitRow};
use etherweave_topology::Topology;

use crate::{Scenario, text::error::OnOneLine};

/// Named columns of one length.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Name of the table in a result.
    pub name: &'static str,
    /// Columns in order.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// The rows of a report, with what they have numbers of.
    pub(crate) fn of<R: TableRow>(rows: &[R], names: &R::Names<'_>) -> Table {
        Table { name: R::TABLE, columns: R::columns(rows, names) }
    }

    /// How many columns have names, and how many have numbers.
    pub(crate) fn cells(&self) -> (u64, u64) {
        let texts = self.columns.iter().filter(|(_, column)| matches!(column, Column::Texts(_))).count();
        (texts as u64, (self.columns.len() - texts) as u64)
    }
}

/// A table that is made when it is read, group of rows by group where rows are many.
#[derive(Clone)]
pub struct LateTable {
    /// Name in a result.
    pub name: &'static str,
    /// Whether it has several groups.
    pub is_long: bool,
    make: Arc<dyn Fn() -> Groups + Send + Sync>,
}

/// Tables of some rows each, in order.
pub type Groups = Box<dyn Iterator<Item = Table> + Send>;

impl LateTable {
    /// A table whose groups `make` makes.
    pub(crate) fn long(name: &'static str, make: impl Fn() -> Groups + Send + Sync + 'static) -> LateTable {
        LateTable { name, is_long: true, make: Arc::new(make) }
    }

    /// Tables of some rows each.
    pub fn groups(&self) -> Groups {
        (self.make)()
    }

    /// The table.
    pub fn table(&self) -> Table {
        let mut groups = self.groups();
        let mut table = groups.next().expect("a table has a group, which may have no rows");
        for group in groups {
            table.columns.iter_mut().zip(group.columns).for_each(|((_, column), (_, more))| column.append(more));
        }
        table
    }
}

impl fmt::Debug for LateTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

/// Names of jobs and hosts that outlive the run.
pub(crate) struct Names {
    jobs: Vec<String>,
    hosts: BTreeMap<u32, String>,
}

impl Names {
    /// Those of all jobs and of some hosts.
    pub fn of(jobs: &[String], hosts: impl Iterator<Item = u32>, topology: &Topology) -> Arc<Names> {
        let hosts = hosts.map(|host| (host, topology.host_name(HostId::new(host)).to_owned()));
        Arc::new(Names { jobs: jobs.to_owned(), hosts: hosts.collect() })
    }

    /// Makes a table with them.
    pub fn with(&self, make: impl FnOnce(&RowNames<'_>) -> Table) -> Table {
        make(&RowNames { jobs: &self.jobs, host: &|host| &self.hosts[&host], purpose: &|_, _| "" })
    }
}

/// Tables of activities and of messages, from what ranks have noted.
pub(crate) fn late_tables(observed: Option<Observed>, jobs: &[String], topology: &Topology) -> Vec<LateTable> {
    let Some(observed) = observed.map(Arc::new) else { return Vec::new() };
    let names = Names::of(jobs, observed.hosts(), topology);
    let late = |name, make: fn(&Observed, &RowNames<'_>) -> Table| {
        let (observed, names) = (Arc::clone(&observed), Arc::clone(&names));
        let table = move || -> Groups { Box::new(iter::once(names.with(|names| make(&observed, names)))) };
        LateTable { name, is_long: false, make: Arc::new(table) }
    };
    vec![
        late(ActivityRow::TABLE, |observed, names| Table::of(&observed.activities(), names)),
        late(TransferRow::TABLE, |observed, names| Table::of(&observed.transfers(), names)),
    ]
}

/// All tables of a report that are made at once.
pub(crate) fn tables(
    scenario: &Scenario,
    report: &Report,
    waits: Option<&[WaitRow]>,
    topology: &Topology,
) -> Vec<Table> {
    let host = |number| topology.host_name(HostId::new(number));
    let purposes = purposes(scenario, report);
    let purpose = |job, tag| purposes.get(&(job, tag)).map_or("", String::as_str);
    let names = RowNames { jobs: &report.jobs, host: &host, purpose: &purpose };
    let mut tables = vec![
        Table::of(&report.iterations, &names),
        Table::of(&report.ports, &()),
        Table::of(&report.streams, &names),
        Table::of(&report.flows, &names),
    ];
    tables.extend(report.observed.iter().map(|observed| Table::of(&observed.path, &names)));
    tables.extend(waits.map(|waits| Table::of(waits, &names)));
    tables.extend((!report.repetitions.is_empty()).then(|| Table::of(&report.repetitions, &names)));
    tables.extend((!report.failures.is_empty()).then(|| Table::of(&report.failures, &())));
    tables.extend((!report.sleeps.is_empty()).then(|| Table::of(&report.sleeps, &())));
    tables.extend((!report.learning.is_empty()).then(|| Table::of(&report.learning, &())));
    tables.extend((!report.storms.is_empty()).then(|| Table::of(&report.storms, &())));
    tables.extend((!report.replays.is_empty()).then(|| Table::of(&report.replays, &())));
    tables.extend((!report.rates.is_empty()).then(|| Table::of(&report.rates, &())));
    tables.extend((!report.skips.is_empty()).then(|| Table::of(&report.skips, &())));
    let flows: Vec<&StreamRow> = report.streams.iter().filter(|row| row.is_flow).collect();
    tables.extend((!flows.is_empty()).then(|| flow_times(&flows, &names)));
    let series = |samples: &Samples| {
        [Table::of(&samples.ports, samples), Table::of(&samples.flows, samples), Table::of(&samples.hosts, samples)]
    };
    tables.extend(report.samples.iter().flat_map(series));
    tables
}

/// Purposes of the messages of graphs on paths, by job and tag.
fn purposes(scenario: &Scenario, report: &Report) -> BTreeMap<(u32, u32), String> {
    let mut tags: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for row in report.observed.iter().flat_map(|observed| &observed.path) {
        // Calls of collectives have names of their own.
        tags.entry(row.job).or_default().extend(row.tag.filter(|_| row.call.is_none()));
    }
    // Reports have the jobs that run alone.
    let ran: Vec<_> = scenario.job.iter().filter(|job| scenario.run.has(&job.name)).collect();
    let of_job = |(job, tags): (u32, BTreeSet<u32>)| {
        let purposes = ran[job as usize].workload.purposes(&tags);
        purposes.into_iter().map(move |(tag, purpose)| ((job, tag), OnOneLine(purpose).to_string()))
    };
    tags.into_iter().filter(|(_, tags)| !tags.is_empty()).flat_map(of_job).collect()
}

pub(crate) const FLOW_TIMES: &str = "flow_times";

/// Completion times of flows, beside those on an idle fabric.
pub(crate) fn flow_times<R: Borrow<StreamRow>>(flows: &[R], names: &RowNames<'_>) -> Table {
    let flows: Vec<&StreamRow> = flows.iter().map(Borrow::borrow).collect();
    let flows = &flows[..];
    let columns = vec![
        ("job", column(flows, names, |row, names| names.job(row.job))),
        ("stream", integers(flows, |row| row.stream.into())),
        ("bytes", integers(flows, |row| row.total)),
        ("start_ns", numbers(flows, |row| row.start.as_ns_f64())),
        ("end_ns", numbers(flows, |row| row.end.as_ns_f64())),
        ("complete", integers(flows, |row| row.is_whole.into())),
        ("ideal_ns", numbers(flows, |row| row.ideal.as_ns_f64())),
        ("slowdown", numbers(flows, |row| row.slowdown())),
    ];
    Table { name: FLOW_TIMES, columns }
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

#[cfg(test)]
mod tests {
    use etherweave_sim::{FlowSampleRow, PortRow, PortSampleRow};

    use super::*;

    #[test]
    fn cells_of_a_table_are_those_of_its_columns() {
        assert_eq!(
            Table::of::<StreamRow>(&[], &RowNames { jobs: &[], host: &|_| "", purpose: &|_, _| "" }).cells(),
            (3, 6),
            "job and two hosts"
        );
        // Node, peer and class; eight counters of pauses, which are two fields of the row.
        assert_eq!(Table::of::<PortRow>(&[], &()).cells(), (3, 27));
        let series = Samples::default();
        assert_eq!(Table::of::<PortSampleRow>(&[], &series).cells(), (2, 12));
        assert_eq!(Table::of::<FlowSampleRow>(&[], &series).cells(), (2, 11));
    }
}
