//! Messages that are shortened, since nothing but their length differs in what is left out.

use etherweave_kernel::indices::EndpointIndex;
use etherweave_primitives::{Duration, Time};
use etherweave_transport::connection::{CHANGES, OpenMessage};

use super::{Thread, rank::RankState, thread::Role};
use crate::Hosts;

impl Thread {
    /// Whether it goes on when packets arrive, and at no time of its own.
    pub fn waits_for_packets(&self, now: Time) -> bool {
        let is_idle = self.current.is_none() && self.inbox.is_empty();
        let waits = match &self.role {
            Role::Rank(rank) => rank.is_done || rank.waits_for_packets(),
            Role::GraphStream(_) | Role::Sink(_) => true,
            Role::Source(source) => source.start <= now,
        };
        is_idle && waits
    }
}

impl RankState {
    /// Whether it has started and waits for no time, nor for acknowledgements of WRITEs.
    fn waits_for_packets(&self) -> bool {
        let graph = self.graph.as_ref();
        let has_times = graph.is_some_and(|graph| graph.run.graph().is_driven() || graph.next_wake().is_some());
        self.is_started && !has_times && self.puts.is_empty()
    }
}

impl Hosts {
    /// The message that an endpoint is sending, if there is one.
    ///
    /// # Errors
    /// The reason why what it sends cannot be shortened now.
    pub fn open_message(&self, endpoint: EndpointIndex) -> Result<Option<OpenMessage>, &'static str> {
        let (state, thread) = (self.nics.state(endpoint), self.nics.endpoints[endpoint].thread);
        let open = state.open_message()?;
        let is_stream = matches!(self.processors.threads[thread].role, Role::Source(_));
        // Messages of a stream that complete in any order are counted by multiples of their length.
        if open.is_some() && is_stream && state.acknowledged_ahead().is_some() { Err(CHANGES) } else { Ok(open) }
    }

    /// Takes bytes away from the message that an endpoint is sending.
    pub fn shorten(&mut self, endpoint: EndpointIndex, bytes: u64) {
        self.nics.shorten_open(endpoint, bytes);
        let acknowledged = self.nics.state(endpoint).sent().bytes;
        let end = &mut self.nics.endpoints[endpoint];
        if end.owner_waits_for > acknowledged && end.owner_waits_for != u64::MAX {
            end.owner_waits_for -= bytes;
        }
        if let Role::Source(source) = &mut self.processors.threads[end.thread].role {
            source.skipped += bytes;
        }
    }

    /// Takes the same bytes away from what its peer expects.
    pub fn shorten_incoming(&mut self, endpoint: EndpointIndex, bytes: u64) {
        let end = &mut self.nics.endpoints[endpoint];
        end.incoming.iter_mut().for_each(|message| message.end -= bytes);
        if let Role::Sink(sink) = &mut self.processors.threads[end.thread].role {
            (sink.skipped, sink.total) = (sink.skipped + bytes, sink.total.map(|total| total - bytes));
        }
    }

    /// Has all that ranks perform from now on be later by a time that is not simulated.
    pub fn delay_ranks(&mut self, span: Duration) {
        for thread in self.processors.threads.iter_mut() {
            if let Role::Rank(rank) = &mut thread.role {
                rank.delay(span);
            }
        }
    }
}
