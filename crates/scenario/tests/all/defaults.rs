//! Defaults of keys that a scenario leaves out.

use etherweave_primitives::Bytes;
use etherweave_scenario::Scenario;
use etherweave_sim::params::{HostParams, MpiParams};

use super::results::overrides;

fn host(settings: &[(&str, &str)]) -> Result<HostParams, String> {
    let text = "[topology.single_switch]\n[[job]]\nname = \"a\"\nworkload.osu_latency = {}\n";
    let scenario = Scenario::parse(text, "a.toml", &overrides(settings)).map_err(|error| error.to_string())?;
    Ok(scenario.host)
}

#[test]
fn a_change_of_one_key_leaves_the_others_of_an_mpi_library_to_its_transport() {
    let host = host(&[("host.mpi_tcp.header", "\"16B\""), ("host.mpi_roce.header", "\"9B\"")]).unwrap();
    assert_eq!(host.mpi_tcp, MpiParams { header: Bytes::new(16), ..MpiParams::tcp() });
    assert_eq!(host.mpi_roce, MpiParams { header: Bytes::new(9), ..MpiParams::roce() });
}

#[test]
fn an_unknown_key_of_an_mpi_library_is_reported_with_the_known_ones() {
    let error = host(&[("host.mpi_tcp.heder", "\"16B\"")]).unwrap_err();
    assert!(error.contains("heder") && error.contains("expected one of `send_overhead`"), "{error}");
}
