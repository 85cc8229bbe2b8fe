//! What ranks have noted: their logs, from which rows of tables are made when they are asked for.

use etherweave_host::{ActivityLog, MessageEnd, Step};
use etherweave_kernel::wire;

use super::activities::{ActivityRow, EndRow, TransferRow, transfers};
use super::path::{PathMessage, PathRow};

/// Logs of all ranks that are observed, and the path that limits each job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observed {
    /// By job and rank.
    logs: Vec<RankLog>,
    /// The paths by job and time.
    pub path: Vec<PathRow>,
    /// Messages on them that wait, likewise.
    pub messages: Vec<PathMessage>,
}

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

impl Observed {
    /// What logs by job and rank say, with the paths worked out from them.
    pub(super) fn new((path, messages): (Vec<PathRow>, Vec<PathMessage>), logs: Vec<RankLog>) -> Observed {
        Observed { logs, path, messages }
    }

    /// Numbers of the hosts that have ranks.
    pub fn hosts(&self) -> impl Iterator<Item = u32> {
        self.logs.iter().map(|log| log.host)
    }

    /// Activities by job, rank and time.
    pub fn activities(&self) -> Vec<ActivityRow> {
        let rows = |log: &RankLog| {
            let row = |activity| ActivityRow::of(log.job, log.rank, log.host, activity);
            let mut rows: Vec<ActivityRow> = log.log.activities.iter().map(row).collect();
            rows.sort_by_key(|row| (row.start, row.stream));
            rows
        };
        self.logs.iter().flat_map(rows).collect()
    }

    /// Messages between ranks by job and time.
    pub fn transfers(&self) -> Vec<TransferRow> {
        transfers(self.ends(|log| &log.sent, EndRow::sent), self.ends(|log| &log.received, EndRow::received))
    }

    fn ends(&self, ends: fn(&ActivityLog) -> &[MessageEnd], row: fn(u32, u32, &MessageEnd) -> EndRow) -> Vec<EndRow> {
        self.logs.iter().flat_map(|own| ends(&own.log).iter().map(move |end| row(own.job, own.rank, end))).collect()
    }
}

wire! {
    RankLog { job, rank, host, log }
}
