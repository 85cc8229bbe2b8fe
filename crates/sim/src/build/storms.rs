//! Pause storms: hosts that pause their switches without end.

use etherweave_engine::event::{Event, EventKey, Kind};
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Duration, HostId, InputError, InputErrors, Priority, Time};
use etherweave_switch::watchdog::Watchdog;

use super::{Experiment, layout::Layout};
use crate::shard::Shard;

/// A host that keeps priorities paused at its switches for a time, as a broken NIC does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PauseStorm {
    /// The host.
    pub host: HostId,
    /// The port, if a single one of several.
    pub port: Option<usize>,
    /// The priorities, of which switches heed the lossless ones. None: frames of 802.3x, which switches with PFC
    /// ignore.
    pub priorities: Vec<Priority>,
    /// Begin of the storm.
    pub from: Duration,
    /// End of the storm; absent, not in this run.
    pub until: Option<Duration>,
}

impl PauseStorm {
    fn mask(&self) -> u8 {
        self.priorities.iter().fold(0, |mask, priority| mask | 1 << priority.get())
    }

    /// Whether another pauses at the same port.
    fn has_port_of(&self, other: &PauseStorm) -> bool {
        self.host == other.host && (self.port.is_none() || other.port.is_none() || self.port == other.port)
    }
}

/// Rejects storms that end before they begin, and two of a host and priority at a time.
pub(super) fn check(experiment: &Experiment) -> Result<(), InputErrors> {
    let storms = &experiment.storms;
    let mut errors = InputErrors::default();
    for (number, storm) in storms.iter().enumerate() {
        let key = format!("faults.pause_storm.{number}");
        let is_ended = storm.until.is_some_and(|until| until <= storm.from);
        let until = storm.until.unwrap_or_default();
        let expected = format!("more than {}, when it begins", storm.from);
        errors.check(InputError::unless(!is_ended, format!("{key}.until"), until, expected));
        let end = |storm: &PauseStorm| storm.until.unwrap_or(Duration::from_ps(u64::MAX));
        let meets = |other: &PauseStorm| {
            let is_alike = other.has_port_of(storm) && other.mask() & storm.mask() != 0;
            is_alike && storm.from < end(other) && other.from < end(storm)
        };
        if let Some(other) = storms[..number].iter().position(meets) {
            let expected = format!("a time apart from faults.pause_storm.{other}, of the same port and priority");
            errors.push(InputError::new(format!("{key}.from"), storm.from, expected));
        }
    }
    errors.into_result()
}

/// Schedules the storms, and gives switches their watchdog.
pub(super) fn add(experiment: &Experiment, layout: &Layout, shards: &mut [Shard]) {
    for storm in &experiment.storms {
        let channels = experiment.topology.host_channels(storm.host);
        for &channel in storm.port.map_or(channels, |port| &channels[port..=port]) {
            let (shard, port) = layout.port(&experiment.topology, channel);
            if storm.priorities.is_empty() {
                add_ignored(storm, &mut shards[shard], port);
                continue;
            }
            let times = [(Some(storm.from), true), (storm.until, false)];
            for (time, begins) in times.into_iter().filter_map(|(time, begins)| Some((time?, begins))) {
                let key = EventKey::new(port, Kind::PauseStorm, storm.mask().into());
                shards[shard].wires.queue.push(Event::new(Time::ZERO + time, key, begins.into()));
            }
        }
    }
    for shard in shards {
        let watchdog = shard.wires.constants.watchdog.clone();
        shard.switches.watchdog = watchdog.map(|params| Box::new(Watchdog::new(params)));
    }
}

/// Schedules the first frame of 802.3x, with the number of all, each after half the time of a pause.
fn add_ignored(storm: &PauseStorm, shard: &mut Shard, port: PortIndex) {
    let half = shard.wires.ports[port].quantum() * u64::from(shard.wires.constants.pause_quanta) / 2;
    let frames = |until: Duration| (until - storm.from).as_ps().div_ceil(half.as_ps().max(1));
    let count = storm.until.map_or(u64::from(u32::MAX), frames);
    let key = EventKey::new(port, Kind::PauseStorm, 0);
    shard.wires.queue.push(Event::new(Time::ZERO + storm.from, key, count as u32));
}
