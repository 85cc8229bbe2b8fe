//! The bus between NIC and host memory, as far as it delays received packets, and stops of reception.

use etherweave_engine::params::{CommandStall, NicParams, Pcie};
use etherweave_engine::{frame::size::PREAMBLE_AND_GAP, packet::Packet, packet::flags};
use etherweave_primitives::{BitRate, ByteTime, Bytes, Duration, Time};

use super::BufferDrain;

/// Time that packets of a run take of the bus.
#[derive(Clone, Debug)]
pub struct Bus {
    pcie: Pcie,
    byte: ByteTime,
}

impl Bus {
    pub fn new(pcie: &Pcie) -> Bus {
        Bus { pcie: pcie.clone(), byte: ByteTime::new(pcie.rate()) }
    }

    /// How long a received packet takes, of so many bytes on the wire. Whole frames go to the kernel, with a completion
    /// each; of a packet that the NIC works on by itself the payload.
    pub fn receive(&self, wire: u32, payload: u32, is_in_kernel: bool) -> Duration {
        let completion = if is_in_kernel { self.pcie.completion_bytes() } else { 0 };
        self.byte.of(self.pcie.write_bytes(in_memory(wire, payload, is_in_kernel)) + completion)
    }

    /// How long the requests take that read a packet which is sent.
    pub fn send(&self, wire: u32, payload: u32, is_in_kernel: bool) -> Duration {
        self.byte.of(self.pcie.read_bytes(in_memory(wire, payload, is_in_kernel)))
    }

    /// Time until a NIC has the first packet of a message of `bytes`: that of a read, where the message does not come
    /// with the doorbell, and that of the whole packet, if the NIC holds packets. None where both take no time.
    fn fetch(&self, bytes: u64, may_be_inline: bool, payload_max: Bytes) -> Option<Duration> {
        let first = bytes.min(payload_max.get()) as u32;
        let is_inline = may_be_inline && bytes <= self.pcie.inline_max.get();
        let read = if is_inline { Duration::ZERO } else { self.pcie.read_latency };
        let held =
            if self.pcie.store_and_forward { self.byte.of(self.pcie.write_bytes(first)) } else { Duration::ZERO };
        Some(read + held).filter(|_| self.pcie.store_and_forward || !read.is_zero())
    }

    /// The rate on the wire at which it takes packets of this size.
    pub fn wire_rate(&self, wire: u32, payload: u32, is_in_kernel: bool) -> BitRate {
        let bits_ps = u64::from(wire) * 8 * 1_000_000_000_000;
        BitRate::from_bps(bits_ps / self.receive(wire, payload, is_in_kernel).as_ps())
    }
}

fn in_memory(wire: u32, payload: u32, is_in_kernel: bool) -> u32 {
    if is_in_kernel { wire - PREAMBLE_AND_GAP } else { payload }
}

/// Interface between NIC and memory, beside its rate.
#[derive(Clone, Debug)]
pub struct HostInterface {
    bus: Option<Bus>,
    /// One byte, without a bus.
    byte: ByteTime,
    command_stall: Option<CommandStall>,
}

impl HostInterface {
    /// None if a rate is all.
    pub fn new(params: &NicParams, bus: Option<Bus>) -> Option<HostInterface> {
        let (byte, command_stall) = (ByteTime::new(params.drain_rate), params.command_stall.clone());
        (bus.is_some() || command_stall.is_some()).then_some(HostInterface { bus, byte, command_stall })
    }

    /// Returns the time from which on a received packet may drain, and how long that takes.
    pub fn receive(&self, now: Time, buffer: &mut BufferDrain, packet: &Packet) -> (Time, Duration) {
        let start = buffer.drains_from(now, self.command_stall.as_ref());
        let moved = match &self.bus {
            None => self.byte.of(packet.wire),
            Some(bus) => bus.receive(packet.wire, packet.payload, packet.has(flags::KERNEL)),
        };
        (start, moved)
    }

    /// Whether a received packet is handed on when it is in memory, not before.
    pub fn holds_packets(&self) -> bool {
        self.bus.as_ref().is_some_and(|bus| bus.pcie.store_and_forward)
    }

    /// Time until a received packet of so much payload is in memory, where a NIC holds packets until then.
    pub fn held(&self, payload: u32) -> Duration {
        self.bus.as_ref().filter(|_| self.holds_packets()).map_or(Duration::ZERO, |bus| bus.receive(0, payload, false))
    }

    /// See [`Bus::fetch`].
    pub fn fetch(&self, bytes: u64, may_be_inline: bool, payload_max: Bytes) -> Option<Duration> {
        self.bus.as_ref()?.fetch(bytes, may_be_inline, payload_max)
    }

    /// Lets the requests for a packet that is sent take their time from receiving.
    pub fn send(&self, now: Time, buffer: &mut BufferDrain, packet: &Packet) {
        if let Some(bus) = &self.bus {
            let start = buffer.drains_from(now, self.command_stall.as_ref());
            buffer.fill(buffer.after(start, bus.send(packet.wire, packet.payload, packet.has(flags::KERNEL))));
        }
    }
}
