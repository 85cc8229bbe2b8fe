//! Execution traces of Chakra, in and out: the graph of each rank of a training job, in a file of its own.
//!
//! What is read and what is not: `docs/models/workload.md`. Traces are read twice: first who performs which collectives
//! together, then each rank's graph, so that the nodes of one rank at a time are in memory besides the graphs.

mod collectives;
mod file;
mod graph;
mod groups;
mod message;
mod node;
mod stream_order;
mod writer;

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc};

use etherweave_primitives::{BitRate, Duration, InputError, InputErrors, params};

use crate::{
    Graph, GraphOp, Op, TraceFile, Traffic, TrafficSize, check_graphs, collective::Library, collective::Rule,
    generator::Generator, limits::at_least, limits::positive, size::of_graphs, size::spread, tag_names::TagNames,
};
use collectives::Collectives;
use graph::RankGraph;
use node::{Activity, RankTrace};

const RANKS_MAX: usize = 1 << 20;
/// Most operations of all ranks, with the messages of collectives.
const OPERATIONS_MAX: usize = 100_000_000;

mod attribute {
    pub const IS_CPU: &str = "is_cpu_op";
    pub const THREAD: &str = "tid";
    pub const STREAM: &str = "stream";
    pub const DEVICE: &str = "device";
    pub const OPERATIONS: &str = "num_ops";
    pub const COLLECTIVE: &str = "comm_type";
    pub const SIZE: &str = "comm_size";
    pub const SOURCE: &str = "comm_src";
    pub const DESTINATION: &str = "comm_dst";
    pub const TAG: &str = "comm_tag";
    pub const GROUP: &str = "pg_name";
    pub const DIMENSIONS: &str = "involved_dim";
    /// The time that is rounded to `duration_micros`; of no writer but this one.
    pub const DURATION: &str = "duration_ps";
}

/// Answer to a trace in which nothing waits for what streams of an accelerator perform, as converters of PyTorch's
/// profiles write it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingDependencies {
    /// An error with their number.
    #[default]
    Refuse,
    /// A stream performs its nodes in the order of their starts, and a node waits for what had ended on other streams
    /// of its device when it began.
    Rebuild,
    /// None: such nodes begin when what launches them is complete.
    Ignore,
}

params! {
    /// Execution traces of Chakra (`chakra`).
    pub struct Chakra {
        /// Files beside the scenario, one of each rank: `{rank}` in the name stands for its number. A folder stands for
        /// its files `NAME.{rank}.et`. The resolved scenario keeps the path.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub file: Option<String> = None,
        /// SHA-256 that all files one after another must have, in hexadecimal. Absent: any.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sha256: Option<String> = None,
        /// Members of each process group by its name, besides those that traces define; `groups_file = "NAME"` reads
        /// them from beside the scenario.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub groups: BTreeMap<String, Vec<u32>> = BTreeMap::new(),
        /// Whether nodes wait for those in `ctrl_deps` too, not only for those in `data_deps`.
        pub control_dependencies: bool = true,
        /// Answer to nodes of an accelerator's streams for which nothing waits.
        pub missing_dependencies: MissingDependencies = MissingDependencies::Refuse,
        /// Factor of the times of computations, 0 or more.
        pub compute_scale: f64 = 1.0,
        /// Time of an accelerator for 10^12 operations, for computations that have `num_ops` and no duration; absent:
        /// such a computation is an error.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub per_teraflop: Option<Duration> = None,
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::Nccl,
        /// Rate of a rank's network, by which `library = "nccl"` chooses; absent: 100 Gb/s.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub network_rate: Option<BitRate> = None,
        /// Number of times that all of it is performed, each an iteration, 1 or more.
        pub iterations: u32 = 1,
        /// The files, open.
        #[serde(skip)]
        // Two ranks that compute and add up a vector.
        pub content: Vec<TraceFile> = (0..2).map(|_| TraceFile::new(writer::example(), String::new())).collect(),
    }
}

struct Rules {
    ranks: u32,
    control_dependencies: bool,
    compute_scale: f64,
    per_teraflop: Option<Duration>,
}

impl Generator for Chakra {
    fn ranks(&self) -> u64 {
        self.content.len() as u64
    }

    fn traffic(&self, _: u64) -> Result<Traffic, InputErrors> {
        Ok(Traffic::Graphs { ranks: self.graphs()?, iterations: self.iterations })
    }

    fn size(&self) -> Result<TrafficSize, InputErrors> {
        let graphs = self.graphs_of(spread(self.ranks()).map(|rank| rank as usize))?;
        of_graphs([Ok(graphs)].into_iter(), self.ranks(), self.iterations)
    }

    /// Names of nodes that send, or of collectives. What cannot be read again has none.
    fn purposes(&self, tags: &BTreeSet<u32>) -> BTreeMap<u32, String> {
        self.names(tags).unwrap_or_default()
    }
}

