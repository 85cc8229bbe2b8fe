//! Messages of connections: how they begin, follow each other and end, and one of a packet that passes.

use std::cmp::Reverse;

use etherweave_kernel::indices::{EndpointIndex, PortIndex};
use etherweave_primitives::{Duration, Time};

use super::left_out::{Begun, LinkLoad};
use super::{Active, FULL, Fluid, Level, LinkPlace, LinkUse, Links, NONE, Tables, Window};

/// A share of a link from which on packets that are sent by others overtake those that wait for it.
const BUSY: f64 = 0.5;

impl Fluid {
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

    fn expect_end(&mut self, place: usize, now: Time) {
        let active = &mut self.active[place];
        if active.is_in_packets() {
            return;
        }
        active.ends = now + active.lasts();
        self.ends.push(Reverse((active.ends, active.endpoint)));
    }
}
