//! Whether the parts of a scenario fit each other: its run, its jobs, its fabric.

use etherweave_design::DesignSpec;
use etherweave_primitives::{BitRate, Bytes, Duration, HostId, InputError, InputErrors, Priority, check_file_name};
use etherweave_sim::Job;
use etherweave_sim::params::{self, Binding, CoreParams, FlowControl, NicParams, PfcWatchdog};
use etherweave_topology::Topology;
use etherweave_workload::{Op, Program, StreamSpec, Traffic, Workload};

use crate::documents::check_document;
use crate::interconnect::subnet_warning;
use crate::{
    JobSpec, Scenario, parts::fast_forward, parts::faults, parts::flows, parts::hosts, parts::nic_buffer, parts::nodes,
    parts::routing, parts::transports, parts::trimming,
};

/// Simulated time without progress after which a run is stuck, unless a job rests for longer.
const STALL_LIMIT: Duration = Duration::from_ms(10_000);
/// Longest run: with any delay on top, far below the 213 days that a clock of picoseconds counts.
pub(crate) const RUN_MAX: Duration = Duration::from_ms(5_000_000_000);
/// Most iterations that a run records, a row each, over all ranks.
const ROWS_MAX: u64 = 100_000_000;

/// Checks what can be checked before anything is built.
pub(crate) fn scenario(scenario: &Scenario) -> Result<(), InputErrors> {
    let mut errors = InputErrors::default();
    if errors.check(transports::check(scenario)).is_some() {
        errors.check(params::check(&scenario.params()).map_err(|errors| transports::locate(scenario, errors)));
    }
    check_run(&mut errors, scenario);
    errors.check(scenario.routing.check().map_err(|error| error.within("routing")));
    errors.check(routing::check_controller(scenario));
    errors.check(routing::check_port_choice(scenario));
    errors.check(routing::check_output_queue(scenario));
    errors.check(routing::check_trigger(scenario));
    errors.check(routing::check_load_balancing(scenario));
    if let Some(observe) = &scenario.observe {
        errors.check(observe.check(scenario.run.end).map_err(|error| error.within("observe")));
    }
    errors.check(fast_forward::check(scenario));
    check_names(&mut errors, scenario);
    check_design(&mut errors, &scenario.design);
    check_priorities(&mut errors, scenario);
    errors.check(check_fidelity(scenario));
    errors.into_result()
}

/// Documents by which a run is judged afterwards, so that it does not end with a name that does not exist.
fn check_design(errors: &mut InputErrors, design: &DesignSpec) {
    for (key, document) in [("design.power", &design.power), ("design.prices", &design.prices)] {
        if let Some(name) = document {
            errors.check(check_document(key, name));
        }
    }
}

/// Flow-level mode by jobs is for those beside others in packets.
fn check_fidelity(scenario: &Scenario) -> Result<(), InputError> {
    let has_packets = scenario.job.iter().any(|job| scenario.fidelity(job).is_packet());
    let is_meant = has_packets || scenario.job.is_empty() || !scenario.run.fidelity.is_packet();
    let expected = "run.fidelity = \"flow\", or a job in packets";
    InputError::unless(is_meant, "job.0.fidelity", "flow for every job", expected)
}

fn check_run(errors: &mut InputErrors, scenario: &Scenario) {
    let run = &scenario.run;
    let end = run.end.unwrap_or(RUN_MAX);
    let expected = format!("more than 0 and at most {RUN_MAX}");
    let is_end = errors.check(InputError::unless(!end.is_zero() && end <= RUN_MAX, "run.end", end, expected)).is_some();
    if is_end {
        let before_end = format!("less than the end of the run, {end}");
        errors.check(InputError::unless(run.warm_up < end, "run.warm_up", run.warm_up, &before_end));
        for (number, job) in scenario.job.iter().enumerate() {
            let key = format!("job.{number}.start");
            errors.check(InputError::unless(job.start < end, key, job.start, &before_end));
        }
    }
    errors.check(check_stall_limit(scenario));
    errors.check(check_memory(scenario));
}

