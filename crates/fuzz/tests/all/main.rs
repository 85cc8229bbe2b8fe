//! The first cases, and every scenario that failed once.

use std::{fs, path::Path};

use etherweave_fuzz::{Draw, Limits, Verdict, case, verdict_of};

/// Cases of `make test`.
const CASES: u64 = 500;
/// Cases that are refused to the end, at most: what does not run shows nothing.
const REFUSED_MAX: usize = CASES as usize / 50;

#[test]
fn what_must_hold_holds_for_the_first_cases() {
    let draw = Draw::default();
    let cases: Vec<_> = (0..CASES).map(|seed| (seed, case(&draw, seed, Limits::default()))).collect();
    let is_refused = |verdict: &Verdict| matches!(verdict, Verdict::Refused(_));
    let refused = cases.iter().filter(|(_, case)| is_refused(&case.verdict)).count();
    assert!(refused <= REFUSED_MAX, "{refused} of {CASES}");
    let failed = cases.iter().filter(|(_, case)| case.verdict.has_failed());
    let failed: Vec<_> = failed.map(|(seed, case)| format!("seed {seed}: {:?}\n{}", case.verdict, case.text)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Every file begins with a comment that says what must hold.
#[test]
fn what_failed_once_holds() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/found");
    let mut files: Vec<_> = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# "), "{}: no line that says what must hold", file.display());
        let verdict = verdict_of(&text, Limits::default());
        assert!(!verdict.has_failed(), "{}: {verdict:?}", file.display());
        let is_case = verdict != Verdict::Refused("too large for a case".to_owned());
        assert!(is_case, "{}: {verdict}", file.display());
    }
}
