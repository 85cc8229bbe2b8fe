//! Records of collectives that ranks of programs call, where a run observes them: when a rank begins each, and when
//! it goes on to something else. A message says by its tag to which collective it belongs.
//!
//! Left out: graphs, which have several under way at once. A second call of a collective that follows the first
//! without a mark, computation or message of the application between them is part of the first.

use etherweave_kernel::{Log, indices::ThreadIndex, wire};
use etherweave_primitives::Time;
use etherweave_workload::{Op, collective};

/// Begin of a call of a collective, or of what follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallRecord {
    /// When.
    pub at: Time,
    /// Longest message of the call at this rank [B].
    pub bytes: u64,
    /// Tag of its messages; that of no collective where none is called.
    pub tag: u32,
    /// The rank.
    pub thread: ThreadIndex,
}

/// Tag where no collective is called.
const NO_CALL: u32 = 0;
/// Tag of what is copied before the first message, which says whether it is of a collective.
const NOT_KNOWN: u32 = 1;

/// See the module.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CallRecords {
    /// Rows in the order of time.
    pub rows: Log<CallRecord>,
    /// Number of rows up to the last of each thread; 0 of none.
    last: Vec<u32>,
}

impl CallRecords {
    /// Adds an operation that a rank begins.
    pub(super) fn note(&mut self, thread: ThreadIndex, op: Op, at: Time) {
        match op {
            Op::Isend { tag, bytes, .. } | Op::Irecv { tag, bytes, .. } => match collective::kind_of(tag) {
                Some(_) => self.go_on(thread, (tag, bytes), at),
                None => self.begin(thread, NO_CALL, at),
            },
            Op::Copy { .. } | Op::Prepare { .. } if self.tag(thread) == NO_CALL => self.begin(thread, NOT_KNOWN, at),
            Op::OneSided { .. } | Op::Compute { .. } | Op::Sleep { .. } | Op::IterationStart | Op::IterationEnd => {
                self.begin(thread, NO_CALL, at);
            }
            Op::Copy { .. } | Op::Prepare { .. } | Op::Reduce { .. } | Op::Poll { .. } | Op::WaitAll => {}
        }
    }

    /// Adds a message of a collective to the present call, or begins another.
    fn go_on(&mut self, thread: ThreadIndex, (tag, bytes): (u32, u64), at: Time) {
        let tag = collective::call_of(tag);
        if self.tag(thread) == NOT_KNOWN {
            self.last_mut(thread).tag = tag;
        }
        self.begin(thread, tag, at);
        let row = self.last_mut(thread);
        row.bytes = row.bytes.max(bytes);
    }

    /// Begins a call, or what is none, unless the thread is there.
    fn begin(&mut self, thread: ThreadIndex, tag: u32, at: Time) {
        if self.tag(thread) == tag {
            return;
        }
        self.rows.push(CallRecord { at, bytes: 0, tag, thread });
        let place = thread.get() as usize;
        self.last.resize(self.last.len().max(place + 1), 0);
        self.last[place] = self.rows.len();
    }

    fn tag(&self, thread: ThreadIndex) -> u32 {
        let last = self.last.get(thread.get() as usize).and_then(|rows| rows.checked_sub(1));
        last.map_or(NO_CALL, |place| self.rows[place].tag)
    }

    fn last_mut(&mut self, thread: ThreadIndex) -> &mut CallRecord {
        &mut self.rows[self.last[thread.get() as usize] - 1]
    }
}

wire! {
    CallRecord { at, bytes, tag, thread }
    CallRecords { rows, last }
}
