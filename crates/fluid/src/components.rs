//! Connections that share links, directly or by others in turn. Rates of such a set depend on no other set, so that a
//! change has only the rates of its own solved anew.
//!
//! Sets are those of links that connections have joined since [`Components::clear`]: what ends leaves its links joined.

/// Mark of a link that no connection has joined, and of a set without connections.
const NONE: u32 = u32::MAX;

/// Sets of links, and the connections of each, by their places among the active.
pub(super) struct Components {
    /// Another link of the same set, by link; the root has itself.
    parents: Vec<u32>,
    /// First connection of a set, by its root.
    firsts: Vec<u32>,
    /// Links that have a parent.
    joined: Vec<u32>,
    /// Neighbours of a connection in the circle of its set: before it, behind it.
    circles: Vec<[u32; 2]>,
    /// A link of each set whose rates are out of date.
    changed: Vec<u32>,
}

impl Components {
    /// No connection yet on so many links.
    pub fn new(links: usize) -> Components {
        let [parents, firsts] = [vec![NONE; links], vec![NONE; links]];
        Components { parents, firsts, joined: Vec::new(), circles: Vec::new(), changed: Vec::new() }
    }

    /// Forgets all connections.
    pub fn clear(&mut self) {
        if 8 * self.joined.len() > self.parents.len() {
            self.parents.fill(NONE);
            self.firsts.fill(NONE);
            self.joined.clear();
        }
        for link in self.joined.drain(..) {
            (self.parents[link as usize], self.firsts[link as usize]) = (NONE, NONE);
        }
        self.circles.clear();
        self.changed.clear();
    }

    /// A connection begins behind all others, and joins its links.
    pub fn begin(&mut self, links: impl Iterator<Item = u32>) {
        let place = self.circles.len() as u32;
        self.circles.push([place; 2]);
        let mut set = NONE;
        for link in links {
            let root = self.root(link);
            if set == NONE {
                self.join(root, place);
                set = root;
            } else if root != set {
                self.parents[root as usize] = set;
                let first = std::mem::replace(&mut self.firsts[root as usize], NONE);
                if first != NONE {
                    self.join(set, first);
                }
            }
        }
    }

    /// The connection at a place ends, one of whose links is `link`; that at the last place, one of whose links is
    /// `link_of_last`, takes its place.
    pub fn end(&mut self, place: u32, link: u32, link_of_last: u32) {
        let [before, behind] = self.circles[place as usize];
        (self.circles[before as usize][1], self.circles[behind as usize][0]) = (behind, before);
        self.replace_first(link, place, if behind == place { NONE } else { behind });
        let last = self.circles.len() as u32 - 1;
        if place != last {
            let neighbours = self.circles[last as usize].map(|other| if other == last { place } else { other });
            let [before, behind] = neighbours;
            self.circles[place as usize] = neighbours;
            (self.circles[before as usize][1], self.circles[behind as usize][0]) = (place, place);
            self.replace_first(link_of_last, last, place);
        }
        self.circles.pop();
    }

    /// Rates of the connections that share a link are out of date.
    pub fn change(&mut self, link: u32) {
        self.changed.push(link);
    }

    /// Lists the places of connections whose rates are out of date, in order.
    pub fn take_changed(&mut self, places: &mut Vec<u32>) {
        let mut roots = std::mem::take(&mut self.changed);
        roots.iter_mut().for_each(|link| *link = self.root(*link));
        roots.sort_unstable();
        roots.dedup();
        for &root in &roots {
            let first = self.firsts[root as usize];
            let mut place = first;
            while place != NONE {
                places.push(place);
                place = Some(self.circles[place as usize][1]).filter(|&next| next != first).unwrap_or(NONE);
            }
        }
        // Of most connections the others do not matter.
        if 2 * places.len() > self.circles.len() {
            places.clear();
            places.extend(0..self.circles.len() as u32);
        }
        places.sort_unstable();
        roots.clear();
        self.changed = roots;
    }

    /// The root of a link's set, which is made if there is none.
    fn root(&mut self, mut link: u32) -> u32 {
        if self.parents[link as usize] == NONE {
            self.parents[link as usize] = link;
            self.joined.push(link);
        }
        while self.parents[link as usize] != link {
            let parent = self.parents[link as usize];
            self.parents[link as usize] = self.parents[parent as usize];
            link = self.parents[link as usize];
        }
        link
    }

    /// The circle of a connection becomes part of a set's.
    fn join(&mut self, root: u32, place: u32) {
        let first = std::mem::replace(&mut self.firsts[root as usize], place);
        if first != NONE {
            let [ends, begins] = [self.circles[first as usize][0], self.circles[place as usize][0]];
            (self.circles[ends as usize][1], self.circles[place as usize][0]) = (place, ends);
            (self.circles[begins as usize][1], self.circles[first as usize][0]) = (first, begins);
        }
    }

