//! What ranks do when, and the ends of their messages: kept only where a run observes its ranks.

use etherweave_primitives::Time;

use super::activity_kind::ActivityKind;
use super::steps::StepLog;

/// A time that a stream of a rank spent on one kind of activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Activity {
    /// Number of the stream in its rank; 0 of a program.
    pub stream: u8,
    /// Kind of activity.
    pub kind: ActivityKind,
    /// When it began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
}

/// One end of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageEnd {
    /// The other rank.
    pub peer: u32,
    /// MPI tag.
    pub tag: u32,
    /// MPI payload [B].
    pub bytes: u64,
    /// When it was sent, or its receive complete.
    pub at: Time,
}

/// Activities and messages of a rank, in the order of time.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ActivityLog {
    /// Times that its streams spent.
    pub activities: Vec<Activity>,
    /// Messages that it sent.
    pub sent: Vec<MessageEnd>,
    /// Messages that it received.
    pub received: Vec<MessageEnd>,
    /// Its tasks one by one.
    pub steps: StepLog,
    /// What each stream is doing, and since when.
    present: Vec<Option<(ActivityKind, Time)>>,
}

impl ActivityLog {
    /// A stream does this from now on; equal activities in a row are one.
    pub fn enter(&mut self, stream: u8, kind: ActivityKind, now: Time) {
        let place = usize::from(stream);
        if place >= self.present.len() {
            self.present.resize(place + 1, None);
        }
        if self.present[place].is_none_or(|(present, _)| present != kind) {
            self.leave(stream, now);
            self.present[place] = Some((kind, now));
        }
    }

    /// All streams end what they do.
    pub fn end(&mut self, now: Time) {
        (0..self.present.len()).for_each(|stream| self.leave(stream as u8, now));
    }

    /// Present activity of a stream.
    pub(super) fn present(&self, stream: u8) -> Option<ActivityKind> {
        self.present.get(usize::from(stream)).copied().flatten().map(|(kind, _)| kind)
    }

    fn leave(&mut self, stream: u8, now: Time) {
        if let Some((kind, start)) = self.present[usize::from(stream)].take()
            && start < now
        {
            self.activities.push(Activity { stream, kind, start, end: now });
        }
    }
}

etherweave_kernel::wire! {
    ActivityLog { activities, sent, received, steps, present }
    Activity { stream, kind, start, end }
    MessageEnd { peer, tag, bytes, at }
}
