//! Run of a scenario, from its text to tables.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock};
use std::{io::Write, time::Duration as WallTime, time::Instant};

use etherweave_kernel::{Processes, Worker};
use etherweave_primitives::{Bytes, ChannelId, InputError, InputErrors, Time, caught};
use etherweave_sim::{Experiment, Finish, Observed, Paths, Progress, Simulation, WaitRow};
use etherweave_topology::Topology;

use crate::result::outcome::{SentCounts, Summary, Windows, finished, warnings};
use crate::scenario::{Scenario, experiment, port_named, read};
use crate::{
    Estimate, Outcome, ScenarioError, Skipped, check, check::RUN_MAX, forecast::estimate,
    forecast::memory::MemoryLimit, parts::faults, parts::host_ports::generate, parts::nodes, parts::prototypes,
    parts::prototypes::Prototypes, parts::routing::pause_warning, parts::warm_up, result::flow_rows::FlowRows,
    result::flow_rows::GROUP, result::tables::late_tables, result::tables::tables,
};

/// A simulation that has been built and not yet run.
pub struct Run {
    scenario: Scenario,
    estimate: Estimate,
    topology: Topology,
    simulation: Simulation,
    /// Experiment that is run a second time to divide waits by ports, if it is.
    again: Option<Box<Experiment>>,
    /// Whether its packets leave minimal paths only where ports are paused.
    goes_by_pauses_alone: bool,
    snap_length: Option<u32>,
    setup: WallTime,
    pub(crate) flow_rows: Option<Arc<Mutex<FlowRows>>>,
}

/// Resources that a run takes from the machine, and hosts that it captures.
#[derive(Clone, Copy, Default, Debug)]
pub struct RunOptions<'a> {
    /// Threads, at most; 0 is 1.
    pub threads: usize,
    /// Hosts whose ports are captured, by name.
    pub capture: &'a [String],
    /// Most memory, such as "4GiB". Absent: what is available.
    pub memory_limit: Option<&'a str>,
    /// Most that is kept of a captured frame, such as "128B". Absent: the whole frame.
    pub snap_length: Option<&'a str>,
    /// Place of this process among several; they use one thread each.
    pub process: Worker,
    /// Prototypes of the caller; a run that has any has one thread.
    pub prototypes: Option<&'a Prototypes>,
}

impl Run {
    /// Reads, checks and builds a scenario for at most `threads` threads; `capture` names hosts.
    ///
    /// # Errors
    /// Every independent mistake in the scenario, or that its run needs more memory than is available.
    pub fn start(
        text: &str,
        origin: &str,
        overrides: &[(String, String)],
        threads: usize,
        capture: &[String],
    ) -> Result<Run, ScenarioError> {
        Run::start_with(text, origin, overrides, RunOptions { threads, capture, ..RunOptions::default() })
    }

    /// Starts a run as [`Run::start`] does, within a given bound of memory.
    ///
    /// # Errors
    /// As [`Run::start`].
    pub fn start_with(
        text: &str,
        origin: &str,
        overrides: &[(String, String)],
        options: RunOptions<'_>,
    ) -> Result<Run, ScenarioError> {
        let started = Instant::now();
        let (document, mut scenario) = read(text, origin, overrides)?;
        let notes = prototypes::bring(&mut scenario, &options).map_err(|error| document.locate(error))?;
        let threads = if notes.is_empty() { options.threads.max(1) } else { 1 };
        let limit = MemoryLimit::of(options.memory_limit).map_err(|error| document.elsewhere(error))?;
        let snap_length = snap_length(options.snap_length).map_err(|error| document.elsewhere(error))?;
        let topology = generate(&scenario).map_err(|error| document.locate(error))?;
        // A mistake in a job is reported with the others, when it is built.
        let known = estimate::of_sound_jobs(&scenario, &topology, options.capture.len(), snap_length);
        let (mut estimate, _) = known.map_err(|error| document.locate(error))?;
        estimate.check(&limit).map_err(|error| document.locate(error))?;
        let experiment = experiment(&document, &scenario, topology, options.capture)?;
        let again = again(&scenario, &experiment, options.process).map_err(|error| document.locate(error))?;
        let run_warnings = check::warnings(&scenario, &experiment.topology);
        let placement_warnings = nodes::placement_warnings(&scenario, &experiment.jobs);
        let warm_up_warnings = warm_up::warnings(&scenario, &experiment.jobs);
        let goes_by_pauses_alone = match &experiment.paths {
            Paths::PerFlow { .. } => false,
            Paths::PerPacket(prepared) => prepared.goes_by_pauses_alone(),
        };
        let topology = experiment.topology.clone();
        let simulation = Simulation::build_for(options.process, Cow::Owned(experiment), threads);
        let mut simulation = simulation.map_err(|error| document.locate(error))?;
        let flow_rows = Arc::new(Mutex::new(FlowRows::new(GROUP, scenario.lossless_transport().name())));
        let flow_rows = simulation.write_flows(FlowRows::writer(&flow_rows)).then_some(flow_rows);
        estimate.warnings.extend([notes, run_warnings, placement_warnings, warm_up_warnings].concat());
        let setup = started.elapsed();
        Ok(Run { scenario, estimate, topology, simulation, again, goes_by_pauses_alone, snap_length, setup, flow_rows })
    }

