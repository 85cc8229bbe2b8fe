//! Tables of switches that learn addresses from frames, with and without an outer header: what address plans replace.
//!
//! | | switches with hosts keep | all switches keep | outer header |
//! |---|---|---|---|
//! | 802.1D | their hosts, and peers of these | hosts whose frames pass; the root of the tree: all | none |
//! | TRILL, FabricPath, SPB | their hosts, and peers of these | switches with hosts | of layer 2 |
//! | VXLAN | their hosts, and peers of these | a route to each switch with hosts | Ethernet, IPv4, UDP |
//!
//! A frame whose destination is in no table is flooded: it takes the links of all hosts. Left out: entries of groups,
//! first frames of conversations, ageing; `docs/models/addressing.md` says what follows.

use etherweave_topology::{LinkClass, Node, Topology};

use crate::{DesignSpec, tables::TableFit};

/// A standard by which switches learn addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bridging {
    /// IEEE 802.1D-2004, clauses 7.8 and 7.9: a spanning tree, whose switches all keep addresses of hosts.
    Learning,
    /// RFC 6325, TRILL. Section 4.8.1: access switches learn hosts; section 2.4.1: others keep switches.
    Trill,
    /// Cisco FabricPath, whose conversational learning keeps peers of local hosts alone.
    FabricPath,
    /// IEEE 802.1aq, shortest path bridging with addresses within addresses (SPBM).
    Spb,
    /// RFC 7348, VXLAN. Section 4.1: the first switch learns hosts with the switch that they are behind.
    Vxlan,
}

impl Bridging {
    /// Every member.
    pub const ALL: [Bridging; 5] =
        [Bridging::Learning, Bridging::Trill, Bridging::FabricPath, Bridging::Spb, Bridging::Vxlan];

    /// Extra bytes of a frame between switches, compared with a host's frame that has an 802.1Q tag [B].
    pub const fn header_bytes(self) -> u32 {
        match self {
            Bridging::Learning => 0,
            // RFC 6325, figure 7: outer addresses and EtherType, then 6 B of figure 5. The host's tag is the inner one;
            // a port between two switches may strip the outer one (section 4.2.4.1).
            Bridging::Trill => 14 + 6,
            // Outer addresses, and 32 bits of EtherType, forwarding tag and hop count.
            Bridging::FabricPath => 12 + 4,
            // IEEE 802.1Q-2018, clauses 9.6 and 9.7: backbone addresses, B-TAG, and the I-TAG up to the host's own
            // addresses, which it ends with.
            Bridging::Spb => 12 + 4 + 6,
            // RFC 7348, section 5: outer Ethernet, IPv4, UDP and VXLAN headers. The host's tag becomes the outer one
            // (section 6.1).
            Bridging::Vxlan => 14 + 20 + 8 + 8,
        }
    }

    /// Switches that identifiers in its header can name; none where it names them by MAC or IPv4 addresses.
    pub const fn switches_max(self) -> Option<u64> {
        match self {
            // Nicknames of 16 bits, without 0x0000 and 0xFFC0 to 0xFFFF: RFC 6325, section 3.7.
            Bridging::Trill => Some(0xFFBF),
            // Switch IDs of 12 bits in the outer addresses; 0 is none.
            Bridging::FabricPath => Some((1 << 12) - 1),
            Bridging::Learning | Bridging::Spb | Bridging::Vxlan => None,
        }
    }

    /// Whether switches between those with hosts keep addresses of hosts.
    const fn shows_hosts(self) -> bool {
        match self {
            Bridging::Learning => true,
            Bridging::Trill | Bridging::FabricPath | Bridging::Spb | Bridging::Vxlan => false,
        }
    }
}

