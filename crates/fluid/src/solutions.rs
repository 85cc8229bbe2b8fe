//! Solutions of the rates of all connections: when they are due, which connections they take, and the levels of their
//! branches.

use etherweave_primitives::{Duration, Time};

use super::{Fluid, LinkPlace, Tables};

/// Rates hold for one of so many parts of the mean time between two ends of messages of a connection.
const MESSAGE_PARTS: u64 = 64;
/// Rates hold until each of so many connections of a host has sent a packet, if it has more.
const CONNECTIONS: usize = 8;

impl Fluid {
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

    pub(super) fn solve_soon(&mut self, now: Time) {
        let present = self.message_ends.between().map_or(self.interval, |between| self.interval_of(between));
        self.solve_within(now, self.interval.min(present));
    }

    /// Solves rates anew when they have held for a span.
    pub(super) fn solve_within(&mut self, now: Time, span: Duration) {
        let earliest = now.max(self.solved + span);
        self.solve_at = Some(self.solve_at.map_or(earliest, |time| time.min(earliest)));
    }

    /// Returns the time for which rates hold at least, with so much time between two ends of messages [ps]. Among
    /// messages of different lengths those count that end often: the long ones beside them would last while others
    /// begin, and links would carry more than they can.
    pub(super) fn interval_of(&self, between: f64) -> Duration {
        self.turn().max(Duration::from_ps((between / MESSAGE_PARTS as f64) as u64))
    }

    /// The time until connections of a host have sent a packet each, which is how often switches share a link.
    pub(super) fn turn(&self) -> Duration {
        self.packet * (self.active.len() / self.hosts / CONNECTIONS).max(1) as u64
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
}
