//! Links that fail during a run, and return or do not.

use std::{collections::BTreeMap, ops::RangeInclusive};

use etherweave_primitives::{Duration, InputError};
use etherweave_routing::Outage;
use etherweave_topology::{Node, Topology, reverse};

use crate::params::{RUN_MAX, in_range, whole};

#[derive(Clone, Debug, Default)]
pub(crate) struct Outages {
    /// Outages by switch and port, from and until [ticks].
    ports: BTreeMap<(u32, u16), Vec<(u32, u32)>>,
}

impl Outages {
    /// None.
    #[cfg(test)]
    pub const NONE: Outages = Outages { ports: BTreeMap::new() };

    /// # Errors
    /// When a time is out of range or not a whole number of nanoseconds.
    pub fn of(outages: &[Outage], topology: &Topology) -> Result<Outages, InputError> {
        let mut ports: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for outage in outages {
            let from = ticks("faults.down.from", outage.from, 0)?;
            let until = outage.until.map_or(Ok(u32::MAX), |until| ticks("faults.down.until", until, from + 1))?;
            for channel in [outage.channel, reverse(outage.channel)] {
                let end = topology.channel(channel).from;
                if let Node::Switch(switch) = end.node {
                    ports.entry((switch.get(), end.port.index() as u16)).or_default().push((from, until));
                }
            }
        }
        Ok(Outages { ports })
    }

    /// Whether a port ever fails.
    pub fn concern(&self, switch: u32, port: usize) -> bool {
        self.ports.contains_key(&(switch, port as u16))
    }

    /// Whether the link of a port is down at any instant of a span [ticks].
    pub fn touch(&self, switch: u32, port: usize, span: RangeInclusive<u32>) -> bool {
        let of_port = self.ports.get(&(switch, port as u16));
        of_port.is_some_and(|spans| spans.iter().any(|&(from, until)| from <= *span.end() && *span.start() < until))
    }
}

fn ticks(key: &'static str, value: Duration, least: u32) -> Result<u32, InputError> {
    let ticks = whole(key, value)?;
    in_range(key, ticks, u64::from(least), RUN_MAX).map(|()| ticks as u32)
}
