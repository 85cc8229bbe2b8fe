//! A part of the fabric that is served by one thread at a time: its switches, hosts, packets and events.

use std::ops::Range;

use etherweave_topology::LinkClass;

use crate::cache::every_line;
use crate::constants::RunConstants;
use crate::host::{Flowlet, Host};
use crate::little::QueueMeter;
use crate::load_view::SwitchLoad;
use crate::packet::{NONE, Packet, Slab};
use crate::port::{HeadState, Input, Output, Pauses, Port};
use crate::reordering::WatchedArrival;
use crate::run_length::RunControl;
use crate::tally::Tally;
use crate::wheel::Wheel;
use etherweave_routing::{InputChannel, PacketRouting};

/// The kind of an event; the rest of its 32 bits is an index.
pub(crate) const KIND_SHIFT: u32 = 29;
const ARRIVAL: u32 = 0;
const CREDIT: u32 = 1;
const INPUT_FREE: u32 = 2;
const OUTPUT_FREE: u32 = 3;
pub(crate) const HOST: u32 = 4;
const MARK: u32 = 5;
pub(crate) const SEND: u32 = 6;
const PAUSE: u32 = 7;

/// The most entries that an event can address.
pub(crate) const ENTRIES_MAX: usize = 1 << KIND_SHIFT;

/// Switches `first_switch..` and their hosts.
pub(crate) struct Shard {
    pub number: u16,
    pub first_switch: u32,
    pub first_host: u32,
    /// Ports of every switch.
    pub radix: usize,
    /// Before it no switch has a global port.
    pub first_global: usize,
    /// Virtual channels of every port.
    pub channels: usize,
    /// Channels of port `n` are `n << shift` and on.
    pub shift: u32,
    pub ports: Vec<Port>,
    /// When each output last served each input of its switch [ticks], by output and input; empty where
    /// the arbiter does not ask.
    pub served: Vec<u32>,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    pub hosts: Vec<Host>,
    /// By host; empty where the routing does not ask.
    pub flowlets: Vec<Flowlet>,
    /// By port; empty where nothing is asserted.
    pub meters: Vec<QueueMeter>,
    pub pauses: Pauses,
    /// First ports of the switches that match inputs and outputs at the end of this instant.
    pub to_allocate: Vec<u32>,
    /// Outputs and the input channels that ask for them, while a switch matches them.
    pub asking: Vec<(u32, u32)>,
    pub wheel: Wheel,
    pub slab: Slab,
    pub now: u32,
    pub outbox: Vec<RemoteEvent>,
    /// The measured time [ticks].
    pub span: Range<u32>,
    /// What each port sent in each batch, when that is wanted.
    pub steps: Option<StepRecorder>,
    /// Packets at watched hosts in the measured time.
    pub arrivals_watched: Vec<WatchedArrival>,
    pub tally: Tally,
}

/// What ports sent, batch by batch.
pub(crate) struct StepRecorder {
    /// By port, until the last batch.
    sent: Vec<u32>,
    /// By batch and port.
    pub steps: Vec<Vec<u16>>,
}

/// An event in another shard.
pub(crate) struct RemoteEvent {
    pub at: u32,
    pub shard: u16,
    pub content: RemoteAction,
}

pub(crate) enum RemoteAction {
    /// A packet arrives at an input channel.
    Packet(Packet),
    /// The far end of an output channel has room for one more.
    Credit(u32),
    /// Twice an output channel, and 1 when it is to stop.
    Pause(u32),
}