    fn replace_first(&mut self, link: u32, place: u32, other: u32) {
        let root = self.root(link);
        let first = &mut self.firsts[root as usize];
        if *first == place {
            *first = other;
        }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_kernel::indices::{EndpointIndex, PortIndex};
    use etherweave_primitives::{Duration, Time};
    use proptest::prelude::*;

    use super::*;
    use crate::{Branch, Fluid, FluidParams, LinkPlace, Links, PathSet, QueueLimits, Tables, Window};

    /// Twelve links of three capacities.
    fn fluid() -> Fluid {
        let capacities = (0..12_u8).map(|link| f64::from(1 + link % 3)).collect();
        let queue_limits = QueueLimits { egress: f64::INFINITY, ingress: f64::INFINITY };
        let (places, packet) = (vec![LinkPlace::Between; 12], Duration::from_ps(1));
        Fluid::new(FluidParams {
            capacities,
            places,
            packet,
            hosts: 1,
            branches: 1,
            classes: vec![(0, 1)],
            queue_limits,
            beside: None,
        })
    }

    /// A path over ports that begin at a place in the table of routes.
    fn path(ports: &[PortIndex], place: usize) -> Links {
        let branch = Branch { route: place as u32 + 1, count: ports.len() as u32 - 2, weight: 1.0 };
        let (first, last) = (ports[0], ports[ports.len() - 1]);
        Links { first, last, parts: [1.0; 2], paths: PathSet::One(branch), class: 0 }
    }

    /// Connections that share links with one of those on `link`, by adding neighbours until there are none.
    fn reached(connections: &[Vec<u32>], link: u32) -> Vec<u32> {
        let mut links = vec![link];
        loop {
            let shares = |connection: &&Vec<u32>| connection.iter().any(|link| links.contains(link));
            let mut more: Vec<u32> = connections.iter().filter(shares).flatten().copied().chain([link]).collect();
            more.sort_unstable();
            more.dedup();
            if more == links {
                return (0..connections.len() as u32)
                    .filter(|&place| connections[place as usize].iter().any(|link| links.contains(link)))
                    .collect();
            }
            links = more;
        }
    }

    proptest! {
        /// Connections begin and end in any order. A change concerns those that share links with it, or have shared
        /// them with connections that have ended; after a new beginning with those that are left, these alone.
        #[test]
        fn a_change_concerns_connections_that_share_links(
            steps in prop::collection::vec((any::<u16>(), prop::collection::btree_set(0..12_u32, 1..4)), 1..40),
        ) {
            let (mut components, mut connections) = (Components::new(12), Vec::<Vec<u32>>::new());
            for (choice, links) in steps {
                let place = usize::from(choice) % (2 * connections.len() + 1);
                if place < connections.len() {
                    let [link, of_last] = [place, connections.len() - 1].map(|place| connections[place][0]);
                    components.end(place as u32, link, of_last);
                    connections.swap_remove(place);
                } else {
                    connections.push(links.into_iter().collect());
                    components.begin(connections[connections.len() - 1].iter().copied());
                }
                let mut places = Vec::new();
                components.change(u32::from(choice % 12));
                components.take_changed(&mut places);
                prop_assert!(places.is_sorted_by(|a, b| a < b));
                prop_assert!(places.last().is_none_or(|&last| (last as usize) < connections.len()));
                prop_assert!(reached(&connections, u32::from(choice % 12)).iter().all(|place| places.contains(place)));
            }
            components.clear();
            connections.iter().for_each(|links| components.begin(links.iter().copied()));
            for link in 0..12 {
                let mut places = Vec::new();
                components.change(link);
                components.take_changed(&mut places);
                let expected = reached(&connections, link);
                let are_most = 2 * expected.len() > connections.len();
                prop_assert_eq!(places, if are_most { (0..connections.len() as u32).collect() } else { expected });
            }
        }

        /// Connections begin and end; rates are solved after each, of all or of those that share links with it.
        #[test]
        fn rates_of_connections_that_a_change_concerns_are_those_of_all_solved_anew(
            steps in prop::collection::vec((any::<u16>(), prop::collection::btree_set(0..12_u32, 2..5)), 20..90),
        ) {
            let routes: Vec<PortIndex> = steps.iter().flat_map(|step| &step.1).copied().map(PortIndex::new).collect();
            let tables = Tables { routes: &routes, branches: None };
            let (mut start, mut count, mut both) = (0, 0, [fluid(), fluid()]);
            both[1].components = None;
            for (number, (choice, links)) in (1..).zip(&steps) {
                let ended = u32::from(*choice) % (2 * count + 1);
                let path = path(&routes[start..start + links.len()], start);
                let now = Time::from_ps(u64::from(number) * 1_000_000_000_000);
                for fluid in &mut both {
                    if ended < count {
                        fluid.end(now, ended, tables);
                    } else {
                        fluid.begin(now, EndpointIndex::new(number), [path; 2], Window::OPEN, 1e9, tables);
                    }
                    if let Some(time) = fluid.solve_at {
                        fluid.solve(time, tables);
                    }
                }
                start += links.len();
                count = if ended < count { count - 1 } else { count + 1 };
                for place in 0..count {
                    let rates = [0, 1].map(|number: usize| both[number].rate(place));
                    prop_assert!((rates[0] - rates[1]).abs() < 1e-9 * rates[1], "{rates:?}");
                }
            }
        }
    }
}
