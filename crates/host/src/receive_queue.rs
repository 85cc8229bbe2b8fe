//! A receive queue of the kernel: the frames in it, and its interrupt, which it shares with a transmit queue.
//!
//! ```text
//!   NIC ── frames ───► ring ──┐ timer ──┐
//!   NIC ◄─ segments ─ (sent) ─┘ timer ──┴─ the earlier ─► interrupt ─► softirq polls both, then arms both
//! ```

use etherweave_engine::packet::{Handle, NO_PACKET};
use etherweave_engine::params::{HostParams, Moderation};
use etherweave_kernel::indices::{CoreIndex, HostIndex};
use etherweave_primitives::Time;

use super::completion_queue::CompletionQueue;
use super::moderation::QueueTotals;
use super::throttle::Throttle;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Softirq {
    /// The next frame starts the timer of the interrupt.
    Armed,
    Scheduled,
    /// A batch of so many frames is being worked on.
    Running(u32),
}

/// See the module.
pub struct ReceiveQueue {
    /// Its host, numbered in the shard.
    pub host: HostIndex,
    /// The core of its interrupt, numbered in the shard, or [`OWN_CORE`](super::OWN_CORE).
    pub core: CoreIndex,
    /// Frames that wait: a list through the packet slab.
    pub(super) frames: (Handle, Handle),
    pub(super) softirq: Softirq,
    /// When its present event is due; earlier ones that are still in the calendar are void.
    pub(super) due: Time,
    /// When what has been begun will be done.
    pub(super) free_at: Time,
    pub(super) occupancy: u32,
    /// Batches so far: the number of the present one.
    pub(super) batch: u32,
    receive: CompletionQueue,
    transmit: Option<Box<CompletionQueue>>,
    throttle: Option<Box<Throttle>>,
}

impl ReceiveQueue {
    /// An empty queue of `host` that interrupts `core`.
    pub fn new(host: HostIndex, core: CoreIndex, params: &HostParams) -> ReceiveQueue {
        ReceiveQueue {
            host,
            core,
            frames: (NO_PACKET, NO_PACKET),
            softirq: Softirq::Armed,
            due: Time::ZERO,
            free_at: Time::ZERO,
            occupancy: 0,
            batch: 0,
            receive: CompletionQueue::of_receive(&params.receive),
            transmit: params.transmit.as_ref().map(|transmit| Box::new(CompletionQueue::of_transmit(transmit))),
            throttle: match &params.receive.moderation {
                Moderation::Throttled(throttle) => Some(Box::new(Throttle::new(throttle))),
                Moderation::Off {} | Moderation::Fixed(_) | Moderation::Adaptive(_) => None,
            },
        }
    }

    /// A frame has come. Whether it needs an interrupt, as nothing polls.
    pub(super) fn complete(&mut self, now: Time) -> bool {
        let is_idle = !matches!(self.softirq, Softirq::Running(_));
        if is_idle {
            self.receive.complete(now);
        }
        is_idle
    }

    /// The NIC has sent a segment of `frames` and `bytes` in all. Whether it needs an interrupt.
    pub(super) fn sent(&mut self, now: Time, frames: u64, bytes: u64) -> bool {
        let transmit = self.transmit.as_mut().expect("segments have a queue where interrupts for them are modelled");
        transmit.count(frames, bytes);
        transmit.complete(now);
        !matches!(self.softirq, Softirq::Running(_))
    }

    /// When the NIC raises the interrupt, or has.
    pub(super) fn raised_at(&self) -> Time {
        let receive = self.receive.raised_at();
        let due = self.transmit.as_ref().map_or(receive, |transmit| transmit.raised_at().min(receive));
        self.throttle.as_ref().map_or(due, |throttle| throttle.raised_at(due))
    }

    pub(super) fn interrupt(&mut self, now: Time) {
        let raised_at = self.raised_at();
        if let Some(throttle) = &mut self.throttle {
            throttle.interrupt(raised_at);
        }
        self.receive.interrupt(now);
        if let Some(transmit) = &mut self.transmit {
            transmit.interrupt(now);
        }
    }

    /// Takes what has been sent; frames that have come are taken in batches.
    pub(super) fn poll(&mut self) {
        if let Some(transmit) = &mut self.transmit {
            transmit.poll();
        }
    }

