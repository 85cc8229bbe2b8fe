//! Streams.

use etherweave_host::{Endpoint, Role, SinkState};
use etherweave_kernel::rows;
use etherweave_primitives::Time;

use crate::run::Simulation;
use crate::shard::Shard;

rows! {
    /// A stream, measured at its receiver.
    #[derive(Clone, PartialEq, Debug)]
    pub struct StreamRow in (), "streams" {
        /// Job.
        job: String ["job"];
        /// Sender.
        source_host: String ["source_host"];
        /// Receiver.
        destination_host: String ["destination_host"];
        /// Number in its job.
        stream: u32 ["stream"];
        /// Whole messages received.
        messages: u64 ["messages"];
        /// Bytes received, from the end of the warm-up on.
        bytes: u64 ["bytes"];
        /// Start of the job.
        start: Time ["start_ns"];
        /// End of the warm-up, or start of the job if that is later: rates count from here on.
        measured: Time [];
        /// Last byte of a whole stream; end of the run for an endless one.
        end: Time ["end_ns", "goodput_gbps" = |row, _| row.goodput_gbps()];
    }
}

impl StreamRow {
    /// Payload per time after the warm-up [Gb/s]; 0 when nothing was measured.
    pub fn goodput_gbps(&self) -> f64 {
        let span = self.end.since(self.measured.min(self.end));
        if span.is_zero() { 0.0 } else { self.bytes as f64 * 8.0 / span.as_ns_f64() }
    }
}

impl Simulation {
    pub(super) fn streams(&self) -> Vec<(u32, StreamRow)> {
        let mut rows: Vec<(u32, StreamRow)> = Vec::new();
        for shard in &self.shards {
            for thread in &shard.hosts.processors.threads {
                if let Role::Sink(sink) = &thread.role {
                    rows.push((thread.job, self.stream_row(shard, thread.job, sink)));
                }
            }
        }
        rows
    }

    fn stream_row(&self, shard: &Shard, job: u32, sink: &SinkState) -> StreamRow {
        let Endpoint { hosts: (destination, source), intake, warm_up_intake, .. } =
            shard.hosts.nics.endpoints[sink.endpoint];
        let is_whole = sink.total == Some(intake.bytes);
        StreamRow {
            job: self.names.jobs[job as usize].clone(),
            source_host: self.host_name(source),
            destination_host: self.host_name(destination),
            stream: sink.stream,
            messages: intake.bytes / sink.bytes,
            bytes: intake.bytes - warm_up_intake
                + shard.hosts.nics.fluid_partly_come(&shard.wires, sink.endpoint, self.end),
            start: sink.start,
            measured: sink.start.max(shard.wires.constants.warm_up),
            // One that would start later has no time yet.
            end: if is_whole { intake.last } else { self.end.max(sink.start) },
        }
    }
}
