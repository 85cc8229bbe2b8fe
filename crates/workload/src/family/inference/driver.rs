//! Drivers of the ranks of prefill and decode workers.
//!
//! The first rank of a decode worker decides on its steps. The others report to it what they have of a prompt, by short
//! messages. Where layers have experts, it announces each step, and the others report when they have exchanged tokens.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use etherweave_primitives::{Bytes, Duration, Rank, Time};

use super::plan::{Plan, Planned};
use super::{KvTransfer, SPANS};
use crate::family::moe::driver::{Exchanges, purpose as purpose_of_tokens, streams as streams_of_experts};
use crate::{Driver, DriverEvent, ExecutionStream, Graph, GraphFacts, GraphOp, MessageSum, NextOperations, Received};

/// Messages between processes that carry no keys and values [B].
const CONTROL_BYTES: u64 = 64;
/// Kinds of messages, in the highest bits of their tags; the rest is the number of the request, of a step its requests,
/// none behind the last one, and of tokens the number of their exchange.
const VALUES: u32 = 0;
const NOTICE: u32 = 1 << 28;
const READ: u32 = 2 << 28;
const REPORT: u32 = 3 << 28;
const TOKENS: u32 = 4 << 28;
const STEP: u32 = 5 << 28;
const DONE: u32 = 6 << 28;
const NUMBER: u32 = NOTICE - 1;

/// Purpose of messages with a tag.
pub(super) fn purpose(tag: u32) -> &'static str {
    match tag & !NUMBER {
        VALUES => "keys and values",
        TOKENS => purpose_of_tokens(tag),
        _ => "control messages",
    }
}

/// Sums of messages that a rank sends and receives.
#[derive(Default)]
struct Sums {
    sent: MessageSum,
    received: MessageSum,
    longest: u64,
}

impl Sums {
    fn send(&mut self, messages: u64, bytes: u64) {
        add(&mut self.sent, messages, bytes);
        self.longest = self.longest.max(if messages > 0 { bytes } else { 0 });
    }

    fn receive(&mut self, messages: u64, bytes: u64) {
        add(&mut self.received, messages, bytes);
    }

    /// Messages of an exchange, so often.
    fn exchange(&mut self, [sent, received]: [MessageSum; 2], times: u64, longest: u64) {
        for (sum, more) in [(&mut self.sent, sent), (&mut self.received, received)] {
            sum.messages = sum.messages.saturating_add(times.saturating_mul(more.messages));
            sum.bytes = sum.bytes.saturating_add(times.saturating_mul(more.bytes));
        }
        self.longest = self.longest.max(longest);
    }

    fn facts(self, peers: Vec<u32>) -> GraphFacts {
        let mut peers: Vec<Rank> = peers.into_iter().map(Rank::new).collect();
        peers.sort_unstable();
        peers.dedup();
        let mut facts = GraphFacts::of_peers(&peers);
        (facts.sent, facts.received, facts.sent_max) = (self.sent, self.received, self.longest);
        facts
    }
}

fn add(sum: &mut MessageSum, messages: u64, bytes: u64) {
    *sum = MessageSum { messages: sum.messages + messages, bytes: sum.bytes.saturating_add(messages * bytes) };
}

fn streams() -> Vec<ExecutionStream> {
    vec![ExecutionStream::Accelerator]
}

/// Requests of a worker, with their numbers.
fn own(plan: &Plan, is_own: impl Fn(&Planned) -> bool) -> Vec<u32> {
    (0..).zip(&plan.requests).filter(|(_, planned)| is_own(planned)).map(|(number, _)| number).collect()
}

/// Something that a prefill rank sends when it is time.
#[derive(Clone, Copy)]
struct Departure {
    at: Duration,
    number: u32,
    kind: u32,
    layers: u32,
}

/// Sends keys and values.
struct Prefill {
    plan: Arc<Plan>,
    /// Place in its worker.
    place: u32,
    start: Time,
    departures: VecDeque<Departure>,
    wait: Option<u32>,
    /// Requests to read that have not come.
    reads: u64,
}

