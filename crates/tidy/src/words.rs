//! Rejected words: private ones for which the field has its own.
//!
//! Words are read in prose and as parts of identifiers (`told_by`, `Told`). A line that keeps an old name for one
//! release says so with the word `alias` or `former`, and passes.

use crate::{File, Finding, paths::is_decision, text::is_code, text::is_written};

/// Rejected in every text and identifier, with what the field says.
const WORDS: &[(&[&str], &str)] = &[
    (&["tell", "tells", "told", "telling"], "print, report, program, configure or install"),
    (&["foretell", "foretells", "foretold", "foretelling"], "predict, predicted"),
    (&["detour", "detours", "detoured"], "non-minimal path, misrouted"),
    (&["rehearse", "rehearsed", "rehearsal", "rehearsals"], "warm up, warm-up"),
    (&["culprit", "culprits", "blame", "blamed", "blames"], "suspected component, slow-path localisation"),
    (&["sitting", "sittings", "sitter"], "session, executor"),
    (&["exhibit", "exhibits"], "section of a report"),
    (&["merits"], "metrics"),
    (&["wish", "wishes", "wished"], "request, requirements, options"),
    (&["film", "films"], "animation, its pictures are steps"),
    (&["story", "stories"], "demonstration, step"),
    (&["companion", "companions", "keeper", "keepers"], "monitor, supervisor"),
    (&["lots"], "hashes, random draws"),
    (&["ours"], "simulated, measured or computed"),
];

/// Rejected as parts of identifiers; elsewhere they are ordinary English.
const PARTS: &[(&[&str], &str)] = &[
    (&["way", "ways"], "path, egress or method"),
    (&["lot"], "hash, random draw"),
    (&["joint", "joints"], "adjacency, port channel"),
    (&["card", "cards"], "NIC"),
    (&["ground"], "a noun for what it holds"),
    (&["heard"], "a noun for what it holds"),
];

/// Rejected as parts of identifiers of the simulators; elsewhere an aim is a target, and a lane is a SerDes lane.
const SIMULATORS: &[(&[&str], &str)] =
    &[(&["aim", "aims"], "destination set, route state or prefetch hint"), (&["lane", "lanes"], "traffic-class state")];

/// Rejected as names of types and modules.
const NAMES: &[(&[&str], &str)] = &[(
    &["Found", "Heard", "Seen", "Kept", "Placed", "Carried", "Came", "Letter", "Letters", "Mail", "Minimally", "Looks"],
    "a noun that says what it holds",
)];

/// Rejected in prose.
const PHRASES: &[(&str, &str)] = &[
    ("takes root", "requires root"),
    ("by lot", "by hash, at random"),
    ("in force", "active"),
    ("out of force", "inactive"),
    ("hangs on", "depends on"),
    ("hang on the", "depend on the"),
    ("as often as needed", "repeatable"),
    ("network card", "NIC"),
    ("shortest way", "shortest path"),
    ("minimal way", "minimal path"),
    ("special way", "impaired link"),
    ("nothing can go on", "no event can make progress"),
    ("ring that waits for itself", "cyclic channel dependency, deadlock cycle"),
];

/// Parts of identifiers that are words of the field, with the rejected part in them.
const TERMS: [&str; 8] =
    ["one_way", "two_way", "oneway", "parking_lot", "serdes_lane", "ground_truth", "n_way", "pcie_lane"];

/// A rejected word, on a line of a text that people write.
pub fn rejected(file: &File) -> Vec<Finding> {
    // The glossary lists what others say; this file, and a test of helps, what nobody says.
    let lists_words =
        ["docs/glossary.md", "crates/tidy/src/words.rs", "tests/cli/test_helps.py"].contains(&file.path.as_str());
    if !is_written(file) || is_decision(file) || lists_words {
        return Vec::new();
    }
    let is_code = is_code(file);
    let mut findings = file.findings(|line| {
        let of_simulator = || of(SIMULATORS, &identifiers(code_of(line)).flat_map(parts).collect::<Vec<_>>());
        let (word, instead) =
            rejected_in(line, is_code).or_else(|| of_simulator().filter(|_| file.extension() == "rs"))?;
        Some(format!("`{word}`: say {instead}"))
    });
    let stem = file.path.rsplit('/').next().unwrap_or("").split('.').next().unwrap_or("");
    if let Some((word, instead)) = rejected_in(stem, true).filter(|_| is_code) {
        findings.push(file.finding(1, format!("`{word}` in the file's name: say {instead}")));
    }
    findings
}

/// The first rejected word of a line, and what to say instead.
fn rejected_in(line: &str, is_code: bool) -> Option<(String, &'static str)> {
    if line.contains("alias") || line.contains("former") {
        return None;
    }
    let lower = line.to_lowercase();
    if let Some((phrase, instead)) = PHRASES.iter().find(|(phrase, _)| lower.contains(phrase)) {
        return Some(((*phrase).to_owned(), instead));
    }
    identifiers(line).find_map(|word| {
        let parts = parts(word);
        let is_compound = parts.len() > 1 || word.chars().any(char::is_uppercase);
        let name = of(NAMES, &[word.to_owned()]).filter(|_| is_code && !is_sentence_start(line, word));
        name.or_else(|| of(WORDS, &parts))
            .or_else(|| of(PARTS, &parts).filter(|_| is_code && is_compound && !is_term(&parts) && is_name(line, word)))
    })
}

