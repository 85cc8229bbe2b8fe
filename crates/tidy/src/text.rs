//! Rules for every text that people write: size, white space, unfinished words, private paths.

use crate::{File, Finding};

/// Beyond this a file holds a second concept [lines].
pub const LINES_MAX: usize = 800;
/// Beyond this one should look for it [lines].
pub const LINES_USUAL: usize = 300;

/// File that docs/site/key_types.py makes from the schema.
const GENERATED: &str = "python/etherweave/api/scenario_keys.pyi";

/// Written by people, line by line; tables, schemas, licences and pictures are not.
pub fn is_written(file: &File) -> bool {
    let by_ending = matches!(
        file.extension(),
        "rs" | "py" | "pyi" | "c" | "h" | "md" | "toml" | "sh" | "j2" | "css" | "js" | "cff"
    ) || matches!(file.path.as_str(), "Makefile" | ".ci/run");
    by_ending && file.path != GENERATED
}

/// Code rather than prose.
pub fn is_code(file: &File) -> bool {
    is_written(file) && file.extension() != "md"
}

/// Checks that a file has at most [`LINES_MAX`] lines.
pub fn length(file: &File) -> Vec<Finding> {
    let lines = file.text.lines().count();
    let excess = is_written(file) && lines > LINES_MAX;
    excess.then(|| file.finding(lines, format!("{lines} lines; at most {LINES_MAX}"))).into_iter().collect()
}

/// No tab (but in the Makefile, where it is grammar), no white space at an end, one newline after the last line.
pub fn white_space(file: &File) -> Vec<Finding> {
    if !is_written(file) {
        return Vec::new();
    }
    let tabs_speak = file.path == "Makefile";
    let mut findings = file.findings(|line| {
        let tab = line.contains('\t') && !tabs_speak;
        let trailing = line.ends_with(char::is_whitespace);
        (tab || trailing).then_some(if tab { "a tab" } else { "white space at the end of the line" })
    });
    let ends_well = file.text.is_empty() || (file.text.ends_with('\n') && !file.text.ends_with("\n\n"));
    if !ends_well {
        findings.push(file.finding(file.text.lines().count(), "the file ends with exactly one newline"));
    }
    findings
}

/// Rust stays within 120 columns also where rustfmt gives up: comments, strings, macros.
pub fn width(file: &File) -> Vec<Finding> {
    if file.extension() != "rs" {
        return Vec::new();
    }
    file.findings(|line| (line.chars().count() > 120).then_some("more than 120 columns"))
}

/// No note of something left undone: what is missing is a test, an issue, or a sentence under *not modelled*.
pub fn unfinished(file: &File) -> Vec<Finding> {
    // Written in halves, so that this file passes its own rule.
    const WORDS: [&str; 6] = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("todo", "!("),
        concat!("unimple", "mented!("),
        concat!("dbg", "!("),
    ];
    if !is_code(file) {
        return Vec::new();
    }
    file.findings(|line| {
        let word = WORDS.iter().find(|word| line.contains(**word))?;
        Some(format!("`{word}`: finish it, or say under *not modelled* that it is left out"))
    })
}

/// No path of somebody's machine, and not this machine's name.
pub fn private_places(file: &File, machine: &str) -> Vec<Finding> {
    const HOMES: [&str; 4] =
        [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];
    file.findings(|line| {
        let home = HOMES.iter().any(|home| line.match_indices(*home).any(|(at, _)| starts_a_path(line, at)));
        let named = is_specific(machine) && line.contains(machine);
        (home || named).then_some("a path or name of one machine: it means nothing on another")
    })
}

/// A slash after a letter, digit, dot or dash continues a path or an address.
fn starts_a_path(line: &str, at: usize) -> bool {
    !line[..at].ends_with(|before: char| before.is_alphanumeric() || "._-~})".contains(before))
}

/// `localhost` and `debian` may stand anywhere; a name with a digit is somebody's.
fn is_specific(machine: &str) -> bool {
    machine.len() >= 4 && machine.contains(|letter: char| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::check;

    #[test]
    fn a_file_of_800_lines_passes_and_one_more_does_not() {
        check(length, "a.rs", &"x\n".repeat(800), &[]);
        check(length, "a.rs", &"x\n".repeat(801), &[801]);
        check(length, "expected.csv", &"x\n".repeat(801), &[]);
    }

    #[test]
    fn tabs_trailing_blanks_and_missing_newlines_are_found() {
        check(white_space, "a.py", "x = 1\n", &[]);
        check(white_space, "a.py", "\tx\ny \nz", &[1, 2, 3]);
        check(white_space, "a.py", "x\n\n", &[2]);
        check(white_space, "Makefile", "all:\n\ttrue\n", &[]);
    }

    #[test]
    fn width_counts_characters_not_bytes() {
        check(width, "a.rs", &format!("{}\n", "µ".repeat(120)), &[]);
        check(width, "a.rs", &format!("{}\n", "x".repeat(121)), &[1]);
    }

    #[test]
    fn unfinished_code_is_found_but_prose_may_speak_of_it() {
        let note = format!("// {}: later\n", concat!("TO", "DO"));
        check(unfinished, "a.rs", &note, &[1]);
        check(unfinished, "STYLE.md", &note, &[]);
    }

    #[test]
    fn homes_and_this_machine_are_private_but_addresses_are_not() {
        let check = |text: &str, lines: &[usize]| {
            let findings = private_places(&File::new("a.md", text), "node17");
            assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), lines, "{text}");
        };
        check(&format!("open {}ann/x\n", concat!("/ho", "me/")), &[1]);
        check("measured on node17\n", &[1]);
        check(&format!("https://example.org{}page\n", concat!("/wo", "rk/")), &[]);
    }
}
