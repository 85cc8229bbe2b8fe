//! Repetitions of a rank that are skipped: its program goes on behind them, and its rows are those of others.

use etherweave_primitives::{Duration, Time};
use etherweave_workload::LoopPlace;

use super::{IterationRow, RankState};

impl RankState {
    /// Place in the loop that it performs: the outermost long one of its program, or the iterations of its graph.
    pub fn loop_place(&self) -> Option<LoopPlace> {
        match &self.graph {
            None => self.cursor.loop_place(&self.program),
            // Of a driver, iterations are not equal.
            Some(graph) if graph.run.graph().is_driven() => None,
            Some(graph) => LoopPlace::long(0, self.iteration + graph.iterations, self.iteration),
        }
    }

    /// Measured iterations that may be skipped once so many repetitions of its loop are over, the present one included.
    pub fn skippable(&self, repetitions: u32) -> u64 {
        let (done, all) = self.iterations();
        let Some(place) = self.loop_place() else {
            return if self.cursor.has_later_loops(&self.program) { all - done } else { 0 };
        };
        let of_each = self.iterations_of_each();
        let present = |repetitions: u32| u64::from((place.left() + 1).saturating_sub(repetitions)) * of_each;
        let is_last = self.graph.is_some() || !self.cursor.has_later_loops(&self.program);
        let behind = if is_last { 0 } else { (all - done).saturating_sub(present(0)) };
        present(repetitions) + behind
    }

    /// Measured iterations of a repetition of its loop.
    fn iterations_of_each(&self) -> u64 {
        if self.graph.is_some() { 1 } else { self.cursor.loop_iterations(&self.program) }
    }

    /// Has all that it performs from now on be later by a time that is not simulated.
    pub(crate) fn delay(&mut self, span: Duration) {
        self.skipped += span;
    }

    /// A time of its present iteration, with what of that is not simulated.
    pub(crate) fn present_time(&self, now: Time) -> Time {
        now + (self.skipped - self.skipped_before)
    }

    /// Start of the present repetition, or of a later one of a block within it.
    pub fn turned_at(&self) -> Time {
        self.graph.as_ref().map_or(self.block_start, |graph| graph.start)
    }

    /// Skips `times` times the last `repetitions` of its loop, which took `period` together: their rows are repeated.
    /// Returns how many rows it adds.
    ///
    /// # Panics
    /// When as many are not left in its loop.
    pub fn skip(&mut self, repetitions: u32, times: u32, period: Duration) -> u64 {
        let of_each = self.iterations_of_each();
        let repeated = of_each as usize * repetitions as usize;
        for _ in 0..repeated * times as usize {
            let row = self.rows[self.rows.len() - repeated];
            self.rows.push(IterationRow { iteration: self.iteration, start: row.start + period, ..row });
            self.iteration += 1;
        }
        match &mut self.graph {
            None => self.cursor.skip(&self.program, repetitions * times),
            Some(graph) => graph.iterations -= repetitions * times,
        }
        self.delay(period * u64::from(times));
        if of_each > 0 {
            // The loop is not within the present iteration, but has it.
            self.skipped_before = self.skipped;
        }
        (repeated * times as usize) as u64
    }
}
