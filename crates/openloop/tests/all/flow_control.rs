//! Credits, pauses, and what becomes of a fabric with too few priorities.

use crate::fabric::Fabric;
use etherweave_openloop::{ChannelScheduler, FlowControl, Pattern, Report, SwitchParams, WaitingChannel};
use etherweave_routing::{Conditional, DragonflyMinimal, PacketRouting, ValiantGroup};

fn run<R: PacketRouting>(fabric: &Fabric, routing: R, switch: SwitchParams, pattern: Pattern, load: f64) -> Report {
    fabric.run_with(switch, routing, pattern, load, 50).unwrap()
}

fn pauses() -> SwitchParams {
    SwitchParams { flow_control: FlowControl::Pauses, ..SwitchParams::default() }
}

#[test]
fn below_saturation_latency_is_the_same_with_credits_and_pauses() {
    let fabric = Fabric::balanced(3);
    let routing = || DragonflyMinimal { plan: fabric.plan.clone() };
    let credits = fabric.run(routing(), Pattern::default(), 0.3, 50);
    let pauses = run(&fabric, routing(), pauses(), Pattern::default(), 0.3);
    assert!(pauses.paused.iter().all(|&share| share == 0.0));
    let [credits, pauses] = [credits, pauses].map(|report| report.latency_ns_mean.unwrap());
    assert!((pauses / credits - 1.0).abs() < 0.005, "{pauses} {credits}");
}

#[test]
fn pauses_lose_nothing_however_full_the_fabric_is_and_their_time_is_reported() {
    // That no buffer overflows and no packet is lost is asserted in every run.
    let fabric = Fabric::balanced(2);
    let report = run(&fabric, DragonflyMinimal { plan: fabric.plan.clone() }, pauses(), fabric.adversarial(), 1.0);
    // The one global link of each group is always busy and its switch's buffers are full; hosts elsewhere wait.
    let busiest = report.busy.iter().copied().fold(0.0, f32::max);
    assert!((busiest - 1.0).abs() < 0.005, "{busiest}");
    let paused = report.paused.iter().copied().fold(0.0, f32::max);
    assert!(paused > 0.1 && paused < 1.0, "{paused}");
    assert!((report.load_accepted - 1.0 / 8.0).abs() < 0.002, "{}", report.load_accepted);
}

/// Full uniform load; queues of outputs are short, so that rules are inactive early.
#[test]
fn conditional_rules_accept_full_uniform_load_where_later_channels_leave_first() {
    let fabric = Fabric::balanced(2);
    let run = |scheduler| {
        let switch = SwitchParams { scheduler, output_queue: 3, ..pauses() };
        let routing = Conditional { plan: fabric.plan.clone(), h: 2 };
        fabric.run_with(switch, routing, Pattern::default(), 1.0, 100).unwrap()
    };
    let [strict, in_turn] = [ChannelScheduler::Strict, ChannelScheduler::RoundRobin].map(run);
    let minimal = DragonflyMinimal { plan: fabric.plan.clone() };
    let switch = SwitchParams { output_queue: 3, ..pauses() };
    let minimal = fabric.run_with(switch, minimal, Pattern::default(), 1.0, 100).unwrap();
    assert!(strict.load_accepted > minimal.load_accepted, "{} {}", strict.load_accepted, minimal.load_accepted);
    // In turn, what hosts send by non-minimal paths takes half of a global link where packets on their way want all of
    // it: links are full, of packets that cross two. 64 of 71 destinations are in other groups, a global link a host.
    let links = in_turn.load_accepted * (64.0 / 71.0 + in_turn.misrouted_share.unwrap());
    assert!(links > 0.95 && in_turn.load_accepted < 0.75, "{links} {}", in_turn.load_accepted);
}

#[test]
fn pauses_give_the_same_report_on_any_number_of_threads() {
    let mut fabric = Fabric::balanced(3);
    let mut on = |threads| {
        fabric.threads = threads;
        run(&fabric, ValiantGroup { plan: fabric.plan.clone() }, pauses(), fabric.adversarial(), 0.8)
    };
    let alone = on(1);
    assert_eq!([on(2), on(5)], [alone.clone(), alone]);
}

#[test]
fn a_buffer_without_room_for_what_follows_a_pause_is_rejected() {
    let fabric = Fabric::balanced(2);
    let switch = SwitchParams { global_buffer: 5, ..pauses() };
    let routing = DragonflyMinimal { plan: fabric.plan.clone() };
    let error = fabric.run_with(switch, routing, Pattern::default(), 0.1, 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "flow_control.pfc.global_buffer: 5; expected more, for what comes after a pause: 800 ns there and back"
    );
}

/// The deadlock cycle of a routing with so many priorities and small buffers at full load; empty when there is none.
fn cycle<R: PacketRouting>(fabric: &Fabric, routing: R, priorities: u8) -> Vec<WaitingChannel> {
    let small = SwitchParams { local_buffer: 2, global_buffer: 2, output_queue: 1, ..SwitchParams::default() };
    let switch = SwitchParams { priorities: Some(priorities), ..small };
    let report = run(fabric, routing, switch, Pattern::default(), 1.0);
    // A fabric that is idle for so long delivers nothing, and that is a deadlock cycle.
    assert_eq!(report.load_accepted == 0.0, !report.deadlock.is_empty(), "{:?}", report.deadlock);
    assert_eq!(report.idle_ns > 10_000, !report.deadlock.is_empty(), "idle for {} ns", report.idle_ns);
    report.deadlock
}

#[test]
fn one_priority_less_than_the_proof_requires_deadlocks_in_a_cycle_that_is_reported() {
    let fabric = Fabric::balanced(2);
    let minimal = |priorities| cycle(&fabric, DragonflyMinimal { plan: fabric.plan.clone() }, priorities);
    let valiant = |priorities| cycle(&fabric, ValiantGroup { plan: fabric.plan.clone() }, priorities);
    let conditional = |priorities| cycle(&fabric, Conditional { plan: fabric.plan.clone(), h: 2 }, priorities);
    assert_eq!((minimal(2), conditional(2), valiant(3)), (Vec::new(), Vec::new(), Vec::new()));
    for (found, priorities) in [(minimal(1), 1), (conditional(1), 1), (valiant(2), 2)] {
        // A cycle leads through several switches, once through each of its channels, all of which exist.
        assert!(found.len() > 2, "{found:?}");
        assert!(found.iter().all(|step| step.channel < priorities && step.switch < 36));
        let mut steps: Vec<_> = found.iter().map(|step| (step.switch, step.port, step.channel)).collect();
        steps.sort_unstable();
        steps.dedup();
        assert_eq!(steps.len(), found.len());
    }
}

#[test]
fn with_pauses_too_few_priorities_stop_as_well() {
    let fabric = Fabric::balanced(2);
    // In turn: by strict priority the cycle does not close in this run.
    let scheduler = ChannelScheduler::RoundRobin;
    let small = SwitchParams { local_buffer: 3, global_buffer: 7, output_queue: 1, scheduler, ..pauses() };
    let accepted = |priorities| {
        let switch = SwitchParams { priorities: Some(priorities), ..small.clone() };
        let routing = ValiantGroup { plan: fabric.plan.clone() };
        run(&fabric, routing, switch, Pattern::default(), 1.0).load_accepted
    };
    assert!(accepted(3) > 0.2, "{}", accepted(3));
    assert_eq!(accepted(2), 0.0);
}
