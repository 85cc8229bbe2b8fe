//! The workers of a run: each serves its shards window by window and exchanges what they did to each other.

use crate::constants::RunConstants;
use crate::exchange::threads::Threads;
use crate::exchange::{Division, Exchange};
use crate::run_length::RunControl;
use crate::shard::Shard;
use crate::tally::Batch;
use etherweave_routing::PacketRouting;

/// Serves all shards of a fabric, a thread to a worker, until the pace says that it is enough; gives the pace
/// as it ended.
pub(crate) fn run<R: PacketRouting>(
    mut shards: &mut [Shard],
    constants: &RunConstants<'_, R>,
    control: &RunControl,
    window: u32,
    division: Division,
) -> RunControl {
    let threads = Threads::new(division);
    std::thread::scope(|scope| {
        let first = shards.split_off_mut(..division.shards_of(0).len()).expect("there is a shard");
        for number in 1..division.workers {
            let own = shards.split_off_mut(..division.shards_of(number).len()).expect("every shard is dealt once");
            let end = threads.end(number);
            scope.spawn(move || serve(own, constants, control.clone(), window, end));
        }
        serve(first, constants, control.clone(), window, threads.end(0))
    })
}

/// Serves a worker's shards. Every worker comes to the same pace, as all judge the same sums.
pub(crate) fn serve<R: PacketRouting>(
    shards: &mut [Shard],
    constants: &RunConstants<'_, R>,
    mut control: RunControl,
    window: u32,
    mut exchange: impl Exchange,
) -> RunControl {
    let first = shards.first().map_or(0, |shard| usize::from(shard.number));
    let mut now = 0;
    while now < control.span.end {
        now = control.next_stop(now, window);
        for shard in &mut *shards {
            shard.run(constants, now);
            exchange.post(&mut shard.outbox);
        }
        exchange.collect(|remote| shards[usize::from(remote.shard) - first].receive(remote));
        if now.is_multiple_of(control.batch) {
            shards.iter_mut().for_each(Shard::end_batch);
            if control.is_open() {
                let counted = shards.iter().map(|shard| shard.tally.batch_before(now));
                control.judge(now, exchange.sum(counted.fold(Batch::default(), Batch::plus)));
                shards.iter_mut().for_each(|shard| shard.span = control.span.clone());
            }
        }
    }
    control
}
