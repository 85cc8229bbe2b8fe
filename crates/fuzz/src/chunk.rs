//! The cases of one process.

use std::{fs, path::Path, sync::atomic::AtomicU64, sync::atomic::Ordering, time::Duration};

use etherweave_fuzz::{Draw, Failure, Limits, Verdict, case, shrink};

use crate::Range;

/// Real time for a case and for making it smaller: far more than any takes, so that a busy machine does not matter.
const PATIENCE: Duration = Duration::from_secs(900);
/// Scenarios that are run to make one smaller, at most.
const TRIES: usize = 400;
/// Failures of a class that are made smaller and written, at most.
const FILES_MAX: usize = 3;

static SEED: AtomicU64 = AtomicU64::new(0);

/// Prints a line for each seed: what came of it.
pub(crate) fn run(range: &Range) {
    let draw = Draw::default();
    SEED.store(range.from, Ordering::Relaxed);
    std::thread::spawn(watch);
    for seed in range.from..range.from + range.count {
        SEED.store(seed, Ordering::Relaxed);
        let case = case(&draw, seed, Limits::default());
        if let Verdict::Failed(failure) = &case.verdict {
            report(seed, &case.text, failure, &range.out);
        }
        println!("{}", case.verdict);
    }
}

/// Ends the process when a case does not end.
fn watch() {
    loop {
        let seed = SEED.load(Ordering::Relaxed);
        std::thread::sleep(PATIENCE);
        if SEED.load(Ordering::Relaxed) == seed {
            eprintln!("seed {seed}: no end after {} s", PATIENCE.as_secs());
            std::process::exit(1);
        }
    }
}

/// Writes the smallest scenario that fails likewise, unless there are enough of its class.
fn report(seed: u64, text: &str, failure: &Failure, out: &Path) {
    eprintln!("seed {seed}: {}: {}", failure.class, failure.detail);
    let name: String = failure.class.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let same = fs::read_dir(out).into_iter().flatten().flatten();
    let same = same.filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("{name}.")));
    if same.count() >= FILES_MAX {
        return;
    }
    let file = out.join(format!("{name}.{seed}.toml"));
    let write = |text: &str| fs::write(&file, format!("# {}: {}\n{text}", failure.class, line(&failure.detail)));
    // First as it was drawn: to make it smaller takes a while.
    let written = write(text).and_then(|()| write(&shrink(text, failure, Limits::default(), TRIES)));
    if let Err(error) = written {
        eprintln!("{}: {error}", file.display());
    }
}

fn line(text: &str) -> String {
    text.replace('\n', " ")
}
