//! Random scenarios, and what must hold for every one of them.
//!
//! ```text
//!   seed ──► draw ──► text ──► settle ──► check ──► shrink ──► smallest file
//!            schema           refusals    three      keys that do
//!                             and size    runs       not matter
//! ```
//!
//! - [`Draw`] draws a scenario from the JSON Schema of scenarios: a new key or member of a family is drawn without a
//!   change here.
//! - [`settle`] removes what a refusal names, and makes the traffic smaller until a run takes milliseconds.
//! - [`check`] runs a scenario on one, two and three threads, and compares results and bounds.
//! - [`shrink`] removes and halves values for as long as a scenario fails likewise.
//!
//! The same seed gives the same case for the same schema. Left out: what reads files, which
//! `tests/support/hostile.py` damages.

mod bounds;
mod case;
mod check;
mod curve;
mod draw;
mod fabric;
mod failure;
mod launch;
mod outcome;
mod quantity;
mod settle;
mod shrink;
mod tree;

pub use case::{Case, Verdict, case, verdict_of};
pub use check::{End, Limits, check};
pub use draw::Draw;
pub use failure::Failure;
pub use settle::settle;
pub use shrink::shrink;
