//! Logs of ranks, from which rows of tables are made when they are asked for.

use etherweave_host::{ActivityLog, MessageEnd};

use super::activities::{ActivityRow, EndRow, TransferRow, transfers};
use super::path::{PathMessage, PathRow};
use super::rank_log::RankLog;

/// Logs of all ranks that are observed, and the path that limits each job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Observed {
    /// Logs by job and rank.
    logs: Vec<RankLog>,
    /// The paths by job and time.
    pub path: Vec<PathRow>,
    /// Messages on them that wait, likewise.
    pub messages: Vec<PathMessage>,
}

impl Observed {
    /// Logs by job and rank, with the paths worked out from them.
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
