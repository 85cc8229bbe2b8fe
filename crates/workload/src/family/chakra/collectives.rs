//! Collectives that members of a group perform together: the first of a group in the order of node numbers by each
//! member is one, and so on.

use std::collections::BTreeMap;

use etherweave_primitives::{Bytes, InputError, Rank};

use super::groups::{BARRIER, check};
use super::node::{Activity, CollectiveNode, RankTrace, TraceNode};
use crate::collective::{Collective, Communicator, Library, Rule, TAG_BASE};
use crate::{Op, limits::MESSAGE_MAX};

/// A collective that members of a group perform.
struct Call {
    node: CollectiveNode,
    /// The first rank that has it, and its node.
    first: (u32, u64),
    members: u32,
}

struct Group {
    name: Box<str>,
    communicator: Communicator,
    members: Vec<u32>,
    calls: Vec<Call>,
}

pub(super) struct Collectives {
    /// The lowest tag of their messages, above those of all others.
    tag_base: u32,
    groups: Vec<Group>,
    /// Numbers of groups, by name and members.
    numbers: BTreeMap<(Box<str>, Vec<u32>), usize>,
    /// The groups of each rank, by the name in its trace.
    of_rank: Vec<BTreeMap<Box<str>, Membership>>,
    /// Tags of the messages of each call, by group, place and what the algorithm says.
    tags: BTreeMap<(usize, usize, u32), u32>,
}

#[derive(Clone, Copy)]
struct Membership {
    group: usize,
    me: u32,
    /// How many collectives its trace has, and how many of them are written out.
    calls: usize,
    lowered: usize,
}

impl Default for Collectives {
    fn default() -> Collectives {
        let (groups, numbers, of_rank, tags) = Default::default();
        Collectives { tag_base: TAG_BASE, groups, numbers, of_rank, tags }
    }
}

impl Collectives {
    /// Adds those of the next rank's trace.
    ///
    /// # Errors
    /// When a group is not defined, does not have the rank, or others perform something else in its place.
    pub fn add(
        &mut self,
        trace: &RankTrace,
        groups: &BTreeMap<String, Vec<u32>>,
        ranks: u32,
    ) -> Result<(), InputError> {
        let rank = self.of_rank.len() as u32;
        let mut own: BTreeMap<Box<str>, Membership> = BTreeMap::new();
        for node in &trace.nodes {
            let collective = match &node.does {
                Activity::Collective(collective) => collective,
                Activity::Operation(op) => {
                    self.tag_base = op.tag().map_or(self.tag_base, |tag| self.tag_base.max(tag + 1));
                    continue;
                }
            };
            let name = collective.group.as_deref().unwrap_or_default();
            if !own.contains_key(name) {
                let members = members(node, name, [&trace.groups, groups], ranks)?;
                own.insert(name.into(), self.membership(node, name, members, rank)?);
            }
            let membership = own.get_mut(name).expect("it has just been put there");
            self.groups[membership.group].add(membership.calls, rank, node, collective)?;
            membership.calls += 1;
        }
        self.of_rank.push(own);
        Ok(())
    }

    fn membership(
        &mut self,
        node: &TraceNode,
        name: &str,
        members: Vec<u32>,
        rank: u32,
    ) -> Result<Membership, InputError> {
        let Some(me) = members.iter().position(|&member| member == rank) else {
            let mistake = format_args!("a collective of group \"{name}\", to which rank {rank} does not belong");
            return Err(node.error(mistake, "a group of the rank"));
        };
        let groups = &mut self.groups;
        let group = *self.numbers.entry((name.into(), members.clone())).or_insert_with(|| {
            let communicator = Communicator::new(members.iter().copied().map(Rank::new).collect(), 0);
            groups.push(Group { name: name.into(), communicator, members, calls: Vec::new() });
            groups.len() - 1
        });
        Ok(Membership { group, me: me as u32, calls: 0, lowered: 0 })
    }

    /// Checks that all members of each group perform all of its collectives.
    ///
    /// # Errors
    /// Names a member that lacks one.
    pub fn check(&self) -> Result<(), InputError> {
        self.groups.iter().try_for_each(|group| {
            let lacks = |call: &Call| call.members < group.members.len() as u32;
            let Some(place) = group.calls.iter().position(lacks) else { return Ok(()) };
            let calls = |rank: u32| self.of_rank[rank as usize].get(&group.name).map_or(0, |entry| entry.calls);
            let lacking = group.members.iter().find(|&&rank| calls(rank) <= place);
            let rank = lacking.expect("fewer members have the collective than there are");
            let (first, node) = group.calls[place].first;
            let mistake = format_args!(
                "rank {rank} has {place} collectives of group \"{}\", and rank {first} one more, node {node}",
                group.name
            );
            Err(InputError::new("file", mistake, "the same collectives of all members"))
        })
    }

