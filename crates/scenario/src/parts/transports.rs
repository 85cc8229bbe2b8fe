//! Transports of jobs: each has its own, or that of the run.

use etherweave_primitives::{BitRate, Bytes, Duration, HostId, InputError, InputErrors};
use etherweave_sim::params::{FlowControl, Transport};
use etherweave_topology::Topology;

use crate::{JobSpec, Scenario, parts::host_ports};

impl Scenario {
    pub(crate) fn transport_of<'a>(&'a self, job: &'a JobSpec) -> &'a Transport {
        job.transport.as_ref().unwrap_or(&self.transport)
    }

    /// Transports of the jobs with their parameters, each once: first that of the run, or of the first job where none
    /// has that.
    pub(crate) fn transports(&self) -> Vec<&Transport> {
        let own = || self.job.iter().map(|job| self.transport_of(job));
        let first = own().find(|&own| *own == self.transport).or_else(|| own().next()).unwrap_or(&self.transport);
        let mut all = vec![first];
        for other in own() {
            if !all.contains(&other) {
                all.push(other);
            }
        }
        all
    }

    pub(crate) fn transport_number(&self, job: &JobSpec) -> u8 {
        let own = self.transport_of(job);
        self.transports().iter().position(|&other| other == own).expect("a job has one of them") as u8
    }

    /// Transports of the jobs, each once.
    pub(crate) fn each_transport(&self) -> impl Iterator<Item = &Transport> {
        self.transports().into_iter()
    }

    /// Where several transports share hosts, the one of networks that lose nothing.
    pub(crate) fn lossless_transport(&self) -> &Transport {
        self.each_transport().find(|transport| transport.expects_no_loss()).unwrap_or(self.transports()[0])
    }

    /// How long a connection of any job waits for an answer, the first time, before it sends again.
    pub(crate) fn first_timeout(&self) -> Duration {
        self.each_transport().map(|transport| transport.first_timeout()).max().unwrap_or_default()
    }
}

/// Most transports of a run, by their parameters.
const TRANSPORTS_MAX: usize = 64;

/// Rejects too many sets of parameters.
pub(crate) fn check(scenario: &Scenario) -> Result<(), InputError> {
    let count = scenario.transports().len();
    let expected = format!("at most {TRANSPORTS_MAX} over all jobs");
    InputError::unless(count <= TRANSPORTS_MAX, "job.0.transport", format!("{count} different ones"), expected)
}

/// Mistakes of the parameters of a transport that a job has by itself, as those of the job.
pub(crate) fn locate(scenario: &Scenario, errors: InputErrors) -> InputErrors {
    let owner = |error: &InputError| {
        let name = error.key.strip_prefix("transport.")?.split('.').next()?;
        let has_it = |own: &Transport| own.name() == name && *own != scenario.transport;
        // Where several jobs have parameters of their own, the one whose parameters are wrong by themselves.
        let has_mistake = |own: &Transport| {
            has_it(own) && own.check(scenario.switch.ecn.is_some()).is_err_and(|own| own.key == error.key)
        };
        let of = |is_it: &dyn Fn(&Transport) -> bool| {
            scenario.job.iter().position(|job| job.transport.as_ref().is_some_and(is_it))
        };
        of(&has_mistake).or_else(|| of(&has_it))
    };
    let located = |error: &InputError| match owner(error) {
        Some(number) => error.clone().within(&format!("job.{number}")),
        None => error.clone(),
    };
    errors.iter().map(located).collect()
}

/// Rejects a timer below the shortest round trip of the fabric: everything would be sent again before an answer can
/// come.
pub(crate) fn check_timers(scenario: &Scenario, topology: &Topology) -> Result<(), InputError> {
    let cables = || (0..topology.hosts()).flat_map(|host| topology.host_channels(HostId::from_index(host)));
    let Some(cable) = cables().map(|&channel| topology.channel(channel).length).min() else { return Ok(()) };
    let nic = &scenario.nic;
    let there = nic.transmit_latency + nic.receive_latency + scenario.switch.latency + cable.propagation_time() * 2;
    let jobs = scenario.job.iter().enumerate().filter(|(_, job)| scenario.fidelity(job).is_packet());
    for (number, job) in jobs.filter(|(_, job)| !scenario.transport_of(job).is_in_kernel()) {
        let own = scenario.transport_of(job);
        let expected = format!(
            "at least {}, the time to another host of its switch and back: all would be sent again before an answer",
            there * 2
        );
        let of_job = if job.transport.is_some() { table_of(number) } else { String::new() };
        let key = format!("{of_job}transport.{}.retransmission_timeout", own.name());
        let timeout = own.first_timeout();
        InputError::unless(timeout >= there * 2, key, timeout, expected)?;
    }
    Ok(())
}