/// The graph of a rank of a prefill worker.
pub(super) fn prefill(plan: &Arc<Plan>, rank: u32) -> Graph {
    let size = plan.service.prefill.accelerators;
    let (worker, place) = (rank / size, rank % size);
    let numbers = own(plan, |planned| planned.prefill == worker);
    let receivers = plan.receivers(place).count() as u64;
    let is_pulled = plan.service.transfer == KvTransfer::Pull;
    let (mut sums, mut departures, mut peers) = (Sums::default(), Vec::new(), Vec::new());
    let notices = if is_pulled && place == 0 { u64::from(plan.service.decode.accelerators) } else { 0 };
    let mut last = Duration::ZERO;
    for &number in &numbers {
        let planned = &plan.requests[number as usize];
        last = planned.ends;
        plan.pieces().for_each(|layers| sums.send(receivers, plan.bytes(&planned.request, layers)));
        sums.send(notices, CONTROL_BYTES);
        sums.receive(if is_pulled { receivers } else { 0 }, CONTROL_BYTES);
        let first = plan.decode_ranks(planned.decode).start;
        match notices {
            0 => peers.extend(plan.receivers(place).map(|other| first + other)),
            _ => peers.extend(plan.decode_ranks(planned.decode)),
        }
        let departure = |at, kind, layers| Departure { at, number, kind, layers };
        if !is_pulled {
            departures.extend(plan.departures(planned).into_iter().map(|(at, layers)| departure(at, VALUES, layers)));
        } else if place == 0 {
            departures.push(departure(planned.ends, NOTICE, 0));
        }
    }
    let reads = if is_pulled { receivers * numbers.len() as u64 } else { 0 };
    let mut facts = sums.facts(peers);
    facts.computed_ps = last.as_ps();
    facts.computation_max = plan.rest_max();
    let plan = Arc::clone(plan);
    Graph::recording(streams(), facts, 0, move || Prefill {
        plan: Arc::clone(&plan),
        place,
        start: Time::ZERO,
        departures: departures.iter().copied().collect(),
        wait: None,
        reads,
    })
}

fn receive(next: &mut NextOperations<'_>) {
    next.perform(0, GraphOp::Receive { peer: None, tag: None, bytes: CONTROL_BYTES });
}

fn send(peer: u32, tag: u32, bytes: u64, next: &mut NextOperations<'_>) -> u32 {
    next.perform(0, GraphOp::Send { peer: Rank::new(peer), tag, bytes })
}

impl Prefill {
    /// Waits for the next departure.
    fn expect(&mut self, now: Time, next: &mut NextOperations<'_>) {
        let at = self.departures.front().map(|departure| self.start + departure.at);
        self.wait = at.map(|at| next.wait(at.since(now)));
    }

    fn depart(&mut self, now: Time, next: &mut NextOperations<'_>) {
        while let Some(&departure) = self.departures.front()
            && self.start + departure.at <= now
        {
            self.departures.pop_front();
            let planned = self.plan.requests[departure.number as usize];
            let ranks = self.plan.decode_ranks(planned.decode);
            if departure.kind == NOTICE {
                ranks.for_each(|rank| _ = send(rank, NOTICE | departure.number, CONTROL_BYTES, next));
                continue;
            }
            let bytes = self.plan.bytes(&planned.request, departure.layers);
            self.plan.receivers(self.place).for_each(|place| {
                send(ranks.start + place, VALUES | departure.number, bytes, next);
            });
        }
    }

    /// Answers a rank that reads.
    fn answer(&mut self, reader: Rank, number: u32, next: &mut NextOperations<'_>) {
        let request = self.plan.requests[number as usize].request;
        for layers in self.plan.pieces() {
            send(reader.get(), VALUES | number, self.plan.bytes(&request, layers), next);
        }
    }
}

