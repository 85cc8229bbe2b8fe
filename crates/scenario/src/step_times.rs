//! What reports print of a training step beside its result.

use etherweave_primitives::{InputError, InputErrors};
use etherweave_workload::Training;

/// The parts of a training step that are known before it is simulated, as JSON; `training` is the table of the workload
/// in a resolved scenario, as JSON.
///
/// # Errors
/// When it is none.
pub fn step_times(training: &str) -> Result<String, InputErrors> {
    let training: Training = serde_json::from_str(training)
        .map_err(|error| InputError::new("training", error, "the table of a resolved scenario"))?;
    Ok(serde_json::to_string(&training.step_times()?).expect("numbers are JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One accelerator after another computes 10^12 operations in 2 ms by default, whatever else a table leaves out.
    #[test]
    fn parts_of_a_step_are_those_of_the_table() {
        let parts: serde_json::Value = serde_json::from_str(&step_times("{ \"ranks\": 64 }").unwrap()).unwrap();
        let of = |name: &str| parts[name].as_f64().unwrap();
        let computation = of("operations") / 64.0 * 2e-15;
        assert!((of("computation_s") / computation - 1.0).abs() < 1e-6, "{parts}");
        assert!(of("imbalance_s") > 0.0 && of("in_node_s") > 0.0, "{parts}");
        let error = step_times("{ \"ranks\": 63 }").unwrap_err().to_string();
        assert_eq!(error, "ranks: 63; expected a multiple of 8 · 1 · 4 (tensor, context, pipeline)");
        assert!(step_times("{").unwrap_err().to_string().starts_with("training: "));
    }
}
