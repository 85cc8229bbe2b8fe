//! Lossless priorities and shares of classes at a port, where the file leaves these open: those that routing and plan
//! need.

use etherweave_primitives::Priority;
use etherweave_sim::{Paths, params::Ets, params::FlowControl};
use toml::{Table, Value};

use crate::parts::routing::{goes_by_rules, is_by_packet, paths};
use crate::{
    JobSpec, Scenario, parts::control::ControlSpec, parts::control::RuleKind, parts::faults,
    parts::host_ports::generate,
};

pub(crate) struct OpenClasses {
    /// Whether lossless priorities are open.
    pub priorities: bool,
    /// Shares of classes.
    pub weights: bool,
}

impl OpenClasses {
    pub(crate) fn complete(&self, scenario: &mut Scenario) {
        let by_rules = goes_by_rules(scenario.routing);
        let is_asked = self.priorities || self.weights && by_rules;
        let count = if is_asked { channels(scenario) } else { 1 };
        let raised = |first: Priority| Priority::all().skip(first.index()).take(usize::from(count));
        let firsts = firsts(scenario, count);
        if self.priorities {
            add_lossless(&mut scenario.flow_control, firsts.iter().flat_map(|&first| raised(first)));
        }
        if self.weights {
            let mut chains: Vec<Vec<Priority>> = vec![chain_of_plan(&scenario.control)];
            chains.extend(firsts.iter().filter(|_| by_rules).map(|&first| raised(first).collect()));
            scenario.ets.weights = rising(&scenario.ets, &chains).unwrap_or(scenario.ets.weights);
        }
    }
}

/// Whether a file says which priorities are lossless.
pub(crate) fn states_priorities(values: &Table) -> bool {
    let has_priorities = |kinds: &Table| kinds.values().any(|kind| kind.get("priorities").is_some());
    values.get("flow_control").and_then(Value::as_table).is_some_and(has_priorities)
}

/// Whether a file gives the shares of classes.
pub(crate) fn states_weights(values: &Table) -> bool {
    values.get("ets").is_some_and(|ets| ets.get("weights").is_some())
}

/// Priorities that the packets of a job travel with.
fn channels(scenario: &Scenario) -> u8 {
    let made = || {
        let topology = generate(scenario).ok()?;
        let outages = faults::outages(&scenario.faults, &topology).ok()?;
        paths(scenario, &topology, &outages).ok()
    };
    match scenario.job.is_empty() || !is_by_packet(scenario) {
        true => 1,
        false => made().map_or(1, |paths| match paths {
            Paths::PerFlow { .. } => 1,
            Paths::PerPacket(prepared) => prepared.priorities(),
        }),
    }
}

/// First priorities of the jobs whose packets a routing of so many priorities raises: those of RoCE, and those that
/// begin lossless. What does not fit is reported when it is built.
fn firsts(scenario: &Scenario, count: u8) -> Vec<Priority> {
    let lossless = match &scenario.flow_control {
        FlowControl::Pfc(pfc) => pfc.priorities.as_slice(),
        FlowControl::Credits(credits) => &credits.priorities,
        FlowControl::None {} | FlowControl::GlobalPause(_) => &[],
    };
    let is_raised =
        |job: &&JobSpec| count > 1 && scenario.transport_of(job).expects_no_loss() || lossless.contains(&job.priority);
    scenario.job.iter().filter(is_raised).map(|job| job.priority).collect()
}

fn add_lossless(flow_control: &mut FlowControl, raised: impl Iterator<Item = Priority>) {
    let priorities = match flow_control {
        FlowControl::Pfc(pfc) => &mut pfc.priorities,
        FlowControl::Credits(credits) => &mut credits.priorities,
        FlowControl::None {} | FlowControl::GlobalPause(_) => return,
    };
    priorities.extend(raised);
    priorities.sort_unstable();
    priorities.dedup();
}

/// The priorities that frames take one after the other under planned conditional rules.
fn chain_of_plan(control: &ControlSpec) -> Vec<Priority> {
    let is_planned = control.rules == RuleKind::Conditional;
    let numbers = control.priorities.iter().filter(|_| is_planned);
    numbers.filter_map(|&number| Priority::try_from(number).ok()).collect()
}

/// How much more of a link a priority of conditional rules gets than the one before it, where that fits into 100 %.
const FACTORS: [u32; 2] = [3, 2];

