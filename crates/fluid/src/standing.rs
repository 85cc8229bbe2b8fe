//! Queues that long messages leave standing at full links, behind which messages of others come.

use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Duration, Time};

use super::{Active, ClassLinks, FULL, Fluid, Level, LinkPlace, LinkUse, Links, Tables};

/// Bytes that wait for each class of each link, as rates were last solved.
pub(super) struct StandingQueues {
    limits: StandingLimits,
    queues: Vec<Queue>,
    /// Links for which anything waits, a bit each: paths have many links, and few of these a queue.
    filled: Vec<u64>,
}

/// Most that waits for one link [B].
#[derive(Clone, Copy)]
pub struct StandingLimits {
    /// Bytes in all.
    pub all: f64,
    /// Bytes of each connection.
    pub of_connection: f64,
}

#[derive(Clone, Copy, Default)]
struct Queue {
    bytes: f64,
    connections: u32,
}

impl StandingQueues {
    /// Creates empty queues of so many links, each counted by its classes.
    pub fn new(links: usize, limits: StandingLimits) -> StandingQueues {
        StandingQueues { limits, queues: vec![Queue::default(); links], filled: vec![0; links.div_ceil(64)] }
    }

    /// Whether anything waits for a link.
    fn is_filled(&self, link: u32) -> bool {
        self.filled[link as usize / 64] >> (link % 64) & 1 == 1
    }

    /// Bytes that wait for a link [B].
    pub fn bytes(&self, link: u32) -> f64 {
        self.queues[link as usize].bytes.min(self.limits.all)
    }

    /// A branch of a connection has bytes waiting for the link that limits it.
    pub fn add(&mut self, level: &mut Level, bytes: f64) {
        let bytes = bytes.min(self.limits.of_connection);
        let (Some(link), true) = (level.bottleneck, bytes > 0.0) else { return };
        level.queued = bytes;
        let queue = &mut self.queues[link as usize];
        (queue.bytes, queue.connections) = (queue.bytes + bytes, queue.connections + 1);
        self.filled[link as usize / 64] |= 1 << (link % 64);
    }

    /// Takes away the bytes of a branch that are gone or are counted anew; gives them.
    pub fn remove(&mut self, level: &mut Level) -> f64 {
        let bytes = std::mem::take(&mut level.queued);
        let (Some(link), true) = (level.bottleneck, bytes > 0.0) else { return 0.0 };
        let queue = &mut self.queues[link as usize];
        queue.connections -= 1;
        queue.bytes = (queue.bytes - bytes).max(0.0);
        if queue.connections == 0 {
            // The last leaves nothing that sums were rounded by.
            queue.bytes = 0.0;
            self.filled[link as usize / 64] &= !(1 << (link % 64));
        }
        bytes
    }
}

impl Active {
    /// Rate at which its host sends [B/ps]: its equal share.
    pub fn sent(&self, solver: &ClassLinks, uses: &[LinkUse]) -> f64 {
        let first = self.links.first.get();
        solver.capacity(first) / uses[first as usize].connections
    }

    /// Its queue has grown for some time [ps], up to what its window leaves, and to what there is to send.
    pub fn stand(&mut self, Queueing { growth, answer }: Queueing, span: f64) {
        let window = (self.window.bytes - self.rate * (self.window.round + answer)).max(0.0);
        let grown = (self.queued + growth * span).max(0.0);
        // Half of what is too much goes: otherwise queues there and back would change by turns.
        let within =
            if self.queued.min(grown) > window { f64::midpoint(self.queued, window) } else { grown.min(window) };
        self.queued = within.min((self.left + self.behind).max(0.0));
    }
}

/// Growth of the queue of a connection.
#[derive(Clone, Copy)]
pub(super) struct Queueing {
    /// Rate that its host sends beyond what its links forward [B/ps].
    pub growth: f64,
    /// Time for which acknowledgements wait [ps], where that limits the queue.
    pub answer: f64,
}

impl Fluid {
    /// Time for which packets on a path wait for what others have queued at full links [ps]; none beside packets, whose
    /// queues are not known.
    pub(super) fn standing_wait(&self, links: &Links, tables: Tables<'_>) -> f64 {
        if self.beside.is_some() {
            return 0.0;
        }
        let (classes, class) = (self.solver.classes(), u32::from(links.class));
        let wait = |(link, share): (PortIndex, f64)| {
            let of_class = link.get() * classes + class;
            let is_filled = self.standing.is_filled(of_class);
            is_filled.then(|| share * self.standing.bytes(of_class) / self.solver.capacity(link.get()))
        };
        links.shares(tables).filter_map(wait).sum()
    }

