//! Frames: their exact size on the wire, and their octets for captures.
//!
//! The simulation itself needs only [`size`]. [`octets`] writes real frames that other programs decode, [`pcapng`]
//! puts them in a file.

mod checksum;
mod ethernet;
mod octets;
pub mod pause;
pub mod pcapng;
mod roce;
pub mod size;
mod tcp;
#[cfg(test)]
mod tests;

pub use octets::octets;