/// Tables and costs of one standard.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct BridgingCount {
    /// The standard.
    pub bridging: Bridging,
    /// Hosts that a switch with hosts keeps: its own, and all that these exchange frames with.
    pub access: TableFit,
    /// Entries of a switch in the middle: switches with hosts, or all hosts in a spanning tree.
    pub core: TableFit,
    /// Bytes that a frame between switches has more.
    pub header_bytes: u32,
    /// Share of a link that is left for hosts' frames, as large as the design's mean packet.
    pub goodput_share: f64,
    /// Serialization time of the header on the slowest link between switches [ns].
    pub header_ns: f64,
    /// Share of frames whose destination has no room in a table, so that they are flooded.
    pub flooded_share: f64,
    /// Share of its link that each host can send until flooded frames fill the links to all hosts.
    pub load_max: f64,
    /// Links between switches that a spanning tree leaves unused.
    pub links_blocked: u64,
    /// Switches that its header can name; absent: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches_max: Option<u64>,
    /// Switches beyond these.
    pub switches_excess: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LearningFabric {
    hosts: u64,
    switches: u64,
    access: u64,
    /// The most hosts of a switch.
    hosts_per_switch: u64,
    /// Whether a switch has no host.
    has_core: bool,
    /// Links between switches beyond those of a spanning tree.
    links_spare: u64,
    /// Rate of the slowest link between switches [bit/s].
    rate_min: Option<u64>,
}

impl LearningFabric {
    fn of(topology: &Topology) -> LearningFabric {
        let homes = homes(topology);
        let between = || topology.channels().iter().filter(|channel| channel.class != LinkClass::Host);
        LearningFabric {
            hosts: topology.hosts() as u64,
            switches: topology.switches() as u64,
            access: homes.iter().filter(|&&hosts| hosts > 0).count() as u64,
            hosts_per_switch: homes.iter().copied().max().unwrap_or(0),
            has_core: homes.contains(&0),
            links_spare: (between().count() as u64 / 2 + 1).saturating_sub(topology.switches() as u64),
            rate_min: between().map(|channel| channel.rate.as_bps()).min(),
        }
    }

    /// Hosts elsewhere that hosts of one switch exchange frames with, at most.
    fn remote(&self, own: u64, peers: Option<u32>) -> u64 {
        let elsewhere = self.hosts - own;
        peers.map_or(elsewhere, |peers| elsewhere.min(own.saturating_mul(peers.into())))
    }
}

fn homes(topology: &Topology) -> Vec<u64> {
    let mut homes = vec![0; topology.switches()];
    for channel in topology.channels().iter().filter(|channel| channel.class == LinkClass::Host) {
        if let Node::Switch(switch) = channel.to.node {
            homes[switch.index()] += 1;
        }
    }
    homes
}

impl BridgingCount {
    pub(crate) fn all(topology: &Topology, spec: &DesignSpec) -> Vec<BridgingCount> {
        let fabric = LearningFabric::of(topology);
        Bridging::ALL.map(|bridging| BridgingCount::of(bridging, fabric, spec)).into()
    }

    fn of(bridging: Bridging, fabric: LearningFabric, spec: &DesignSpec) -> BridgingCount {
        let own = fabric.hosts_per_switch;
        let (remote, capacity) = (fabric.remote(own, spec.tables.peers), u64::from(spec.tables.capacity.exact_entries));
        let core = match bridging.shows_hosts() {
            true => fabric.hosts,
            false => fabric.access - u64::from(!fabric.has_core),
        };
        let without_room = |entries: u64, room: u64| entries.saturating_sub(room) as f64 / entries.max(1) as f64;
        let at_access = without_room(remote, capacity.saturating_sub(own));
        let at_core = if bridging.shows_hosts() { without_room(core, capacity) } else { 0.0 };
        let flooded_share = at_access.max(at_core);
        let (header, frame) = (bridging.header_bytes(), spec.packet().get() + PREAMBLE_AND_GAP);
        BridgingCount {
            bridging,
            access: TableFit::new(own + remote, capacity),
            core: TableFit::new(core, capacity),
            header_bytes: header,
            goodput_share: frame as f64 / (frame + u64::from(header)) as f64,
            header_ns: fabric.rate_min.map_or(0.0, |rate| f64::from(header * 8) * 1e9 / rate as f64),
            flooded_share,
            load_max: 1.0 / (1.0 + flooded_share * fabric.hosts.saturating_sub(2) as f64),
            links_blocked: if bridging.shows_hosts() { fabric.links_spare } else { 0 },
            switches_max: bridging.switches_max(),
            switches_excess: bridging.switches_max().map_or(0, |limit| fabric.switches.saturating_sub(limit)),
        }
    }
}

/// Preamble, start delimiter and gap between frames, IEEE 802.3 [B].
const PREAMBLE_AND_GAP: u64 = 20;

