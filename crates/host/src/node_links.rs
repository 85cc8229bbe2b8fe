//! Links of an accelerator to others of its node, which all its transfers share.
//!
//! Links pass packets of all transfers in turn. So each has its share of them as long as that is free; where shares
//! together are more than all links, the least demanding have theirs, and the others equal parts of what is left
//! (max-min fairness):
//!
//! ```text
//!   tensor    ████████▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄████████     all of the links, half of them beside the other
//!   gradients         ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
//! ```
//!
//! A transfer that is alone takes its time to the picosecond. Not modelled: receivers that several transfers of other
//! accelerators share, since what an accelerator sends and receives in a collective is the same.

use etherweave_primitives::{Duration, Time};
use etherweave_workload::ALL_LINKS;

/// Rest of a transfer that is none [ps]: time is in whole picoseconds.
const ROUNDING: f64 = 0.5;

/// A transfer that is in progress.
pub(super) struct NodeTransfer {
    /// Its operation.
    pub node: u32,
    /// Stream that has posted it.
    pub stream: u8,
    pub start: Time,
    /// Part of the links that it takes alone.
    share: f64,
    /// Time that it still takes alone [ps].
    left: f64,
}

impl NodeTransfer {
    /// Speed at a level, 1 where it has its share.
    fn speed(&self, level: f64) -> f64 {
        (level / self.share).min(1.0)
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct NodeLinks {
    /// Transfers in progress, the smallest share first.
    transfers: Vec<NodeTransfer>,
    /// Part of the links that a transfer has at most.
    level: f64,
    /// When `left` was true.
    since: Time,
}

impl NodeLinks {
    /// An operation of a stream begins, that takes so long with this share of the links.
    pub fn begin(&mut self, now: Time, (node, stream): (u32, u8), (duration, share): (Duration, u32)) {
        self.serve(now);
        let share = f64::from(share) / f64::from(ALL_LINKS);
        let place = self.transfers.partition_point(|transfer| transfer.share <= share);
        self.transfers.insert(place, NodeTransfer { node, stream, start: now, share, left: duration.as_ps() as f64 });
        self.level = level(&self.transfers);
    }

    /// When the next transfer is complete, if no other begins before.
    pub fn next_end(&self) -> Option<Time> {
        let ps = |transfer: &NodeTransfer| (transfer.left / transfer.speed(self.level)).ceil() as u64;
        self.transfers.iter().map(ps).min().map(|ps| self.since + Duration::from_ps(ps))
    }

    /// Takes the transfers that are complete.
    pub fn take_complete(&mut self, now: Time) -> Vec<NodeTransfer> {
        self.serve(now);
        let complete = self.transfers.extract_if(.., |transfer| transfer.left < ROUNDING).collect();
        self.level = level(&self.transfers);
        complete
    }

    fn serve(&mut self, now: Time) {
        let elapsed = now.since(self.since).as_ps() as f64;
        self.since = now;
        self.transfers.iter_mut().for_each(|transfer| transfer.left -= elapsed * transfer.speed(self.level));
    }
}

/// Part of the links that each transfer has at most, the smallest share first: all of them where there is room for
/// every share.
fn level(transfers: &[NodeTransfer]) -> f64 {
    let mut free = 1.0;
    for (number, transfer) in transfers.iter().enumerate() {
        let equal = free / (transfers.len() - number) as f64;
        if transfer.share > equal {
            return equal;
        }
        free -= transfer.share;
    }
    1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_us(us)
    }

    /// Ends [us] of transfers that begin [us], take so long alone [us] and take such a share [ppm].
    fn ends(transfers: &[(u64, u64, u32)]) -> Vec<u64> {
        let (mut links, mut ends) = (NodeLinks::default(), vec![0; transfers.len()]);
        let mut complete = |links: &mut NodeLinks, until: Time| {
            while let Some(end) = links.next_end().filter(|&end| end <= until) {
                for transfer in links.take_complete(end) {
                    ends[transfer.node as usize] = end.since(Time::ZERO).as_ps() / 1_000_000;
                }
            }
        };
        for (node, &(begin, duration, share)) in (0..).zip(transfers) {
            let begin = Time::ZERO + us(begin);
            complete(&mut links, begin);
            links.begin(begin, (node, 0), (us(duration), share));
        }
        complete(&mut links, Time::MAX);
        ends
    }

    #[test]
    fn a_transfer_alone_takes_its_time_whatever_its_share() {
        assert_eq!(ends(&[(3, 10, ALL_LINKS), (20, 10, 40_000)]), [13, 30]);
    }

    /// The first has 4 of 10 us behind it when the second of 3 us comes: both have half until 10 us, then the first has
    /// 3 us left. A third then shares the last of them.
    #[test]
    fn transfers_at_once_have_equal_parts() {
        assert_eq!(ends(&[(0, 10, ALL_LINKS), (4, 3, ALL_LINKS)]), [13, 10]);
        assert_eq!(ends(&[(0, 10, ALL_LINKS), (4, 3, ALL_LINKS), (12, 4, ALL_LINKS)]), [14, 10, 17]);
    }

    /// A tenth of the links is less than an equal part, so that the other has nine tenths: 9 us take 10 us.
    #[test]
    fn a_small_share_is_never_less_and_leaves_the_rest_to_others() {
        assert_eq!(ends(&[(0, 100, 100_000), (0, 9, ALL_LINKS)]), [100, 10]);
    }

    /// The event for an end at 10 us comes when another has half of the links since 5 us: the end is at 15 us, and at
    /// 13 us once the other has ended.
    #[test]
    fn an_event_that_comes_too_early_ends_nothing() {
        let (mut links, at) = (NodeLinks::default(), |time| Time::ZERO + us(time));
        links.begin(at(0), (0, 0), (us(10), ALL_LINKS));
        links.begin(at(5), (1, 0), (us(3), ALL_LINKS));
        assert_eq!(links.next_end(), Some(at(11)));
        assert!(links.take_complete(at(10)).is_empty());
        assert_eq!(links.next_end(), Some(at(11)));
        let complete: Vec<(u32, Time)> = links.take_complete(at(11)).iter().map(|end| (end.node, end.start)).collect();
        assert_eq!((complete, links.next_end()), (vec![(1, at(5))], Some(at(13))));
    }

    /// Four of seven links of a mesh and one other: there is room for both.
    #[test]
    fn shares_that_fit_do_not_slow_each_other() {
        assert_eq!(ends(&[(0, 10, 571_428), (0, 10, 142_857)]), [10, 10]);
    }
}
