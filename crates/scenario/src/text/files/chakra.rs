//! Traces with a file for each rank, named by a pattern with `{rank}` or by their folder; and their process groups.

use std::{collections::BTreeSet, fs::File, io, os::unix::fs::FileExt, path::Path, path::PathBuf};

use etherweave_primitives::InputError;
use etherweave_workload::{Chakra, ReadAt, TraceFile, Workload, trace_name};
use toml::{Table, Value};

use super::digest::{DUMPI, Mismatch, absolute, check_digest, is_dumpi, sha256};
use super::{length, read, table};
use crate::text::document::Document;

/// Placeholder for the number of a rank.
const RANK: &str = "{rank}";
/// Endings of the names of traces in a folder.
const EXTENSIONS: [&str; 2] = [".et", ".et.gz"];

/// Replaces the key `file` by its path and the SHA-256 of all files, and `groups_file` by its groups.
pub(super) fn insert(document: &mut Document, path: &[&str]) -> Result<(), InputError> {
    let Some(chakra) = table(&mut document.values, path) else { return Ok(()) };
    let (file, groups, digest) = (chakra.remove("file"), chakra.remove("groups_file"), chakra.remove("sha256"));
    let has_groups = chakra.contains_key("groups");
    let error = |key: &'static str| {
        let key = format!("{}.{key}", path.join("."));
        move |(found, expected): Mismatch| InputError::new(key, found, expected)
    };
    let mut values = Table::new();
    if let Some(file) = file {
        let [file, sha256] = traces(document, &file, digest.as_ref()).map_err(error("file"))?;
        values.extend([("file".to_owned(), file), ("sha256".to_owned(), sha256)]);
    }
    if let Some(file) = groups {
        let groups = groups_of(document, &file, has_groups).map_err(error("groups_file"))?;
        values.insert("groups".to_owned(), groups);
    }
    if let Some(chakra) = table(&mut document.values, path) {
        chakra.extend(values);
    }
    Ok(())
}

fn text(value: &Value) -> Result<&str, Mismatch> {
    value.as_str().ok_or_else(|| (value.to_string(), "the name of a file as a string".to_owned()))
}

fn traces(document: &Document, name: &Value, digest: Option<&Value>) -> Result<[Value; 2], Mismatch> {
    let name = text(name)?;
    let unreadable = |reason: String| {
        let expected =
            format!("files beside the scenario, one of each rank, with {RANK} in their name, or their folder");
        (format!("\"{name}\" cannot be read ({reason})"), expected)
    };
    let pattern = place(document, name).map_err(unreadable)?;
    let files = files(&pattern).map_err(unreadable)?;
    let sha256 = sha256(&files).map_err(unreadable)?;
    check_digest(&pattern, &sha256, digest)?;
    Ok([absolute(&pattern).map_err(unreadable)?, sha256].map(Value::String))
}

/// The pattern of the names: where the name says, or else beside the scenario.
fn place(document: &Document, name: &str) -> Result<PathBuf, String> {
    let named = pattern(document.beside(name));
    if named.as_ref().is_ok_and(|pattern| files(pattern).is_ok()) {
        return named;
    }
    let moved = Path::new(name).file_name().map(|name| document.beside(&name.to_string_lossy()));
    moved.and_then(|moved| pattern(moved).ok()).filter(|moved| files(moved).is_ok()).map_or(named, Ok)
}

/// A pattern, or that of the traces in a folder.
fn pattern(path: PathBuf) -> Result<PathBuf, String> {
    if !path.is_dir() {
        return Ok(path);
    }
    let names = names(&path)?;
    let patterns: BTreeSet<String> = names.iter().filter_map(|name| pattern_of(name)).collect();
    let mut patterns = patterns.iter();
    match (patterns.next(), patterns.next()) {
        (Some(pattern), None) => Ok(path.join(pattern)),
        (Some(one), Some(other)) => Err(format!("both {one} and {other}")),
        (None, _) if names.iter().any(|name| is_dumpi(name)) => Err(format!("a folder with {DUMPI}")),
        (None, _) => Err(format!("no file NAME.{RANK}.et in this folder")),
    }
}

/// The pattern of a file's name, if it is one of a trace.
fn pattern_of(name: &str) -> Option<String> {
    let extension = EXTENSIONS.iter().find(|extension| name.ends_with(**extension))?;
    let stem = name.strip_suffix(extension)?;
    let before = stem.trim_end_matches(|character: char| character.is_ascii_digit());
    let is_numbered = before.len() < stem.len() && (before.is_empty() || before.ends_with('.'));
    is_numbered.then(|| format!("{before}{RANK}{extension}"))
}

fn names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let name = |entry: io::Result<std::fs::DirEntry>| Some(entry.ok()?.file_name().to_string_lossy().into_owned());
    Ok(entries.filter_map(name).collect())
}

