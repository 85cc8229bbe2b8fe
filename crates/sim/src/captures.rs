//! Recording of frames at captured ports.

use std::io::{Result, Write};

use etherweave_engine::captured_port::CaptureFile;
use etherweave_primitives::HostId;

use crate::run::Simulation;

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
