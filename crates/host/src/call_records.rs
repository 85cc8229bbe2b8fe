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
    /// Rows of each thread in the order of time; without what it is at, until [`CallRecords::end`].
    pub rows: Log<CallRecord>,
    /// Present call of each thread, or what is none; [`ThreadIndex::NONE`] before its first row.
    present: Vec<CallRecord>,
}

impl CallRecords {
    /// Adds an operation that a rank begins.
    pub(super) fn note(&mut self, thread: ThreadIndex, op: Op, at: Time) {
        match op {
            Op::Isend { tag, bytes, .. } | Op::Irecv { tag, bytes, .. } => match collective::kind_of(tag) {
                Some(_) => self.go_on(thread, (tag, bytes), at),
                None => self.begin(thread, NO_CALL, at),
            },
            Op::Copy { .. } | Op::Prepare { .. } if self.present(thread).tag == NO_CALL => {
                self.begin(thread, NOT_KNOWN, at);
            }
            Op::OneSided { .. } | Op::Compute { .. } | Op::Sleep { .. } | Op::IterationStart | Op::IterationEnd => {
                self.begin(thread, NO_CALL, at);
            }
            Op::Copy { .. } | Op::Prepare { .. } | Op::Reduce { .. } | Op::Poll { .. } | Op::WaitAll => {}
        }
    }

    /// Adds what threads are at to the rows.
    pub fn end(&mut self) {
        let present = std::mem::take(&mut self.present).into_iter();
        present.filter(|row| row.thread != ThreadIndex::NONE).for_each(|row| self.rows.push(row));
    }

    /// Adds a message of a collective to the present call, or begins another.
    fn go_on(&mut self, thread: ThreadIndex, (tag, bytes): (u32, u64), at: Time) {
        let tag = collective::call_of(tag);
        let present = self.present(thread);
        if present.tag == NOT_KNOWN {
            present.tag = tag;
        }
        match present.tag == tag {
            true => present.bytes = present.bytes.max(bytes),
            false => self.change(thread, (tag, bytes), at),
        }
    }

    /// Begins a call, or what is none, unless the thread is there.
    #[inline]
    fn begin(&mut self, thread: ThreadIndex, tag: u32, at: Time) {
        if self.present(thread).tag != tag {
            self.change(thread, (tag, 0), at);
        }
    }

    #[inline(never)]
    fn change(&mut self, thread: ThreadIndex, (tag, bytes): (u32, u64), at: Time) {
        let over = std::mem::replace(self.present(thread), CallRecord { at, bytes, tag, thread });
        if over.thread != ThreadIndex::NONE {
            self.rows.push(over);
        }
    }

    #[inline]
    fn present(&mut self, thread: ThreadIndex) -> &mut CallRecord {
        let place = thread.get() as usize;
        if place >= self.present.len() {
            let nothing = CallRecord { at: Time::ZERO, bytes: 0, tag: NO_CALL, thread: ThreadIndex::NONE };
            self.present.resize(place + 1, nothing);
        }
        &mut self.present[place]
    }
}

wire! {
    CallRecord { at, bytes, tag, thread }
    CallRecords { rows, present }
}
