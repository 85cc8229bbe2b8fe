//! Cases of `etherweave curve`: synthetic traffic on a small fabric.

use etherweave_scenario::{Column, Fabric, Processes, ScenarioError, Table};

use crate::failure::{Failure, calmly};
use crate::launch::{MEMORY_MAX, THREADS};
use crate::outcome::{Columns, table_difference};
use crate::{quantity, tree};

/// Packets of the queue of an output, at most, and the one on the link.
const QUEUE_MAX: f64 = 65.0;

/// Whether a scenario is a case of a curve: synthetic traffic, and no jobs.
pub(crate) fn is_curve(scenario: &toml::Table) -> bool {
    scenario.contains_key("open_loop") && !scenario.contains_key("job")
}

/// Whether a curve is refused: what a routing requires is known when its first point is simulated.
pub(crate) fn refusal(text: &str) -> Result<(), ScenarioError> {
    points(text, 1).map(|_| ())
}

/// Simulates the points of a curve on one, two and three threads.
pub(crate) fn check(text: &str) -> Result<&'static str, Failure> {
    let mut first: Option<Table> = None;
    for threads in THREADS {
        let points = calmly(|| points(text, threads))?.map_err(|error| Failure::new("refused", error.to_string()))?;
        if let Some(difference) = first.as_ref().and_then(|first| table_difference(first, &points)) {
            return Err(Failure::new("threads of a curve", format!("1 and {threads} threads: {difference}")));
        }
        if first.is_none() {
            bounds(&Columns::new(&points), packet_ns(text)?)?;
            first = Some(points);
        }
    }
    Ok("curve")
}

fn points(text: &str, threads: usize) -> Result<Table, ScenarioError> {
    let fabric = Fabric::parse(text, "x.toml", &[])?;
    let (mut points, _) = fabric.curve(&Processes::ALONE, threads, Some(MEMORY_MAX), &mut |_| true)?;
    points.columns.retain(|(name, _): &(&str, Column)| *name != "wall_s");
    Ok(points)
}

/// How long a packet takes on the slowest link [ns].
fn packet_ns(text: &str) -> Result<f64, Failure> {
    let scenario: toml::Table = text.parse().expect("what ran is TOML");
    let packet = tree::get(&scenario, "open_loop.packet").and_then(toml::Value::as_str);
    let bytes = packet.and_then(quantity::bytes).unwrap_or(1_000);
    let fabric = Fabric::parse(text, "x.toml", &[]).map_err(|error| Failure::new("refused", error.to_string()))?;
    let rates = fabric.topology().channels().iter().map(|channel| channel.rate.as_bps());
    Ok(8e9 * bytes as f64 / rates.min().unwrap_or(1) as f64)
}

/// No link is busier than always, and packets are conserved. A packet is delivered as a whole, when its last bit
/// arrives.
fn bounds(points: &Columns<'_>, packet_ns: f64) -> Result<(), Failure> {
    let counts = ["packets_made", "packets_delivered", "packets_lost", "packets_in_flight"];
    let [made, delivered, lost, in_flight] = counts.map(|name| points.integers(name));
    for row in 0..made.len() {
        let routing = &points.texts("routing")[row];
        let detail = || {
            format!(
                "{routing}: {} made, {} delivered, {} lost, {} in flight",
                made[row], delivered[row], lost[row], in_flight[row]
            )
        };
        if made[row] != delivered[row] + lost[row] + in_flight[row] {
            return Err(Failure::new("packets of a curve are conserved", detail()));
        }
        let edge = QUEUE_MAX * packet_ns / points.integers("measured_ns")[row].max(1) as f64;
        let shares = [("busy_max", 0.0), ("load_accepted", edge), ("fairness_jain", 0.0), ("misrouted_share", 0.0)];
        for (column, slack) in shares {
            let share = points.numbers(column)[row];
            if share > 1.0 + slack + 1e-6 {
                return Err(Failure::new(format!("{column} is a share"), format!("{routing}: {share}")));
            }
        }
    }
    Ok(())
}
