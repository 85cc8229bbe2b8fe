//! Rules for documents: links lead somewhere, model pages say what they leave out, the map shows every room.

use crate::{File, Finding, Repository};

/// Sections that end a page of a model, in this order.
const MODEL_SECTIONS: [&str; 3] = ["Not modelled", "Sources", "Tests"];

/// Sentences of the paragraph that opens a page of a model, a line each.
const SENTENCES_MAX: usize = 2;

/// Pages beside those of models: tables of statements, each with the command that shows it.
const STATEMENTS: &str = "docs/models/sources/";

/// A page of a model begins with a run, has a table, and ends with what it leaves out, its sources and its tests.
pub fn model_form(file: &File) -> Vec<Finding> {
    let is_index = file.path.ends_with("/README.md") || file.path.starts_with(STATEMENTS);
    if !file.path.starts_with("docs/models/") || file.extension() != "md" || is_index {
        return Vec::new();
    }
    let head = file.text.split("\n## ").next().unwrap_or_default();
    let headings: Vec<&str> = headings(&file.text).collect();
    let opening = file.text.split("\n\n").nth(1).unwrap_or_default();
    let opens = opening.lines().count() <= SENTENCES_MAX && !opening.starts_with("Code:");
    let parts = [
        (opens, "two sentences at most that say what the model is"),
        (head.contains("\n```console\n$ "), "a run with its output before the first section"),
        (file.text.contains("\n|---"), "a table"),
        (headings.ends_with(&MODEL_SECTIONS), "the end: the sections *Not modelled*, *Sources*, *Tests*"),
    ];
    let missing = parts.iter().filter(|(has, _)| !has);
    missing.map(|(_, part)| file.finding(1, format!("a page of a model lacks {part}"))).collect()
}

/// Guides whose commands need several machines, or a browser.
const GUIDES_WITHOUT_RUN: [&str; 2] = ["docs/guide/cluster.md", "docs/guide/explore.md"];

/// A guide or tutorial shows commands or Python that tests carry out, with what they print.
pub fn guide_form(file: &File) -> Vec<Finding> {
    let is_guide = ["docs/guide/", "docs/tutorials/"].iter().any(|folder| file.path.starts_with(folder));
    let has_run = ["\n```console\n$ ", "\n```python\n"].iter().any(|block| file.text.contains(block));
    if !is_guide || file.extension() != "md" || has_run || GUIDES_WITHOUT_RUN.contains(&file.path.as_str()) {
        return Vec::new();
    }
    vec![file.finding(1, "a guide lacks a run with its output")]
}

/// A relative link leads to a file or folder of the repository, and its anchor to a heading there.
pub fn links(file: &File, repository: &Repository) -> Vec<Finding> {
    if file.extension() != "md" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in prose(&file.text) {
        for target in targets(line).filter(|target| is_relative(target)) {
            if !leads_somewhere(target, file, repository) {
                findings.push(file.finding(number, format!("the link `{target}` leads nowhere")));
            }
        }
    }
    findings
}

fn leads_somewhere(target: &str, from: &File, repository: &Repository) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { from.path.clone() } else { resolve(&from.path, path) };
    let folder = format!("{path}/");
    let exists = path.is_empty() || repository.paths().iter().any(|known| *known == path || known.starts_with(&folder));
    exists && (anchor.is_empty() || headings(&repository.file(&path).text).any(|heading| slug(heading) == anchor))
}

/// Words of a paragraph: five lines on the page.
const PARAGRAPH_WORDS_MAX: usize = 90;

/// A paragraph, or an item of a list, has at most [`PARAGRAPH_WORDS_MAX`] words: in guides, tutorials and pages of
/// models.
pub fn paragraphs(file: &File) -> Vec<Finding> {
    let is_page = ["docs/guide/", "docs/tutorials/", "docs/models/"].iter().any(|folder| file.path.starts_with(folder));
    if !is_page || file.extension() != "md" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut paragraph = (0, 0);
    let lines = prose(&file.text).map(|(number, line)| (number, line.trim()));
    for (number, line) in lines.chain([(usize::MAX, "")]) {
        let is_break = line.is_empty() || line.starts_with(['|', '#', '!', '>']);
        let is_adjacent = number == paragraph.0 + 1;
        if is_break || begins_item(line) || !is_adjacent {
            paragraph.1 = 0;
        }
        if is_break {
            continue;
        }
        let before = paragraph.1;
        paragraph = (number, before + line.split_whitespace().count());
        if before <= PARAGRAPH_WORDS_MAX && paragraph.1 > PARAGRAPH_WORDS_MAX {
            findings.push(file.finding(number, format!("a paragraph of more than {PARAGRAPH_WORDS_MAX} words")));
        }
    }
    findings
}

