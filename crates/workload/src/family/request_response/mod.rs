//! Requests and their answers: what `TCP_RR` of netperf, `tcp_lat` of qperf, a key-value store or a search does.
//!
//! ```text
//!   client ── request ──► server ── work ──┐
//!     ▲  └─── request ──► server ── work ──┤     a request is complete with the last of its answers
//!     └───────────────────────── answers ──┘
//! ```
//!
//! Servers may call other services before they answer, one after another or together.

mod drivers;
mod plan;

use std::sync::Arc;

use etherweave_primitives::{Bytes, Duration, InputError, InputErrors, Rank, Stream, params};

use self::{drivers::Client, drivers::Server, plan::Asked, plan::Plan};
use crate::limits::{MESSAGE_MAX, STREAMS_MAX, at_least, at_most, within};
use crate::{ExecutionStream, Graph, GraphFacts, Traffic, TrafficSize, generator::Generator};

const THREADS_MAX: u32 = 64;
/// Most requests of all clients, each of which is drawn before a run.
const REQUESTS_MAX: u64 = 100_000_000;
/// Most services behind the first one.
const SERVICES_MAX: u32 = 1_024;
/// Most servers at work on a request.
const PLACES_MAX: u64 = 1 << 16;
/// An exponential number of mean 1 is at most that (`Stream::exponential`).
const EXPONENTIAL_MAX: u64 = 45;

/// Time that a server works on a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceTimes {
    /// The same on every request.
    Constant,
    /// Exponential around this mean.
    Exponential,
}

/// Times at which a client asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum RequestLoad {
    /// Closed loop: the next request follows an answer.
    Closed {
        /// Requests of a client that may be unanswered at once, 1 to 65,536.
        outstanding: u32,
        /// Time from an answer to the next request.
        think: Duration,
    },
    /// Open loop: requests do not wait for answers.
    Open {
        /// Time from one request to the next in the mean, exponentially distributed.
        interval: Duration,
    },
}

params! {
    /// Servers that are called alike. Their calls go to services that are listed after them.
    pub struct Service {
        /// Name in calls.
        pub name: String = String::new(),
        /// Servers, 1 or more.
        pub servers: u32 = 1,
        /// Servers that a call goes to, at most all: the first of them at random, and those that follow it.
        pub fan_out: u32 = 1,
        /// A request to a server [B].
        pub request: Bytes = Bytes::new(1),
        /// The answer of a server [B].
        pub response: Bytes = Bytes::new(1),
        /// Work of a server on a request.
        pub service: Duration = Duration::ZERO,
        /// Distribution of the work.
        pub service_times: ServiceTimes = ServiceTimes::Constant,
        /// Threads of a server that work, 1 to 64, each on one request at a time.
        pub threads: u32 = 1,
        /// Services that are called after the work: lists one after another, those of a list together.
        pub calls: Vec<Vec<String>> = Vec::new(),
    }
}

params! {
    /// Requests and their answers (`request_response`). The clients are the first ranks, the servers the last.
    pub struct RequestResponse {
        /// Clients, 1 or more.
        pub clients: u32 = 1,
        /// Servers, 1 or more.
        pub servers: u32 = 1,
        /// Servers that a request goes to, at most all: the first of them at random, and those that follow it.
        pub fan_out: u32 = 1,
        /// A request to one server [B].
        pub request: Bytes = Bytes::new(1),
        /// The answer of one server [B].
        pub response: Bytes = Bytes::new(1),
        /// Work of a server on a request.
        pub service: Duration = Duration::ZERO,
        /// Distribution of the work.
        pub service_times: ServiceTimes = ServiceTimes::Constant,
        /// Threads of a server that work, 1 to 64, each on one request at a time.
        pub threads: u32 = 1,
        /// Services that a server calls after the work: lists one after another, those of a list together.
        pub calls: Vec<Vec<String>> = Vec::new(),
        /// Services behind these servers, each before those that it calls. Their servers are the ranks that follow.
        pub services: Vec<Service> = Vec::new(),
        /// Times at which a client asks.
        pub load: RequestLoad = RequestLoad::Closed { outstanding: 1, think: Duration::ZERO },
        /// Measured requests of each client, 1 or more.
        pub requests: u32 = 1_000,
        /// Requests of each client before these, which are not measured.
        pub warm_up: u32 = 10,
    }
}

