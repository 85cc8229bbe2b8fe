//! Warm-ups that leave nothing to measure: warnings of flows before a run, of streams after it.

use etherweave_primitives::{Duration, Time};
use etherweave_sim::{Job, Report, StreamRow};
use etherweave_workload::Traffic;

use crate::Scenario;

/// A warning for each job whose flows all start within the warm-up. Starts of flows that wait for others are not known
/// yet.
pub(crate) fn warnings(scenario: &Scenario, jobs: &[Job]) -> Vec<String> {
    let warm_up = scenario.run.warm_up;
    let warning = |job: &Job| {
        let Traffic::Streams(streams) = &job.traffic else { return None };
        let starts = streams.iter().map(|stream| {
            let flow = stream.flow_start.filter(|flow| flow.waits_for.is_none())?;
            Some(Time::ZERO + job.start + flow.after)
        });
        let last = starts.collect::<Option<Vec<Time>>>()?.into_iter().max()?;
        let is_within = last < Time::ZERO + warm_up;
        is_within.then(|| of_flows(warm_up, &job.name) + &all(streams.len(), "start", last))
    };
    jobs.iter().filter_map(warning).collect()
}

/// A warning for each job whose streams end within the warm-up, or whose flows start there and of which nothing `known`
/// was said before the run.
pub(crate) fn warnings_after(scenario: &Scenario, report: &Report, known: &[String]) -> Vec<String> {
    let warm_up = scenario.run.warm_up;
    let warning = |(number, name): (u32, &String)| {
        let rows: Vec<&StreamRow> = report.streams.iter().filter(|row| row.job == number).collect();
        let is_flow = rows.first()?.is_flow;
        let last = rows.iter().map(|row| if is_flow { row.start } else { row.end }).max()?;
        let is_within = last < Time::ZERO + warm_up && (is_flow || rows.iter().all(|row| row.is_whole));
        let (begin, verb) =
            if is_flow { (of_flows(warm_up, name), "start") } else { (of_streams(warm_up, name), "end") };
        let is_new = !known.iter().any(|warning| warning.starts_with(&begin));
        (is_within && is_new).then(|| begin + &all(rows.len(), verb, last))
    };
    (0..).zip(&report.jobs).filter_map(warning).collect()
}

fn of_flows(warm_up: Duration, job: &str) -> String {
    format!("run.warm_up: {warm_up}; results have no flow of {job}: ")
}

fn of_streams(warm_up: Duration, job: &str) -> String {
    format!("run.warm_up: {warm_up}; results have no goodput of {job}: ")
}

fn all(count: usize, verb: &str, last: Time) -> String {
    format!("all {count} {verb} before, the last after {:.3} us", last.as_ns_f64() / 1e3)
}

#[cfg(test)]
mod tests {
    use crate::Run;

    fn warnings(warm_up: &str, workload: &str) -> Vec<String> {
        let text = format!(
            "topology.single_switch = {{ hosts = 4, rate = \"100Gb/s\" }}\nrun.warm_up = \"{warm_up}\"\n[[job]]\n\
             name = \"web\"\nstart = \"1us\"\nworkload.{workload}"
        );
        let run = Run::start(&text, "x.toml", &[], 1, &[]).unwrap();
        run.finish(&mut |_| true).0.summary.warnings
    }

    #[test]
    fn a_warm_up_beyond_all_flows_is_warned_of() {
        let list = |after: &str| {
            let rows = format!("a,0,1,1000,0,\\nb,1,2,1000,3,{after}\\n");
            format!("flows.text = \"id,source,destination,bytes,start_us,after\\n{rows}\"")
        };
        let expected = "run.warm_up: 5us; results have no flow of web: all 2 start before, the last after 4.000 us";
        assert_eq!(warnings("5us", &list("")), [expected]);
        assert_eq!(warnings("4us", &list("")), Vec::<String>::new());
        let [waiting] = &warnings("1ms", &list("a"))[..] else { panic!("a single warning") };
        assert!(waiting.starts_with("run.warm_up: 1ms; results have no flow of web: all 2 start"), "{waiting}");
        assert_eq!(warnings("4us", &list("a")), Vec::<String>::new());
    }

    #[test]
    fn a_warm_up_beyond_all_streams_is_warned_of() {
        let streams = "permutation_streams = { ranks = 4, message = \"100kB\" }";
        let [warning] = &warnings("1ms", streams)[..] else { panic!("a single warning") };
        assert!(warning.starts_with("run.warm_up: 1ms; results have no goodput of web: all 4 end before"), "{warning}");
        assert_eq!(warnings("2us", streams), Vec::<String>::new());
    }
}
