//! Frames: their exact size on the wire.

pub mod size;