impl Chakra {
    /// The graph of every rank.
    ///
    /// # Errors
    /// When a trace is damaged, or ranks do not fit together; with the file and the node, or the ranks.
    pub fn graphs(&self) -> Result<Vec<Arc<Graph>>, InputError> {
        let graphs = self.graphs_of(0..self.content.len())?;
        check_graphs(&graphs).map_err(|error| InputError { key: "file".to_owned(), ..error })?;
        Ok(graphs)
    }

    fn graphs_of(&self, ranks: impl Iterator<Item = usize>) -> Result<Vec<Arc<Graph>>, InputError> {
        self.check()?;
        let (mut collectives, rule) = (self.collectives()?, self.rule());
        let mut left = OPERATIONS_MAX;
        let (mut graphs, mut shared) = (Vec::new(), BTreeSet::new());
        for rank in ranks {
            let graph = self.read(rank).and_then(|trace| {
                let order = stream_order::order(&trace, self.missing_dependencies)?;
                RankGraph::new(&trace, rank as u32).build(&order, &mut collectives, &rule, left)
            });
            let mut graph = graph.map_err(|error| self.error(rank, error))?;
            left -= graph.len();
            graph.share(&mut shared);
            graphs.push(Arc::new(graph));
        }
        Ok(graphs)
    }

    fn read(&self, rank: usize) -> Result<RankTrace, InputError> {
        let rules = Rules {
            ranks: self.content.len() as u32,
            control_dependencies: self.control_dependencies,
            compute_scale: self.compute_scale,
            per_teraflop: self.per_teraflop,
        };
        RankTrace::read(&self.content[rank], rank as u32, &rules)
    }

    /// The collectives of all ranks, which all of their members perform.
    fn collectives(&self) -> Result<Collectives, InputError> {
        let mut collectives = Collectives::default();
        for rank in 0..self.content.len() {
            let trace = self.read(rank);
            let added = trace.and_then(|trace| collectives.add(&trace, &self.groups, self.content.len() as u32));
            added.map_err(|error| self.error(rank, error))?;
        }
        collectives.check()?;
        Ok(collectives)
    }

    fn rule(&self) -> Rule {
        Rule { network_rate: self.network_rate, ..Rule::of(self.library) }
    }

    /// Names of messages by tag, from all traces.
    fn names(&self, tags: &BTreeSet<u32>) -> Result<BTreeMap<u32, String>, InputError> {
        let (mut collectives, rule, mut names) = (self.collectives()?, self.rule(), TagNames::new(tags));
        for rank in 0..self.content.len() {
            for node in &self.read(rank)?.nodes {
                match &node.does {
                    Activity::Operation(GraphOp::Send { tag, .. }) => names.add(*tag, &node.name),
                    Activity::Operation(_) => {}
                    Activity::Collective(collective) => {
                        let ops = collectives.lower(rank as u32, node, collective, &rule)?;
                        ops.iter().filter_map(Op::tag).for_each(|tag| names.add_call(tag, &node.name));
                    }
                }
            }
        }
        Ok(names.finish())
    }

    fn check(&self) -> Result<(), InputError> {
        at_least("iterations", self.iterations, 1)?;
        self.network_rate.map_or(Ok(()), |rate| positive("network_rate", rate))?;
        let scale = self.compute_scale;
        InputError::unless(scale.is_finite() && scale >= 0.0, "compute_scale", scale, "a number of 0 or more")?;
        let ranks = self.content.len();
        InputError::unless((1..=RANKS_MAX).contains(&ranks), "file", format_args!("{ranks} traces"), "1 or more")?;
        self.groups.iter().try_for_each(|(name, members)| groups::check(name, members, ranks as u32))
    }

    fn error(&self, rank: usize, error: InputError) -> InputError {
        let name = self.file.as_ref().map_or_else(|| format!("rank {rank}"), |file| trace_name(file, rank));
        InputError { found: format!("{name}: {}", error.found), key: "file".to_owned(), ..error }
    }

    /// Process groups in the form of ASTRA-sim: an object with a list of ranks for each name.
    ///
    /// # Errors
    /// When the text is none.
    pub fn groups_of(json: &str) -> Result<BTreeMap<String, Vec<u32>>, InputError> {
        groups::read_json(json)
    }

    /// The traces of all ranks of a job: repetitions of programs one after another, without marks of iterations; of
    /// graphs one.
    ///
    /// # Errors
    /// When they have more operations than files should, or receive from any rank or with any tag; for streams.
    pub fn write(traffic: &Traffic) -> Result<Vec<Vec<u8>>, InputError> {
        writer::traces(traffic)
    }
}

/// The name of a rank's file.
pub fn trace_name(pattern: &str, rank: usize) -> String {
    pattern.replace("{rank}", &rank.to_string())
}

#[cfg(test)]
mod tests;
