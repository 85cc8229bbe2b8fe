//! Executes the schedules of all members: symbolic data moves, and every port takes one message at a time.

use std::collections::{BTreeMap, VecDeque};

use super::data::{Ranks, before, cells_of};
use crate::collective::{Collective, Combining, Communicator, Kind, Rule, SumRole};
use crate::{Op, collective::layout::Part, collective::member::Meaning};

#[derive(Clone)]
struct Message {
    part: Part,
    bytes: u64,
    data: Vec<Ranks>,
    /// Who is known to have entered when it was sent.
    entered: Ranks,
    at: u64,
}

struct Expected {
    from: u32,
    bytes: u64,
    meaning: Meaning,
}

pub(super) struct State {
    ops: VecDeque<(Op, Option<Meaning>)>,
    pending: Vec<Expected>,
    sum: Vec<Ranks>,
    pub result: Vec<Ranks>,
    /// Who is known to have entered the collective.
    pub entered: Ranks,
    /// Time in messages: when it goes on, and when its port is free.
    pub now: u64,
    port_free: u64,
    pub messages: u64,
    pub bytes: u64,
}

type Network = BTreeMap<(u32, u32), VecDeque<Message>>;

/// Origin of the sums of switches.
const SWITCHES: u32 = u32::MAX;

/// Whether data move, or lengths alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    Symbols,
    Nothing,
}

/// Runs a collective on `ranks` ranks to its end.
///
/// # Panics
/// When a receive finds another part or length than its send has, when anything is left over, or nobody can go on.
pub(super) fn executed(collective: &Collective, rule: &Rule, ranks: u32, memory: Memory) -> Vec<State> {
    let world = Communicator::world(ranks);
    let mut states: Vec<_> = (0..ranks).map(|me| State::new(collective, rule, &world, me, memory)).collect();
    let mut network = Network::new();
    let mut is_moving = true;
    while is_moving {
        is_moving = false;
        for me in 0..ranks {
            is_moving |= states[me as usize].advance(&mut network, me);
        }
        while let Some(sum) = summed(&mut network, ranks) {
            (0..ranks).for_each(|me| network.entry((SWITCHES, me)).or_default().push_back(sum.clone()));
            is_moving = true;
        }
    }
    let context = || format!("{collective:?} by {rule:?} on {ranks}");
    assert!(states.iter().all(|state| state.ops.is_empty() && state.pending.is_empty()), "stuck: {}", context());
    assert!(network.values().all(VecDeque::is_empty), "left over: {}", context());
    states
}

/// Sum that switches make of the next message of each rank to itself, once all ranks have sent it.
fn summed(network: &mut Network, ranks: u32) -> Option<Message> {
    let is_there = |me: u32| network.get(&(me, me)).is_some_and(|queue| !queue.is_empty());
    if !(0..ranks).all(is_there) {
        return None;
    }
    let messages = (0..ranks).filter_map(|me| network.get_mut(&(me, me))?.pop_front());
    messages.reduce(|sum, message| {
        assert_eq!((sum.part, sum.bytes), (message.part, message.bytes), "switches add up what is alike");
        let data = sum.data.iter().zip(&message.data).map(|(ranks, more)| {
            assert_eq!(ranks & more, 0, "a contribution comes twice");
            ranks | more
        });
        let data = data.collect();
        Message { data, entered: sum.entered | message.entered, at: sum.at.max(message.at), ..sum }
    })
}

impl State {
    fn new(collective: &Collective, rule: &Rule, world: &Communicator, me: u32, memory: Memory) -> State {
        let member = collective.lowered(rule, world, me);
        assert_eq!(member.ops.len(), member.meanings.len(), "every operation has its meaning");
        let memory = match memory {
            Memory::Symbols => before(collective, &member.layout, me),
            Memory::Nothing => Vec::new(),
        };
        State {
            ops: member.ops.into_iter().zip(member.meanings).collect(),
            pending: Vec::new(),
            sum: memory.clone(),
            // A part of its own does not count for the result of an exclusive scan.
            result: if collective.kind() == Kind::Exscan { vec![0; memory.len()] } else { memory },
            entered: 1 << me,
            now: 0,
            port_free: 0,
            messages: 0,
            bytes: 0,
        }
    }

