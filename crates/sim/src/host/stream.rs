//! Streams: equal messages one after another, as `ib_write_bw` and `iperf3` send them.

use super::message::MessageKind;
use super::thread::{Role, SourceState};
use crate::engine::Shard;
use crate::indices::{EndpointIndex, ThreadIndex};

impl Shard {
    pub(super) fn source(&mut self, thread: ThreadIndex) -> &mut SourceState {
        match &mut self.threads[thread].role {
            Role::Source(source) => source,
            Role::Rank(_) | Role::GraphStream(_) | Role::Sink(_) => unreachable!("only sources send streams"),
        }
    }

    /// Posts or writes the next message, if the window allows.
    pub(super) fn source_next(&mut self, thread: ThreadIndex) {
        if !self.threads[thread].inbox.is_empty() {
            return self.inbox_next(thread);
        }
        let source = self.source(thread);
        let endpoint = source.endpoint;
        if !source.may_post() {
            return;
        }
        self.begin_stream_message(thread, endpoint);
    }

    /// A message has been posted to the NIC.
    pub(super) fn post_done(&mut self, thread: ThreadIndex) {
        let bytes = self.source(thread).post();
        let endpoint = self.source(thread).endpoint;
        self.post_bytes(endpoint, MessageKind::Eager, bytes);
    }

    /// The peer has acknowledged `offset` bytes of the stream.
    #[inline]
    pub(super) fn acknowledged(&mut self, endpoint: EndpointIndex, offset: u64) {
        if offset >= self.endpoints[endpoint].owner_waits_for {
            self.message_acknowledged(endpoint, offset);
        }
    }

    fn message_acknowledged(&mut self, endpoint: EndpointIndex, offset: u64) {
        let thread = self.endpoints[endpoint].thread;
        if matches!(self.threads[thread].role, Role::Rank(_)) {
            return self.puts_acknowledged(thread, endpoint, offset);
        }
        let source = self.source(thread);
        source.completed = offset / source.bytes;
        let next = (source.completed + 1) * source.bytes;
        self.endpoints[endpoint].owner_waits_for = next;
        self.source_progress(thread);
    }

    /// More messages are complete: post more, or be done.
    pub(super) fn source_progress(&mut self, thread: ThreadIndex) {
        let now = self.now;
        let source = self.source(thread);
        if source.end(now) {
            let job = self.threads[thread].job as usize;
            self.totals.unfinished -= u64::from(!self.constants.is_background[job]);
        } else if self.threads[thread].current.is_none() {
            self.source_next(thread);
        }
    }
}
