//! A report as one line of JSON.

use etherweave_openloop::Report;
use serde_json::{Value, json};

/// What is told of every port or batch comes only with a film.
pub fn json(report: &Report) -> Value {
    let percentile = |share| report.latency_ns.percentile(share);
    let ring = report.deadlock.iter().map(|step| json!([step.switch, step.port, step.channel]));
    let mut value = json!({
        "load_offered": report.load_offered,
        "load_accepted": report.load_accepted,
        "load_accepted_half_width": report.load_accepted_half_width,
        "latency_ns_mean": report.latency_ns_mean,
        "latency_ns_half_width": report.latency_ns_half_width,
        "latency_ns": [percentile(0.5), percentile(0.99), percentile(0.999)],
        "measured_ns": [report.measured_ns.start, report.measured_ns.end],
        "is_steady": report.is_steady,
        "hops_mean": report.hops_mean,
        "detoured_share": report.detoured_share,
        "fairness": [report.fairness.jain(), report.fairness.least_to_most()],
        "made": report.made,
        "refused": report.refused,
        "delivered": report.delivered,
        "lost": report.lost,
        "in_flight": report.in_flight,
        "packet_hops": report.packet_hops,
        "idle_ns": report.idle_ns,
        "deadlock": ring.collect::<Vec<_>>(),
        "packets_most": report.packets_most,
        "fingerprint": format!("{:016x}", report.fingerprint),
        "batch_ns": report.batch_ns,
        "radix": report.radix,
    });
    if !report.film.is_empty() {
        let batches = report.batches.iter();
        value["batches"] = batches
            .map(|batch| json!([batch.offered, batch.delivered, batch.latency, batch.hops, batch.detoured]))
            .collect();
        value["histogram"] = report.latency_ns.buckets().map(|(end, count)| json!([end, count])).collect();
        value["busy"] = json!(report.busy);
        value["paused"] = json!(report.paused);
        value["film"] = json!(report.film);
    }
    value
}
