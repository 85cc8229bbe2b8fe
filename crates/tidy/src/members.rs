//! Files that may name the members of a family: what adding a member costs.

use crate::{File, Finding};

/// A list of members, and the files that may name a member beside it.
struct FamilyPlaces {
    /// The type whose variants they are.
    kind: &'static str,
    /// The only files that may name one, tests left out; the first has the list.
    files: &'static [&'static str],
}

const FAMILIES: [FamilyPlaces; 4] = [
    FamilyPlaces {
        kind: "RoutingKind",
        files: &[
            "crates/routing/src/kind.rs",
            // The defaults of runs and curves; shortest paths that are computed anew.
            "crates/scenario/src/parts/routing.rs",
            "crates/scenario/src/open_loop.rs",
            // What families are known for; trees.
            "crates/design/src/proofs.rs",
            "crates/forwarding/src/minimal/mod.rs",
            "crates/forwarding/src/compaction/tree_flows.rs",
        ],
    },
    FamilyPlaces { kind: "Transport", files: &["crates/transport/src/transport.rs", "crates/transport/src/lib.rs"] },
    FamilyPlaces {
        kind: "TopologyKind",
        files: &[
            "crates/topology/src/kind.rs",
            // The default of a scenario; the largest fabrics of two families.
            "crates/scenario/src/scenario.rs",
            "crates/design/src/largest.rs",
            // Tests alone.
            "crates/forwarding/src/deployed/equality.rs",
        ],
    },
    FamilyPlaces {
        kind: "Workload",
        files: &[
            "crates/workload/src/family.rs",
            // Workloads that read files beside the scenario; the input of Linpack.
            "crates/scenario/src/text/files/trace.rs",
            "crates/scenario/src/text/files/chakra.rs",
            "crates/scenario/src/check.rs",
        ],
    },
];

/// The crate of transports, which may ask one for its own parameters.
const OWN: &str = "crates/transport/src/";

/// Lines that ask a transport for its name, in place of what it can: one more would fall into what holds for another.
pub fn asked_by_name(file: &File) -> Vec<Finding> {
    let transport = &FAMILIES[1];
    if !is_source(file) || file.path.starts_with(OWN) {
        return Vec::new();
    }
    let questions = ["tcp", "roce"].map(|name| {
        // At hosts `tcp` is the socket of an endpoint, which is no question.
        let is_socket = name == "tcp" && file.path.starts_with("crates/host/src/");
        let own = if is_socket { ".is_some()" } else { "" };
        let own = format!(".{name}(){own}");
        [format!("is_{name}"), own, format!("Transport::{name}")]
    });
    let asks = |line: &str| questions.iter().flatten().any(|question| line.contains(question));
    let lines = crate::rust::code(file).filter(|(_, line)| asks(line));
    let what = format!("asks a transport for its name; {} says what transports can", transport.files[0]);
    lines.map(|(number, _)| file.finding(number, what.clone())).collect()
}

fn is_source(file: &File) -> bool {
    file.path.contains("/src/") && !file.path.ends_with("tests.rs") && !file.path.contains("/tests/")
}

/// Members that are named elsewhere, so that one more would need another change there.
pub fn named_elsewhere(file: &File) -> Vec<Finding> {
    let strangers = FAMILIES.iter().filter(|family| is_source(file) && !family.files.contains(&file.path.as_str()));
    strangers.flat_map(|family| findings(file, family)).collect()
}

fn findings(file: &File, family: &FamilyPlaces) -> Vec<Finding> {
    let lines = crate::rust::code(file).filter(|(_, line)| names_member(line, family.kind));
    let list = family.files[0];
    lines
        .map(|(number, _)| file.finding(number, format!("names a member of {}; {list} lists them", family.kind)))
        .collect()
}

/// Whether a line has `Kind::Member`: functions and constants are not members.
fn names_member(line: &str, kind: &str) -> bool {
    let variant = format!("{kind}::");
    line.match_indices(&variant).any(|(at, _)| {
        let is_whole = !line[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let mut name = line[at + variant.len()..].chars();
        is_whole && name.next().is_some_and(char::is_uppercase) && name.next().is_some_and(char::is_lowercase)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_named_in_its_list_and_not_elsewhere() {
        let offence = "let routing = RoutingKind::Piggyback;\n";
        let at = |path: &str, text: &str| named_elsewhere(&File::new(path, text)).len();
        assert_eq!(at("crates/host/src/nic.rs", offence), 1);
        assert_eq!(at("crates/routing/src/kind.rs", offence), 0);
        assert_eq!(at("crates/openloop/tests/order.rs", offence), 0);
        assert_eq!(at("crates/host/src/nic.rs", "for kind in RoutingKind::all() {}\n"), 0);
        assert_eq!(at("crates/host/src/nic.rs", "match Transport::Tcp(tcp) {}\n"), 1);
        assert_eq!(at("crates/forwarding/src/survey.rs", "TopologyKind::HyperX(_) => true,\n"), 1);
        assert_eq!(at("crates/workload/src/size.rs", "Workload::Halo3d(halo) => 1,\n"), 1);
        assert_eq!(at("crates/forwarding/src/survey.rs", "Shape::Tree => TopologyKind::examples(),\n"), 0);
    }

    #[test]
    fn a_transport_is_asked_what_it_can_and_not_for_its_name() {
        let at = |path: &str, text: &str| asked_by_name(&File::new(path, text)).len();
        assert_eq!(at("crates/host/src/nic.rs", "if constants.is_tcp() {}\n"), 1);
        assert_eq!(at("crates/scenario/src/check.rs", "if scenario.transport.roce().is_some() {}\n"), 1);
        assert_eq!(at("crates/scenario/src/check.rs", "if scenario.transport.is_in_kernel() {}\n"), 0);
        assert_eq!(at("crates/scenario/src/check.rs", "let Some(roce) = transport.roce() else { return };\n"), 1);
        assert_eq!(at("crates/sim/src/report.rs", "transports().find_map(Transport::tcp)\n"), 1);
        assert_eq!(at("crates/host/src/fluid.rs", "let params = transport.roce()?;\n"), 1);
        assert_eq!(at("crates/host/src/socket.rs", "let state = end.tcp();\n"), 0);
        assert_eq!(at("crates/transport/src/roce/end.rs", "transport.roce()\n"), 0);
    }
}
