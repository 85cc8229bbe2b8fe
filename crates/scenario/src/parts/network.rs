//! Switches and links of open loops: those of the fabric, `[switch]` and `[flow_control]`, as a run has them.

use etherweave_openloop::{FlowControl as OpenLoopFlowControl, Links, SwitchParams};
use etherweave_primitives::Bytes;
use etherweave_sim::params::FlowControl;
use etherweave_topology::Topology;
use toml::Table;

use crate::Scenario;

/// Depth of the queue of an output that the file does not state, at the most [packets].
const OUTPUT_QUEUE_MAX: u32 = 64;

/// Switches and links under synthetic traffic.
pub(crate) struct OpenLoopNetwork {
    pub switch: SwitchParams,
    pub links: Links,
}

impl OpenLoopNetwork {
    /// The network of a scenario, of which the author wrote `values`. Values out of range are found when it is used,
    /// keys without effect by [`without_effect`](crate::effect::without_effect).
    pub fn of(values: &Table, scenario: &Scenario, topology: &Topology) -> OpenLoopNetwork {
        let links = Links::of(topology);
        let links = match scenario.open_loop.ejection_delay {
            Some(delay) => links.with_ejection(topology, delay),
            None => links,
        };
        OpenLoopNetwork { switch: switch(values, scenario), links }
    }
}

/// How inputs are kept from overflowing, as far as open loops know it.
struct Buffers<'a> {
    flow_control: OpenLoopFlowControl,
    key: &'static str,
    priorities: usize,
    buffer: Option<&'a Bytes>,
    global_buffer: Option<&'a Bytes>,
}

/// Credits unless the file states pauses; a run's default is another.
fn buffers<'a>(values: &Table, flow_control: &'a FlowControl) -> Buffers<'a> {
    let credits = OpenLoopFlowControl::Credits;
    let unstated = Buffers { flow_control: credits, key: "", priorities: 0, buffer: None, global_buffer: None };
    if !values.contains_key("flow_control") {
        return unstated;
    }
    match flow_control {
        FlowControl::None {} | FlowControl::GlobalPause(_) => unstated,
        FlowControl::Credits(credits) => Buffers {
            key: "credits",
            priorities: credits.priorities.len(),
            buffer: credits.buffer.as_ref(),
            global_buffer: credits.global_buffer.as_ref(),
            ..unstated
        },
        FlowControl::Pfc(pfc) => Buffers {
            flow_control: OpenLoopFlowControl::Pauses,
            key: "pfc",
            priorities: pfc.priorities.len(),
            buffer: pfc.buffer.as_ref(),
            global_buffer: pfc.global_buffer.as_ref(),
        },
    }
}

fn switch(values: &Table, scenario: &Scenario) -> SwitchParams {
    let (switch, open_loop) = (&scenario.switch, &scenario.open_loop);
    let packets = |bytes: Bytes| u32::try_from(bytes.get() / open_loop.packet.get().max(1)).unwrap_or(u32::MAX);
    let is_stated = |path: [&str; 2]| {
        values.get(path[0]).and_then(|table| table.get(path[1])).is_some_and(|value| !value.is_table())
    };
    let buffers = buffers(values, &scenario.flow_control);
    let states_priorities = values.get("flow_control").and_then(|kinds| kinds.get(buffers.key)?.get("priorities"));
    let output_queue = packets(switch.output_queue);
    let default = SwitchParams::default();
    SwitchParams {
        packet: open_loop.packet,
        crossbar_latency: switch.latency,
        speed_up: switch.speed_up,
        arbiter: switch.arbiter,
        transit_first: open_loop.transit_first,
        allocation_rounds: open_loop.allocation_rounds,
        flow_control: buffers.flow_control,
        scheduler: open_loop.scheduler,
        resume_below: packets(switch.xon_offset),
        priorities: states_priorities.map(|_| buffers.priorities as u8),
        local_buffer: buffers.buffer.map_or(default.local_buffer, |&bytes| packets(bytes)),
        global_buffer: buffers.global_buffer.or(buffers.buffer).map_or(default.global_buffer, |&bytes| packets(bytes)),
        output_queue: if is_stated(["switch", "output_queue"]) {
            output_queue
        } else {
            output_queue.clamp(1, OUTPUT_QUEUE_MAX)
        },
        injection_queue: open_loop.injection_queue,
        injection_channels: open_loop.injection_channels,
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;
    use etherweave_topology::{Family, SingleSwitch};

    use super::*;

    fn network(text: &str) -> OpenLoopNetwork {
        let values: Table = text.parse().unwrap();
        let (_, scenario) = crate::scenario::read_values(text, "x.toml", &[]).unwrap();
        OpenLoopNetwork::of(&values, &scenario, &SingleSwitch::default().generate().unwrap())
    }

    #[test]
    fn switches_of_open_loops_are_those_of_runs_in_packets() {
        let unstated = network("[open_loop]\n").switch;
        assert_eq!(unstated.flow_control, OpenLoopFlowControl::Credits);
        // 40 KiB are 40 packets of 1,000 B; buffers that nothing states have 32 and 64.
        assert_eq!((unstated.output_queue, unstated.local_buffer, unstated.global_buffer), (40, 32, 64));
        assert_eq!((unstated.crossbar_latency, unstated.priorities), (Duration::from_ns(300), None));
        let text = "[open_loop]\npacket = \"2000B\"\n[switch]\nlatency = \"100ns\"\noutput_queue = \"6kB\"\n\
                    xon_offset = \"8kB\"\n[flow_control.pfc]\npriorities = [0, 1]\nbuffer = \"40kB\"\n";
        let stated = network(text).switch;
        assert_eq!(stated.flow_control, OpenLoopFlowControl::Pauses);
        assert_eq!((stated.output_queue, stated.local_buffer, stated.global_buffer), (3, 20, 20));
        assert_eq!((stated.resume_below, stated.priorities), (4, Some(2)));
    }

    #[test]
    fn packets_reach_hosts_over_their_cable_unless_the_file_states_another_delay() {
        let delays = |text| network(text).links.delays;
        assert!(delays("[open_loop]\n").iter().all(|&delay| delay == Duration::from_ns(15)));
        let stated = delays("[open_loop]\nejection_delay = \"0ns\"\n");
        assert_eq!(stated.iter().filter(|delay| delay.is_zero()).count() * 2, stated.len());
    }
}
