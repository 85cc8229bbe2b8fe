//! Whether the parts of a scenario fit each other: its run, its jobs, its fabric.

use std::fmt::Display;

use etherweave_primitives::{BitRate, Duration, HostId, Priority};
use etherweave_sim::Job;
use etherweave_sim::params::{self, FlowControl, Misfit, Transport};
use etherweave_topology::Topology;
use etherweave_workload::{Op, Program, Traffic};

use crate::document::Document;
use crate::{Scenario, ScenarioError};

type Checked = Result<(), ScenarioError>;

/// Longest run: with any delay on top, far below the 213 days that a clock of picoseconds counts.
pub(crate) const RUN_MAX: Duration = Duration::from_ms(5_000_000_000);
/// Most iterations that a run records, a row each, over all ranks.
const ROWS_MAX: u64 = 100_000_000;

/// `found; expected …` about `key`, unless it fits.
fn demand(document: &Document<'_>, fits: bool, key: &str, found: impl Display, expected: impl Display) -> Checked {
    if fits { Ok(()) } else { Err(document.error(key, format!("{found}; expected {expected}"))) }
}

/// All that can be said before anything is built.
pub(crate) fn scenario(document: &Document<'_>, scenario: &Scenario) -> Checked {
    let told = |misfit: Misfit| document.error(&misfit.key, format!("{}; expected {}", misfit.found, misfit.expected));
    params::check(&scenario.params()).map_err(told)?;
    check_run(document, scenario)?;
    check_names(document, scenario)?;
    check_priorities(document, scenario)
}

fn check_run(document: &Document<'_>, scenario: &Scenario) -> Checked {
    let run = &scenario.run;
    let end = run.end.unwrap_or(RUN_MAX);
    demand(document, !end.is_zero() && end <= RUN_MAX, "run.end", end, format!("more than 0 and at most {RUN_MAX}"))?;
    demand(document, run.warm_up < end, "run.warm_up", run.warm_up, format!("less than the end of the run, {end}"))?;
    for (number, job) in scenario.job.iter().enumerate() {
        let key = format!("job.{number}.start");
        demand(document, job.start < end, &key, job.start, format!("less than the end of the run, {end}"))?;
        let expected = format!("more than {}, when job.{number} starts: that is waiting, not stuck", job.start);
        demand(document, run.stall_limit > job.start, "run.stall_limit", run.stall_limit, expected)?;
    }
    let timeout = match &scenario.transport {
        Transport::Roce(roce) => roce.retransmission_timeout,
        Transport::Tcp(tcp) => tcp.rto_initial.max(tcp.rto_min),
    };
    let expected = format!("more than a retransmission timeout, {timeout}: that is waiting, not stuck");
    demand(document, run.stall_limit > timeout, "run.stall_limit", run.stall_limit, expected)
}

fn check_names(document: &Document<'_>, scenario: &Scenario) -> Checked {
    let is_background = |number: usize| scenario.job[number].background;
    let expected = "false for one job at least: the run would end before it starts";
    let some_count = (0..scenario.job.len()).any(|number| !is_background(number));
    demand(document, some_count, "job.0.background", true, expected)?;
    for (number, job) in scenario.job.iter().enumerate() {
        let key = format!("job.{number}.name");
        demand(document, !job.name.is_empty(), &key, "empty", "what tables call the job")?;
        let is_new = scenario.job[..number].iter().all(|other| other.name != job.name);
        demand(
            document,
            is_new,
            &key,
            format!("{} twice", job.name),
            "another name for each job: tables know them by it",
        )?;
    }
    Ok(())
}

fn check_priorities(document: &Document<'_>, scenario: &Scenario) -> Checked {
    let lossless = match &scenario.flow_control {
        FlowControl::Pfc(pfc) => pfc.priorities.clone(),
        FlowControl::None {} | FlowControl::GlobalPause(_) => Priority::all().collect(),
    };
    let is_roce = matches!(scenario.transport, Transport::Roce(_));
    for (number, job) in scenario.job.iter().enumerate() {
        let fits = !is_roce || lossless.contains(&job.priority);
        let found = format!("RoCE in priority {}, which loses packets", job.priority.get());
        demand(document, fits, &format!("job.{number}.priority"), found, "a PFC priority")?;
    }
    Ok(())
}

