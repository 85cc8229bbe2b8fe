//! The nodes of a rank, each as what it does.

use std::collections::BTreeMap;

use etherweave_primitives::{Duration, InputError, Rank};

use super::message::{Attribute, GlobalMetadata, Node, Value, kind};
use super::{Rules, attribute, file::Messages, groups};
use crate::tag_names::{NAME_MAX, name_of};
use crate::{GraphOp, TraceFile, limits::MESSAGE_MAX};

/// Most nodes of a rank, most that they wait for, and most members of its groups: what is kept of a trace while it is
/// read takes less than 1 GiB, even where lists have twice the room that they need.
const NODES_MAX: usize = 1 << 21;
const DEPENDENCIES_MAX: usize = 1 << 24;
const MEMBERS_MAX: usize = 1 << 24;
/// Memory of a group besides its members, in members.
const GROUP_MEMBERS: usize = 32;
const _: () = assert!(
    NODES_MAX * (2 * size_of::<TraceNode>() + NAME_MAX + 16) + 16 * DEPENDENCIES_MAX + 12 * MEMBERS_MAX < 1 << 30
);
/// Longest computation, two months.
const COMPUTE_MAX: Duration = Duration::from_us(5_000_000 * 1_000_000);
/// Part of the name of the node in which PyTorch notes its process groups.
const PROCESS_GROUPS: &str = "process_group:init";
/// The highest number of 32 bits means any tag.
const TAG_MAX: u32 = u32::MAX - 1;

/// Contents of a rank's trace that are read, nodes by their numbers.
pub(super) struct RankTrace {
    pub nodes: Vec<TraceNode>,
    /// Nodes that each node waits for, one after another; see [`TraceNode::end`].
    dependencies: Vec<u64>,
    /// Members of process groups that the trace itself names; none: all ranks.
    pub groups: BTreeMap<String, Vec<u32>>,
    /// How many they have been, and what the groups take besides.
    members: usize,
}

pub(super) struct TraceNode {
    pub id: u64,
    pub name: Box<str>,
    pub does: Activity,
    pub stream: StreamName,
    /// When the traced machine began it [us].
    pub start_micros: u64,
    /// How long it took there [us], at most 71 minutes.
    duration_micros: u32,
    /// Where what it waits for begins, those that only `ctrl_deps` names, and where all of it ends.
    dependencies: [u32; 3],
}

pub(super) enum Activity {
    Operation(GraphOp),
    Collective(CollectiveNode),
}

