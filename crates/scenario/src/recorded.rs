//! A recorded program: the files of a directory, as tables and as a schedule.

use std::{collections::BTreeSet, path::Path};

use etherweave_primitives::InputError;
use etherweave_workload::{
    Call, RankRecording, Recording, ReplayRules, Transfer, collective::Library, collective::Rule,
};

use crate::result::tables::{Column, Table, integers, numbers, texts};

/// How the names of the files end, one for each rank.
const EXTENSION: &str = "ewr";

/// A program that was recorded.
pub struct RecordedProgram {
    recording: Recording,
}

/// Facts about a recording.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct RecordedFacts {
    /// Number of ranks.
    pub ranks: usize,
    /// Their hosts, each once.
    pub hosts: Vec<String>,
    /// The MPI library of rank 0.
    pub library: String,
    /// Time from the first start to the last end of recording [ns].
    pub span_ns: u64,
    /// How many calls all ranks made.
    pub calls: u64,
    /// The part of the time of all ranks that was computation.
    pub compute_share: f64,
    /// The part of the time of all ranks that recording took.
    pub recorder_share: f64,
    /// Time that a record took, on the rank where it took longest [ns].
    pub record_ns_max: u64,
    /// Largest error that a clock may have [ns].
    pub clock_error_ns_max: u64,
    /// Functions whose messages are not recorded, each once: a replay refuses them.
    pub not_recorded: Vec<String>,
}

/// Something that a rank did.
struct Activity<'a> {
    rank: &'a RankRecording,
    name: &'a str,
    bytes: u64,
    start_ns: u64,
    end_ns: u64,
}

impl RecordedProgram {
    /// Reads a directory.
    ///
    /// # Errors
    /// When it has no recording of all ranks; with the file and the byte.
    pub fn read(directory: &Path) -> Result<RecordedProgram, InputError> {
        let mut files = Vec::new();
        let named = |path: &Path, reason: std::io::Error| {
            InputError::new(path.display().to_string(), reason, "a directory with a file for each rank")
        };
        for entry in std::fs::read_dir(directory).map_err(|reason| named(directory, reason))? {
            let path = entry.map_err(|reason| named(directory, reason))?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                files.push((path.display().to_string(), std::fs::read(&path).map_err(|reason| named(&path, reason))?));
            }
        }
        files.sort();
        let recording = Recording::read(files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())));
        let within = |error: InputError| match error.key.as_str() {
            "" => error.within(&directory.display().to_string()),
            _ => error,
        };
        Ok(RecordedProgram { recording: recording.map_err(within)? })
    }

    /// Returns the facts about it.
    pub fn facts(&self) -> RecordedFacts {
        let ranks = self.recording.ranks();
        let mut hosts: Vec<String> = ranks.iter().map(|rank| rank.host.clone()).collect();
        hosts.sort();
        hosts.dedup();
        let sum = |value: fn(&RankRecording) -> u64| ranks.iter().map(value).sum::<u64>();
        let most = |value: fn(&RankRecording) -> u64| ranks.iter().map(value).max().unwrap_or(0);
        let all_ns = sum(RankRecording::length_ns).max(1) as f64;
        let recorder_ns: u64 = ranks.iter().map(|rank| rank.cost_ns.saturating_mul(rank.records.len() as u64)).sum();
        RecordedFacts {
            ranks: ranks.len(),
            hosts,
            library: ranks.first().map(|rank| rank.library.clone()).unwrap_or_default(),
            span_ns: self.recording.span_ns(),
            calls: ranks.iter().flat_map(|rank| &rank.records).filter(|record| record.call.name().is_some()).count()
                as u64,
            compute_share: sum(RankRecording::compute_ns) as f64 / all_ns,
            recorder_share: recorder_ns as f64 / all_ns,
            record_ns_max: most(|rank| rank.cost_ns),
            clock_error_ns_max: most(|rank| rank.clock_error_ns),
            not_recorded: self.not_recorded(),
        }
    }

    fn not_recorded(&self) -> Vec<String> {
        let records = self.recording.ranks().iter().flat_map(|rank| &rank.records);
        let names = records.filter_map(|record| match &record.call {
            Call::Unsupported(name) => Some(name.clone()),
            _ => None,
        });
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The same as JSON.
    pub fn facts_json(&self) -> String {
        serde_json::to_string(&self.facts()).expect("facts are JSON")
    }

    /// Returns the tables of what ranks did, and of the messages between two of them.
    ///
    /// # Errors
    /// When members disagree on a collective.
    pub fn tables(&self) -> Result<Vec<Table>, InputError> {
        Ok(vec![self.activities(), transfers(&self.recording.transfers()?)])
    }

    fn activities(&self) -> Table {
        let start_ns = self.recording.start_ns();
        let rows: Vec<Activity<'_>> =
            self.recording.ranks().iter().flat_map(|rank| activities(rank, start_ns)).collect();
        Table {
            name: "activities",
            columns: vec![
                ("rank", integers(&rows, |row| row.rank.rank.into())),
                ("host", texts(&rows, |row| row.rank.host.clone())),
                ("activity", texts(&rows, |row| row.name.to_owned())),
                ("start_ns", numbers(&rows, |row| row.start_ns as f64)),
                ("end_ns", numbers(&rows, |row| row.end_ns as f64)),
                ("bytes", integers(&rows, |row| row.bytes)),
            ],
        }
    }

    /// The program as GOAL text.
    ///
    /// # Errors
    /// When there is no such library, or the recording has something that cannot be performed again.
    pub fn goal(&self, library: &str, ranks_per_node: u32, compute_scale: f64) -> Result<String, InputError> {
        let known = || Library::ALL.iter().map(|candidate| candidate.name()).collect::<Vec<_>>().join(", ");
        let named = Library::ALL.iter().find(|candidate| candidate.name() == library);
        let library = named.ok_or_else(|| InputError::new("library", format!("\"{library}\""), known()))?;
        let nodes = (ranks_per_node > 1).then_some(ranks_per_node);
        self.recording.goal(&ReplayRules { rule: Rule { nodes, ..Rule::of(*library) }, compute_scale })
    }
}

