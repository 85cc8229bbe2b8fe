//! A run: fabric, routing and traffic in, measures out.

use etherweave_kernel::{Processes, Worker};
use etherweave_primitives::Duration;
use etherweave_topology::{LinkClass, Topology, reverse};
use etherweave_workload::{Arrival, Pattern};

use crate::links::{LinkKind, LinkKinds, Links};
use crate::run_length::{RunControl, RunParams, load_share};
use crate::{
    build, build::Parts, constants::RunConstants, measures::Measures, notification::NotificationPlan, outage::Outages,
    params::FlowControl, params::SwitchParams, reordering, report::Report, workers,
};
use etherweave_primitives::{HostId, InputError, InputErrors};
use etherweave_routing::{Outage, PacketRouting, bounds::host_groups};

/// Experiment that is run.
pub struct Experiment<'a, R> {
    /// The fabric.
    pub topology: &'a Topology,
    /// Its switches.
    pub switch: SwitchParams,
    /// Rates and delays of its links.
    pub links: Links,
    /// Where packets go at each switch.
    pub routing: R,
    /// Whom packets are for.
    pub pattern: Pattern,
    /// When hosts make packets.
    pub arrival: Arrival,
    /// Links that fail.
    pub outages: Vec<Outage>,
    /// How long and how much.
    pub run: RunParams,
}

impl<R: PacketRouting> Experiment<'_, R> {
    /// Checks it and lays out its state.
    ///
    /// # Errors
    /// Every parameter that is out of range; that the fabric cannot be simulated.
    pub fn prepare(&self) -> Result<Prepared<'_, R>, InputErrors> {
        self.prepare_for(Worker::ALONE)
    }

    /// Checks all of it and lays out the state that one worker carries.
    pub(crate) fn prepare_for(&self, worker: Worker) -> Result<Prepared<'_, R>, InputErrors> {
        let hosts = self.topology.hosts() as u32;
        let groups = host_groups(self.topology)?;
        let channels = self.routing.channels().min(self.switch.priorities.unwrap_or(u8::MAX));
        let mut errors = InputErrors::default();
        let checked = errors.check(self.switch.check());
        let links = checked.and_then(|()| errors.check(LinkKinds::of(self.topology, &self.switch, &self.links)));
        let outages = errors.check(Outages::of(&self.outages, self.topology));
        let share = errors.check(load_share(self.run.load).map_err(|error| error.within("load")));
        let notifications = errors.check(NotificationPlan::of(self.routing.trigger(), &self.switch, &groups));
        let arrivals = links.as_ref().zip(share).and_then(|(links, share)| {
            let plan = |kind: &LinkKind| {
                let plan = self.arrival.plan(Duration::from_ns(u64::from(kind.packet)), share);
                (kind.class == LinkClass::Host).then_some(plan).transpose()
            };
            let plans = links.kinds.iter().map(plan).collect::<Result<Vec<_>, InputError>>();
            errors.check(plans.map_err(|error| error.within("arrival")))
        });
        let plan = self.pattern.plan(&groups, self.run.seed);
        let destinations = errors.check(plan.map_err(|error| error.within("pattern")));
        errors.check(self.run.length.check());
        errors.into_result()?;
        let checked = "mistakes were returned";
        let LinkKinds { kinds, numbers } = links.expect(checked);
        let constants = RunConstants {
            routing: &self.routing,
            params: &self.switch,
            has_pauses: self.switch.flow_control == FlowControl::Pauses,
            crossbar: self.switch.crossbar()?,
            packets_per_ns: packets_per_ns(self.topology, &kinds, &numbers),
            links: kinds,
            outages: outages.expect(checked),
            notifications: notifications.expect(checked),
            channel_last: channels - 1,
            arrivals: arrivals.expect(checked),
            destinations: destinations.expect(checked),
            hosts,
            watch_mask: reordering::mask(hosts),
            seed: self.run.seed,
        };
        let parts =
            build::parts(self.topology, &constants, &numbers, channels.max(self.switch.injection_channels), worker)?;
        let control = self.run.length.control(parts.window, constants.lead())?;
        Ok(Prepared { constants, parts, control, records_steps: self.run.records_steps })
    }

    /// Prepares and runs it.
    ///
    /// # Errors
    /// Those of [`Experiment::prepare`].
    pub fn run(&self, threads: usize) -> Result<Report, InputErrors> {
        Ok(self.prepare()?.run(threads))
    }

    /// Runs it on several processes, of which each carries its part of the switches and hosts on one thread. Every
    /// process calls this with the same experiment, and gets the report that [`Experiment::run`] gives.
    ///
    /// # Errors
    /// Those of [`Experiment::prepare`], on every process.
    pub fn run_on(&self, processes: &Processes) -> Result<Report, InputErrors> {
        let mut prepared = self.prepare_for(processes.worker())?;
        prepared.start();
        let Prepared { constants, parts: Parts { mut shards, division, radix, window }, control, .. } = prepared;
        let control = workers::serve(&mut shards, &constants, control, window, division, processes.end());
        let parts = processes.share(Measures::of(&shards, &constants, &control.span)).into_iter();
        let measures = parts.reduce(|mut all, next| {
            all.append(next);
            all
        });
        Ok(Report::new(measures.expect("a run has a process"), &constants, &control, radix))
    }
}

/// Packets that the links of all hosts carry in a tick.
fn packets_per_ns(topology: &Topology, kinds: &[LinkKind], numbers: &[u16]) -> f64 {
    let mut hosts = vec![0_u32; kinds.len()];
    for host in (0..topology.hosts()).map(HostId::from_index) {
        hosts[usize::from(numbers[reverse(topology.host_channel(host)).index()])] += 1;
    }
    hosts.iter().zip(kinds).map(|(&hosts, kind)| f64::from(hosts) / f64::from(kind.packet)).sum()
}

/// An experiment ready to run.
pub struct Prepared<'a, R> {
    pub(crate) constants: RunConstants<'a, R>,
    pub(crate) parts: Parts,
    pub(crate) control: RunControl,
    records_steps: bool,
}

impl<R: PacketRouting> Prepared<'_, R> {
    /// Runs on up to `threads` threads; their number changes nothing but how long it takes.
    pub fn run(mut self, threads: usize) -> Report {
        self.start();
        let Prepared { constants, parts: Parts { mut shards, division, radix, window }, control, .. } = self;
        let division = division.among(threads);
        let control = workers::run(&mut shards, &constants, &control, window, division);
        Report::new(Measures::of(&shards, &constants, &control.span), &constants, &control, radix)
    }

    /// The first packets of all hosts.
    pub(crate) fn start(&mut self) {
        self.parts.shards.iter_mut().for_each(|shard| shard.start(&self.constants, &self.control, self.records_steps));
    }
}
