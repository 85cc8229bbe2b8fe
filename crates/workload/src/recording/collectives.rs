//! Collectives of all ranks, matched: the first call of a communicator by each member is one collective, and so on.

use std::collections::BTreeMap;

use etherweave_primitives::{Bytes, InputError, Rank};

use super::{Call, CollectiveCall, RankRecording};
use crate::Op;
use crate::collective::{Collective, Communicator, Kind, Rule};

pub(super) struct Collectives {
    /// The group of each communicator, by rank and number.
    groups: Vec<Vec<usize>>,
    /// Collectives in the order of their calls, by group.
    matched: Vec<Vec<Matched>>,
    members: Vec<Communicator>,
}

struct Matched {
    kind: Kind,
    root: u32,
    goes_on: bool,
    /// The first rank that called it.
    first: u32,
    /// One size, or a list [B].
    sizes: Vec<u64>,
    calls: usize,
}

impl Collectives {
    /// Matches the calls of all ranks.
    ///
    /// # Errors
    /// When members call different ones, or not the same number of them.
    pub fn of(ranks: &[RankRecording]) -> Result<Collectives, InputError> {
        let (groups, lists) = groups(ranks);
        let mut matched: Vec<Vec<Matched>> = lists.iter().map(|_| Vec::new()).collect();
        for (rank, groups) in ranks.iter().zip(&groups) {
            let mut places = vec![0; rank.communicators.len()];
            for record in &rank.records {
                let Call::Collective(call, request) = &record.call else { continue };
                let number = call.communicator as usize;
                let list = &mut matched[groups[number]];
                add(list, places[number], rank, call, request.is_some())?;
                places[number] += 1;
            }
        }
        for (list, members) in matched.iter().zip(&lists) {
            check_calls(list, members)?;
        }
        let members = lists.into_iter().map(|members| members.into_iter().map(Rank::new).collect());
        Ok(Collectives { groups, matched, members: members.map(|list| Communicator::new(list, 0)).collect() })
    }

    /// The group of a communicator of a rank: the same for all members.
    pub fn group(&self, rank: u32, communicator: u32) -> usize {
        self.groups[rank as usize][communicator as usize]
    }

    /// Returns the operations of a rank for its call number `place` of a group.
    ///
    /// # Errors
    /// When it cannot be carried out by this rule.
    pub fn ops(
        &self,
        rank: &RankRecording,
        call: &CollectiveCall,
        place: usize,
        rule: Rule,
    ) -> Result<Vec<Op>, InputError> {
        let group = self.group(rank.rank, call.communicator);
        let (matched, communicator) = (&self.matched[group][place], &self.members[group]);
        let members = &rank.communicators[call.communicator as usize];
        let me = members.iter().position(|&member| member == rank.rank).expect("read communicators have their rank");
        let collective = matched.collective(communicator.size());
        let rule = Rule { is_nonblocking: matched.goes_on, ..rule };
        let checked = collective
            .check("collective", communicator.size())
            .and_then(|()| if communicator.size() > 1 { rule.check(&collective, communicator.size()) } else { Ok(()) });
        checked.map_err(|errors| InputError::new(format!("rank {}", rank.rank), errors, ""))?;
        let mut ops = collective.lower(&rule, communicator, me as u32);
        if call.kind == Kind::Alltoallv {
            put_sizes(&mut ops, members, &call.sizes);
        }
        Ok(ops)
    }
}

/// Every communicator of every rank: the nth of the same members is one, whatever number each gives it.
fn groups(ranks: &[RankRecording]) -> (Vec<Vec<usize>>, Vec<Vec<u32>>) {
    let mut known: BTreeMap<(&[u32], usize), usize> = BTreeMap::new();
    let mut lists = Vec::new();
    let groups = ranks.iter().map(|rank| {
        let mut counts: BTreeMap<&[u32], usize> = BTreeMap::new();
        let numbered = rank.communicators.iter().map(|members| {
            let count = counts.entry(members).or_default();
            *count += 1;
            *known.entry((members, *count)).or_insert_with(|| {
                lists.push(members.clone());
                lists.len() - 1
            })
        });
        numbered.collect()
    });
    (groups.collect(), lists)
}

