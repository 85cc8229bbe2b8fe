//! Slim Fly: Besta and Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014, section II-B, on
//! the graphs of McKay, Miller and Širáň (1998) in the form of Hafner, "Geometric realisation of the graphs of
//! McKay-Miller-Širáň", J. Combin. Theory B 2004.
//!
//! Switches are `(half, row, place)` with half 0 or 1, row and place in the field of `q = 4w + δ` elements, δ in −1,
//! 0, 1:
//!
//! - `(0, x, y)` joins `(0, x, y')` when `y - y'` is in `X`;
//! - `(1, m, c)` joins `(1, m, c')` when `c - c'` is in `X'`;
//! - `(0, x, y)` joins `(1, m, c)` when `y = m·x + c`.

use etherweave_primitives::{BitRate, InputError, InputErrors, SwitchId, params};

use crate::check::{at_least_one, links, product};
use crate::galois::{GaloisField, prime_power};
use crate::{AsBuilt, Builder, Cable, Family, FamilyFit, LinkClass, Shape, SizeRequest, Topology};

/// Larger ones exceed the links of a topology.
const Q_MAX: u32 = 128;

params! {
    /// A network of diameter 2 near the Moore bound: `2q²` switches of `(3q - δ)/2` links. Rows are the groups; links
    /// within them are local.
    pub struct SlimFly {
        /// Order of the field, a power of a prime, 3..=128, not 2 modulo 4. Default 5.
        pub q: u32 = 5,
        /// Hosts on every switch, at least 1. Absent: half as many as links between switches, rounded up (Besta and
        /// Hoefler, section II-B2).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hosts_per_switch: Option<u32> = None,
        /// Rate of every link [bit/s]. Default "100Gb/s".
        pub rate: BitRate = BitRate::from_gbps(100),
        /// Cable between host and switch. Default "3m".
        pub host_cable: Cable = Cable::from_m(3),
        /// Cable within a row. Default "5m".
        pub local_cable: Cable = Cable::from_m(5),
        /// Cable between rows. Default "20m".
        pub global_cable: Cable = Cable::from_m(20),
        /// Departures from the regular plan.
        #[serde(skip_serializing_if = "AsBuilt::is_default")]
        pub as_built: AsBuilt = AsBuilt::default(),
    }
}

impl Family for SlimFly {
    fn generate(&self) -> Result<Topology, InputErrors> {
        let (q, hosts_per_switch) = self.check()?;
        let field = GaloisField::new(q).expect("the order is checked");
        let mut builder = Builder::with_axes(["half", "row", "place"]);
        for (half, row) in (0..2).flat_map(|half| (0..q).map(move |row| (half, row))) {
            for place in 0..q {
                builder.add_switch_at(format!("switch{half}.{row}.{place}"), 0, &[half, row, place]);
            }
        }
        for host in builder.add_hosts(2 * q * q * hosts_per_switch) {
            let switch = SwitchId::new(host.get() / hosts_per_switch);
            builder.link(host, switch, self.rate, self.host_cable, LinkClass::Host);
        }
        self.join_rows(&mut builder, &field);
        self.join_halves(&mut builder, &field);
        Ok(builder.build_as(&self.as_built)?)
    }

    fn examples() -> Vec<Self> {
        [3, 4, 5].map(|q| SlimFly { q, hosts_per_switch: Some(1), ..SlimFly::default() }).to_vec()
    }

    fn as_built(&self) -> &AsBuilt {
        &self.as_built
    }

    fn shape(&self) -> Shape {
        Shape::Graph { is_listed: false }
    }

    fn hosts_planned(&self) -> u64 {
        product([2, self.q, self.q, self.hosts_per_switch.unwrap_or_else(|| hosts_for(self.q))])
    }

    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, InputError> {
        // q = 3 has 5 links between switches and 3 hosts.
        request.check(8)?;
        let orders = (3..=Q_MAX).filter(|&q| is_order(q) && degree(q) + hosts_for(q) <= request.radix);
        let orders: Vec<u32> = orders.collect();
        let hosts = |q: u32| u64::from(2 * q * q * hosts_for(q));
        let largest = orders[orders.len() - 1];
        request.check_room(hosts(largest))?;
        let smallest = orders.into_iter().find(|&q| hosts(q) >= u64::from(request.hosts)).unwrap_or(largest);
        let slim_fly = |q| SlimFly { q, ..SlimFly::default() };
        Ok(FamilyFit { smallest: slim_fly(smallest), largest: Some(slim_fly(largest)) })
    }
}

impl SlimFly {
    /// `q` and the hosts of a switch, when both are in range.
    fn check(&self) -> Result<(u32, u32), InputErrors> {
        let mut errors = InputErrors::default();
        let has_field = (3..=Q_MAX).contains(&self.q) && is_order(self.q);
        let expected = format!("a power of a prime, 3 to {Q_MAX}: 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, …");
        errors.check(InputError::unless(has_field, "q", self.q, expected));
        errors.check(at_least_one("hosts_per_switch", self.hosts_per_switch.unwrap_or(1)));
        errors.into_result()?;
        let hosts_per_switch = self.hosts_per_switch.unwrap_or_else(|| hosts_for(self.q));
        let switches = product([2, self.q, self.q]);
        let to_hosts = switches.saturating_mul(u64::from(hosts_per_switch));
        links(to_hosts.saturating_add(switches * u64::from(degree(self.q)) / 2))?;
        Ok((self.q, hosts_per_switch))
    }

