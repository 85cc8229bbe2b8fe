//! Requests and their answers: what `TCP_RR` of netperf, `tcp_lat` of qperf, a key-value store or a search does.
//!
//! ```text
//!   client ── request ──► server ── work ──┐
//!     ▲  └─── request ──► server ── work ──┤     a request is complete with the last of its answers
//!     └───────────────────────── answers ──┘
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use etherweave_primitives::{Bytes, Duration, InputError, InputErrors, Purpose, Rank, Stream, Time, params};

use crate::generator::Generator;
use crate::limits::{MESSAGE_MAX, STREAMS_MAX, at_least, at_most, within};
use crate::{Driver, DriverEvent, ExecutionStream, Graph, GraphFacts, GraphOp, NextOperations, Traffic, TrafficSize};

/// Most threads of a server.
const THREADS_MAX: u32 = 64;
/// Most requests of all clients, each of which is drawn before a run.
const REQUESTS_MAX: u64 = 100_000_000;
/// An exponential number of mean 1 is at most that (`Stream::exponential`).
const EXPONENTIAL_MAX: u64 = 45;

/// How long a server works on a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceTimes {
    /// As long on each.
    Constant,
    /// So long in the mean, exponentially distributed.
    Exponential,
}

/// When a client asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum RequestLoad {
    /// When it has an answer: closed loop.
    Closed {
        /// Requests of a client that may be unanswered at once, 1 to 65,536.
        outstanding: u32,
        /// From an answer to the next request.
        think: Duration,
    },
    /// Whatever is unanswered: open loop.
    Open {
        /// From one request to the next in the mean, exponentially distributed.
        interval: Duration,
    },
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
        /// How the work varies.
        pub service_times: ServiceTimes = ServiceTimes::Constant,
        /// Threads of a server that work, 1 to 64, each on one request at a time.
        pub threads: u32 = 1,
        /// When a client asks.
        pub load: RequestLoad = RequestLoad::Closed { outstanding: 1, think: Duration::ZERO },
        /// Measured requests of each client, 1 or more.
        pub requests: u32 = 1_000,
        /// Requests of each client before these, which are not measured.
        pub warm_up: u32 = 10,
    }
}

impl Generator for RequestResponse {
    fn ranks(&self) -> u64 {
        u64::from(self.clients) + u64::from(self.servers)
    }

    fn traffic(&self, seed: u64) -> Result<Traffic, InputErrors> {
        self.check()?;
        let asked = self.asked(seed);
        let plan = Arc::new(self.clone());
        let clients = (0..self.clients).map(|client| plan.client(client, seed));
        let servers = asked.iter().enumerate().map(|(server, &requests)| plan.server(server as u32, requests, seed));
        Ok(Traffic::Graphs { ranks: clients.chain(servers).map(Arc::new).collect(), iterations: 1 })
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        self.check()?;
        let (clients, servers, parts) = (u64::from(self.clients), u64::from(self.servers), self.parts());
        let window = match self.load {
            RequestLoad::Closed { outstanding, .. } => u64::from(outstanding.min(self.all_requests())),
            RequestLoad::Open { .. } => 1,
        };
        let streams = clients + servers * u64::from(self.threads);
        let peers = 2 * clients * servers;
        Ok(TrafficSize {
            ranks: self.ranks(),
            receivers: self.ranks(),
            program_bytes: self.ranks() * size_of::<Graph>() as u64 + streams + 8 * peers,
            connections: clients * servers,
            rows: clients * u64::from(self.requests),
            messages: Some(2 * parts),
            bytes: Some(parts * (self.request.get() + self.response.get())),
            burst_bytes: clients * window * u64::from(self.fan_out) * self.request.max(self.response).get(),
        })
    }
}