    fn advance(&mut self, network: &mut Network, me: u32) -> bool {
        let mut has_moved = false;
        while let Some((op, meaning)) = self.ops.pop_front() {
            match (op, meaning) {
                (Op::Isend { peer, bytes, tag }, Some(meaning)) => {
                    let mut message = self.message(&meaning, bytes);
                    if SumRole::of(tag) == SumRole::Listens {
                        message.data.fill(0);
                    }
                    network.entry((me, peer.get())).or_default().push_back(message);
                }
                (Op::Irecv { peer, bytes, .. }, Some(meaning)) => {
                    let from = if peer.get() == me { SWITCHES } else { peer.get() };
                    self.pending.push(Expected { from, bytes, meaning });
                }
                (Op::WaitAll, None) if !self.is_complete(network, me) => {
                    self.ops.push_front((op, None));
                    break;
                }
                (Op::WaitAll, None) => self.complete(network, me),
                // What a member has for itself is in its result from the start.
                (Op::Copy { .. } | Op::Prepare { .. } | Op::Reduce { .. }, None) => {}
                _ => panic!("a collective sends, receives, waits, copies and adds up"),
            }
            has_moved = true;
        }
        has_moved
    }

    fn message(&mut self, meaning: &Meaning, bytes: u64) -> Message {
        self.port_free = self.port_free.max(self.now) + 1;
        self.messages += 1;
        self.bytes += bytes;
        let data = self.cells(meaning).into_iter().map(|cell| self.sum[cell]).collect();
        Message { part: meaning.part, bytes, data, entered: self.entered, at: self.port_free }
    }

    /// Whether everything expected is on its way: the n-th receive from a member needs its n-th message.
    fn is_complete(&self, network: &Network, me: u32) -> bool {
        let mut needed = BTreeMap::<u32, usize>::new();
        self.pending.iter().for_each(|expected| *needed.entry(expected.from).or_default() += 1);
        needed.iter().all(|(&from, &count)| network.get(&(from, me)).map_or(0, VecDeque::len) >= count)
    }

    fn complete(&mut self, network: &mut Network, me: u32) {
        self.now = self.now.max(self.port_free);
        for expected in std::mem::take(&mut self.pending) {
            let queue = network.get_mut(&(expected.from, me)).expect("a message is on its way");
            let message = queue.pop_front().expect("a message is on its way");
            assert_eq!(
                (message.part, message.bytes),
                (expected.meaning.part, expected.bytes),
                "from {} to {me}",
                expected.from
            );
            self.now = self.now.max(message.at);
            self.entered |= message.entered;
            let (cells, combining) = (self.cells(&expected.meaning), expected.meaning.combining);
            cells.into_iter().zip(message.data).for_each(|(cell, value)| self.take(cell, value, combining));
        }
    }

    /// Without memory none.
    fn cells(&self, meaning: &Meaning) -> Vec<usize> {
        if self.sum.is_empty() {
            return Vec::new();
        }
        let cells = cells_of(&meaning.layout, meaning.part).into_iter();
        cells.map(|cell| cell + meaning.start as usize).collect()
    }

    /// A contribution is added once.
    fn take(&mut self, cell: usize, value: Ranks, combining: Combining) {
        match combining {
            Combining::Replace => (self.sum[cell], self.result[cell]) = (value, value),
            Combining::Add | Combining::AddForOthers => {
                assert_eq!(self.sum[cell] & value, 0, "a contribution comes twice");
                self.sum[cell] |= value;
                if combining == Combining::Add {
                    assert_eq!(self.result[cell] & value, 0, "a contribution comes twice");
                    self.result[cell] |= value;
                }
            }
        }
    }
}
