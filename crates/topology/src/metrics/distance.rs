//! Distances between all hosts, by breadth-first searches side by side: Then et al., "The more the merrier: efficient
//! multi-source graph traversal", VLDB 2014, section 3. A bit per source; one pass over the links serves 256 sources.

use super::graph::SwitchGraph;

/// Words of 64 sources that are searched together.
const WORDS: usize = 4;
const SOURCES: usize = 64 * WORDS;
type Bits = [u64; WORDS];

/// How far hosts are apart, in links between switches.
#[derive(Clone, PartialEq, Debug)]
pub struct Distances {
    /// The largest distance of two hosts.
    pub diameter: u32,
    /// The mean over all ordered pairs of different hosts; 0 for a single host.
    pub mean: f64,
    /// Ordered pairs of different hosts at distance 0, 1, …
    pub pairs: Vec<u64>,
}

impl Distances {
    /// Returns the distances of ordered pairs of different hosts at distance 0, 1, …
    pub(crate) fn of_pairs(pairs: Vec<u64>) -> Distances {
        let total: u64 = pairs.iter().sum();
        let weighted: f64 = (0u32..).zip(&pairs).map(|(distance, &count)| f64::from(distance) * count as f64).sum();
        let mean = if total == 0 { 0.0 } else { weighted / total as f64 };
        Distances { diameter: pairs.len() as u32 - 1, mean, pairs }
    }
}

/// Measures all pairs of hosts. `on_switch` is called before each search with how many of how many switches with hosts
/// are done, and returns whether to continue; none when it does not.
pub(crate) fn measure(graph: &SwitchGraph, on_switch: &mut dyn FnMut(usize, usize) -> bool) -> Option<Distances> {
    let own = graph.hosts.iter().map(|&hosts| u64::from(hosts) * (u64::from(hosts).saturating_sub(1))).sum();
    let mut pairs: Vec<u64> = vec![own];
    let mut search = DistanceSearch::new(graph.switches());
    for (number, sources) in graph.access.chunks(SOURCES).enumerate() {
        if !on_switch(number * SOURCES, graph.access.len()) {
            return None;
        }
        search.run(graph, sources, &mut pairs);
    }
    Some(Distances::of_pairs(pairs))
}

/// Memory that a search takes for each switch [B].
pub(crate) const SEARCH_BYTES: usize = 3 * size_of::<Bits>();

/// Searches from up to 256 sources; the vectors serve one batch after the other.
struct DistanceSearch {
    seen: Vec<Bits>,
    front: Vec<Bits>,
    next: Vec<Bits>,
}

impl DistanceSearch {
    fn new(switches: usize) -> DistanceSearch {
        let none = vec![[0; WORDS]; switches];
        DistanceSearch { seen: none.clone(), front: none.clone(), next: none }
    }

    fn run(&mut self, graph: &SwitchGraph, sources: &[u32], pairs: &mut Vec<u64>) {
        let all = self.begin(sources);
        let weights = Weights::of(graph, sources);
        for distance in 1.. {
            if !self.step(graph, all) {
                break;
            }
            let front = self.front.iter().zip(&graph.hosts).filter(|&(_, &hosts)| hosts > 0);
            let met: u64 = front.map(|(bits, &hosts)| weights.sum(bits) * u64::from(hosts)).sum();
            if met > 0 {
                pairs.resize(pairs.len().max(distance + 1), 0);
                pairs[distance] += met;
            }
        }
    }

    /// Every source at its own switch; gives the bits of all of them.
    fn begin(&mut self, sources: &[u32]) -> Bits {
        self.seen.fill([0; WORDS]);
        self.front.fill([0; WORDS]);
        let mut all = [0; WORDS];
        for (number, &source) in sources.iter().enumerate() {
            let bit = 1 << (number % 64);
            self.seen[source as usize][number / 64] |= bit;
            self.front[source as usize][number / 64] |= bit;
            all[number / 64] |= bit;
        }
        all
    }

    /// One link farther; whether any source has met a switch.
    fn step(&mut self, graph: &SwitchGraph, all: Bits) -> bool {
        let mut is_moving = false;
        for (switch, seen) in self.seen.iter_mut().enumerate() {
            let mut met = [0; WORDS];
            if *seen != all {
                for &neighbour in graph.neighbours(switch) {
                    let front = &self.front[neighbour as usize];
                    (0..WORDS).for_each(|word| met[word] |= front[word]);
                }
                (0..WORDS).for_each(|word| met[word] &= !seen[word]);
                (0..WORDS).for_each(|word| seen[word] |= met[word]);
                is_moving |= met != [0; WORDS];
            }
            self.next[switch] = met;
        }
        std::mem::swap(&mut self.front, &mut self.next);
        is_moving
    }
}

/// Hosts of the sources.
struct Weights {
    hosts: Vec<u64>,
    /// Per word, the hosts of each of its sources when they are equal.
    equal: [Option<u64>; WORDS],
}

impl Weights {
    fn of(graph: &SwitchGraph, sources: &[u32]) -> Weights {
        let hosts: Vec<u64> = sources.iter().map(|&source| u64::from(graph.hosts[source as usize])).collect();
        let mut equal = [None; WORDS];
        for (word, hosts) in equal.iter_mut().zip(hosts.chunks(64)) {
            *word = hosts.iter().all(|count| *count == hosts[0]).then_some(hosts[0]);
        }
        Weights { hosts, equal }
    }

    /// Hosts behind the set bits.
    fn sum(&self, bits: &Bits) -> u64 {
        let of_word = |(word, &bits): (usize, &u64)| match self.equal[word] {
            Some(hosts) => u64::from(bits.count_ones()) * hosts,
            None => (0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| self.hosts[64 * word + bit]).sum(),
        };
        bits.iter().enumerate().map(of_word).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TopologyKind;

    #[test]
    fn formulas_give_what_searches_find() {
        let examples = TopologyKind::examples();
        let known: Vec<_> = examples.iter().filter_map(|kind| Some((kind, kind.distances()?))).collect();
        assert!(known.len() >= 7, "{} examples have a formula", known.len());
        for (kind, formula) in known {
            let graph = SwitchGraph::of(&kind.generate().unwrap());
            assert_eq!(measure(&graph, &mut |_, _| true).unwrap(), formula, "{kind:?}");
        }
    }

    #[test]
    fn a_search_ends_where_it_is_stopped() {
        let torus = TopologyKind::Torus(crate::Torus::default());
        let graph = SwitchGraph::of(&torus.generate().unwrap());
        assert_eq!(measure(&graph, &mut |_, _| false), None);
    }
}
