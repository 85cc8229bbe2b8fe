//! Share of a run that meets what flow-level mode leaves out, counted where rates are solved.

use super::paths::{LinkPlace, Links, Tables};
use super::{Level, active::Active};

/// Solutions from one count of what limits rates to the next.
const COUNTED: u64 = 16;
/// More than one full link.
const SEVERAL: u32 = u32::MAX;

/// Counts of connections and rates that packets would treat otherwise.
pub struct LeftOutCounts {
    /// Rates of connections that were solved, how many of the connections a lossless network would hold back, how many
    /// links limit that are not their hosts', and of those how many have more waiting than a switch holds.
    solutions: u64,
    held_back: u64,
    limited: u64,
    overflowing: u64,
    /// Connections that began, how many of them with packets that overtake each other, how many a lossless network
    /// would hold back, and how many behind queues that take longer than their messages.
    begun: u64,
    overtaken: u64,
    begun_held_back: u64,
    begun_behind: u64,
    queue_limits: QueueLimits,
    /// Data that would wait for each class of each link in the solution that was counted last, where any
    /// would.
    queues: Vec<LinkQueue>,
    queued: Vec<u32>,
    /// Entry of each link of each class: the last counted solution in which connections waited on it, and the full link
    /// they waited for.
    waits_for: Vec<(u64, u32)>,
    /// Number of solutions, and the first whose notes about links are up to date.
    number: u64,
    noted_since: u64,
}

/// Most that waits in a switch [B].
#[derive(Clone, Copy)]
pub struct QueueLimits {
    /// Limit for one link.
    pub egress: f64,
    /// Limit for data that came by one link.
    pub ingress: f64,
}

#[derive(Clone, Copy, Default)]
struct LinkQueue {
    bytes: f64,
    /// Connections that it limits.
    flows: f64,
}

pub(super) struct Begun<'a> {
    pub links: &'a Links,
    /// Its first message [B on the wire].
    pub wire: f64,
    /// Whether it drains behind messages that passed, as packets do.
    pub is_queued: bool,
    pub classes: u32,
    pub tables: Tables<'a>,
}

pub(super) struct LinkLoad {
    pub is_full: bool,
    pub connections: f64,
    /// Bytes that wait for it [B].
    pub queued: f64,
}

pub(super) struct Solution<'a> {
    pub connections: &'a [Active],
    /// Places of those whose rates were solved, in order.
    pub solved: &'a [u32],
    /// The most branches of a connection.
    pub branches: usize,
    /// Ends of each link.
    pub places: &'a [LinkPlace],
    pub classes: u32,
    pub tables: Tables<'a>,
}

impl Solution<'_> {
    /// Whether a link, as the solver counts it, leaves a host.
    fn is_of_host(&self, link: u32) -> bool {
        self.places[(link / self.classes) as usize] == LinkPlace::FromHost
    }
}

impl LeftOutCounts {
    /// Nothing is counted yet on so many `links`, each shared by so many `classes`.
    pub fn new(links: usize, classes: usize, queue_limits: QueueLimits) -> LeftOutCounts {
        LeftOutCounts {
            solutions: 0,
            held_back: 0,
            limited: 0,
            overflowing: 0,
            begun: 0,
            overtaken: 0,
            begun_held_back: 0,
            begun_behind: 0,
            queue_limits,
            queues: vec![LinkQueue::default(); links * classes],
            queued: Vec::new(),
            waits_for: vec![(0, 0); links * classes],
            number: 0,
            noted_since: 1,
        }
    }

    /// The share of rates whose connections a lossless network would hold back, or that of connections which it would
    /// when they begin, if that is more: who finds room changes no rates.
    pub fn held_back(&self) -> f64 {
        share(self.held_back, self.solutions).max(share(self.begun_held_back, self.begun))
    }

