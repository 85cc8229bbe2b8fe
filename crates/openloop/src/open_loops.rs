//! The open loops of a shard, a part of the fabric that is served by one thread at a time: its switches, and the
//! sources behind them.

use crate::wires::{ARRIVAL, CREDIT, ENTRIES_MAX, HOST, INPUT_FREE, KIND_SHIFT, MARK, OUTPUT_FREE, SEND};
use crate::{
    cache::every_line, constants::RunConstants, port::Port, run_length::RunControl, sources::Sources,
    switches::Switches,
};
use etherweave_routing::PacketRouting;

/// Switches and sources of a shard, and what ports sent.
pub(crate) struct OpenLoops {
    pub switches: Switches,
    pub sources: Sources,
    /// Packets that each port sent in each batch, when that is wanted.
    pub steps: Option<StepRecorder>,
}

/// Packets that ports sent, batch by batch.
pub(crate) struct StepRecorder {
    /// Packets by port, until the last batch.
    sent: Vec<u32>,
    /// Packets by batch and port.
    pub steps: Vec<Vec<u16>>,
}

impl OpenLoops {
    /// Serves all events before `until`.
    pub fn run<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, until: u32) {
        self.touch(until);
        self.switches.wires.receive_all();
        while let Some(at) = self.switches.wires.wheel.next(self.switches.wires.now, until) {
            self.switches.wires.now = at;
            while let Some(event) = self.switches.wires.wheel.take(at) {
                self.serve(constants, event);
            }
            while let Some(base) = self.switches.to_allocate.pop() {
                self.switches.allocate(constants, base as usize);
            }
        }
        self.switches.wires.now = until;
    }

    /// Reads a word of every cache line of the shard that events before `until` may need, in order. The processor
    /// fetches them side by side, where the events would wait for one after the other: at 300,000 hosts that is a fifth
    /// of the time.
    fn touch(&self, until: u32) {
        let Switches { ports, inputs, outputs, pauses, wires, .. } = &self.switches;
        let ports = ports.iter().fold(0, |sum, port| sum ^ port.link_free);
        let inputs = every_line(inputs).fold(0, |sum, input| sum ^ input.first);
        let outputs = every_line(outputs).fold(0, |sum, output| sum ^ u32::from(output.credits));
        let hosts = self.sources.hosts.iter().fold(0, |sum, host| sum ^ host.port);
        let wheel = wires.wheel.touch(wires.now, until);
        std::hint::black_box(ports ^ inputs ^ outputs ^ pauses.touch() ^ hosts ^ wheel ^ wires.slab.touch());
    }

    fn serve<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, event: u32) {
        let switches = &mut self.switches;
        let index = event & (ENTRIES_MAX as u32 - 1);
        match event >> KIND_SHIFT {
            ARRIVAL => switches.arrive(constants, index),
            CREDIT => switches.credit(constants, index as usize),
            INPUT_FREE => switches.input_free(constants, index as usize),
            OUTPUT_FREE => {
                switches.ports[index as usize].output_wakes = false;
                switches.serve_output(constants, index as usize);
            }
            HOST => self.sources.host(switches, constants, index),
            MARK if constants.notifications.is_some() => {
                let packet = switches.wires.notices.remove(index);
                switches.snoop(constants, packet);
            }
            MARK => switches.ports[index as usize / 2].seems_saturated = index % 2 == 1,
            SEND => switches.send_next(constants, index as usize),
            _ => switches.obey(constants, index as usize / 2, index % 2 == 1),
        }
    }

    pub fn start<R: PacketRouting>(
        &mut self,
        constants: &RunConstants<'_, R>,
        control: &RunControl,
        records_steps: bool,
    ) {
        self.switches.wires.span = control.span.clone();
        self.switches.wires.tally.batch = control.batch;
        self.steps =
            records_steps.then(|| StepRecorder { sent: vec![0; self.switches.ports.len()], steps: Vec::new() });
        self.sources.start(&mut self.switches, constants);
    }

    pub fn end_batch<R>(&mut self, constants: &RunConstants<'_, R>) {
        if let Some(steps) = &mut self.steps {
            let Switches { ports, wires, .. } = &self.switches;
            let sent = |port: &Port| port.busy_until(wires.now) / constants.link(port.link).packet;
            let now = ports.iter().map(sent);
            let step = now.clone().zip(&steps.sent).map(|(now, before)| now.saturating_sub(*before) as u16).collect();
            steps.steps.push(step);
            steps.sent = now.collect();
        }
    }
}
