//! One scenario file makes one run.
//!
//! - [`Scenario`] is the file as a value: every option with its default. [`Scenario::parse`] reads it and reports every
//!   independent mistake with its place and what is expected there; [`Scenario::resolved`] writes it out in full.
//! - [`Run::start`] builds the simulation, [`Run::finish`] runs it; [`Outcome`] has the tables and the summary.
//! - [`Schedules`] are the jobs for a real cluster: what a run would simulate, as bytes to execute.
//! - [`Fabric`] is what a scenario says is connected to what, for everything that is known without a run.
//!
//! The only crate of the core that reads a clock, how much memory there is, and files: what a scenario names, and
//! recordings ([`RecordedProgram`]). Left out: the scenario's own file; callers pass its text.

mod check;
mod deployment;
mod documents;
mod effect;
mod fabric;
mod forecast;
mod interconnect;
mod observation;
mod open_loop;
mod parts;
mod recorded;
mod result;
mod run;
mod scenario;
mod schedules;
#[cfg(test)]
mod testing;
mod text;

pub use deployment::{Deployment, Question};
pub use documents::check_document;
pub use etherweave_design::{Comparison, Design, DesignMetrics, DesignStep};
pub use etherweave_kernel::Processes;
pub use etherweave_primitives::{Fault, InputError, TextPlace, record_panics, take_fault};
pub use etherweave_sim::Progress;
pub use fabric::{Fabric, ProposedScenario, largest, proposals};
pub use forecast::estimate::{Estimate, foresee};
pub use interconnect::{InterconnectSpec, figures};
pub use observation::PointChoice;
pub use open_loop::{CurveProgress, OpenLoopSpec};
pub use parts::connections::Connections;
pub use parts::control::{AddressKind, ControlSpec, PauseKind, ResolutionKind, RuleKind, SpoofingKind};
pub use parts::fast_forward::{FastForwardSpec, Skipped};
pub use parts::faults::{DegradedSpec, DownSpec, FaultsSpec};
pub use parts::host_ports::HostPortsSpec;
pub use parts::pattern_spec::PatternSpec;
pub use parts::sampling::ObserveSpec;
pub use parts::sweep::{AxisSpec, SampleMethod, SampleSpec, Scale, SweepSpec};
pub use recorded::{RecordedFacts, RecordedProgram};
pub use result::measured::PortSent;
pub use result::outcome::{Outcome, Summary};
pub use result::tables::{Column, Groups, LateTable, Table, Texts};
pub use result::workload_figures::workload_figures;
pub use run::{Run, RunOptions};
pub use scenario::{JobSpec, RunSpec, Scenario, sweep};
pub use schedules::{JobSchedule, Schedules, convert_goal};
pub use text::error::{Mistake, ScenarioError};

/// Types of objects that decide in place of members of the core, by [`RunOptions::prototypes`].
pub mod extend {
    pub use etherweave_primitives::{BitRate, Duration, Rank, Time};
    pub use etherweave_routing::{AskingPacket, CallerPortChoice, PortChoice, PortChoiceStart, QueuedPort};
    pub use etherweave_sim::transport::entropy::{CallerChoice, CallerChoiceStart, EntropyChoice, PathFeedback};
    pub use etherweave_sim::transport::prototype::{PrototypeControl, PrototypeStart};
    pub use etherweave_sim::transport::roce::{Feedback, FreshConnection, Progress, SenderControl};
    pub use etherweave_sim::transport::telemetry::{PathTelemetry, PortTelemetry};
    pub use etherweave_workload::{DrivenRank, Driver, DriverEvent, DriverStart, GraphOp, NextOperations, Received};

    pub use crate::parts::prototypes::Prototypes;
}

/// The formats of [`Fabric::export`], with a sentence about each.
pub fn exports() -> Vec<(&'static str, &'static str)> {
    etherweave_topology::Export::ALL.iter().map(|export| (export.name(), export.help())).collect()
}

/// Sizes of the headers of a frame [B], which formulas over frames need.
pub fn header_bytes() -> [(&'static str, u32); 8] {
    use etherweave_sim::frame::size;
    [
        ("preamble_and_gap", size::PREAMBLE_AND_GAP),
        ("ethernet", size::ETHERNET),
        ("ipv4", size::IPV4),
        ("udp", size::UDP),
        ("tcp_timestamps", size::TCP_TIMESTAMPS),
        ("grh", size::GRH),
        ("bth", size::BTH),
        ("icrc", size::ICRC),
    ]
}

/// JSON Schema of a scenario file: the same text for the same version.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    for (table, key, value) in text::files::name_keys() {
        schema["$defs"][table]["properties"][key] = value;
    }
    schema["$defs"]["InterconnectSpec"]["properties"]["profile"]["enum"] = interconnect::SHIPPED.names().into();
    serde_json::to_string_pretty(&schema).expect("a schema is JSON")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_has_the_keys_that_stand_for_files_and_profiles() {
        let schema: serde_json::Value = serde_json::from_str(&super::schema()).unwrap();
        let keys = |table: &str| schema["$defs"][table]["properties"].as_object().unwrap();
        assert!(keys("SwitchParams").contains_key("buffer"), "the table `switch` of a scenario");
        let profiles = keys("SwitchParams")["profile"]["enum"].as_array().unwrap();
        assert_eq!((&profiles[0], profiles.contains(&"sn2700".into())), (&"spectrum".into(), true));
        assert_eq!(keys("HostParams")["profile"]["enum"], serde_json::json!(["mlnx-ofed-4.6", "linux-6.x"]));
        assert_eq!(keys("Dcqcn")["profile"]["enum"], serde_json::json!(["paper"]));
        for (table, text, file) in [
            ("DesignSpec", "power_text", "power_file"),
            ("DesignSpec", "prices_text", "prices_file"),
            ("Custom", "links", "file"),
            ("Goal", "text", "file"),
        ] {
            assert!(keys(table).contains_key(text) && keys(table).contains_key(file), "{table}");
        }
    }

    #[test]
    fn a_key_beside_its_job_is_known_whichever_it_is() {
        let schema: serde_json::Value = serde_json::from_str(&super::schema()).unwrap();
        let mut keys: Vec<_> = schema["$defs"]["JobSpec"]["properties"].as_object().unwrap().keys().collect();
        keys.sort();
        assert_eq!(keys, super::text::reader::OF_JOBS);
    }

    #[test]
    fn every_key_of_the_schema_is_described() {
        let schema: serde_json::Value = serde_json::from_str(&super::schema()).unwrap();
        for (table, definition) in schema["$defs"].as_object().unwrap() {
            for (key, value) in definition["properties"].as_object().into_iter().flatten() {
                assert!(value["description"].is_string(), "{table}.{key}");
            }
        }
    }
}
