//! Many cases, in processes side by side, and the counts of all.

use std::{
    collections::BTreeMap, io::BufRead, io::BufReader, process::Command, process::Stdio, sync::Mutex,
    sync::atomic::AtomicU64, sync::atomic::Ordering,
};

use crate::Range;

/// Cases of a process.
const CHUNK: u64 = 100;
/// Cases between two lines of progress.
const PROGRESS: u64 = 1_000;

type Counts = BTreeMap<String, u64>;

/// Prints the counts of all cases of a range; returns how many fail.
pub(crate) fn run(range: &Range) -> u64 {
    if let Err(error) = std::fs::create_dir_all(&range.out) {
        eprintln!("{}: {error}", range.out.display());
        return 1;
    }
    let (next, counts) = (AtomicU64::new(range.from), Mutex::new(Counts::new()));
    let end = range.from + range.count;
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(CHUNK, Ordering::Relaxed);
                    if from >= end {
                        break;
                    }
                    let part = Range { from, count: CHUNK.min(end - from), out: range.out.clone() };
                    chunk(&part, &mut |verdict| count(&counts, verdict, range.count));
                }
            });
        }
    });
    let counts = counts.into_inner().expect("nothing panics while it counts");
    for (verdict, count) in &counts {
        println!("{count:8} {verdict}");
    }
    let failed = all(&counts, "failed");
    println!("{:8} cases from seed {}: {}", range.count, range.from, shares(&counts));
    failed
}

/// One more of a verdict, and a line of progress now and then.
fn count(counts: &Mutex<Counts>, verdict: String, cases: u64) {
    let mut counts = counts.lock().expect("nothing panics while it counts");
    *counts.entry(verdict).or_default() += 1;
    let done: u64 = counts.values().sum();
    if done.is_multiple_of(PROGRESS) {
        eprintln!("{done} of {cases} cases: {}", shares(&counts));
    }
}

fn shares(counts: &Counts) -> String {
    let [ran, refused, failed] = ["ran", "refused", "failed"].map(|kind| all(counts, kind));
    format!("{ran} ran, {refused} refused, {failed} failed")
}

fn all(counts: &Counts, kind: &str) -> u64 {
    counts.iter().filter(|(verdict, _)| verdict.starts_with(kind)).map(|(_, count)| count).sum()
}

/// Runs a range in a process of its own, and the seeds behind one that ends it in another.
fn chunk(range: &Range, count: &mut dyn FnMut(String)) {
    let (mut from, end) = (range.from, range.from + range.count);
    while from < end {
        let program = std::env::current_exe().expect("a process knows its program");
        let mut command = Command::new(program);
        command.args(["--chunk", "--from", &from.to_string(), "--count", &(end - from).to_string(), "--out"]);
        let mut child = command.arg(&range.out).stdout(Stdio::piped()).spawn().expect("the program starts again");
        let lines = BufReader::new(child.stdout.take().expect("standard output is a pipe")).lines();
        for line in lines.map_while(Result::ok) {
            count(line);
            from += 1;
        }
        let status = child.wait().expect("a process ends");
        if from < end {
            eprintln!("seed {from}: {status}");
            count(format!("failed: {status}"));
            from += 1;
        }
    }
}