/// The first wait that a limit which is given would take for the end of all progress.
fn check_stall_limit(scenario: &Scenario) -> Result<(), InputError> {
    let Some(limit) = scenario.run.stall_limit else { return Ok(()) };
    for (number, job) in scenario.job.iter().enumerate() {
        let expected = format!("more than {}, when job.{number} starts: that is waiting, not stuck", job.start);
        InputError::unless(limit > job.start, "run.stall_limit", limit, expected)?;
    }
    let timeout = scenario.first_timeout();
    let expected = format!("more than a retransmission timeout, {timeout}: that is waiting, not stuck");
    InputError::unless(limit > timeout, "run.stall_limit", limit, expected)
}

/// The limit that is given, or one that no wait of these jobs reaches which is none.
pub(crate) fn stall_limit(scenario: &Scenario, jobs: &[Job]) -> Duration {
    let starts = scenario.job.iter().map(|job| job.start);
    let rests = jobs.iter().map(|job| longest_rest(&job.traffic) + scenario.host.timer_slack);
    let watchdog = scenario.flow_control.watchdog().map(PfcWatchdog::patience);
    let longest = starts.chain(rests).chain(watchdog).fold(scenario.first_timeout(), Duration::max);
    let raised = if longest < STALL_LIMIT { STALL_LIMIT } else { longest + STALL_LIMIT };
    scenario.run.stall_limit.unwrap_or(raised)
}

fn check_names(errors: &mut InputErrors, scenario: &Scenario) {
    let jobs = &scenario.job;
    let expected = "false for one job at least that runs: the run would end before it starts";
    let some_count = jobs.is_empty() || jobs.iter().any(|job| !job.background && scenario.run.has(&job.name));
    errors.check(InputError::unless(some_count, "job.0.background", true, expected));
    let known: Vec<_> = jobs.iter().map(|job| job.name.as_str()).collect();
    let unknown = scenario.run.jobs.iter().flatten().find(|name| !known.contains(&name.as_str()));
    let name = unknown.map_or("", String::as_str);
    let expected = match known.is_empty() {
        false => format!("names of jobs: {}", known.join(", ")),
        true => "none, as the file has no job".to_owned(),
    };
    errors.check(InputError::unless(unknown.is_none(), "run.jobs", name, expected));
    for (number, job) in jobs.iter().enumerate() {
        let key = format!("job.{number}.name");
        errors.check(check_file_name(&key, &job.name));
        let is_new = job.name.is_empty() || jobs[..number].iter().all(|other| other.name != job.name);
        let expected = "another name for each job: tables know them by it";
        errors.check(InputError::unless(is_new, key, format!("{} twice", job.name), expected));
    }
}

fn check_priorities(errors: &mut InputErrors, scenario: &Scenario) {
    let (lossless, expected) = match &scenario.flow_control {
        FlowControl::Pfc(pfc) => (pfc.priorities.clone(), "a PFC priority"),
        FlowControl::Credits(credits) => (credits.priorities.clone(), "a priority under credits"),
        FlowControl::None {} | FlowControl::GlobalPause(_) => (Priority::all().collect(), "any priority"),
    };
    for (number, job) in scenario.job.iter().enumerate() {
        let expects_no_loss = scenario.transport_of(job).expects_no_loss();
        // Flow-level mode loses nothing; where packets would, the run says so.
        let is_lossless = !expects_no_loss || !scenario.fidelity(job).is_packet() || lossless.contains(&job.priority);
        let mistake = format!("RoCE in priority {}, which loses packets", job.priority.get());
        errors.check(InputError::unless(is_lossless, format!("job.{number}.priority"), mistake, expected));
        let class = scenario.ets.class_of_priority[job.priority.index()];
        let is_trimmed = scenario
            .switch
            .trimming
            .is_some_and(|trimming| trimming.priority == job.priority || trimming.queue == Some(class));
        let expected = "another one than switch.trimming.priority, and a class that is not switch.trimming.queue: \
                        trimmed packets would join the queue that is full";
        let key = format!("job.{number}.priority");
        errors.check(InputError::unless(!is_trimmed, key, job.priority.get(), expected));
    }
}

