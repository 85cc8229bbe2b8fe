//! Rows of many flows, which go to a file while a run goes on and come back as tables of some rows each.
//!
//! The file has no name: it is in the directory for temporary files (`TMPDIR`), and the system removes it with the
//! process. Up to [`GROUP`] rows stay in memory, and are part of the report like all others.

use std::{
    cmp::Reverse, collections::BinaryHeap, env, fs, fs::File, io, iter, marker::PhantomData, os::unix::fs::FileExt,
    sync::Arc, sync::Mutex,
};

use etherweave_kernel::{TableRow, Wire};
use etherweave_sim::{FlowRow, FlowWriter, Report, StreamRow};
use etherweave_topology::Topology;

use crate::result::outcome::SentCounts;
use crate::result::tables::{FLOW_TIMES, Groups, LateTable, Names, Table, flow_times};

/// Rows of a group, of tables that come group by group; also those of a row group in Parquet.
pub const GROUP: usize = 1 << 16;
/// Rows that are read at once.
const BLOCK: usize = 256;

/// Rows of streams and of their connections.
pub(crate) struct FlowRows {
    group: usize,
    streams: Rows<StreamRow>,
    flows: Rows<FlowRow>,
    sent: SentCounts,
    failure: Option<io::Error>,
}

impl FlowRows {
    /// None yet, in groups of so many; `transport` is counted.
    pub fn new(group: usize, transport: &'static str) -> FlowRows {
        let sent = SentCounts::of(transport);
        FlowRows { group, streams: Rows::default(), flows: Rows::default(), sent, failure: None }
    }

    /// Writer that a simulation calls.
    pub fn writer(rows: &Arc<Mutex<FlowRows>>) -> FlowWriter {
        let rows = Arc::clone(rows);
        Box::new(move |streams, flows| rows.lock().expect("the run goes on").add(streams, flows))
    }

    /// Whether rows could not be written.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    fn add(&mut self, streams: Vec<StreamRow>, flows: Vec<FlowRow>) {
        if self.has_failed() {
            return;
        }
        self.sent.add(&flows);
        self.streams.kept.extend(streams);
        self.flows.kept.extend(flows);
        let written = self.streams.write(self.group, |_| {}).and_then(|()| self.flows.write(self.group, sort));
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", env::temp_dir().display()));
        self.failure = written.err().map(named);
    }

    /// Ends: few rows go into the report, many become tables.
    ///
    /// # Errors
    /// When rows could not be written.
    pub fn end(mut self, report: &mut Report, topology: &Topology) -> io::Result<Vec<LateTable>> {
        self.failure.take().map_or(Ok(()), Err)?;
        if self.streams.file.is_none() {
            sort(&mut self.flows.kept);
            (report.streams, report.flows) = (self.streams.kept, self.flows.kept);
            return Ok(Vec::new());
        }
        self.streams.write(1, |_| {})?;
        self.flows.write(1, sort)?;
        let names = Names::of(&report.jobs, 0..topology.hosts() as u32, topology);
        let all = Arc::new(self);
        let table = |name, make: fn(Arc<FlowRows>, Arc<Names>) -> Groups| {
            let (all, names) = (Arc::clone(&all), Arc::clone(&names));
            LateTable::long(name, move || make(Arc::clone(&all), Arc::clone(&names)))
        };
        Ok(vec![
            table(StreamRow::TABLE, |all, names| {
                let groups = groups(streams(&all), all.group);
                Box::new(groups.map(move |rows| names.with(|names| Table::of(&rows, names))))
            }),
            table(FlowRow::TABLE, |all, names| {
                let groups = groups(merged(&all), all.group);
                Box::new(groups.map(move |rows| names.with(|names| Table::of(&rows, names))))
            }),
            table(FLOW_TIMES, |all, names| {
                let groups = groups(streams(&all), all.group);
                Box::new(groups.map(move |rows| names.with(|names| flow_times(&rows, names))))
            }),
        ])
    }

    /// Sums over connections.
    pub fn sent(&self) -> SentCounts {
        self.sent
    }
}

/// Streams in order.
fn streams(all: &Arc<FlowRows>) -> impl Iterator<Item = StreamRow> + use<> {
    rows(all, |all| &all.streams).flatten()
}

fn sort(flows: &mut [FlowRow]) {
    flows.sort_by_key(FlowRow::order);
}

/// Rows of one table: the newest in memory, those before in runs of a file.
struct Rows<R> {
    kept: Vec<R>,
    file: Option<File>,
    length: u64,
    /// Each run by its blocks: where it begins in the file, and how many words it has.
    runs: Vec<Vec<(u64, usize)>>,
    row: PhantomData<R>,
}

impl<R> Default for Rows<R> {
    fn default() -> Rows<R> {
        Rows { kept: Vec::new(), file: None, length: 0, runs: Vec::new(), row: PhantomData }
    }
}