impl Generator for RequestResponse {
    fn ranks(&self) -> u64 {
        u64::from(self.clients) + self.all_services().iter().map(|service| u64::from(service.servers)).sum::<u64>()
    }

    fn traffic(&self, seed: u64) -> Result<Traffic, InputErrors> {
        self.check()?;
        let plan = Arc::new(Plan::new(self, seed));
        let mut ranks: Vec<Arc<Graph>> =
            (0..self.clients).map(|client| Arc::new(client_graph(&plan, client))).collect();
        let mut asked = plan.asked().into_iter();
        for service in 0..plan.services.len() {
            let servers = plan.ranks(service).zip(&mut asked);
            ranks.extend(servers.map(|(rank, asked)| Arc::new(server_graph(&plan, service, rank, asked))));
        }
        Ok(Traffic::Graphs { ranks, iterations: 1 })
    }

    /// Service that is called, by requests and answers alike.
    fn purpose(&self, tag: u32) -> Option<String> {
        let plan = Plan::new(self, 0);
        Some(match plan.services.get(plan.service(tag)) {
            Some(Service { name, .. }) if !name.is_empty() => format!("calls of {name}"),
            Some(_) | None => "calls".to_owned(),
        })
    }

    /// Load of the busiest service: work that arrives in a second, divided by the work that its threads do in a second.
    fn overload(&self) -> Option<String> {
        let RequestLoad::Open { interval } = self.load else { return None };
        let requests = f64::from(self.clients) / interval.as_ps() as f64;
        let load = |(service, count): (&Service, u64)| {
            let threads = f64::from(service.servers) * f64::from(service.threads);
            requests * count as f64 * service.service.as_ps() as f64 / threads
        };
        let services = self.all_services();
        let loads = services.iter().zip(self.counts()).map(|(service, count)| (load((service, count)), &service.name));
        let (load, name) = loads.max_by(|left, right| left.0.total_cmp(&right.0))?;
        let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
        (load >= 1.0).then(|| format!("{load:.2} times the work that the servers{of} can do"))
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        self.check()?;
        let (services, counts) = (self.all_services(), self.counts());
        let each = u64::from(self.clients);
        let all = each * u64::from(self.all_requests());
        let window = match self.load {
            RequestLoad::Closed { outstanding, .. } => u64::from(outstanding.min(self.all_requests())),
            RequestLoad::Open { .. } => 1,
        };
        let sum = |of: &dyn Fn(&Service) -> u64| -> u64 {
            counts.iter().zip(&services).map(|(count, service)| count * of(service)).sum()
        };
        let threads = services.iter().map(|service| u64::from(service.servers) * u64::from(service.threads));
        let connections = self.connections();
        Ok(TrafficSize {
            ranks: self.ranks(),
            receivers: self.ranks(),
            program_bytes: self.ranks() * size_of::<Graph>() as u64 + each + threads.sum::<u64>() + 16 * connections,
            connections,
            rows: each * u64::from(self.requests) * (1 + sum(&|service| service.calls.concat().len() as u64)),
            messages: Some(2 * all * sum(&|_| 1)),
            bytes: Some(all * sum(&|service| service.request.get() + service.response.get())),
            burst_bytes: each * window * sum(&|service| service.request.max(service.response).get()),
            rest_ps: None,
        })
    }
}

impl Service {
    /// Services that it calls, by number.
    fn stages(&self, services: &[Service]) -> Vec<Vec<usize>> {
        // The first service is the clients' and has no name.
        let number = |name: &String| services.iter().skip(1).position(|service| service.name == *name);
        self.calls.iter().map(|stage| stage.iter().filter_map(|name| Some(1 + number(name)?)).collect()).collect()
    }

    /// Time of a server on the next request.
    fn work(&self, draws: &mut Stream) -> Duration {
        match self.service_times {
            ServiceTimes::Constant => self.service,
            ServiceTimes::Exponential => exponential(self.service, draws),
        }
    }

