//! Tests about the repository itself: what a reviewer should not have to look for.
//!
//! A rule is a function from a file, or from all files, to findings. Each is tested here on a line that is right
//! and one that is wrong; `tests/repository.rs` applies them all to what Git knows.
//!
//! The rules read text, not syntax: quick, short, and now and then blind. Left out is what rustfmt, Clippy, Ruff and
//! mypy check better.

pub mod budget;
pub mod circles;
pub mod manifest;
pub mod markdown;
pub mod members;
pub mod names;
pub mod owners;
pub mod paths;
pub mod python;
mod repository;
pub mod rooms;
pub mod rust;
pub mod rust_imports;
pub mod text;
pub mod words;

pub use repository::{File, Finding, Repository};
