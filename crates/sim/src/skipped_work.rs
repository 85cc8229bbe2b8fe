//! Work of a run that skips repetitions: what of it is simulated.

/// Measured iterations of a shard that are skipped.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SkippedWork {
    /// Iterations that were skipped.
    pub skipped: u64,
    /// Whether more may be.
    pub is_open: bool,
}

impl SkippedWork {
    /// Share that is done of the iterations to simulate, where `done` of `all` are done or were skipped, and no more
    /// are skipped.
    pub fn share(&self, done: u64, all: u64) -> f64 {
        let simulated = done - self.skipped;
        simulated as f64 / (all - self.skipped).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_is_done_is_that_of_simulated_iterations() {
        let share = |skipped, done, all| SkippedWork { skipped, is_open: true }.share(done, all);
        assert_eq!(share(0, 100, 1000), 0.1);
        // 800 were skipped; half of the others is done.
        assert_eq!(share(800, 900, 1000), 0.5);
        assert_eq!(share(800, 1000, 1000), 1.0);
        assert_eq!(share(0, 0, 0), 0.0);
    }
}