impl Driver for Prefill {
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        match event {
            DriverEvent::Started => {
                self.start = now;
                self.expect(now, next);
                if self.reads > 0 {
                    receive(next);
                }
            }
            DriverEvent::Complete { received: Some(read), .. } => {
                self.reads -= 1;
                self.answer(read.peer, read.tag & NUMBER, next);
                if self.reads > 0 {
                    receive(next);
                }
            }
            DriverEvent::Complete { operation, .. } if self.wait == Some(operation) => {
                self.depart(now, next);
                self.expect(now, next);
            }
            DriverEvent::Complete { .. } => {}
        }
    }
}

/// A request that is answered.
struct Answer {
    number: u32,
    /// Time at which all keys and values of its prompt are there.
    cached: Time,
    /// Time of its first token, and all of the worker's exchanges of tokens until then; of a single token, until its
    /// step began.
    first: Option<(Time, Duration)>,
    tokens: u32,
}

/// Part of a decode step that goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    None,
    /// The computation of so many requests.
    Compute(u32, u32),
    /// The exchanges of the layers that are simulated, since then; of the first rank also those of the others.
    Exchange(Time),
    /// The layers that are not, at the first rank.
    Rest(u32),
}

/// Takes keys and values; the first rank of a worker also computes answers, and with experts all do.
struct Decode {
    plan: Arc<Plan>,
    worker: u32,
    place: u32,
    start: Time,
    /// Messages about requests that have not come.
    left: u64,
    /// Requests that are not answered.
    unanswered: usize,
    /// Messages that requests lack at this rank, and at the first rank reports of the others.
    lacking: BTreeMap<u32, u64>,
    /// Requests that wait for a place in the batch, with the time since which they do.
    ready: VecDeque<(u32, Time)>,
    batch: Vec<Answer>,
    /// Keys and values of the batch at an accelerator [B].
    kept: u64,
    step: Step,
    experts: Option<Experts>,
}

/// A rank's part in the exchanges of a decode worker.
struct Experts {
    exchanges: Exchanges,
    /// Other ranks that the first one waits for.
    awaited: u32,
    /// Own messages about requests and steps that are not complete.
    sends: BTreeSet<u32>,
    /// The layers of the step that are not simulated; exchanges of the step, and of all steps.
    rest: Duration,
    of_step: Duration,
    of_all: Duration,
    /// Since when ranks exchange tokens in the step, if they do.
    began: Option<Time>,
    /// Steps of the first rank, by the size of their batch.
    steps: BTreeMap<u32, Steps>,
}

/// Steps of equally many requests.
#[derive(Clone, Copy, Default)]
struct Steps {
    count: u32,
    /// Exchanges of the last one that was simulated: all of them to the end of the step, and what a rank has of them.
    time: Duration,
    of_rank: Duration,
}