    /// Returns the estimate of what it needs.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// When the run ends at the latest.
    pub fn end(&self) -> Option<Time> {
        self.scenario.run.end.map(|span| Time::ZERO + span)
    }

    /// Whether this process simulates a captured host.
    ///
    /// # Panics
    /// When there is no such host.
    pub fn has_capture(&self, host: &str) -> bool {
        self.simulation.has_capture(self.port(host))
    }

    /// Writes the frames of a captured host of this process as pcapng while the run goes on.
    ///
    /// # Errors
    /// When `out` fails.
    ///
    /// # Panics
    /// When the host was not to be captured, or another process simulates it.
    pub fn capture_to(&mut self, host: &str, out: impl Write + Send + 'static) -> std::io::Result<()> {
        self.simulation.capture_to(self.port(host), Box::new(out), self.snap_length)
    }

    fn port(&self, name: &str) -> ChannelId {
        port_named(&self.topology, name).expect("captured ports exist")
    }

    /// Runs to the end; `on_progress` is called from time to time and returns whether to continue. Beside the outcome:
    /// whether all captured frames have been written.
    pub fn finish(self, on_progress: &mut dyn FnMut(Progress) -> bool) -> (Outcome, std::io::Result<()>) {
        self.finish_on(&Processes::ALONE, on_progress)
    }

