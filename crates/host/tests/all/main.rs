//! The tests of the crate as one program, which is compiled and linked once.

mod alone;
mod any_order;

use etherweave_engine::{Wires, params::Fidelity, port::PeerLink};
use etherweave_host::{Endpoint, Intake, MessageNumbers, Nics};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, PortIndex, ThreadIndex};
use etherweave_primitives::{BitRate, Duration, Time};
use etherweave_transport::ShortQueue;

const RATE: BitRate = BitRate::from_gbps(100);
/// Delay from the last bit sent to service at the far end.
const DELAY: Duration = Duration::from_ns(300);

/// Adds the end at a host, 0 or 1, of a connection to the other one, which is behind `link`.
fn add_endpoint(nics: &mut Nics, wires: &Wires, host: HostIndex, thread: ThreadIndex, link: PeerLink) -> EndpointIndex {
    let (number, other) = (host.get(), 1 - host.get());
    let next = nics.endpoints.next_index();
    let protocol = nics.states.begin(next, &wires.constants.params, (0, Fidelity::Packet), RATE);
    nics.endpoints.push(Endpoint {
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
        protocol,
        resent_last: Time::ZERO,
        incoming: ShortQueue::default(),
        remote_link: link,
        remote_port: PortIndex::new(other),
        hosts: (number, other),
        warm_up_intake: 0,
        numbers: MessageNumbers::default(),
    })
}
