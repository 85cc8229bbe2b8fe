//! The Python face: translation only. No number is computed here, no decision taken.

mod error;
mod extend;
mod fabric;
mod interruptible;
mod memory;
mod part_file;
mod processes;
mod recorded;
mod run;
mod schedules;
mod table;

use pyo3::prelude::*;

/// The compiled core of Etherweave.
#[pymodule]
mod _core {
    use std::{collections::BTreeMap, sync::Arc};

    use arrow_array::StringArray;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::error::{Mistake, ScenarioError, of_mistakes};
    #[pymodule_export]
    use crate::extend::{DriverEvent, Feedback, FreshConnection, NextOperations, PortTelemetry, Progress, Received};
    #[pymodule_export]
    use crate::fabric::{
        Deployment, Design, Fabric, check_document, compare, compare_metrics, exports, largest, proposals,
    };
    #[pymodule_export]
    use crate::processes::{abort_processes, join_processes, leave_processes};
    #[pymodule_export]
    use crate::recorded::Recording;
    #[pymodule_export]
    use crate::run::{Run, figures, foresee, full_frame, resolve, run, schema, sweep, workload_figures};
    #[pymodule_export]
    use crate::schedules::{Schedule, Schedules, convert_goal, executor_sources, schedules};
    #[pymodule_export]
    use crate::table::Table;

    /// Records panics, so that those who catch them know the place.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        etherweave_scenario::record_panics(std::env::var_os("RUST_BACKTRACE").is_some());
        module.py().get_type::<ScenarioError>().setattr("mistakes", ())?;
        module.add("PanicException", module.py().get_type::<pyo3::panic::PanicException>())
    }

    /// Message and place in the code of the first panic that nobody has asked for yet.
    #[pyfunction]
    fn take_fault() -> Option<(String, String)> {
        etherweave_scenario::take_fault().map(|fault| (fault.message, fault.place))
    }

    /// Version of the core, as in `Cargo.toml`.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Sizes of the headers of a frame [B].
    #[pyfunction]
    fn header_bytes() -> BTreeMap<&'static str, u32> {
        etherweave_scenario::header_bytes().into()
    }

    /// How the core was built, stored with every result.
    #[pyfunction]
    fn build() -> Table {
        let optimised = if cfg!(debug_assertions) { "debug" } else { "release" };
        let facts = [("version", version()), ("profile", optimised), ("architecture", std::env::consts::ARCH)];
        let (names, values): (Vec<_>, Vec<_>) = facts.into_iter().unzip();
        Table::new(
            "build",
            vec![
                ("fact".into(), Arc::new(StringArray::from(names))),
                ("value".into(), Arc::new(StringArray::from(values))),
            ],
        )
    }
}