    /// The share of connections that begin behind queues that take longer than their messages.
    pub fn delayed(&self) -> f64 {
        share(self.begun_behind, self.begun)
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

    /// A connection begins, before its links carry it; `load` is that of a link as the solver counts it.
    pub(super) fn count_begun(&mut self, begun: &Begun<'_>, load: impl Fn(u32) -> LinkLoad) {
        let &Begun { links, wire, is_queued, classes, tables } = begun;
        let (preferred, _) = links.branches(tables);
        let (mut is_held, mut is_behind) = (false, false);
        for flow in preferred.iter().map(|&branch| links.flow(branch)) {
            let is_far = |full: u32| load(full).is_full && !flow.uses(full, tables, classes);
            is_held |= flow.links_of_class(tables, classes).any(|(link, _)| self.is_held(link, is_far));
            is_behind |= flow.links_of_class(tables, classes).any(|(link, _)| {
                let LinkLoad { connections, queued, .. } = load(link);
                queued > wire * (connections + 1.0)
            });
        }
        self.begun += 1;
        self.begun_held_back += u64::from(is_held);
        self.begun_behind += u64::from(is_behind && !is_queued);
    }

    /// A message passes idle links.
    pub(super) fn count_passed(&mut self) {
        self.begun += 1;
    }

    /// Packets of a connection that begins overtake each other.
    pub(super) fn count_overtaken(&mut self) {
        self.overtaken += 1;
    }

    /// Begins with the next solution; says whether it is counted. The first are all, as short runs have no others.
    pub(super) fn next_solution(&mut self) -> bool {
        self.number += 1;
        self.number <= COUNTED || self.number.is_multiple_of(COUNTED)
    }

    /// Forgets what was noted about a link, as the solver counts it.
    pub(super) fn forget(&mut self, link: u32) {
        self.waits_for[link as usize] = (0, 0);
    }

    /// Forgets what was noted about all links.
    pub(super) fn forget_all(&mut self) {
        self.noted_since = self.number;
    }

    /// Notes which connections would be held back in a lossless network: on one of their links others wait for a full
    /// link further on that they do not use themselves. Of connections whose rates were not solved the notes stay.
    pub(super) fn note_held_back(&mut self, solution: &Solution<'_>, levels: &mut [Level]) {
        let &Solution { connections, solved, branches, classes, tables, .. } = solution;
        for (active, own) in solved.iter().map(|&place| (&connections[place as usize], place as usize * branches)) {
            for (&branch, level) in active.used_branches(tables).iter().zip(&levels[own..]) {
                let Some(full) = level.bottleneck else { continue };
                let links = active.links.flow(branch).links_of_class(tables, classes);
                links.take_while(|&(link, _)| link != full).for_each(|(link, _)| self.note(link, full));
            }
        }
        for (active, own) in solved.iter().map(|&place| (&connections[place as usize], place as usize * branches)) {
            for (&branch, level) in active.used_branches(tables).iter().zip(&mut levels[own..]) {
                let flow = active.links.flow(branch);
                let is_far = |full: u32| level.bottleneck != Some(full) && !flow.uses(full, tables, classes);
                let is_held = flow.links_of_class(tables, classes).any(|(link, _)| self.is_held(link, is_far));
                level.is_held = is_held;
            }
        }
    }

    /// Notes that a connection on a link waits for a full one further on.
    fn note(&mut self, link: u32, full: u32) {
        let mark = &mut self.waits_for[link as usize];
        let is_first = mark.0 < self.noted_since || mark.1 == full;
        *mark = (self.number, if is_first { full } else { SEVERAL });
    }

    /// Whether packets on a link are held back by others that wait on it: for several full links, or for one that is
    /// far.
    fn is_held(&self, link: u32, is_far: impl Fn(u32) -> bool) -> bool {
        let (number, full) = self.waits_for[link as usize];
        number >= self.noted_since && (full == SEVERAL || is_far(full))
    }

    /// Counts flows that are held back, and those at links for which more would wait than a switch holds: what hosts
    /// send of a message before it has drained, up to the window, or that if more messages follow. `sent` is the rate
    /// at which a connection's host sends.
    pub(super) fn count(&mut self, solution: &Solution<'_>, levels: &[Level], sent: impl Fn(&Active) -> f64) {
        self.queued.drain(..).for_each(|link| self.queues[link as usize] = LinkQueue::default());
        let is_limited = |level: &&Level| level.bottleneck.is_some_and(|full| !solution.is_of_host(full));
        for (active, own) in solution.connections.iter().zip(levels.chunks_exact(solution.branches)) {
            let branches = active.used_branches(solution.tables);
            let own = &own[..branches.len()];
            let limited = own.iter().filter(is_limited).count() as u64;
            self.solutions += own.len() as u64;
            self.limited += limited;
            self.held_back += own.iter().filter(|level| level.is_held).count() as u64;
            if limited == 0 {
                continue;
            }
            // Who has several messages to send goes on with others.
            let unsent =
                if active.behind > 0.0 { f64::INFINITY } else { active.left * (1.0 - active.rate / sent(active)) };
            let waits = unsent.min(active.window.bytes - active.rate * active.window.round).max(0.0);
            for (branch, level) in branches.iter().zip(own) {
                let Some(full) = level.bottleneck.filter(|&full| !solution.is_of_host(full)) else { continue };
                let queue = &mut self.queues[full as usize];
                if queue.flows == 0.0 {
                    self.queued.push(full);
                }
                queue.bytes += waits * f64::from(branch.weight) * level.rate / active.rate;
                queue.flows += 1.0;
            }
        }
        let QueueLimits { egress, ingress } = self.queue_limits;
        let overflows = |queue: &LinkQueue| queue.bytes > egress.min(ingress * queue.flows);
        let queues = self.queued.iter().map(|&link| &self.queues[link as usize]);
        self.overflowing += queues.filter(|queue| overflows(queue)).map(|queue| queue.flows as u64).sum::<u64>();
    }
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}
