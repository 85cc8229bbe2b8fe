//! Path diversity: how many shortest paths lead from switch to switch, counted by the switches they pass; parallel
//! links are one path.

use super::graph::SwitchGraph;

/// Steps along links that a count may take: about a second.
const STEPS_MAX: usize = 1 << 28;
const UNREACHED: u32 = u32::MAX;

/// Shortest paths between different switches with hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct PathDiversity {
    /// The fewest between any two; 0 when all hosts are on one switch.
    pub least: u64,
    /// The mean over ordered pairs; 0 when all hosts are on one switch.
    pub mean: f64,
    /// The most between any two.
    pub most: u64,
    /// Switches from which paths were counted, evenly spread over those with hosts.
    pub sources: usize,
    /// Whether these were all, so that the figures are exact.
    pub is_exact: bool,
}

/// Counts from as many switches as time allows.
pub(crate) fn count(graph: &SwitchGraph) -> PathDiversity {
    let affordable = (STEPS_MAX / graph.adjacencies().max(1)).max(1);
    let stride = graph.access.len().div_ceil(affordable);
    let sources: Vec<u32> = graph.access.iter().copied().step_by(stride).collect();
    let (mut least, mut most, mut sum, mut pairs) = (u64::MAX, 0, 0.0, 0u64);
    let mut search = PathSearch { distances: Vec::new(), paths: Vec::new(), order: Vec::new() };
    for &source in &sources {
        search.run(graph, source);
        for &other in graph.access.iter().filter(|&&other| other != source) {
            let paths = search.paths[other as usize];
            (least, most, sum, pairs) = (least.min(paths), most.max(paths), sum + paths as f64, pairs + 1);
        }
    }
    let mean = if pairs == 0 { 0.0 } else { sum / pairs as f64 };
    PathDiversity {
        least: if pairs == 0 { 0 } else { least },
        mean,
        most,
        sources: sources.len(),
        is_exact: stride == 1,
    }
}

/// Memory that a search takes for each switch [B].
pub(crate) const SEARCH_BYTES: usize = 2 * size_of::<u32>() + size_of::<u64>();

struct PathSearch {
    distances: Vec<u32>,
    paths: Vec<u64>,
    order: Vec<u32>,
}

impl PathSearch {
    /// Finds distances and numbers of shortest paths from `source` to every switch.
    fn run(&mut self, graph: &SwitchGraph, source: u32) {
        self.distances.clear();
        self.distances.resize(graph.switches(), UNREACHED);
        self.paths.clear();
        self.paths.resize(graph.switches(), 0);
        self.order.clear();
        self.order.push(source);
        (self.distances[source as usize], self.paths[source as usize]) = (0, 1);
        let mut read = 0;
        while let Some(&at) = self.order.get(read) {
            read += 1;
            let onward = self.distances[at as usize] + 1;
            for &next in graph.neighbours(at as usize) {
                let distance = &mut self.distances[next as usize];
                if *distance == UNREACHED {
                    *distance = onward;
                    self.order.push(next);
                }
                if *distance == onward {
                    self.paths[next as usize] = self.paths[next as usize].saturating_add(self.paths[at as usize]);
                }
            }
        }
    }
}