fn files(pattern: &Path) -> Result<Vec<PathBuf>, String> {
    let name = pattern.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (before, after) = name.split_once(RANK).ok_or_else(|| format!("no {RANK} in the name of the file"))?;
    let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let number = |name: &String| {
        let number = name.strip_prefix(before)?.strip_suffix(after)?;
        number.parse::<usize>().ok().filter(|parsed| parsed.to_string() == number)
    };
    let ranks: BTreeSet<usize> = names(folder)?.iter().filter_map(number).collect();
    let count = ranks.last().map_or(1, |last| last + 1);
    match (0..count).find(|rank| !ranks.contains(rank)) {
        Some(rank) => Err(format!("no file {}", trace_name(&name, rank))),
        None => Ok((0..count).map(|rank| folder.join(trace_name(&name, rank))).collect()),
    }
}

fn groups_of(document: &Document, name: &Value, has_groups: bool) -> Result<Value, Mismatch> {
    let name = text(name)?;
    if has_groups {
        return Err(("given beside groups".to_owned(), "only one of them".to_owned()));
    }
    let json = read(&document.beside(name)).map_err(|reason| {
        (format!("\"{name}\" cannot be read ({reason})"), "a file of JSON beside the scenario".to_owned())
    })?;
    let groups = Chakra::groups_of(&json).map_err(|error| (format!("\"{name}\": {}", error.found), error.expected))?;
    Ok(Value::try_from(groups).expect("groups are a table"))
}

/// Makes the files of a job ready to be read, if it has such traces.
///
/// # Errors
/// When they cannot be.
pub(super) fn open(number: usize, workload: &mut Workload) -> Result<(), InputError> {
    let Workload::Chakra(chakra) = workload else { return Ok(()) };
    let Some(name) = &chakra.file else { return Ok(()) };
    let sha256 = chakra.sha256.clone().unwrap_or_default();
    let opened = |path: PathBuf| Ok(TraceFile::new(ClosedFile { length: length(&path)?, path }, sha256.clone()));
    let content: Result<_, String> = files(Path::new(name)).and_then(|files| files.into_iter().map(opened).collect());
    chakra.content = content.map_err(|reason| {
        let mistake = format!("\"{name}\" cannot be read ({reason})");
        InputError::new(format!("job.{number}.workload.chakra.file"), mistake, "files beside the scenario")
    })?;
    Ok(())
}

/// A file that is open while it is read only: there are as many as ranks.
struct ClosedFile {
    path: PathBuf,
    length: u64,
}