impl Activity {
    /// Whether it sends or receives.
    pub fn is_communication(&self) -> bool {
        !matches!(self, Activity::Operation(GraphOp::Compute { .. } | GraphOp::Copy { .. }))
    }
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct CollectiveNode {
    /// A number of `CollectiveCommType`.
    pub kind: u8,
    /// Data that each member puts in [B].
    pub bytes: u64,
    /// The process group; none for all ranks.
    pub group: Option<Box<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StreamName {
    Thread(i64),
    /// A stream of an accelerator that the trace numbers: of which device, and which.
    Accelerator {
        device: i32,
        stream: i64,
    },
    /// The accelerator, where the trace says no more.
    Computation,
    Communication,
}

impl StreamName {
    /// The device of a stream that the trace numbers.
    pub fn device(self) -> Option<i32> {
        if let StreamName::Accelerator { device, .. } = self { Some(device) } else { None }
    }
}

impl RankTrace {
    /// Reads a trace.
    ///
    /// # Errors
    /// When it is damaged, or a node cannot be performed; with the byte, or the node.
    pub fn read(file: &TraceFile, rank: u32, rules: &Rules) -> Result<RankTrace, InputError> {
        let mut messages = Messages::of(file)?;
        let Some(metadata) = messages.next::<GlobalMetadata>()? else {
            return Err(InputError::new("", "an empty file", "a trace"));
        };
        check_version(&metadata)?;
        let mut trace = RankTrace { nodes: Vec::new(), dependencies: Vec::new(), groups: BTreeMap::new(), members: 0 };
        while let Some(node) = messages.next::<Node>()? {
            trace.add(node, rank, rules)?;
        }
        trace.nodes.sort_by_key(|node| node.id);
        match trace.nodes.windows(2).find(|pair| pair[0].id == pair[1].id) {
            Some(pair) => Err(pair[1].error("a second node of this number", "a number for each node")),
            None => Ok(trace),
        }
    }

    fn add(&mut self, node: Node, rank: u32, rules: &Rules) -> Result<(), InputError> {
        let error = |error: InputError| node_error(node.id, &node.name, error.found, error.expected);
        if self.nodes.len() == NODES_MAX {
            return Err(error(InputError::new("", "one node more", format_args!("at most {NODES_MAX} of a rank"))));
        }
        let does = activity(&node, rank, rules).map_err(error)?;
        let stream = stream(&node, &does).map_err(error)?;
        let has_groups = node.kind == kind::METADATA && node.name.contains(PROCESS_GROUPS);
        if let Some(values) = node.inputs.as_ref().filter(|_| has_groups) {
            self.add_groups(&values.values, rules.ranks).map_err(error)?;
        }
        let begin = self.dependencies.len();
        self.dependencies.append(&mut sorted(node.data_dependencies));
        let control = self.dependencies.len();
        if rules.control_dependencies {
            let mut others = sorted(node.control_dependencies);
            others.retain(|id| self.dependencies[begin..].binary_search(id).is_err());
            self.dependencies.append(&mut others);
        }
        let end = self.dependencies.len();
        if end > DEPENDENCIES_MAX {
            let expected = format_args!("at most {DEPENDENCIES_MAX} of a rank");
            return Err(error(InputError::new("", "more dependencies", expected)));
        }
        let name = name_of(&node.name).into();
        self.nodes.push(TraceNode {
            id: node.id,
            name,
            does,
            stream,
            start_micros: node.start_micros,
            duration_micros: u32::try_from(node.duration_micros).unwrap_or(u32::MAX),
            dependencies: [begin, control, end].map(|place| place as u32),
        });
        Ok(())
    }

    fn add_groups(&mut self, values: &str, ranks: u32) -> Result<(), InputError> {
        for (name, ranks) in groups::read_torch(values, ranks)? {
            self.members += GROUP_MEMBERS + ranks.len();
            self.groups.insert(name, ranks);
        }
        let expected = format_args!("at most {MEMBERS_MAX} of a rank");
        InputError::unless(self.members <= MEMBERS_MAX, "", "more members of process groups", expected)
    }

    /// The places of the nodes that a node waits for.
    ///
    /// # Errors
    /// When there is none of such a number.
    pub fn dependencies(&self, node: &TraceNode) -> impl Iterator<Item = Result<usize, InputError>> {
        let [begin, control, end] = node.dependencies.map(|place| place as usize);
        (begin..end).map(move |place| {
            let id = self.dependencies[place];
            self.nodes.binary_search_by_key(&id, |other| other.id).map_err(|_| node.missing(id, place >= control))
        })
    }

    /// Returns its size in memory [B].
    #[cfg(test)]
    pub fn memory(&self) -> usize {
        let names: usize = self.nodes.iter().map(|node| node.name.len()).sum();
        self.nodes.len() * size_of::<TraceNode>() + self.dependencies.len() * size_of::<u64>() + names
    }
}

impl TraceNode {
    /// When it had ended in the traced machine [us].
    pub fn end_micros(&self) -> u64 {
        self.start_micros.saturating_add(self.duration_micros.into())
    }

    /// It waits for a node that is none.
    fn missing(&self, id: u64, is_control: bool) -> InputError {
        let missing = |list: &str, expected| {
            self.error(format_args!("waits for node {id} of {list}, which does not exist"), expected)
        };
        if !is_control {
            return missing("data_deps", "a node of the same trace");
        }
        missing("ctrl_deps", "a node of the same trace, or `control_dependencies = false`, without ctrl_deps")
    }

    /// Returns an error about the node.
    pub fn error(&self, mistake: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
        node_error(self.id, &self.name, mistake, expected)
    }
}

/// Rejects a version of another schema. Converters of PyTorch's traces write it behind that of PyTorch, as in
/// `1.1.1-chakra.0.0.4`.
fn check_version(metadata: &GlobalMetadata) -> Result<(), InputError> {
    let schema = match Attributes(&metadata.attributes).value("schema") {
        Some(Value::Text(schema)) => schema.split_once("chakra.").map_or("", |(_, version)| version),
        _ => "",
    };
    let version = if metadata.version.is_empty() { schema } else { &metadata.version };
    let is_read = version.is_empty() || version == "0.0.4" || version.starts_with("1.");
    InputError::unless(is_read, "", format_args!("version {}", name_of(version)), "0.0.4 or 1 of Chakra's schema")
}

/// Numbers in order, each once.
fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn node_error(id: u64, name: &str, mistake: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
    InputError::new("", format_args!("node {id} \"{}\": {mistake}", name_of(name)), expected)
}

struct Attributes<'a>(&'a [Attribute]);

impl<'a> Attributes<'a> {
    /// The last of this name, as protobuf takes the last of a field.
    fn value(&self, name: &str) -> Option<&'a Value> {
        self.0.iter().rev().find(|attribute| attribute.name == name)?.value.as_ref()
    }

