//! Work of a run that skips repetitions: what of it is simulated.

/// Measured iterations of a shard that are skipped.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SkippedWork {
    /// Iterations that were skipped.
    pub skipped: u64,
    /// Repetitions of the watched loop that come before more are skipped, at least; none where no more are.
    pub needed: Option<u32>,
}

impl SkippedWork {
    /// Share that is done of the iterations to simulate, where `done` of `all` are done or were skipped, and so many
    /// more are skipped.
    pub fn share(&self, done: u64, all: u64, skippable: u64) -> f64 {
        let simulated = done - self.skipped;
        simulated as f64 / (all - self.skipped - skippable).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_is_done_is_that_of_simulated_iterations() {
        let share = |skipped, done, all| SkippedWork { skipped, needed: None }.share(done, all, 0);
        assert_eq!(share(0, 100, 1000), 0.1);
        assert_eq!(SkippedWork::default().share(100, 1000, 800), 0.5, "800 of 900 are skipped");
        // 800 were skipped; half of the others is done.
        assert_eq!(share(800, 900, 1000), 0.5);
        assert_eq!(share(800, 1000, 1000), 1.0);
        assert_eq!(share(0, 0, 0), 0.0);
    }
}
