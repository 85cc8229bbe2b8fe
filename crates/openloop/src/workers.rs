//! The workers of a run: each serves its shards window by window and exchanges what they did to each other.

use etherweave_kernel::{Agreement, Division, Exchange, Threads};
use etherweave_routing::PacketRouting;

use crate::{constants::RunConstants, open_loops::OpenLoops, run_length::RunControl, tally::Batch, wires::RemoteEvent};

impl Agreement for Batch {
    fn with(self, other: Batch) -> Batch {
        self.plus(other)
    }
}

/// Serves all shards of a fabric, a thread to a worker, until the pace says that it is enough; gives the pace
/// as it ended.
pub(crate) fn run<R: PacketRouting>(
    mut shards: &mut [OpenLoops],
    constants: &RunConstants<'_, R>,
    control: &RunControl,
    window: u32,
    division: Division,
) -> RunControl {
    let threads = Threads::new(division.workers);
    std::thread::scope(|scope| {
        let first = shards.split_off_mut(..division.shards_of(0).len()).expect("there is a shard");
        for number in 1..division.workers {
            let own = shards.split_off_mut(..division.shards_of(number).len()).expect("every shard is dealt once");
            let end = threads.end(number);
            scope.spawn(move || serve(own, constants, control.clone(), window, division, end));
        }
        serve(first, constants, control.clone(), window, division, threads.end(0))
    })
}

/// Serves a worker's shards. Every worker comes to the same pace, as all judge the same sums.
pub(crate) fn serve<R: PacketRouting>(
    shards: &mut [OpenLoops],
    constants: &RunConstants<'_, R>,
    mut control: RunControl,
    window: u32,
    division: Division,
    mut exchange: impl Exchange<Vec<RemoteEvent>, Batch>,
) -> RunControl {
    let first = shards.first().map_or(0, |shard| usize::from(shard.switches.wires.number));
    let mut now = 0;
    while now < control.span.end {
        now = control.next_stop(now, window);
        for shard in &mut *shards {
            shard.run(constants, now);
            let outboxes = exchange.outboxes();
            for remote in shard.switches.wires.outbox.drain(..) {
                outboxes[division.worker_of(usize::from(remote.shard))].push(remote);
            }
        }
        let is_judged = now.is_multiple_of(control.batch) && control.is_open();
        let counted = shards.iter().filter(|_| is_judged).map(|shard| shard.switches.wires.tally.batch_before(now));
        let counted = counted.fold(Batch::default(), Batch::plus);
        let all = exchange.meet(counted, |outbox| {
            outbox
                .drain(..)
                .for_each(|remote| shards[usize::from(remote.shard) - first].switches.wires.inbox.push(remote));
        });
        if now.is_multiple_of(control.batch) {
            shards.iter_mut().for_each(|shard| shard.end_batch(constants));
        }
        if is_judged {
            control.judge(now, all);
            shards.iter_mut().for_each(|shard| shard.switches.wires.span = control.span.clone());
        }
    }
    shards.iter_mut().for_each(|shard| shard.switches.wires.receive_all());
    control
}
