//! `run.fast_forward`: repetitions of loops, and parts of long messages, that are not simulated.

use std::cmp::Reverse;

use etherweave_primitives::{InputError, params};
use etherweave_sim::{Job, Report, SkipLevel, SkipLimits, SkipRow};
use etherweave_workload::{LoopPlace, Share, Traffic, divide_rounds};

use crate::Scenario;

params! {
    /// Repetitions of loops that are not simulated, since others are like them; where no rank is in a loop, packets of
    /// long messages.
    pub struct FastForwardSpec {
        /// Largest difference between the mean times of batches of repetitions, or the rates of messages, from which on
        /// others are taken to be like them, as a share, 0..=0.1. 0 skips those alone that repeat others exactly.
        /// Default 0.
        pub error: Share = Share::NONE,
        /// Share of the skips within `error` that are simulated in full instead, drawn by `seed`, and compared with
        /// what they would have skipped, 0..=1. Default 0.01.
        pub shadows: Share = Share::percent(1),
    }
}

impl FastForwardSpec {
    pub(crate) fn limits(&self) -> SkipLimits {
        SkipLimits { error: self.error, shadows: self.shadows }
    }
}

const KEY: &str = "run.fast_forward";
const EARLY: &str = "the loop or the messages end before their repetitions are known to repeat";
/// Remedy where repetitions are not exactly alike.
const BY_TIMES: &str = "an `error` skips by mean times";

/// Rejects large errors, what happens at given times and what observes all of the run.
///
/// # Errors
/// The first such key.
pub(crate) fn check(scenario: &Scenario) -> Result<(), InputError> {
    let Some(FastForwardSpec { error, .. }) = scenario.run.fast_forward else { return Ok(()) };
    let is_small = error <= Share::percent(10);
    InputError::unless(is_small, "run.fast_forward.error", error, "at most 0.1, a share such as 0.01 for 1 %")?;
    let notes_ranks = scenario.observe.as_ref().is_some_and(|observe| observe.ranks);
    let expected = "none of `observe.ranks`, --trace and `etherweave explain`, whose notes would lack what is skipped; \
                    `--set run.fast_forward=` skips nothing";
    InputError::unless(!notes_ranks, KEY, "with notes of ranks", expected)?;
    let expected = "no `observe`: series would lack what is skipped";
    InputError::unless(scenario.observe.is_none(), KEY, "with observe", expected)?;
    let expected = "no `faults`, which happen at given times of the run";
    InputError::unless(scenario.faults.is_default(), KEY, "with faults", expected)
}

/// Makes rounds of collectives loops, of which repetitions may be skipped.
pub(crate) fn find_rounds(scenario: &Scenario, jobs: &mut [Job]) {
    let jobs = jobs.iter_mut().filter(|_| scenario.run.fast_forward.is_some());
    for job in jobs {
        if let Traffic::Ranks(programs) = &mut job.traffic {
            divide_rounds(programs);
        }
    }
}

/// Rejects captures, and jobs without long loops whose messages cannot be shortened.
///
/// # Errors
/// When there is nothing that could be skipped, or all of it is to be written.
pub(crate) fn check_built(scenario: &Scenario, jobs: &[Job], has_capture: bool) -> Result<(), InputError> {
    if scenario.run.fast_forward.is_none() {
        return Ok(());
    }
    let expected = "no --pcap: frames that are skipped cannot be written";
    InputError::unless(!has_capture, KEY, "with --pcap", expected)?;
    let loops = jobs.iter().filter_map(|job| Some((longest_loop(&job.traffic)?, &job.name)));
    let longest = loops.min_by_key(|&((repetitions, _), _)| Reverse(repetitions));
    let is_long = longest.is_some_and(|((repetitions, _), _)| repetitions >= LoopPlace::TIMES_MIN);
    let value = longest.map_or("without a job of ranks".to_owned(), |((repetitions, rank), name)| {
        format!("with a longest loop of {repetitions} repetitions, of rank {rank} of job {name}")
    });
    let times = LoopPlace::TIMES_MIN;
    let expected = format!("a job of ranks whose loop has {times} repetitions or more, or messages of NICs in packets");
    InputError::unless(is_long || has_messages(scenario, jobs), KEY, value, expected)
}

/// Whether NICs send messages of a job, and all jobs are simulated in packets.
fn has_messages(scenario: &Scenario, jobs: &[Job]) -> bool {
    let params = scenario.params();
    let is_in_packets = |job: &Job| job.fidelity.unwrap_or(params.fidelity).is_packet();
    jobs.iter().all(is_in_packets) && jobs.iter().any(|job| !params.transport_of(job.transport).is_in_kernel())
}

