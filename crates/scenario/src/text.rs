//! Text of a file: its syntax, where a key stands, what it names instead of writing it out, and its mistakes with their
//! places.

pub(crate) mod conversions;
pub(crate) mod document;
pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod reader;
