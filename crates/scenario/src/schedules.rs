//! A scenario's jobs as schedules that a program elsewhere executes: the very programs that a run simulates.

use std::io::{BufRead, Seek, Write};

use etherweave_primitives::{HostId, InputError};
use etherweave_sim::Job;
use etherweave_topology::Topology;
use etherweave_workload::{Amounts, Chakra, Goal, Schedule, Traffic, check_progress, programs_of_graphs};

use crate::scenario::{Scenario, experiment, read};
use crate::{
    ScenarioError, forecast::estimate, forecast::memory::MemoryLimit, parts::host_ports::generate,
    text::document::Document,
};

/// All jobs of a scenario.
#[derive(Clone, Debug)]
pub struct Schedules {
    /// Name of the scenario.
    pub name: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// The scenario with every default, as TOML.
    pub resolved: String,
    /// Rate of the slowest link of a host that a job has [b/s].
    pub rate_bps: u64,
    /// When the run ends at the latest [ns].
    pub end_ns: Option<f64>,
    /// Schedules of the jobs, in the order of the scenario.
    pub jobs: Vec<JobSchedule>,
}

/// One job.
#[derive(Clone, Debug)]
pub struct JobSchedule {
    /// Name of the job in tables.
    pub name: String,
    /// The host of each rank, as the topology calls it.
    pub hosts: Vec<String>,
    /// How much it is.
    pub amounts: Amounts,
    /// The schedule, as [`Schedule::to_bytes`] writes it; an error for graphs that are no sequences, which have none.
    pub bytes: Result<Vec<u8>, ScenarioError>,
    /// Its operations, known before a run.
    traffic: Traffic,
}

impl JobSchedule {
    /// How much it is, as JSON.
    pub fn amounts_json(&self) -> String {
        serde_json::to_string(&self.amounts).expect("amounts are JSON")
    }

    /// Writes the programs or graphs as GOAL text, rank by rank.
    ///
    /// # Errors
    /// When it is one of streams, or a rank has more operations than memory should; when `out` fails.
    pub fn goal(&self, out: &mut impl Write) -> Result<(), InputError> {
        Goal::write(&self.traffic, out)
    }

    /// The same as GOAL binary.
    ///
    /// # Errors
    /// As [`JobSchedule::goal`].
    pub fn goal_binary(&self, out: impl Write + Seek) -> Result<(), InputError> {
        Goal::write_binary(&self.traffic, out)
    }

    /// The same as execution traces of Chakra, one of each rank.
    ///
    /// # Errors
    /// When it is one of streams, longer than such files should be, or receives from any rank or with any tag.
    pub fn chakra(&self) -> Result<Vec<Vec<u8>>, InputError> {
        Chakra::write(&self.traffic)
    }
}

/// Writes a GOAL text as a binary, with one rank of it in memory at a time.
///
/// # Errors
/// When it is no GOAL, or its ranks are not in order; with the line. When `text` or `out` fails.
pub fn convert_goal(text: impl BufRead, out: impl Write + Seek) -> Result<(), InputError> {
    Goal::convert(text, out)
}

impl Schedules {
    /// Reads and checks a scenario as a run does. Programs run once before they count, each block at most `warm_up`
    /// times.
    ///
    /// # Errors
    /// The first mistake in the scenario.
    pub fn of(
        text: &str,
        origin: &str,
        overrides: &[(String, String)],
        warm_up: u32,
    ) -> Result<Schedules, ScenarioError> {
        let (document, scenario) = read(text, origin, overrides)?;
        let limit = MemoryLimit::of(None).map_err(|error| document.elsewhere(error))?;
        let topology = generate(&scenario).map_err(|error| document.locate(error))?;
        estimate::programs(&scenario, &topology).check(&limit).map_err(|error| document.locate(error))?;
        let experiment = experiment(&document, &scenario, topology, &[])?;
        let topology = &experiment.topology;
        let rates = experiment.jobs.iter().flat_map(|job| &job.hosts).map(|&host| rate_bps(topology, host));
        let rate_bps = rates.min().unwrap_or(0);
        let numbered = experiment.jobs.into_iter().enumerate();
        let jobs = numbered.map(|(number, job)| schedule(&document, &scenario, topology, (number, job), warm_up));
        let jobs = jobs.collect::<Result<_, _>>()?;
        Ok(Schedules {
            name: scenario.name.clone(),
            seed: scenario.seed,
            resolved: scenario.resolved(),
            rate_bps,
            end_ns: scenario.run.end.map(|end| end.as_ns_f64()),
            jobs,
        })
    }
}

fn rate_bps(topology: &Topology, host: HostId) -> u64 {
    topology.host_channels(host).iter().map(|&channel| topology.channel(channel).rate.as_bps()).sum()
}

