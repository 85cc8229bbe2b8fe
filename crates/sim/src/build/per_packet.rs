//! Whether a run has the priorities that its routing needs.

use std::ops::RangeInclusive;

use etherweave_engine::params::FlowControl;
use etherweave_primitives::{InputError, Priority};

use super::{Experiment, Paths};

/// A routing that decides packet by packet raises the priority of packets with their hops, so that none waits for
/// itself. Every priority must exist, and what keeps one from losing packets must keep all.
pub(super) fn check(experiment: &Experiment) -> Result<(), InputError> {
    let Paths::PerPacket(prepared) = &experiment.paths else { return Ok(()) };
    let has_room = |key: &str, first: Option<Priority>| {
        let (first, count) = (first.map_or(0, Priority::get), prepared.priorities());
        let expected = format!("at most {}: {} takes {count} priorities", 8 - count, prepared.name());
        InputError::unless(first <= 8 - count, key, first, expected)
    };
    has_room("switch.trimming.priority", experiment.params.switch.trimming.map(|trimming| trimming.priority))?;
    experiment.params.transports().try_for_each(|transport| {
        has_room(&format!("transport.{}.control_priority", transport.name()), transport.control_priority())
    })?;
    let mut in_packets = experiment.jobs.iter().enumerate().filter(|(_, job)| experiment.fidelity(job).is_packet());
    in_packets.try_for_each(|(number, job)| {
        let (first, count) = (job.priority.get(), prepared.priorities());
        let last = first + count - 1;
        if usize::from(last) >= Priority::COUNT {
            let expected = format!("at most {}: {} takes {count} priorities", 8 - count, prepared.name());
            return Err(InputError::new(format!("job.{number}.priority"), first, expected));
        }
        apart(experiment, number, first..=last)?;
        lossless(experiment, prepared.name(), first, last)
    })
}

/// Rejects a job of which packets are raised into a queue of trimmed ones, which would join the queue that is full.
fn apart(experiment: &Experiment, job: usize, priorities: RangeInclusive<u8>) -> Result<(), InputError> {
    let Some(trimming) = experiment.params.switch.trimming else { return Ok(()) };
    let class = |priority: u8| experiment.params.ets.class_of_priority[usize::from(priority)];
    let is_shared = |priority: &u8| *priority == trimming.priority.get() || Some(class(*priority)) == trimming.queue;
    let Some(shared) = priorities.clone().find(is_shared) else { return Ok(()) };
    let key = if shared == trimming.priority.get() { "priority" } else { "queue" };
    let mistake = format!("{}, raised up to {}", priorities.start(), priorities.end());
    let expected =
        format!("priorities apart from switch.trimming.{key}: trimmed packets would join the queue that is full");
    Err(InputError::new(format!("job.{job}.priority"), mistake, expected))
}

fn lossless(experiment: &Experiment, routing: &str, first: u8, last: u8) -> Result<(), InputError> {
    let needed: Vec<String> = (first..=last).map(|priority| priority.to_string()).collect();
    let needed = needed.join(", ");
    match &experiment.params.flow_control {
        FlowControl::None {} => Ok(()),
        FlowControl::GlobalPause(_) if first == last => Ok(()),
        FlowControl::GlobalPause(_) => {
            let expected =
                format!("pfc with the priorities {needed}: under {routing}, pausing all at once may deadlock");
            Err(InputError::new("flow_control", "global_pause", expected))
        }
        FlowControl::Pfc(pfc) => {
            let has = |priority: u8| pfc.priorities.contains(&Priority::new(priority));
            let is_apart = !has(first) || (first..=last).all(has) && (!pfc.coupled || first == last);
            let numbers: Vec<u8> = pfc.priorities.iter().map(|priority| priority.get()).collect();
            let mistake = format!("{numbers:?}{}", if pfc.coupled { ", coupled" } else { "" });
            let expected = format!("{needed}, not coupled: {routing} raises the priority of packets with their hops");
            InputError::unless(is_apart, "flow_control.pfc.priorities", mistake, expected)
        }
        FlowControl::Credits(credits) => {
            let has = |priority: u8| credits.priorities.contains(&Priority::new(priority));
            let mistake = format!("{:?}", credits.priorities);
            let expected = format!("{needed}: {routing} raises the priority of packets with their hops");
            let is_apart = !has(first) || (first..=last).all(has);
            InputError::unless(is_apart, "flow_control.credits.priorities", mistake, expected)
        }
    }
}
