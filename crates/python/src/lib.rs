//! The Python face: translation only. No number is computed here, no decision taken.

use pyo3::prelude::*;

/// The compiled core of Etherweave.
#[pymodule]
mod _core {
    use super::*;

    /// Version of the core, as in `Cargo.toml`.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