fn add(
    list: &mut Vec<Matched>,
    place: usize,
    rank: &RankRecording,
    call: &CollectiveCall,
    goes_on: bool,
) -> Result<(), InputError> {
    if place == list.len() {
        let (kind, root, first) = (call.kind, call.root, rank.rank);
        list.push(Matched { kind, root, goes_on, first, sizes: Vec::new(), calls: 0 });
    }
    let matched = &mut list[place];
    if (matched.kind, matched.root, matched.goes_on) != (call.kind, call.root, goes_on) {
        let mistake = format!("{} of root {} as collective {place}", call.kind.name(), call.root);
        let expected = format!("{} of root {}, as rank {} called it", matched.kind.name(), matched.root, matched.first);
        return Err(InputError::new(format!("rank {}", rank.rank), mistake, expected));
    }
    matched.calls += 1;
    matched.add_sizes(call);
    Ok(())
}

fn check_calls(list: &[Matched], members: &[u32]) -> Result<(), InputError> {
    let Some((place, matched)) = list.iter().enumerate().find(|(_, matched)| matched.calls != members.len()) else {
        return Ok(());
    };
    let mistake =
        format!("{} of {} members call {} as collective {place}", matched.calls, members.len(), matched.kind.name());
    Err(InputError::new(format!("rank {}", matched.first), mistake, "all members of its communicator"))
}

impl Matched {
    /// Takes the largest of one size, and of lists that a member has: those that say less have no part in them. What
    /// is sent in pairs is summed.
    fn add_sizes(&mut self, call: &CollectiveCall) {
        if self.kind == Kind::Alltoallv {
            let sent: u64 = call.sizes[..call.sizes.len() / 2].iter().fold(0, |sum, &size| sum.saturating_add(size));
            self.sizes = vec![self.sizes.first().copied().unwrap_or(0).saturating_add(sent)];
            return;
        }
        self.sizes.resize(self.sizes.len().max(call.sizes.len()), 0);
        self.sizes.iter_mut().zip(&call.sizes).for_each(|(most, &size)| *most = size.max(*most));
    }

    fn collective(&self, size: u32) -> Collective {
        let (root, only) = (self.root, Bytes::new(self.sizes.first().copied().unwrap_or(0)));
        let list = || self.sizes.iter().copied().chain(self.sizes.is_empty().then_some(0)).map(Bytes::new).collect();
        match self.kind {
            Kind::Barrier => Collective::Barrier,
            Kind::Alltoall => Collective::Alltoall { bytes: only },
            Kind::Allgather => Collective::Allgather { bytes: only },
            Kind::Allreduce => Collective::Allreduce { bytes: only },
            Kind::Bcast => Collective::Bcast { root, bytes: only },
            Kind::Gather => Collective::Gather { root, bytes: only },
            Kind::Scatter => Collective::Scatter { root, bytes: only },
            Kind::Reduce => Collective::Reduce { root, bytes: only },
            Kind::ReduceScatter => Collective::ReduceScatter { bytes: only },
            Kind::ReduceScatterBlock => Collective::ReduceScatterBlock { bytes: only },
            Kind::Scan => Collective::Scan { bytes: only },
            Kind::Exscan => Collective::Exscan { bytes: only },
            Kind::Gatherv => Collective::Gatherv { root, bytes: list() },
            Kind::Scatterv => Collective::Scatterv { root, bytes: list() },
            Kind::Allgatherv => Collective::Allgatherv { bytes: list() },
            Kind::Alltoallv => {
                let pairs = u64::from(size) * u64::from(size);
                Collective::Alltoallv { bytes: vec![Bytes::new(only.get() / pairs)] }
            }
            Kind::NeighborAllgather | Kind::NeighborAlltoall => unreachable!("no record has neighbours"),
            Kind::Alltoallw => unreachable!("records have it as alltoallv"),
        }
    }
}

/// Libraries choose the order of pairs by the mean; each pair then sends what its own lists say.
fn put_sizes(ops: &mut [Op], members: &[u32], sizes: &[u64]) {
    let place = |peer: Rank| members.iter().position(|&member| member == peer.get()).expect("peers are members");
    let (sent, received) = sizes.split_at(members.len());
    for op in ops {
        if let Op::Isend { peer, bytes, .. } = op {
            *bytes = sent[place(*peer)];
        } else if let Op::Irecv { peer, bytes, .. } = op {
            *bytes = received[place(*peer)];
        }
    }
}
