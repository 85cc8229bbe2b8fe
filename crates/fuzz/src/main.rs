//! `etherweave-fuzz`: cases seed by seed, on all processors; see `--help`.
//!
//! Every hundred cases are a process of their own, so that a case that ends its process, or does not end, is known by
//! its seed and leaves the others alone.

mod chunk;
mod many;

use std::{path::Path, path::PathBuf, process::ExitCode};

use etherweave_fuzz::{Draw, Limits, case, verdict_of};

const HELP: &str = "\
Draw random scenarios, run each on one, two and three threads, and report what must hold and does not.

  etherweave-fuzz [--from SEED] [--count CASES] [--out DIRECTORY]
      Print counts of what came of the cases. The smallest scenarios that fail are written to DIRECTORY.
  etherweave-fuzz --show SEED
      Print the scenario of a case, and what came of it.
  etherweave-fuzz FILE...
      Check scenarios that exist.
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let request = match Request::of(&words) {
        Ok(request) => request,
        Err(message) => {
            eprintln!("etherweave-fuzz: {message}");
            return ExitCode::from(2);
        }
    };
    match request {
        Request::Help => print!("{HELP}"),
        Request::Files(files) => return ExitCode::from(u8::from(!files.iter().all(|file| replay(file)))),
        Request::Show(seed) => show(seed),
        Request::Chunk(range) => chunk::run(&range),
        Request::Many(range) => return ExitCode::from(u8::from(many::run(&range) > 0)),
    }
    ExitCode::SUCCESS
}

/// Seeds, and where what fails is written.
pub(crate) struct Range {
    from: u64,
    count: u64,
    out: PathBuf,
}

enum Request {
    Help,
    Files(Vec<String>),
    Show(u64),
    /// Cases in this process, a line for each.
    Chunk(Range),
    /// Cases in many processes.
    Many(Range),
}

impl Request {
    fn of(words: &[String]) -> Result<Request, String> {
        let mut range = Range { from: 0, count: 100_000, out: PathBuf::from("target/found") };
        let (mut files, mut is_chunk) = (Vec::new(), false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word}: nothing; expected a value"));
            let number = |text: &String| text.parse().map_err(|_| format!("{word}: {text}; expected a whole number"));
            match word.as_str() {
                "--help" => return Ok(Request::Help),
                "--show" => return Ok(Request::Show(number(value()?)?)),
                "--from" => range.from = number(value()?)?,
                "--count" => range.count = number(value()?)?,
                "--out" => range.out = PathBuf::from(value()?),
                "--chunk" => is_chunk = true,
                file => files.push(file.to_owned()),
            }
        }
        Ok(match (files.is_empty(), is_chunk) {
            (false, _) => Request::Files(files),
            (true, true) => Request::Chunk(range),
            (true, false) => Request::Many(range),
        })
    }
}

fn show(seed: u64) {
    let case = case(&Draw::default(), seed, Limits::default());
    println!("# {}\n{}", case.verdict, case.text);
}

/// Checks a file, and prints what came of it; returns whether nothing fails.
fn replay(file: &str) -> bool {
    let Ok(text) = std::fs::read_to_string(Path::new(file)) else {
        eprintln!("{file}: no file; expected a scenario");
        return false;
    };
    let verdict = verdict_of(&text, Limits::default());
    println!("{file}: {verdict}");
    !verdict.has_failed()
}
