//! A report as one line of JSON.

use etherweave_openloop::Report;
use serde_json::{Value, json};

/// Values of every port and batch are included only where steps are recorded.
pub fn json(report: &Report) -> Value {
    let percentile = |share| report.latency_ns.percentile(share);
    let cycle = report.deadlock.iter().map(|step| json!([step.switch, step.port, step.channel]));
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
        "misrouted_share": report.misrouted_share,
        "fairness": [report.fairness.jain(), report.fairness.least_to_most()],
        "made": report.made,
        "source_blocked": report.source_blocked,
        "delivered": report.delivered,
        "lost": report.lost,
        "in_flight": report.in_flight,
        "packet_hops": report.packet_hops,
        "idle_ns": report.idle_ns,
        "deadlock": cycle.collect::<Vec<_>>(),
        "packets_most": report.packets_most,
        "fingerprint": format!("{:016x}", report.fingerprint),
        "batch_ns": report.batch_ns,
        "radix": report.radix,
    });
    if !report.steps.is_empty() {
        let batches = report.batches.iter();
        value["batches"] = batches
            .map(|batch| json!([batch.offered, batch.delivered, batch.latency, batch.hops, batch.misrouted]))
            .collect();
        value["histogram"] = report.latency_ns.buckets().map(|(end, count)| json!([end, count])).collect();
        value["busy"] = json!(report.busy);
        value["paused"] = json!(report.paused);
        value["steps"] = json!(report.steps);
    }
    value
}
