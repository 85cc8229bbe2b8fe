//! Flow-level mode: messages drain at max-min fair rates, and no packet is made. Hosts, MPI and protocols stay what
//! they are; only what is between the NICs of two hosts is replaced.
//!
//! A connection with messages to send is *active*. It begins with what its links have left, or an equal share of its
//! fullest link if that is more. Rates of all are solved anew when a connection began or ended on a full link, but not
//! more often than switches would share it: they do so packet by packet. Nor is it worth it more often than in a small
//! part of the time for which messages last. Until then capacity that became free stays free.
//!
//! Where switches decide for every packet, a connection has several branches. One that is split by fixed shares is one
//! flow; adaptive ones are flows of their own, each of which grows until it meets a full link. Branches that are not
//! minimal grow beside the minimal ones of connections that a link between switches limits otherwise.
//!
//! Connections of jobs in packets take part while they have anything to send, so that messages leave them their share;
//! how long their packets wait for messages is in [`beside`].

mod beside;
mod classes;
mod latest;
mod max_min;
mod paths;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use etherweave_primitives::{Duration, Time};

use crate::indices::{EndpointIndex, PortIndex};
pub(crate) use beside::{Backlog, BesidePackets};
use classes::ClassLinks;
pub(crate) use latest::{Departures, LATENCIES, PathLatency, lateness};
use max_min::Share;
use paths::Flow;
pub(crate) use paths::{Branch, BranchRange, Branches, Links, PathSet, Tables};

/// A share of a link below which nothing is left of it.
const FULL: f64 = 1e-9;
/// A share of a link from which on packets that are sent by others overtake those that wait for it.
const BUSY: f64 = 0.5;
/// Connections on a link that are fewer are none: sums of shares are rounded.
const NONE: f64 = 1e-6;

/// Rates hold for one of so many parts of the time that messages take on average,
pub(crate) const MESSAGE_PARTS: u64 = 64;
/// or segments of TCP, many of which are a message.
pub(crate) const SEGMENT_PARTS: u64 = 4;
/// Rates hold until each of so many connections of a host has sent a packet, if it has more.
const CONNECTIONS: usize = 8;
/// What a message lasts at most that does not move [ps].
const NEVER: f64 = 1e18;
/// How often it is counted what limits rates: in every so many solutions, as many fewer as these are rarer.
const COUNTED: u64 = 16;

/// More than one full link.
const SEVERAL: u32 = u32::MAX;

/// What a connection may have in the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// On the wire [B].
    pub bytes: f64,
    /// Until a full packet is acknowledged on an idle path [ps].
    pub round: f64,
}

impl Window {
    /// No limit.
    pub const OPEN: Window = Window { bytes: f64::INFINITY, round: 1.0 };
}

/// A connection that sends.
#[derive(Clone, Copy)]
struct Active {
    endpoint: EndpointIndex,
    links: Links,
    /// Those of its acknowledgements.
    back: Links,
    window: Window,
    /// What it lets through [B/ps].
    limit: f64,
    rate: f64,
    /// Of the message that leads, at `since` [B on the wire]; infinite where packets are simulated.
    left: f64,
    /// Of messages behind it [B on the wire].
    behind: f64,
    since: Time,
    ends: Time,
    /// Whether branches that are not used first have rates too.
    uses_others: bool,
    /// What of it waits for the link that limits it [B]; known beside packets.
    queued: f64,
}

impl Active {
    /// Whether its packets are simulated, and not its messages.
    fn is_in_packets(&self) -> bool {
        self.left == f64::INFINITY
    }

    /// Its host sent at a rate for some time [ps], and acknowledgements take so much longer than on an idle path [ps];
    /// what has not drained waits.
    fn queue(&mut self, sent: f64, span: f64, answer: f64) {
        let most = (self.left + self.behind).min(self.window.bytes - self.rate * (self.window.round + answer));
        self.queued = (self.queued + (sent - self.rate) * span).min(most).max(0.0);
    }

    /// How long its message still takes.
    fn lasts(&self) -> Duration {
        Duration::from_ps((self.left.max(0.0) / self.rate).ceil().min(NEVER) as u64)
    }
}

