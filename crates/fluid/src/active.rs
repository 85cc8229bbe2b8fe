//! A connection that sends, and what is left of its messages.

use std::ops::{AddAssign, SubAssign};

use etherweave_primitives::{Duration, Time};

use super::paths::{Branch, Links, Tables};
use etherweave_kernel::indices::EndpointIndex;

/// Longest time that a message lasts that does not move [ps].
const NEVER: f64 = 1e18;
/// So few messages end in a picosecond that it is none.
const PER_PS_MIN: f64 = 1e-15;
/// Rates are solved so many times as rarely for messages in packets: their packets share links meanwhile.
const PACKET_PARTS: f64 = 16.0;
/// Messages that last no more than so many packets end before rates are solved.
const SHORT: f64 = 4.0;
/// A connection with less of a link waits for others: it is in a class that a strict one has stopped.
const STOPPED: f64 = 2.0 * super::classes::SHARE_MIN;

/// Data that a connection may have in the network.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// On the wire [B].
    pub bytes: f64,
    /// Until a full packet is acknowledged on an idle path [ps].
    pub round: f64,
}

impl Window {
    /// No limit.
    pub const OPEN: Window = Window { bytes: f64::INFINITY, round: 1.0 };
}

#[derive(Clone, Copy)]
pub(super) struct Active {
    pub endpoint: EndpointIndex,
    pub links: Links,
    /// Those of its acknowledgements.
    pub back: Links,
    pub window: Window,
    /// Rate that its window lets through [B/ps].
    pub limit: f64,
    pub rate: f64,
    /// Rest of the message that leads, at `since` [B on the wire]; infinite where packets are simulated.
    pub left: f64,
    /// Size of that message [B on the wire]; where packets are simulated, what is posted of a window counts.
    pub size: f64,
    /// Size of messages behind it [B on the wire].
    pub behind: f64,
    pub since: Time,
    pub ends: Time,
    /// Time at which it had nothing to send before.
    pub began: Time,
    /// Time by which a packet that came then has crossed the queues of its path, once these are known.
    pub crossed: Option<Time>,
    /// Whether branches that are not used first have rates too.
    pub uses_others: bool,
    /// Bytes of it that wait for the link that limits it.
    pub queued: f64,
}

impl Active {
    /// Whether its packets are simulated, and not its messages.
    pub fn is_in_packets(&self) -> bool {
        self.left == f64::INFINITY
    }

    /// Branches that have rates, in the order of the solver's flows.
    pub fn used_branches<'a>(&'a self, tables: Tables<'a>) -> &'a [Branch] {
        let (all, preferred) = self.links.all_branches(tables);
        if self.uses_others { all } else { &all[..preferred] }
    }

    /// Its host sent at a rate for some time [ps], and acknowledgements take so much longer than on an idle path [ps];
    /// what has not drained waits.
    pub fn queue(&mut self, sent: f64, span: f64, answer: f64) {
        let most = (self.left + self.behind).min(self.window.bytes - self.rate * (self.window.round + answer));
        self.queued = (self.queued + (sent - self.rate) * span).min(most).max(0.0);
    }

    /// How often its messages end at its rate.
    pub fn ends(&self, counted: &Counted) -> Ends {
        let lasts = if self.is_in_packets() { PACKET_PARTS * self.window.bytes } else { self.size } / self.rate;
        let counts = lasts > counted.lasts_min && self.rate > counted.rate_min;
        if counts { Ends { connections: 1.0, per_ps: 1.0 / lasts } } else { Ends::default() }
    }

    /// How long its message still takes.
    pub fn lasts(&self) -> Duration {
        let ps = (self.left.max(0.0) / self.rate).min(NEVER);
        // Rounded up, without a call.
        let floor = ps as i64;
        Duration::from_ps((floor + i64::from((floor as f64) < ps)) as u64)
    }
}

/// Messages whose ends count: others do not show how long rates may hold.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    /// They last longer than this [ps], at a higher rate than this [B/ps].
    lasts_min: f64,
    rate_min: f64,
}

impl Counted {
    /// Where a full packet takes `packet` at the least, and every link has this capacity [B/ps] at least.
    pub fn new(packet: Duration, capacity_min: f64) -> Counted {
        Counted { lasts_min: SHORT * packet.as_ps() as f64, rate_min: STOPPED * capacity_min }
    }
}

/// How often messages of some connections end.
#[derive(Clone, Copy, Default)]
pub(super) struct Ends {
    connections: f64,
    per_ps: f64,
}

impl Ends {
    /// The mean time between two ends of a connection [ps], if there is one.
    pub fn between(self) -> Option<f64> {
        (self.connections > 0.5).then(|| self.connections / self.per_ps.max(PER_PS_MIN))
    }
}

impl AddAssign for Ends {
    fn add_assign(&mut self, other: Ends) {
        *self = Ends { connections: self.connections + other.connections, per_ps: self.per_ps + other.per_ps };
    }
}

impl SubAssign for Ends {
    fn sub_assign(&mut self, other: Ends) {
        *self = Ends { connections: self.connections - other.connections, per_ps: self.per_ps - other.per_ps };
    }
}
