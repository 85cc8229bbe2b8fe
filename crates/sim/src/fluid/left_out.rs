//! How much of a run meets what flow-level mode leaves out, counted where rates are solved.

use super::active::Active;
use super::max_min::Share;
use super::paths::{Flow, Tables};

/// How often it is counted what limits rates: in every so many solutions, as many fewer as these are rarer.
const COUNTED: u64 = 16;
/// Rates hold for one of so many parts of the time that messages take on average, where they are not rarer.
const PARTS: u64 = super::MESSAGE_PARTS;
/// More than one full link.
const SEVERAL: u32 = u32::MAX;

/// Counts of connections and rates that packets would treat otherwise.
pub(crate) struct LeftOutCounts {
    /// Rates of connections that were solved, how many of the connections a lossless network would hold back, how many
    /// links limit that are not their hosts', and of those how many have more waiting than a switch holds.
    solutions: u64,
    held_back: u64,
    limited: u64,
    overflowing: u64,
    /// Connections that began, and how many of them with packets that overtake each other.
    begun: u64,
    overtaken: u64,
    /// Segments of TCP, and those of several frames that meet moderated interrupts.
    segments: u64,
    moderated: u64,
    /// Most that may wait in a switch for one link, and what would for each [B].
    queue_max: f64,
    queues: Vec<f64>,
    /// Of each link of each class: a solution, and the full link for which connections waited on it.
    waits_for: Vec<(u64, u32)>,
    /// The solution that is counted, from 1.
    number: u64,
}

/// A solution of all rates.
pub(super) struct Solution<'a> {
    pub flows: &'a [Flow],
    /// What the solver found for each flow.
    pub shares: &'a [Share],
    pub classes: u32,
    pub tables: Tables<'a>,
}

impl LeftOutCounts {
    /// Nothing is counted yet on so many `links`, each shared by so many `classes`. Switches hold at most `queue_max`
    /// bytes for a link.
    pub fn new(links: usize, classes: usize, queue_max: f64) -> LeftOutCounts {
        LeftOutCounts {
            solutions: 0,
            held_back: 0,
            limited: 0,
            overflowing: 0,
            begun: 0,
            overtaken: 0,
            segments: 0,
            moderated: 0,
            queue_max,
            queues: vec![0.0; links],
            waits_for: vec![(0, 0); links * classes],
            number: 0,
        }
    }

    /// The share of rates whose connections a lossless network would hold back.
    pub fn held_back(&self) -> f64 {
        share(self.held_back, self.solutions)
    }

    /// The share of rates that a link behind a switch limits.
    pub fn limited(&self) -> f64 {
        share(self.limited, self.solutions)
    }

    /// The share of rates that such a link limits, for which more waits than a switch holds.
    pub fn overflowing(&self) -> f64 {
        share(self.overflowing, self.solutions)
    }

    /// The share of connections whose packets overtake each other.
    pub fn overtaken(&self) -> f64 {
        share(self.overtaken, self.begun)
    }

    /// The share of segments of several frames that meet moderated interrupts.
    pub fn moderated(&self) -> f64 {
        share(self.moderated, self.segments)
    }

    /// A segment of TCP has come.
    pub fn count_segment(&mut self, is_moderated: bool) {
        (self.segments, self.moderated) = (self.segments + 1, self.moderated + u64::from(is_moderated));
    }

    /// A connection begins.
    pub(super) fn count_begun(&mut self, is_overtaken: bool) {
        (self.begun, self.overtaken) = (self.begun + 1, self.overtaken + u64::from(is_overtaken));
    }

    /// Begins with the next solution, of those that hold for one of so many `parts` of the time of messages; says
    /// whether it is counted. The first are all, as short runs have no others.
    pub(super) fn next_solution(&mut self, parts: u64) -> bool {
        self.number += 1;
        self.number <= COUNTED || self.number.is_multiple_of(COUNTED * parts / PARTS)
    }

    /// Counts connections that would be held back in a lossless network: on one of their links others wait for a full
    /// link further on that they do not use themselves.
    pub(super) fn count_held_back(&mut self, solution: &Solution<'_>) {
        let &Solution { flows, shares, classes, tables } = solution;
        for (flow, share) in flows.iter().zip(shares) {
            let Some(full) = share.bottleneck else { continue };
            for (link, _) in flow.links_of_class(tables, classes).take_while(|&(link, _)| link != full) {
                let mark = &mut self.waits_for[link as usize];
                let is_first = mark.0 != self.number || mark.1 == full;
                *mark = (self.number, if is_first { full } else { SEVERAL });
            }
        }
        for (flow, share) in flows.iter().zip(shares) {
            let uses = |full: u32| flow.links_of_class(tables, classes).any(|(link, _)| link == full);
            let is_held = |(link, _): (u32, f64)| {
                let (number, full) = self.waits_for[link as usize];
                number == self.number && share.bottleneck != Some(full) && (full == SEVERAL || !uses(full))
            };
            self.solutions += 1;
            self.limited += u64::from(share.bottleneck.is_some_and(|full| full / classes != flow.first.get()));
            self.held_back += u64::from(flow.links_of_class(tables, classes).any(is_held));
        }
    }

    /// Counts flows at links for which more would wait than a switch holds: what hosts send of a message before it has
    /// drained, up to the window, or that if more messages follow. `sent` is the rate at which a connection's host
    /// sends.
    pub(super) fn count_overflowing(
        &mut self,
        solution: &Solution<'_>,
        connections: &[Active],
        sent: impl Fn(&Active) -> f64,
    ) {
        let &Solution { shares, classes, tables, .. } = solution;
        let mut left = shares;
        for active in connections {
            let branches = active.used_branches(tables);
            let (own, next) = left.split_at(branches.len());
            left = next;
            // Who has several messages to send goes on with others.
            let unsent =
                if active.behind > 0.0 { f64::INFINITY } else { active.left * (1.0 - active.rate / sent(active)) };
            let waits = unsent.min(active.window.bytes - active.rate * active.window.round).max(0.0);
            let is_host = |full: u32| full == active.links.first.get();
            for (branch, share) in branches.iter().zip(own) {
                if let Some(full) = share.bottleneck.map(|full| full / classes).filter(|&full| !is_host(full)) {
                    self.queues[full as usize] += waits * f64::from(branch.weight) * share.rate / active.rate;
                }
            }
        }
        let fulls = || shares.iter().filter_map(|share| share.bottleneck).map(|full| (full / classes) as usize);
        self.overflowing += fulls().filter(|&full| self.queues[full] > self.queue_max).count() as u64;
        fulls().for_each(|full| self.queues[full] = 0.0);
    }
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}
