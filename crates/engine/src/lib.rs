//! Transmission over links: time, events and their queue, packets, frames, ports as transmitters, pauses, credits,
//! links that are impaired, and parameters of a run.
//!
//! Switches and hosts own what lies behind their ports, and change [`Wires`] that they are lent.
//!
//! # Events per packet-hop
//! One when the output is idle: the arrival, scheduled by the sender's transmission start. A second, the freeing of
//! the transmitter, only while packets wait. Cache lines touched: the event, the packet (one line), the route entry,
//! the egress port; when it must wait, also the ingress counter of the switch.

pub mod aggregation;
pub mod capture;
pub mod captured_port;
pub mod constants;
mod credit_flow;
pub mod credits;
pub mod decided_ahead;
pub mod degraded;
mod egress;
pub mod event;
pub mod fec;
pub mod fingerprint;
pub mod frame;
mod impaired;
pub mod impaired_link;
pub mod link_retry;
pub mod losses;
pub mod outbox;
pub mod packet;
pub mod packet_list;
pub mod params;
mod pause;
pub mod paused;
pub mod port;
pub mod queue;
mod recording;
pub mod schedule;
pub mod shaper;
pub mod sleep;
pub mod stepped;
mod telemetry;
pub mod totals;
pub mod trace;
mod tracing;
mod wires;

pub use outbox::LoadReport;
pub use totals::EventTotals;
pub use wires::Wires;