/// The graph of a rank of a decode worker, by its number among these.
pub(super) fn decode(plan: &Arc<Plan>, number: u32) -> Graph {
    let size = plan.service.decode.accelerators;
    let (worker, place) = (number / size, number % size);
    let numbers = own(plan, |planned| planned.decode == worker);
    let others = u64::from(size - 1);
    let is_pulled = plan.service.transfer == KvTransfer::Pull;
    let (mut sums, mut peers) = (Sums::default(), Vec::new());
    for &number in &numbers {
        let planned = &plan.requests[number as usize];
        let parts = u64::from(plan.parts());
        plan.pieces().for_each(|layers| sums.receive(parts, plan.bytes(&planned.request, layers)));
        let first = plan.prefill_ranks(planned.prefill).start;
        peers.extend(plan.senders(place).map(|sender| first + sender));
        if is_pulled {
            sums.receive(1, CONTROL_BYTES);
            sums.send(parts, CONTROL_BYTES);
            peers.push(first);
        }
        match place {
            0 => sums.receive(others, CONTROL_BYTES),
            _ => sums.send(1, CONTROL_BYTES),
        }
    }
    let ranks = plan.decode_ranks(worker);
    match place {
        0 => peers.extend(ranks.start + 1..ranks.end),
        _ => peers.push(ranks.start),
    }
    let left = sums.received.messages;
    let last = numbers.iter().map(|&number| plan.requests[number as usize].ends).max().unwrap_or(Duration::ZERO);
    let tokens: u64 = numbers.iter().map(|&number| u64::from(plan.requests[number as usize].request.output)).sum();
    let batch = plan.service.batch_max;
    let exchange = if numbers.is_empty() { None } else { plan.exchange(batch) };
    if let Some(exchange) = &exchange {
        peers.extend(exchange.peers(place).map(|peer| ranks.start + peer));
        // As if every step had as many requests as it can.
        let steps = tokens.div_ceil(batch.into());
        sums.exchange(exchange.amounts(place), steps, exchange.message_max());
        let of_steps = if place == 0 { others * steps } else { steps };
        sums.send(of_steps, CONTROL_BYTES);
        sums.receive(of_steps, CONTROL_BYTES);
    }
    let mut facts = sums.facts(if numbers.is_empty() { Vec::new() } else { peers });
    let steps = (plan.service.decode_step + plan.service.decode_per_request).as_ps().saturating_mul(tokens);
    facts.computed_ps = last.as_ps().saturating_add(if place == 0 { steps } else { 0 });
    let rows = if place == 0 { SPANS * numbers.len() as u64 } else { 0 };
    let streams = if exchange.is_some() { streams_of_experts() } else { streams() };
    let plan = Arc::clone(plan);
    Graph::recording(streams, facts, rows, move || Decode {
        plan: Arc::clone(&plan),
        worker,
        place,
        start: Time::ZERO,
        left,
        unanswered: numbers.len(),
        lacking: BTreeMap::new(),
        ready: VecDeque::new(),
        batch: Vec::new(),
        kept: 0,
        step: Step::None,
        experts: exchange.as_ref().map(|exchange| Experts {
            exchanges: Exchanges::new(exchange, place, ranks.start, TOKENS),
            awaited: 0,
            sends: BTreeSet::new(),
            rest: Duration::ZERO,
            of_step: Duration::ZERO,
            of_all: Duration::ZERO,
            began: None,
            steps: BTreeMap::new(),
        }),
    })
}

impl Decode {
    /// Takes a message about a request, or about a step, if one more comes.
    fn listen(&mut self, next: &mut NextOperations<'_>) {
        if self.left > 0 || self.place > 0 && self.experts.is_some() && self.unanswered > 0 {
            receive(next);
        }
    }

    fn send(&mut self, peer: u32, tag: u32, next: &mut NextOperations<'_>) {
        let operation = send(peer, tag, CONTROL_BYTES, next);
        self.experts.iter_mut().for_each(|experts| _ = experts.sends.insert(operation));
    }

    /// Reads what a notice is about.
    fn read(&mut self, number: u32, next: &mut NextOperations<'_>) {
        let first = self.plan.prefill_ranks(self.plan.requests[number as usize].prefill).start;
        let senders = self.plan.senders(self.place);
        senders.for_each(|sender| self.send(first + sender, READ | number, next));
    }

    /// Messages of a request that its ranks wait for, here.
    fn expected(&self) -> u64 {
        let own = self.plan.pieces().count() as u64 * u64::from(self.plan.parts());
        own + if self.place == 0 { u64::from(self.plan.service.decode.accelerators - 1) } else { 0 }
    }

    /// Keys and values, or a report of another rank.
    fn take(&mut self, now: Time, number: u32, next: &mut NextOperations<'_>) {
        let expected = self.expected();
        let lacking = self.lacking.entry(number).or_insert(expected);
        *lacking -= 1;
        if *lacking > 0 {
            return;
        }
        self.lacking.remove(&number);
        if self.place > 0 {
            let leader = self.plan.decode_ranks(self.worker).start;
            return self.send(leader, REPORT | number, next);
        }
        self.ready.push_back((number, now));
        if self.step == Step::None {
            self.begin_step(next);
        }
    }