/// Repetitions of the longest loop of a job, and its first rank that has it.
fn longest_loop(traffic: &Traffic) -> Option<(u32, usize)> {
    match traffic {
        Traffic::Ranks(programs) => {
            let loops = programs.iter().enumerate().map(|(rank, program)| (program.repetitions_max(), rank));
            loops.min_by_key(|&(repetitions, _)| Reverse(repetitions))
        }
        Traffic::Graphs { iterations, .. } => Some((*iterations, 0)),
        Traffic::Streams(_) => None,
    }
}

/// Shares of a run that were not simulated; zeros where it skipped nothing.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Skipped {
    /// Share of the simulated time.
    pub time_share: f64,
    /// Share of the events.
    pub events_share: f64,
    /// Repetitions of loops.
    pub repetitions: u64,
    /// Packets of the longest messages where messages were shortened.
    pub message_packets: u64,
    /// Largest difference between the time of repetitions that stand for others and its expectation, as a share.
    pub error_share: f64,
    /// Bound of the error of the end of the run, as a share, where skipped repetitions take no more and no less time
    /// than batches of those that were compared.
    pub bound_share: f64,
}

impl Skipped {
    /// Names of the parts that were skipped, with their numbers.
    fn parts(&self) -> String {
        let Skipped { repetitions, message_packets, .. } = self;
        let loops = (*repetitions > 0).then(|| format!("{repetitions} repetitions"));
        let messages = (*message_packets > 0).then(|| format!("{message_packets} packets of the longest messages"));
        loops.into_iter().chain(messages).collect::<Vec<_>>().join(" and ")
    }

    /// Sums over skips, where a scenario allows them.
    pub(crate) fn of(scenario: &Scenario, report: &Report) -> Option<Skipped> {
        scenario.run.fast_forward.as_ref()?;
        let skips = || report.skips.iter().filter(|row| row.is_simulated == 0);
        // A sum of no numbers with a fraction is -0.
        let time = |weight: fn(&SkipRow) -> f64| {
            let sum = skips().fold(0.0, |sum, row| sum + weight(row) * row.until.since(row.from).as_ns_f64());
            sum / report.totals.end.as_ns_f64().max(1.0)
        };
        let events: u64 = skips().map(|row| row.events).sum();
        let repetitions =
            |of_messages: u64| skips().filter(|row| row.is_of_messages == of_messages).map(|row| row.repetitions).sum();
        Some(Skipped {
            time_share: time(|_| 1.0),
            events_share: events as f64 / report.totals.events.max(1) as f64,
            repetitions: repetitions(0),
            message_packets: repetitions(1),
            error_share: skips().map(|row| row.error).fold(0.0, f64::max),
            bound_share: time(|row| row.bound),
        })
    }
}

/// Share of the run that was skipped, or the reason why nothing was.
pub(crate) fn warning(scenario: &Scenario, report: &Report) -> Option<String> {
    let allowed = 100.0 * f64::from(scenario.run.fast_forward.as_ref()?.error);
    let (shadows, skips): (Vec<&SkipRow>, Vec<&SkipRow>) = report.skips.iter().partition(|row| row.is_simulated == 1);
    let worst = shadows.iter().map(|row| row.error).fold(0.0, f64::max);
    let checked = match shadows.len() {
        0 => String::new(),
        _ => {
            let repetitions: u64 = shadows.iter().map(|row| row.repetitions).sum();
            format!("; the time of {repetitions} more, simulated in full, was predicted within {:.2} %", 100.0 * worst)
        }
    };
    if skips.is_empty() {
        let reason = match report.skip_obstacle.as_deref() {
            _ if !shadows.is_empty() => "run.fast_forward.shadows has all that could be skipped simulated".to_owned(),
            None if allowed == 0.0 => format!("{EARLY}; {BY_TIMES}"),
            None => format!("{EARLY}; more repetitions, or a larger `error`, may allow a skip"),
            Some(key) if !key.contains(' ') => format!("{key} has states that never repeat exactly; {BY_TIMES}"),
            Some(obstacle) => obstacle.to_owned(),
        };
        return Some(format!("{KEY}: nothing was skipped: {reason}{checked}"));
    }
    let skipped = Skipped::of(scenario, report)?;
    let Skipped { time_share, events_share, error_share, bound_share, .. } = skipped;
    let [time, events, error, bound] = [time_share, events_share, error_share, bound_share].map(|share| 100.0 * share);
    let repeats = skips.iter().all(|row| row.level == SkipLevel::Repeated);
    let how = if repeats {
        "repeat others".to_owned()
    } else {
        format!(
            "differ from others by {error:.2} % where compared: the end is off by at most {bound:.2} % where they keep \
             within the times of those; drift and other jobs may add {allowed:.2} % each"
        )
    };
    Some(format!(
        "{KEY}: {time:.1} % of the time and {events:.1} % of the events are those of {} that were not simulated and \
         {how}{checked}: table skips",
        skipped.parts()
    ))
}