    /// Rejects what cannot be; `prefix` is of its keys, `after` has the services that it may call.
    fn check(&self, prefix: &str, after: &[Service]) -> Result<(), InputErrors> {
        let key = |name: &str| format!("{prefix}{name}");
        let known: Vec<&str> = after.iter().map(|service| service.name.as_str()).collect();
        let unknown = self.calls.iter().flatten().find(|name| !known.contains(&name.as_str()));
        let expected = match known.join(", ") {
            names if names.is_empty() => "no call, as no service is listed after it".to_owned(),
            names => format!("services that are listed after it: {names}"),
        };
        let is_empty = self.calls.iter().any(Vec::is_empty);
        InputErrors::all([
            at_least(&key("servers"), self.servers, 1),
            within(&key("fan_out"), self.fan_out, 1..=self.servers.max(1)),
            at_most(&key("request"), self.request, MESSAGE_MAX),
            at_most(&key("response"), self.response, MESSAGE_MAX),
            within(&key("threads"), self.threads, 1..=THREADS_MAX),
            unknown.map_or(Ok(()), |name| Err(InputError::new(key("calls"), format!("{name:?}"), expected))),
            InputError::unless(!is_empty, key("calls"), "an empty list", "a service in each list"),
        ])
    }
}

impl RequestResponse {
    /// The service that clients call, and those behind it.
    fn all_services(&self) -> Vec<Service> {
        let entry = Service {
            name: String::new(),
            servers: self.servers,
            fan_out: self.fan_out,
            request: self.request,
            response: self.response,
            service: self.service,
            service_times: self.service_times,
            threads: self.threads,
            calls: self.calls.clone(),
        };
        [vec![entry], self.services.clone()].concat()
    }

    /// Rejects what cannot be, before anything is built.
    fn check(&self) -> Result<(), InputErrors> {
        within("services", self.services.len() as u32, 0..=SERVICES_MAX)?;
        let (services, counts) = (self.all_services(), self.counts());
        for (number, (service, &count)) in services.iter().zip(&counts).enumerate() {
            let prefix = if number == 0 { String::new() } else { format!("services.{}.", number - 1) };
            let earlier = services[..number].iter().any(|earlier| earlier.name == service.name);
            let name = format!("{prefix}name");
            let shown = format!("{:?}", service.name);
            InputError::unless(!earlier, &name, &shown, "a name that no other service has")?;
            service.check(&prefix, &services[number + 1..])?;
            InputError::unless(count > 0, &name, shown, "a service that another one calls")?;
        }
        let pairs = self.connections();
        let mistake = format!("{pairs} pairs of a caller and a server");
        let places = counts.iter().fold(0, |sum: u64, &count| sum.saturating_add(count));
        let requests = u64::from(self.clients) * (u64::from(self.requests) + u64::from(self.warm_up));
        let parts = requests.saturating_mul(places);
        let load = match self.load {
            RequestLoad::Closed { outstanding, .. } => within("load.closed.outstanding", outstanding, 1..=65_536),
            RequestLoad::Open { interval } => {
                InputError::unless(!interval.is_zero(), "load.open.interval", "0s", "more than 0s")
            }
        };
        InputErrors::all([
            at_least("clients", self.clients, 1),
            InputError::unless(pairs <= STREAMS_MAX, "servers", mistake, format!("at most {STREAMS_MAX} with each")),
            load,
            at_least("requests", self.requests, 1),
            InputError::unless(
                places <= PLACES_MAX,
                "calls",
                format!("{places} servers at work on a request"),
                format!("at most {PLACES_MAX}"),
            ),
            InputError::unless(
                parts <= REQUESTS_MAX,
                "requests",
                format!("{parts} with those of all clients to all servers"),
                format!("at most {REQUESTS_MAX}"),
            ),
        ])
    }

    /// Requests of a client, measured or not.
    fn all_requests(&self) -> u32 {
        self.requests + self.warm_up
    }

    /// Servers of each service that work on a request, at most the largest number.
    fn counts(&self) -> Vec<u64> {
        let services = self.all_services();
        let mut counts = vec![0_u64; services.len()];
        counts[0] = self.fan_out.into();
        for caller in 0..services.len() {
            for callee in services[caller].stages(&services).concat() {
                let called = counts[caller].saturating_mul(services[callee].fan_out.into());
                counts[callee] = counts[callee].saturating_add(called);
            }
        }
        counts
    }

