//! Flow-level mode: messages drain at max-min fair rates, and no packet is made. Hosts, MPI and protocols stay what
//! they are; only what is between the NICs of two hosts is replaced.
//!
//! A connection with messages to send is *active*. It begins with what its links have left, or an equal share of its
//! fullest link if that is more, unless that link has carried more than its capacity by that already. Rates of all are
//! solved anew when a connection began or ended on a full link, but not
//! more often than switches would share it: they do so packet by packet. Nor is it worth it more often than in a small
//! part of the time for which messages last. Until then capacity that became free stays free.
//!
//! Where switches decide for every packet, a connection has several branches. One that is split by fixed shares is one
//! flow; adaptive ones are flows of their own, each of which grows until it meets a full link. Branches that are not
//! minimal grow beside the minimal ones of connections that a link between switches limits otherwise.
//!
//! A message of one packet on links without connections is none: it takes its turn behind others like it.
//!
//! Connections of jobs in packets take part while they have anything to send, so that messages leave them their share;
//! how long their packets wait for messages is in [`beside`].

mod active;
mod beside;
mod classes;
mod components;
mod latest;
mod left_out;
mod link_use;
mod max_min;
mod paths;
mod standing;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use etherweave_primitives::{Duration, Time};

pub use active::Window;
use active::{Active, Counted, Ends};
use beside::SharedLink;
pub use beside::{BesidePackets, Crossing};
use classes::ClassLinks;
use components::Components;
use etherweave_kernel::indices::{EndpointIndex, PortIndex};
pub use latest::{Departures, LATENCIES, PathLatency, lateness};
use left_out::{Begun, LinkLoad, Solution};
pub use left_out::{LeftOutCounts, QueueLimits};
use link_use::LinkUse;
use max_min::Share;
use paths::Flow;
pub use paths::{Branch, BranchRange, Branches, LinkPlace, Links, PathSet, Tables};
pub use standing::StandingLimits;
use standing::{Queueing, StandingQueues};

/// A share of a link below which nothing is left of it.
const FULL: f64 = 1e-9;
/// A share of a link from which on packets that are sent by others overtake those that wait for it.
const BUSY: f64 = 0.5;
/// Connections on a link that are fewer are none: sums of shares are rounded.
const NONE: f64 = 1e-6;

/// Rates hold for one of so many parts of the mean time between two ends of messages of a connection.
const MESSAGE_PARTS: u64 = 64;
/// Rates hold until each of so many connections of a host has sent a packet, if it has more.
const CONNECTIONS: usize = 8;
/// All active connections of a run, and what they share.
pub struct Fluid {
    solver: ClassLinks,
    /// The solver's number of each traffic class.
    class_numbers: [u8; 8],
    active: Vec<Active>,
    /// Loads of the branches of each active connection, a connection after the other.
    levels: Vec<Level>,
    /// The most branches of a connection.
    branches: usize,
    /// Uses of each link.
    uses: Vec<LinkUse>,
    places: Vec<LinkPlace>,
    /// Parts of packets that each link carried, and that are not counted yet.
    uncounted: Vec<f64>,
    /// Load of links as packets see it, where there are any.
    beside: Option<BesidePackets>,
    /// Sets of connections that share links; absent where branches, classes or packets couple them.
    components: Option<Components>,
    /// Whether each connection so far uses all of each of its links, so that rates depend on no order of connections.
    are_whole: bool,
    /// Places of connections whose rates are solved.
    solving: Vec<u32>,
    /// Ends of messages that lead, by connection; those of former rates among them.
    ends: BinaryHeap<Reverse<(Time, EndpointIndex)>>,
    /// When rates are solved anew, and not before.
    solve_at: Option<Time>,
    solved: Time,
    /// The time of a packet.
    packet: Duration,
    /// Ends of messages of all connections.
    message_ends: Ends,
    counted: Counted,
    /// Time for which rates hold that were solved last; those of the present if that is less.
    interval: Duration,
    /// The longest of them.
    interval_max: Duration,
    /// The longest turn of the connections of a host.
    turn_max: Duration,
    hosts: usize,
    /// When the event is due that is scheduled.
    pub scheduled: Time,
    /// Queues at full links.
    standing: StandingQueues,
    /// Growth of queues of connections that drain, in the order in which these do.
    queueing: Vec<Queueing>,
    /// Count of effects that packets would have otherwise.
    pub left_out: LeftOutCounts,
    flows: Vec<Flow>,
    shares: Vec<Share>,
    limits: Vec<f64>,
}

