//! Transports as pure state machines: RoCE with its congestion control, Ultra Ethernet, and TCP.
//!
//! They own no clock and send nothing: hosts ask them what to do and do it.

/// Calls a macro with every congestion control of RoCE: its key in `transport.roce`, its parameters, its name among
/// the controls of connections, and the type that implements [`CongestionControl`] and [`SenderControl`]. Schema,
/// checks, errors, dispatch and the tests that transports share follow from this list.
///
/// [`CongestionControl`]: crate::roce::CongestionControl
/// [`SenderControl`]: crate::roce::SenderControl
macro_rules! roce_congestion_controls {
    ($define:ident) => {
        $define! {
            /// Congestion control by marks and a rate. Absent: off, as in the testbed.
            dcqcn: crate::params::Dcqcn => Dcqcn(crate::dcqcn::RateLimiter);
            /// Congestion control by marks and a window, in place of the others.
            dctcp: crate::mark_window::Dctcp => Dctcp(crate::mark_window::MarkWindow);
            /// Congestion control by what switches report of their links, in place of the others.
            hpcc: crate::hpcc::Hpcc => Hpcc(crate::hpcc::LinkWindow);
            /// Congestion control by a delay behind each packet, as InfiniBand has it, in place of the others.
            injection_delay: crate::injection_delay::InjectionDelay =>
                InjectionDelay(crate::injection_delay::DelayedInjection);
            /// Congestion control by delay, in place of the others.
            swift: crate::swift::Swift => Swift(crate::swift::DelayWindow);
            /// Congestion control by the slope of delays, and a rate, in place of the others.
            timely: crate::timely::Timely => Timely(crate::timely::SlopeRate);
            /// Congestion control of the caller, for exploration, in place of the others.
            prototype: crate::prototype::Prototype => Prototype(crate::prototype::PrototypeControl);
        }
    };
}

/// Calls a macro with every transport, by what carries it out: its module, its parameters, its name in a scenario; of a
/// transport of NICs one end of a connection, which implements [`ConnectionEnd`], and how a host keeps it. A transport
/// is a file, its module and its entry here: schema, checks, errors, dispatch and tests follow from the list.
#[macro_export]
macro_rules! transports {
    ($define:ident) => {
        $define! {
            nics {
                /// RDMA over Converged Ethernet, reliable connections, kernel bypass.
                roce: Roce($crate::params::RoceParams) = "roce", $crate::roce::RoceEnd as $crate::roce::RoceEnd;
                /// Ultra Ethernet's transport, kernel bypass.
                uet: Uet($crate::uet::UetParams) = "uet", $crate::uet::UetEnd as Option<Box<$crate::uet::UetEnd>>;
            }
            kernels {
                /// Kernel TCP.
                tcp: Tcp($crate::tcp::TcpParams) = "tcp";
            }
        }
    };
}

pub mod connection;
pub mod dcqcn;
pub mod entropy;
#[cfg(test)]
mod every_transport;
pub mod frame;
mod hpcc;
mod injection_delay;
mod mark_window;
mod outgoing;
pub mod packet;
pub mod params;
pub mod prototype;
mod rack;
mod ranges;
mod reassembly;
pub mod roce;
mod rtt;
mod short_queue;
mod state_word;
mod swift;
pub mod tcp;
pub mod telemetry;
mod timely;
mod transport;
pub mod uet;

pub use connection::{ConnectionEnd, ConnectionState};
pub use hpcc::Hpcc;
pub use injection_delay::InjectionDelay;
pub use mark_window::Dctcp;
pub use ranges::{ByteRange, Ranges};
pub use short_queue::ShortQueue;
pub use swift::Swift;
pub use timely::Timely;
pub use transport::{ConnectionWindow, FlowWindow, Headers, Overtaken, ResentCounts, Transport, TransportParams};

/// Bytes that an allocation takes beside its content, about.
pub const ALLOCATION: u64 = 16;

/// SACK blocks that fit beside timestamps in the 40 bytes of TCP options (RFC 2018, section 3).
pub const SACK_BLOCKS: usize = 3;

/// The SACK blocks of an acknowledgement: received out of order, most recent first; a leading block that lies below the
/// cumulative acknowledgement or in another block reports a duplicate (RFC 2883). Empty ranges fill up.
pub type SackBlocks = [ByteRange; SACK_BLOCKS];

/// Returns the bytes that arrived twice, if the blocks of an acknowledgement report that (RFC 2883, section 4).
fn duplicate(blocks: &SackBlocks, cumulative: u64) -> Option<ByteRange> {
    let [first, second, _] = *blocks;
    (!first.is_empty() && (first.end <= cumulative || first.is_within(second))).then_some(first)
}