/// All active connections of a run, and what they share.
pub(crate) struct Fluid {
    solver: ClassLinks,
    /// The solver's number of each traffic class.
    class_numbers: [u8; 8],
    active: Vec<Active>,
    /// Of each active connection and its branches: the rate, over the weight of the branch.
    levels: Vec<f64>,
    /// The most branches of a connection.
    branches: usize,
    /// Of each link: the rates of its connections, and how many, each counted by the share of it that uses the link.
    loads: Vec<(f64, f64)>,
    /// Of each link: parts of packets that it carried, and that are not counted yet.
    uncounted: Vec<f64>,
    /// What packets see of links, where there are any.
    beside: Option<BesidePackets>,
    /// Ends of messages that lead, by connection; those of former rates among them.
    ends: BinaryHeap<Reverse<(Time, EndpointIndex)>>,
    /// When rates are solved anew, and not before.
    solve_at: Option<Time>,
    solved: Time,
    /// The time of a packet, and for how long the present rates hold.
    packet: Duration,
    interval: Duration,
    /// Of the time for which messages last.
    parts: u64,
    hosts: usize,
    /// When the event is due that is scheduled.
    pub scheduled: Time,
    /// Rates of connections that were solved, how many of the connections a lossless network would hold back, how many
    /// links limit that are not their hosts', and of those how many have more waiting than a switch holds.
    solutions: u64,
    held_back: u64,
    limited: u64,
    overflowing: u64,
    /// Connections that began, and how many of them with packets that overtake each other.
    begun: u64,
    overtaken: u64,
    /// Segments of TCP, and those of several frames that meet moderated interrupts.
    segments: u64,
    moderated: u64,
    /// Most that may wait in a switch for one link, and what would for each [B].
    queue_max: f64,
    queues: Vec<f64>,
    flows: Vec<Flow>,
    shares: Vec<Share>,
    limits: Vec<f64>,
    /// Of each link: a solution, and the full link for which connections waited on it.
    waits_for: Vec<(u64, u32)>,
    number: u64,
}

impl Fluid {
    /// Nothing is sent yet over links of `capacities` [B/ps] by `hosts`, whose full packets take `packet` at the least;
    /// connections have at most so many branches, and use these `classes`, with 0 for the weight of a strict one. Rates
    /// hold for one of so many `parts` of the time that messages take.
    pub fn new(
        capacities: Vec<f64>,
        packet: Duration,
        hosts: usize,
        branches: usize,
        parts: u64,
        mut classes: Vec<(usize, u8)>,
        beside: Option<BesidePackets>,
    ) -> Fluid {
        classes.sort_by_key(|&(class, weight)| (weight > 0, std::cmp::Reverse(class)));
        let mut class_numbers = [0; 8];
        (0..).zip(&classes).for_each(|(number, &(class, _))| class_numbers[class] = number);
        let weights: Vec<f64> = classes.iter().map(|&(_, weight)| f64::from(weight)).collect();
        Fluid {
            class_numbers,
            active: Vec::new(),
            levels: Vec::new(),
            branches,
            loads: vec![(0.0, 0.0); capacities.len()],
            uncounted: vec![0.0; capacities.len()],
            beside,
            waits_for: vec![(0, 0); capacities.len() * weights.len()],
            solver: ClassLinks::new(capacities, weights),
            ends: BinaryHeap::new(),
            solve_at: None,
            solved: Time::ZERO,
            packet,
            interval: packet,
            parts,
            hosts,
            scheduled: Time::MAX,
            solutions: 0,
            held_back: 0,
            limited: 0,
            overflowing: 0,
            begun: 0,
            overtaken: 0,
            segments: 0,
            moderated: 0,
            queue_max: f64::INFINITY,
            queues: Vec::new(),
            flows: Vec::new(),
            shares: Vec::new(),
            limits: Vec::new(),
            number: 0,
        }
    }

    /// Switches hold at most so much for a link [B].
    pub fn with_queues(self, queue_max: f64) -> Fluid {
        Fluid { queue_max, queues: vec![0.0; self.loads.len()], ..self }
    }

