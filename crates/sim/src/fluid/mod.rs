//! Flow-level mode: messages drain at max-min fair rates, and no packet is made. Hosts, MPI and protocols stay what
//! they are; only what is between the NICs of two hosts is replaced.
//!
//! A connection with messages to send is *active*. It begins with what its links have left, or an equal share of its
//! fullest link if that is more. Rates of all are solved anew when a connection began or ended on a full link, but not
//! more often than switches would share it: they do so packet by packet. Nor is it worth it more often than in a small
//! part of the time for which messages last. Until then capacity that became free stays free.

mod max_min;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use etherweave_primitives::{Duration, Time};

use crate::indices::{EndpointIndex, PortIndex};
use max_min::{MaxMin, Share};

/// A share of a link below which nothing is left of it.
const FULL: f64 = 1e-9;

/// Rates hold for this part of the time that messages take on average.
const PART: u64 = 64;
/// Rates hold until each of so many connections of a host has sent a packet, if it has more.
const CONNECTIONS: usize = 8;
/// How often it is counted what a lossless network would hold back: in every so many solutions.
const COUNTED: u64 = 16;

/// More than one full link.
const SEVERAL: u32 = u32::MAX;

/// The links of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    /// The port of the host.
    pub first: PortIndex,
    /// The others, in the table of routes.
    pub route: u32,
    /// How many others.
    pub count: u32,
}

impl Links {
    /// Their ports, in order.
    pub fn ports<'a>(&self, routes: &'a [PortIndex]) -> impl Iterator<Item = PortIndex> + use<'a> {
        let route = self.route as usize;
        std::iter::once(self.first).chain(routes[route..route + self.count as usize].iter().copied())
    }
}

/// A connection that sends.
struct Active {
    endpoint: EndpointIndex,
    links: Links,
    /// What its window lets through [B/ps].
    limit: f64,
    rate: f64,
    /// Of the message that leads, at `since` [B on the wire].
    left: f64,
    since: Time,
    ends: Time,
}

impl Active {
    /// How long its message still takes.
    fn lasts(&self) -> Duration {
        Duration::from_ps((self.left.max(0.0) / self.rate).ceil() as u64)
    }
}

/// All active connections of a run, and what they share.
pub(crate) struct Fluid {
    solver: MaxMin,
    active: Vec<Active>,
    /// Of each link: the rates of its connections, and how many.
    loads: Vec<(f64, u32)>,
    /// Ends of messages that lead, by connection; those of former rates among them.
    ends: BinaryHeap<Reverse<(Time, EndpointIndex)>>,
    /// When rates are solved anew, and not before.
    solve_at: Option<Time>,
    solved: Time,
    /// The time of a packet, and for how long the present rates hold.
    packet: Duration,
    interval: Duration,
    hosts: usize,
    /// When the event is due that is scheduled.
    pub scheduled: Time,
    /// Rates of connections that were solved, and how many of the connections a lossless network would hold back.
    solutions: u64,
    held_back: u64,
    shares: Vec<Share>,
    limits: Vec<f64>,
    /// Of each link: a solution, and the full link for which connections waited on it.
    waits_for: Vec<(u64, u32)>,
    number: u64,
}

impl Fluid {
    /// Nothing is sent yet over links of `capacities` [B/ps] by `hosts`, whose full packets take `packet` at the least.
    pub fn new(capacities: Vec<f64>, packet: Duration, hosts: usize) -> Fluid {
        Fluid {
            active: Vec::new(),
            loads: vec![(0.0, 0); capacities.len()],
            waits_for: vec![(0, 0); capacities.len()],
            solver: MaxMin::new(capacities),
            ends: BinaryHeap::new(),
            solve_at: None,
            solved: Time::ZERO,
            packet,
            interval: packet,
            hosts,
            scheduled: Time::MAX,
            solutions: 0,
            held_back: 0,
            shares: Vec::new(),
            limits: Vec::new(),
            number: 0,
        }
    }

    /// A connection begins with a message of `wire` bytes; gives its place among the active.
    pub fn begin(
        &mut self,
        now: Time,
        endpoint: EndpointIndex,
        links: Links,
        limit: f64,
        wire: u64,
        routes: &[PortIndex],
    ) -> u32 {
        let left = |link: PortIndex| {
            let (load, others) = self.loads[link.get() as usize];
            let capacity = self.solver.capacity(link.get());
            (capacity - load).max(capacity / f64::from(others + 1))
        };
        let rate = links.ports(routes).map(left).fold(limit, f64::min);
        let (mut is_least, mut is_shared) = (rate < limit, false);
        for link in links.ports(routes) {
            let capacity = self.solver.capacity(link.get());
            let (load, others) = &mut self.loads[link.get() as usize];
            is_shared |= *others > 0 && *load + rate > capacity * (1.0 - FULL);
            is_least |= *load + rate > capacity * (1.0 + FULL);
            (*load, *others) = (*load + rate, *others + 1);
        }
        let active = Active { endpoint, links, limit, rate, left: wire as f64, since: now, ends: Time::MAX };
        self.active.push(active);
        let place = self.active.len() - 1;
        self.expect_end(place, now);
        if is_least && is_shared {
            self.solve_soon(now);
        }
        place as u32
    }