/// Calls of a rank, and computation between them.
fn activities(rank: &RankRecording, start_ns: i64) -> impl Iterator<Item = Activity<'_>> {
    let mut before_ns = 0;
    rank.records.iter().flat_map(move |record| {
        let computed_ns = rank.computed_ns(before_ns, record.start_ns);
        let at = |ns| rank.common_ns(start_ns, ns);
        let of = |name, bytes, from, to| Activity { rank, name, bytes, start_ns: at(from), end_ns: at(to) };
        let computed = (computed_ns > 0).then(|| of("compute", 0, before_ns, record.start_ns));
        before_ns = record.end_ns;
        let call = record.call.name().map(|name| of(name, record.call.bytes(), record.start_ns, record.end_ns));
        computed.into_iter().chain(call)
    })
}

fn transfers(rows: &[Transfer]) -> Table {
    Table {
        name: "transfers",
        columns: vec![
            ("source", integers(rows, |row| row.source.into())),
            ("destination", integers(rows, |row| row.destination.into())),
            ("tag", integers(rows, |row| row.tag.into())),
            ("bytes", Column::Integers(rows.iter().map(|row| row.bytes).collect())),
            ("start_ns", numbers(rows, |row| row.start_ns as f64)),
            ("end_ns", numbers(rows, |row| row.end_ns as f64)),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn a_directory_without_a_recording_is_named() {
        let folder = Folder::new("recorded");
        folder.write("notes.txt", "no recording");
        let error = |directory: &Path| RecordedProgram::read(directory).err().unwrap().to_string();
        let empty = error(&folder.0);
        folder.write("0.ewr", "EWRECORD");
        let (cut, missing) = (error(&folder.0), error(&folder.0.join("none")));
        assert!(empty.ends_with(": no files; expected a file for each rank, ending in .ewr"), "{empty}");
        assert!(cut.contains("0.ewr: byte 8: the file ends within a record"), "{cut}");
        assert!(missing.contains("No such file") && missing.contains("; expected a directory"), "{missing}");
    }
}
