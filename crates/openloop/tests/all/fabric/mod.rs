//! The dragonflies of these tests, and a run on them.

use etherweave_openloop::{
    Arbiter, Arrival, ControllerParams, Experiment, Links, OfferedTraffic, Pattern, Report, RunParams, SwitchParams,
};
use etherweave_primitives::{BitRate, Duration, InputErrors};
use etherweave_routing::{DragonflyPlan, FabricOf, FabricPlan, Outage, PacketRouting};
use etherweave_topology::{Dragonfly, Family, Topology};
use etherweave_workload::{arrival::Bernoulli, pattern::Adversarial};

/// A packet at every tick with the same chance: 200 ticks to a packet.
pub fn every_tick() -> Arrival {
    Arrival::Bernoulli(Bernoulli { slots_per_packet: 200 })
}

/// All links at 40 Gb/s, 40 ns long to hosts and within groups, 400 ns between groups.
pub fn links(topology: &Topology) -> Links {
    Links::alike(topology, BitRate::from_gbps(40), [40, 40, 400].map(Duration::from_ns))
}

/// Traffic on these links and the usual switches.
pub fn offered<'a>(fabric: impl Into<FabricOf<'a>>, pattern: Pattern, run: RunParams) -> OfferedTraffic<'a> {
    let (fabric, arrival) = (fabric.into(), every_tick());
    let (switch, controller) = (SwitchParams::default(), ControllerParams::default());
    OfferedTraffic { links: links(fabric.topology), fabric, switch, pattern, arrival, controller, run }
}

pub struct Fabric {
    pub topology: Topology,
    pub plan: DragonflyPlan,
    pub threads: usize,
    pub arbiter: Arbiter,
    pub outages: Vec<Outage>,
}

impl Fabric {
    /// Balanced, complete: `a = 2p`, `h = p`, palm tree.
    pub fn balanced(p: u32) -> Fabric {
        let topology = Dragonfly { p, a: 2 * p, h: p, ..Dragonfly::default() }.generate().unwrap();
        let plan = DragonflyPlan::of(&topology).unwrap();
        Fabric { topology, plan, threads: 1, arbiter: Arbiter::Age, outages: Vec::new() }
    }

    /// ADV+1: every host to any host of the next group.
    pub fn adversarial(&self) -> Pattern {
        Pattern::Adversarial(Adversarial::default())
    }

    /// Equal times for warming up and measuring; no link from switches to hosts, as in the paper's simulator.
    pub fn run<R: PacketRouting>(&self, routing: R, pattern: Pattern, load: f64, us: u64) -> Report {
        let arbiter = self.arbiter;
        let switch = SwitchParams { arbiter, ..SwitchParams::default() };
        self.run_with(switch, routing, pattern, load, us).unwrap()
    }

    /// The same on switches of any kind.
    pub fn run_with<R: PacketRouting>(
        &self,
        switch: SwitchParams,
        routing: R,
        pattern: Pattern,
        load: f64,
        us: u64,
    ) -> Result<Report, InputErrors> {
        let span = Duration::from_us(us);
        let run = RunParams::fixed(load, span, span, 1);
        let (topology, arrival, outages) = (&self.topology, every_tick(), self.outages.clone());
        let links = links(topology).with_ejection(topology, Duration::ZERO);
        Experiment { topology, links, switch, routing, pattern, arrival, outages, run }.run(self.threads)
    }
}