    /// Pairs of ranks that send each other messages.
    fn connections(&self) -> u64 {
        let services = self.all_services();
        let servers = |number: usize| u64::from(services[number].servers);
        let mut pairs = u64::from(self.clients) * servers(0);
        for (caller, service) in services.iter().enumerate() {
            let mut callees = service.stages(&services).concat();
            callees.sort_unstable();
            callees.dedup();
            pairs += callees.into_iter().map(|callee| servers(caller) * servers(callee)).sum::<u64>();
        }
        pairs
    }
}

fn client_graph(plan: &Arc<Plan>, client: u32) -> Graph {
    let (own, all) = (&plan.own, u64::from(plan.own.all_requests()));
    let peers: Vec<Rank> = plan.ranks(0).map(Rank::new).collect();
    let mut facts = GraphFacts::of_peers(&peers);
    plan.add_call(&mut facts, 0, all);
    let (pause, pause_max) = match own.load {
        RequestLoad::Closed { think, .. } => (think, think),
        RequestLoad::Open { interval } => (interval, longest(interval)),
    };
    facts.computed_ps = pause.as_ps().saturating_mul(all);
    facts.computation_max = pause_max;
    let rows = own.requests.into();
    let plan = Arc::clone(plan);
    Graph::recording(vec![ExecutionStream::Core], facts, rows, move || Client::new(&plan, client))
}

fn server_graph(plan: &Arc<Plan>, service: usize, rank: u32, asked: Asked) -> Graph {
    let (own, requests) = (&plan.services[service], u64::from(asked.requests));
    let mut facts = GraphFacts::of_peers(&plan.peers(service));
    facts.add_messages(requests, own.response.get(), own.request.get());
    let calls = plan.calls[service].concat();
    calls.iter().for_each(|&callee| plan.add_call(&mut facts, callee, requests));
    facts.computed_ps = own.service.as_ps().saturating_mul(requests) / u64::from(own.threads);
    facts.computation_max = match own.service_times {
        ServiceTimes::Constant => own.service,
        ServiceTimes::Exponential => longest(own.service),
    };
    let (rows, messages) = (calls.len() as u64 * u64::from(asked.measured), facts.received.messages);
    let streams = vec![ExecutionStream::Core; own.threads as usize];
    let plan = Arc::clone(plan);
    Graph::recording(streams, facts, rows, move || Server::new(&plan, service, rank, messages))
}

/// The longest exponential time of this mean.
fn longest(mean: Duration) -> Duration {
    Duration::from_ps(mean.as_ps().saturating_mul(EXPONENTIAL_MAX))
}

