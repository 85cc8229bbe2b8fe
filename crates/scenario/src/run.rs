//! From text to tables.

use std::io::Write;
use std::time::{Duration as WallTime, Instant};

use etherweave_primitives::Time;
use etherweave_sim::frame::pcapng;
use etherweave_sim::params::SimParams;
use etherweave_sim::{Progress, Simulation};
use etherweave_topology::Topology;

use crate::check::RUN_MAX;
use crate::outcome::{Summary, finished, warnings};
use crate::scenario::{Scenario, experiment, read};
use crate::tables::tables;
use crate::{Outcome, ScenarioError};

/// A simulation that has been built and not yet run.
pub struct Run {
    scenario: Scenario,
    topology: Topology,
    simulation: Simulation,
    setup: WallTime,
}

/// The frames of a captured host.
pub struct HostCapture {
    /// Its name.
    pub host: String,
    params: SimParams,
    frames: etherweave_sim::Capture,
}

impl HostCapture {
    /// Writes them as pcapng.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        pcapng::write(out, &self.host, &self.params, &self.frames.frames)
    }
}

impl Run {
    /// Reads, checks and builds a scenario for at most `threads` threads; `capture` names hosts.
    ///
    /// # Errors
    /// Every independent mistake in the scenario.
    pub fn start(
        text: &str,
        origin: &str,
        overrides: &[(String, String)],
        threads: usize,
        capture: &[String],
    ) -> Result<Run, ScenarioError> {
        let started = Instant::now();
        let (document, scenario) = read(text, origin, overrides)?;
        let experiment = experiment(&document, &scenario, capture)?;
        let simulation = Simulation::build(&experiment, threads);
        let simulation = simulation.map_err(|error| document.locate(error))?;
        Ok(Run { scenario, topology: experiment.topology, simulation, setup: started.elapsed() })
    }

    /// When the run ends at the latest.
    pub fn end(&self) -> Option<Time> {
        self.scenario.run.end.map(|span| Time::ZERO + span)
    }

    /// Runs to the end; `on_progress` is called from time to time and returns whether to continue.
    pub fn finish(mut self, on_progress: &mut dyn FnMut(Progress) -> bool) -> (Outcome, Vec<HostCapture>) {
        let started = Instant::now();
        let finish = self.simulation.run(self.end().unwrap_or(Time::ZERO + RUN_MAX), on_progress);
        let wall = started.elapsed();
        let mut report = self.simulation.report();
        let frames = std::mem::take(&mut report.captured);
        let params = self.scenario.params();
        let host = |frames: &etherweave_sim::Capture| self.topology.host_name(frames.host).to_owned();
        let captured =
            frames.into_iter().map(|frames| HostCapture { host: host(&frames), params: params.clone(), frames });
        let captured = captured.collect();
        let (finished, stuck_report) = finished(&finish);
        let totals = &report.totals;
        let summary = Summary {
            name: self.scenario.name.clone(),
            seed: self.scenario.seed,
            version: env!("CARGO_PKG_VERSION"),
            finished,
            stuck_report,
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
            fingerprint: report.fingerprint.map(Into::into),
            threads: self.simulation.threads(),
            warnings: warnings(&report),
        };
        let tables = tables(&report, &self.topology);
        (Outcome { tables, resolved: self.scenario.resolved(), summary }, captured)
    }
}
