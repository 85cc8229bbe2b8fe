//! Crossbars of input-queued switches: their rates, and the buffers that they must have.

use etherweave_engine::{constants::RunConstants, params::FlowControl, params::SwitchModel};
use etherweave_primitives::{BitRate, ByteTime, InputError, Priority};
use etherweave_switch::input_queued::Crossbars;
use etherweave_topology::{Node, Topology};

use super::{Experiment, Paths};
use crate::shard::Shard;

/// Rejects jobs some of whose packets would have no queue at an input.
pub(super) fn check(experiment: &Experiment) -> Result<(), InputError> {
    let FlowControl::Credits(credits) = &experiment.params.flow_control else { return Ok(()) };
    if experiment.params.switch.model == SwitchModel::SharedBuffer {
        return Ok(());
    }
    let count = match &experiment.paths {
        Paths::PerFlow { .. } => 1,
        Paths::PerPacket(prepared) => prepared.priorities(),
    };
    experiment.jobs.iter().enumerate().try_for_each(|(number, job)| {
        let first = job.priority.get();
        // That there are so many is checked with the routing.
        let mut needed = (first..first + count).filter(|&priority| usize::from(priority) < Priority::COUNT);
        let missing = needed.find(|&priority| credits.mask() & 1 << priority == 0);
        let listed: Vec<u8> = credits.priorities.iter().map(|priority| priority.get()).collect();
        let mistake = format!("{listed:?}");
        let expected =
            format!("{} too, of job.{number}: input_queued has no other queues", missing.unwrap_or_default());
        InputError::unless(missing.is_none(), "flow_control.credits.priorities", mistake, expected)
    })
}

/// Without ports yet; nothing where switches share buffers.
pub(super) fn crossbars(constants: &RunConstants) -> Crossbars {
    let switch = &constants.params.switch;
    match switch.model {
        SwitchModel::SharedBuffer => Crossbars::default(),
        SwitchModel::InputQueued => {
            Crossbars::new(switch.arbiter, switch.output_queue.get() as u32, constants.largest_on_wire())
        }
    }
}

/// Adds the ports of a node, if switches have crossbars: those of a switch run at `speed_up` times its fastest link.
pub(super) fn add(shard: &mut Shard, topology: &Topology, node: Node) {
    let switch = &shard.wires.constants.params.switch;
    if switch.model == SwitchModel::InputQueued {
        let out = topology.out_channels(node);
        let fastest = out.iter().map(|&id| topology.channel(id).rate.as_bps()).max().unwrap_or(1);
        let byte = ByteTime::new(BitRate::from_bps(fastest * u64::from(switch.speed_up)));
        shard.switches.crossbars.add(out.len(), byte);
    }
}