    /// Requests join the batch in their order, as long as there is a place and memory.
    fn begin_step(&mut self, next: &mut NextOperations<'_>) {
        let (plan, service) = (Arc::clone(&self.plan), &self.plan.service);
        let memory = service.cache_memory.map_or(u64::MAX, Bytes::get);
        while self.batch.len() < service.batch_max as usize
            && let Some(&(number, cached)) = self.ready.front()
            && let kept = plan.kept(&plan.requests[number as usize].request)
            && kept <= memory - self.kept
        {
            self.ready.pop_front();
            self.kept += kept;
            self.batch.push(Answer { number, cached, first: None, tokens: 0 });
        }
        let requests = self.batch.len() as u32;
        if self.is_exchanged(requests) || self.experts.is_some() && self.unanswered == 0 {
            let ranks = plan.decode_ranks(self.worker);
            ranks.skip(1).for_each(|rank| self.send(rank, STEP | requests, next));
        }
        self.compute(requests, next);
    }

    /// Whether ranks exchange tokens in a step of so many requests: in the first, and then in one of `every`.
    fn is_exchanged(&self, requests: u32) -> bool {
        let (Some(experts), Some(own)) = (&self.plan.service.experts, &self.experts) else { return false };
        requests > 0 && own.steps.get(&requests).is_none_or(|steps| steps.count.is_multiple_of(experts.every))
    }

    fn compute(&mut self, requests: u32, next: &mut NextOperations<'_>) {
        let service = &self.plan.service;
        let time = service.decode_step + service.decode_per_request * u64::from(requests);
        self.step = if requests > 0 { Step::Compute(next.wait(time), requests) } else { Step::None };
    }

    /// The wait of a step is over: the computation of all layers stands before their exchanges.
    fn go_on(&mut self, now: Time, next: &mut NextOperations<'_>) {
        let is_exchanged = matches!(self.step, Step::Compute(_, requests) if self.is_exchanged(requests));
        match (self.step, &mut self.experts) {
            (Step::Compute(_, requests), Some(experts)) if !is_exchanged => {
                let steps = experts.steps[&requests];
                experts.of_step = steps.of_rank;
                experts.of_all += experts.of_step;
                (self.step, experts.began) = (Step::Rest(next.wait(steps.time)), None);
            }
            (Step::Compute(_, requests), Some(experts)) => {
                let exchange = self.plan.exchange(requests).expect("there are experts");
                (self.step, experts.of_step, experts.began) = (Step::Exchange(now), Duration::ZERO, Some(now));
                if self.place == 0 {
                    experts.awaited = self.plan.service.decode.accelerators - 1;
                    (0..experts.awaited).for_each(|_| receive(next));
                }
                experts.exchanges.start_layers(&exchange, now, next);
            }
            _ => self.end_step(now, next),
        }
    }

    /// An exchange that began then is complete. Behind the last one, layers that are not simulated take as long as the
    /// mean of the others.
    fn exchanged(&mut self, now: Time, since: Time, next: &mut NextOperations<'_>) {
        let (Some(experts), Step::Exchange(began)) = (&mut self.experts, self.step) else {
            unreachable!("exchanges are parts of a step")
        };
        experts.of_step += now.since(since);
        if !experts.exchanges.is_over() {
            return;
        }
        let layers = self.plan.service.experts.as_ref().expect("there are experts");
        let of_all = |time: Duration| time * u64::from(layers.layers) / u64::from(layers.moe.iterations);
        experts.of_step = of_all(experts.of_step);
        experts.of_all += experts.of_step;
        experts.rest = of_all(now.since(began)) - now.since(began);
        if self.place == 0 {
            return self.end_exchanges(next);
        }
        self.step = Step::None;
        self.send(self.plan.decode_ranks(self.worker).start, DONE, next);
    }

    fn end_exchanges(&mut self, next: &mut NextOperations<'_>) {
        let experts = self.experts.as_ref().expect("there are exchanges");
        if experts.exchanges.is_over() && experts.awaited == 0 {
            self.step = Step::Rest(next.wait(experts.rest));
        }
    }