    /// A frame of `bytes` has been worked on.
    pub(super) fn took(&mut self, bytes: u32) {
        self.occupancy -= 1;
        self.receive.count(1, bytes.into());
    }

    /// Polling has found the queue empty: arms the interrupt. How many profiles are set.
    pub(super) fn arm(&mut self, now: Time) -> u32 {
        self.softirq = Softirq::Armed;
        self.receive.poll();
        if let Some(throttle) = &mut self.throttle {
            let sent = self.transmit.as_ref().map_or(QueueTotals::default(), |transmit| transmit.totals());
            throttle.sample([self.receive.totals(), sent]);
        }
        let of_transmit = self.transmit.as_mut().is_some_and(|transmit| transmit.sample(now));
        u32::from(self.receive.sample(now)) + u32::from(of_transmit)
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;

    use super::*;
    use etherweave_engine::params::{Moderation, ModerationProfile, ModerationTimer, ReceiveParams, TransmitParams};

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// 32 us after the last frame; 8 us after the first segment, or at once for the third.
    fn queue() -> ReceiveQueue {
        let fixed = |period, count| Moderation::Fixed(ModerationProfile { period: Duration::from_us(period), count });
        let receive = ReceiveParams { moderation: fixed(32, 64), ..ReceiveParams::default() };
        let transmit = Some(TransmitParams { moderation: fixed(8, 3), timer: ModerationTimer::Event });
        ReceiveQueue::new(HostIndex::new(0), CoreIndex::NONE, &HostParams { receive, transmit, ..Default::default() })
    }

    /// The interrupt at `now` polls all there is.
    fn serve(queue: &mut ReceiveQueue, now: Time) {
        assert_eq!(queue.raised_at(), now);
        queue.interrupt(now);
        queue.poll();
        queue.arm(now);
    }

    /// A frame at 0 waits until 32 us; the segment of 5 us has its interrupt at 13 us, which polls the frame. The frame
    /// of 20 us is alone again, then the third segment calls at once.
    #[test]
    fn the_earlier_of_both_timers_polls_both() {
        let mut queue = queue();
        assert!(queue.complete(at(0)) && queue.raised_at() == at(32));
        assert!(queue.sent(at(5), 1, 66) && queue.raised_at() == at(13));
        queue.sent(at(9), 1, 66);
        serve(&mut queue, at(13));
        assert_eq!(queue.raised_at(), Time::MAX);
        queue.complete(at(20));
        serve(&mut queue, at(52));
        for time in [60, 61, 62] {
            queue.sent(at(time), 1, 66);
        }
        serve(&mut queue, at(62));
    }

    /// Each side's moderation counts its own interrupts: those at 13 us and 52 us above are one each; one at 40 us that
    /// both have raised counts for both.
    #[test]
    fn an_interrupt_counts_for_those_that_have_raised_it() {
        let mut queue = queue();
        queue.complete(at(0));
        queue.sent(at(5), 1, 66);
        serve(&mut queue, at(13));
        let interrupts = |queue: &ReceiveQueue| {
            (queue.receive.interrupts(), queue.transmit.as_ref().expect("modelled").interrupts())
        };
        assert_eq!(interrupts(&queue), (0, 1));
        queue.complete(at(20));
        serve(&mut queue, at(52));
        assert_eq!(interrupts(&queue), (1, 1));
        queue.complete(at(60));
        queue.sent(at(84), 1, 66);
        queue.interrupt(at(92));
        assert_eq!(interrupts(&queue), (2, 2));
    }

    /// Segments that a batch sends when it ends are polled by none: their interrupt comes when the period is over.
    #[test]
    fn what_the_last_batch_has_sent_interrupts_later() {
        let mut queue = queue();
        queue.complete(at(0));
        queue.softirq = Softirq::Running(1);
        assert!(!queue.sent(at(33), 1, 66), "sent while a batch runs");
        assert!(!queue.complete(at(33)), "the next batch takes it");
        queue.poll();
        queue.sent(at(34), 1, 66);
        queue.arm(at(34));
        assert_eq!(queue.raised_at(), at(42));
    }
}