impl Shard {
    /// Serves all events before `until`.
    pub fn run<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, until: u32) {
        self.touch();
        while let Some(at) = self.wheel.next(self.now, until) {
            self.now = at;
            while let Some(event) = self.wheel.take(at) {
                self.serve(constants, event);
            }
            while let Some(base) = self.to_allocate.pop() {
                self.allocate(constants, base as usize);
            }
        }
        self.now = until;
    }

    /// Reads a word of every cache line of the shard, in order. The processor fetches them side by side, where the
    /// events of a window would wait for one after the other: at 300,000 hosts that is a fifth of the time.
    fn touch(&self) {
        let ports = self.ports.iter().fold(0, |sum, port| sum ^ port.link_free);
        let inputs = every_line(&self.inputs).fold(0, |sum, input| sum ^ input.first);
        let outputs = every_line(&self.outputs).fold(0, |sum, output| sum ^ u32::from(output.credits));
        let hosts = self.hosts.iter().fold(0, |sum, host| sum ^ host.port);
        std::hint::black_box(ports ^ inputs ^ outputs ^ hosts ^ self.wheel.touch() ^ self.slab.touch());
    }

    fn serve<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, event: u32) {
        let index = event & (ENTRIES_MAX as u32 - 1);
        match event >> KIND_SHIFT {
            ARRIVAL => self.arrive(constants, index),
            CREDIT => self.credit(constants, index as usize),
            INPUT_FREE => self.input_free(constants, index as usize),
            OUTPUT_FREE => {
                self.ports[index as usize].output_wakes = false;
                self.serve_output(constants, index as usize);
            }
            HOST => self.host(constants, index),
            MARK => self.ports[index as usize / 2].seems_saturated = index % 2 == 1,
            SEND => self.send_next(constants, index as usize),
            _ => self.obey(constants, index as usize / 2, index % 2 == 1),
        }
    }

    /// Schedules an event from another shard.
    pub fn receive(&mut self, remote: RemoteEvent) {
        let event = match remote.content {
            RemoteAction::Packet(packet) => ARRIVAL << KIND_SHIFT | self.slab.insert(packet),
            RemoteAction::Credit(output) => CREDIT << KIND_SHIFT | output,
            RemoteAction::Pause(word) => PAUSE << KIND_SHIFT | word,
        };
        debug_assert!(remote.at >= self.now, "a window ends before what it does elsewhere");
        self.wheel.put(remote.at, event);
    }

    pub fn start<R: PacketRouting>(
        &mut self,
        constants: &RunConstants<'_, R>,
        control: &RunControl,
        records_steps: bool,
    ) {
        self.span = control.span.clone();
        self.tally.batch = control.batch;
        self.steps = records_steps.then(|| StepRecorder { sent: vec![0; self.ports.len()], steps: Vec::new() });
        self.flowlets = Flowlet::tables(self.hosts.len(), constants.routing.hash_scope());
        self.start_hosts(constants);
    }

    pub fn end_batch<R>(&mut self, constants: &RunConstants<'_, R>) {
        if let Some(steps) = &mut self.steps {
            let sent = |port: &Port| port.busy_until(self.now) / constants.link(port.link).packet;
            let now = self.ports.iter().map(sent);
            let step = now.clone().zip(&steps.sent).map(|(now, before)| now.saturating_sub(*before) as u16).collect();
            steps.steps.push(step);
            steps.sent = now.collect();
        }
    }

    /// A packet's head is at the input it goes to.
    pub fn arrive<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, id: u32) {
        let input = self.slab.get(id).place as usize;
        if self.ports[input >> self.shift].fails && self.is_cut(constants, input >> self.shift) {
            self.lose(constants, id);
            return;
        }
        let packet = self.slab.get(id);
        packet.entered = self.now;
        packet.next = NONE;
        self.store(constants, input);
        let port = input >> self.shift;
        self.meter(port, 0);
        self.ports[port].held += 1;
        let queue = &mut self.inputs[input];
        let behind = std::mem::replace(&mut queue.last, id);
        if queue.first != NONE {
            self.slab.get(behind).next = id;
            return;
        }
        queue.first = id;
        if self.ports[port].input_free > self.now {
            self.wake_input(port);
        } else {
            self.advance(constants, input);
        }
    }

    /// Whether the link of a port was down while the packet that arrives now was on it.
    fn is_cut<R>(&self, constants: &RunConstants<'_, R>, port: usize) -> bool {
        let from = &self.ports[port];
        let switch = self.first_switch + u32::from(from.home);
        constants.outages.touch(switch, port - self.base(port), self.now - u32::from(from.delay)..=self.now)
    }

    /// Drops a packet; with credits, its credit is returned as if it had crossed the switch.
    fn lose<R>(&mut self, constants: &RunConstants<'_, R>, id: u32) {
        let input = self.slab.remove(id).place as usize;
        self.tally.lose(self.now);
        let port = input >> self.shift;
        if !constants.has_pauses && !self.is_to_host(port) {
            let from = &self.ports[port];
            let upstream = (from.peer << self.shift) + (input - (port << self.shift)) as u32;
            let at = self.now + constants.crossbar + u32::from(from.delay);
            self.return_credit(at, from.peer_shard, upstream);
        }
    }

    /// The crossbar is free for an input: its channels take turns.
    fn input_free<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, port: usize) {
        self.ports[port].input_wakes = false;
        if self.ports[port].input_free > self.now {
            self.wake_input(port);
            return;
        }
        let turn = usize::from(self.ports[port].turn);
        for channel in (turn..self.channels).chain(0..turn) {
            let input = (port << self.shift) + channel;
            if self.inputs[input].first != NONE && self.advance(constants, input) {
                return;
            }
        }
    }

    /// Grants the first packet of an idle input's queue if it is eligible and no other waits; enlists it if
    /// not. Returns whether the input is busy then.
    fn advance<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, input: usize) -> bool {
        let port = input >> self.shift;
        let base = self.base(port);
        let is_new = self.inputs[input].state == HeadState::Undecided;
        if is_new {
            self.decide(constants, input, base);
        }
        let (out, channel) = self.wanted(input, base);
        let is_open = self.is_open(constants, out);
        let is_greedy = constants.params.allocation_rounds.is_none();
        if is_greedy && is_new && is_open && self.outputs[channel].credits > 0 && self.ports[out].waiting == 0 {
            self.grant(constants, input, base);
            return true;
        }
        if is_new {
            self.enlist(input, base);
        }
        if is_open {
            self.serve_output(constants, out);
        } else {
            self.wake_output(constants, out);
        }
        self.ports[port].input_free > self.now
    }

    fn decide<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, input: usize, base: usize) {
        let port = input >> self.shift;
        // Queues of a host are no virtual channels.
        let channel = if self.is_to_host(port) { 0 } else { (input - (port << self.shift)) as u8 };
        let at = InputChannel {
            switch: self.first_switch + u32::from(self.ports[port].home),
            port: (port - base) as u8,
            channel,
            class: self.ports[port].class,
        };
        let load = SwitchLoad {
            ports: &self.ports,
            outputs: &self.outputs,
            base,
            radix: self.radix,
            first_switch: self.first_switch,
            room: constants.rooms(),
            shift: self.shift,
            channel_last: constants.channel_last,
            queues: &self.pauses.queues,
            now: self.now,
            links: &constants.links,
            outages: &constants.outages,
        };
        let head = &mut self.inputs[input];
        let hop = constants.routing.decide(at, &mut self.slab.get(head.first).route, load);
        debug_assert!(hop.channel < constants.routing.channels(), "a routing keeps to its channels");
        (head.port, head.channel) = (hop.port, hop.channel.min(constants.channel_last));
    }

    /// The first port of the switch of a port.
    fn base(&self, port: usize) -> usize {
        usize::from(self.ports[port].home) * self.radix
    }

    /// The output port and output channel that the first packet of an input wants.
    pub fn wanted(&self, input: usize, base: usize) -> (usize, usize) {
        let head = &self.inputs[input];
        let out = base + usize::from(head.port);
        (out, (out << self.shift) + usize::from(head.channel))
    }

    /// Whether an output takes a packet from the crossbar.
    pub fn is_open<R>(&self, constants: &RunConstants<'_, R>, out: usize) -> bool {
        let out = &self.ports[out];
        out.crossbar_free <= self.now && out.link_free <= self.now + constants.link(out.link).full
    }

    /// The far end of an output channel has room for one more.
    pub fn credit<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, output: usize) {
        let out = output >> self.shift;
        let channel = &mut self.outputs[output];
        channel.credits += 1;
        assert!(channel.credits <= constants.room(self.ports[out].class), "no buffer gives more room than it has");
        self.sense(constants, output);
        let channel = &self.outputs[output];
        // Before this credit there was none, or the waiting inputs wait for something else.
        if channel.credits == 1 && self.ports[out].waiting > 0 {
            self.serve_output(constants, out);
        }
    }

    /// Grants one of the inputs that wait for a free output, if one is eligible.
    fn serve_output<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, out: usize) {
        if self.ports[out].waiting == 0 {
            return;
        }
        if !self.is_open(constants, out) {
            self.wake_output(constants, out);
            return;
        }
        let base = self.base(out);
        if constants.params.allocation_rounds.is_some() {
            self.allocate_later(base);
        } else if let Some(input) = self.next_input(constants.params, out, base) {
            self.unlist(input, base);
            self.grant(constants, input, base);
        }
    }

    fn allocate_later(&mut self, base: usize) {
        if !self.to_allocate.contains(&(base as u32)) {
            self.to_allocate.push(base as u32);
        }
    }

    /// Marks the global ports of a switch after the credits of one have changed.
    pub fn sense<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, output: usize) {
        let out = output >> self.shift;
        let Some(saturation) = constants.routing.saturation() else { return };
        if self.ports[out].class != LinkClass::Global || output != out << self.shift {
            return;
        }
        let base = self.base(out);
        let room = u32::from(constants.room(LinkClass::Global));
        let held = |shard: &Shard, port: usize| room - u32::from(shard.outputs[port << shard.shift].credits);
        let is_global = |shard: &Shard, port: usize| shard.ports[port].class == LinkClass::Global;
        let own = base + self.first_global..base + self.radix;
        let global = own.clone().filter(|&port| is_global(self, port));
        let (count, sum) = global.fold((0, 0), |(count, sum), port| (count + 1, sum + held(self, port)));
        for port in own {
            let excess = held(self, port).saturating_sub(saturation.packets);
            let is_saturated = is_global(self, port) && 100 * count * excess > saturation.mean_percent * sum;
            if std::mem::replace(&mut self.ports[port].is_saturated, is_saturated) != is_saturated {
                let mark = 2 * port as u32 + u32::from(is_saturated);
                self.wheel.put(self.now + constants.local_delay(), MARK << KIND_SHIFT | mark);
            }
        }
    }

    pub fn wake_input(&mut self, port: usize) {
        if !std::mem::replace(&mut self.ports[port].input_wakes, true) {
            self.wheel.put(self.ports[port].input_free, INPUT_FREE << KIND_SHIFT | port as u32);
        }
    }

    pub fn wake_output<R>(&mut self, constants: &RunConstants<'_, R>, out: usize) {
        let port = &self.ports[out];
        self.wake_output_at(out, port.crossbar_free.max(port.link_free.saturating_sub(constants.link(port.link).full)));
    }

    pub fn wake_output_at(&mut self, out: usize, at: u32) {
        if !std::mem::replace(&mut self.ports[out].output_wakes, true) {
            self.wheel.put(at, OUTPUT_FREE << KIND_SHIFT | out as u32);
        }
    }

    /// Sends a packet to the input channel in its `place`.
    pub fn send(&mut self, at: u32, shard: u16, id: u32) {
        if shard == self.number {
            self.wheel.put(at, ARRIVAL << KIND_SHIFT | id);
        } else {
            let content = RemoteAction::Packet(self.slab.remove(id));
            self.outbox.push(RemoteEvent { at, shard, content });
        }
    }

    /// Returns a credit to an output channel.
    pub fn return_credit(&mut self, at: u32, shard: u16, output: u32) {
        if shard == self.number {
            self.wheel.put(at, CREDIT << KIND_SHIFT | output);
        } else {
            self.outbox.push(RemoteEvent { at, shard, content: RemoteAction::Credit(output) });
        }
    }

    /// Sends a pause or resume to an output channel.
    pub fn post_pause(&mut self, at: u32, shard: u16, word: u32) {
        if shard == self.number {
            self.wheel.put(at, PAUSE << KIND_SHIFT | word);
        } else {
            self.outbox.push(RemoteEvent { at, shard, content: RemoteAction::Pause(word) });
        }
    }

    /// Whether a port leads to a host.
    pub fn is_to_host(&self, port: usize) -> bool {
        self.ports[port].class == LinkClass::Host
    }

    /// Before a port holds more or fewer packets.
    #[inline]
    pub fn meter(&mut self, port: usize, waited: u32) {
        if cfg!(debug_assertions) {
            self.meters[port].count(self.now, self.ports[port].held);
            self.meters[port].waited += u64::from(waited);
        }
    }
}
