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
mod carried;
mod classes;
mod components;
mod connections;
mod latest;
mod left_out;
mod link_use;
mod max_min;
mod paths;
mod rates;
mod solutions;
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
pub use left_out::{LeftOutCounts, QueueLimits};
use link_use::LinkUse;
use max_min::Share;
use paths::Flow;
pub use paths::{Branch, BranchRange, Branches, LinkPlace, Links, PathSet, Tables};
pub use standing::StandingLimits;
use standing::{Queueing, StandingQueues};

/// A share of a link below which nothing is left of it.
const FULL: f64 = 1e-9;
/// Connections on a link that are fewer are none: sums of shares are rounded.
const NONE: f64 = 1e-6;

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
}