fn schedule(
    document: &Document,
    scenario: &Scenario,
    topology: &Topology,
    (number, job): (usize, Job),
    warm_up: u32,
) -> Result<JobSchedule, ScenarioError> {
    let amounts = Amounts::of(&job.traffic);
    let hosts = job.hosts.iter().map(|&host| topology.host_name(host).to_owned()).collect();
    let bytes = programs(&job.traffic).and_then(|traffic| {
        let schedule = Schedule {
            start: job.start,
            is_background: job.is_background,
            end: scenario.run.end,
            warm_up: scenario.run.warm_up,
            ..Schedule::new(&job.name, traffic)
        };
        schedule.with_warm_up(warm_up)?.to_bytes()
    });
    let bytes = bytes.map_err(|error| {
        let key = if error.key.is_empty() { String::new() } else { format!("{}: ", error.key) };
        document.error(format!("job.{number}.workload"), format!("{key}{}", error.found), error.expected)
    });
    let unrolled = scenario.job[number].workload.unrolled(scenario.seed);
    let unrolled = unrolled.map_err(|errors| document.locate(errors.within(&format!("job.{number}.workload"))))?;
    let traffic = unrolled.unwrap_or(job.traffic);
    Ok(JobSchedule { name: job.name, hosts, amounts, bytes, traffic })
}

/// Returns the programs that the executor performs: of graphs the sequences that they are, which must end whatever the
/// library's sends wait for.
fn programs(traffic: &Traffic) -> Result<Traffic, InputError> {
    match traffic {
        Traffic::Graphs { ranks, iterations } => {
            let programs = programs_of_graphs(ranks, *iterations)?;
            check_progress(&programs)?;
            Ok(Traffic::Ranks(programs))
        }
        Traffic::Ranks(_) | Traffic::Streams(_) => Ok(traffic.clone()),
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;
    use etherweave_workload::{Fft, RankWorkload, Traffic};

    use super::*;

    const PAIR: &str = "
        [topology.single_switch]
        hosts = 3
        [run]
        end = \"1ms\"
        [[job]]
        name = \"fft\"
        start = \"2us\"
        workload.fft = { pex = 2, pey = 1, pez = 1, iterations = 5 }
        placement.hosts = [2, 0]
    ";

    #[test]
    fn a_schedule_is_the_program_that_a_run_simulates() {
        let schedules = Schedules::of(PAIR, "pair.toml", &[], 2).unwrap();
        let job = &schedules.jobs[0];
        assert_eq!(
            (job.hosts.as_slice(), schedules.rate_bps),
            (["host2".into(), "host0".into()].as_slice(), 100_000_000_000)
        );
        let fft = Fft { pex: 2, pey: 1, pez: 1, iterations: 5, ..Fft::default() };
        let schedule = Schedule::new("fft", Traffic::Ranks(fft.programs(1).unwrap())).with_warm_up(2).unwrap();
        let schedule = Schedule { start: Duration::from_us(2), end: Some(Duration::from_ms(1)), ..schedule };
        assert_eq!(job.bytes.as_ref().unwrap(), &schedule.to_bytes().unwrap());
    }

    #[test]
    fn graphs_that_rely_on_eager_messages_are_not_for_a_library() {
        let half = |peer| format!("a: send 8b to {peer}\nb: recv 8b from {peer}\nb requires a\n");
        let text = format!("num_ranks 2\nrank 0 {{\n{}}}\nrank 1 {{\n{}}}\n", half(1), half(0));
        let scenario =
            format!("[topology.single_switch]\nhosts = 2\n[[job]]\nname = \"a\"\nworkload.goal.text = '''{text}'''");
        let schedules = Schedules::of(&scenario, "eager.toml", &[], 0).unwrap();
        let error = schedules.jobs[0].bytes.as_ref().unwrap_err().to_string();
        assert!(error.contains("2 ranks wait for ever") && error.contains("whatever sends wait for"), "{error}");
    }

    #[test]
    fn services_whose_messages_depend_on_others_have_no_schedule() {
        let text = "topology.single_switch.hosts = 2\n[[job]]\nname = \"a\"\nworkload.request_response = {}\n";
        let schedules = Schedules::of(text, "services.toml", &[], 0).unwrap();
        let error = schedules.jobs[0].bytes.as_ref().unwrap_err().to_string();
        let expected = "job.0.workload: each rank decides by the messages that arrive what comes \
                        next; expected a workload whose operations are known before a run, as those of MPI programs";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_mistake_is_reported_as_by_a_run() {
        let error = Schedules::of("[switch]\nlatency = 300\n", "wrong.toml", &[], 0).unwrap_err().to_string();
        assert!(error.starts_with("wrong.toml:2:1: switch.latency: "), "{error}");
    }
}
