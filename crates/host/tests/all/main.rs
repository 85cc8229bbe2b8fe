//! The tests of the crate as one program, which is compiled and linked once.

mod alone;
mod any_order;

use etherweave_engine::{Wires, params::Fidelity, port::PeerLink};
use etherweave_host::{Endpoint, Intake, MessageNumbers, Protocol};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, PortIndex, ThreadIndex};
use etherweave_primitives::{BitRate, Duration, Time};
use etherweave_transport::ShortQueue;

const RATE: BitRate = BitRate::from_gbps(100);
/// Delay from the last bit sent to service at the far end.
const DELAY: Duration = Duration::from_ns(300);

/// The end at a host, 0 or 1, of a connection to the other one, which is behind `link`.
fn endpoint(wires: &Wires, host: HostIndex, thread: ThreadIndex, link: PeerLink) -> Endpoint {
    let (number, other) = (host.get(), 1 - host.get());
    Endpoint {
        host,
        thread,
        remote: EndpointIndex::new(other),
        route: number,
        first_egress: PortIndex::new(number),
        behind: EndpointIndex::NONE,
        number,
        priority: 0,
        is_in_ring: false,
        behind_first: 0,
        owner_waits_for: u64::MAX,
        intake: Intake::default(),
        protocol: Protocol::new(&wires.constants.params, 0, Fidelity::Packet, RATE),
        resent_last: Time::ZERO,
        incoming: ShortQueue::default(),
        remote_link: link,
        remote_port: PortIndex::new(other),
        hosts: (number, other),
        warm_up_intake: 0,
        numbers: MessageNumbers::default(),
    }
}
