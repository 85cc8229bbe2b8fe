//! Log of a rank with its place in the run.

use etherweave_host::{ActivityLog, Step};
use etherweave_kernel::wire;

/// The log of one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RankLog {
    pub job: u32,
    pub rank: u32,
    /// Number of its host.
    pub host: u32,
    pub log: ActivityLog,
}

impl RankLog {
    /// Steps by their end.
    pub fn steps(&self) -> &[Step] {
        &self.log.steps.steps
    }

    /// The first step of each stream.
    pub fn first_steps(&self) -> impl Iterator<Item = &Step> {
        let mut streams = [false; 1 << u8::BITS];
        let is_first = move |step: &&Step| !std::mem::replace(&mut streams[usize::from(step.stream)], true);
        let several = self.steps().iter().any(|step| step.stream > 0);
        self.steps().iter().take(if several { usize::MAX } else { 1 }).filter(is_first)
    }
}

wire! {
    RankLog { job, rank, host, log }
}