impl<R: Wire> Rows<R> {
    /// Writes the rows in memory as a run, put in order, if they are a group.
    fn write(&mut self, group: usize, order: impl Fn(&mut [R])) -> io::Result<()> {
        if self.kept.len() < group {
            return Ok(());
        }
        order(&mut self.kept);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(nameless()?),
        };
        let mut run = Vec::new();
        for block in self.kept.chunks(BLOCK) {
            let mut words = Vec::new();
            block.iter().for_each(|row| row.write(&mut words));
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            file.write_all_at(&bytes, self.length)?;
            run.push((self.length, words.len()));
            self.length += bytes.len() as u64;
        }
        self.runs.push(run);
        self.kept.clear();
        Ok(())
    }

    fn block(&self, run: usize, block: usize) -> Vec<R> {
        let (start, count) = self.runs[run][block];
        let mut bytes = vec![0; 4 * count];
        let file = self.file.as_ref().expect("a run is in a file");
        file.read_exact_at(&mut bytes, start).expect("rows that were written can be read");
        let words: Vec<u32> = bytes.as_chunks().0.iter().map(|&word| u32::from_ne_bytes(word)).collect();
        let mut words = &words[..];
        iter::from_fn(|| (!words.is_empty()).then(|| R::read(&mut words))).collect()
    }
}

/// A file that nobody else sees.
fn nameless() -> io::Result<File> {
    static COUNT: Mutex<u64> = Mutex::new(0);
    let mut count = COUNT.lock().expect("counting does not fail");
    *count += 1;
    let path = env::temp_dir().join(format!("etherweave-{}-{count}.rows", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn rows<R: Wire>(
    all: &Arc<FlowRows>,
    of: fn(&FlowRows) -> &Rows<R>,
) -> impl Iterator<Item = impl Iterator<Item = R> + use<R>> + use<R> {
    let all = Arc::clone(all);
    (0..of(&all).runs.len()).map(move |run| {
        let all = Arc::clone(&all);
        (0..of(&all).runs[run].len()).flat_map(move |block| of(&all).block(run, block))
    })
}

/// Rows of connections in the order of their table; equal ones as they were written.
fn merged(all: &Arc<FlowRows>) -> impl Iterator<Item = FlowRow> + use<> {
    let mut runs: Vec<_> = rows(all, |all| &all.flows).map(Iterator::peekable).collect();
    let heads = runs.iter_mut().enumerate();
    let heads = heads.filter_map(|(number, run)| Some(Reverse((run.peek()?.order(), number))));
    let mut heads: BinaryHeap<_> = heads.collect();
    iter::from_fn(move || {
        let Reverse((_, number)) = heads.pop()?;
        let row = runs[number].next();
        heads.extend(runs[number].peek().map(|next| Reverse((next.order(), number))));
        row
    })
}

fn groups<R>(mut rows: impl Iterator<Item = R>, size: usize) -> impl Iterator<Item = Vec<R>> {
    iter::from_fn(move || Some(rows.by_ref().take(size).collect::<Vec<R>>()).filter(|group| !group.is_empty()))
}

#[cfg(test)]
mod tests {
    use crate::{Outcome, Table, run::Run};

    const FLOWS: &str = r#"
        [topology.single_switch]
        hosts = 8
        [[job]]
        name = "many"
        workload.flows = { ranks = 8, load = 0.6, sizes = { fixed = "1kB" }, duration = "160us" }
    "#;

    /// The outcome with so many rows in memory, of a run that ends early where `end` says so.
    fn outcome(group: usize, end: &str) -> Outcome {
        let ends = [("run.end".to_owned(), end.to_owned())];
        let mut run = Run::start(FLOWS, "flows.toml", &ends, 1, &[]).unwrap();
        run.flow_rows.as_mut().expect("flows are many").lock().unwrap().group = group;
        let (outcome, written) = run.finish(&mut |_| true);
        written.unwrap();
        outcome
    }

    #[test]
    fn rows_that_went_to_a_file_give_the_tables_of_those_in_memory() {
        for end in ["\"1ms\"", "\"80us\""] {
            let (kept, written) = (outcome(usize::MAX, end), outcome(500, end));
            assert_eq!(kept.late.len(), 0);
            let groups: Vec<usize> = written.late.iter().map(|table| table.groups().count()).collect();
            assert!(groups.iter().all(|&count| count > 5), "{groups:?}");
            let named = |outcome: Outcome| {
                let mut tables = outcome.with_all_tables().tables;
                tables.sort_by_key(|table| table.name);
                tables
            };
            let (kept, written): (Vec<Table>, Vec<Table>) = (named(kept), named(written));
            assert!(kept == written, "{end}");
        }
    }
}
