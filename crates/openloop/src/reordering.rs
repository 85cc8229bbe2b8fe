//! Reordering of packets within a flow: at some hosts, so that a run of any size stores few of them.

/// Hosts at which packets are watched, at the most.
const WATCHED_MAX: u32 = 256;

/// Packets of watched flows in the measured time (RFC 4737, sections 4.2 and 4.3, by instants of their making).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Reordering {
    pub(crate) packets: u64,
    /// Packets that arrived after a younger one of their flow.
    pub(crate) late: u64,
    /// The most packets of the flow between a late packet and the first younger one before it.
    pub(crate) extent: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct WatchedArrival {
    pub dst: u32,
    pub src: u32,
    /// When it was made [ticks].
    pub born: u32,
}

/// Hosts with none of these bits in their number are watched.
pub(crate) fn mask(hosts: u32) -> u32 {
    hosts.div_ceil(WATCHED_MAX).next_power_of_two() - 1
}

impl Reordering {
    /// Counts packets in the order of arrival.
    pub(crate) fn of(arrivals_watched: &[WatchedArrival]) -> Reordering {
        let mut flows = arrivals_watched.to_vec();
        // A stable sort keeps the order within a flow.
        flows.sort_by_key(|packet| (packet.dst, packet.src));
        let by_flow = flows.chunk_by(|a, b| (a.dst, a.src) == (b.dst, b.src));
        by_flow.map(of_flow).fold(Reordering::default(), Reordering::plus)
    }

    pub(crate) fn plus(self, other: Reordering) -> Reordering {
        Reordering {
            packets: self.packets + other.packets,
            late: self.late + other.late,
            extent: self.extent.max(other.extent),
        }
    }

    /// Share of packets that arrived after a younger one of their flow; absent when none were watched.
    pub fn share(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.late as f64 / self.packets as f64)
    }

    /// The most packets of a flow between a late packet and the first younger one before it, 0 when all kept their
    /// order: what a receiver must be able to hold.
    pub fn extent(&self) -> u32 {
        self.extent
    }
}

fn of_flow(flow: &[WatchedArrival]) -> Reordering {
    let mut reordering = Reordering { packets: flow.len() as u64, ..Reordering::default() };
    // The youngest so far at each place: it only grows, so that the first younger one is found by bisection.
    let mut youngest: Vec<u32> = Vec::with_capacity(flow.len());
    for (place, packet) in flow.iter().enumerate() {
        let first_younger = youngest.partition_point(|&born| born <= packet.born);
        if first_younger < place {
            reordering.late += 1;
            reordering.extent = reordering.extent.max((place - first_younger) as u32);
        }
        youngest.push(youngest.last().map_or(packet.born, |&born| born.max(packet.born)));
    }
    reordering
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_behind_two_younger_ones_is_late_by_two() {
        let packet = |src, born| WatchedArrival { dst: 9, src, born };
        // Of flow 1: 10, 30, 40, 20, 50; of flow 2, in between, all in order.
        let arrivals_watched =
            [(1, 10), (2, 5), (1, 30), (1, 40), (2, 45), (1, 20), (1, 50)].map(|(src, born)| packet(src, born));
        assert_eq!(Reordering::of(&arrivals_watched), Reordering { packets: 7, late: 1, extent: 2 });
        assert_eq!((Reordering::default().share(), Reordering::default().extent()), (None, 0));
    }

    #[test]
    fn at_most_256_hosts_are_watched() {
        for hosts in [2, 256, 257, 1_056, 300_024, 1 << 20] {
            let watched = (0..hosts).filter(|host| host & mask(hosts) == 0).count();
            assert!((watched as u32) <= 256 && watched as u32 * 4 >= hosts.min(256), "{watched} of {hosts}");
        }
    }
}
