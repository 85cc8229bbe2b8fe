//! Path choice of selective repeat: entropy values of packets, and what their acknowledgements and losses say of paths.

use std::collections::VecDeque;

use etherweave_primitives::{Time, mix};

use super::SelectiveReport;
use crate::entropy::{Entropies, PathFeedback};
use crate::params::RoceParams;
use crate::state_word::joined;

/// Most entropy values: source ports of RoCE v2 are dynamic ones, 49,152 to 65,535 (InfiniBand Architecture, A17.9.2).
pub(super) const ENTROPIES_MAX: u32 = 1 << 14;

/// See the module.
pub(super) struct PathChoice {
    entropies: Entropies,
    /// First byte of each packet that is not acknowledged, in order, with the value that it had last.
    sent: VecDeque<(u64, u16)>,
}

impl PathChoice {
    /// The choice of a connection, where its parameters ask for one.
    pub(super) fn new(params: &RoceParams) -> Option<Box<PathChoice>> {
        let scheme = params.load_balancing?;
        Some(Box::new(PathChoice { entropies: Entropies::new(scheme, params.entropies), sent: VecDeque::new() }))
    }

    /// State that decides what it will do, where all below `acknowledged` is; see [`Entropies::repeatable_state`].
    pub(super) fn repeatable_state(&self, now: Time, acknowledged: u64) -> Option<u64> {
        let PathChoice { entropies, sent } = self;
        let sent = sent.iter().map(|&(start, entropy)| mix(start.wrapping_sub(acknowledged)) ^ u64::from(entropy));
        Some(joined([entropies.repeatable_state(now)?].into_iter().chain(sent)))
    }

    /// Value of the packet that begins at `offset`. One that was sent before was lost on its path.
    pub(super) fn next(&mut self, now: Time, offset: u64) -> u16 {
        let place = self.sent.binary_search_by_key(&offset, |&(start, _)| start);
        if let Ok(place) = place {
            self.entropies.heed(now, self.sent[place].1, PathFeedback::Lost);
        }
        let entropy = self.entropies.next();
        match place {
            Ok(place) => self.sent[place].1 = entropy,
            Err(place) => self.sent.insert(place, (offset, entropy)),
        }
        entropy
    }

    /// Takes an acknowledgement of all below `acknowledged`, which echoes the value of the packet that it answers.
    pub(super) fn on_report(&mut self, now: Time, acknowledged: u64, report: &SelectiveReport) {
        let feedback = if report.is_marked { PathFeedback::Marked } else { PathFeedback::Unmarked };
        self.entropies.heed(now, report.entropy, feedback);
        while self.sent.front().is_some_and(|&(start, _)| start < acknowledged) {
            self.sent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::LoadBalancing;
    use crate::params::Reliability;

    /// A choice by penalties among four values.
    fn choice() -> PathChoice {
        let (reliability, load_balancing) = (Reliability::SelectiveRepeat, Some(LoadBalancing::Bitmap));
        let params = RoceParams { reliability, load_balancing, entropies: 4, ..RoceParams::default() };
        *PathChoice::new(&params).unwrap()
    }

    #[test]
    fn a_value_whose_packet_is_sent_again_is_left_out() {
        let mut choice = choice();
        let lost = choice.next(Time::ZERO, 0);
        let later: Vec<u16> = (0..8).map(|packet| choice.next(Time::ZERO, 100 * packet)).skip(1).collect();
        assert!(!later.contains(&lost), "{later:?} after {lost}");
        assert_eq!(
            choice.sent.iter().map(|&(start, _)| start).collect::<Vec<_>>(),
            [0, 100, 200, 300, 400, 500, 600, 700]
        );
    }

    #[test]
    fn a_value_that_was_marked_is_left_out_and_what_is_acknowledged_is_forgotten() {
        let mut choice = choice();
        (0..4).for_each(|packet| _ = choice.next(Time::ZERO, 100 * packet));
        let report = SelectiveReport { entropy: 2, is_marked: true, ..SelectiveReport::default() };
        choice.on_report(Time::ZERO, 300, &report);
        assert_eq!(choice.sent.len(), 1);
        let next: Vec<u16> = (4..7).map(|packet| choice.next(Time::ZERO, 100 * packet)).collect();
        assert!(!next.contains(&2), "{next:?}");
    }
}
