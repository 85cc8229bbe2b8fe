//! Trace files: a resolved scenario has the text of small ones. Of the others it keeps path and SHA-256, and the file
//! is read while it is needed.

use std::{fs::File, io, io::Read, os::unix::fs::FileExt, path::Path, path::PathBuf};

use etherweave_primitives::{InputError, InputErrors};
use etherweave_workload::{Flows, Goal, ReadAt, TraceFile, Workload};
use toml::{Table, Value};

use super::digest::{DUMPI, Mismatch, absolute, check_digest, is_dumpi, sha256};
use super::{BYTES_MAX, length, table};
use crate::Scenario;
use crate::text::document::{Document, HeldKey};

/// Longest text that a resolved scenario has [B].
const TEXT_MAX: u64 = 1 << 20;
/// Traces in formats that are not read, by extension.
const TRACES: [(&str, &str); 4] =
    [("otf2", "an OTF2 archive, which `etherweave replay` takes"), ("meta", DUMPI), ("et", CHAKRA), ("chakra", CHAKRA)];
const CHAKRA: &str = "a Chakra execution trace of one rank, which `workload.chakra` reads with those of all other \
                      ranks, by their folder or as NAME.{rank}.et";
/// Contents that are not read: how they begin, and what they are.
const BEGINNINGS: [(&[u8], &str); 4] = [
    (b"PAR1", "a table in Parquet, which Python reads where the scenario itself names it, a file beside it"),
    (b"EWSCHED\n", "an executed schedule of `etherweave schedule`, and no trace"),
    (&[0x1f, 0x8b], "a file compressed by gzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "a file compressed by zstd"),
];
/// Texts that are not read: what their beginning has, and what they are.
const TEXTS: [(&str, &str); 3] = [
    (
        "\"traceEvents\"",
        "a trace of PyTorch's profiler, which Chakra's converter turns into what `workload.chakra` reads",
    ),
    ("MPI_Init:", "a trace of liballprof, which Schedgen turns into GOAL"),
    ("# htor", "a trace of liballprof, which Schedgen turns into GOAL"),
];
/// Length of the beginning that says what a file is [B].
const HEAD_BYTES: u64 = 1 << 12;

/// Words behind "expected" in an error about a schedule.
pub(super) const GOAL: &str = "a schedule in GOAL, text or binary";
pub(super) const FLOWS: &str = "a list of flows as CSV, of ns-3's HPCC or of htsim";

/// Replaces the key `file` of a trace by its text, or by its path and its SHA-256.
pub(super) fn insert(document: &mut Document, path: &[&str], content: &str) -> Result<(), InputError> {
    let Some(table) = table(&mut document.values, path) else { return Ok(()) };
    let Some(name) = table.remove("file") else { return Ok(()) };
    let has_text = table.contains_key("text");
    let digest = table.remove("sha256");
    let key = format!("{}.file", path.join("."));
    let values = values(document, &name, has_text, digest.as_ref(), content);
    let values = values.map_err(|(found, expected)| InputError::new(&key, found, expected))?;
    let held = if values.contains_key("text") { format!("{}.text", path.join(".")) } else { key.clone() };
    let file = name.as_str().unwrap_or_default().to_owned();
    document.files.push(HeldKey { key: held, by: key, file });
    if let Some(table) = self::table(&mut document.values, path) {
        table.extend(values);
    }
    Ok(())
}

/// The keys in place of `file`.
fn values(
    document: &Document,
    name: &Value,
    has_text: bool,
    digest: Option<&Value>,
    content: &str,
) -> Result<Table, Mismatch> {
    let Value::String(name) = name else {
        return Err((name.to_string(), "the name of a file as a string".to_owned()));
    };
    if has_text {
        return Err(("given beside text".to_owned(), "only one of them".to_owned()));
    }
    if let Some(other) = other_format(name) {
        return Err((format!("\"{name}\", {other}"), content.to_owned()));
    }
    let path = place(document, name);
    let unreadable = |reason: String| {
        (format!("\"{name}\" cannot be read ({reason})"), format!("{content}, beside the scenario and not compressed"))
    };
    if content == FLOWS {
        let length = length(&path).map_err(unreadable)?;
        Flows::check_length(length).map_err(|error| (format!("\"{name}\", {}", error.found), error.expected))?;
    }
    let sha256 = sha256([&path]).map_err(unreadable)?;
    check_digest(&path, &sha256, digest)?;
    if let Some(other) = other_content(&path).map_err(unreadable)? {
        return Err((format!("\"{name}\", {other}"), content.to_owned()));
    }
    let values = match text(&path).map_err(unreadable)? {
        Some(text) => vec![("text", text)],
        None => vec![("file", absolute(&path).map_err(unreadable)?), ("sha256", sha256)],
    };
    Ok(values.into_iter().map(|(key, value)| (key.to_owned(), Value::String(value))).collect())
}

/// The format of a trace that is not read here, by the name of its file.
fn other_format(name: &str) -> Option<&'static str> {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let known = TRACES.iter().find(|(known, _)| *known == extension).map(|(_, format)| *format);
    known.or_else(|| is_dumpi(name).then_some(DUMPI))
}