    /// The connection at a place has another message to send.
    pub fn go_on(&mut self, now: Time, place: u32, wire: u64) {
        let active = &mut self.active[place as usize];
        (active.left, active.since) = (wire as f64, now);
        self.expect_end(place as usize, now);
    }

    /// The connection at a place has nothing more to send; gives the connection that takes its place.
    pub fn end(&mut self, now: Time, place: u32, routes: &[PortIndex]) -> Option<EndpointIndex> {
        let Active { links, rate, .. } = self.active.swap_remove(place as usize);
        let mut frees_others = false;
        for link in links.ports(routes) {
            let capacity = self.solver.capacity(link.get());
            let (load, others) = &mut self.loads[link.get() as usize];
            frees_others |= *others > 1 && *load > capacity * (1.0 - FULL);
            *others -= 1;
            *load = if *others == 0 { 0.0 } else { *load - rate };
        }
        if frees_others {
            self.solve_soon(now);
        }
        self.active.get(place as usize).map(|active| active.endpoint)
    }

    /// The next connection whose message is sent by `now`, with the place that `place_of` knows.
    pub fn next_ended(&mut self, now: Time, place_of: impl Fn(EndpointIndex) -> Option<u32>) -> Option<EndpointIndex> {
        while let Some(&Reverse((time, endpoint))) = self.ends.peek() {
            if time > now {
                return None;
            }
            self.ends.pop();
            let is_present = |place: u32| self.active.get(place as usize).is_some_and(|active| active.ends == time);
            if place_of(endpoint).is_some_and(is_present) {
                return Some(endpoint);
            }
        }
        None
    }

    /// The share of rates whose connections a lossless network would hold back.
    pub fn held_back(&self) -> f64 {
        self.held_back as f64 / self.solutions.max(1) as f64
    }

    /// When there is something to do next.
    pub fn next(&self) -> Time {
        let end = self.ends.peek().map_or(Time::MAX, |&Reverse((time, _))| time);
        end.min(self.solve_at.unwrap_or(Time::MAX))
    }

    fn expect_end(&mut self, place: usize, now: Time) {
        let active = &mut self.active[place];
        active.ends = now + active.lasts();
        self.ends.push(Reverse((active.ends, active.endpoint)));
    }

    fn solve_soon(&mut self, now: Time) {
        let earliest = now.max(self.solved + self.interval);
        self.solve_at = Some(self.solve_at.map_or(earliest, |time| time.min(earliest)));
    }

    /// Solves the rates anew, if that is due.
    pub fn solve(&mut self, now: Time, routes: &[PortIndex]) {
        if self.solve_at.is_none_or(|time| time > now) {
            return;
        }
        (self.solve_at, self.solved, self.number) = (None, now, self.number + 1);
        self.limits.clear();
        self.limits.extend(self.active.iter().map(|active| active.limit));
        let active = &self.active;
        let links_of = |flow: u32| active[flow as usize].links.ports(routes).map(PortIndex::get);
        self.solver.solve(&self.limits, links_of, &mut self.shares);
        if self.number % COUNTED == 1 {
            self.count_held_back(routes);
        }
        let mut ends = std::mem::take(&mut self.ends).into_vec();
        ends.clear();
        let mut lasts = 0;
        for (active, share) in self.active.iter_mut().zip(&self.shares) {
            active.left -= active.rate * now.since(active.since).as_ps() as f64;
            for link in active.links.ports(routes) {
                self.loads[link.get() as usize].0 += share.rate - active.rate;
            }
            (active.rate, active.since) = (share.rate, now);
            active.ends = now + active.lasts();
            lasts += active.lasts().as_ps();
            ends.push(Reverse((active.ends, active.endpoint)));
        }
        self.ends = BinaryHeap::from(ends);
        let active = self.active.len().max(1);
        let turns = (active / self.hosts / CONNECTIONS).max(1) as u64;
        self.interval = (self.packet * turns).max(Duration::from_ps(lasts / active as u64 / PART));
    }

    /// Counts connections that would be held back in a lossless network: on one of their links others wait for a full
    /// link further on that they do not use themselves.
    fn count_held_back(&mut self, routes: &[PortIndex]) {
        for (active, share) in self.active.iter().zip(&self.shares) {
            let Some(full) = share.bottleneck else { continue };
            for link in active.links.ports(routes).take_while(|link| link.get() != full) {
                let mark = &mut self.waits_for[link.get() as usize];
                let is_first = mark.0 != self.number || mark.1 == full;
                *mark = (self.number, if is_first { full } else { SEVERAL });
            }
        }
        for (active, share) in self.active.iter().zip(&self.shares) {
            let uses = |full: u32| active.links.ports(routes).any(|link| link.get() == full);
            let is_held = |link: PortIndex| {
                let (number, full) = self.waits_for[link.get() as usize];
                number == self.number && share.bottleneck != Some(full) && (full == SEVERAL || !uses(full))
            };
            self.solutions += 1;
            self.held_back += u64::from(active.links.ports(routes).any(is_held));
        }
    }
}