/// Checks that a job has room on the hosts of the fabric, before its schedule is built.
pub(crate) fn ranks(number: usize, job: &JobSpec, topology: &Topology) -> Result<(), InputError> {
    let per_host = job.ranks_per_host;
    let key = format!("job.{number}.ranks_per_host");
    InputError::unless(per_host > 0, key, per_host, "1 or more")?;
    let (ranks, hosts) = (job.workload.ranks(), topology.hosts() as u64);
    let key = format!("job.{number}.workload");
    let expected = match per_host {
        1 => format!("at most {hosts}, one for each host of the fabric"),
        _ => format!("at most {}, {per_host} for each of the {hosts} hosts of the fabric", hosts * u64::from(per_host)),
    };
    // A list that cannot be read has no ranks.
    if ranks == 0 || ranks > hosts * u64::from(per_host) {
        let key = format!("{key}.{}", job.workload.name());
        job.workload.check_hosts(hosts).map_err(|error| error.within(&key))?;
    }
    InputError::unless(ranks <= hosts * u64::from(per_host), key, format!("{ranks} ranks"), expected)?;
    let (key, needed) = (format!("job.{number}.rank_order"), job.hosts());
    InputError::unless(needed <= hosts, key, format!("{needed} hosts"), format!("at most {hosts}, as the fabric has"))
}

/// Streams run between hosts, each on a connection of its own; what distributes ranks and their messages would be
/// ignored.
pub(crate) fn of_streams(number: usize, job: &JobSpec, traffic: &Traffic) -> Result<(), InputError> {
    let has_ranks = !matches!(traffic, Traffic::Streams(_));
    let (ranks, connections) = (job.ranks_per_host, job.connections.count());
    let of_streams = |count: u32| format!("{count} for streams");
    let key = |name: &str| format!("job.{number}.{name}");
    let expected = "1: each stream is between two hosts";
    InputError::unless(has_ranks || ranks == 1, key("ranks_per_host"), of_streams(ranks), expected)?;
    let expected = "1: a stream has a connection of its own";
    InputError::unless(has_ranks || connections == 1, key("connections"), of_streams(connections), expected)
}

/// Whether every rank of a host has a core that exists.
pub(crate) fn binding(number: usize, job: &JobSpec, cores: Option<&CoreParams>) -> Result<(), InputError> {
    let key = format!("job.{number}.binding");
    let Some(cores) = cores else {
        let is_default = job.binding == Binding::default();
        return InputError::unless(
            is_default,
            key,
            "without host.cores",
            "cores of hosts: each rank has one of its own",
        );
    };
    let Binding::Listed(list) = &job.binding else { return Ok(()) };
    let (count, ranks) = (cores.count(), job.ranks_per_host);
    let expected = format!("{ranks}, one for each rank of a host");
    InputError::unless(list.len() == ranks as usize, &key, format!("{} entries", list.len()), expected)?;
    let core = list.iter().max().copied().unwrap_or_default();
    InputError::unless(core < count, key, format!("core {core}"), format!("a core of the host's {count}, from 0"))
}

/// Returns warnings to read before a run, a line each.
pub(crate) fn warnings(scenario: &Scenario, topology: &Topology) -> Vec<String> {
    let nic = slow_nic(scenario, topology).or_else(|| draining_nic(scenario, topology));
    let subnet = subnet_warning(scenario.interconnect.as_ref(), topology);
    let buffer = nic_buffer::warning(scenario, topology);
    let network = nic
        .into_iter()
        .chain(buffer)
        .chain(short_pause(scenario))
        .chain(subnet)
        .chain(transports::warnings(scenario, topology))
        .collect();
    let loads = flows::warnings(scenario, topology);
    let of_hosts = hosts::warnings(scenario);
    let of_nodes = nodes::warnings(scenario);
    let of_faults = faults::warnings(scenario);
    let of_trimming = trimming::warnings(scenario);
    let first = [routing::warnings(scenario, topology), of_hosts, network, loads, overloads(scenario)].concat();
    [first, of_nodes, of_faults, of_trimming].concat()
}

/// Warnings of jobs that ask for more than can ever be done.
fn overloads(scenario: &Scenario) -> Vec<String> {
    let warning = |(number, job): (usize, &JobSpec)| {
        let (kind, overload) = (job.workload.name(), job.workload.overload()?);
        Some(format!(
            "job.{number}.workload.{kind}.load: {overload}: requests wait more and more, so that times grow with the \
             run"
        ))
    };
    scenario.job.iter().enumerate().filter_map(warning).collect()
}