    /// Time by which a packet that came when the connection at a place began has crossed the queues of its path, as
    /// they were when rates were solved first from then on, or are.
    pub fn crossed(&self, place: u32, tables: Tables<'_>) -> Time {
        let active = &self.active[place as usize];
        let now = || active.began + Duration::from_ps(self.standing_wait(&active.links, tables) as u64);
        active.crossed.unwrap_or_else(now)
    }

    /// Notes when messages cross the queues that they met.
    pub(super) fn note_crossed(&mut self, are_all: bool, tables: Tables<'_>) {
        for number in 0..self.queueing.len() {
            let place = if are_all { number as u32 } else { self.solving[number] };
            self.active[place as usize].crossed = Some(self.crossed(place, tables));
        }
    }

    /// Notes what queues of connections grow by until now, at rates and queues that links have had.
    pub(super) fn note_queueing(&mut self, is_counted: bool, tables: Tables<'_>) {
        self.queueing.clear();
        if self.beside.is_some() {
            return;
        }
        let are_all = is_counted || self.solving.len() == self.active.len();
        let count = if are_all { self.active.len() } else { self.solving.len() };
        let place = |number| if are_all { number } else { self.solving[number] as usize };
        let noted = (0..count).map(|number| self.queueing_at(place(number), tables));
        self.queueing = noted.collect();
    }

    fn queueing_at(&self, place: usize, tables: Tables<'_>) -> Queueing {
        let (active, classes) = (&self.active[place], self.solver.classes());
        let levels = self.levels[place * self.branches..].iter();
        let rate = active.used_branches(tables).iter().zip(levels).map(|(branch, level)| {
            // What others have left free, packets of the queue use.
            let used = |full: u32| self.uses[(full / classes) as usize].rate / self.solver.capacity(full / classes);
            f64::from(branch.weight) * level.rate / level.bottleneck.map_or(1.0, used).clamp(FULL, 1.0)
        });
        let growth = active.sent(&self.solver, &self.uses) - rate.sum::<f64>();
        // Acknowledgements limit what queues, by the window: nothing where nothing does or will.
        let is_limited = active.queued.max(growth) > 0.0 && active.window.bytes < f64::INFINITY;
        let answer = if is_limited { self.standing_wait(&active.back, tables) } else { 0.0 };
        Queueing { growth, answer }
    }

    /// Notes what of the connection at a place, drained as one of a number for a span [ps], waits for links of switches
    /// that limit it.
    pub(super) fn leave_standing(&mut self, place: usize, number: usize, span: f64, tables: Tables<'_>) {
        let Some(&queueing) = self.queueing.get(number) else { return };
        let (active, classes) = (&mut self.active[place], self.solver.classes());
        active.stand(queueing, span);
        let is_of_switch = |full: u32| self.places[(full / classes) as usize] != LinkPlace::FromHost;
        let levels = &mut self.levels[place * self.branches..];
        for (branch, level) in active.used_branches(tables).iter().zip(levels) {
            self.standing.remove(level);
            if level.bottleneck.is_some_and(is_of_switch) {
                self.standing.add(level, active.queued * f64::from(branch.weight) * level.rate / active.rate);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three branches wait for a link that holds 300 B, of each no more than 200 B.
    #[test]
    fn queues_are_sums_within_what_a_link_holds_and_empty_when_all_have_gone() {
        let mut standing = StandingQueues::new(2, StandingLimits { all: 300.0, of_connection: 200.0 });
        let mut levels = [Level { bottleneck: Some(1), ..Level::default() }; 3];
        let steps = [(0.1, 0.1), (f64::INFINITY, 0.1 + 200.0), (200.0, 300.0)];
        for (level, (bytes, expected)) in levels.iter_mut().zip(steps) {
            standing.add(level, bytes);
            assert_eq!((standing.bytes(1), standing.bytes(0)), (expected, 0.0));
        }
        assert_eq!([0, 1].map(|link| standing.is_filled(link)), [false, true]);
        let removed = levels.each_mut().map(|level| standing.remove(level));
        assert!(!standing.is_filled(1));
        assert_eq!((removed, standing.bytes(1)), ([0.1, 200.0, 200.0], 0.0));
        assert_eq!(levels.each_mut().map(|level| standing.remove(level)), [0.0; 3]);
    }
}
