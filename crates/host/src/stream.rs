//! Streams: equal messages one after another, as `ib_write_bw` and `iperf3` send them.

use etherweave_engine::{Wires, event::Kind};
use etherweave_kernel::indices::{EndpointIndex, ThreadIndex};

use super::message::MessageKind;
use super::thread::{Follower, Role, SourceState, Thread};
use crate::{Hosts, Processors};

impl Processors {
    pub(super) fn source(&mut self, thread: ThreadIndex) -> &mut SourceState {
        match &mut self.threads[thread].role {
            Role::Source(source) => source,
            Role::Rank(_) | Role::GraphStream(_) | Role::Sink(_) => unreachable!("only sources send streams"),
        }
    }

    /// Whether a thread receives a flow of so many bytes.
    pub(super) fn has_flow(&self, thread: ThreadIndex, bytes: u64) -> bool {
        matches!(&self.threads[thread].role, Role::Sink(sink) if sink.ideal.is_some() && sink.total == Some(bytes))
    }

    /// Schedules the flows that wait for the end of a flow at a thread.
    pub(super) fn start_followers(&mut self, wires: &mut Wires, before: ThreadIndex) {
        let first = self.followers.partition_point(|follower| follower.before < before);
        for number in first..self.followers.len() {
            let Follower { before: other, thread, after } = self.followers[number];
            if other != before {
                break;
            }
            let start = wires.now + after;
            self.source(thread).start = start;
            wires.schedule_at(start, self.threads[thread].place, Kind::Start, thread.get());
        }
    }
}

impl Hosts {
    /// Posts or writes the next message, if the window allows.
    pub(super) fn source_next(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        if !self.processors.threads[thread].inbox.is_empty() {
            return self.inbox_next(wires, thread);
        }
        let source = self.processors.source(thread);
        let endpoint = source.endpoint;
        if !source.may_post() {
            return;
        }
        self.begin_stream_message(wires, thread, endpoint);
    }

    pub(super) fn post_done(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        let bytes = self.processors.source(thread).post();
        let endpoint = self.processors.source(thread).endpoint;
        self.post_bytes(wires, endpoint, MessageKind::Eager, 0, bytes);
    }

    /// The peer has acknowledged `offset` bytes of the stream.
    #[inline]
    pub(super) fn acknowledged(&mut self, wires: &mut Wires, endpoint: EndpointIndex, offset: u64) {
        if offset >= self.nics.endpoints[endpoint].owner_waits_for {
            self.message_acknowledged(wires, endpoint, offset);
        }
    }

    fn message_acknowledged(&mut self, wires: &mut Wires, endpoint: EndpointIndex, offset: u64) {
        let thread = self.nics.endpoints[endpoint].thread;
        if matches!(self.processors.threads[thread].role, Role::Rank(_)) {
            return self.puts_acknowledged(wires, thread, endpoint, offset);
        }
        let source = self.processors.source(thread);
        let (bytes, skipped) = (source.bytes, source.skipped);
        let ahead = self.nics.state(endpoint).acknowledged_ahead().map_or(0, |ahead| ahead.messages(bytes));
        source.completed = (offset + skipped) / bytes + ahead;
        let next = (source.completed + 1) * bytes - skipped;
        self.nics.endpoints[endpoint].owner_waits_for = u64::MAX;
        self.nics.wait_for(endpoint, next);
        self.source_progress(wires, thread);
    }

    /// A program has read `bytes` from its socket: the last ones of a finite stream are its end there. Acknowledgements
    /// of kernels come before.
    pub(super) fn count_read(&mut self, wires: &mut Wires, endpoint: EndpointIndex, bytes: u64) {
        let end = &self.nics.endpoints[endpoint];
        let Thread { role, job, .. } = &self.processors.threads[end.thread];
        let is_last = bytes > 0 && matches!(role, Role::Sink(sink) if sink.total == Some(end.intake.bytes));
        if is_last && !wires.constants.is_background[*job as usize] {
            wires.count_end();
        }
    }

    /// More messages are complete: post more, or be done.
    pub(super) fn source_progress(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        let now = wires.now;
        let source = self.processors.source(thread);
        if source.end(now) {
            let job = self.processors.threads[thread].job as usize;
            if !wires.constants.is_background[job] {
                wires.count_end();
            }
            let Role::Source(SourceState { endpoint, is_flow: true, .. }) = self.processors.threads[thread].role else {
                return;
            };
            self.nics.finish(endpoint);
            self.processors.start_followers(wires, thread);
        } else if self.processors.threads[thread].current.is_none() {
            self.source_next(wires, thread);
        }
    }
}