    fn integer(&self, name: &str) -> Result<Option<i128>, InputError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let wrong = || InputError::new("", format_args!("{name} is no integer"), "an integer of any width");
        value.integer().map(Some).ok_or_else(wrong)
    }

    fn required(&self, name: &str) -> Result<i128, InputError> {
        self.integer(name)?.ok_or_else(|| InputError::new("", format_args!("no {name}"), "an attribute of this name"))
    }

    fn is_true(&self, name: &str) -> Result<bool, InputError> {
        Ok(self.integer(name)?.is_some_and(|number| number != 0))
    }

    fn bytes(&self) -> Result<u64, InputError> {
        within(attribute::SIZE, self.required(attribute::SIZE)?, MESSAGE_MAX.get())
    }

    fn rank(&self, name: &str, ranks: u32) -> Result<Rank, InputError> {
        Ok(Rank::new(within(name, self.required(name)?, u64::from(ranks) - 1)? as u32))
    }

    /// The upper half of all tags is written as negative numbers of 32 bits; -1 is none.
    fn tag(&self) -> Result<u32, InputError> {
        let named = self.integer(attribute::TAG)?.unwrap_or(0);
        let tag = if i32::try_from(named).is_ok() { named.rem_euclid(1 << u32::BITS) } else { named };
        let expected = format_args!("0 to {TAG_MAX}, or {} to -2 for the upper half of them", i32::MIN);
        let error = || InputError::new("", format_args!("{} {named}", attribute::TAG), expected);
        u32::try_from(tag).ok().filter(|&tag| tag <= TAG_MAX).ok_or_else(error)
    }

    /// A message's own end, if it is named.
    fn check_own(&self, name: &str, rank: u32) -> Result<(), InputError> {
        let own = self.integer(name)?.unwrap_or(rank.into());
        InputError::unless(own == rank.into(), "", format_args!("{name} {own} in the trace of rank {rank}"), rank)
    }
}

fn within(name: &str, number: i128, most: u64) -> Result<u64, InputError> {
    let error = || InputError::new("", format_args!("{name} {number}"), format_args!("0 to {most}"));
    u64::try_from(number).ok().filter(|&number| number <= most).ok_or_else(error)
}

fn activity(node: &Node, rank: u32, rules: &Rules) -> Result<Activity, InputError> {
    let attributes = Attributes(&node.attributes);
    let operation = match node.kind {
        kind::METADATA => GraphOp::Compute { duration: Duration::ZERO },
        kind::COMPUTE => GraphOp::Compute { duration: duration(node, &attributes, rules, true)? },
        kind::LOAD | kind::STORE => GraphOp::Compute { duration: duration(node, &attributes, rules, false)? },
        kind::SEND => {
            attributes.check_own(attribute::SOURCE, rank)?;
            let peer = attributes.rank(attribute::DESTINATION, rules.ranks)?;
            GraphOp::Send { peer, tag: attributes.tag()?, bytes: attributes.bytes()? }
        }
        kind::RECEIVE => {
            attributes.check_own(attribute::DESTINATION, rank)?;
            let peer = Some(attributes.rank(attribute::SOURCE, rules.ranks)?);
            GraphOp::Receive { peer, tag: Some(attributes.tag()?), bytes: attributes.bytes()? }
        }
        kind::COLLECTIVE => return collective(node, &attributes, rules),
        other => return Err(InputError::new("", format_args!("a node of type {other}"), "a type from 1 to 7")),
    };
    Ok(Activity::Operation(operation))
}