/// Warnings about transports that are known before a run.
pub(crate) fn warnings(scenario: &Scenario, topology: &Topology) -> impl Iterator<Item = String> {
    let paths = [late_marks(scenario, topology), short_round_trip(scenario, topology)];
    let flights = short_flights(scenario, topology);
    paths.into_iter().flatten().chain(flights).chain(credits_beside_pauses(scenario))
}

/// Windows for a round trip that a cable alone exceeds.
fn short_round_trip(scenario: &Scenario, topology: &Topology) -> Option<String> {
    let cable = topology.channels().iter().map(|channel| channel.length).max()?;
    let (there_and_back, trips) = (cable.propagation_time() * 2, nscc_round_trips(scenario));
    let stated = trips.min().filter(|&trip| trip < there_and_back)?;
    Some(format!(
        "transport.uet.nscc.base_round_trip: {stated}; a cable of {cable} alone takes {there_and_back} there and back: \
         windows stay too small for its rate, and where the rest exceeds four times target_delay, quick adapt takes it \
         for a queue and cuts them, down to a packet"
    ))
}

/// Values of keys that a scenario leaves open and other keys decide, with their rules: key, value and rule.
pub(crate) fn derived(scenario: &Scenario, topology: &Topology) -> Vec<String> {
    let ports = topology.host_channels(HostId::new(0));
    let rates = || ports.iter().map(|&port| topology.channel(port).rate.as_bps());
    // A connection sends by one port, or by all in turn.
    let rate = if host_ports::is_per_packet(scenario) { rates().sum() } else { rates().max().unwrap_or_default() };
    let rate = BitRate::from_bps(rate);
    let of = |(table, own): (String, &Transport)| {
        let Some(uet) = own.uet() else { return Vec::new() };
        let target = uet.nscc.as_ref().filter(|nscc| nscc.target_delay.is_none()).map(|nscc| {
            let target = nscc.target();
            format!("{table}transport.uet.nscc.target_delay = \"{target}\": three quarters of base_round_trip")
        });
        let open = uet.first_reordering(rate).filter(|_| uet.reordering_packets.is_none());
        let packets = open.map(|packets| {
            let rule = match (&uet.nscc, &uet.rccc) {
                (Some(_), _) => format!("one and a half windows, at most the largest, of the first window at {rate}"),
                (None, Some(_)) => format!("the most credits at {rate}"),
                (None, None) => "the width of the bitmap, without a window".to_owned(),
            };
            format!("{table}transport.uet.reordering_packets = {packets}: {rule}")
        });
        target.into_iter().chain(packets).collect()
    };
    let jobs = (0..).zip(&scenario.job);
    let of_jobs = jobs.filter_map(|(number, job)| Some((table_of(number), job.transport.as_ref()?)));
    let is_used = scenario.job.is_empty() || scenario.job.iter().any(|job| job.transport.is_none());
    let common = is_used.then(|| (String::new(), &scenario.transport));
    common.into_iter().chain(of_jobs).flat_map(of).collect()
}

/// Table of a job whose transport is its own, as keys begin with it.
fn table_of(number: usize) -> String {
    format!("job.{number}.")
}

/// Packet numbers and windows that end before the bytes of a round trip do.
fn short_flights(scenario: &Scenario, topology: &Topology) -> Vec<String> {
    let ports = topology.host_channels(HostId::new(0));
    let cable = topology.channels().iter().map(|channel| channel.length).max();
    let (Some(&port), Some(cable)) = (ports.first(), cable) else { return Vec::new() };
    let rate = topology.channel(port).rate;
    // Planes, of which each has a port of a host, have one rate.
    let (taken, sender) = match host_ports::is_per_packet(scenario) {
        true if ports.len() > 1 => (ports.len() as u64, format!("{} ports of {rate}", ports.len())),
        _ => (1, rate.to_string()),
    };
    let propagation = cable.propagation_time() * 2;
    let flight = |trip: Duration| Bytes::new(rate.bytes_in(trip).get() * taken);
    let of_packets = |own: &Transport| {
        let uet = own.uet()?;
        let stated =
            [uet.nscc.as_ref().map(|own| own.base_round_trip), uet.rccc.as_ref().map(|own| own.base_round_trip)];
        let trip = stated.into_iter().flatten().fold(propagation, Duration::max);
        let packets = flight(trip).get().div_ceil(own.frame_max().into());
        (packets > uet.psn_range.into()).then(|| {
            format!(
                "transport.uet.psn_range: {}; {sender} for {trip}, a round trip, are {packets} packets: the range, not \
                 the window, bounds a connection, to {:.0} % of the rate",
                uet.psn_range,
                100.0 * f64::from(uet.psn_range) / packets as f64
            )
        })
    };
    let of_bytes = |own: &Transport| {
        let (window, flight) = (own.window(), flight(propagation));
        (own.uet().is_none() && window.bytes < flight).then(|| {
            format!(
                "{}: {}; {sender} for {propagation}, there and back over {cable} of cable, are {flight}: the window \
                 bounds a connection, to {:.0} % of the rate",
                window.key,
                window.bytes,
                100.0 * window.bytes.get() as f64 / flight.get() as f64
            )
        })
    };
    let of_job = |(number, job): (usize, &JobSpec)| {
        let own = scenario.transport_of(job);
        let text = of_packets(own).or_else(|| of_bytes(own))?;
        Some(if job.transport.is_some() { format!("job.{number}.{text}") } else { text })
    };
    let mut warnings: Vec<String> = scenario.job.iter().enumerate().filter_map(of_job).collect();
    warnings.dedup();
    warnings
}

