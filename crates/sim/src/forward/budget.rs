//! Share of a run without loops in which arrivals are compared: it costs time for each, and may find nothing.

use super::messages::TURNS_MAX;

/// Share of the packet-hops of a run that may be compared, simulated or skipped: one of so many.
const SHARE: u64 = 16;

/// Longest time without a turn, in turns like the last.
const PAUSE_MAX: u64 = 1024;

/// Turns that are compared in any case.
const TURNS_FREE: u32 = 2 * TURNS_MAX as u32;

/// Packet-hops that were compared, and those of the run. Both depend on events alone, so that comparisons begin and end
/// at the same turns on any number of threads and processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComparisonBudget {
    turns_free: u32,
    /// Packet-hops at the last turn.
    hops: u64,
    /// Packet-hops of a turn, of those since the last.
    turn: u64,
    /// Turns for which the time until the next stands.
    turns: u64,
    /// Cost of a turn beside its packet-hops, in such: one for each port and connection.
    entities: u64,
    /// Packet-hops that were compared beside free turns, and what that cost beside them.
    compared: u64,
    /// Packet-hops that were simulated or skipped.
    passed: u64,
    /// Whether those behind the last turn are compared.
    pub is_comparing: bool,
}

impl ComparisonBudget {
    /// Budget of a run that has not begun.
    pub fn new() -> ComparisonBudget {
        ComparisonBudget {
            turns_free: TURNS_FREE,
            hops: 0,
            turn: 0,
            turns: 1,
            entities: 0,
            compared: 0,
            passed: 0,
            is_comparing: false,
        }
    }

    /// Takes a turn with so many packet-hops since the start of the run. What comes is compared while the budget lasts,
    /// or turns repeat others, and then once it allows for as many turns as show a period.
    pub fn turn(&mut self, hops: u64, entities: u64, is_repeating: bool) {
        self.entities = entities;
        self.pass(hops);
        let turns = if self.is_comparing { 1 } else { TURNS_MAX as u64 };
        let is_within = self.turns_free > 0 || self.compared + turns * self.cost() <= self.passed / SHARE;
        self.is_comparing = is_within || is_repeating && self.is_comparing;
    }

    /// Takes a turn of a loop, whose digest is small by its packet-hops: what comes is compared.
    pub fn turn_of_loop(&mut self, hops: u64) {
        (self.passed, self.hops, self.turns) = (self.passed + hops - self.hops, hops, 1);
        self.is_comparing = true;
    }

    /// Turns like the last until comparisons begin again, at least 1, of which only the last is taken.
    pub fn skip_turns(&mut self) -> u64 {
        let needed = SHARE * (self.compared + TURNS_MAX as u64 * self.cost());
        self.turns = PAUSE_MAX.min(needed.saturating_sub(self.passed) / self.turn.max(1) + 1);
        self.turns
    }

    /// Takes the end of comparisons.
    pub fn pause(&mut self, hops: u64) {
        self.pass(hops);
        self.is_comparing = false;
    }

    /// Takes a skip of so many packet-hops.
    pub fn skip(&mut self, hops: u64) {
        self.passed += hops;
    }

    fn cost(&self) -> u64 {
        self.turn + self.entities
    }

    fn pass(&mut self, hops: u64) {
        let passed = hops - self.hops;
        self.turn = passed / std::mem::replace(&mut self.turns, 1);
        (self.hops, self.passed) = (hops, self.passed + passed);
        if self.turns_free > 0 {
            self.turns_free -= u32::from(self.is_comparing);
        } else if self.is_comparing {
            self.compared += self.cost();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of so many packet-hops that are compared, of so many.
    fn compared(turns: u64, hops: u64) -> u64 {
        let mut budget = ComparisonBudget::new();
        let turn = |number| {
            budget.turn(number * hops, 0, false);
            u64::from(budget.is_comparing)
        };
        (1..=turns).map(turn).sum()
    }

    #[test]
    fn a_sixteenth_of_a_long_run_is_compared_beside_free_turns() {
        let free = u64::from(TURNS_FREE);
        assert_eq!(compared(free, 10), free);
        for hops in [10, 1_000_000] {
            let paid = compared(100_000, hops) - free;
            assert!((6_050..=6_250).contains(&paid), "{paid}");
        }
    }

    #[test]
    fn comparisons_go_on_for_as_many_turns_as_show_a_period_or_while_turns_repeat() {
        let mut budget = ComparisonBudget { turns_free: 0, ..ComparisonBudget::new() };
        let mut turns = (1..10_000).map(|number| {
            budget.turn(10 * number, 0, false);
            budget.is_comparing
        });
        let (first, count) = (turns.position(|is_comparing| is_comparing), turns.take_while(|&own| own).count() as u64);
        assert_eq!(first, Some(16 * 128 - 1));
        assert!((128..160).contains(&count), "{count}: a sixteenth of these turns is added");
        let next = |budget: &mut ComparisonBudget, is_repeating| {
            budget.turn(budget.hops + 10, 0, is_repeating);
            budget.is_comparing
        };
        budget = ComparisonBudget { is_comparing: true, turns_free: 0, ..ComparisonBudget::new() };
        assert!(next(&mut budget, true) && !next(&mut budget, false) && !next(&mut budget, true));
    }

    #[test]
    fn a_pause_counts_as_the_turns_that_it_stands_for() {
        let mut budget = ComparisonBudget { turns_free: 0, ..ComparisonBudget::new() };
        let (mut turn, mut compared) = (0, Vec::new());
        while turn < 50_000 {
            turn += if budget.is_comparing || turn == 0 { 1 } else { budget.skip_turns() };
            budget.turn(10 * turn, 0, false);
            compared.extend(budget.is_comparing.then_some(turn));
        }
        let starts = compared.windows(2).filter(|turns| turns[1] > turns[0] + 1).count();
        assert!((2_800..3_300).contains(&compared.len()) && starts > 20, "{} in {starts}", compared.len());
    }

    #[test]
    fn skipped_hops_pay_for_comparisons_to_come() {
        let mut budget = ComparisonBudget { turns_free: 0, ..ComparisonBudget::new() };
        budget.skip(1_000_000);
        budget.turn(10, 0, false);
        assert!(budget.is_comparing);
        budget.turn_of_loop(10);
        assert!(budget.is_comparing && budget.compared == 0);
        budget.pause(20);
        assert!(!budget.is_comparing && budget.compared == 10);
        let costs = |entities| {
            let mut budget = ComparisonBudget { turns_free: 0, passed: 30_000, ..budget };
            budget.turn(30, entities, false);
            !budget.is_comparing
        };
        assert!(!costs(0) && costs(10), "128 turns of 20 packet-hops are more than a sixteenth");
    }
}
