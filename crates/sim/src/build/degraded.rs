//! Degraded links: checks, and the ports that they belong to.

use std::collections::BTreeMap;

use etherweave_primitives::{ChannelId, Duration};
use etherweave_topology::reverse;

use super::layout::Layout;
use super::{BuildError, Experiment};
use crate::degraded::{DegradedChannel, DegradedLink};
use crate::engine::Shard;
use crate::params::Misfit;

/// Highest bit error rate: two of three frames of 1,000 bits are lost.
const RATE_MAX: f64 = 1e-3;

/// Rejects rates out of range, empty times, and links with two rates at a time.
pub(super) fn check(experiment: &Experiment) -> Result<(), BuildError> {
    let links = &experiment.degraded;
    for (number, link) in links.iter().enumerate() {
        let misfit = |part: &str, found: String, expected: String| {
            let key = format!("faults.degraded.{number}.{part}");
            Err(BuildError::Misfit(Misfit { key, found, expected }))
        };
        let rate = link.bit_error_rate;
        if !(0.0..=RATE_MAX).contains(&rate) {
            return misfit("bit_error_rate", rate.to_string(), format!("0 to {RATE_MAX}, per bit"));
        }
        if let Some(until) = link.until.filter(|&until| until <= link.from) {
            return misfit("until", until.to_string(), format!("more than {}, when it begins", link.from));
        }
        if let Some(other) = links[..number].iter().position(|other| overlap(other, link)) {
            let expected = format!("a time apart from faults.degraded.{other}, which is the same link");
            return misfit("from", link.from.to_string(), expected);
        }
    }
    Ok(())
}

fn overlap(one: &DegradedLink, other: &DegradedLink) -> bool {
    let end = |link: &DegradedLink| link.until.unwrap_or(Duration::from_ps(u64::MAX));
    one.channel.get() / 2 == other.channel.get() / 2 && one.from < end(other) && other.from < end(one)
}

/// Adds both directions of each degraded link to the shards of their senders.
pub(super) fn add(experiment: &Experiment, layout: &Layout, shards: &mut [Shard]) {
    for (channel, links) in by_channel(&experiment.degraded) {
        let (shard, port) = layout.port(&experiment.topology, channel);
        let shard = &mut shards[shard];
        if let Some(degraded) = DegradedChannel::new(channel, experiment.params.seed, &links) {
            shard.impaired_link(port).damage = Some(degraded);
        }
    }
}

/// The degraded links of each channel, in order of time.
fn by_channel(links: &[DegradedLink]) -> BTreeMap<ChannelId, Vec<DegradedLink>> {
    let mut channels: BTreeMap<ChannelId, Vec<DegradedLink>> = BTreeMap::new();
    for link in links {
        for channel in [link.channel, reverse(link.channel)] {
            channels.entry(channel).or_default().push(*link);
        }
    }
    channels.values_mut().for_each(|links| links.sort_by_key(|link| link.from));
    channels
}