/// Load of a branch of a connection, over the weight of the branch.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Bytes per picosecond.
    rate: f64,
    /// Bytes of the message that leads, until the rate was solved.
    sent: f64,
    /// The link that limits it, as the solver counts it, when its rate was solved.
    bottleneck: Option<u32>,
    /// Bytes that wait for that link [B].
    queued: f64,
    /// Whether a lossless network would hold it back, when that was counted.
    is_held: bool,
}

/// Parameters of a run.
pub struct FluidParams {
    /// Capacity of each link [B/ps].
    pub capacities: Vec<f64>,
    /// Ends of each link.
    pub places: Vec<LinkPlace>,
    /// The time of a full packet at the least.
    pub packet: Duration,
    /// Ports of hosts.
    pub hosts: usize,
    /// The most branches of a connection.
    pub branches: usize,
    /// Traffic classes that are used, each with its weight: 0 of a strict one.
    pub classes: Vec<(usize, u8)>,
    /// Most that may wait in a switch.
    pub queue_limits: QueueLimits,
    /// Most that long messages leave waiting.
    pub standing_limits: StandingLimits,
    /// Load of links as packets see it, where there are any.
    pub beside: Option<BesidePackets>,
}

impl Fluid {
    /// Whether any message is on its way.
    pub fn has_messages(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Nothing is sent yet.
    pub fn new(params: FluidParams) -> Fluid {
        let FluidParams {
            capacities,
            places,
            packet,
            hosts,
            branches,
            mut classes,
            queue_limits,
            standing_limits,
            beside,
        } = params;
        classes.sort_by_key(|&(class, weight)| (weight > 0, Reverse(class)));
        let mut class_numbers = [0; 8];
        (0..).zip(&classes).for_each(|(number, &(class, _))| class_numbers[class] = number);
        let counted = Counted::new(packet, capacities.iter().copied().fold(f64::INFINITY, f64::min));
        let weights: Vec<f64> = classes.iter().map(|&(_, weight)| f64::from(weight)).collect();
        let is_divisible = branches == 1 && weights.len() == 1 && beside.is_none();
        Fluid {
            class_numbers,
            active: Vec::new(),
            levels: Vec::new(),
            branches,
            uses: vec![LinkUse::default(); capacities.len()],
            places,
            uncounted: vec![0.0; capacities.len()],
            beside,
            components: is_divisible.then(|| Components::new(capacities.len())),
            are_whole: true,
            solving: Vec::new(),
            standing: StandingQueues::new(capacities.len() * weights.len(), standing_limits),
            queueing: Vec::new(),
            left_out: LeftOutCounts::new(capacities.len(), weights.len(), queue_limits),
            solver: ClassLinks::new(capacities, weights),
            ends: BinaryHeap::new(),
            solve_at: None,
            solved: Time::ZERO,
            packet,
            message_ends: Ends::default(),
            counted,
            interval: packet,
            interval_max: packet,
            turn_max: packet,
            hosts,
            scheduled: Time::MAX,
            flows: Vec::new(),
            shares: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// Has a message of one packet cross its path behind those that did before, where no connection uses a link of it
    /// and these take no longer than a full packet. Gives when it has drained.
    pub fn pass(&mut self, now: Time, links: &Links, wire: f64, tables: Tables<'_>) -> Option<Time> {
        if self.beside.is_some() || tables.branches.is_some() || links.part_max() < 1.0 {
            return None;
        }
        let (mut free_at, mut slowest) = (now, f64::INFINITY);
        for (link, _) in links.shares(tables) {
            let used = &self.uses[link.get() as usize];
            if used.connections > NONE {
                return None;
            }
            (free_at, slowest) = (free_at.max(used.free_at), slowest.min(self.solver.capacity(link.get())));
        }
        if free_at.since(now) > self.packet {
            return None;
        }
        for (link, _) in links.shares(tables) {
            let lasts = Duration::from_ps((wire / self.solver.capacity(link.get())) as u64);
            self.uses[link.get() as usize].free_at = free_at + lasts;
        }
        self.left_out.count_passed();
        Some(free_at + Duration::from_ps((wire / slowest).ceil() as u64))
    }

    /// A connection begins with a message of `wire` bytes, or to send packets if that is infinite, on the links there
    /// and back; gives its place among the active.
    pub fn begin(
        &mut self,
        now: Time,
        endpoint: EndpointIndex,
        [mut links, mut back]: [Links; 2],
        window: Window,
        wire: f64,
        tables: Tables<'_>,
    ) -> u32 {
        let limit = window.bytes / window.round;
        let (packet, mut is_overdrawn, mut free_at) = (self.packet, false, now);
        for (link, _) in links.shares(tables) {
            let (used, capacity) = (&mut self.uses[link.get() as usize], self.solver.capacity(link.get()));
            used.meter(now, self.solver.filled(link.get()));
            // What waits there drains with its message.
            free_at = free_at.max(std::mem::take(&mut used.free_at));
            is_overdrawn |= used.is_overdrawn(capacity, packet);
        }
        let left = |(link, share): (PortIndex, f64)| {
            self.uses[link.get() as usize].offer(self.solver.capacity(link.get()), share, packet)
        };
        links.class = self.class_numbers[usize::from(links.class)];
        back.class = links.class;
        let (is_queued, classes) = (free_at > now, self.solver.classes());
        let begun = Begun { links: &links, wire, is_queued, classes, tables };
        self.left_out.count_begun(&begun, |of_class| {
            let (link, queued) = (of_class / classes, self.standing.bytes(of_class));
            let LinkUse { rate, connections, .. } = self.uses[link as usize];
            LinkLoad { is_full: rate > self.solver.capacity(link) * (1.0 - FULL), connections, queued }
        });
        let (preferred, others) = links.branches(tables);
        let at_hosts = links.at_hosts().map(left).into_iter().fold(limit, f64::min);
        let rate = preferred.iter().flat_map(|branch| branch.links(tables)).map(left).fold(at_hosts, f64::min);
        let (mut is_least, mut is_shared, mut is_overtaken) = (rate < limit, false, false);
        for (link, share) in preferred.iter().flat_map(|&branch| links.flow(branch).links(tables)) {
            let capacity = self.solver.capacity(link);
            let used = &mut self.uses[link as usize];
            let is_alone = used.connections <= NONE;
            (used.rate, used.connections) = (used.rate + share * rate, used.connections + share);
            self.are_whole &= share == 1.0;
            let is_between = self.places[link as usize] == LinkPlace::Between;
            let is_part = (share < 1.0 || !others.is_empty()) && is_between;
            is_overtaken |= is_part && !is_alone && used.rate > capacity * BUSY;
            is_shared |= !is_alone && used.rate > capacity * (1.0 - FULL);
            is_least |= used.rate > capacity * (1.0 + FULL);
            is_overdrawn |= used.will_be_overdrawn(capacity, packet, self.interval);
        }
        if is_overtaken {
            self.left_out.count_overtaken();
        }
        // Other branches may have more left.
        let may_grow = rate < at_hosts && preferred.len() + others.len() > 1;
        let levels = std::iter::repeat_n(rate, preferred.len()).chain(std::iter::repeat(0.0));
        self.levels.extend(levels.take(self.branches).map(|rate| Level { rate, ..Level::default() }));
        let active = Active {
            endpoint,
            links,
            back,
            window,
            limit,
            rate,
            left: wire + rate * free_at.since(now).as_ps() as f64,
            size: wire,
            behind: 0.0,
            since: now,
            ends: Time::MAX,
            began: now,
            crossed: None,
            uses_others: false,
            queued: 0.0,
        };
        if let Some(beside) = self.beside.as_mut().filter(|_| !active.is_in_packets()) {
            let capacity = |link: PortIndex| self.solver.capacity(link.get());
            links
                .shares(tables)
                .for_each(|(link, share)| beside.begin(now, (link, capacity(link)), share, share * rate));
        }
        self.message_ends += active.ends(&self.counted);
        self.active.push(active);
        let place = self.active.len() - 1;
        self.expect_end(place, now);
        let is_solved = is_overdrawn || is_least && is_shared || may_grow;
        if let Some(components) = &mut self.components {
            links.shares(tables).for_each(|(link, _)| components.touch(link.get()));
            components.begin(links.shares(tables).map(|(link, _)| link.get()));
            is_solved.then(|| components.change(links.first.get()));
        }
        if is_overdrawn {
            self.solve_within(now, self.turn());
        } else if is_solved {
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
        self.message_ends -= active.ends(&self.counted);
        (active.left, active.size, active.behind, active.since) = (wire, wire, active.behind - wire, now);
        self.message_ends += active.ends(&self.counted);
        let own = place as usize * self.branches;
        self.levels[own..own + self.branches].iter_mut().for_each(|level| level.sent = 0.0);
        self.expect_end(place as usize, now);
    }

    /// The connection at a place, in packets, has so much more to send [B on the wire], of at most a window.
    pub fn widen(&mut self, now: Time, place: u32, wire: f64, most: f64) {
        let active = &mut self.active[place as usize];
        if active.window.bytes < most {
            self.message_ends -= active.ends(&self.counted);
            active.window.bytes = (active.window.bytes + wire).min(most);
            self.message_ends += active.ends(&self.counted);
            self.solve_soon(now);
        }
    }

    /// The connection at a place has nothing more to send; gives the connection that takes its place.
    pub fn end(&mut self, now: Time, place: u32, tables: Tables<'_>) -> Option<EndpointIndex> {
        let ended = self.active.swap_remove(place as usize);
        self.message_ends -= ended.ends(&self.counted);
        let links = ended.links;
        let mut frees_others = false;
        let (own, last) = (place as usize * self.branches, self.active.len() * self.branches);
        let (preferred, others) = links.branches(tables);
        for (number, &branch) in preferred.iter().chain(others).enumerate() {
            self.standing.remove(&mut self.levels[own + number]);
            let level = self.levels[own + number].rate;
            let weight = if number < preferred.len() { 1.0 } else { 0.0 };
            for (link, share) in links.flow(branch).links(tables) {
                let capacity = self.solver.capacity(link);
                let used = &mut self.uses[link as usize];
                used.meter(now, self.solver.filled(link));
                frees_others |= used.connections > share * weight + NONE && used.rate > capacity * (1.0 - FULL);
                used.connections -= share * weight;
                let is_idle = used.connections < NONE && others.is_empty();
                used.rate = if is_idle { 0.0 } else { (used.rate - share * level).max(0.0) };
                if let Some(beside) = self.beside.as_mut().filter(|_| !ended.is_in_packets()) {
                    beside.end(now, (link, capacity), share * weight, share * level);
                }
            }
        }
        self.levels.copy_within(last.., own);
        self.levels.truncate(last);
        let moved = self.active.get(place as usize);
        let (link, endpoint) = (links.first.get(), moved.map(|active| active.endpoint));
        if let Some(components) = &mut self.components {
            links.shares(tables).for_each(|(link, _)| components.touch(link.get()));
            components.end(place, link, moved.map_or(link, |active| active.links.first.get()));
            frees_others.then(|| components.change(link));
        }
        if frees_others {
            self.solve_soon(now);
        }
        endpoint
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

    /// Returns the rest of the message that leads at a place [B on the wire].
    pub fn left(&self, place: u32, now: Time) -> f64 {
        let active = &self.active[place as usize];
        active.left - active.rate * now.since(active.since).as_ps() as f64
    }

    /// The rate of the connection at a place [B/ps].
    pub fn rate(&self, place: u32) -> f64 {
        self.active[place as usize].rate
    }

    /// Whether a link leads to a host.
    pub fn is_last(&self, link: PortIndex) -> bool {
        self.places[link.get() as usize] == LinkPlace::ToHost
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

    /// Bytes that messages have queued for a port, as packets see it.
    pub fn queued(&self, port: PortIndex) -> u32 {
        self.beside.as_ref().map_or(0, |beside| beside.queued(port))
    }

    /// Effect of messages on a packet of `wire` bytes that begins to leave by a port.
    pub fn cross(&mut self, now: Time, port: PortIndex, wire: u32) -> Crossing {
        let beside = self.beside.as_mut().expect("packets cross links where they are simulated");
        let packets = self.uses[port.get() as usize].connections - beside.connections(port);
        beside.cross(now, SharedLink { port, capacity: self.solver.capacity(port.get()), packets }, wire)
    }

    fn solve_soon(&mut self, now: Time) {
        let present = self.message_ends.between().map_or(self.interval, |between| self.interval_of(between));
        self.solve_within(now, self.interval.min(present));
    }

    /// Solves rates anew when they have held for a span.
    fn solve_within(&mut self, now: Time, span: Duration) {
        let earliest = now.max(self.solved + span);
        self.solve_at = Some(self.solve_at.map_or(earliest, |time| time.min(earliest)));
    }

    /// Calls `count` with what each link carried until now of a message of the connection at a place: packets and bytes
    /// on the wire. A link that is used in part counts whole packets, and keeps the rest for later ones.
    pub fn carried(
        &mut self,
        now: Time,
        place: u32,
        tables: Tables<'_>,
        packets: u64,
        wire: u64,
        count: &mut impl FnMut(PortIndex, u64, u64),
    ) {
        let Active { links, since, .. } = self.active[place as usize];
        for (link, part) in links.at_hosts() {
            match part < 1.0 {
                true => self.carried_in_part(link, part, (packets, wire), count),
                false => count(link, packets, wire),
            }
        }
        if let PathSet::One(branch) = links.paths {
            return branch.links(tables).for_each(|(link, _)| count(link, packets, wire));
        }
        // Rates of branches change while a message lasts.
        let (branches, _) = links.all_branches(tables);
        let (own, span) = (place as usize * self.branches, now.since(since).as_ps().max(1) as f64);
        let sent = |fluid: &Fluid, number: usize| {
            let Level { rate, sent, .. } = fluid.levels[own + number];
            sent + rate * span
        };
        let weighted =
            branches.iter().enumerate().map(|(number, branch)| f64::from(branch.weight) * sent(self, number));
        let total: f64 = weighted.sum();
        for (number, branch) in branches.iter().enumerate() {
            let part = sent(self, number) / total;
            for (link, share) in branch.links(tables) {
                self.carried_in_part(link, share * part, (packets, wire), count);
            }
        }
    }

    fn carried_in_part(
        &mut self,
        link: PortIndex,
        part: f64,
        (packets, wire): (u64, u64),
        count: &mut impl FnMut(PortIndex, u64, u64),
    ) {
        let rest = &mut self.uncounted[link.get() as usize];
        *rest += packets as f64 * part;
        let counted = rest.floor().max(0.0);
        *rest -= counted;
        count(link, counted as u64, (counted * wire as f64 / packets as f64).round() as u64);
    }

    /// Solves the rates anew, if that is due.
    pub fn solve(&mut self, now: Time, tables: Tables<'_>) {
        if self.solve_at.is_none_or(|time| time > now) {
            return;
        }
        (self.solve_at, self.solved) = (None, now);
        self.limit_packets(tables);
        if let Some(beside) = &mut self.beside {
            beside.take_excess(now, self.interval, &mut self.solver);
            self.interval_max = self.interval_max.max(self.interval);
            let is_bounded = beside.is_excess_bounded(self.interval_max, &self.solver);
            debug_assert!(is_bounded, "no link carries more than its rate for long");
        }
        let is_counted = self.left_out.next_solution();
        self.choose(is_counted, tables);
        self.fill(tables);
        self.note_queueing(is_counted, tables);
        self.apply_rates(now, is_counted, tables);
        self.turn_max = self.turn_max.max(self.turn());
        debug_assert!(self.are_links_within_capacity(now), "no link carries more than its capacity for long");
        debug_assert!(self.are_within_capacities(), "rates that are solved fill no link beyond its capacity");
        if is_counted {
            self.count_left_out(tables);
        }
        if self.beside.is_some() {
            // What waits changes while rates stay.
            if !self.ends.is_empty() {
                self.solve_soon(now);
            }
        }
    }

    /// Lists the connections whose rates are solved: those that share links with what changed; in solutions that are
    /// counted those that share links with any that began or ended since the last of them. All where others would have
    /// other rates for the order of connections.
    fn choose(&mut self, is_counted: bool, tables: Tables<'_>) {
        self.solving.clear();
        let (active, left_out) = (&self.active, &mut self.left_out);
        match &mut self.components {
            Some(components) if !is_counted => return components.take_changed(&mut self.solving),
            Some(components) => {
                let links_of = |place: u32| active[place as usize].links.shares(tables).map(|(link, _)| link.get());
                components.split(&mut self.solving, links_of, |link| left_out.forget(link));
                if self.are_whole {
                    return;
                }
                self.solving.clear();
            }
            None => {}
        }
        if is_counted {
            left_out.forget_all();
        }
        self.solving.extend(0..self.active.len() as u32);
    }

    /// Whether connections use no link beyond its capacity; of several classes within what their rounds leave open.
    fn are_within_capacities(&self) -> bool {
        (0..).zip(&self.uses).all(|(link, used)| used.rate <= self.solver.filled(link))
    }

    /// Whether no link has carried more than its capacity until now, but for a few packets and what connections that
    /// begin at once take until rates are solved.
    pub fn are_links_within_capacity(&self, now: Time) -> bool {
        let (packet, turn) = (self.packet, self.turn_max);
        (0..).zip(&self.uses).all(|(link, used)| used.is_bounded(now, self.solver.filled(link), packet, turn))
    }

    /// Returns the time for which rates hold at least, with so much time between two ends of messages [ps]. Among
    /// messages of different lengths those count that end often: the long ones beside them would last while others
    /// begin, and links would carry more than they can.
    fn interval_of(&self, between: f64) -> Duration {
        self.turn().max(Duration::from_ps((between / MESSAGE_PARTS as f64) as u64))
    }

    /// The time until connections of a host have sent a packet each, which is how often switches share a link.
    fn turn(&self) -> Duration {
        self.packet * (self.active.len() / self.hosts / CONNECTIONS).max(1) as u64
    }

    /// Lets messages go on at the rates that were solved. What follows from all of them is summed up anew in solutions
    /// that are counted.
    fn apply_rates(&mut self, now: Time, is_counted: bool, tables: Tables<'_>) {
        let are_all = is_counted || self.solving.len() == self.active.len();
        let (mut ends, solving) = (std::mem::take(&mut self.ends), std::mem::take(&mut self.solving));
        if are_all {
            ends.clear();
            self.message_ends = Ends::default();
        }
        let (solved, mut next, mut first) = (std::mem::take(&mut self.shares), 0, 0);
        for number in 0..if are_all { self.active.len() } else { solving.len() } {
            let place = if are_all { number } else { solving[number] as usize };
            if !are_all {
                self.message_ends -= self.active[place].ends(&self.counted);
            }
            let span = now.since(self.active[place].since).as_ps() as f64;
            self.drain(place, span, tables);
            if solving.get(next).is_some_and(|&solved| solved as usize == place) {
                let last = first + self.active[place].used_branches(tables).len();
                self.change_rates(now, place, &solved[first..last], tables);
                (next, first) = (next + 1, last);
            }
            self.leave_standing(place, number, span, tables);
            let active = &mut self.active[place];
            active.since = now;
            self.message_ends += active.ends(&self.counted);
            if !active.is_in_packets() {
                active.ends = now + active.lasts();
                ends.push(Reverse((active.ends, active.endpoint)));
            }
        }
        (self.ends, self.solving, self.shares) = (ends, solving, solved);
        self.note_crossed(are_all, tables);
        self.queue_messages(tables);
        self.interval = self.interval_of(self.message_ends.between().unwrap_or(0.0));
        let interval = self.interval;
        self.beside.iter_mut().for_each(|beside| beside.hold(interval));
    }

    /// Counts what the message that leads at a place has sent at its rates for a span [ps].
    fn drain(&mut self, place: usize, span: f64, tables: Tables<'_>) {
        let active = &mut self.active[place];
        active.left -= active.rate * span;
        if let Some(beside) = self.beside.as_ref().filter(|_| !active.is_in_packets()) {
            let first = active.links.first.get();
            let answer = beside.waits(&active.back, tables, &self.solver);
            active.queue(self.solver.capacity(first) / self.uses[first as usize].connections, span, answer);
        }
        let levels = &mut self.levels[place * self.branches..][..self.branches];
        levels.iter_mut().for_each(|level| level.sent += level.rate * span);
    }

    /// Gives the branches of the connection at a place the rates that were solved.
    fn change_rates(&mut self, now: Time, place: usize, own: &[Share], tables: Tables<'_>) {
        let active = &mut self.active[place];
        let mut beside = self.beside.as_mut().filter(|_| !active.is_in_packets());
        let links = active.links;
        let (branches, _) = links.all_branches(tables);
        active.rate = 0.0;
        for (number, (&branch, level)) in branches.iter().zip(&mut self.levels[place * self.branches..]).enumerate() {
            let Share { rate, bottleneck } = own.get(number).copied().unwrap_or(Share { rate: 0.0, bottleneck: None });
            // Links whose rates stay carry on, but for what packets beside messages see.
            let changes = rate != level.rate || beside.is_some();
            for (link, part) in changes.then(|| links.flow(branch).links(tables)).into_iter().flatten() {
                let (used, capacity) = (&mut self.uses[link as usize], self.solver.capacity(link));
                used.meter(now, self.solver.filled(link));
                used.rate += (rate - level.rate) * part;
                if let Some(beside) = &mut beside {
                    beside.change(now, (link, capacity), (rate - level.rate) * part);
                }
            }
            self.standing.remove(level);
            *level = Level { rate, bottleneck, ..*level };
            active.rate += rate * f64::from(branch.weight);
        }
    }

    /// Notes where messages wait for which packets have to wait.
    fn queue_messages(&mut self, tables: Tables<'_>) {
        let Some(beside) = &mut self.beside else { return };
        let (mut shares, solver, uses) = (self.shares.as_slice(), &self.solver, &self.uses);
        let used = |link: u32| (uses[link as usize].rate / solver.capacity(link)).min(1.0);
        let is_between = |link: u32| self.places[link as usize] == LinkPlace::Between;
        for active in &self.active {
            let branches = active.used_branches(tables);
            let (own, next) = shares.split_at(branches.len());
            shares = next;
            for (&branch, share) in branches.iter().zip(own).filter(|_| active.queued > 0.0) {
                let bytes = active.queued * f64::from(branch.weight) * share.rate / active.rate;
                if let Some(full) = share.bottleneck {
                    beside.queue(branch, full, bytes, tables, (is_between, used));
                }
            }
        }
        beside.settle();
    }

    /// Counts what packets would do otherwise at the rates of all connections.
    fn count_left_out(&mut self, tables: Tables<'_>) {
        let (classes, branches) = (self.solver.classes(), self.branches);
        let (connections, solved, places) = (self.active.as_slice(), self.solving.as_slice(), self.places.as_slice());
        let solution = Solution { connections, solved, branches, places, classes, tables };
        self.left_out.note_held_back(&solution, &mut self.levels);
        let (solver, uses) = (&self.solver, &self.uses);
        self.left_out.count(&solution, &self.levels, |active| active.sent(solver, uses));
    }

    /// Limits connections in packets to the rate of their windows: acknowledgements take longer where messages wait.
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
        for active in self.solving.iter().map(|&place| &self.active[place as usize]) {
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
        let is_between = |full: u32| self.places[(full / classes) as usize] == LinkPlace::Between;
        for active in &mut self.active {
            let (preferred, others) = active.links.branches(tables);
            let (own, next) = shares.split_at(preferred.len());
            shares = next;
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
}