/// Shares [%] of all classes under conditional rules whose packets take these priorities one after the other: each
/// later one has a multiple of the share of the one before. Packets on their way then leave full links before hosts
/// send more into them by non-minimal paths, and these are not starved as strict priority would. None where there is
/// no later one, or no room.
fn rising(ets: &Ets, chains: &[Vec<Priority>]) -> Option<[u8; Priority::COUNT]> {
    let class = |priority: Priority| usize::from(ets.class_of_priority[priority.index()]);
    let mut steps = [0u32; Priority::COUNT];
    for (step, &priority) in chains.iter().flat_map(|chain| (0..).zip(chain)) {
        let step_of_class = steps.get_mut(class(priority))?;
        *step_of_class = step.max(*step_of_class);
    }
    if steps == [0; Priority::COUNT] {
        return None;
    }
    let parts = |factor: u32| {
        let is_used = |of: usize| ets.class_of_priority.iter().any(|&class| usize::from(class) == of);
        std::array::from_fn(|of| if is_used(of) { factor.pow(steps[of]) } else { 0 })
    };
    let fitting =
        FACTORS.into_iter().map(parts).find(|parts: &[u32; Priority::COUNT]| parts.iter().sum::<u32>() <= 100);
    fitting.map(shares)
}

/// Shares [%] in these proportions, of which the largest takes what is left of rounding.
fn shares(parts: [u32; Priority::COUNT]) -> [u8; Priority::COUNT] {
    let unit = 100 / parts.iter().sum::<u32>();
    let mut weights = parts.map(|part| (part * unit) as u8);
    let rest = 100 - weights.iter().sum::<u8>();
    if let Some(largest) = weights.iter_mut().max() {
        *largest += rest;
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(text: &str) -> [u8; Priority::COUNT] {
        Scenario::parse(text, "x.toml", &[]).unwrap().ets.weights
    }

    const JOB: &str = "[[job]]\nname = \"a\"\nworkload.permutation = { ranks = 8 }\n";

    #[test]
    fn a_later_priority_of_conditional_rules_has_three_times_the_share_of_the_one_before() {
        let run = |routing: &str, more: &str| {
            weights(&format!("routing = \"{routing}\"\n{more}[topology.dragonfly]\n[transport.roce]\n{JOB}"))
        };
        let equal = Ets::default().weights;
        for routing in ["conditional", "conditional_tables"] {
            assert_eq!(run(routing, ""), [10, 30, 10, 10, 10, 10, 10, 10], "{routing}");
        }
        assert_eq!(run("minimal", ""), equal);
        let stated = [50, 0, 0, 0, 0, 0, 0, 50];
        assert_eq!(run("conditional", &format!("ets.weights = {stated:?}\n")), stated);
        let two = "ets.class_of_priority = [0, 2, 2, 0, 0, 0, 0, 0]\n";
        assert_eq!(run("conditional", two), [25, 0, 75, 0, 0, 0, 0, 0], "classes of no priority have no share");
        let plan = |rules: &str, priorities: &str| {
            weights(&format!("[topology.dragonfly]\n[control]\nrules = \"{rules}\"\npriorities = {priorities}\n"))
        };
        assert_eq!(plan("conditional", "[3, 4]"), [10, 10, 10, 10, 30, 10, 10, 10]);
        assert_eq!(plan("conditional", "[4, 3]"), [10, 10, 10, 30, 10, 10, 10, 10]);
        assert_eq!(plan("minimal", "[3, 4]"), equal);
    }

    #[test]
    fn several_later_priorities_rise_by_steps_and_a_tree_has_one() {
        let run = |topology: &str| {
            weights(&format!("routing = \"conditional_tables\"\n[topology.{topology}]\n[transport.roce]\n{JOB}"))
        };
        assert_eq!(run("flattened_butterfly"), [5, 15, 55, 5, 5, 5, 5, 5]);
        assert_eq!(run("folded_clos"), Ets::default().weights);
    }

    #[test]
    fn many_priorities_rise_by_less_or_keep_equal_shares() {
        let chain = |count| vec![Priority::all().take(count).collect()];
        let weights = rising(&Ets::default(), &chain(5)).unwrap();
        assert_eq!(weights, [2, 4, 8, 16, 64, 2, 2, 2], "3 would need 121 of 100");
        assert_eq!([rising(&Ets::default(), &chain(8)), rising(&Ets::default(), &chain(1))], [None, None]);
    }

    #[test]
    fn a_resolved_scenario_keeps_its_weights() {
        let text = format!("routing = \"conditional\"\n[topology.dragonfly]\n[transport.roce]\n{JOB}");
        let resolved = Scenario::parse(&text, "x.toml", &[]).unwrap();
        assert_eq!(weights(&resolved.resolved()), resolved.ets.weights);
    }
}
