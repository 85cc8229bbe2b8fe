//! Drivers of clients and servers. Both call services, and differ in what they do when all answers have come.

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc};

use etherweave_primitives::{Duration, Purpose, Stream, Time};

use super::{RequestLoad, exponential, plan::Plan};
use crate::{Driver, DriverEvent, GraphOp, NextOperations};

/// Calls of a request that are in progress at a rank.
#[derive(Default)]
struct Calls {
    /// The stage after the last one that was called.
    stage: usize,
    /// Answers of the stage that have not come.
    left: u32,
    /// Span of each call, from its begin to its last answer.
    spans: Vec<(Time, Time)>,
}

/// Requests of which a rank calls others, by their tags here.
struct Caller {
    plan: Arc<Plan>,
    requests: BTreeMap<u32, Calls>,
}

impl Caller {
    fn new(plan: &Arc<Plan>) -> Caller {
        Caller { plan: Arc::clone(plan), requests: BTreeMap::new() }
    }

    /// Calls the next stage for a request, or records its calls. Returns whether there was none.
    fn go_on(&mut self, tag: u32, now: Time, stream: u8, next: &mut NextOperations<'_>) -> bool {
        let (plan, calls) = (&self.plan, self.requests.entry(tag).or_default());
        let Some(called) = plan.called(tag, calls.stage) else {
            let spans = self.requests.remove(&tag).map_or(Vec::new(), |calls| calls.spans);
            let measured = spans.into_iter().filter(|_| plan.is_measured(tag));
            measured.for_each(|(start, end)| next.record_span(start, end));
            return true;
        };
        calls.stage += 1;
        calls.left = called.len() as u32;
        calls.spans.resize(plan.order(called.end - 1) + 1, (now, now));
        for part in called {
            let bytes = plan.services[plan.service(part)].request.get();
            next.perform(stream, GraphOp::Send { peer: plan.rank(part), tag: part, bytes });
        }
        false
    }

    /// Takes an answer. Returns the tag of its request here, if the stage has no other to wait for.
    fn take(&mut self, part: u32, now: Time) -> Option<u32> {
        let tag = self.plan.caller(part);
        let calls = self.requests.get_mut(&tag).expect("answers are to requests");
        calls.spans[self.plan.order(part)].1 = now;
        calls.left -= 1;
        (calls.left == 0).then_some(tag)
    }
}

/// Asks, and records how long each request takes.
pub(super) struct Client {
    calls: Caller,
    arrivals: Stream,
    client: u32,
    number: u32,
    /// Waits in progress; the other operations that end without a message are sends.
    waits: BTreeSet<u32>,
}

impl Client {
    pub fn new(plan: &Arc<Plan>, client: u32) -> Client {
        let arrivals = Stream::new(plan.seed, Purpose::Arrivals, client.into());
        Client { calls: Caller::new(plan), arrivals, client, number: 0, waits: BTreeSet::new() }
    }

    /// Requests that are not asked yet.
    fn left(&self) -> u32 {
        self.calls.plan.own.all_requests() - self.number
    }

    fn ask(&mut self, now: Time, next: &mut NextOperations<'_>) {
        let plan = &self.calls.plan;
        let tag = plan.tag(self.client, self.number);
        self.number += 1;
        for part in plan.called(tag, 0).into_iter().flatten() {
            let bytes = plan.services[0].response.get();
            next.perform(0, GraphOp::Receive { peer: Some(plan.rank(part)), tag: Some(part), bytes });
        }
        self.calls.go_on(tag, now, 0, next);
    }

    /// Waits for the next request of an open loop.
    fn expect(&mut self, interval: Duration, next: &mut NextOperations<'_>) {
        if self.left() > 0 {
            self.waits.insert(next.wait(exponential(interval, &mut self.arrivals)));
        }
    }

    /// Takes an answer; the last of a request's makes room for another.
    fn take(&mut self, now: Time, part: u32, next: &mut NextOperations<'_>) {
        let Some(tag) = self.calls.take(part, now) else { return };
        self.calls.go_on(tag, now, 0, next);
        match self.calls.plan.own.load {
            RequestLoad::Closed { think, .. } if think.is_zero() && self.left() > 0 => self.ask(now, next),
            // Requests that are only thought about count.
            RequestLoad::Closed { think, .. } if self.waits.len() < self.left() as usize => {
                self.waits.insert(next.wait(think));
            }
            RequestLoad::Closed { .. } | RequestLoad::Open { .. } => {}
        }
    }
}

impl Driver for Client {
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        match (event, self.calls.plan.own.load) {
            (DriverEvent::Started, RequestLoad::Closed { outstanding, .. }) => {
                (0..outstanding.min(self.left())).for_each(|_| self.ask(now, next));
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

/// Step of a thread of a server.
#[derive(Clone, Copy)]
enum Step {
    /// It waits for a request or an answer.
    Receive,
    Work(u32),
}

/// Answers requests: each thread takes a message, works on it if it is a request, calls what is next or answers, and
/// takes another message.
pub(super) struct Server {
    calls: Caller,
    service: usize,
    work: Stream,
    /// Messages for which no thread waits yet.
    left: u64,
    /// Operations in progress but sends, and the threads that perform them.
    steps: BTreeMap<u32, (u8, Step)>,
}

impl Server {
    pub fn new(plan: &Arc<Plan>, service: usize, rank: u32, messages: u64) -> Server {
        let work = Stream::new(plan.seed, Purpose::Service, (rank - plan.own.clients).into());
        Server { calls: Caller::new(plan), service, work, left: messages, steps: BTreeMap::new() }
    }

    fn receive(&mut self, thread: u8, next: &mut NextOperations<'_>) {
        if self.left > 0 {
            self.left -= 1;
            let bytes = self.calls.plan.services[self.service].request.get();
            let receive = GraphOp::Receive { peer: None, tag: None, bytes };
            self.steps.insert(next.perform(thread, receive), (thread, Step::Receive));
        }
    }

    /// Calls what is next for a request, or answers it; then the thread is free.
    fn go_on(&mut self, tag: u32, thread: u8, now: Time, next: &mut NextOperations<'_>) {
        if self.calls.go_on(tag, now, thread, next) {
            let plan = &self.calls.plan;
            let (peer, bytes) = (plan.rank(plan.caller(tag)), plan.services[self.service].response.get());
            next.perform(thread, GraphOp::Send { peer, tag, bytes });
        }
        self.receive(thread, next);
    }

    fn take(&mut self, tag: u32, thread: u8, now: Time, next: &mut NextOperations<'_>) {
        if self.calls.plan.service(tag) != self.service {
            return match self.calls.take(tag, now) {
                Some(own) => self.go_on(own, thread, now, next),
                None => self.receive(thread, next),
            };
        }
        let duration = self.calls.plan.services[self.service].work(&mut self.work);
        if duration.is_zero() {
            return self.go_on(tag, thread, now, next);
        }
        self.steps.insert(next.perform(thread, GraphOp::Compute { duration }), (thread, Step::Work(tag)));
    }
}

impl Driver for Server {
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        let DriverEvent::Complete { operation, received } = event else {
            let threads = self.calls.plan.services[self.service].threads as u8;
            return (0..threads).for_each(|thread| self.receive(thread, next));
        };
        match (self.steps.remove(&operation), received) {
            (Some((thread, Step::Receive)), Some(message)) => self.take(message.tag, thread, now, next),
            (Some((thread, Step::Work(tag))), _) => self.go_on(tag, thread, now, next),
            // A send is complete.
            (_, _) => {}
        }
    }
}
