//! Time limits that other work on the machine does not use up.

use std::time::Duration;

/// Processor time of a piece of work on this thread.
pub struct ProcessorTime {
    start: Duration,
}

impl ProcessorTime {
    pub fn start() -> ProcessorTime {
        ProcessorTime { start: used() }
    }

    pub fn elapsed(&self) -> Duration {
        used() - self.start
    }
}

/// Processor time of this thread since it began, in steps of 10 ms (proc_pid_stat(5): utime and stime, the 14th and the
/// 15th word; a name in brackets may have blanks).
fn used() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux counts the time of threads");
    let (_, behind) = text.rsplit_once(')').expect("a name in brackets");
    let ticks = behind.split_whitespace().skip(11).take(2).map(|word| word.parse::<u64>().expect("ticks"));
    Duration::from_millis(10 * ticks.sum::<u64>())
}

#[test]
fn processor_time_counts_work_and_no_sleep() {
    let time = ProcessorTime::start();
    std::thread::sleep(Duration::from_millis(300));
    assert!(time.elapsed() < Duration::from_millis(200), "{:?}", time.elapsed());
    while time.elapsed() < Duration::from_millis(50) {}
}