/// What a job must have room for before its schedule is built.
pub(crate) fn ranks(document: &Document<'_>, number: usize, ranks: u64, topology: &Topology) -> Checked {
    let hosts = topology.hosts();
    let key = format!("job.{number}.workload");
    let expected = format!("at most {hosts}, one for each host of the fabric");
    demand(document, ranks <= hosts as u64, &key, format!("{ranks} ranks"), expected)
}

/// What follows from fabric and schedules together.
pub(crate) fn built(document: &Document<'_>, scenario: &Scenario, topology: &Topology, jobs: &[Job]) -> Checked {
    check_rates(document, scenario, topology)?;
    check_streams(document, scenario, jobs)?;
    let mut rows = 0;
    for (number, job) in jobs.iter().enumerate() {
        let Traffic::Ranks(programs) = &job.traffic else { continue };
        check_sleeps(document, scenario, number, programs)?;
        rows += programs.iter().map(Program::iterations).sum::<u64>();
        let key = format!("job.{number}.workload.{}.iterations", scenario.job[number].workload.name());
        let found = format!("{rows} rows over all ranks and jobs so far");
        demand(document, rows <= ROWS_MAX, &key, found, format!("at most {ROWS_MAX}: each is kept"))?;
    }
    Ok(())
}

fn check_rates(document: &Document<'_>, scenario: &Scenario, topology: &Topology) -> Checked {
    let Transport::Roce(roce) = &scenario.transport else { return Ok(()) };
    let Some(dcqcn) = &roce.dcqcn else { return Ok(()) };
    let rate = |host| topology.channel(topology.host_channel(HostId::from_index(host))).rate;
    let line = (0..topology.hosts()).map(rate).min().unwrap_or(BitRate::from_bps(0));
    for (name, rate) in [("rate_min", dcqcn.rate_min), ("rate_step", dcqcn.rate_step)] {
        let key = format!("transport.roce.dcqcn.{name}");
        demand(document, rate <= line, &key, rate, format!("at most the rate of a host's link, {line}"))?;
    }
    Ok(())
}

/// Streams without a number of messages end with the run; nobody else has a warm-up of the run.
fn check_streams(document: &Document<'_>, scenario: &Scenario, jobs: &[Job]) -> Checked {
    let mut has_streams = false;
    for (number, job) in jobs.iter().enumerate() {
        let Traffic::Streams(streams) = &job.traffic else { continue };
        has_streams = true;
        let ends = scenario.run.end.is_some() || job.is_background || streams.iter().all(|one| one.messages.is_some());
        let name = scenario.job[number].workload.name();
        demand(document, ends, "run.end", "none", format!("an end of the run: the streams of {name} have none"))?;
    }
    let warm_up = scenario.run.warm_up;
    let expected = "none without streams: it cannot take effect (the workloads of ranks have a warm_up of their own)";
    demand(document, has_streams || warm_up.is_zero(), "run.warm_up", warm_up, expected)
}

fn check_sleeps(document: &Document<'_>, scenario: &Scenario, number: usize, programs: &[Program]) -> Checked {
    let rest = |op: &Op| match *op {
        Op::Sleep { duration } | Op::Compute { duration } => duration,
        Op::Isend { .. } | Op::Irecv { .. } | Op::WaitAll | Op::IterationStart | Op::IterationEnd => Duration::ZERO,
    };
    let ops = programs.iter().flat_map(|program| &program.blocks).flat_map(|block| &block.ops);
    let longest = ops.map(rest).max().unwrap_or(Duration::ZERO);
    let key = format!("job.{number}.workload.{}", scenario.job[number].workload.name());
    demand(document, longest <= RUN_MAX, &key, format!("a rest of {longest}"), format!("at most {RUN_MAX}"))?;
    let (limit, longest) = (scenario.run.stall_limit, longest + scenario.host.timer_slack);
    let expected = format!("more than {longest}, which job.{number} sleeps: that is waiting, not stuck");
    demand(document, limit > longest, "run.stall_limit", limit, expected)
}