    /// The same on several processes, each of which calls this: the outcome of all on the first, one without rows on
    /// the others.
    pub fn finish_on(
        mut self,
        processes: &Processes,
        on_progress: &mut dyn FnMut(Progress) -> bool,
    ) -> (Outcome, std::io::Result<()>) {
        let started = Instant::now();
        let end = self.end().unwrap_or(Time::ZERO + RUN_MAX);
        self.simulation.expect_packets(self.estimate.packets);
        let flow_rows = self.flow_rows.take();
        let finish = {
            let has_failed = || flow_rows.as_ref().is_some_and(|rows| rows.lock().expect("it is sound").has_failed());
            let may_continue = &mut |progress| !has_failed() && on_progress(progress);
            if processes.are_several() {
                // A panic of one process ends all.
                Ok(self.simulation.run_on(processes, end, may_continue))
            } else {
                if self.simulation.threads() > 1 {
                    self.simulation.keep_window_times(nanoseconds);
                }
                caught(|| self.simulation.run(end, may_continue))
            }
        };
        if finish.is_err() {
            self.simulation.end_where_it_is();
        }
        let wall = started.elapsed();
        let captured = self.simulation.end_captures();
        let failures = processes.share(captured.as_ref().err().map(ToString::to_string));
        let other = failures.into_iter().flatten().next().map_or(Ok(()), |error| Err(std::io::Error::other(error)));
        let captured = captured.and(other);
        let (threads, windows) = (self.simulation.threads(), Windows::of(&self.simulation));
        let mut report = self.simulation.last_report_on(processes);
        let is_whole = finish.as_ref().is_ok_and(|finish| *finish != Finish::Interrupted);
        let (finished, stuck_report) = finish.as_ref().map_or(("fault", None), finished);
        let mut sent = SentCounts::of(self.scenario.lossless_transport().name());
        sent.add(&report.flows);
        let mut flow_tables = Ok(Vec::new());
        if let Some(rows) = flow_rows.and_then(Arc::into_inner).and_then(|rows| rows.into_inner().ok()) {
            sent = rows.sent();
            flow_tables = rows.end(&mut report, &self.topology);
        }
        let (flow_tables, written) = flow_tables.map_or_else(|error| (Vec::new(), Err(error)), |all| (all, Ok(())));
        let totals = &report.totals;
        let unpaused = self.goes_by_pauses_alone.then(|| pause_warning(self.scenario.routing, &report.ports)).flatten();
        let warmed_up = warm_up::warnings_after(&self.scenario, &report, &self.estimate.warnings);
        let summary = Summary {
            name: self.scenario.name.clone(),
            seed: self.scenario.seed,
            version: env!("CARGO_PKG_VERSION"),
            finished,
            stuck_report,
            fault: finish.err(),
            end_ns: totals.end.as_ns_f64(),
            wall_s: wall.as_secs_f64(),
            setup_s: self.setup.as_secs_f64(),
            events: totals.events,
            packet_hops: totals.packet_hops,
            packets_created: totals.created,
            packets_delivered: totals.delivered,
            packets_dropped: totals.dropped,
            packets_damaged: totals.damaged,
            packets_lost: totals.lost,
            packets_in_flight: totals.in_flight,
            packets_max: totals.packets_max,
            memory_bytes_estimated: self.estimate.memory_bytes,
            fingerprint: report.fingerprint.map(Into::into),
            threads,
            windows,
            skipped: Skipped::of(&self.scenario, &report),
            warnings: [
                self.estimate.warnings,
                warnings(&self.scenario, &report, &sent),
                unpaused.into_iter().collect(),
                faults::warnings_after(&self.scenario, totals.end).collect(),
                warmed_up,
            ]
            .concat(),
        };
        let observed = self.again.as_deref().zip(report.observed.as_ref()).filter(|_| is_whole);
        let waits = observed.map(|(again, observed)| waits(again, observed, end, on_progress));
        let mut tables = tables(&self.scenario, &report, waits.as_deref(), &self.topology);
        let mut late = late_tables(report.observed, &report.jobs, &self.topology);
        if !flow_tables.is_empty() {
            tables.retain(|table| flow_tables.iter().all(|late| late.name != table.name));
        }
        late.extend(flow_tables);
        (Outcome { tables, late, resolved: self.scenario.resolved(), summary }, captured.and(written))
    }
}

/// Real time since the first call [ns].
fn nanoseconds() -> u64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// The experiment that is run a second time, where waits are divided by ports: nothing else is observed.
fn again(
    scenario: &Scenario,
    experiment: &Experiment,
    process: Worker,
) -> Result<Option<Box<Experiment>>, InputErrors> {
    let has_waits = scenario.observe.as_ref().is_some_and(|observe| observe.waits);
    InputError::unless(
        !has_waits || process.of == 1,
        "observe.waits",
        true,
        "false where a run has several processes",
    )?;
    let (capture, sampling) = (Vec::new(), None);
    let again = || Experiment { capture, sampling, observes_ranks: false, fingerprint: false, ..experiment.clone() };
    Ok(has_waits.then(|| Box::new(again())))
}

/// Runs an experiment again until `end`, and divides by ports what messages of the first run have waited.
fn waits(
    again: &Experiment,
    observed: &Observed,
    end: Time,
    on_progress: &mut dyn FnMut(Progress) -> bool,
) -> Vec<WaitRow> {
    let mut simulation = Simulation::build(again, 1).expect("it was built before");
    simulation.trace(&observed.messages);
    simulation.run(end, on_progress);
    simulation.waits(&observed.messages)
}

/// A snap length as a user gives it ("128B"), in the four octets that a capture file has for it.
fn snap_length(text: Option<&str>) -> Result<Option<u32>, InputError> {
    let Some(text) = text else { return Ok(None) };
    let bytes: Bytes = text.parse().map_err(|error: InputError| error.within("--snap-length"))?;
    let length = u32::try_from(bytes.get()).ok().filter(|&length| length > 0);
    let expected = format!("1B to {}B", u32::MAX);
    length.map(Some).ok_or_else(|| InputError::new("--snap-length", bytes, expected))
}