/// A pause that ends before its refresh comes: the sender goes on between, and each time a frame more must find room.
fn short_pause(scenario: &Scenario) -> Option<String> {
    let (key, quanta) = match &scenario.flow_control {
        FlowControl::Pfc(pfc) => ("pfc", pfc.quanta),
        FlowControl::GlobalPause(pause) => ("global_pause", pause.quanta),
        FlowControl::None {} | FlowControl::Credits(_) => return None,
    };
    let least = etherweave_sim::pause_quanta_min(&scenario.params());
    (u32::from(quanta) < least).then(|| {
        format!(
            "flow_control.{key}.quanta: {quanta}; a pause ends before its refresh comes, which waits for a frame that \
             is sent before, so that lossless packets may be lost; {least} or more quanta last until then"
        )
    })
}

fn host_rates(topology: &Topology) -> impl Iterator<Item = BitRate> {
    let links = (0..topology.hosts()).flat_map(|host| topology.host_channels(HostId::from_index(host)));
    links.map(|&channel| topology.channel(channel).rate)
}

/// Links of hosts that are faster than the NIC which a scenario has unless it describes another.
fn slow_nic(scenario: &Scenario, topology: &Topology) -> Option<String> {
    let (nic, default) = (&scenario.nic, NicParams::default().drain_rate);
    let has_bypass = scenario.job.iter().any(|job| !scenario.transport_of(job).is_in_kernel());
    let is_drained = has_bypass && nic.pcie.is_none();
    let fastest = host_rates(topology).max().filter(|&rate| rate > default)?;
    let text = format!(
        "nic.drain_rate: {default}, the default, behind links of hosts of {fastest}: they receive no faster; \
         interconnect.profile, nic.pcie or nic.drain_rate describes another NIC"
    );
    (is_drained && nic.drain_rate == default).then_some(text)
}

/// Links of hosts that are faster than their NICs in flow-level mode, which has no receive buffers.
fn draining_nic(scenario: &Scenario, topology: &Topology) -> Option<String> {
    let is_used = scenario.job.iter().any(|job| !scenario.fidelity(job).is_packet());
    let rate = scenario.nic.drain_rate;
    let fastest = host_rates(topology).max().filter(|&fastest| fastest > rate)?;
    (is_used && scenario.nic.pcie.is_none()).then(|| {
        format!(
            "nic.drain_rate: {rate} behind links of hosts of {fastest}; receive buffers, which fill at the rate of the \
             link and drain while hosts wait, are not simulated by \"flow\", so that packets may end earlier"
        )
    })
}

/// The matrix of HPL is in the memory of the hosts.
fn check_memory(scenario: &Scenario) -> Result<(), InputError> {
    let Some(memory) = scenario.host.memory else { return Ok(()) };
    for (number, job) in scenario.job.iter().enumerate() {
        let Workload::Hpl(hpl) = &job.workload else { continue };
        let needed = hpl.memory_per_rank().saturating_mul(job.ranks_per_host.into());
        let mistake = format_args!(
            "a matrix of {} rows, {} on each host of {} ranks",
            hpl.size,
            Bytes::new(needed),
            job.ranks_per_host
        );
        let expected = format_args!("at most {memory}, the memory of a host (host.memory)");
        InputError::unless(needed <= memory.get(), format!("job.{number}.workload.hpl.size"), mistake, expected)?;
    }
    Ok(())
}

/// Checks fabric and schedules together.
pub(crate) fn built(scenario: &Scenario, topology: &Topology, jobs: &[Job]) -> Result<(), InputErrors> {
    let mut errors = InputErrors::default();
    errors.check(check_rates(scenario, topology));
    errors.check(transports::check_timers(scenario, topology));
    errors.check(check_streams(scenario, jobs));
    errors.check(check_programs(scenario, jobs));
    errors.into_result()
}

fn check_programs(scenario: &Scenario, jobs: &[Job]) -> Result<(), InputError> {
    let mut rows = 0;
    for (number, job) in jobs.iter().enumerate() {
        let (what, iterations) = match &job.traffic {
            Traffic::Ranks(programs) => ("sleeps or computes", programs.iter().map(Program::iterations).sum()),
            Traffic::Graphs { ranks, iterations } => {
                let rows: u64 = ranks.iter().map(|graph| graph.rows()).sum();
                let transfers = ranks.iter().any(|graph| !graph.facts().transfer_max.is_zero());
                let what = if transfers { "computes or transfers within its node" } else { "computes" };
                (what, u64::from(*iterations) * rows)
            }
            Traffic::Streams(_) => continue,
        };
        check_rest(scenario, number, longest_rest(&job.traffic), what)?;
        rows += iterations;
        check_rows(scenario, number, rows)?;
    }
    Ok(())
}