fn nscc_round_trips(scenario: &Scenario) -> impl Iterator<Item = Duration> {
    scenario.each_transport().filter_map(|own| Some(own.uet()?.nscc.as_ref()?.base_round_trip))
}

/// Receivers that grant what pauses stop: neither knows of the other.
fn credits_beside_pauses(scenario: &Scenario) -> Option<String> {
    let is_paused = |job: &&JobSpec| match &scenario.flow_control {
        FlowControl::Pfc(pfc) => pfc.priorities.contains(&job.priority),
        FlowControl::GlobalPause(_) => true,
        FlowControl::None {} | FlowControl::Credits(_) => false,
    };
    let has_credits = |job: &&JobSpec| scenario.transport_of(job).uet().is_some_and(|uet| uet.rccc.is_some());
    let job = scenario.job.iter().filter(is_paused).find(has_credits)?;
    Some(format!(
        "transport.uet.rccc: receivers grant credits in priority {} of {}, which pauses stop, too: a source that is \
         paused is granted more, and what is lossless needs no credits",
        job.priority.get(),
        job.name
    ))
}

/// Marks that begin beyond the queue at which the specification of Ultra Ethernet marks every packet, 0.8
/// bandwidth-delay products of a port: connections keep paths whose queues grow up to there, beside idle ones.
fn late_marks(scenario: &Scenario, topology: &Topology) -> Option<String> {
    let marked_from = scenario.switch.ecn?.queue_min;
    let rate = topology.channel(*topology.host_channels(HostId::new(0)).first()?).rate;
    let last = Bytes::new(rate.bytes_in(nscc_round_trips(scenario).min()?).get() / 5 * 4);
    (marked_from > last).then(|| {
        format!(
            "switch.ecn.queue_min: {marked_from}; marks begin beyond {last}, 0.8 bandwidth-delay products by \
             transport.uet.nscc.base_round_trip, where the specification marks every packet: paths are kept until \
             their queues are that long"
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{self, overrides};
    use crate::{Run, Scenario};

    const JOBS: &str = "[topology.single_switch]\nhosts = 2\n[flow_control.pfc]\npriorities = [3]\n\
                        [[job]]\nname = \"mpi\"\npriority = 3\nworkload.osu_latency = {}\n\
                        [[job]]\nname = \"storage\"\nshared_hosts = true\nworkload.osu_bw = {}\n";

    const UET: &str = include_str!("../../../../scenarios/uet.toml");

    fn parsed(text: &str) -> Result<Scenario, String> {
        Scenario::parse(&format!("{JOBS}{text}"), "x.toml", &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn a_job_has_its_own_transport_or_that_of_the_run() {
        let scenario = parsed("transport.tcp.profile = \"linux-6.x\"").unwrap();
        let names: Vec<_> = scenario.each_transport().map(|transport| transport.name()).collect();
        assert_eq!(names, ["roce", "tcp"]);
        assert_eq!(scenario.params().other_transports.first(), scenario.job[1].transport.as_ref());
        let same = parsed("priority = 3\ntransport.roce = {}").unwrap();
        assert_eq!(same.transports().len(), 1);
    }

    #[test]
    fn jobs_have_parameters_of_one_transport_that_differ() {
        let more = "priority = 3\ntransport.roce.path_mtu = \"1KiB\"\n\
                    [[job]]\nname = \"third\"\nshared_hosts = true\nworkload.osu_bw = {}\ntransport.roce.path_mtu = ";
        let scenario = parsed(&format!("{more}\"2KiB\"\npriority = 3")).unwrap();
        let payloads: Vec<u64> = scenario.each_transport().map(|transport| transport.payload().get()).collect();
        assert_eq!(payloads, [4096, 1024, 2048]);
        let numbers: Vec<u8> = scenario.job.iter().map(|job| scenario.transport_number(job)).collect();
        assert_eq!(numbers, [0, 1, 2]);
        assert!(parsed(&format!("{more}\"2MB\"\npriority = 3")).unwrap_err().contains("job.2.transport.roce.path_mtu"));
    }

    #[test]
    fn a_mistake_of_a_job_names_its_key() {
        let error = |text: &str| parsed(text).unwrap_err();
        assert!(error("transport.tcp.initial_window = 0").contains("job.1.transport.tcp.initial_window"));
        assert!(error("transport.tcp.profile = \"linux-0\"").contains("job.1.transport.tcp.profile"));
    }

    /// Largest windows are 1.5 times 100 Gb/s for 6 us, 112,500 B: 26 packets of 4,204 B, of two planes as many again.
    #[test]
    fn what_other_keys_decide_is_derived() {
        let derived = |changed: &[(&str, &str)]| crate::foresee(UET, "x.toml", &overrides(changed)).unwrap().derived;
        let target = "transport.uet.nscc.target_delay = \"4500ns\": three quarters of base_round_trip";
        let packets = |count: u32, rate: &str| {
            let rule = "one and a half windows, at most the largest, of the first window";
            format!("transport.uet.reordering_packets = {count}: {rule} at {rate}")
        };
        assert_eq!(derived(&[]), [target.to_owned(), packets(26, "100Gb/s")]);
        assert_eq!(derived(&[("host_ports.planes", "2")]), [target.to_owned(), packets(53, "200Gb/s")]);
        let stated = ("transport.uet.reordering_packets", "8");
        assert_eq!(derived(&[stated]), [target]);
        assert_eq!(derived(&[("transport.uet.nscc.target_delay", "\"9us\""), stated]), Vec::<String>::new());
    }

    #[test]
    fn marks_beyond_the_queue_where_all_are_marked_are_warned_of() {
        let warnings = |queue_min: &str, ports: &str| {
            let queue_min = format!("\"{queue_min}\"");
            let changed = [("switch.ecn.queue_min", &*queue_min), ("switch.ecn.queue_max", "\"70kB\"")];
            testing::warnings(&format!("{UET}{ports}"), &changed)
        };
        for ports in ["", "[host_ports]\nplanes = 2\n"] {
            assert_eq!(warnings("60kB", ports), Vec::<String>::new());
            let [warning] = &warnings("61kB", ports)[..] else { panic!("a single warning") };
            assert!(warning.starts_with("switch.ecn.queue_min: 61kB; marks begin beyond 60kB"), "{warning}");
        }
    }

    #[test]
    fn round_trips_below_those_of_a_cable_and_routings_of_one_path_are_warned_of() {
        let warnings = |key: &str, value: &str| testing::warnings(UET, &[(key, value)]);
        assert_eq!(warnings("seed", "2"), Vec::<String>::new());
        let [warning] = &warnings("topology.fat_tree.uplink_cable", "\"2km\"")[..] else { panic!("a single warning") };
        let expected = "a cable of 2km alone takes 20us there and back: windows stay too small for its rate";
        assert!(warning.contains(expected), "{warning}");
        for name in ["up_down", "shortest_path", "disjoint_trees", "minimal_tables"] {
            let warnings = warnings("routing", &format!("\"{name}\""));
            let start = format!("routing: {name} takes one path for a pair of hosts");
            assert_eq!(warnings.iter().filter(|warning| warning.starts_with(&start)).count(), 1, "{warnings:?}");
        }
        let flowlet = warnings("routing", "\"flowlet\"");
        assert!(flowlet.iter().any(|warning| warning.starts_with("routing: flowlet keeps one path")), "{flowlet:?}");
        for name in ["spray", "adaptive_up"] {
            let warnings = warnings("routing", &format!("\"{name}\""));
            assert!(!warnings.iter().any(|warning| warning.contains("one path")), "{warnings:?}");
        }
    }

    /// 100 Gb/s for 600 us are 7.5 MB, 1,777 packets of 4,222 B.
    #[test]
    fn ranges_of_numbers_below_a_round_trip_are_warned_of() {
        let warnings = |range: &str| {
            let changed = [("transport.uet.nscc.base_round_trip", "\"600us\""), ("transport.uet.psn_range", range)];
            testing::warnings(UET, &changed)
        };
        assert_eq!(warnings("1777"), Vec::<String>::new());
        let [warning] = &warnings("1024")[..] else { panic!("a single warning") };
        let expected = "transport.uet.psn_range: 1024; 100Gb/s for 600us, a round trip, are 1777 packets";
        assert!(warning.starts_with(expected) && warning.ends_with("to 58 % of the rate"), "{warning}");
    }

    /// Two ports of 100 Gb/s for 100 us are 2.5 MB, 593 packets of 4,222 B.
    #[test]
    fn ranges_of_numbers_are_those_of_all_ports_of_a_connection() {
        let warnings = |choice: &str| {
            let changed = [
                ("host_ports", &*format!("{{ planes = 2, choice = \"{choice}\" }}")),
                ("transport.uet.nscc.base_round_trip", "\"100us\""),
                ("transport.uet.psn_range", "512"),
            ];
            testing::warnings(UET, &changed)
        };
        assert!(!warnings("round_robin").iter().any(|warning| warning.contains("psn_range")));
        let expected = "transport.uet.psn_range: 512; 2 ports of 100Gb/s for 100us, a round trip, are 593 packets";
        let warnings = warnings("per_packet");
        assert!(warnings.iter().any(|warning| warning.starts_with(expected)), "{warnings:?}");
    }

    /// 100 Gb/s for 100 us are 1.25 MB.
    #[test]
    fn windows_below_the_flight_of_a_long_cable_are_warned_of() {
        let warnings = |window: &str| {
            let text = format!(
                "[topology.single_switch]\nhosts = 2\ncable = \"10km\"\n[flow_control.none]\n\
                 [run]\nfidelity = \"flow\"\n\
                 [[job]]\nname = \"j\"\nworkload.osu_bw = {{}}\n\
                 transport.roce.window = \"{window}\"\n"
            );
            testing::warnings(&text, &[])
        };
        let expected =
            "job.0.transport.roce.window: 1MB; 100Gb/s for 100us, there and back over 10km of cable, are 1250kB";
        let short = warnings("1MB");
        assert!(short.iter().any(|warning| warning.starts_with(expected) && warning.contains("to 80 %")), "{short:?}");
        assert!(!warnings("2MB").iter().any(|warning| warning.contains("window")));
    }

    #[test]
    fn timers_below_the_shortest_round_trip_are_rejected() {
        for transport in ["roce", "uet"] {
            let fabric = "[topology.single_switch]\nhosts = 2\n[flow_control.pfc]\npriorities = [3]\n\
                          [[job]]\nname = \"j\"\npriority = 3\nworkload.osu_latency = {}\n";
            let mistake = |timeout: &str| {
                let text = format!("{fabric}transport.{transport} = {{ retransmission_timeout = \"{timeout}\" }}");
                let run = Run::start(&text, "x.toml", &[], 1, &[]);
                run.err().map(|error| error.to_string()).unwrap_or_default()
            };
            let expected = format!("job.0.transport.{transport}.retransmission_timeout: 1ns; expected at least ");
            assert!(mistake("1ns").contains(&expected), "{}", mistake("1ns"));
            assert_eq!(mistake("50us"), "");
        }
    }

    #[test]
    fn a_choice_of_entropy_values_beside_switches_that_choose_is_rejected() {
        let mistake = |changed: &[(&str, &str)]| {
            let run = Run::start(UET, "x.toml", &overrides(changed), 1, &[]);
            run.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(mistake(&[("routing", "\"spray\"")]), "");
        for (key, value) in [("transport.uet.load_balancing", "\"reps\""), ("transport.uet.entropies", "8")] {
            assert_eq!(mistake(&[(key, value)]), "");
            let mistake = mistake(&[("routing", "\"spray\""), (key, value)]);
            let expected = format!("\"ecmp\" beside {key}: no other routing hashes entropy values to paths");
            assert!(mistake.contains(&expected), "{mistake}");
        }
    }

    #[test]
    fn credits_of_receivers_beside_pauses_are_warned_of() {
        let warnings = |priorities: &str| {
            let text = format!(
                "topology.single_switch.hosts = 2\ntransport.uet.rccc = {{}}\n\
                 flow_control.pfc.priorities = {priorities}\n\
                 [[job]]\nname = \"first\"\nworkload.permutation = {{ ranks = 2 }}\n"
            );
            testing::warnings(&text, &[])
        };
        assert_eq!(warnings("[1]"), Vec::<String>::new());
        assert!(warnings("[0]")[0].starts_with("transport.uet.rccc: receivers grant credits in priority 0 of first"));
    }
}
