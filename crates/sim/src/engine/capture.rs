//! Recording of frames at captured ports.

use std::io::{Result, Write};

use etherweave_primitives::{HostId, Time};

use super::Simulation;
use crate::capture::{Capture, Captured, CapturedFrame, SideContent};
use crate::captured_port::{CaptureFile, CapturedPort, connection};
use crate::engine::Wires;
use crate::frame::pause::PauseFrame;
use crate::indices::PortIndex;
use crate::packet::Handle;

impl Wires {
    #[cold]
    #[inline(never)]
    pub(crate) fn capture_packet(&mut self, port: PortIndex, handle: Handle, is_outgoing: bool) {
        let Some(capture) = self.capture_at(port) else { return };
        let packet = self.packets[handle];
        let path = self.packets.path(packet.side).copied().unwrap_or_default();
        let side = self.packets.side(packet.side).map(|blocks| Box::new(SideContent { blocks, path }));
        let CapturedPort { capture: Capture { host: own, .. }, peers, .. } = &self.captures[capture];
        let (own, other) = (*own, peers[&connection(packet.sender)]);
        let (source, destination) = if is_outgoing { (own, other) } else { (other, own) };
        let content = Captured::Packet(packet, side);
        let frame = CapturedFrame { time: self.now, is_outgoing, source, destination, queue: packet.sender, content };
        self.store_frame(capture, frame);
    }

    pub(crate) fn capture_pause(&mut self, port: PortIndex, time: Time, frame: PauseFrame, is_outgoing: bool) {
        let Some(capture) = self.capture_at(port) else { return };
        let (host, content) = (self.captures[capture].capture.host, Captured::Pause(frame));
        let frame = CapturedFrame { time, is_outgoing, source: host, destination: host, queue: 0, content };
        self.store_frame(capture, frame);
    }

    fn store_frame(&mut self, capture: usize, frame: CapturedFrame) {
        self.captures[capture].store(self.now, &self.constants.params, frame);
    }

    fn capture_at(&self, port: PortIndex) -> Option<usize> {
        self.captures.iter().position(|capture| capture.port == port)
    }
}

impl Simulation {
    /// Whether a host is captured in this process.
    pub fn has_capture(&self, host: HostId) -> bool {
        self.shards.iter().flat_map(|shard| &shard.wires.captures).any(|port| port.capture.host == host)
    }

    /// Writes the frames of a captured host to a pcapng file while the run goes on, instead of keeping them: of each at
    /// most `snap_length` bytes.
    ///
    /// # Errors
    /// When the file cannot be written.
    ///
    /// # Panics
    /// When the host is not captured in this process.
    pub fn capture_to(&mut self, host: HostId, out: Box<dyn Write + Send>, snap_length: Option<u32>) -> Result<()> {
        let file = CaptureFile::begin(out, self.names.topology.host_name(host), snap_length)?;
        let mut ports = self.shards.iter_mut().flat_map(|shard| &mut shard.wires.captures);
        let port = ports.find(|port| port.capture.host == host).expect("only captured hosts have frames");
        port.file = Some(file);
        Ok(())
    }

    /// Ends the files of [`Simulation::capture_to`].
    ///
    /// # Errors
    /// When one of them could not be written.
    pub fn end_captures(&mut self) -> Result<()> {
        self.shards.iter_mut().try_for_each(|shard| {
            let params = &shard.wires.constants.params;
            shard.wires.captures.iter_mut().try_for_each(|port| port.end(params))
        })
    }
}