fn of(table: &'static [(&[&str], &str)], words: &[String]) -> Option<(String, &'static str)> {
    words.iter().find_map(|word| {
        let (_, instead) = table.iter().find(|(rejected, _)| rejected.contains(&word.as_str()))?;
        Some((word.clone(), *instead))
    })
}

fn code_of(line: &str) -> &str {
    line.split("//").next().unwrap_or("")
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// `told_by`, `toldBy` and `TOLD_BY` are `told` and `by`.
fn parts(word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for letter in word.chars() {
        if letter == '_' || letter.is_uppercase() && was_lower {
            parts.push(String::new());
        }
        was_lower = letter.is_lowercase();
        if letter != '_' {
            parts.last_mut().expect("one part").extend(letter.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn is_term(parts: &[String]) -> bool {
    let name = parts.join("_");
    TERMS.iter().any(|term| name.contains(term))
}

/// A capitalised word of a comment is no type.
fn is_sentence_start(line: &str, word: &str) -> bool {
    let comment = line.trim_start();
    ["//", "#", "\"\"\"", "*"].iter().any(|mark| comment.starts_with(mark)) && !line.contains(&format!("`{word}"))
        || line.contains(&format!("\"{word} "))
        || line.contains(&format!(". {word} "))
}

/// A word at the start of a sentence is capitalised, and no name.
fn is_name(line: &str, word: &str) -> bool {
    word.contains('_') || !is_sentence_start(line, word)
}

/// Words that begin a clause, not a sentence that stands alone.
const CLAUSES: [&str; 16] =
    ["That", "Which", "Of", "Whose", "Where", "From", "To", "As", "And", "Or", "But", "With", "For", "In", "At", "How"];

/// A help text of the command line stands alone: it does not continue the name of its option.
pub fn helps(file: &File) -> Vec<Finding> {
    if !file.path.starts_with("python/etherweave/cli/") {
        return Vec::new();
    }
    file.findings(|line| {
        let text = line.split_once("help=\"").or_else(|| line.split_once("help=f\""))?.1;
        let first = text.split([' ', '"']).next()?;
        let half = CLAUSES.contains(&first) || first.starts_with(char::is_lowercase);
        half.then(|| format!("the help begins with `{first}`: one imperative sentence, or the value with its unit"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, line: &str, is_rejected: bool) {
        let findings = rejected(&File::new(path, line));
        assert_eq!(!findings.is_empty(), is_rejected, "{path}: {line}: {findings:?}");
    }

    #[test]
    fn rejected_words_are_found_in_prose_and_in_identifiers() {
        check("docs/a.md", "It tells switches the rules.\n", true);
        check("a.py", "def told_by(host: str) -> None: ...\n", true);
        check("a.rs", "struct RehearsalLength;\n", true);
        check("a.rs", "let retold = 1; // the teller foretells\n", true);
        check("docs/a.md", "Install the rules; the telltale sign is a story-free page.\n", true);
        check("docs/a.md", "Telltale signs.\n", false);
    }

    #[test]
    fn ordinary_english_is_rejected_only_as_part_of_a_name() {
        check("docs/a.md", "in two ways, by way of an example, on the ground\n", false);
        check("a.rs", "let shortest_ways = 2;\n", true);
        check("a.rs", "// in two ways\nlet one_way_ns = 1;\nlet background = 2;\n", false);
        check("a.py", "class NicCard: ...\n", true);
    }

    #[test]
    fn a_lane_is_rejected_in_simulators_alone() {
        check("crates/sim/src/a.rs", "struct Lane;\n", true);
        check("crates/sim/src/a.rs", "let x = 1; // a SerDes lane\n", false);
        check("python/etherweave/bench/a.py", "lanes = link.lanes\n", false);
    }

    #[test]
    fn participles_are_no_types() {
        check("a.py", "class Found: ...\n", true);
        check("a.rs", "fn look() -> Option<Heard> {\n", true);
        check("a.rs", "/// Found on the path.\nlet found = 1;\n", false);
    }

    #[test]
    fn phrases_are_found_whatever_their_case() {
        check("docs/a.md", "Takes root.\n", true);
        check("docs/a.md", "It requires root.\n", false);
    }

    #[test]
    fn a_file_is_named_in_the_fields_words_too() {
        check("python/etherweave/report/foretold.py", "\n", true);
    }

    #[test]
    fn an_old_name_may_stay_as_an_alias() {
        check("a.rs", "#[serde(alias = \"film\")]\n", false);
    }

    #[test]
    fn a_help_stands_alone() {
        let lines = |text: &str| helps(&File::new("python/etherweave/cli/run.py", text)).len();
        assert_eq!(lines("help=\"That they may take.\"\nhelp=\"of a run\"\n"), 2);
        assert_eq!(lines("help=\"Write the frames as pcapng; repeatable.\"\nhelp=\"Longest time of a run.\"\n"), 0);
    }
}