/// Entries of every switch where frames have an outer header: the hosts that it keeps, if it has any, and the other
/// switches with hosts.
pub(crate) fn encapsulated(topology: &Topology, spec: &DesignSpec) -> Vec<u64> {
    let fabric = LearningFabric::of(topology.by_port());
    let entries = |own: u64| match own {
        0 => fabric.access,
        own => own + fabric.remote(own, spec.tables.peers) + fabric.access - 1,
    };
    homes(topology).into_iter().map(entries).collect()
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dragonfly, Family, FatTree};

    use super::*;

    fn counts(topology: &Topology, peers: Option<u32>, room: u32) -> Vec<BridgingCount> {
        let mut spec = DesignSpec::default();
        (spec.tables.peers, spec.tables.capacity.exact_entries) = (peers, room);
        BridgingCount::all(topology, &spec)
    }

    fn dragonfly() -> Topology {
        Dragonfly { p: 2, a: 4, h: 2, ..Dragonfly::default() }.generate().unwrap()
    }

    #[test]
    fn access_tables_hold_own_hosts_and_their_peers_and_core_tables_the_other_switches() {
        // 72 hosts on 36 switches, two each: two and twice five peers.
        let of = |count: &BridgingCount| (count.access.entries, count.core.entries);
        let entries: Vec<_> = counts(&dragonfly(), Some(5), 65_536).iter().map(of).collect();
        assert_eq!(entries, [(12, 72), (12, 35), (12, 35), (12, 35), (12, 35)]);
        assert_eq!(of(&counts(&dragonfly(), None, 65_536)[1]), (72, 35), "without a number of peers: all");
        assert_eq!(of(&counts(&dragonfly(), Some(1_000), 65_536)[1]), (72, 35), "no more than there are");
        // Six leaves of six hosts, two cores: a core keeps all leaves.
        let tree = FatTree { leaves: 6, hosts_per_leaf: 6, cores: 2, ..FatTree::default() }.generate().unwrap();
        assert_eq!(of(&counts(&tree, Some(1), 65_536)[4]), (12, 6));
        let mut spec = DesignSpec::default();
        spec.tables.peers = Some(1);
        assert_eq!(encapsulated(&tree, &spec), [17, 17, 17, 17, 17, 17, 6, 6]);
    }

    #[test]
    fn what_has_no_room_is_flooded_to_all_hosts() {
        // Two own hosts and room for 35 of 70 others: of ten frames five go to all 72 hosts.
        let flooding = counts(&dragonfly(), None, 37);
        assert_eq!((flooding[1].flooded_share, flooding[1].access.excess), (0.5, 35));
        // At load x a host's link takes x/2 meant for it alone and 71 x/2 flooded: full at x = 1/36.
        assert!((flooding[1].load_max - 1.0 / 36.0).abs() < 1e-12, "{}", flooding[1].load_max);
        // The root of the tree has room for 37 of 72 alone.
        let learnt = counts(&dragonfly(), Some(1), 36);
        assert_eq!((learnt[0].flooded_share, learnt[1].flooded_share, learnt[1].load_max), (0.5, 0.0, 1.0));
        // Nine groups of six local links and 36 global ones; 35 links join 36 switches.
        assert_eq!((learnt[0].links_blocked, learnt[1].links_blocked), (9 * 6 + 36 - 35, 0));
    }

    #[test]
    fn headers_name_a_limited_number_of_switches() {
        let dragonfly = |a, h, groups| Dragonfly { p: 1, a, h, groups, ..Dragonfly::default() }.generate().unwrap();
        // 129 groups of 32 switches are 4,128: 33 more than 12 bits less one.
        let counted = counts(&dragonfly(32, 4, Some(129)), Some(1), 65_536);
        let limits: Vec<_> = counted.iter().map(|count| (count.switches_max, count.switches_excess)).collect();
        assert_eq!(limits, [(None, 0), (Some(65_471), 0), (Some(4_095), 33), (None, 0), (None, 0)]);
    }

    #[test]
    fn an_outer_header_takes_goodput_and_time() {
        let standards = counts(&dragonfly(), None, 65_536);
        assert_eq!(standards.iter().map(|count| count.header_bytes).collect::<Vec<_>>(), [0, 20, 16, 22, 50]);
        // 50 B at 100 Gb/s take 4 ns; 1,000 B with preamble and gap have 1,020 of 1,070 B.
        assert_eq!((standards[4].header_ns, standards[4].goodput_share), (4.0, 1_020.0 / 1_070.0));
        assert_eq!((standards[0].header_ns, standards[0].goodput_share), (0.0, 1.0));
    }
}
