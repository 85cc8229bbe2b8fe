//! Forward error correction of links by their class: checks.

use etherweave_engine::{fec::ForwardErrorCorrection, params::FlowControl};
use etherweave_primitives::{InputError, InputErrors};
use etherweave_topology::{Channel, LinkClass};

use super::{Experiment, degraded::check_code, delays::delay, delays::pause_delay};

/// Rejects codes that links of their class cannot have, and those that leave a link without any delay, since the code
/// that its latencies contain waits longer than they are.
pub(super) fn check(experiment: &Experiment) -> Result<(), InputErrors> {
    let mut errors = InputErrors::default();
    for (class, name) in [(LinkClass::Host, "host"), (LinkClass::Local, "local"), (LinkClass::Global, "global")] {
        let Some(code) = experiment.params.fec.stated(class) else { continue };
        let mut channels = experiment.topology.channels().iter().filter(|channel| channel.class == class);
        let result = channels.try_for_each(|channel| check_channel(experiment, channel, code, name));
        errors.check(result.map_err(|error| error.within("fec")));
    }
    errors.into_result()
}

fn check_channel(
    experiment: &Experiment,
    channel: &Channel,
    code: ForwardErrorCorrection,
    name: &str,
) -> Result<(), InputError> {
    check_code(Some(code), channel.rate).map_err(|error| InputError { key: name.to_owned(), ..error })?;
    let params = &experiment.params;
    let has_pauses = matches!(params.flow_control, FlowControl::GlobalPause(_) | FlowControl::Pfc(_));
    let is_immediate = delay(channel, params).is_zero() || has_pauses && pause_delay(channel, params).is_zero();
    let contained = ForwardErrorCorrection::of_cable(channel).wait(channel.rate);
    let mistake = format!("a code that waits {} on a link of {}", code.wait(channel.rate), channel.rate);
    let expected = format!("a code, or latencies and a cable beyond {contained}, what that by rate and cable waits");
    InputError::unless(!is_immediate, name, mistake, expected)
}