/// Kind of a file that is not read here, by its beginning.
fn other_content(path: &Path) -> Result<Option<&'static str>, String> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.map_err(|error| error.to_string())?;
    if let Some((_, format)) = BEGINNINGS.iter().find(|(beginning, _)| head.starts_with(beginning)) {
        return Ok(Some(format));
    }
    let text = String::from_utf8_lossy(&head);
    let known = TEXTS.iter().find(|(sign, _)| text.contains(sign)).map(|(_, format)| *format);
    Ok(known.or_else(|| text.trim_start().starts_with(['{', '[']).then_some("JSON")))
}

/// Where a file is: where its name says, or else beside the scenario.
fn place(document: &Document, name: &str) -> PathBuf {
    let named = document.beside(name);
    let moved = Path::new(name).file_name().and_then(|name| name.to_str()).map(|name| document.beside(name));
    moved.filter(|moved| !named.exists() && moved.exists()).unwrap_or(named)
}

/// The text of a file that is small and has one.
fn text(path: &Path) -> Result<Option<String>, String> {
    if length(path)? > TEXT_MAX {
        return Ok(None);
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    if Goal::is_binary(&bytes) {
        return Ok(None);
    }
    String::from_utf8(bytes).map(Some).map_err(|_| "it is no text in UTF-8".to_owned())
}

/// Opens the trace files of a scenario whose names have been replaced.
///
/// # Errors
/// Every file that cannot be opened.
pub(crate) fn open(scenario: &mut Scenario) -> Result<(), InputErrors> {
    let mut errors = InputErrors::default();
    for (number, job) in scenario.job.iter_mut().enumerate() {
        let key = format!("job.{number}.workload.{}.file", job.workload.name());
        let (file, sha256, content) = match &mut job.workload {
            Workload::Goal(goal) => {
                goal.text.retain(|_| goal.file.is_none());
                (&goal.file, &goal.sha256, &mut goal.content)
            }
            Workload::Flows(flows) => (&flows.file, &flows.sha256, &mut flows.content),
            other => {
                errors.check(super::chakra::open(number, other));
                continue;
            }
        };
        let Some(name) = file else { continue };
        let opened = OpenFile::new(Path::new(name)).map_err(|reason| {
            InputError::new(key, format!("\"{name}\" cannot be read ({reason})"), "a file beside the scenario")
        });
        let sha256 = sha256.clone().unwrap_or_default();
        *content = errors.check(opened).map(|file| TraceFile::new(file, sha256));
    }
    errors.into_result()
}

struct OpenFile {
    file: File,
    length: u64,
}

impl OpenFile {
    /// Opens a file; a text is read whole, so that it has a longest length.
    fn new(path: &Path) -> Result<OpenFile, String> {
        let opened = OpenFile { length: length(path)?, file: File::open(path).map_err(|error| error.to_string())? };
        let mut head = [0; 8];
        let is_binary = opened.read_at(&mut head, 0).is_ok() && Goal::is_binary(&head);
        if !is_binary && opened.length > BYTES_MAX {
            return Err(format!("a text of {} bytes, more than {BYTES_MAX}", opened.length));
        }
        Ok(opened)
    }
}

impl ReadAt for OpenFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Schedules, testing::Folder, testing::outcome};

    const PAIR: &str = "num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\na: recv 8b from 0\n}\n";

    impl Folder {
        fn schedules(&self, goal: &str) -> Result<Schedules, crate::ScenarioError> {
            Schedules::of(&scenario(goal), &self.origin(), &[], 0)
        }

        fn error(&self, goal: &str) -> String {
            self.schedules(goal).unwrap_err().to_string()
        }
    }

    fn scenario(goal: &str) -> String {
        format!("[topology.single_switch]\nhosts = 2\n[[job]]\nname = \"a\"\nworkload.goal = {{ {goal} }}\n")
    }

    #[test]
    fn a_schedule_is_read_from_beside_the_scenario() {
        let folder = Folder::new("goal");
        folder.write("pair.goal", PAIR);
        folder.write("cut.goal", &PAIR[..40]);
        let schedule = folder.schedules("file = \"pair.goal\"").unwrap();
        assert!(schedule.resolved.contains("send 8b to 1") && schedule.jobs[0].hosts.len() == 2);
        let both = folder.error("file = \"pair.goal\", text = \"num_ranks 1\"");
        let (cut, missing) = (folder.error("file = \"cut.goal\""), folder.error("file = \"no.goal\""));
        assert!(
            cut.contains("a.toml:5:") && cut.contains("goal.file: \"cut.goal\", line 5: r; expected `rank N {`"),
            "{cut}"
        );
        assert!(missing.contains("\"no.goal\" cannot be read (No such file"), "{missing}");
        assert!(both.contains("given beside text"), "{both}");
        for (name, content, format) in [
            ("kineto", "{\"schema\": 1, \"traceEvents\": []}", "a trace of PyTorch's profiler"),
            ("json", "[1]", "\"json\", JSON"),
            ("allprof", "# htor\nMPI_Init:1:-:2\n", "a trace of liballprof"),
            ("executed", "EWSCHED\n", "an executed schedule"),
            ("packed", "\u{28}", "line 1: (; expected `num_ranks`"),
            ("empty", "", "goal.file: \"empty\", line 1: nothing; expected `num_ranks`"),
        ] {
            folder.write(name, content);
            let error = folder.error(&format!("file = \"{name}\""));
            assert!(error.contains(format), "{error}");
        }
        assert!(folder.error("file = 5").contains("5; expected the name of a file"));
        for (name, format) in [
            ("a.otf2", "an OTF2 archive"),
            ("a.meta", "a DUMPI trace"),
            ("dumpi-1-0000.bin", "a DUMPI trace"),
            ("a.et", "a Chakra execution"),
        ] {
            let error = folder.error(&format!("file = \"{name}\""));
            assert!(error.contains(format) && error.contains("expected a schedule in GOAL"), "{error}");
        }
    }

    #[test]
    fn of_large_texts_and_binaries_the_resolved_scenario_keeps_path_and_digest() {
        let folder = Folder::new("trace");
        folder.write("pair.goal", PAIR);
        folder.write("moved/notes", "");
        folder.write("large.goal", format!("{PAIR}//{}\n", " ".repeat(TEXT_MAX as usize)));
        let pair = folder.schedules("file = \"pair.goal\"").unwrap();
        pair.jobs[0].goal_binary(File::create(folder.0.join("pair.bin")).unwrap()).unwrap();
        let small = outcome(&scenario("file = \"pair.goal\""), &folder.origin()).unwrap();
        for name in ["large.goal", "pair.bin"] {
            let run = outcome(&scenario(&format!("file = \"{name}\"")), &folder.origin()).unwrap();
            let path = format!("file = \"{}\"", folder.0.join(name).display());
            assert!(run.0.contains(&path) && !run.0.contains("text ="), "{}", run.0);
            assert!(run.0.len() < 2 * small.0.len() && run.2 == small.2, "the same run in few bytes");
            assert_eq!(outcome(&run.0, "other").unwrap(), run, "a resolved scenario reproduces itself");
            // The file moves with the results.
            let kept = folder.0.join("moved").join("scenario.toml");
            std::fs::rename(folder.0.join(name), kept.with_file_name(name)).unwrap();
            let moved = outcome(&run.0, kept.to_str().unwrap()).unwrap();
            assert_eq!((moved.2, moved.0.contains("/moved/")), (run.2, true));
            let missing = outcome(&run.0, "other").unwrap_err();
            assert!(missing.contains("job.0.workload.goal.file") && missing.contains("cannot be read (No such"));
            std::fs::write(kept.with_file_name(name), PAIR).unwrap();
            let changed = outcome(&run.0, kept.to_str().unwrap()).unwrap_err();
            assert!(changed.contains("has changed: its SHA-256 is"), "{changed}");
        }
    }

    #[test]
    fn of_a_large_list_of_flows_the_resolved_scenario_keeps_the_path() {
        let folder = Folder::new("flows");
        let line = "0,1,1000,0\n";
        folder.write("large.csv", format!("source,destination,bytes,start_ns\n{}", line.repeat(100_000)));
        let text = scenario("").replace("goal = {", "flows = { flows_max = 10, file = \"large.csv\"");
        let kept = outcome(&text, &folder.origin()).unwrap();
        assert!(kept.0.contains("large.csv\"") && !kept.0.contains("text ="), "{}", kept.0);
        assert_eq!(outcome(&kept.0, "other").unwrap(), kept, "a resolved scenario reproduces itself");
        folder.write("empty.csv", "");
        let empty = outcome(&text.replace("large", "empty"), &folder.origin()).unwrap_err();
        assert!(empty.ends_with("flows.file: \"empty.csv\": nothing; expected at least one line"), "{empty}");
    }

    /// The digest of the message "abc" in FIPS 180-4.
    #[test]
    fn digests_are_those_of_sha256sum() {
        let folder = Folder::new("digest");
        folder.write("abc", "abc");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256([folder.0.join("abc")]).unwrap(), expected);
    }
}
