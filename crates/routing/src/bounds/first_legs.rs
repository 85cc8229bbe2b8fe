//! Switches at which packets start towards their destination: their own, or the one that they visit first.

use super::{demand::Demand, walk::FlowWalk};
use crate::{Oblivious, WalkTarget};

/// The switches where packets start, and the share of each, in the order of switches.
type Starts = Vec<(u32, f64)>;

/// The first part of all paths.
pub(super) struct FirstLegs {
    /// Where packets start; homes one after the other that start alike have them in common.
    starts: Vec<Starts>,
    /// The number of the starts of each home.
    starts_of: Vec<u32>,
    /// Flow that starts at each switch when every home sends 1.
    all: Vec<f64>,
}

impl FirstLegs {
    /// Follows packets to what they visit first, and adds them to the loads of channels.
    pub fn new(demand: &Demand<'_>, routing: &dyn Oblivious, walk: &mut FlowWalk<'_>, loads: &mut [f64]) -> FirstLegs {
        let mut legs = FirstLegs { starts: Vec::new(), starts_of: Vec::new(), all: vec![0.0; walk.switches()] };
        for &home in &demand.homes {
            let starts = starts(home.switch, demand.sent_by(home), routing, walk, loads);
            starts.iter().for_each(|&(at, share)| legs.all[at as usize] += share);
            if legs.starts.last() != Some(&starts) {
                legs.starts.push(starts);
            }
            legs.starts_of.push(legs.starts.len() as u32 - 1);
        }
        legs
    }

    /// Puts at each switch what starts there when homes send `flows`.
    ///
    /// Most flows to a destination are alike, or none at all: only those that differ cost more than a look.
    pub fn start(&self, flows: &[f64], walk: &mut FlowWalk<'_>) {
        let usual = majority(flows);
        let mut amounts: Vec<f64> = self.all.iter().map(|&all| usual * all).collect();
        for (&flow, &starts) in flows.iter().zip(&self.starts_of).filter(|&(&flow, _)| flow != usual) {
            let starts = &self.starts[starts as usize];
            starts.iter().for_each(|&(at, share)| amounts[at as usize] += (flow - usual) * share);
        }
        // What is left of a difference of equals is no flow.
        let least = usual * f64::EPSILON * flows.len() as f64;
        let present = (0..).zip(amounts).filter(|&(_, amount)| amount > least);
        present.for_each(|(at, amount)| walk.start(at, amount));
    }
}

/// The value that more than half of all have, or else any of them: Boyer and Moore, "MJRTY: a fast majority vote
/// algorithm", 1991.
fn majority(flows: &[f64]) -> f64 {
    let vote = |(kept, votes): (f64, u32), &flow: &f64| match votes {
        0 => (flow, 1),
        _ if flow == kept => (kept, votes + 1),
        _ => (kept, votes - 1),
    };
    flows.iter().fold((0.0, 0), vote).0
}

/// Where the packets of a switch start, which sends so much.
fn starts(from: u32, sent: f64, routing: &dyn Oblivious, walk: &mut FlowWalk<'_>, loads: &mut [f64]) -> Starts {
    let mut arrivals = Vec::new();
    routing.vias(from, &mut |via, share| {
        walk.start(from, share);
        walk.run(WalkTarget::Via(via), sent, loads, &mut |at, share| arrivals.push((at, share)));
    });
    if arrivals.is_empty() {
        return vec![(from, 1.0)];
    }
    arrivals.sort_by_key(|&(at, _)| at);
    arrivals.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 += if is_same { next.1 } else { 0.0 };
        is_same
    });
    arrivals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_more_than_half_have_is_found() {
        assert_eq!(majority(&[3.0, 1.0, 1.0, 2.0, 1.0]), 1.0);
        assert_eq!(majority(&[2.0, 0.0, 0.0]), 0.0);
        assert_eq!(majority(&[]), 0.0);
    }
}
