//! Trimming that a scenario asks for: where it never acts, and where trimmed frames leave data no room.

use etherweave_primitives::Bytes;
use etherweave_sim::params::{FlowControl, SwitchParams, Threshold, Trimming};

use crate::{JobSpec, Scenario};

/// Preamble and gap, which a frame takes of a link beside its octets [B].
const PREAMBLE_AND_GAP: u64 = 20;

/// Warnings before a run of switches that trim.
pub(crate) fn warnings(scenario: &Scenario) -> Vec<String> {
    let Some(trimming) = scenario.switch.trimming else { return Vec::new() };
    if let Some(warning) = lossless(scenario) {
        return vec![warning];
    }
    let full = scenario.job.iter().find_map(|job| full_link(scenario, trimming, job));
    open_threshold(&scenario.switch).into_iter().chain(full).collect()
}

/// No job sends in a priority that may lose packets.
fn lossless(scenario: &Scenario) -> Option<String> {
    let (name, priorities) = match &scenario.flow_control {
        FlowControl::Pfc(pfc) => ("pfc", &pfc.priorities),
        FlowControl::Credits(credits) => ("credits", &credits.priorities),
        FlowControl::None {} | FlowControl::GlobalPause(_) => return None,
    };
    let is_lossless = |job: &JobSpec| priorities.contains(&job.priority);
    (!scenario.job.is_empty() && scenario.job.iter().all(is_lossless)).then(|| {
        format!(
            "switch.trimming: every job is in a priority of flow_control.{name}.priorities, which loses nothing: \
             nothing is trimmed"
        )
    })
}

/// The threshold that a scenario leaves open where no base round trip is stated from which it would follow.
fn open_threshold(switch: &SwitchParams) -> Option<String> {
    let Threshold::Alpha(alpha) = switch.egress_threshold else { return None };
    if switch.egress_threshold != SwitchParams::default().egress_threshold {
        return None;
    }
    let most = Bytes::new((switch.buffer.get() as f64 * alpha / (1.0 + alpha)) as u64 / 1000 * 1000);
    Some(format!(
        "switch.trimming: by switch.egress_threshold, {alpha} times the free buffer, a queue alone trims from {most} \
         on; a bandwidth-delay product, which the specification says, follows from the base_round_trip of \
         transport.uet.nscc or rccc, or is stated"
    ))
}

/// An incast whose trimmed frames, in a strict class, leave data less than half of the link: without a window or
/// credits each source sends at its rate. With *k* sources and trimmed frames of a share *s* of full ones, the link
/// carries data at a share *d* and trims the rest, *d* + (*k* − *d*) *s* = 1.
fn full_link(scenario: &Scenario, trimming: Trimming, job: &JobSpec) -> Option<String> {
    let size = job.workload.size().ok().filter(|size| size.receivers == 1)?;
    let sources = size.ranks - 1;
    let transport = scenario.transport_of(job);
    let uet = transport.uet().filter(|uet| uet.nscc.is_none() && uet.rccc.is_none())?;
    let trimmed = trimming.size.get() + PREAMBLE_AND_GAP;
    let share = trimmed as f64 / f64::from(transport.frame_max());
    let data = ((1.0 - sources as f64 * share) / (1.0 - share)).max(0.0);
    let flight = u64::from(uet.psn_range) * u64::from(transport.frame_max()) * sources;
    let is_bounded = matches!(scenario.switch.egress_threshold, Threshold::Static(limit) if flight <= limit.get());
    (scenario.ets.weights[trimming.class(&scenario.ets)] == 0 && data < 0.5 && !is_bounded).then(|| {
        format!(
            "switch.trimming.size: {}; {sources} sources of {}, without a window (transport.uet.nscc) or credits, \
             leave data {:.0} % of the link, since trimmed frames of {trimmed} B on the wire go first (ets.weights); \
             a smaller size, a window or a share for their class leaves more",
            trimming.size,
            job.name,
            100.0 * data
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::testing;

    fn warnings(changed: &[(&str, &str)]) -> Vec<String> {
        testing::warnings(include_str!("../../../../scenarios/trimming.toml"), changed)
    }

    /// Four sources of frames of 4,222 B: trimmed to 2,020 B on the wire they fill the link 1.9 times; to 520 B they
    /// leave 58 %.
    #[test]
    fn trimmed_frames_that_fill_a_link_are_warned_of() {
        assert_eq!(warnings(&[]), Vec::<String>::new());
        let size = |size: &'static str| ("switch.trimming.size", size);
        assert_eq!(warnings(&[size("\"500B\"")]), Vec::<String>::new());
        let [few] = &warnings(&[size("\"1kB\"")])[..] else { panic!("a single warning") };
        assert!(few.contains("leave data 4 % of the link"), "{few}");
        let [none] = &warnings(&[size("\"2kB\"")])[..] else { panic!("a single warning") };
        assert!(none.starts_with("switch.trimming.size: 2kB; 4 sources of incast"), "{none}");
        assert!(none.contains("leave data 0 % of the link"), "{none}");
        let shares = ("ets.weights", "[90, 0, 0, 0, 0, 0, 10, 0]");
        assert_eq!(warnings(&[size("\"2kB\""), shares]), Vec::<String>::new());
        let queue = |class: &'static str, weights| {
            warnings(&[size("\"2kB\""), ("switch.trimming.queue", class), ("ets.weights", weights)])
        };
        assert_eq!(queue("1", "[90, 10, 0, 0, 0, 0, 0, 0]"), Vec::<String>::new());
        let [strict] = &queue("5", "[90, 0, 0, 0, 0, 0, 10, 0]")[..] else { panic!("a single warning") };
        assert_eq!(strict, none);
    }

    #[test]
    fn trimming_that_never_acts_is_warned_of() {
        let [open] = &warnings(&[("switch.egress_threshold", "{ alpha = 8.0 }")])[..] else { panic!("a single one") };
        assert!(open.starts_with("switch.trimming: by switch.egress_threshold, 8 times the free buffer"), "{open}");
        for name in ["pfc", "credits"] {
            let lossless = ("flow_control", &*format!("{{ {name} = {{ priorities = [0] }} }}"));
            let [never] = &warnings(&[lossless, ("switch.egress_threshold", "{ alpha = 8.0 }")])[..] else {
                panic!("a single one")
            };
            let reason = format!("flow_control.{name}.priorities, which loses nothing: nothing is trimmed");
            assert!(never.contains(&reason), "{never}");
        }
    }
}
