//! The loop of a rank whose turns are awaited.

use etherweave_host::{Hosts, RankState, Role};
use etherweave_kernel::indices::ThreadIndex;
use etherweave_workload::LoopPlace;

#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopWatch {
    /// The rank that performs it.
    pub thread: ThreadIndex,
    /// Its place at the last turn.
    pub place: Option<LoopPlace>,
}

impl LoopWatch {
    /// Whether a repetition has begun since.
    pub fn is_due(&self, hosts: &Hosts) -> bool {
        let place = self.rank(hosts).loop_place();
        place.is_some() && place != self.place
    }

    /// The rank.
    pub fn rank<'h>(&self, hosts: &'h Hosts) -> &'h RankState {
        match &hosts.processors.threads[self.thread].role {
            Role::Rank(rank) => rank,
            Role::GraphStream(_) | Role::Source(_) | Role::Sink(_) => unreachable!("a rank is watched"),
        }
    }
}
