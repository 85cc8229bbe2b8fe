//! Recording of frames at captured ports.

use std::io::{Result, Write};

use etherweave_engine::{Wires, captured_port::CaptureFile};
use etherweave_primitives::ChannelId;
use etherweave_topology::Node;

use crate::{run::Simulation, shard::Shard};

impl Simulation {
    /// Whether the port of a host's channel is captured in this process.
    pub fn has_capture(&self, channel: ChannelId) -> bool {
        let is_own = |shard: &Shard| shard.wires.captures.iter().any(|port| shard.wires.channels[port.port] == channel);
        self.shards.iter().any(is_own)
    }

    /// Writes the frames at the captured port of a host's channel to a pcapng file while the run goes on, instead of
    /// keeping them: of each at most `snap` bytes.
    ///
    /// # Errors
    /// When the file cannot be written.
    ///
    /// # Panics
    /// When the port is not captured in this process.
    pub fn capture_to(&mut self, channel: ChannelId, out: Box<dyn Write + Send>, snap: Option<u32>) -> Result<()> {
        let topology = &self.names.topology;
        let from = topology.channel(channel).from;
        let Node::Host(host) = from.node else { panic!("a port of a host is captured") };
        let file = CaptureFile::begin(out, &topology.host_port_name(host, from.port.index()), snap)?;
        let mut ports = self.shards.iter_mut().flat_map(|shard| {
            let Wires { captures, channels, .. } = &mut shard.wires;
            captures.iter_mut().filter(|port| channels[port.port] == channel)
        });
        ports.next().expect("only captured ports have frames").file = Some(file);
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
