//! Receive buffers of NICs: when they pause their switch where the file leaves that open, and whether they lose
//! packets.

use etherweave_primitives::{Bytes, HostId, InputError, InputErrors};
use etherweave_sim::params::{self, FlowControl, NicParams};
use etherweave_sim::{largest_packet, nic_headroom};
use etherweave_topology::Topology;
use toml::Table;

use crate::{Scenario, parts::host_ports::generate};

/// Largest packets below XOFF at the least: a NIC that pauses for fewer would stop its switch at every packet.
const PACKETS_BELOW_XOFF_MIN: u64 = 2;

/// Sets `nic.xoff` and `nic.xon` where the table `nic` has none: above XOFF there is room for what is sent over the
/// longest cable of a host until a pause takes effect.
///
/// # Errors
/// When the receive buffer is too small for that.
pub(crate) fn complete(nic: Option<&Table>, scenario: &mut Scenario) -> Result<(), InputErrors> {
    let states = |key: &str| nic.is_some_and(|nic| nic.contains_key(key));
    if states("xoff") || !fills_nics(scenario) {
        return Ok(());
    }
    let Some((needed, host)) = headroom(scenario) else { return Ok(()) };
    let default = NicParams::default();
    let NicParams { receive_buffer, xon, .. } = scenario.nic;
    let xoff_min = largest_packet(&scenario.params()) * PACKETS_BELOW_XOFF_MIN;
    let expected = || {
        format!(
            "at least {}, of which {needed} for what is sent to {host} until a pause takes effect; or nic.xoff, \
             where losses are meant",
            needed + xoff_min
        )
    };
    InputError::unless(receive_buffer >= needed + xoff_min, "nic.receive_buffer", receive_buffer, expected())?;
    scenario.nic.xoff = default.xoff.min(receive_buffer - needed);
    if !states("xon") {
        scenario.nic.xon = xon.min(Bytes::new(scenario.nic.xoff.get() * default.xon.get() / default.xoff.get()));
    }
    Ok(())
}

/// A receive buffer that is filled by what is sent after its NIC has paused the switch.
pub(crate) fn warning(scenario: &Scenario, topology: &Topology) -> Option<String> {
    if !fills_nics(scenario) {
        return None;
    }
    let NicParams { receive_buffer, xoff, .. } = scenario.nic;
    let room = receive_buffer - xoff;
    let (needed, host) = nic_headroom(topology, &scenario.params())?;
    (needed > room).then(|| {
        format!(
            "nic.receive_buffer: {receive_buffer}, {room} above nic.xoff; a cable to {} needs {needed} for what is \
             sent until a pause takes effect, so that lossless packets may be lost in the NIC",
            topology.host_name(host)
        )
    })
}

/// Whether packets meet NICs that pause.
fn fills_nics(scenario: &Scenario) -> bool {
    let pauses = match &scenario.flow_control {
        FlowControl::Pfc(_) | FlowControl::GlobalPause(_) => true,
        FlowControl::None {} | FlowControl::Credits(_) => false,
    };
    pauses && scenario.job.iter().any(|job| scenario.fidelity(job).is_packet())
}

/// Room that is needed above XOFF, and the host that needs it; None where the file has a mistake, which is reported
/// later.
fn headroom(scenario: &Scenario) -> Option<(Bytes, String)> {
    let mut params = scenario.params();
    (params.nic.xoff, params.nic.xon) = (Bytes::ZERO, Bytes::ZERO);
    params::check(&params).ok()?;
    let topology = generate(scenario).ok()?;
    let (needed, host): (Bytes, HostId) = nic_headroom(&topology, &params)?;
    Some((needed, topology.host_name(host).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::warnings;

    fn nic(cable: &str, nic: &str) -> Result<NicParams, String> {
        let text = format!(
            "topology.single_switch = {{ hosts = 2, rate = \"400Gb/s\", cable = \"{cable}\" }}\nnic = {{ {nic} }}\n\
             [[job]]\nname = \"j\"\nworkload.osu_latency = {{}}\n"
        );
        Scenario::parse(&text, "x.toml", &[]).map(|scenario| scenario.nic).map_err(|error| error.to_string())
    }

    fn thresholds(cable: &str, keys: &str) -> (u64, u64) {
        let nic = nic(cable, keys).unwrap();
        (nic.xoff.get(), nic.xon.get())
    }

    #[test]
    fn a_nic_pauses_earlier_behind_a_longer_cable() {
        let default = NicParams::default();
        let usual = (default.xoff.get(), default.xon.get());
        assert_eq!(thresholds("3m", ""), usual);
        let (xoff, xon) = thresholds("500m", "");
        // Both directions of 500 m at 5 ns/m are 5 us, 250,000 B at 400 Gb/s, of which 67,000 B drain at 107 Gb/s;
        // latency, reaction and two frames come on top.
        assert!((2 * 4_156..262_016 - 183_000).contains(&xoff), "{xoff}");
        assert_eq!(xon, xoff * 3 / 4);
        assert!(thresholds("510m", "").0 < xoff);
        assert_eq!(thresholds("500m", "receive_buffer = \"1MB\""), usual);
    }

    #[test]
    fn stated_thresholds_stay() {
        assert_eq!(thresholds("500m", "xoff = \"128KiB\""), (131_072, 98_304));
        assert_eq!(thresholds("500m", "xon = \"1KiB\"").1, 1_024);
    }

    #[test]
    fn a_cable_that_no_threshold_suits_is_refused() {
        let error = nic("5km", "").unwrap_err();
        assert!(error.contains("nic.receive_buffer: 262016B; expected at least "), "{error}");
        assert!(nic("5km", "xoff = \"128KiB\"").is_ok());
    }

    #[test]
    fn buffers_that_nobody_pauses_have_no_threshold() {
        let text = "topology.single_switch.hosts = 2\nflow_control.credits = {}\nnic.receive_buffer = \"64KiB\"\n\
                    [[job]]\nname = \"j\"\nworkload.osu_latency = {}\n";
        assert_eq!(warnings(text, &[]), Vec::<String>::new());
    }
}
