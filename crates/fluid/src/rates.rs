//! Rates that were solved, as messages go on at them.

use std::cmp::Reverse;

use etherweave_primitives::Time;

use super::left_out::Solution;
use super::{Ends, Fluid, Level, LinkPlace, Share, Tables};

impl Fluid {
    /// Lets messages go on at the rates that were solved. What follows from all of them is summed up anew in solutions
    /// that are counted.
    pub(super) fn apply_rates(&mut self, now: Time, is_counted: bool, tables: Tables<'_>) {
        let are_all = is_counted || self.solving.len() == self.active.len();
        let (mut ends, solving) = (std::mem::take(&mut self.ends), std::mem::take(&mut self.solving));
        if are_all {
            ends.clear();
            self.message_ends = Ends::default();
        }
        let (solved, mut next, mut first) = (std::mem::take(&mut self.shares), 0, 0);
        for number in 0..if are_all { self.active.len() } else { solving.len() } {
            let place = if are_all { number } else { solving[number] as usize };
            if !are_all {
                self.message_ends -= self.active[place].ends(&self.counted);
            }
            let span = now.since(self.active[place].since).as_ps() as f64;
            self.drain(place, span, tables);
            if solving.get(next).is_some_and(|&solved| solved as usize == place) {
                let last = first + self.active[place].used_branches(tables).len();
                self.change_rates(now, place, &solved[first..last], tables);
                (next, first) = (next + 1, last);
            }
            self.leave_standing(place, number, span, tables);
            let active = &mut self.active[place];
            active.since = now;
            self.message_ends += active.ends(&self.counted);
            if !active.is_in_packets() {
                active.ends = now + active.lasts();
                ends.push(Reverse((active.ends, active.endpoint)));
            }
        }
        (self.ends, self.solving, self.shares) = (ends, solving, solved);
        self.note_crossed(are_all, tables);
        self.queue_messages(tables);
        self.interval = self.interval_of(self.message_ends.between().unwrap_or(0.0));
        let interval = self.interval;
        self.beside.iter_mut().for_each(|beside| beside.hold(interval));
    }

    /// Counts what the message that leads at a place has sent at its rates for a span [ps].
    fn drain(&mut self, place: usize, span: f64, tables: Tables<'_>) {
        let active = &mut self.active[place];
        active.left -= active.rate * span;
        if let Some(beside) = self.beside.as_ref().filter(|_| !active.is_in_packets()) {
            let first = active.links.first.get();
            let answer = beside.waits(&active.back, tables, &self.solver);
            active.queue(self.solver.capacity(first) / self.uses[first as usize].connections, span, answer);
        }
        let levels = &mut self.levels[place * self.branches..][..self.branches];
        levels.iter_mut().for_each(|level| level.sent += level.rate * span);
    }

    /// Gives the branches of the connection at a place the rates that were solved.
    fn change_rates(&mut self, now: Time, place: usize, own: &[Share], tables: Tables<'_>) {
        let active = &mut self.active[place];
        let mut beside = self.beside.as_mut().filter(|_| !active.is_in_packets());
        let links = active.links;
        let (branches, _) = links.all_branches(tables);
        active.rate = 0.0;
        for (number, (&branch, level)) in branches.iter().zip(&mut self.levels[place * self.branches..]).enumerate() {
            let Share { rate, bottleneck } = own.get(number).copied().unwrap_or(Share { rate: 0.0, bottleneck: None });
            // Links whose rates stay carry on, but for what packets beside messages see.
            let changes = rate != level.rate || beside.is_some();
            for (link, part) in changes.then(|| links.flow(branch).links(tables)).into_iter().flatten() {
                let (used, capacity) = (&mut self.uses[link as usize], self.solver.capacity(link));
                used.meter(now, self.solver.filled(link));
                used.rate += (rate - level.rate) * part;
                if let Some(beside) = &mut beside {
                    beside.change(now, (link, capacity), (rate - level.rate) * part);
                }
            }
            self.standing.remove(level);
            *level = Level { rate, bottleneck, ..*level };
            active.rate += rate * f64::from(branch.weight);
        }
    }

    /// Notes where messages wait for which packets have to wait.
    fn queue_messages(&mut self, tables: Tables<'_>) {
        let Some(beside) = &mut self.beside else { return };
        let (mut shares, solver, uses) = (self.shares.as_slice(), &self.solver, &self.uses);
        let used = |link: u32| (uses[link as usize].rate / solver.capacity(link)).min(1.0);
        let is_between = |link: u32| self.places[link as usize] == LinkPlace::Between;
        for active in &self.active {
            let branches = active.used_branches(tables);
            let (own, next) = shares.split_at(branches.len());
            shares = next;
            for (&branch, share) in branches.iter().zip(own).filter(|_| active.queued > 0.0) {
                let bytes = active.queued * f64::from(branch.weight) * share.rate / active.rate;
                if let Some(full) = share.bottleneck {
                    beside.queue(branch, full, bytes, tables, (is_between, used));
                }
            }
        }
        beside.settle();
    }

    /// Counts what packets would do otherwise at the rates of all connections.
    pub(super) fn count_left_out(&mut self, tables: Tables<'_>) {
        let (classes, branches) = (self.solver.classes(), self.branches);
        let (connections, solved, places) = (self.active.as_slice(), self.solving.as_slice(), self.places.as_slice());
        let solution = Solution { connections, solved, branches, places, classes, tables };
        self.left_out.note_held_back(&solution, &mut self.levels);
        let (solver, uses) = (&self.solver, &self.uses);
        self.left_out.count(&solution, &self.levels, |active| active.sent(solver, uses));
    }
}