impl ReadAt for ClosedFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        File::open(&self.path)?.read_exact_at(bytes, at)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use etherweave_primitives::{Duration, Rank};
    use etherweave_workload::{ExecutionStream, GraphBuilder, GraphOp, Traffic};

    use super::*;
    use crate::{Schedules, testing::Folder, testing::outcome};

    impl Folder {
        /// Writes the traces of a workload under names of this pattern.
        fn write_traces(&self, pattern: &str, workload: &str) {
            let made = Schedules::of(&scenario(workload), "a.toml", &[], 0).unwrap();
            for (rank, trace) in made.jobs[0].chakra().unwrap().iter().enumerate() {
                self.write(&trace_name(pattern, rank), trace);
            }
        }

        fn run(&self, workload: &str) -> Result<(String, f64, String), String> {
            outcome(&scenario(workload), &self.origin())
        }
    }

    fn scenario(workload: &str) -> String {
        format!("[topology.single_switch]\nhosts = 8\n[[job]]\nname = \"a\"\nworkload.{workload}\n")
    }

    const HALO: &str = "halo3d = { pex = 2, pey = 2, pez = 2, nx = 8, ny = 8, nz = 8, iterations = 2 }";

    #[test]
    fn a_program_as_traces_runs_as_it_does_as_goal() {
        let folder = Folder::new("chakra-round-trip");
        for workload in [HALO, "osu_collective = { ranks = 8, operation.allreduce.bytes = \"64KiB\", iterations = 3 }"]
        {
            folder.write_traces("a.{rank}.et", workload);
            let schedules = Schedules::of(&scenario(workload), "a.toml", &[], 0).unwrap();
            schedules.jobs[0].goal(&mut std::fs::File::create(folder.0.join("a.goal")).unwrap()).unwrap();
            let (_, end, fingerprint) = folder.run("chakra.file = \"a.{rank}.et\"").unwrap();
            let (_, goal_end, goal_fingerprint) = folder.run("goal.file = \"a.goal\"").unwrap();
            assert_eq!((end, fingerprint), (goal_end, goal_fingerprint), "{workload}");
        }
    }

    /// 4 MiB take 0.34 ms at 100 Gb/s, threads 5 ms: the accelerator ends before them, with what follows the message.
    #[test]
    fn accelerators_communicate_while_threads_compute() {
        let folder = Folder::new("chakra-overlap");
        for (rank, peer) in [(0, Rank::new(1)), (1, Rank::new(0))] {
            let mut graph = GraphBuilder::default();
            let [core, gpu] = [ExecutionStream::Core, ExecutionStream::Accelerator].map(|kind| graph.stream(kind));
            let work = |ms: u64| GraphOp::Compute { duration: Duration::from_us(1_000 * ms) };
            graph.add(core, work(5), &[]);
            let message = match rank {
                0 => GraphOp::Send { peer, tag: 0, bytes: 4 << 20 },
                _ => GraphOp::Receive { peer: Some(peer), tag: Some(0), bytes: 4 << 20 },
            };
            let message = graph.add(gpu, message, &[]);
            graph.add(gpu, work(4), &[message]);
            let ranks = vec![Arc::new(graph.build().unwrap())];
            let trace = Chakra::write(&Traffic::Graphs { ranks, iterations: 1 }).unwrap();
            folder.write(&format!("traces/{rank}.et"), &trace[0]);
        }
        let (_, end, _) = folder.run("chakra.file = \"traces\"").unwrap();
        assert!((5e6..5.1e6).contains(&end), "{end}");
    }

    #[test]
    fn traces_are_found_by_pattern_or_folder_and_known_by_their_digest() {
        let folder = Folder::new("chakra-files");
        folder.write_traces("traces/step.{rank}.et", HALO);
        let by_pattern = folder.run("chakra.file = \"traces/step.{rank}.et\"").unwrap();
        assert_eq!(folder.run("chakra.file = \"traces\"").unwrap(), by_pattern);
        let path = format!("file = \"{}\"", folder.0.join("traces/step.{rank}.et").display());
        assert!(by_pattern.0.contains(&path) && by_pattern.0.contains("sha256 = \""), "{}", by_pattern.0);
        assert_eq!(outcome(&by_pattern.0, "other").unwrap(), by_pattern, "a resolved scenario reproduces itself");
        // Traces move with the results.
        std::fs::rename(folder.0.join("traces"), folder.0.join("moved")).unwrap();
        let moved = folder.0.join("moved/scenario.toml");
        assert_eq!(outcome(&by_pattern.0, moved.to_str().unwrap()).unwrap().1, by_pattern.1);
        std::fs::copy(folder.0.join("moved/step.1.et"), folder.0.join("moved/step.2.et")).unwrap();
        let changed = outcome(&by_pattern.0, moved.to_str().unwrap()).unwrap_err();
        assert!(changed.contains("has changed: its SHA-256 is"), "{changed}");
    }

    #[test]
    fn files_that_are_no_traces_of_a_job_are_errors() {
        let folder = Folder::new("chakra-errors");
        folder.write_traces("traces/step.{rank}.et", HALO);
        let error = |workload: &str| folder.run(&format!("chakra = {{ {workload} }}")).unwrap_err();
        for (workload, message) in [
            ("file = 5", "file: 5; expected the name of a file as a string"),
            ("file = \"a.et\"", "\"a.et\" cannot be read (no {rank} in the name of the file)"),
            ("file = \"a.{rank}.et\"", "cannot be read (no file a.0.et); expected files beside the scenario"),
            ("file = \"traces\", sha256 = \"00\"", "has changed: its SHA-256 is"),
            ("file = \"traces\", groups_file = \"b\"", "groups_file: \"b\" cannot be read (No such file"),
            ("file = \"traces\", groups_file = \"b\", groups = {}", "groups_file: given beside groups"),
            ("file = \"traces\", groups.1 = [0, 9]", "chakra.groups.1: rank 9 of a job of 8 ranks"),
        ] {
            let error = error(workload);
            assert!(error.contains(message), "{message}: {error}");
        }
        folder.write("dumpi/dumpi-1-0000.bin", "");
        assert!(error("file = \"dumpi\"").contains("(a folder with a DUMPI trace, whose library is not maintained"));
        folder.write("groups.json", "{\"1\": 5}");
        let groups = error("file = \"traces\", groups_file = \"groups.json\"");
        assert!(groups.contains("expected an object with a list of ranks for each group"), "{groups}");
        folder.write("groups.json", "{\"1\": []}");
        let groups = error("file = \"traces\", groups_file = \"groups.json\"");
        assert!(groups.contains("groups.1: a group without ranks"), "{groups}");
        let placed = folder.run("chakra.file = \"traces\"\nplacement.hosts = [0, 1]").unwrap_err();
        assert!(placed.contains("placement.hosts: 2 entries; expected 8, one for each host of the job"), "{placed}");
        std::fs::copy(folder.0.join("traces/step.1.et"), folder.0.join("traces/other.0.et")).unwrap();
        assert!(error("file = \"traces\"").contains("both other.{rank}.et and step.{rank}.et"));
        std::fs::remove_file(folder.0.join("traces/step.3.et")).unwrap();
        assert!(error("file = \"traces/step.{rank}.et\"").contains("no file step.3.et"));
        folder.write("traces/step.3.et", "no trace");
        let damaged = error("file = \"traces/step.{rank}.et\"");
        assert!(damaged.contains("step.3.et: byte 0: the trace ends"), "{damaged}");
    }
}
