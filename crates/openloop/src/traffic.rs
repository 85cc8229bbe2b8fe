//! Traffic offered to a fabric: what is sent, over which switches and links.

use etherweave_kernel::Processes;
use etherweave_primitives::{InputError, InputErrors};
use etherweave_routing::bounds::{Bound, bound, host_groups};
use etherweave_routing::{ControllerParams, FabricOf, KnownTraffic, PacketRouting, RoutingKind, Visit};

use crate::{
    Arrival, Pattern, links::Links, params::SwitchParams, report::Report, run_length::RunParams, simulation::Experiment,
};

/// Traffic that is sent, and the switches that it crosses.
pub struct OfferedTraffic<'a> {
    /// The fabric.
    pub fabric: FabricOf<'a>,
    /// Its switches.
    pub switch: SwitchParams,
    /// Rates and delays of its links.
    pub links: Links,
    /// Whom packets are for.
    pub pattern: Pattern,
    /// When hosts make packets.
    pub arrival: Arrival,
    /// The controller, where the routing has one.
    pub controller: ControllerParams,
    /// How long and how much.
    pub run: RunParams,
}

impl OfferedTraffic<'_> {
    /// Runs the traffic with a routing, on up to `threads` threads.
    ///
    /// # Errors
    /// When the routing does not work on the fabric, or a parameter is out of range.
    pub fn run_with(&self, routing: RoutingKind, threads: usize) -> Result<Report, InputErrors> {
        self.run_on(&Processes::ALONE, routing, threads)
    }

    /// The same on several processes, on one thread of each; on one process as [`OfferedTraffic::run_with`].
    ///
    /// # Errors
    /// Those of [`OfferedTraffic::run_with`], on every process.
    pub fn run_on(&self, processes: &Processes, routing: RoutingKind, threads: usize) -> Result<Report, InputErrors> {
        routing.with(self.fabric, RunWith { traffic: self, threads, processes })?
    }

    /// Returns the most that the fabric accepts of the traffic with a routing; absent where [`bound`] has none.
    ///
    /// # Errors
    /// When the routing does not work on the fabric, or the pattern does not fit it.
    pub fn bound_with(&self, routing: RoutingKind) -> Result<Option<Bound>, InputError> {
        routing.with(self.fabric, BoundOf(self))?
    }

    /// Returns the facts of it that a controller gets to know.
    ///
    /// # Errors
    /// When the pattern does not fit the fabric.
    pub fn known(&self) -> Result<KnownTraffic, InputError> {
        let groups = host_groups(self.fabric.topology)?;
        let destinations = self.pattern.plan(&groups, self.run.seed).map_err(|error| error.within("pattern"))?;
        Ok(KnownTraffic { destinations, load: self.run.load, reaction: self.controller.reaction })
    }
}

struct RunWith<'a> {
    traffic: &'a OfferedTraffic<'a>,
    threads: usize,
    processes: &'a Processes,
}

impl Visit for RunWith<'_> {
    type Output = Result<Report, InputErrors>;

    fn visit<R: PacketRouting>(self, mut routing: R) -> Self::Output {
        routing.learn(|| self.traffic.known())?;
        self.traffic.switch.priorities.into_iter().for_each(|priorities| routing.share_priorities(priorities));
        let OfferedTraffic { fabric, switch, links, pattern, arrival, run, .. } = self.traffic;
        let (topology, outages) = (fabric.topology, fabric.outages);
        let (switch, links, run) = (switch.clone(), links.clone(), run.clone());
        let (pattern, arrival, outages) = (pattern.clone(), arrival.clone(), outages.to_vec());
        let experiment = Experiment { topology, switch, links, routing, pattern, arrival, outages, run };
        if self.processes.are_several() { experiment.run_on(self.processes) } else { experiment.run(self.threads) }
    }
}

struct BoundOf<'a>(&'a OfferedTraffic<'a>);

impl Visit for BoundOf<'_> {
    type Output = Result<Option<Bound>, InputError>;

    fn visit<R: PacketRouting>(self, routing: R) -> Self::Output {
        let BoundOf(traffic) = self;
        let topology = traffic.fabric.topology;
        let rates = traffic.links.shares();
        bound(topology, &rates, &routing, &traffic.pattern, traffic.run.seed)
    }
}
