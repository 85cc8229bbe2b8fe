//! A packet's path through a switch: the lists of waiting inputs, and grants.

use crate::{
    constants::RunConstants, packet::NONE, params::SwitchParams, port::END, port::HeadState,
    reordering::WatchedArrival, switches::Switches, tally::DeliveredPacket,
};
use etherweave_kernel::Arbiter;
use etherweave_routing::{PacketRouting, RoutedPacket};
use etherweave_topology::LinkClass;

impl Switches {
    /// Puts an input channel behind those that wait for the same output channel.
    #[inline]
    pub fn enlist(&mut self, input: usize, base: usize) {
        let (out, output) = self.wanted(input, base);
        let first_input = base << self.shift;
        let own = (input - first_input) as u16;
        let before = std::mem::replace(&mut self.outputs[output].last, own);
        match before {
            END => self.outputs[output].first = own,
            before => self.inputs[first_input + usize::from(before)].behind = own,
        }
        let head = &mut self.inputs[input];
        (head.before, head.behind, head.state, head.since) = (before, END, HeadState::Waiting, self.wires.now);
        self.ports[out].waiting += 1;
    }

    /// Takes an input channel from the list where it waits.
    #[inline]
    pub fn unlist(&mut self, input: usize, base: usize) {
        let (out, output) = self.wanted(input, base);
        let first_input = base << self.shift;
        let (before, behind) = (self.inputs[input].before, self.inputs[input].behind);
        match before {
            END => self.outputs[output].first = behind,
            before => self.inputs[first_input + usize::from(before)].behind = behind,
        }
        match behind {
            END => self.outputs[output].last = before,
            behind => self.inputs[first_input + usize::from(behind)].before = before,
        }
        self.ports[out].waiting -= 1;
    }

    /// Returns, of those that wait for an output and can go, the one that has waited longest.
    fn oldest(&self, out: usize, base: usize) -> Option<usize> {
        let firsts = self.channels_of(out).filter_map(|output| self.able(output, base).next());
        firsts.max_by_key(|&input| self.wires.now - self.inputs[input].since)
    }

    /// Returns, of those that wait for an output and can go, the first after the input port served last.
    fn next_in_turn(&self, out: usize, base: usize) -> Option<usize> {
        let able = self.channels_of(out).flat_map(|output| self.able(output, base));
        able.min_by_key(|&input| self.turns(input, out, base))
    }

    /// Returns, of those that wait for an output and can go, the one whose input port was served the longest ago.
    fn least_recently_served(&self, out: usize, base: usize) -> Option<usize> {
        let able = self.channels_of(out).flat_map(|output| self.able(output, base));
        able.max_by_key(|&input| self.wires.now - self.served_at(input, out, base))
    }

    /// How many turns the port of an input is from being next at an output.
    fn turns(&self, input: usize, out: usize, base: usize) -> u32 {
        let port = (input >> self.shift) - base;
        Arbiter::turns(port as u32, u32::from(self.ports[out].served), self.radix as u32)
    }

    /// When an output last served the port of an input.
    fn served_at(&self, input: usize, out: usize, base: usize) -> u32 {
        self.served[out * self.radix + (input >> self.shift) - base]
    }

    /// Returns, of inputs that ask for an output, the one that is served first by the stated parameters.
    fn preferred(
        &self,
        params: &SwitchParams,
        out: usize,
        base: usize,
        asking: impl Iterator<Item = usize>,
    ) -> Option<usize> {
        asking.min_by_key(|&input| {
            let port = input >> self.shift;
            let since = || self.inputs[input].since;
            let order =
                params.arbiter.order(since, || self.turns(input, out, base), || self.served_at(input, out, base));
            (params.transit_first && self.is_to_host(port), order, input)
        })
    }

    /// Input that an output takes next: of those that can go, the one from another switch that has waited longest,
    /// else the one from a host. Lists are in the order of age: behind one that can go, only those of its age may
    /// come before.
    fn oldest_transit_first(&self, out: usize, base: usize) -> Option<usize> {
        let mut oldest = [None; 2];
        for output in self.channels_of(out) {
            for input in self.waiting(output, base) {
                let age = (self.inputs[input].since, input);
                if oldest[0].is_some_and(|(since, _)| since < age.0) {
                    break;
                }
                let port = &self.ports[input >> self.shift];
                let rank = usize::from(port.class == LinkClass::Host);
                if port.input_free <= self.wires.now && oldest[rank].is_none_or(|first| age < first) {
                    oldest[rank] = Some(age);
                }
            }
        }
        let [transit, host] = oldest;
        transit.or(host).map(|(_, input)| input)
    }

