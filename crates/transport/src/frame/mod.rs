//! Frames below transports: their size on the wire, and the octets of Ethernet and IPv4.

mod checksum;
pub mod ethernet;
pub mod size;

pub(crate) use checksum::internet;
