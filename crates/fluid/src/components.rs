//! Connections that share links, directly or by others in turn. Rates of such a set depend on no other set, so that a
//! change has only the rates of its own solved anew.
//!
//! The links of a connection that ends stay joined until [`Components::split`]. Until then a set may hold connections
//! that share no link.

/// Mark of a link that no connection has joined, and of a set without connections.
const NONE: u32 = u32::MAX;

/// Sets of links, and the connections of each, by their places among the active.
pub(super) struct Components {
    /// Another link of the same set, by link; the root has itself.
    parents: Vec<u32>,
    /// First connection of a set, by its root.
    firsts: Vec<u32>,
    /// Links on which connections have begun or ended since sets were split, each once, and whether a link is one of
    /// these.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
    /// Neighbours of a connection in the circle of its set: before it, behind it.
    circles: Vec<[u32; 2]>,
    /// A link of each set whose rates are out of date.
    changed: Vec<u32>,
}

impl Components {
    /// No connection yet on so many links.
    pub fn new(links: usize) -> Components {
        let [parents, firsts] = [vec![NONE; links], vec![NONE; links]];
        let (touched, is_touched) = (Vec::new(), vec![false; links]);
        Components { parents, firsts, touched, is_touched, circles: Vec::new(), changed: Vec::new() }
    }

    /// Splits sets in which connections have begun or ended since the last time into those that share links, and lists
    /// the places of their connections in order. Other sets are what they were. `forget` is called with links that
    /// belonged to the sets.
    pub fn split<L: Iterator<Item = u32>>(
        &mut self,
        places: &mut Vec<u32>,
        links_of: impl Fn(u32) -> L,
        mut forget: impl FnMut(u32),
    ) {
        let mut touched = std::mem::take(&mut self.touched);
        self.changed.clone_from(&touched);
        self.list_changed(places);
        for link in touched.drain(..) {
            self.is_touched[link as usize] = false;
            self.forget(link, &mut forget);
        }
        places.iter().flat_map(|&place| links_of(place)).for_each(|link| self.forget(link, &mut forget));
        for &place in &*places {
            self.circles[place as usize] = [place; 2];
            self.join_links(place, links_of(place));
        }
        self.touched = touched;
    }

    /// Takes a link out of its set.
    fn forget(&mut self, link: u32, others: &mut impl FnMut(u32)) {
        (self.parents[link as usize], self.firsts[link as usize]) = (NONE, NONE);
        others(link);
    }

    /// A connection begins behind all others, and joins its links, each of which is [touched](Components::touch).
    pub fn begin(&mut self, links: impl Iterator<Item = u32>) {
        let place = self.circles.len() as u32;
        self.circles.push([place; 2]);
        self.join_links(place, links);
    }

    /// A connection on a link begins or ends.
    pub fn touch(&mut self, link: u32) {
        if !std::mem::replace(&mut self.is_touched[link as usize], true) {
            self.touched.push(link);
        }
    }

    /// The connection at a place, alone in its circle, joins its links.
    fn join_links(&mut self, place: u32, links: impl Iterator<Item = u32>) {
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

    /// The connection at a place ends, one of whose touched links is `link`; that at the last place, one of whose links
    /// is `link_of_last`, takes its place.
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
        self.list_changed(places);
        // Of most connections the others do not matter.
        if 2 * places.len() > self.circles.len() {
            places.clear();
            places.extend(0..self.circles.len() as u32);
        }
    }

    /// Lists the places of connections that share links with those that changed, in order.
    fn list_changed(&mut self, places: &mut Vec<u32>) {
        let mut roots = std::mem::take(&mut self.changed);
        roots.iter_mut().for_each(|link| *link = self.root(*link));
        roots.sort_unstable();
        roots.dedup();
        for root in roots.drain(..) {
            let first = self.firsts[root as usize];
            let mut place = first;
            while place != NONE {
                places.push(place);
                place = Some(self.circles[place as usize][1]).filter(|&next| next != first).unwrap_or(NONE);
            }
        }
        places.sort_unstable();
        self.changed = roots;
    }

    /// The root of a link's set, which is made if there is none.
    fn root(&mut self, mut link: u32) -> u32 {
        if self.parents[link as usize] == NONE {
            self.parents[link as usize] = link;
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
    use crate::{Branch, Fluid, FluidParams, LinkPlace, Links, PathSet, QueueLimits, StandingLimits, Tables, Window};

    /// Twelve links of three capacities.
    fn fluid() -> Fluid {
        let capacities = (0..12_u8).map(|link| f64::from(1 + link % 3)).collect();
        let queue_limits = QueueLimits { egress: 3e8, ingress: 2e8 };
        let (places, packet) = (vec![LinkPlace::Between; 12], Duration::from_ps(1));
        Fluid::new(FluidParams {
            capacities,
            places,
            packet,
            hosts: 1,
            branches: 1,
            classes: vec![(0, 1)],
            queue_limits,
            standing_limits: StandingLimits { all: 3e8, of_connection: 2e8 },
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
                    connections[place].iter().for_each(|&link| components.touch(link));
                    components.end(place as u32, link, of_last);
                    connections.swap_remove(place);
                } else {
                    links.iter().for_each(|&link| components.touch(link));
                    components.begin(links.iter().copied());
                    connections.push(links.into_iter().collect());
                }
                let mut places = Vec::new();
                components.change(u32::from(choice % 12));
                components.take_changed(&mut places);
                prop_assert!(places.is_sorted_by(|a, b| a < b));
                prop_assert!(places.last().is_none_or(|&last| (last as usize) < connections.len()));
                prop_assert!(reached(&connections, u32::from(choice % 12)).iter().all(|place| places.contains(place)));
            }
            components.split(&mut Vec::new(), |place| connections[place as usize].iter().copied(), |_| ());
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
                    prop_assert_eq!(rates[0], rates[1]);
                }
                let counts = [0, 1].map(|number: usize| {
                    let counted = &both[number].left_out;
                    [counted.held_back(), counted.limited(), counted.overflowing(), counted.delayed()]
                });
                prop_assert_eq!(counts[0], counts[1]);
            }
        }
    }
}