fn exponential(mean: Duration, draws: &mut Stream) -> Duration {
    Duration::from_ps(((u128::from(mean.as_ps()) * u128::from(draws.exponential())) >> 32) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(keys: &str) -> RequestResponse {
        toml::from_str(keys).unwrap()
    }

    /// Two servers of `front` call `user`, then both of `search` and one of `ads` together; `search` calls `ads`.
    const SERVICES: &str = r#"
        clients = 3
        servers = 2
        requests = 40
        warm_up = 7
        calls = [["user"], ["search", "ads"]]
        services = [
            { name = "user", servers = 3, request = "1KiB" },
            { name = "search", servers = 4, fan_out = 2, threads = 2, calls = [["ads"]] },
            { name = "ads", response = "4KiB" },
        ]
    "#;

    fn graphs(plan: &RequestResponse) -> Vec<Arc<Graph>> {
        let Traffic::Graphs { ranks, iterations: 1 } = plan.traffic(1).unwrap() else { panic!("graphs") };
        ranks
    }

    /// Places of a request: client, front server, `user`, two of `search` and `ads`, and `ads` behind each `search`.
    #[test]
    fn messages_are_named_by_the_service_that_is_called() {
        let plan = workload(SERVICES);
        let names: Vec<String> = (16..24).map(|tag| plan.purpose(tag).unwrap()).collect();
        let [front, user, search, ads] = ["calls", "calls of user", "calls of search", "calls of ads"];
        assert_eq!(names, [front, front, user, search, search, ads, ads, ads]);
    }

    #[test]
    fn every_request_goes_to_different_servers_and_each_server_is_asked_as_often_as_it_answers() {
        let plan = workload("clients = 3\nservers = 5\nfan_out = 2\nrequests = 100\nwarm_up = 7");
        let requests = |seed| Plan::new(&plan, seed).asked().iter().map(|asked| asked.requests).collect::<Vec<_>>();
        let asked = requests(1);
        assert_eq!((asked.len(), asked.iter().sum::<u32>()), (5, 3 * 107 * 2));
        assert!(asked.iter().all(|&requests| requests > 60), "{asked:?}");
        assert_ne!(asked, requests(2));
        let ranks = graphs(&plan);
        let rows: Vec<u64> = ranks.iter().map(|graph| graph.rows()).collect();
        assert_eq!(rows, [100, 100, 100, 0, 0, 0, 0, 0]);
        let received: Vec<u64> = ranks[3..].iter().map(|graph| graph.facts().received.messages).collect();
        assert_eq!(received, asked.iter().map(|&requests| u64::from(requests)).collect::<Vec<_>>());
    }

    #[test]
    fn a_service_is_asked_as_often_as_its_callers_call_it() {
        let (plan, ranks) = (workload(SERVICES), graphs(&workload(SERVICES)));
        // A request has a part at `front`, one at `user`, two at `search`, and one at `ads` of each of three callers.
        assert_eq!(plan.counts(), [1, 1, 2, 3]);
        let sums = |servers: std::ops::Range<usize>| {
            let sum = |of: fn(&Graph) -> u64| ranks[servers.clone()].iter().map(|graph| of(graph)).sum::<u64>();
            (sum(|graph| graph.facts().received.messages), sum(Graph::rows))
        };
        // A server receives the request, and an answer of each part that it calls; its calls are rows.
        let (all, measured) = (3 * 47, 3 * 40);
        assert_eq!(sums(0..3), (all, measured));
        assert_eq!(sums(3..5), (all * (1 + 4), measured * 3));
        assert_eq!(sums(5..8), (all, 0));
        assert_eq!(sums(8..12), (all * 2 * (1 + 1), measured * 2));
        assert_eq!(sums(12..13), (all * 3, 0));
    }

    /// Three clients ask once in 10 us each: `ads` works three times on each request, 2 us each time.
    #[test]
    fn the_busiest_service_is_named_where_it_has_more_work_than_time() {
        let plan = |interval: &str| {
            let services = SERVICES.replace("{ name = \"ads\",", "{ name = \"ads\", service = \"2us\",");
            workload(&format!("{services}load.open.interval = \"{interval}\""))
        };
        let expected = "1.80 times the work that the servers of ads can do";
        assert_eq!(plan("10us").overload().as_deref(), Some(expected));
        // Whatever a request takes besides its work is too much at a load of 1.
        assert_eq!(plan("18us").overload().as_deref(), Some("1.00 times the work that the servers of ads can do"));
        assert_eq!(plan("19us").overload(), None);
        assert_eq!(workload("service = \"1s\"").overload(), None, "a closed loop waits");
        let own = workload("service = \"3us\"\nload.open.interval = \"2us\"").overload();
        assert_eq!(own.as_deref(), Some("1.50 times the work that the servers can do"));
    }

    #[test]
    fn the_size_is_that_of_what_is_built() {
        for keys in
            ["", "clients = 4\nservers = 3\nfan_out = 3\nrequests = 20\nrequest = \"1KiB\"\nthreads = 2", SERVICES]
        {
            let plan = workload(keys);
            let (size, ranks) = (plan.size().unwrap(), graphs(&plan));
            let amounts = crate::Amounts::of(&plan.traffic(1).unwrap());
            assert_eq!((size.rows, size.messages), (amounts.iterations, Some(amounts.messages)));
            assert_eq!(size.bytes, Some(amounts.bytes));
            assert_eq!(size.program_bytes, ranks.iter().map(|graph| graph.memory()).sum::<u64>());
        }
    }
}
