//! Drivers: a server that answers requests, and clients that ask again when they have an answer.

use std::{sync::Arc, sync::atomic::AtomicU64, sync::atomic::Ordering};

use etherweave_primitives::{Duration, Priority, Rank, Time};
use etherweave_sim::{Report, params::Fidelity, params::SimParams};
use etherweave_workload::{Driver, DriverEvent, ExecutionStream, Graph, GraphOp, NextOperations, Traffic};

use crate::common::{experiment, job_of, one_switch, roce, run, tcp};

const SERVER: Rank = Rank::new(0);
const REQUEST: u64 = 64;
const ANSWER: u64 = 4096;
/// Work for a request.
const SERVICE: Duration = Duration::from_us(5);
/// Time from an answer to the next request.
const THINK: Duration = Duration::from_us(20);

/// Answers requests one after another, and stops after so many.
struct Server {
    left: u32,
    /// Who waits for what is computed.
    client: Option<Rank>,
}

impl Server {
    fn receive(&self, next: &mut NextOperations<'_>) {
        if self.left > 0 {
            next.perform(0, GraphOp::Receive { peer: None, tag: Some(1), bytes: REQUEST });
        }
    }
}

impl Driver for Server {
    fn on_event(&mut self, _now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        match event {
            DriverEvent::Started => self.receive(next),
            DriverEvent::Complete { received: Some(request), .. } => {
                assert_eq!((request.tag, request.bytes), (1, REQUEST));
                self.client = Some(request.peer);
                next.perform(0, GraphOp::Compute { duration: SERVICE });
            }
            DriverEvent::Complete { received: None, .. } => {
                let Some(client) = self.client.take() else { return };
                self.left -= 1;
                next.perform(0, GraphOp::Send { peer: client, tag: 2, bytes: ANSWER });
                self.receive(next);
            }
        }
    }
}

/// Asks, waits for the answer, thinks, and asks again, so many times.
struct Client {
    left: u32,
    asked: Time,
    /// Time that it waits in all [ps].
    waited: Arc<AtomicU64>,
    thinking: Option<u32>,
}

impl Client {
    fn ask(&mut self, now: Time, next: &mut NextOperations<'_>) {
        (self.asked, self.left) = (now, self.left - 1);
        next.perform(0, GraphOp::Receive { peer: Some(SERVER), tag: Some(2), bytes: ANSWER });
        next.perform(0, GraphOp::Send { peer: SERVER, tag: 1, bytes: REQUEST });
    }
}

impl Driver for Client {
    fn on_event(&mut self, now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        match event {
            DriverEvent::Started => self.ask(now, next),
            DriverEvent::Complete { received: Some(_), .. } => {
                self.waited.fetch_add(now.since(self.asked).as_ps(), Ordering::Relaxed);
                self.thinking = (self.left > 0).then(|| next.wait(THINK));
            }
            DriverEvent::Complete { operation, received: None } => {
                if self.thinking == Some(operation) {
                    self.thinking = None;
                    self.ask(now, next);
                }
            }
        }
    }
}

/// Runs clients that ask so often each on some threads: returns a report, and the time that they waited in all.
fn service(params: &SimParams, clients: u32, requests: u32, threads: usize) -> (Report, Duration) {
    let waited = Arc::new(AtomicU64::new(0));
    let all: Vec<Rank> = (1..=clients).map(Rank::new).collect();
    let core = || vec![ExecutionStream::Core];
    let server = Graph::driven(core(), &all, move || Server { left: clients * requests, client: None });
    let client = |_| {
        let waited = Arc::clone(&waited);
        let client = move || Client { left: requests, asked: Time::ZERO, waited: Arc::clone(&waited), thinking: None };
        Arc::new(Graph::driven(core(), &[SERVER], client))
    };
    let ranks = std::iter::once(Arc::new(server)).chain((0..clients).map(client)).collect();
    let job = job_of(Traffic::Graphs { ranks, iterations: 1 }, Priority::new(0));
    let report = run(&experiment(one_switch(clients + 1), params.clone(), vec![job]), threads);
    (report, Duration::from_ps(waited.load(Ordering::Relaxed)))
}

#[test]
fn a_client_asks_again_when_it_has_its_answer_and_has_thought() {
    let flows = SimParams { fidelity: Fidelity::Flow, ..roce() };
    for params in [roce(), tcp(), flows] {
        let (report, waited) = service(&params, 1, 3, 1);
        let took = |rank: usize| report.iterations[rank].duration;
        assert_eq!(took(1), waited + THINK * 2);
        // Nobody is before it, so that it waits for the same each time; the network takes its time both ways.
        assert!(waited > SERVICE * 3 && waited < SERVICE * 30, "{waited}");
        let (once, waited_once) = service(&params, 1, 1, 1);
        assert_eq!(once.iterations[1].duration, waited_once);
    }
}

#[test]
fn a_server_answers_one_request_after_another() {
    let (alone, waited_alone) = service(&roce(), 1, 1, 1);
    let (report, waited) = service(&roce(), 4, 1, 1);
    // The second waits for the first, the third for two, the fourth for three.
    assert!(waited >= waited_alone * 4 + SERVICE * 6, "{waited} for four, {waited_alone} for one");
    assert!(report.iterations[0].duration >= alone.iterations[0].duration + SERVICE * 3);
}

#[test]
fn drivers_decide_the_same_on_any_number_of_threads() {
    for params in [roce(), tcp()] {
        let (report, waited) = service(&params, 7, 20, 1);
        for threads in [2, 3] {
            let (other, other_waited) = service(&params, 7, 20, threads);
            assert_eq!((other.fingerprint, other_waited), (report.fingerprint, waited));
            assert_eq!(other.iterations, report.iterations);
        }
    }
}

/// Waits a nanosecond, and computes.
struct Sleeper(bool);

impl Driver for Sleeper {
    fn on_event(&mut self, _now: Time, event: DriverEvent, next: &mut NextOperations<'_>) {
        if event == DriverEvent::Started {
            next.wait(Duration::from_ns(1));
        } else if !std::mem::replace(&mut self.0, true) {
            next.perform(0, GraphOp::Compute { duration: SERVICE });
        }
    }
}

#[test]
fn a_wait_that_ends_before_its_rank_starts_ends_as_the_rank_starts() {
    let mut params = roce();
    params.host.start_jitter = Duration::from_us(500);
    let sleeper = || Arc::new(Graph::driven(vec![ExecutionStream::Core], &[], || Sleeper(false)));
    let job = job_of(Traffic::Graphs { ranks: vec![sleeper(); 8], iterations: 1 }, Priority::new(0));
    let report = run(&experiment(one_switch(8), params, vec![job]), 2);
    let started: Vec<Duration> = report.iterations.iter().map(|row| row.duration - SERVICE).collect();
    assert!(started.iter().all(|&late| late < Duration::from_us(500)), "{started:?}");
    assert!(started.iter().any(|&late| late > Duration::from_us(50)), "starts are drawn: {started:?}");
}
