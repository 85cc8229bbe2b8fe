//! Cases that are texts: rows of `cases.txt`.

/// Rows of a section: lines of a scenario, and its error, if it has one.
pub fn cases(section: &str) -> Vec<(String, Option<String>)> {
    let unescaped = |text: &str| {
        let parts: Vec<String> = text.split(r"\\").map(|part| part.replace(r"\n", "\n")).collect();
        parts.join("\\")
    };
    let mut sections = include_str!("cases.txt").split("\n\n");
    let rows = sections.find_map(|rows| rows.strip_prefix(&format!("# {section}\n")));
    let rows = rows.unwrap_or_else(|| panic!("no section {section}")).lines();
    let row = |row: &'static str| match row.split_once(" => ") {
        Some((lines, expected)) => (unescaped(lines), Some(unescaped(expected))),
        None => (unescaped(row), None),
    };
    rows.map(row).collect()
}

/// Checks that the error of each row of a section begins as expected.
pub fn check(section: &str, error: impl Fn(&str) -> String) {
    for (lines, expected) in cases(section) {
        let (error, expected) = (error(&lines), expected.expect("an error"));
        assert!(error.starts_with(&expected), "{lines}\ngave     {error}\nexpected {expected}");
    }
}
