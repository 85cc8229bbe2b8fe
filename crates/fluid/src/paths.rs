//! The links that a connection uses: one path, a path that is split at every switch, or several paths of which each
//! takes what it can.

use super::latest::PathLatency;
use etherweave_kernel::indices::PortIndex;

/// A part of a connection, between the links of both hosts: a path, or all links of one that is split.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Its first link in the table of routes.
    pub route: u32,
    /// How many there are.
    pub count: u32,
    /// Share of the connection that it takes while no link limits it.
    pub weight: f32,
}

/// Branches of a connection, in the table of branches.
#[derive(Clone, Copy, Debug)]
pub struct BranchRange {
    /// The first of them.
    pub first: u32,
    /// How many are used first: their weights add up to 1.
    pub preferred: u16,
    /// How many there are.
    pub count: u16,
    /// Its first entry in the table of latencies.
    pub latency: u32,
    /// How many entries it has there: none if all paths have the same.
    pub latencies: u16,
}

/// Paths between the hosts of a connection.
#[derive(Clone, Copy, Debug)]
pub enum PathSet {
    /// One path.
    One(Branch),
    /// Several branches.
    Several(BranchRange),
}

/// Kind of the ends of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkPlace {
    /// A host sends into it.
    FromHost,
    /// Two switches.
    Between,
    /// A switch sends into it, to a host.
    ToHost,
}

/// The links of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Links {
    /// The port of the host that sends.
    pub first: PortIndex,
    /// The port to the other host.
    pub last: PortIndex,
    /// Share of the connection that uses these two: less than all where packets take several ports of hosts, others of
    /// which are among the links between.
    pub parts: [f32; 2],
    /// Paths between.
    pub paths: PathSet,
    /// The traffic class; of an active connection, the solver's number of it.
    pub class: u8,
}

/// Paths of connections whose packets take several.
#[derive(Clone, Debug, Default)]
pub struct Branches {
    /// Ranges by the number of an end of a connection.
    pub of_ends: Vec<BranchRange>,
    /// One range after the other.
    pub branches: Vec<Branch>,
    /// Share of the link that its branch uses, of each entry of the table of routes. Empty where all is used.
    pub shares: Vec<f32>,
    /// Latencies of paths: of each connection the least first.
    pub latencies: Vec<PathLatency>,
    /// The most branches of a connection.
    pub most: usize,
}

/// Tables of a run.
#[derive(Clone, Copy)]
pub struct Tables<'a> {
    /// Links, path after path.
    pub routes: &'a [PortIndex],
    /// Where packets take several paths.
    pub branches: Option<&'a Branches>,
}

/// A flow of the solver: a branch with the links of both hosts.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    pub first: PortIndex,
    pub last: PortIndex,
    pub parts: [f32; 2],
    pub branch: Branch,
    /// The solver's number of its traffic class.
    pub class: u8,
}

impl Links {
    /// All its branches, and how many of them are used first.
    pub fn all_branches<'a>(&'a self, tables: Tables<'a>) -> (&'a [Branch], usize) {
        match &self.paths {
            PathSet::One(branch) => (std::slice::from_ref(branch), 1),
            PathSet::Several(range) => {
                let table = tables.branches.expect("a run with several branches has a table of them");
                let first = range.first as usize;
                (&table.branches[first..first + usize::from(range.count)], usize::from(range.preferred))
            }
        }
    }

    /// Branches that are used first, and those that take what these cannot.
    pub fn branches<'a>(&'a self, tables: Tables<'a>) -> (&'a [Branch], &'a [Branch]) {
        let (all, preferred) = self.all_branches(tables);
        all.split_at(preferred)
    }

    /// Latencies of its paths on an idle fabric, if they differ.
    pub fn latencies<'a>(&self, tables: Tables<'a>) -> &'a [PathLatency] {
        match (&self.paths, tables.branches) {
            (&PathSet::Several(BranchRange { latency, latencies, .. }), Some(branches)) => {
                &branches.latencies[latency as usize..latency as usize + usize::from(latencies)]
            }
            (PathSet::One(_) | PathSet::Several(_), _) => &[],
        }
    }

    /// The solver's flow of a branch.
    pub fn flow(&self, branch: Branch) -> Flow {
        Flow { first: self.first, last: self.last, parts: self.parts, branch, class: self.class }
    }

    /// The links at both hosts, each with its share of the connection.
    pub fn at_hosts(&self) -> [(PortIndex, f64); 2] {
        [(self.first, f64::from(self.parts[0])), (self.last, f64::from(self.parts[1]))]
    }

    /// Share of the connection that uses the fullest of its links at hosts.
    pub fn part_max(&self) -> f64 {
        f64::from(self.parts[0].max(self.parts[1]))
    }

    /// All links of the branches that are used first, each with its share of the connection: those of both hosts once.
    pub fn shares<'a>(&'a self, tables: Tables<'a>) -> impl Iterator<Item = (PortIndex, f64)> + 'a {
        let between = self.branches(tables).0.iter().flat_map(move |branch| branch.links(tables));
        let [first, last] = self.at_hosts();
        std::iter::once(first).chain(between).chain(std::iter::once(last))
    }
}

impl Branch {
    /// Whether only a part of it uses some of its links.
    pub fn is_split(self, tables: Tables<'_>) -> bool {
        self.links(tables).any(|(_, share)| share < f64::from(self.weight))
    }

    /// Its links between switches, each with its share of the connection.
    pub fn links(self, tables: Tables<'_>) -> impl Iterator<Item = (PortIndex, f64)> + '_ {
        let shares = tables.branches.map_or(&[][..], |branches| &branches.shares);
        let (start, weight) = (self.route as usize, f64::from(self.weight));
        let share = move |place: usize| weight * shares.get(place).map_or(1.0, |&share| f64::from(share));
        (start..start + self.count as usize).map(move |place| (tables.routes[place], share(place)))
    }
}

impl Flow {
    /// Its links as the solver counts them: each class of each link is one.
    pub fn links_of_class(self, tables: Tables<'_>, classes: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.links(tables).map(move |(link, share)| (link * classes + u32::from(self.class), share))
    }

    /// Whether a link, as the solver counts it, is one of its links.
    pub fn uses(self, link: u32, tables: Tables<'_>, classes: u32) -> bool {
        self.links_of_class(tables, classes).any(|(own, _)| own == link)
    }

    /// Its links, each with its share of the connection.
    pub fn links(self, tables: Tables<'_>) -> impl Iterator<Item = (u32, f64)> + '_ {
        let between = self.branch.links(tables).map(|(port, share)| (port.get(), share));
        let [first, last] = self.parts.map(|part| f64::from(self.branch.weight * part));
        std::iter::once((self.first.get(), first)).chain(between).chain(std::iter::once((self.last.get(), last)))
    }
}
