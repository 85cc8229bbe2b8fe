//! Several fabrics side by side.

use etherweave_primitives::InputError;

use crate::Design;

/// Metrics by which fabrics are compared. Absent: not known.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct DesignMetrics {
    /// Name of the fabric.
    pub name: String,
    /// Hosts; more is better.
    pub hosts: u64,
    /// Rate between two halves per host [Gb/s]; more is better.
    pub bisection_gbps_per_host: f64,
    /// Entries of the largest compacted table; fewer is better.
    pub table_entries: Option<u64>,
    /// Worst-case power per host [W]; less is better.
    pub watts_per_host: Option<f64>,
    /// Price per host, in the currency of the book; less is better.
    pub price_per_host: Option<f64>,
    /// Whether no other fabric beats it: Pareto's criterion.
    pub is_efficient: bool,
    /// Fabrics that beat it: at least as good in everything that is known of it, and better in something.
    pub beaten_by: Vec<String>,
}

/// Fabrics with their metrics.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Comparison {
    /// Designs in the order given.
    pub designs: Vec<Design>,
    /// Metrics in the same order.
    pub metrics: Vec<DesignMetrics>,
}

impl Comparison {
    /// Compares designs. A fabric can beat another only if every metric that is known of the other is known of it; so
    /// the relation has no cycles.
    pub fn of(designs: Vec<Design>) -> Comparison {
        let mut metrics: Vec<DesignMetrics> = designs.iter().map(DesignMetrics::of).collect();
        DesignMetrics::compare(&mut metrics);
        Comparison { designs, metrics }
    }

    /// All designs and metrics, as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("figures are JSON")
    }
}

impl DesignMetrics {
    /// Finds out which fabrics beat which, of metrics as JSON: of designs that several processes have made.
    ///
    /// # Errors
    /// When the text is no list of metrics.
    pub fn compare_json(text: &str) -> Result<String, InputError> {
        let mistake = |error: serde_json::Error| InputError::new("metrics", error, "metrics of designs, as JSON");
        let mut metrics: Vec<DesignMetrics> = serde_json::from_str(text).map_err(mistake)?;
        DesignMetrics::compare(&mut metrics);
        Ok(serde_json::to_string(&metrics).expect("figures are JSON"))
    }

    fn compare(metrics: &mut [DesignMetrics]) {
        let beaten: Vec<Vec<String>> = metrics.iter().map(|fabric| fabric.beaten_by(metrics)).collect();
        for (fabric, beaten_by) in metrics.iter_mut().zip(beaten) {
            (fabric.is_efficient, fabric.beaten_by) = (beaten_by.is_empty(), beaten_by);
        }
    }

    fn of(design: &Design) -> DesignMetrics {
        let hosts = design.fabric.hosts as f64;
        DesignMetrics {
            name: design.name.clone(),
            hosts: design.fabric.hosts,
            bisection_gbps_per_host: design.fabric.bisection_gbps / hosts,
            table_entries: design.tables.as_ref().map(|tables| tables.compacted.largest.entries),
            watts_per_host: design.power.as_ref().map(|power| power.design().fabric.total_w / hosts),
            price_per_host: design.cost.as_ref().map(|cost| cost.total / hosts),
            is_efficient: true,
            beaten_by: Vec::new(),
        }
    }

    /// The goals, each so that more is better.
    fn goals(&self) -> [Option<f64>; 5] {
        [
            Some(self.hosts as f64),
            Some(self.bisection_gbps_per_host),
            self.table_entries.map(|entries| -(entries as f64)),
            self.watts_per_host.map(|watts| -watts),
            self.price_per_host.map(|price| -price),
        ]
    }

    fn beaten_by(&self, others: &[DesignMetrics]) -> Vec<String> {
        others.iter().filter(|other| other.beats(self)).map(|other| other.name.clone()).collect()
    }

    fn beats(&self, other: &DesignMetrics) -> bool {
        let goals = || self.goals().into_iter().zip(other.goals());
        let is_as_good = |(mine, its): (Option<f64>, Option<f64>)| its.is_none() || mine >= its;
        let is_better = |(mine, its): (Option<f64>, Option<f64>)| its.is_some() && mine > its;
        goals().all(is_as_good) && goals().any(is_better)
    }
}
