//! Figures of a workload that reports print beside its result.

use etherweave_primitives::{InputError, InputErrors};
use etherweave_workload::Workload;

/// Figures of a workload that are known before it is simulated, as JSON: parts of a training step, copies of tokens.
/// `workload` is its table in a resolved scenario, as JSON; `seed` is the run's.
///
/// # Errors
/// When it is none.
pub fn workload_figures(workload: &str, seed: u64) -> Result<String, InputErrors> {
    let workload: Workload = serde_json::from_str(workload)
        .map_err(|error| InputError::new("workload", error, "the table of a resolved scenario"))?;
    Ok(workload.figures(seed)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One accelerator after another computes 10^12 operations in 2 ms by default, whatever else a table leaves out.
    #[test]
    fn parts_of_a_step_are_those_of_the_table() {
        let figures = |text: &str| workload_figures(&format!("{{ \"training\": {text} }}"), 1);
        let parts: serde_json::Value = serde_json::from_str(&figures("{ \"ranks\": 64 }").unwrap()).unwrap();
        let of = |name: &str| parts[name].as_f64().unwrap();
        let computation = of("operations") / 64.0 * 2e-15;
        assert!((of("computation_s") / computation - 1.0).abs() < 1e-6, "{parts}");
        assert!(of("imbalance_s") > 0.0 && of("in_node_s") > 0.0, "{parts}");
        let error = figures("{ \"ranks\": 63 }").unwrap_err().to_string();
        assert_eq!(error, "ranks: 63; expected a multiple of 8 · 1 · 4 (tensor, context, pipeline)");
        assert!(figures("{").unwrap_err().to_string().starts_with("workload: "));
        assert_eq!(workload_figures("{ \"fft\": {} }", 1).unwrap(), "null");
    }
}
