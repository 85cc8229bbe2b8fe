//! Degraded links: checks, and the ports that they belong to.

use std::collections::BTreeMap;

use etherweave_engine::degraded::{DegradedChannel, DegradedLink};
use etherweave_engine::fec::ForwardErrorCorrection;
use etherweave_engine::{constants, link_retry::Cable, link_retry::LinkRetry};
use etherweave_primitives::{BitRate, Bytes, ChannelId, Duration, InputError, InputErrors};
use etherweave_topology::reverse;

use super::{Experiment, layout::Layout};
use crate::shard::Shard;

/// Path of the list in a scenario.
const KEY: &str = "faults.degraded";
/// Highest bit error rate: two of three frames of 1,000 bits are lost.
const RATE_MAX: f64 = 1e-3;
/// Longest time of the ends of a link for a replay.
const LATENCY_MAX: Duration = Duration::from_ms(1);
/// Bytes between two control messages: Ultra Ethernet Specification 1.0, section 5.1.
const SPACING_MIN: Bytes = Bytes::new(400);
const SPACING_MAX: Bytes = Bytes::new(17_296);

/// Rejects rates out of range, empty times, and links with two rates at a time.
pub(super) fn check(experiment: &Experiment) -> Result<(), InputErrors> {
    let links = &experiment.degraded;
    let params = &experiment.params;
    let frame = Bytes::new((constants::largest_frame(params) + constants::outer_header(params)).into());
    let mut errors = InputErrors::default();
    for (number, link) in links.iter().enumerate() {
        let rate = experiment.topology.channel(link.channel).rate;
        let result = check_link(link, &links[..number]).and_then(|()| check_code(link.fec, rate));
        let result = result.and_then(|()| check_retry(link, frame));
        errors.check(result.map_err(|error| error.within(&format!("{KEY}.{number}"))));
    }
    errors.into_result()
}

fn check_link(link: &DegradedLink, others: &[DegradedLink]) -> Result<(), InputError> {
    let rate = link.bit_error_rate;
    let expected = format!("0 to {RATE_MAX}, per bit");
    InputError::unless((0.0..=RATE_MAX).contains(&rate), "bit_error_rate", rate, expected)?;
    if let Some(until) = link.until.filter(|&until| until <= link.from) {
        return Err(InputError::new("until", until, format!("more than {}, when it begins", link.from)));
    }
    match others.iter().position(|other| overlap(other, link)) {
        Some(other) => {
            let expected = format!("a time apart from {KEY}.{other}, which is the same link");
            Err(InputError::new("from", link.from, expected))
        }
        None => Ok(()),
    }
}

/// Rejects retry with times and sizes out of range, and a replay buffer without room for a largest frame.
fn check_retry(link: &DegradedLink, frame: Bytes) -> Result<(), InputError> {
    let Some(LinkRetry { replays_max, latency, buffer, message_spacing }) = link.retry else { return Ok(()) };
    InputError::unless((1..=15).contains(&replays_max), "retry.replays_max", replays_max, "1 to 15")?;
    InputError::unless(latency <= LATENCY_MAX, "retry.latency", latency, format!("at most {LATENCY_MAX}"))?;
    let has_room = buffer.is_none_or(|buffer| buffer >= frame);
    let expected = format!("at least {frame}, the largest frame");
    InputError::unless(has_room, "retry.buffer", buffer.unwrap_or_default(), expected)?;
    let is_spaced = (SPACING_MIN..=SPACING_MAX).contains(&message_spacing);
    let expected = format!("{SPACING_MIN} to {SPACING_MAX}");
    InputError::unless(is_spaced, "retry.message_spacing", message_spacing, expected)
}

/// Rejects a code that the standard has for links of other rates.
pub(super) fn check_code(code: Option<ForwardErrorCorrection>, rate: BitRate) -> Result<(), InputError> {
    let Some(rates) = code.and_then(ForwardErrorCorrection::rates) else { return Ok(()) };
    let names: Vec<String> = rates.iter().map(BitRate::to_string).collect();
    let expected = format!("a link of {}, for which IEEE 802.3 has the code", names.join(" or "));
    InputError::unless(rates.contains(&rate), "fec", format!("a link of {rate}"), expected)
}

fn overlap(degraded: &DegradedLink, other: &DegradedLink) -> bool {
    let end = |link: &DegradedLink| link.until.unwrap_or(Duration::from_ps(u64::MAX));
    degraded.channel.get() / 2 == other.channel.get() / 2 && degraded.from < end(other) && other.from < end(degraded)
}

/// Adds both directions of each degraded link to the shards of their senders.
pub(super) fn add(experiment: &Experiment, layout: &Layout, shards: &mut [Shard]) {
    for (channel, links) in by_channel(&experiment.degraded) {
        let (shard, port) = layout.port(&experiment.topology, channel);
        let shard = &mut shards[shard];
        let end = experiment.topology.channel(channel);
        let frame_max = Bytes::new(shard.wires.constants.largest_on_wire().into());
        let codes = &experiment.params.fec;
        let round_trip = codes.adjust(codes.adjust(end.length.propagation_time() * 2, end), end);
        let cable = Cable { rate: end.rate, round_trip, frame_max };
        if let Some(degraded) = DegradedChannel::new(channel, experiment.params.seed, &links, &cable) {
            shard.wires.impaired_link(port).damage = Some(degraded);
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