    /// Returns, of those that wait for an output and can go, the one to serve.
    #[inline]
    pub fn next_input(&self, params: &SwitchParams, out: usize, base: usize) -> Option<usize> {
        match params.arbiter {
            Arbiter::Age if params.transit_first => self.oldest_transit_first(out, base),
            _ if params.transit_first => {
                self.preferred(params, out, base, self.channels_of(out).flat_map(|output| self.able(output, base)))
            }
            Arbiter::Age => self.oldest(out, base),
            Arbiter::RoundRobin => self.next_in_turn(out, base),
            Arbiter::LeastRecentlyServed => self.least_recently_served(out, base),
        }
    }

    /// Matches free inputs and outputs of a switch in rounds: every input asks for the output of one of its channels,
    /// every output grants one of those that ask.
    pub fn allocate<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, base: usize) {
        let ports = base..base + self.radix;
        for _ in 0..constants.params.allocation_rounds.unwrap_or(0) {
            let mut asking = std::mem::take(&mut self.asking);
            asking.clear();
            asking.extend(ports.clone().filter_map(|port| self.request(constants, port, base)));
            asking.sort_unstable();
            for of_output in asking.chunk_by(|first, other| first.0 == other.0) {
                let out = of_output[0].0 as usize;
                let inputs = of_output.iter().map(|&(_, input)| input as usize);
                let input = self.preferred(constants.params, out, base, inputs).expect("somebody asks");
                self.unlist(input, base);
                self.grant(constants, input, base);
            }
            let is_done = asking.is_empty();
            self.asking = asking;
            if is_done {
                return;
            }
        }
        // What no round has matched asks again a nanosecond later.
        for out in ports {
            if self.ports[out].waiting > 0 && self.is_open(constants, out) {
                self.wake_output_at(out, self.wires.now + 1);
            }
        }
    }

    /// The output, and the input channel, of the first channel in turn of an idle input that can go.
    fn request<R>(&self, constants: &RunConstants<'_, R>, port: usize, base: usize) -> Option<(u32, u32)> {
        if self.ports[port].input_free > self.wires.now {
            return None;
        }
        let turn = usize::from(self.ports[port].turn);
        let channels = (turn..self.channels).chain(0..turn).map(|channel| (port << self.shift) + channel);
        let mut waiting = channels.filter(|&input| self.inputs[input].state == HeadState::Waiting);
        waiting.find_map(|input| {
            let (out, output) = self.wanted(input, base);
            let can_go = self.outputs[output].credits > 0 && self.is_open(constants, out);
            can_go.then_some((out as u32, input as u32))
        })
    }

    #[inline]
    fn channels_of(&self, out: usize) -> std::ops::Range<usize> {
        let first = out << self.shift;
        first..first + self.channels
    }

    /// Those in the list of an output channel, when the channel has credit.
    #[inline]
    fn waiting(&self, output: usize, base: usize) -> impl Iterator<Item = usize> {
        let channel = self.outputs[output];
        let first_input = base << self.shift;
        let at = move |next: u16| (next != END).then(|| first_input + usize::from(next));
        let first = at(channel.first).filter(|_| channel.credits > 0);
        std::iter::successors(first, move |&input| at(self.inputs[input].behind))
    }

    /// Those of them whose input is idle.
    #[inline]
    fn able(&self, output: usize, base: usize) -> impl Iterator<Item = usize> {
        self.waiting(output, base).filter(|&input| self.ports[input >> self.shift].input_free <= self.wires.now)
    }

    /// Sends the first packet of an input channel through the crossbar to the output it wants, which takes it.
    pub fn grant<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, input: usize, base: usize) {
        let (out, output) = self.wanted(input, base);
        let id = self.dequeue(input);
        let port = input >> self.shift;
        let length = self.crossing(constants, port, id);
        self.ports[port].input_free = self.wires.now + length;
        if self.ports[port].held > 0 {
            self.wake_input(port);
        }
        self.ports[out].crossbar_free = self.wires.now + length;
        self.ports[out].served = (port - base) as u8;
        if let Some(served) = self.served.get_mut(out * self.radix + port - base) {
            *served = self.wires.now;
        }
        // No other routing has rules that a notification deactivates.
        if constants.routing.tables().is_some() && constants.notifications.is_some() {
            self.sample(constants, output, id);
        }
        self.wires.tally.hops += 1;
        self.wires.tally.last_hop = self.wires.now;
        if constants.has_pauses {
            self.enqueue(constants, port, output, id);
        } else {
            self.settle(constants, input, output, id);
        }
        if self.ports[out].waiting > 0 {
            self.wake_output(constants, out);
        }
        self.sense(constants, output);
    }

    /// Nothing can come between a packet with a credit and its link: its whole path to the next switch is known.
    fn settle<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, input: usize, output: usize, id: u32) {
        let (port, out) = (input >> self.shift, output >> self.shift);
        let leaves = self.leave(constants, port, out, id);
        if !self.is_to_host(port) {
            let from = &self.ports[port];
            let channel = input - (port << self.shift);
            let upstream = (from.peer << self.shift) + channel as u32;
            self.wires.return_credit(leaves + u32::from(from.delay), from.peer_shard, upstream);
        }
        if self.is_to_host(out) {
            self.deliver(constants, id, out, leaves);
        } else {
            self.outputs[output].credits -= 1;
            self.depart(output, leaves, id);
        }
    }

    #[inline]
    fn dequeue(&mut self, input: usize) -> u32 {
        let queue = &mut self.inputs[input];
        let id = queue.first;
        queue.state = HeadState::Undecided;
        queue.first = self.wires.slab.get(id).next;
        if queue.first == NONE {
            queue.last = NONE;
        }
        let port = input >> self.shift;
        let channel = input - (port << self.shift);
        let turn = if channel + 1 == self.channels { 0 } else { channel as u8 + 1 };
        self.ports[port].turn = turn;
        let waited = self.wires.now - self.wires.slab.get(id).entered;
        self.meter_departure(port, waited);
        self.ports[port].held -= 1;
        id
    }

    /// How long a packet takes through the crossbar from an input port: no shorter than its tail needs to arrive.
    fn crossing<R>(&mut self, constants: &RunConstants<'_, R>, port: usize, id: u32) -> u32 {
        let link = constants.link(self.ports[port].link);
        let age = self.wires.now - self.wires.slab.get(id).entered;
        link.crossing.max(link.packet.saturating_sub(age))
    }

    /// When a packet that is granted now is through the crossbar: its head, or its tail where it came by a slower link
    /// than it leaves by.
    pub fn through<R>(&mut self, constants: &RunConstants<'_, R>, port: usize, out: usize, id: u32) -> u32 {
        let [came, goes] = [port, out].map(|port| constants.link(self.ports[port].link).packet);
        let head = self.wires.now + constants.crossbar;
        if goes >= came { head } else { head.max(self.wires.slab.get(id).entered + came + constants.crossbar) }
    }

    /// Reserves the link of an output for a packet from an input port; returns when the packet's head leaves by it.
    fn leave<R>(&mut self, constants: &RunConstants<'_, R>, input: usize, out: usize, id: u32) -> u32 {
        let through = self.through(constants, input, out, id);
        let port = &mut self.ports[out];
        let leaves = port.link_free.max(through);
        port.occupy(leaves, constants.link(port.link).packet, &self.wires.span);
        leaves
    }

    /// Sends a packet to the far end of an output channel.
    #[inline]
    pub fn depart(&mut self, output: usize, leaves: u32, id: u32) {
        let out = output >> self.shift;
        let port = &self.ports[out];
        let packet = self.wires.slab.get(id);
        packet.route.hops += 1;
        packet.place = (port.peer << self.shift) + (output - (out << self.shift)) as u32;
        self.wires.send(leaves + u32::from(port.delay), port.peer_shard, id);
    }

    pub fn deliver<R>(&mut self, constants: &RunConstants<'_, R>, id: u32, out: usize, leaves: u32) {
        if self.ports[out].fails && self.is_down(constants, out, leaves) {
            self.wires.slab.remove(id);
            self.wires.tally.lose(self.wires.now);
            return;
        }
        let packet = self.wires.slab.remove(id);
        let RoutedPacket { dst, src, hops, is_misrouted, .. } = packet.route;
        let link = constants.link(self.ports[out].link);
        let at = leaves + link.packet + link.delay;
        let delivery = DeliveredPacket { at, host: dst, latency: at - packet.born, hops: hops + 1, is_misrouted };
        if dst & constants.watch_mask == 0 && self.wires.span.contains(&at) {
            self.arrivals_watched.push(WatchedArrival { dst, src, born: packet.born });
        }
        self.wires.tally.deliver(&delivery, &self.wires.span);
    }

    /// Whether the link of a port is down at an instant.
    fn is_down<R>(&self, constants: &RunConstants<'_, R>, port: usize, at: u32) -> bool {
        let switch = self.first_switch + u32::from(self.ports[port].home);
        constants.outages.touch(switch, port % self.radix, at..=at)
    }
}