/// Rejects more iterations, over all ranks and the jobs up to `number`, than a table holds.
pub(crate) fn check_rows(scenario: &Scenario, number: usize, rows: u64) -> Result<(), InputError> {
    let workload = &scenario.job[number].workload;
    let count = if matches!(workload, Workload::RequestResponse(_) | Workload::Inference(_)) {
        "requests"
    } else {
        "iterations"
    };
    let key = format!("job.{number}.workload.{}.{count}", workload.name());
    let mistake = format!("{rows} rows over all ranks and jobs so far");
    InputError::unless(rows <= ROWS_MAX, &key, mistake, format!("at most {ROWS_MAX}: each is kept"))
}

fn check_rates(scenario: &Scenario, topology: &Topology) -> Result<(), InputError> {
    let line = host_rates(topology).min().unwrap_or(BitRate::from_bps(0));
    for (key, rate) in scenario.each_transport().flat_map(|transport| transport.rates()) {
        InputError::unless(rate <= line, &key, rate, format!("at most the rate of a host's link, {line}"))?;
    }
    Ok(())
}

/// Streams without a number of messages end with the run; other workloads have no warm-up of the run.
fn check_streams(scenario: &Scenario, jobs: &[Job]) -> Result<(), InputError> {
    let mut has_streams = false;
    for (number, job) in jobs.iter().enumerate() {
        let Traffic::Streams(streams) = &job.traffic else { continue };
        has_streams = true;
        let ends =
            scenario.run.end.is_some() || job.is_background || streams.iter().all(|stream| stream.messages.is_some());
        let name = scenario.job[number].workload.name();
        InputError::unless(ends, "run.end", "none", format!("an end of the run: the streams of {name} have none"))?;
    }
    let warm_up = scenario.run.warm_up;
    let expected = "none without streams: it cannot take effect (the workloads of ranks have a warm_up of their own)";
    InputError::unless(has_streams || warm_up.is_zero(), "run.warm_up", warm_up, expected)
}

/// The longest time in which no computation, sleep or transfer in its node of a rank ends.
fn longest_rest(traffic: &Traffic) -> Duration {
    match traffic {
        Traffic::Ranks(programs) => {
            let ops = programs.iter().flat_map(Program::distinct_ops);
            ops.map(Op::rest).max().unwrap_or(Duration::ZERO)
        }
        Traffic::Graphs { ranks, .. } => {
            ranks.iter().map(|graph| graph.facts().rest_max()).max().unwrap_or(Duration::ZERO)
        }
        Traffic::Streams(streams) => longest_gap(streams),
    }
}

/// The longest time in which no flow starts, before the last does.
fn longest_gap(streams: &[StreamSpec]) -> Duration {
    let starts = streams.iter().filter_map(|stream| stream.flow_start);
    let (longest, _) = starts.fold((Duration::ZERO, Duration::ZERO), |(longest, last), start| match start.waits_for {
        Some(_) => (longest.max(start.after), last),
        None => (longest.max(start.after.max(last) - last), start.after.max(last)),
    });
    longest
}

/// Rejects rests beyond the longest run, and those that would look like a run without progress; `what` says what a rank
/// does meanwhile.
fn check_rest(scenario: &Scenario, number: usize, longest: Duration, what: &str) -> Result<(), InputError> {
    let key = format!("job.{number}.workload.{}", scenario.job[number].workload.name());
    InputError::unless(
        longest <= RUN_MAX,
        &key,
        format!("{what} for {}", seconds(longest)),
        format!("at most {RUN_MAX}"),
    )?;
    let Some(limit) = scenario.run.stall_limit else { return Ok(()) };
    let longest = longest + scenario.host.timer_slack;
    let expected = format!("more than {}, for which job.{number} {what}: that is waiting, not stuck", seconds(longest));
    InputError::unless(limit > longest, "run.stall_limit", limit, expected)
}

fn seconds(time: Duration) -> String {
    format!("{}s", time.as_ps() as f64 / 1e12)
}