    /// A connection begins with a message of `wire` bytes, or to send packets if that is infinite, on the links there
    /// and back; gives its place among the active.
    pub fn begin(
        &mut self,
        now: Time,
        endpoint: EndpointIndex,
        [mut links, back]: [Links; 2],
        window: Window,
        wire: f64,
        tables: Tables<'_>,
    ) -> u32 {
        let limit = window.bytes / window.round;
        let left = |(link, share): (PortIndex, f64)| {
            let (load, others) = self.loads[link.get() as usize];
            let capacity = self.solver.capacity(link.get());
            (capacity - load).max(capacity * share / (others + share)) / share
        };
        links.class = self.class_numbers[usize::from(links.class)];
        let (preferred, others) = links.branches(tables);
        let at_hosts = [(links.first, 1.0), (links.last, 1.0)].map(left).into_iter().fold(limit, f64::min);
        let rate = preferred.iter().flat_map(|branch| branch.links(tables)).map(left).fold(at_hosts, f64::min);
        let (mut is_least, mut is_shared, mut is_overtaken) = (rate < limit, false, false);
        let ends = [links.first.get(), links.last.get()];
        for (link, share) in preferred.iter().flat_map(|&branch| links.flow(branch).links(tables)) {
            let capacity = self.solver.capacity(link);
            let (load, count) = &mut self.loads[link as usize];
            let is_part = (share < 1.0 || !others.is_empty()) && !ends.contains(&link);
            is_overtaken |= is_part && *count > NONE && *load + share * rate > capacity * BUSY;
            is_shared |= *count > NONE && *load + share * rate > capacity * (1.0 - FULL);
            is_least |= *load + share * rate > capacity * (1.0 + FULL);
            (*load, *count) = (*load + share * rate, *count + share);
        }
        (self.begun, self.overtaken) = (self.begun + 1, self.overtaken + u64::from(is_overtaken));
        // Other branches may have more left.
        let may_grow = rate < at_hosts && preferred.len() + others.len() > 1;
        let levels = std::iter::repeat_n(rate, preferred.len()).chain(std::iter::repeat(0.0));
        self.levels.extend(levels.take(self.branches));
        let active = Active {
            endpoint,
            links,
            back,
            window,
            limit,
            rate,
            left: wire,
            behind: 0.0,
            since: now,
            ends: Time::MAX,
            uses_others: false,
            queued: 0.0,
        };
        if let Some(beside) = self.beside.as_mut().filter(|_| !active.is_in_packets()) {
            links.shares(tables).for_each(|(link, share)| beside.begin(link, share, share * rate));
        }
        self.active.push(active);
        let place = self.active.len() - 1;
        self.expect_end(place, now);
        if is_least && is_shared || may_grow {
            self.solve_soon(now);
        }
        place as u32
    }

    /// The connection at a place will have another message to send [B on the wire].
    pub fn post(&mut self, place: u32, wire: f64) {
        self.active[place as usize].behind += wire;
    }

    /// The connection at a place has another message to send, which was posted.
    pub fn go_on(&mut self, now: Time, place: u32, wire: f64) {
        let active = &mut self.active[place as usize];
        (active.left, active.behind, active.since) = (wire, active.behind - wire, now);
        self.expect_end(place as usize, now);
    }

    /// The connection at a place, in packets, has so much more to send [B on the wire], of at most a window.
    pub fn widen(&mut self, now: Time, place: u32, wire: f64, most: f64) {
        let window = &mut self.active[place as usize].window;
        if window.bytes < most {
            window.bytes = (window.bytes + wire).min(most);
            self.solve_soon(now);
        }
    }