    /// Every request of the batch has a token more.
    fn end_step(&mut self, now: Time, next: &mut NextOperations<'_>) {
        let (plan, start) = (Arc::clone(&self.plan), self.start);
        if let Some(experts) = &mut self.experts {
            let steps = experts.steps.entry(self.batch.len() as u32).or_default();
            steps.count += 1;
            if let Some(began) = experts.began {
                (steps.time, steps.of_rank) = (now.since(began), experts.of_step);
            }
        }
        let own = self.experts.as_ref().map(|experts| [experts.of_all, experts.of_step]);
        let [exchanged, of_step] = own.unwrap_or([Duration::ZERO; 2]);
        self.batch.retain_mut(|answer| {
            answer.tokens += 1;
            let planned = &plan.requests[answer.number as usize];
            let of_single = if planned.request.output == 1 { of_step } else { Duration::ZERO };
            answer.first.get_or_insert((now, exchanged - of_single));
            let is_complete = answer.tokens == planned.request.output;
            if is_complete {
                record(planned, answer, start, (now, exchanged), next);
                self.kept -= plan.kept(&planned.request);
                self.unanswered -= 1;
            }
            !is_complete
        });
        self.begin_step(next);
    }

    fn receive(&mut self, now: Time, message: Received, next: &mut NextOperations<'_>) {
        let number = message.tag & NUMBER;
        match message.tag & !NUMBER {
            TOKENS => {
                let exchanges = self.experts.as_mut().map(|experts| &mut experts.exchanges);
                let ended = exchanges.expect("tokens come where there are experts").take(message, next);
                return ended.into_iter().for_each(|since| self.exchanged(now, since, next));
            }
            DONE => {
                self.experts.iter_mut().for_each(|experts| experts.awaited -= 1);
                return self.end_exchanges(next);
            }
            // There are no more.
            STEP if number == 0 => self.unanswered = 0,
            STEP => self.compute(number, next),
            kind => {
                self.left -= 1;
                if kind == NOTICE { self.read(number, next) } else { self.take(now, number, next) }
            }
        }
        self.listen(next);
    }

    fn complete(&mut self, now: Time, operation: u32, next: &mut NextOperations<'_>) {
        if matches!(self.step, Step::Compute(wait, _) | Step::Rest(wait) if wait == operation) {
            return self.go_on(now, next);
        }
        if let Some(experts) = &mut self.experts
            && !experts.sends.remove(&operation)
        {
            let ended = experts.exchanges.complete(now, operation, next);
            ended.into_iter().for_each(|since| self.exchanged(now, since, next));
        }
    }
}

/// Records the spans of a request: it waits, its prompt is computed, its keys and values come, it waits for its first
/// token, the mean time between tokens, and what exchanges have of that: of a single token, of the step that makes it.
fn record(
    planned: &Planned,
    answer: &Answer,
    start: Time,
    (now, exchanged): (Time, Duration),
    next: &mut NextOperations<'_>,
) {
    let (first, before) = answer.first.expect("a complete answer has a first token");
    let gaps = u64::from(answer.tokens - 1).max(1);
    let [arrival, begins, ends] = [planned.request.arrival, planned.begins, planned.ends].map(|time| start + time);
    let between = first + now.since(first) / gaps;
    let tokens = first + (exchanged - before) / gaps;
    let cached = answer.cached;
    for span in [(arrival, begins), (begins, ends), (ends, cached), (cached, first), (first, between), (first, tokens)]
    {
        next.record_span(span.0, span.1);
    }
}

impl Driver for Decode {
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        match event {
            DriverEvent::Started => {
                self.start = now;
                self.listen(next);
            }
            DriverEvent::Complete { received: Some(message), .. } => self.receive(now, message, next),
            DriverEvent::Complete { operation, received: None } => self.complete(now, operation, next),
        }
    }
}