    fn join_rows(&self, builder: &mut Builder, field: &GaloisField) {
        let q = field.order();
        for (half, generators) in (0..).zip(generators(field)) {
            for (row, place) in (0..q).flat_map(|row| (0..q).map(move |place| (row, place))) {
                let switch = |place| SwitchId::new((half * q + row) * q + place);
                // The sets are symmetric, so that every pair is met from both ends.
                let joined = generators.iter().map(|&difference| field.add(place, difference));
                for other in joined.filter(|&other| other > place) {
                    builder.link(switch(place), switch(other), self.rate, self.local_cable, LinkClass::Local);
                }
            }
        }
    }

    fn join_halves(&self, builder: &mut Builder, field: &GaloisField) {
        let q = field.order();
        for (x, m) in (0..q).flat_map(|x| (0..q).map(move |m| (x, m))) {
            for c in 0..q {
                let y = field.add(field.multiply(m, x), c);
                let (left, right) = (SwitchId::new(x * q + y), SwitchId::new((q + m) * q + c));
                builder.link(left, right, self.rate, self.global_cable, LinkClass::Global);
            }
        }
    }
}

/// A field of this order gives a graph.
fn is_order(q: u32) -> bool {
    q % 4 != 2 && prime_power(q).is_some()
}

/// Links of a switch to others: `k' = (3q - δ)/2`, where `δ = 1` for `q = 4w + 1` and so on.
fn degree(q: u32) -> u32 {
    match q % 4 {
        1 => (3 * q - 1) / 2,
        3 => (3 * q).div_ceil(2),
        _ => 3 * q / 2,
    }
}

fn hosts_for(q: u32) -> u32 {
    degree(q).div_ceil(2)
}

/// `X` and `X'` as powers of the generator (Hafner, section 2).
fn generators(field: &GaloisField) -> [Vec<u32>; 2] {
    let q = field.order();
    let powers = |exponents: &mut dyn Iterator<Item = u32>| exponents.map(|exponent| field.power(exponent)).collect();
    let w = q.div_ceil(4);
    match q % 4 {
        1 => [powers(&mut (0..q - 2).step_by(2)), powers(&mut (1..q - 1).step_by(2))],
        3 => {
            let low = (0..2 * w - 1).step_by(2);
            let high = (2 * w - 1..4 * w - 2).step_by(2);
            let shifted = low.clone().map(|exponent| exponent + 1).chain(high.clone().map(|exponent| exponent + 1));
            [powers(&mut low.chain(high)), powers(&mut { shifted })]
        }
        _ => [powers(&mut (0..q - 1).step_by(2)), powers(&mut (1..q).step_by(2))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Besta and Hoefler, section II-B: `2q²` switches with `(3q - δ)/2` links each, no two farther than 2 apart.
    fn check(q: usize, delta: isize) {
        let fly = SlimFly { q: q as u32, hosts_per_switch: Some(1), ..SlimFly::default() };
        let topology = fly.generate().unwrap();
        let switches = 2 * q * q;
        assert_eq!(topology.switches(), switches);
        let neighbours: Vec<Vec<usize>> = (0..switches).map(|switch| neighbours(&topology, switch)).collect();
        for (switch, near) in neighbours.iter().enumerate() {
            assert_eq!(near.len() as isize, (3 * q as isize - delta) / 2, "q = {q}");
            let mut is_reached = vec![false; switches];
            is_reached[switch] = true;
            near.iter().for_each(|&neighbour| is_reached[neighbour] = true);
            near.iter().flat_map(|&neighbour| &neighbours[neighbour]).for_each(|&second| is_reached[second] = true);
            assert!(is_reached.into_iter().all(|reached| reached), "q = {q}: not all within 2 of {switch}");
        }
    }

    fn neighbours(topology: &Topology, switch: usize) -> Vec<usize> {
        let channels = topology.out_channels(SwitchId::from_index(switch)).iter().map(|&id| topology.channel(id));
        let ends = channels.filter_map(|channel| match channel.to.node {
            crate::Node::Switch(other) => Some(other.index()),
            crate::Node::Host(_) => None,
        });
        let mut ends: Vec<usize> = ends.collect();
        ends.sort_unstable();
        let count = ends.len();
        ends.dedup();
        assert_eq!(ends.len(), count, "no two switches are joined twice");
        ends
    }

    #[test]
    fn the_diameter_is_two_and_the_degree_that_of_the_paper() {
        for (q, delta) in
            [(3, -1), (4, 0), (5, 1), (7, -1), (8, 0), (9, 1), (11, -1), (13, 1), (16, 0), (25, 1), (27, -1)]
        {
            check(q, delta);
        }
    }

    #[test]
    fn the_paper_s_example_has_10830_hosts() {
        // Besta and Hoefler, section V: q = 19, 722 switches of radix 44 with 15 hosts.
        let fit = SlimFly::fit(&SizeRequest { hosts: 10_000, radix: 44 }).unwrap();
        let topology = fit.smallest.generate().unwrap();
        assert_eq!((topology.switches(), topology.hosts()), (722, 722 * 15));
        assert!((0..722).all(|switch| topology.ports_used(SwitchId::new(switch)) == 29 + 15));
    }
}
