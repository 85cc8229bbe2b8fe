//! Logs of ranks, from which rows of tables are made when they are asked for.

use super::activities::{ActivityRow, EndRow, TransferRow, activities, transfers};
use super::{path::PathMessage, path::PathRow, rank_log::RankLogs};

/// Logs of all ranks that are observed, and the path that limits each job.
#[derive(Clone, Debug)]
pub struct Observed {
    logs: RankLogs,
    /// The paths by job and time.
    pub path: Vec<PathRow>,
    /// Messages on them that wait, likewise.
    pub messages: Vec<PathMessage>,
}

impl Observed {
    /// Logs with the paths worked out from them.
    pub(super) fn new((path, messages): (Vec<PathRow>, Vec<PathMessage>), logs: RankLogs) -> Observed {
        Observed { logs, path, messages }
    }

    /// Numbers of the hosts that have ranks.
    pub fn hosts(&self) -> impl Iterator<Item = u32> {
        self.logs.ranks().iter().map(|rank| rank.host)
    }

    /// Activities by job, rank and time.
    pub fn activities(&self) -> Vec<ActivityRow> {
        self.logs
            .ranks()
            .iter()
            .flat_map(|rank| activities(rank, self.logs.steps(rank), self.logs.ended(rank)))
            .collect()
    }

    /// Messages between ranks by job and time.
    pub fn transfers(&self) -> Vec<TransferRow> {
        let sent = self.logs.shards().flat_map(|log| log.message_ends(&log.records.sent));
        let received = self.logs.shards().flat_map(|log| log.message_ends(&log.records.received));
        transfers(sent.map(EndRow::sent).collect(), received.map(EndRow::received).collect())
    }
}

/// Rows are compared, not on how many shards they were noted.
impl PartialEq for Observed {
    fn eq(&self, other: &Observed) -> bool {
        (&self.path, &self.messages) == (&other.path, &other.messages)
            && self.activities() == other.activities()
            && self.transfers() == other.transfers()
    }
}
