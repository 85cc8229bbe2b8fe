//! Streams.

use std::any::Any;

use etherweave_host::{Endpoint, Role, SinkState, Thread};
use etherweave_kernel::{RowNames, rows};
use etherweave_primitives::{Duration, Time};
use etherweave_workload::IdealTime;

use super::{FlowWriter, ideal::add_ideals};
use crate::{build::late_flows::LateFlows, run::Simulation, shard::Shard};

rows! {
    /// A stream, measured at its receiver.
    #[derive(Clone, PartialEq, Debug)]
    pub struct StreamRow in RowNames<'n>, "streams" {
        /// Number of the job.
        job: u32 ["job" = |row, names| names.job(row.job)];
        /// Number of the sender.
        source: u32 ["source_host" = |row, names| names.host(row.source)];
        /// Number of the receiver.
        destination: u32 ["destination_host" = |row, names| names.host(row.destination)];
        /// Number in its job.
        stream: u32 ["stream"];
        /// Whole messages received.
        messages: u64 ["messages"];
        /// Bytes received, from the end of the warm-up on.
        bytes: u64 ["bytes"];
        /// Start of the job, or of the flow.
        start: Time ["start_ns"];
        /// End of the warm-up, or start of the job if that is later: rates count from here on.
        measured: Time [];
        /// Last byte of a whole stream; end of the run for an endless one.
        end: Time ["end_ns", "goodput_gbps" = |row, _| row.goodput_gbps()];
        /// Bytes of the whole stream; 0 of an endless one.
        total: u64 [];
        /// Whether all of them have come.
        is_whole: bool [];
        /// Whether it is a flow, whose completion time is compared with an ideal time.
        is_flow: bool [];
        /// The ideal time, where hosts have one port; else 0.
        ideal: Duration [];
    }
}

impl StreamRow {
    /// Payload per time after the warm-up [Gb/s]; 0 when nothing was measured.
    pub fn goodput_gbps(&self) -> f64 {
        let span = self.end.since(self.measured.min(self.end));
        if span.is_zero() { 0.0 } else { self.bytes as f64 * 8.0 / span.as_ns_f64() }
    }

    /// Completion time of a whole flow by its ideal time; else 0.
    pub fn slowdown(&self) -> f64 {
        let is_known = self.is_whole && !self.ideal.is_zero();
        if is_known { self.end.since(self.start).as_ns_f64() / self.ideal.as_ns_f64() } else { 0.0 }
    }
}

impl Simulation {
    /// Flows that exist only while they are needed, if there are any.
    pub(crate) fn late_flows(&mut self) -> Option<&mut LateFlows> {
        let mut all = self.shards.iter_mut().filter_map(|shard| shard.late_flows.as_deref_mut());
        all.find_map(|late| (late as &mut dyn Any).downcast_mut())
    }

    /// Has rows of flows that exist no more go to `writer` while the run goes on, and all others at the report; whether
    /// there are such flows. Rows of streams come in their order, those of connections with their streams.
    pub fn write_flows(&mut self, writer: FlowWriter) -> bool {
        self.late_flows().map(|late| late.writer = Some(writer)).is_some()
    }

    /// Streams of this process; of flows that exist no more they are handed over.
    pub(super) fn streams(&mut self) -> Vec<(u32, StreamRow)> {
        let mut rows = self.existing_streams();
        let (end, warm_up) = (self.end, self.shards.first().map_or(Time::ZERO, |shard| shard.wires.constants.warm_up));
        let Some(late) = self.late_flows() else { return rows };
        let mut writer = late.writer.take();
        if let Some(write) = &mut writer {
            rows.sort_by_key(|(_, row)| row.stream);
            write(rows.drain(..).map(|(_, row)| row).collect(), Vec::new());
        }
        // The rest has higher numbers. A block at a time, since a run that is cut early may leave most flows.
        let mut created = late.created;
        while let Some(block) = rows_to_come(self, created, warm_up, end) {
            created += block.len();
            match &mut writer {
                Some(write) => write(block.into_iter().map(|(_, row)| row).collect(), Vec::new()),
                None => rows.extend(block),
            }
        }
        self.late_flows().expect("they are there").writer = writer;
        rows
    }

    /// Streams whose connections exist, and those that are over.
    fn existing_streams(&mut self) -> Vec<(u32, StreamRow)> {
        let over = self.late_flows().map(|late| (std::mem::take(&mut late.streams), late.ideal));
        let (mut rows, ideal) = over.unwrap_or_default();
        let mut flows: Vec<(usize, IdealTime)> = (0..rows.len()).map(|place| (place, ideal)).collect();
        for shard in &self.shards {
            for thread in &shard.hosts.processors.threads {
                let Role::Sink(sink) = &thread.role else { continue };
                flows.extend(sink.ideal.filter(|_| sink.total.is_some()).map(|ideal| (rows.len(), ideal)));
                rows.push((thread.job, StreamRow::of(shard, thread.job, sink, self.end)));
            }
        }
        if let Some(shard) = self.shards.first() {
            add_ideals(&self.names.topology, &shard.wires.constants, &mut rows, flows);
        }
        rows
    }

    /// Job, number and start of flows that wait for others.
    pub(super) fn late_starts(&self) -> Vec<(u32, u32, Time)> {
        let threads = self.shards.iter().flat_map(|shard| &shard.hosts.processors.threads);
        let start = |thread: &Thread| match &thread.role {
            Role::Source(source) => Some((thread.job, source.follows?, source.start.min(self.end))),
            Role::Rank(_) | Role::GraphStream(_) | Role::Sink(_) => None,
        };
        threads.filter_map(start).collect()
    }
}

/// Next rows of flows that a run ended before, after the first `created`.
fn rows_to_come(
    simulation: &mut Simulation,
    created: usize,
    warm_up: Time,
    end: Time,
) -> Option<Vec<(u32, StreamRow)>> {
    let late = simulation.late_flows()?;
    let ideal = late.ideal;
    let mut rows = late.rows_to_come(created, warm_up, end);
    let flows = (0..rows.len()).map(|place| (place, ideal)).collect();
    add_ideals(&simulation.names.topology, &simulation.shards[0].wires.constants, &mut rows, flows);
    Some(rows).filter(|rows| !rows.is_empty())
}

impl StreamRow {
    /// A stream as its receiver has it at the `end` of the run.
    pub(crate) fn of(shard: &Shard, job: u32, sink: &SinkState, end: Time) -> StreamRow {
        let Endpoint { hosts: (destination, source), intake, warm_up_intake, .. } =
            shard.hosts.nics.endpoints[sink.endpoint];
        let is_whole = sink.total == Some(intake.bytes);
        StreamRow {
            job,
            source,
            destination,
            stream: sink.stream,
            messages: (intake.bytes + sink.skipped) / sink.bytes,
            bytes: intake.bytes - warm_up_intake + shard.hosts.nics.fluid_partly_come(&shard.wires, sink.endpoint, end),
            start: sink.start,
            measured: sink.start.max(shard.wires.constants.warm_up),
            // One that would start later has no time yet.
            end: if is_whole { intake.last } else { end.max(sink.start) },
            total: sink.total.map_or(0, |total| total + sink.skipped),
            is_whole,
            is_flow: sink.ideal.is_some(),
            ideal: Duration::ZERO,
        }
    }
}