/// Whether a line begins an item of a list.
fn begins_item(line: &str) -> bool {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    line.starts_with("- ") || line.starts_with("* ") || rest.len() < line.len() && rest.starts_with(". ")
}

/// Where a link points, from the root.
fn resolve(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

fn is_relative(target: &str) -> bool {
    !target.contains("://") && !target.starts_with("mailto:")
}

fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())
}

/// Headings without their marks.
pub fn headings(text: &str) -> impl Iterator<Item = &str> {
    prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| line.trim_start_matches('#').trim())
}

/// Numbered lines outside of fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// The anchor that GitHub gives to a heading.
fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_a_model_has_the_form_of_all() {
        let check = |text: &str, missing: usize| {
            assert_eq!(model_form(&File::new("docs/models/link.md", text)).len(), missing, "{text}");
        };
        let run = "# Link\n\nA link.\n\n```console\n$ true\n```\n";
        let table = "|key|\n|---|\n";
        let end = "## Not modelled\n## Sources\n## Tests\n";
        check(&format!("{run}{table}{end}"), 0);
        check(&format!("{run}{end}"), 1);
        check(&format!("{table}{end}## Errors\n"), 2);
        check(&format!("# Link\n\nA\nlink\nand more.\n{run}{table}{end}"), 1);
        check(&format!("# Link\n{table}## Equations\n{run}{end}"), 1);
        check("# Link\n```\n## Not modelled\n## Sources\n## Tests\n```\n", 3);
    }

    #[test]
    fn a_guide_shows_a_run() {
        let check = |path: &str, text: &str, missing: usize| {
            assert_eq!(guide_form(&File::new(path, text)).len(), missing, "{path}: {text}");
        };
        check("docs/guide/run.md", "# Run\n```console\n$ true\n```\n", 0);
        check("docs/tutorials/run.md", "# Run\n```python\n>>> 1\n1\n```\n", 0);
        check("docs/guide/run.md", "# Run\n```\netherweave run\n```\n", 1);
        check(GUIDES_WITHOUT_RUN[0], "# Cluster\n", 0);
    }

    #[test]
    fn a_paragraph_of_a_guide_ends_after_five_lines() {
        let check = |path: &str, text: String, lines: &[usize]| {
            let places: Vec<usize> = paragraphs(&File::new(path, &text)).iter().map(|finding| finding.line).collect();
            assert_eq!(places, lines, "{path}: {text}");
        };
        let words = |count: usize| "word ".repeat(count) + "\n";
        check("docs/guide/a.md", words(90), &[]);
        check("docs/guide/a.md", words(91), &[1]);
        check("docs/guide/a.md", words(50) + &words(50), &[2]);
        check("docs/guide/a.md", words(50) + "\n" + &words(50), &[]);
        check("docs/guide/a.md", words(50) + "- " + &words(50) + "```\n" + &words(99) + "```\n" + &words(50), &[]);
        check("docs/models/a.md", words(91), &[1]);
        check("docs/decisions/a.md", words(91), &[]);
    }

    #[test]
    fn links_resolve_from_their_own_folder() {
        assert_eq!(resolve("docs/models/link.md", "../glossary.md"), "docs/glossary.md");
        assert_eq!(resolve("README.md", "./docs/"), "docs");
        assert_eq!(targets("see [a](b.md) and ![c](d.png \"e\")").collect::<Vec<_>>(), ["b.md", "d.png"]);
    }

    #[test]
    fn anchors_are_spelt_as_github_spells_them() {
        assert_eq!(slug("What it models, and what not"), "what-it-models-and-what-not");
    }
}