impl RequestResponse {
    /// Rejects what cannot be, before anything is built.
    fn check(&self) -> Result<(), InputErrors> {
        let pairs = u64::from(self.clients) * u64::from(self.servers);
        let found = format!("{pairs} pairs of a client and a server");
        let requests = u64::from(self.clients) * (u64::from(self.requests) + u64::from(self.warm_up));
        let parts = requests.saturating_mul(self.fan_out.into());
        let load = match self.load {
            RequestLoad::Closed { outstanding, .. } => within("load.closed.outstanding", outstanding, 1..=65_536),
            RequestLoad::Open { interval } => {
                InputError::unless(!interval.is_zero(), "load.open.interval", "0s", "more than 0s")
            }
        };
        InputErrors::all([
            at_least("clients", self.clients, 1),
            at_least("servers", self.servers, 1),
            within("fan_out", self.fan_out, 1..=self.servers.max(1)),
            InputError::unless(pairs <= STREAMS_MAX, "servers", found, format!("at most {STREAMS_MAX} with each")),
            at_most("request", self.request, MESSAGE_MAX),
            at_most("response", self.response, MESSAGE_MAX),
            within("threads", self.threads, 1..=THREADS_MAX),
            load,
            at_least("requests", self.requests, 1),
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

    /// Requests to single servers, of all clients.
    fn parts(&self) -> u64 {
        u64::from(self.clients) * u64::from(self.all_requests()) * u64::from(self.fan_out)
    }

    /// Who each request of a client goes to: the first of the servers.
    fn choices(client: u32, seed: u64) -> Stream {
        Stream::new(seed, Purpose::Destinations, client.into())
    }

    /// The servers of the next request.
    fn choose(&self, choices: &mut Stream) -> impl Iterator<Item = u32> + use<> {
        let (first, servers) = (choices.below(self.servers.into()) as u32, self.servers);
        (0..self.fan_out).map(move |place| (first + place) % servers)
    }

    /// How many requests go to each server.
    fn asked(&self, seed: u64) -> Vec<u32> {
        let mut asked = vec![0; self.servers as usize];
        for client in 0..self.clients {
            let mut choices = RequestResponse::choices(client, seed);
            for _ in 0..self.all_requests() {
                self.choose(&mut choices).for_each(|server| asked[server as usize] += 1);
            }
        }
        asked
    }

    fn client(self: &Arc<Self>, client: u32, seed: u64) -> Graph {
        let peers: Vec<Rank> = (0..self.servers).map(|server| Rank::new(self.clients + server)).collect();
        let all = u64::from(self.all_requests());
        let parts = all * u64::from(self.fan_out);
        let pause = match self.load {
            RequestLoad::Closed { think, .. } => think,
            RequestLoad::Open { interval } => interval,
        };
        let mut facts = GraphFacts::of_peers(&peers);
        facts.add_messages(parts, self.request.get(), self.response.get());
        facts.computed_ps = pause.as_ps().saturating_mul(all);
        facts.computation_max = match self.load {
            RequestLoad::Closed { think, .. } => think,
            RequestLoad::Open { interval } => longest(interval),
        };
        let plan = Arc::clone(self);
        let streams = vec![ExecutionStream::Core];
        Graph::recording(streams, facts, self.requests.into(), move || Client::new(&plan, client, seed))
    }

    fn server(self: &Arc<Self>, server: u32, requests: u32, seed: u64) -> Graph {
        let peers: Vec<Rank> = (0..self.clients).map(Rank::new).collect();
        let mut facts = GraphFacts::of_peers(&peers);
        facts.add_messages(requests.into(), self.response.get(), self.request.get());
        facts.computed_ps = self.service.as_ps().saturating_mul(requests.into()) / u64::from(self.threads);
        facts.computation_max = match self.service_times {
            ServiceTimes::Constant => self.service,
            ServiceTimes::Exponential => longest(self.service),
        };
        let plan = Arc::clone(self);
        let streams = vec![ExecutionStream::Core; self.threads as usize];
        Graph::recording(streams, facts, 0, move || Server::new(&plan, server, requests, seed))
    }
}

/// The longest exponential time of this mean.
fn longest(mean: Duration) -> Duration {
    Duration::from_ps(mean.as_ps().saturating_mul(EXPONENTIAL_MAX))
}

/// An exponential time of this mean.
fn exponential(mean: Duration, draws: &mut Stream) -> Duration {
    Duration::from_ps(((u128::from(mean.as_ps()) * u128::from(draws.exponential())) >> 32) as u64)
}

/// A request that is not complete.
struct Unanswered {
    since: Time,
    /// Answers that have not come.
    left: u32,
}

/// Asks, and records how long each request takes. The tag of a request is its number.
struct Client {
    plan: Arc<RequestResponse>,
    choices: Stream,
    arrivals: Stream,
    /// The next request.
    number: u32,
    unanswered: BTreeMap<u32, Unanswered>,
    /// Waits in progress; the other operations that end without a message are sends.
    waits: BTreeSet<u32>,
}

impl Client {
    fn new(plan: &Arc<RequestResponse>, client: u32, seed: u64) -> Client {
        Client {
            plan: Arc::clone(plan),
            choices: RequestResponse::choices(client, seed),
            arrivals: Stream::new(seed, Purpose::Arrivals, client.into()),
            number: 0,
            unanswered: BTreeMap::new(),
            waits: BTreeSet::new(),
        }
    }

    fn is_at_end(&self) -> bool {
        self.number == self.plan.all_requests()
    }

    fn ask(&mut self, now: Time, next: &mut NextOperations<'_>) {
        let (plan, tag) = (Arc::clone(&self.plan), self.number);
        self.number += 1;
        self.unanswered.insert(tag, Unanswered { since: now, left: plan.fan_out });
        let peers: Vec<Rank> = plan.choose(&mut self.choices).map(|server| Rank::new(plan.clients + server)).collect();
        for &peer in &peers {
            next.perform(0, GraphOp::Receive { peer: Some(peer), tag: Some(tag), bytes: plan.response.get() });
        }
        for peer in peers {
            next.perform(0, GraphOp::Send { peer, tag, bytes: plan.request.get() });
        }
    }

    /// Waits for the next request of an open loop.
    fn expect(&mut self, interval: Duration, next: &mut NextOperations<'_>) {
        if !self.is_at_end() {
            self.waits.insert(next.wait(exponential(interval, &mut self.arrivals)));
        }
    }

    /// Takes an answer; the last of a request's makes room for another.
    fn take(&mut self, now: Time, tag: u32, next: &mut NextOperations<'_>) {
        let request = self.unanswered.get_mut(&tag).expect("answers are to requests");
        request.left -= 1;
        if request.left > 0 {
            return;
        }
        if tag >= self.plan.warm_up {
            next.record(request.since);
        }
        self.unanswered.remove(&tag);
        match self.plan.load {
            RequestLoad::Closed { think, .. } if think.is_zero() && !self.is_at_end() => self.ask(now, next),
            // Requests that are only thought about count.
            RequestLoad::Closed { think, .. } => {
                let left = self.plan.all_requests() - self.number;
                if self.waits.len() < left as usize {
                    self.waits.insert(next.wait(think));
                }
            }
            RequestLoad::Open { .. } => {}
        }
    }
}

impl Driver for Client {
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        match (event, self.plan.load) {
            (DriverEvent::Started, RequestLoad::Closed { outstanding, .. }) => {
                (0..outstanding.min(self.plan.all_requests())).for_each(|_| self.ask(now, next));
            }
            (DriverEvent::Started, RequestLoad::Open { interval }) => self.expect(interval, next),
            (DriverEvent::Complete { received: Some(answer), .. }, _) => self.take(now, answer.tag, next),
            (DriverEvent::Complete { operation, received: None }, load) => {
                if self.waits.remove(&operation) {
                    self.ask(now, next);
                    if let RequestLoad::Open { interval } = load {
                        self.expect(interval, next);
                    }
                }
            }
        }
    }
}

/// What a thread of a server is at.
#[derive(Clone, Copy)]
enum Step {
    /// It waits for a request.
    Receive,
    /// It works on a request.
    Work { client: Rank, tag: u32 },
}

/// Answers requests: each thread takes one, works on it, answers, and takes the next.
struct Server {
    plan: Arc<RequestResponse>,
    work: Stream,
    /// Requests for which no thread waits yet.
    left: u32,
    /// Operations in progress but sends, and the threads that perform them.
    steps: BTreeMap<u32, (u8, Step)>,
}

impl Server {
    fn new(plan: &Arc<RequestResponse>, server: u32, requests: u32, seed: u64) -> Server {
        let work = Stream::new(seed, Purpose::Service, server.into());
        Server { plan: Arc::clone(plan), work, left: requests, steps: BTreeMap::new() }
    }

    fn receive(&mut self, thread: u8, next: &mut NextOperations<'_>) {
        if self.left > 0 {
            self.left -= 1;
            let receive = GraphOp::Receive { peer: None, tag: None, bytes: self.plan.request.get() };
            self.steps.insert(next.perform(thread, receive), (thread, Step::Receive));
        }
    }

    fn answer(&mut self, thread: u8, client: Rank, tag: u32, next: &mut NextOperations<'_>) {
        next.perform(thread, GraphOp::Send { peer: client, tag, bytes: self.plan.response.get() });
        self.receive(thread, next);
    }
}

impl Driver for Server {
    fn on_event(&mut self, _now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        let (operation, received) = match event {
            DriverEvent::Started => return (0..self.plan.threads as u8).for_each(|thread| self.receive(thread, next)),
            DriverEvent::Complete { operation, received } => (operation, received),
        };
        match (self.steps.remove(&operation), received) {
            (Some((thread, Step::Receive)), Some(request)) => {
                let duration = match self.plan.service_times {
                    ServiceTimes::Constant => self.plan.service,
                    ServiceTimes::Exponential => exponential(self.plan.service, &mut self.work),
                };
                if duration.is_zero() {
                    return self.answer(thread, request.peer, request.tag, next);
                }
                let step = Step::Work { client: request.peer, tag: request.tag };
                self.steps.insert(next.perform(thread, GraphOp::Compute { duration }), (thread, step));
            }
            (Some((thread, Step::Work { client, tag })), _) => self.answer(thread, client, tag, next),
            // A send is complete.
            (_, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(keys: &str) -> RequestResponse {
        toml::from_str(keys).unwrap()
    }

    #[test]
    fn every_request_goes_to_different_servers_and_each_server_is_asked_as_often_as_it_answers() {
        let plan = workload("clients = 3\nservers = 5\nfan_out = 2\nrequests = 100\nwarm_up = 7");
        let asked = plan.asked(1);
        assert_eq!((asked.len(), asked.iter().sum::<u32>()), (5, 3 * 107 * 2));
        assert!(asked.iter().all(|&requests| requests > 60), "{asked:?}");
        assert_ne!(asked, plan.asked(2));
        let Traffic::Graphs { ranks, iterations: 1 } = plan.traffic(1).unwrap() else { panic!("graphs") };
        let rows: Vec<u64> = ranks.iter().map(|graph| graph.rows()).collect();
        assert_eq!(rows, [100, 100, 100, 0, 0, 0, 0, 0]);
        let received: Vec<u64> = ranks[3..].iter().map(|graph| graph.facts().received.messages).collect();
        assert_eq!(received, asked.iter().map(|&requests| u64::from(requests)).collect::<Vec<_>>());
    }

    #[test]
    fn the_size_is_that_of_what_is_built() {
        for keys in ["", "clients = 4\nservers = 3\nfan_out = 3\nrequests = 20\nrequest = \"1KiB\"\nthreads = 2"] {
            let plan = workload(keys);
            let (size, traffic) = (plan.size().unwrap(), plan.traffic(1).unwrap());
            let amounts = crate::Amounts::of(&traffic);
            assert_eq!((size.rows, size.messages), (amounts.iterations, Some(amounts.messages)));
            assert_eq!(size.bytes, Some(amounts.bytes));
            let Traffic::Graphs { ranks, .. } = traffic else { panic!("graphs") };
            assert_eq!(size.program_bytes, ranks.iter().map(|graph| graph.memory()).sum::<u64>());
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (keys, error) in [
            ("clients = 0", "clients: 0; expected at least 1"),
            ("fan_out = 2", "fan_out: 2; expected 1 to 1"),
            ("threads = 65", "threads: 65; expected 1 to 64"),
            ("load.open.interval = \"0us\"", "load.open.interval: 0s; expected more than 0s"),
            ("load.closed = { outstanding = 0, think = \"0us\" }", "load.closed.outstanding: 0; expected 1 to 65536"),
            (
                "clients = 1000\nrequests = 1000000",
                "requests: 1000010000 with those of all clients to all servers; expected at most 100000000",
            ),
        ] {
            assert_eq!(workload(keys).traffic(1).unwrap_err().to_string(), error);
        }
    }
}