    /// The messages of a rank's next collective of a group.
    ///
    /// # Errors
    /// When it is too long.
    pub fn lower(
        &mut self,
        rank: u32,
        node: &TraceNode,
        collective: &CollectiveNode,
        rule: &Rule,
    ) -> Result<Vec<Op>, InputError> {
        let name = collective.group.as_deref().unwrap_or_default();
        let membership = self.of_rank[rank as usize].get_mut(name).expect("all of the trace have been added");
        let (group, place) = (membership.group, membership.lowered);
        membership.lowered += 1;
        let communicator = &self.groups[group].communicator;
        let operation = operation(node, collective, communicator.size(), rule.library)?;
        let mut ops = operation.lower(rule, communicator, membership.me);
        for op in &mut ops {
            if let Op::Isend { tag, .. } | Op::Irecv { tag, .. } = op {
                // Collectives that are under way together must not take each other's messages.
                let next = self.tag_base.saturating_add(self.tags.len() as u32);
                *tag = *self.tags.entry((group, place, *tag)).or_insert(next);
                InputError::unless(*tag < u32::MAX, "", "no tag left for collectives", "lower tags of messages")?;
            }
        }
        Ok(ops)
    }
}

impl Group {
    /// Counts a member's part in the collective at a place.
    fn add(
        &mut self,
        place: usize,
        rank: u32,
        node: &TraceNode,
        collective: &CollectiveNode,
    ) -> Result<(), InputError> {
        let Some(call) = self.calls.get_mut(place) else {
            self.calls.push(Call { node: collective.clone(), first: (rank, node.id), members: 1 });
            return Ok(());
        };
        call.members += 1;
        if (call.node.kind, call.node.bytes) == (collective.kind, collective.bytes) {
            return Ok(());
        }
        let shown =
            |operation: &CollectiveNode| format!("{} of {} B", NAMES[usize::from(operation.kind)], operation.bytes);
        let (first, id) = call.first;
        let mistake = format_args!("{} as collective {place} of group \"{}\"", shown(collective), self.name);
        Err(node.error(mistake, format_args!("{}, as rank {first} has in node {id}", shown(&call.node))))
    }
}

/// The members of a group, as the trace or the scenario defines it.
fn members(
    node: &TraceNode,
    name: &str,
    definitions: [&BTreeMap<String, Vec<u32>>; 2],
    ranks: u32,
) -> Result<Vec<u32>, InputError> {
    match definitions.iter().find_map(|groups| groups.get(name)) {
        // PyTorch leaves the list of the group of all empty.
        Some(members) if !members.is_empty() => {
            check(name, members, ranks)
                .map_err(|error| node.error(format_args!("group \"{name}\": {}", error.found), error.expected))?;
            Ok(members.clone())
        }
        None if !matches!(name, "" | "0") => {
            let mistake = format_args!("a collective of group \"{name}\", which is not defined");
            Err(node.error(mistake, "a group of `groups`, or of a node that names process groups"))
        }
        Some(_) | None => Ok((0..ranks).collect()),
    }
}

/// The types of collectives, by number.
const NAMES: [&str; BARRIER as usize + 1] = [
    "ALL_REDUCE",
    "REDUCE",
    "ALL_GATHER",
    "GATHER",
    "SCATTER",
    "BROADCAST",
    "ALL_TO_ALL",
    "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK",
    "BARRIER",
];

/// The collective of a node, on what each of so many members puts in. The first member is the root.
fn operation(
    node: &TraceNode,
    collective: &CollectiveNode,
    members: u32,
    library: Library,
) -> Result<Collective, InputError> {
    let (whole, block) = (Bytes::new(collective.bytes), Bytes::new(collective.bytes.div_ceil(members.into())));
    let operation = match collective.kind {
        0 => Collective::Allreduce { bytes: whole },
        1 => Collective::Reduce { root: 0, bytes: whole },
        2 => Collective::Allgather { bytes: whole },
        3 => Collective::Gather { root: 0, bytes: whole },
        4 => Collective::Scatter { root: 0, bytes: block },
        5 => Collective::Bcast { root: 0, bytes: whole },
        6 => Collective::Alltoall { bytes: block },
        7 => Collective::ReduceScatter { bytes: whole },
        8 => Collective::ReduceScatterBlock { bytes: block },
        BARRIER => Collective::Barrier,
        other => unreachable!("collectives have types 0 to 9, not {other}"),
    };
    // What is gathered lies in one piece.
    let gathered = matches!(operation, Collective::Allgather { .. } | Collective::Gather { .. });
    let total = collective.bytes.saturating_mul(if gathered { members.into() } else { 1 });
    let most = library.block_max();
    let is_long = whole > most || total > MESSAGE_MAX.get();
    let mistake = format_args!("{} of {whole} of {members} members", NAMES[usize::from(collective.kind)]);
    match is_long {
        true => {
            Err(node
                .error(mistake, format_args!("at most {most} of each with {}, {MESSAGE_MAX} in all", library.name())))
        }
        false => Ok(operation),
    }
}
