//! Ultra Ethernet's transport: packet delivery contexts as pure state machines (Ultra Ethernet Specification 1.0,
//! sections 3.5 and 3.6).
//!
//! ```text
//!  post ─► UetSender ── request (PSN, entropy value) ──► network ──► UetReceiver ─► messages in any order
//!              ▲                                                        │
//!              └─ ACK (cumulative, bitmap, received bytes, mark), NACK ◄┘
//! ```
//!
//! A context begins with its first packet: there is no handshake. The receiver acknowledges every 16 KiB, and at once
//! where a packet asks for it, is marked, is the first, or comes twice. What a switch has trimmed is answered by a
//! negative acknowledgement, and is sent again; what nobody answers, when its time is over.
//!
//! RUDI and UUD keep no contexts: the receiver answers each packet of the one, and none of the other.
//!
//! Guarantees: as those of [`crate::roce`], but for UUD, which repeats nothing. Left out: resources of receivers that
//! run out, close of contexts, security.

mod answers;
mod end;
mod frame;
mod header;
mod nscc;
mod pace;
mod params;
mod rccc;
mod receiver;
mod sender;

pub use end::UetEnd;
pub use nscc::{Nscc, NsccVariant};
pub use pace::GrantPace;
pub use params::{Delivery, FixedFrames, UetFrames, UetParams};
pub use rccc::Rccc;