/// The call of a collective on the CPU that says no more is a computation, beside the one of the accelerator.
fn collective(node: &Node, attributes: &Attributes<'_>, rules: &Rules) -> Result<Activity, InputError> {
    let Some(kind) = attributes.integer(attribute::COLLECTIVE)? else {
        if attributes.is_true(attribute::IS_CPU)? {
            let duration = duration(node, attributes, rules, false)?;
            return Ok(Activity::Operation(GraphOp::Compute { duration }));
        }
        return Err(InputError::new("", format_args!("no {}", attribute::COLLECTIVE), "the type of the collective"));
    };
    if matches!(attributes.value(attribute::DIMENSIONS), Some(Value::Bools(of)) if of.values.contains(&false)) {
        let mistake = format_args!("{} that leaves dimensions of a network out", attribute::DIMENSIONS);
        return Err(InputError::new("", mistake, format_args!("{}, which names the members", attribute::GROUP)));
    }
    let group = match attributes.value(attribute::GROUP) {
        Some(Value::Text(name)) => Some(name.clone()),
        Some(value) => value.integer().map(|number| number.to_string()),
        None => None,
    };
    let group = group.filter(|name| !name.is_empty()).map(String::into_boxed_str);
    let kind = within(attribute::COLLECTIVE, kind, groups::BARRIER.into())? as u8;
    let bytes = if kind == groups::BARRIER { 0 } else { attributes.bytes()? };
    Ok(Activity::Collective(CollectiveNode { kind, bytes, group }))
}

/// How long a node takes: as it says, or by its operations.
fn duration(
    node: &Node,
    attributes: &Attributes<'_>,
    rules: &Rules,
    is_computed: bool,
) -> Result<Duration, InputError> {
    let exact = attributes.integer(attribute::DURATION)?;
    let ps = exact.unwrap_or(i128::from(node.duration_micros) * 1_000_000);
    let operations = attributes.integer(attribute::OPERATIONS)?.unwrap_or(0);
    let ps = match rules.per_teraflop {
        _ if ps != 0 || operations == 0 || !is_computed => within("duration [ps]", ps, COMPUTE_MAX.as_ps())?,
        Some(time) => {
            let operations = within(attribute::OPERATIONS, operations, u64::MAX)?;
            let ps = u128::from(operations) * u128::from(time.as_ps()) / 1_000_000_000_000;
            within("duration [ps]", i128::try_from(ps).unwrap_or(i128::MAX), COMPUTE_MAX.as_ps())?
        }
        None => {
            let mistake = format_args!("{operations} operations and no duration");
            return Err(InputError::new("", mistake, "a duration, or `per_teraflop` in the scenario"));
        }
    };
    let scaled = (ps as f64 * rules.compute_scale).round();
    let mistake = format_args!("a computation of {scaled} ps");
    InputError::unless(scaled <= COMPUTE_MAX.as_ps() as f64, "", mistake, format_args!("at most {COMPUTE_MAX}"))?;
    // A scale of 1 changes nothing, and a time beyond 2^53 ps has no exact double.
    Ok(Duration::from_ps(if rules.compute_scale == 1.0 { ps } else { scaled as u64 }))
}

fn stream(node: &Node, does: &Activity) -> Result<StreamName, InputError> {
    let attributes = Attributes(&node.attributes);
    let number = |name: &str| -> Result<Option<i64>, InputError> {
        let wrong = |_| InputError::new("", format_args!("{name} of more than 64 bits"), "a number of a stream");
        attributes.integer(name)?.map(i64::try_from).transpose().map_err(wrong)
    };
    let thread = number(attribute::THREAD)?;
    if attributes.is_true(attribute::IS_CPU)? {
        return Ok(StreamName::Thread(thread.unwrap_or(0)));
    }
    Ok(match number(attribute::STREAM)?.or(thread) {
        Some(stream) => {
            let device = attributes.integer(attribute::DEVICE)?.unwrap_or(0);
            let wrong = |_| InputError::new("", format_args!("{} {device}", attribute::DEVICE), "a number of 32 bits");
            StreamName::Accelerator { device: i32::try_from(device).map_err(wrong)?, stream }
        }
        None if does.is_communication() => StreamName::Communication,
        None => StreamName::Computation,
    })
}