    /// The connection at a place has nothing more to send; gives the connection that takes its place.
    pub fn end(&mut self, now: Time, place: u32, tables: Tables<'_>) -> Option<EndpointIndex> {
        let ended = self.active.swap_remove(place as usize);
        let links = ended.links;
        let mut frees_others = false;
        let (own, last) = (place as usize * self.branches, self.active.len() * self.branches);
        let (preferred, others) = links.branches(tables);
        for (number, &branch) in preferred.iter().chain(others).enumerate() {
            let level = self.levels[own + number];
            let weight = if number < preferred.len() { 1.0 } else { 0.0 };
            for (link, share) in links.flow(branch).links(tables) {
                let capacity = self.solver.capacity(link);
                let (load, count) = &mut self.loads[link as usize];
                frees_others |= *count > share * weight + NONE && *load > capacity * (1.0 - FULL);
                *count -= share * weight;
                *load = if *count < NONE && others.is_empty() { 0.0 } else { (*load - share * level).max(0.0) };
                if let Some(beside) = self.beside.as_mut().filter(|_| !ended.is_in_packets()) {
                    beside.end(link, share * weight, share * level);
                }
            }
        }
        self.levels.copy_within(last.., own);
        self.levels.truncate(last);
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

    /// What is left of the message that leads at a place [B on the wire].
    pub fn left(&self, place: u32, now: Time) -> f64 {
        let active = &self.active[place as usize];
        active.left - active.rate * now.since(active.since).as_ps() as f64
    }

    /// The rate of the connection at a place [B/ps].
    pub fn rate(&self, place: u32) -> f64 {
        self.active[place as usize].rate
    }

    /// What a link carries [B/ps].
    pub fn capacity(&self, link: PortIndex) -> f64 {
        self.solver.capacity(link.get())
    }

    /// The share of rates that a link behind a switch limits.
    pub fn limited(&self) -> f64 {
        self.limited as f64 / self.solutions.max(1) as f64
    }

    /// The share of rates that such a link limits, for which more waits than a switch holds.
    pub fn overflowing(&self) -> f64 {
        self.overflowing as f64 / self.solutions.max(1) as f64
    }

    /// The share of connections whose packets overtake each other.
    pub fn overtaken(&self) -> f64 {
        self.overtaken as f64 / self.begun.max(1) as f64
    }

    /// A segment of TCP has come.
    pub fn count_segment(&mut self, is_moderated: bool) {
        (self.segments, self.moderated) = (self.segments + 1, self.moderated + u64::from(is_moderated));
    }

    /// The share of segments of several frames that meet moderated interrupts.
    pub fn moderated(&self) -> f64 {
        self.moderated as f64 / self.segments.max(1) as f64
    }

    /// When there is something to do next.
    pub fn next(&self) -> Time {
        let end = self.ends.peek().map_or(Time::MAX, |&Reverse((time, _))| time);
        end.min(self.solve_at.unwrap_or(Time::MAX))
    }

    fn expect_end(&mut self, place: usize, now: Time) {
        let active = &mut self.active[place];
        if active.is_in_packets() {
            return;
        }
        active.ends = now + active.lasts();
        self.ends.push(Reverse((active.ends, active.endpoint)));
    }

    /// How long a packet of `wire` bytes waits for messages at a link.
    pub fn wait(&self, now: Time, link: PortIndex, wire: u32, backlog: &mut Backlog) -> Duration {
        let beside = self.beside.as_ref().expect("packets wait where they are simulated");
        beside.wait(now, link, self.solver.capacity(link.get()), wire, backlog)
    }

    fn solve_soon(&mut self, now: Time) {
        let earliest = now.max(self.solved + self.interval);
        self.solve_at = Some(self.solve_at.map_or(earliest, |time| time.min(earliest)));
    }

    /// Calls `count` with what each link between switches carried of a message of the connection at a place: packets
    /// and bytes on the wire. A link that is used in part counts whole packets, and keeps the rest for later ones.
    pub fn carried(
        &mut self,
        place: u32,
        tables: Tables<'_>,
        packets: u64,
        wire: u64,
        count: &mut impl FnMut(PortIndex, u64, u64),
    ) {
        let Active { links, rate, .. } = self.active[place as usize];
        if let PathSet::One(branch) = links.paths {
            return branch.links(tables).for_each(|(link, _)| count(link, packets, wire));
        }
        let (preferred, others) = links.branches(tables);
        let levels = &self.levels[place as usize * self.branches..];
        for (branch, level) in preferred.iter().chain(others).zip(levels) {
            for (link, share) in branch.links(tables) {
                let rest = &mut self.uncounted[link.get() as usize];
                *rest += packets as f64 * share * level / rate;
                let whole = rest.floor().max(0.0);
                *rest -= whole;
                count(link, whole as u64, (whole * wire as f64 / packets as f64).round() as u64);
            }
        }
    }

    /// Solves the rates anew, if that is due.
    pub fn solve(&mut self, now: Time, tables: Tables<'_>) {
        if self.solve_at.is_none_or(|time| time > now) {
            return;
        }
        (self.solve_at, self.solved, self.number) = (None, now, self.number + 1);
        self.limit_packets(tables);
        self.fill(tables);
        // The first are counted all, as short runs have no others.
        let is_counted = self.number <= COUNTED || self.number.is_multiple_of(COUNTED * self.parts / MESSAGE_PARTS);
        if is_counted {
            self.count_held_back(tables);
        }
        let mut ends = std::mem::take(&mut self.ends).into_vec();
        ends.clear();
        let mut lasts = 0;
        let mut shares = self.shares.as_slice();
        for (active, levels) in self.active.iter_mut().zip(self.levels.chunks_exact_mut(self.branches)) {
            let span = now.since(active.since).as_ps() as f64;
            active.left -= active.rate * span;
            let links = active.links;
            let mut beside = self.beside.as_mut().filter(|_| !active.is_in_packets());
            if let Some(beside) = &beside {
                let (_, of_host) = self.loads[links.first.get() as usize];
                let answer = beside.waits(&active.back, tables, &self.solver);
                active.queue(self.solver.capacity(links.first.get()) / of_host, span, answer);
            }
            let (preferred, others) = links.branches(tables);
            let used = preferred.len() + if active.uses_others { others.len() } else { 0 };
            let (own, next) = shares.split_at(used);
            shares = next;
            active.rate = 0.0;
            for (number, (&branch, level)) in preferred.iter().chain(others).zip(levels).enumerate() {
                let rate = own.get(number).map_or(0.0, |share| share.rate);
                for (link, part) in links.flow(branch).links(tables) {
                    self.loads[link as usize].0 += (rate - *level) * part;
                    if let Some(beside) = &mut beside {
                        beside.change(link, (rate - *level) * part);
                    }
                }
                *level = rate;
                active.rate += rate * f64::from(branch.weight);
            }
            active.since = now;
            if active.is_in_packets() {
                continue;
            }
            if let Some(beside) = beside {
                let of = |(branch, share): (&Branch, &Share)| f64::from(branch.weight) * share.rate / active.rate;
                let flows = preferred.iter().chain(others).zip(own);
                flows.for_each(|flow| beside.queue(flow.1.bottleneck, active.queued * of(flow)));
            }
            active.ends = now + active.lasts();
            lasts = active.lasts().as_ps().saturating_add(lasts);
            ends.push(Reverse((active.ends, active.endpoint)));
        }
        if is_counted && !self.queues.is_empty() {
            self.count_overflowing(tables);
        }
        let messages = ends.len();
        self.ends = BinaryHeap::from(ends);
        let turns = (self.active.len() / self.hosts / CONNECTIONS).max(1) as u64;
        self.interval = (self.packet * turns).max(Duration::from_ps(lasts / messages.max(1) as u64 / self.parts));
        if let Some(beside) = &mut self.beside {
            beside.settle();
            // What waits changes while rates stay.
            if messages > 0 {
                self.solve_soon(now);
            }
        }
    }

    /// What windows of connections in packets let through: acknowledgements take longer where messages wait.
    fn limit_packets(&mut self, tables: Tables<'_>) {
        let Some(beside) = &self.beside else { return };
        for active in self.active.iter_mut().filter(|active| active.is_in_packets()) {
            let waits = [active.links, active.back].map(|links| beside.waits(&links, tables, &self.solver));
            active.limit = active.window.bytes / (active.window.round + waits[0] + waits[1]);
        }
    }

    /// Solves the levels of all branches: first of those that are used first; then, where a link between switches
    /// limits some, of these and the others of the same connections together.
    fn fill(&mut self, tables: Tables<'_>) {
        self.flows.clear();
        self.limits.clear();
        for active in &self.active {
            let (preferred, _) = active.links.branches(tables);
            self.flows.extend(preferred.iter().map(|&branch| active.links.flow(branch)));
            self.limits.extend(std::iter::repeat_n(active.limit, preferred.len()));
        }
        self.fill_flows(tables);
        if self.branches > 1 && self.add_others(tables) {
            self.fill_flows(tables);
        }
    }

    fn fill_flows(&mut self, tables: Tables<'_>) {
        let (flows, classes) = (&self.flows, self.solver.classes());
        let links_of = |flow: u32| flows[flow as usize].links_of_class(tables, classes);
        self.solver.solve(&self.limits, links_of, &mut self.shares);
    }

    /// Adds the other branches of connections that meet a full link between switches; says whether there are any.
    fn add_others(&mut self, tables: Tables<'_>) -> bool {
        self.flows.clear();
        self.limits.clear();
        let (mut shares, classes) = (self.shares.as_slice(), self.solver.classes());
        let mut are_added = false;
        for active in &mut self.active {
            let (preferred, others) = active.links.branches(tables);
            let (own, next) = shares.split_at(preferred.len());
            shares = next;
            let ends = [active.links.first, active.links.last].map(PortIndex::get);
            let is_between = |full: u32| !ends.contains(&(full / classes));
            active.uses_others = !others.is_empty() && own.iter().any(|own| own.bottleneck.is_some_and(is_between));
            are_added |= active.uses_others;
            self.flows.extend(preferred.iter().map(|&branch| active.links.flow(branch)));
            self.limits.extend(std::iter::repeat_n(active.limit, preferred.len()));
            if active.uses_others {
                let weighted = preferred.iter().zip(own).map(|(branch, own)| f64::from(branch.weight) * own.rate);
                let rate: f64 = weighted.sum();
                self.flows.extend(others.iter().map(|&branch| active.links.flow(branch)));
                self.limits.extend(std::iter::repeat_n((active.limit - rate).max(0.0), others.len()));
            }
        }
        are_added
    }

    /// Counts connections that would be held back in a lossless network: on one of their links others wait for a full
    /// link further on that they do not use themselves.
    fn count_held_back(&mut self, tables: Tables<'_>) {
        let classes = self.solver.classes();
        for (flow, share) in self.flows.iter().zip(&self.shares) {
            let Some(full) = share.bottleneck else { continue };
            for (link, _) in flow.links_of_class(tables, classes).take_while(|&(link, _)| link != full) {
                let mark = &mut self.waits_for[link as usize];
                let is_first = mark.0 != self.number || mark.1 == full;
                *mark = (self.number, if is_first { full } else { SEVERAL });
            }
        }
        for (flow, share) in self.flows.iter().zip(&self.shares) {
            let uses = |full: u32| flow.links_of_class(tables, classes).any(|(link, _)| link == full);
            let is_held = |(link, _): (u32, f64)| {
                let (number, full) = self.waits_for[link as usize];
                number == self.number && share.bottleneck != Some(full) && (full == SEVERAL || !uses(full))
            };
            self.solutions += 1;
            self.limited += u64::from(share.bottleneck.is_some_and(|full| full / classes != flow.first.get()));
            self.held_back += u64::from(flow.links_of_class(tables, classes).any(is_held));
        }
    }

    /// Counts flows at links for which more would wait than a switch holds: what hosts send of a message before it has
    /// drained, up to the window, or that if more messages follow.
    fn count_overflowing(&mut self, tables: Tables<'_>) {
        let classes = self.solver.classes();
        let mut shares = self.shares.as_slice();
        for active in &self.active {
            let Links { first, .. } = active.links;
            let (preferred, others) = active.links.branches(tables);
            let used = preferred.len() + if active.uses_others { others.len() } else { 0 };
            let (own, next) = shares.split_at(used);
            shares = next;
            let sent = self.solver.capacity(first.get()) / self.loads[first.get() as usize].1;
            // Who has several messages to send goes on with others.
            let unsent = if active.behind > 0.0 { f64::INFINITY } else { active.left * (1.0 - active.rate / sent) };
            let waits = unsent.min(active.window.bytes - active.rate * active.window.round).max(0.0);
            for (branch, share) in preferred.iter().chain(others).zip(own) {
                if let Some(full) = share.bottleneck.map(|full| full / classes).filter(|&full| full != first.get()) {
                    self.queues[full as usize] += waits * f64::from(branch.weight) * share.rate / active.rate;
                }
            }
        }
        let fulls = || self.shares.iter().filter_map(|share| share.bottleneck).map(|full| (full / classes) as usize);
        self.overflowing += fulls().filter(|&full| self.queues[full] > self.queue_max).count() as u64;
        fulls().for_each(|full| self.queues[full] = 0.0);
    }
}
