//! What the examples share: a dragonfly, its switches, patterns and routings, given as words such as `p=4`.

use etherweave_openloop::{
    Arbiter, Arrival, Experiment, FlowControl, Links, Pattern, RunLength, RunParams, SwitchParams,
};
use etherweave_primitives::{BitRate, Duration};
use etherweave_routing::{
    Conditional, DragonflyMinimal, DragonflyPlan, FabricPlan, PacketRouting, Piggyback, UgalLocal, ValiantGroup,
};
use etherweave_topology::{Dragonfly, Topology, TopologyKind};
use etherweave_workload::{arrival::Bernoulli, pattern::Adversarial};

/// Words `key=value`.
pub struct Words(pub Vec<String>);

impl Words {
    pub fn value(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    pub fn number(&self, key: &str, default: u64) -> u64 {
        self.value(key).map_or(default, |word| word.parse().expect("a whole number"))
    }

    fn list<'a>(&'a self, key: &str, default: &'a str) -> impl Iterator<Item = &'a str> + Clone {
        self.value(key).unwrap_or(default).split(',')
    }

    /// Every routing with every pattern at every load.
    pub fn points(&self) -> Vec<Point<'_>> {
        let routings = self.list("routing", "MIN,VAL,UGAL-L,PB,conditional");
        let patterns = self.list("pattern", "UN,ADV+1");
        let at = patterns.flat_map(|pattern| self.list("load", "0.2,0.5,0.8,1").map(move |load| (pattern, load)));
        at.flat_map(|(pattern, load)| {
            let load = load.parse().expect("a load");
            routings.clone().map(move |routing| Point { routing, pattern, load })
        })
        .collect()
    }
}

const H: u64 = 4;

/// The dragonfly.
pub fn kind(words: &Words) -> TopologyKind {
    let [p, a, h] = [("p", 4), ("a", 8), ("h", H)].map(|(key, default)| words.number(key, default) as u32);
    let groups = words.number("groups", u64::from(a * h + 1)) as u32;
    TopologyKind::Dragonfly(Dragonfly { p, a, h, groups: Some(groups), ..Dragonfly::default() })
}

/// Point that is run, by name.
pub struct Point<'a> {
    pub routing: &'a str,
    pub pattern: &'a str,
    pub load: f64,
}

/// Settings that all points of an example share.
pub struct Setting {
    pub topology: Topology,
    plan: DragonflyPlan,
    /// Global ports of every switch.
    h: u8,
    pub switch: SwitchParams,
    length: RunLength,
    pub seed: u64,
    /// Whether to keep what every port sent in every batch.
    records_steps: bool,
}

/// Action on a point, whichever routing it has.
pub trait Act {
    fn act<R: PacketRouting>(&mut self, point: &Point<'_>, experiment: &Experiment<'_, R>);
}

impl Setting {
    pub fn of(words: &Words) -> Setting {
        let topology = kind(words).generate().expect("a dragonfly");
        Setting {
            plan: DragonflyPlan::of(&topology).expect("a complete dragonfly"),
            topology,
            h: words.number("h", H) as u8,
            switch: switch(words),
            length: length(words),
            seed: words.number("seed", 1),
            records_steps: words.value("steps") == Some("true"),
        }
    }

    /// Does it with the routing of the point's name.
    pub fn with(&self, point: &Point<'_>, act: &mut impl Act) {
        let plan = self.plan.clone();
        match point.routing {
            "MIN" => act.act(point, &self.experiment(point, DragonflyMinimal { plan })),
            "VAL" => act.act(point, &self.experiment(point, ValiantGroup { plan })),
            "conditional" => act.act(point, &self.experiment(point, Conditional { plan, h: self.h })),
            "UGAL-L" => act.act(point, &self.experiment(point, UgalLocal { plan, threshold: 0 })),
            "PB" => act.act(point, &self.experiment(point, Piggyback::new(plan))),
            unknown => panic!("unknown routing {unknown}; known: MIN, VAL, UGAL-L, PB, conditional"),
        }
    }

    /// The links of the paper: 40 Gb/s, 40 and 400 ns. Its simulator has none from a switch to its hosts.
    fn links(&self) -> Links {
        let delays = [40, 40, 400].map(Duration::from_ns);
        Links::alike(&self.topology, BitRate::from_gbps(40), delays).with_ejection(&self.topology, Duration::ZERO)
    }

    pub fn experiment<R>(&self, point: &Point<'_>, routing: R) -> Experiment<'_, R> {
        Experiment {
            topology: &self.topology,
            links: self.links(),
            switch: self.switch.clone(),
            routing,
            pattern: match point.pattern {
                "UN" => Pattern::default(),
                "ADV+1" => Pattern::Adversarial(Adversarial::default()),
                unknown => panic!("unknown pattern {unknown}; known: UN, ADV+1"),
            },
            arrival: Arrival::Bernoulli(Bernoulli { slots_per_packet: 200 }),
            outages: Vec::new(),
            run: RunParams {
                load: point.load,
                length: self.length.clone(),
                records_steps: self.records_steps,
                seed: self.seed,
            },
        }
    }
}

/// Equal times for warming up and measuring, or until both are steady.
fn length(words: &Words) -> RunLength {
    if words.value("us") == Some("steady") {
        return RunLength::default();
    }
    let span = Duration::from_us(words.number("us", 50));
    RunLength::fixed(span, span)
}

fn switch(words: &Words) -> SwitchParams {
    SwitchParams {
        arbiter: match words.value("arbiter").unwrap_or("age") {
            "age" => Arbiter::Age,
            "round_robin" => Arbiter::RoundRobin,
            "least_recently_served" => Arbiter::LeastRecentlyServed,
            unknown => panic!("unknown arbiter {unknown}; known: age, round_robin, least_recently_served"),
        },
        transit_first: words.value("transit_first") == Some("true"),
        output_queue: words.number("output_queue", 10) as u32,
        flow_control: match words.value("flow_control").unwrap_or("credits") {
            "credits" => FlowControl::Credits,
            "pauses" => FlowControl::Pauses,
            unknown => panic!("unknown flow control {unknown}; known: credits, pauses"),
        },
        ..SwitchParams::default()
    }
}
