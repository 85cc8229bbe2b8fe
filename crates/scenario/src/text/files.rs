//! References of a scenario: profiles that come with Etherweave, and files beside the scenario. Names are replaced by
//! what they stand for, so that the resolved scenario needs no file, except for [traces](trace).

mod chakra;
mod digest;
mod nccl;
pub(crate) mod trace;

use std::path::Path;

use etherweave_primitives::{InputError, InputErrors, Shipped, shipped};
use etherweave_workload::HplInput;
use serde_json::json;
use toml::{Table, Value};

use crate::ScenarioError;
use crate::text::document::{Document, HeldKey};

struct Profiled {
    path: &'static [&'static str],
    /// Its definition in the schema.
    table: &'static str,
    profiles: Shipped,
}

/// Profiles of MPI libraries, over either transport.
const MPI: Shipped = shipped!("mpi": "ucx-1.6" "ucx-1.15" "ucx-1.16" "ucx-1.18" "openmpi-4.0" "nccl-2.21" "deepep");

/// All tables that profiles can fill.
const PROFILED: [Profiled; 8] = [
    Profiled {
        path: &["host", "shared_memory"],
        table: "SharedMemoryParams",
        profiles: shipped!("shared_memory": "ucx-1.6" "openmpi-4.0"),
    },
    Profiled { path: &["host", "mpi_roce"], table: "MpiParams", profiles: MPI },
    Profiled { path: &["host", "mpi_tcp"], table: "MpiParams", profiles: MPI },
    Profiled {
        path: &["switch"],
        table: "SwitchParams",
        profiles: shipped!(
            "switch":
            "spectrum" "sn2100" "sn2700" "sn3700" "sn4700" "sn5600"
            "tomahawk" "tomahawk2" "tomahawk3" "tomahawk4" "tomahawk5" "trident3" "trident4" "jericho2"
        ),
    },
    Profiled { path: &["host"], table: "HostParams", profiles: shipped!("host": "mlnx-ofed-4.6" "linux-6.x") },
    Profiled {
        path: &["nic"],
        table: "NicParams",
        profiles: shipped!("nic": "connectx-4" "connectx-4-lx" "connectx-5" "bcm57414" "ql41000" "t62100"),
    },
    Profiled {
        path: &["transport", "tcp"],
        table: "TcpParams",
        profiles: shipped!("tcp": "linux-3.10" "linux-4.18" "linux-6.x"),
    },
    Profiled { path: &["transport", "roce", "dcqcn"], table: "Dcqcn", profiles: shipped!("dcqcn": "paper") },
];
/// Keys of `[design]` that name a file, and those that take its text.
const DESIGN: [(&str, &str); 2] = [("power_file", "power_text"), ("prices_file", "prices_text")];
/// The key of `topology.custom` for a file, by its extension.
const FORMATS: [(&str, &str); 5] =
    [("csv", "links"), ("tsv", "links"), ("graphml", "graphml"), ("xml", "graphml"), ("json", "json")];
/// Keys that stand for a file beside the scenario: table in the schema, key, and what the file has.
const FILES: [(&str, &str, &str); 9] = [
    ("DesignSpec", "power_file", "File beside the scenario with a power profile, TOML."),
    ("DesignSpec", "prices_file", "File beside the scenario with a price book, TOML."),
    (
        "Custom",
        "file",
        "File beside the scenario that lists the fabric: .csv or .tsv (edges), .graphml or .xml, .json.",
    ),
    (
        "Chakra",
        "groups_file",
        "File beside the scenario with process groups as ASTRA-sim has them, lists of ranks in JSON.",
    ),
    ("SizePoints", "file", "File beside the scenario with the points, a size in bytes and a share in each line."),
    ("Matrix", "file", "File beside the scenario with the matrix, as `text` has it."),
    ("ExpertLoads", "file", "File beside the scenario with the load of each expert, a number in each line."),
    ("ListedRequests", "file", "File beside the scenario with requests, as CSV: time_ms,input_tokens,output_tokens."),
    ("Hpl", "file", "`HPL.dat` beside the scenario, in place of its keys here."),
];
/// Keys of profiles whose table names one variant of several.
const VARIANTS: [&str; 6] =
    ["moderation", "ingress_threshold", "egress_threshold", "topology", "flow_control", "transport"];
const PROFILE: &str = "profile";
const PROFILE_DESCRIPTION: &str = "Included profile that sets the keys that are not given.";

/// Keys that stand for a profile or a file, for the schema, as no parameter struct has them: table, key and value.
pub(crate) fn name_keys() -> impl Iterator<Item = (&'static str, &'static str, serde_json::Value)> {
    let profile = |profiled: &Profiled| {
        let (names, description) = (profiled.profiles.names(), PROFILE_DESCRIPTION);
        (profiled.table, PROFILE, json!({ "description": description, "type": "string", "enum": names }))
    };
    let file = |&(table, key, description): &(&'static str, &'static str, &str)| {
        (table, key, json!({ "description": description, "type": "string" }))
    };
    PROFILED.iter().map(profile).chain(FILES.iter().map(file))
}

/// Longest file: beyond that it is not read whole [B].
const BYTES_MAX: u64 = 1 << 30;

/// Replaces every name in a document.
///
/// # Errors
/// Every name that stands for nothing, and every file that cannot be read.
pub(crate) fn insert(document: &mut Document) -> Result<(), ScenarioError> {
    let mut errors = InputErrors::default();
    let jobs = document.values.get("job").and_then(Value::as_array).map_or(0, Vec::len);
    for number in 0..jobs {
        insert_lists(document, &number.to_string(), &mut errors);
    }
    // Whether a job calls NCCL is known of a workload without names of lists.
    nccl::insert(&mut document.values);
    errors.check(insert_profiles(&mut document.values));
    errors.check(insert_custom(document));
    for (file, text) in DESIGN {
        errors.check(insert_text(document, &["design"], file, |_| Ok(text)));
    }
    for number in 0..jobs {
        let number = number.to_string();
        let workload = |name: &'static str| ["job", &number, "workload", name];
        errors.check(trace::insert(document, &workload("goal"), trace::GOAL));
        errors.check(trace::insert(document, &workload("flows"), trace::FLOWS));
        errors.check(chakra::insert(document, &workload("chakra")));
        errors.check(insert_hpl(document, &workload("hpl")));
    }
    errors.into_result().map_err(|errors| document.locate(errors))
}

/// Replaces the names of lists that a job's workload may have.
fn insert_lists(document: &mut Document, number: &str, errors: &mut InputErrors) {
    let workload = |name: &'static str, keys: [&'static str; 2]| ["job", number, "workload", name, keys[0], keys[1]];
    let lists = [
        workload("flows", ["sizes", "points"]),
        workload("flows", ["pairs", "matrix"]),
        workload("moe", ["gate", "loads"]),
        workload("inference", ["requests", "listed"]),
    ];
    for list in lists {
        errors.check(insert_text(document, &list, "file", |_| Ok("text")));
    }
}

/// Replaces the key `profile` of every table that profiles can fill.
pub(crate) fn insert_profiles(values: &mut Table) -> Result<(), InputErrors> {
    let mut errors = InputErrors::default();
    let jobs = values.get("job").and_then(Value::as_array).map_or(0, Vec::len);
    for profiled in &PROFILED {
        errors.check(insert_profile(values, profiled.path, profiled));
        // A job may have a transport of its own.
        for number in (0..jobs).filter(|_| profiled.path[0] == "transport").map(|number| number.to_string()) {
            errors.check(insert_profile(values, &[&["job", &number], profiled.path].concat(), profiled));
        }
    }
    errors.into_result()
}

/// Replaces the key `profile` of a table; keys that are given stay.
fn insert_profile(values: &mut Table, path: &[&str], profiled: &Profiled) -> Result<(), InputError> {
    let Some(table) = table(values, path) else { return Ok(()) };
    let Some(name) = table.remove(PROFILE) else { return Ok(()) };
    let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
    let (_, text) = profiled.profiles.entry(&format!("{}.{PROFILE}", path.join(".")), "profile", &name)?;
    complete(table, text.parse().expect("a shipped profile is TOML"));
    Ok(())
}

/// Adds what `profile` has and `table` does not. A variant that is chosen is not mixed with another.
pub(crate) fn complete(table: &mut Table, profile: Table) {
    for (key, value) in profile {
        match (table.get_mut(&key), value) {
            (None, value) => _ = table.insert(key, value),
            (Some(Value::Table(own)), Value::Table(others)) => {
                if !VARIANTS.contains(&key.as_str()) || own.keys().eq(others.keys()) {
                    complete(own, others);
                }
            }
            (Some(_), _) => {}
        }
    }
}

fn insert_custom(document: &mut Document) -> Result<(), InputError> {
    insert_text(document, &["topology", "custom"], "file", |name| {
        let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let format = FORMATS.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known)).map(|(_, format)| *format);
        let known: Vec<String> = FORMATS.iter().map(|(extension, _)| format!(".{extension}")).collect();
        let expected = format!("one of {}; `etherweave import` reads other formats", known.join(", "));
        format.ok_or_else(|| (format!("\"{name}\" is of no known format"), expected))
    })?;
    ["graphml", "json"].into_iter().try_for_each(|format| reject_empty(document, format))
}

/// Rejects an empty file, whose text would pass for that of another format which the scenario leaves out.
fn reject_empty(document: &Document, format: &str) -> Result<(), InputError> {
    let key = format!("topology.custom.{format}");
    let Some(held) = document.files.iter().find(|held| held.key == key) else { return Ok(()) };
    let custom = document.values.get("topology").and_then(|topology| topology.get("custom"));
    let text = custom.and_then(|custom| custom.get(format)).and_then(Value::as_str).unwrap_or_default();
    if text.trim().is_empty() {
        return Err(InputError::new(&held.by, format!("\"{}\": empty", held.file), "nodes and links of a fabric"));
    }
    Ok(())
}

/// Replaces the key `file` of the table at `path` by the key that `held` names for a file, with the file's text.
fn insert_text(
    document: &mut Document,
    path: &[&str],
    file: &str,
    held: impl FnOnce(&str) -> Result<&'static str, (String, String)>,
) -> Result<(), InputError> {
    let Some(name) = table(&mut document.values, path).and_then(|table| table.remove(file)) else { return Ok(()) };
    let key = format!("{}.{file}", path.join("."));
    let error = |(found, expected): (String, String)| InputError::new(&key, found, expected);
    let Value::String(name) = name else {
        return Err(error((name.to_string(), "the name of a file as a string".to_owned())));
    };
    let text_key = held(&name).map_err(error)?;
    if table(&mut document.values, path).is_some_and(|table| table.contains_key(text_key)) {
        return Err(error((format!("given beside {text_key}"), "only one of them".to_owned())));
    }
    let text = read(&document.beside(&name)).map_err(|reason| {
        error((format!("\"{name}\" cannot be read ({reason})"), "a file of text beside the scenario".to_owned()))
    })?;
    if let Some(table) = table(&mut document.values, path) {
        table.insert(text_key.to_owned(), Value::String(text));
        document.files.push(HeldKey { key: format!("{}.{text_key}", path.join(".")), by: key, file: name });
    }
    Ok(())
}

/// Replaces the key `file` of a Linpack by the keys that its `HPL.dat` says, none of which may stand beside it.
fn insert_hpl(document: &mut Document, path: &[&str]) -> Result<(), InputError> {
    let key = format!("{}.file", path.join("."));
    let Some(name) = table(&mut document.values, path).and_then(|table| table.remove("file")) else { return Ok(()) };
    let Value::String(name) = name else {
        return Err(InputError::new(key, name.to_string(), "the name of a file as a string"));
    };
    let text = read(&document.beside(&name)).map_err(|reason| {
        InputError::new(&key, format!("\"{name}\" cannot be read ({reason})"), "an HPL.dat beside the scenario")
    })?;
    document.files.push(HeldKey { key: key.clone(), by: key.clone(), file: name });
    let input = HplInput::read(&text).map_err(|error| InputError { key: key.clone(), ..error })?;
    let values = Table::try_from(input).expect("the input of Linpack is a table");
    let Some(table) = table(&mut document.values, path) else { return Ok(()) };
    for (part, value) in values {
        if table.contains_key(&part) {
            return Err(InputError::new(key, format!("given beside {part}"), "only one of them"));
        }
        table.insert(part, value);
    }
    Ok(())
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    let length = length(path)?;
    if length > BYTES_MAX {
        return Err(format!("{length} bytes, more than {BYTES_MAX}"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// The number of bytes of a regular file.
fn length(path: &Path) -> Result<u64, String> {
    let file = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if file.is_file() { Ok(file.len()) } else { Err("not a regular file".to_owned()) }
}

/// The table at a path of keys and numbers of elements.
fn table<'a>(values: &'a mut Table, path: &[&str]) -> Option<&'a mut Table> {
    let (first, rest) = path.split_first()?;
    let step = |value: &'a mut Value, part: &&str| match value {
        Value::Table(table) => table.get_mut(*part),
        Value::Array(list) => list.get_mut(part.parse::<usize>().ok()?),
        _ => None,
    };
    rest.iter().try_fold(values.get_mut(*first)?, step)?.as_table_mut()
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{BitRate, Bytes, Duration};
    use etherweave_sim::params::{
        Moderation, ModerationTimer, TransmitParams, UCX_COPY_PER_KIB, ucx_rendezvous_threshold,
        ucx_single_copy_threshold,
    };

    use crate::{Scenario, testing::Folder};

    /// Keys of inner tables stay too, and a chosen variant is not mixed with the profile's.
    #[test]
    fn a_profile_sets_what_is_not_given() {
        let host = |keys: &str| {
            let text = format!(
                "topology.single_switch.hosts = 2\n[host]\nprofile = \"mlnx-ofed-4.6\"\n{keys}\n\
                 [[job]]\nname = \"j\"\nworkload.osu_latency = {{}}\n"
            );
            Scenario::parse(&text, "x.toml", &[]).unwrap().host
        };
        let plain = host("");
        assert_eq!((plain.cpu.interrupt, plain.receive.queues), (Duration::ZERO, 32));
        assert!(matches!(plain.receive.moderation, Moderation::Adaptive(_)));
        assert_eq!(plain.transmit, Some(TransmitParams::default()));
        let changed = host("receive = { queues = 8, timer = \"event\", moderation.off = {} }");
        assert_eq!((changed.cpu.interrupt, changed.receive.queues, changed.receive.ring), (Duration::ZERO, 8, 1024));
        assert_eq!(changed.receive.timer, ModerationTimer::Event);
        assert_eq!(changed.receive.moderation, Moderation::Off {});
    }

    /// The driver's integers: 130,944 B less (301 + 216 · 7 / 100) · 100,000 / 1000 + 272 · 4500 / 100.
    #[test]
    fn the_profile_of_a_nic_pauses_where_its_driver_would() {
        let text = "topology.single_switch.hosts = 2\nnic.profile = \"connectx-5\"\n\
                    [[job]]\nname = \"j\"\nworkload.osu_latency = {}\n";
        let nic = Scenario::parse(text, "x.toml", &[]).unwrap().nic;
        let xoff = 130_944 - ((301 + 216 * 7 / 100) * 100 + 272 * 4500 / 100);
        assert_eq!((nic.xoff.get(), nic.xon.get()), (xoff, xoff - 9_216));
        assert!(nic.pcie.is_some());
    }

    /// Every kernel: what its profile sets is in effect.
    #[test]
    fn the_profiles_of_kernels_are_valid() {
        for (kernel, by_time) in [("linux-3.10", false), ("linux-4.18", true), ("linux-6.x", true)] {
            let text = format!(
                "topology.single_switch.hosts = 2\ntransport.tcp.profile = \"{kernel}\"\nflow_control.none = {{}}\n\
                 [[job]]\nname = \"j\"\nworkload.osu_latency = {{}}\n"
            );
            let transport = Scenario::parse(&text, "x.toml", &[]).unwrap().transport;
            let tcp = transport.tcp().unwrap();
            assert_eq!(tcp.loss_detection == etherweave_sim::transport::tcp::SegmentLoss::Time, by_time, "{kernel}");
            assert!(by_time || *tcp == Default::default(), "3.10 is the default");
        }
    }

    #[test]
    fn the_profile_of_ucx_has_the_threshold_and_the_copies_that_ucx_computes() {
        let text = "topology.single_switch.hosts = 2\nhost.mpi_roce.profile = \"ucx-1.6\"\n\
                    host.shared_memory.profile = \"ucx-1.6\"\n\
                    host.mpi_tcp.profile = \"openmpi-4.0\"\n[[job]]\nname = \"j\"\nworkload.osu_latency = {}\n";
        let host = Scenario::parse(text, "x.toml", &[]).unwrap().host;
        let ucx = host.mpi_roce;
        assert_eq!(ucx.eager_max, ucx_rendezvous_threshold(BitRate::from_gbps(100)));
        assert_eq!((ucx.eager_send_per_kib, ucx.eager_receive_per_kib), (UCX_COPY_PER_KIB, UCX_COPY_PER_KIB));
        let single_copy = host.shared_memory.single_copy_per_kib;
        assert_eq!(host.shared_memory.eager_max, ucx_single_copy_threshold(single_copy));
        assert_eq!(host.mpi_tcp.eager_receive_per_kib, UCX_COPY_PER_KIB * 2);
        assert_eq!(host.mpi_tcp.header.get(), 64, "what the profile does not name stays that of the transport");
    }

    const HPL: &str = "title\ntitle\nHPL.out\n6\n1\n4096 Ns\n1\n64 NBs\n0\n1\n2 Ps\n2 Qs\n16.0\n\
        1\n0\n1\n4\n1\n2\n1\n0\n1\n1 BCASTs\n1\n1 DEPTHs\n2 SWAP\n64\n";

    #[test]
    fn an_hpl_dat_gives_the_keys_of_linpack_and_must_fit_the_memory_of_hosts() {
        let folder = Folder::new("hpl");
        folder.write("HPL.dat", HPL);
        folder.write("cut.dat", &HPL[..30]);
        let made = |keys: &str, memory: &str| {
            let text = format!(
                "[topology.single_switch]\nhosts = 4\n[host]\nmemory = \"{memory}\"\n[[job]]\nname = \"a\"\n\
                 workload.hpl = {{ {keys} }}\n"
            );
            Scenario::parse(&text, &folder.origin(), &[])
        };
        // 2,048 rows of 2,112 columns: a quarter of the matrix and the block of the right-hand side.
        let fitting = made("file = \"HPL.dat\"", "33MiB").unwrap();
        let error = |keys, memory| made(keys, memory).unwrap_err().to_string();
        let (large, both) = (error("file = \"HPL.dat\"", "32MiB"), error("file = \"HPL.dat\", depth = 0", "1GiB"));
        let cut = error("file = \"cut.dat\"", "1GiB");
        let etherweave_workload::Workload::Hpl(hpl) = &fitting.job[0].workload else { panic!("Linpack") };
        assert_eq!((hpl.size, hpl.block, hpl.rows, hpl.columns, hpl.depth), (4_096, 64, 2, 2, 1));
        assert!(
            large.contains("job.0.workload.hpl.size: a matrix of 4096 rows, 33MiB on each host of 1 ranks"),
            "{large}"
        );
        assert!(both.contains("hpl.file: \"HPL.dat\": given beside depth; expected only one of them"), "{both}");
        assert!(cut.contains("hpl.file: \"cut.dat\": the end of the file; expected NB of an HPL.dat"), "{cut}");
    }

    /// Libraries copy a rank's own block by one memcpy, as fast as the single copy between ranks of a host; UCX copies
    /// eagerly below 256 KiB, and from there on waits for the receiver.
    #[test]
    fn every_library_copies_own_blocks_once_and_waits_for_receivers_of_256_kib() {
        for name in super::MPI.names().into_iter().filter(|name| !["nccl-2.21", "deepep"].contains(name)) {
            let text = format!(
                "topology.single_switch.hosts = 2\nhost.mpi_roce.profile = \"{name}\"\n\
                 [[job]]\nname = \"j\"\nworkload.osu_latency = {{}}\n"
            );
            let host = Scenario::parse(&text, "x.toml", &[]).unwrap().host;
            assert_eq!(host.mpi_roce.self_per_kib, host.shared_memory.single_copy_per_kib, "{name}");
            assert!(host.mpi_roce.collective_eager_max.is_none_or(|bytes| bytes < Bytes::new(256 << 10)), "{name}");
        }
    }

    /// 1 KiB at 5,800 and 7,000 MiB/s takes 168,372 and 139,508 ps.
    #[test]
    fn the_new_protocols_of_ucx_begin_rendezvous_earlier_and_reckon_with_faster_copies_from_1_18_on() {
        for (release, mebibytes) in [("1.16", 5_800), ("1.18", 7_000)] {
            let text = format!(
                "topology.single_switch.hosts = 2\nhost.mpi_roce.profile = \"ucx-{release}\"\n\
                 [[job]]\nname = \"j\"\nworkload.osu_latency = {{}}\n"
            );
            let ucx = Scenario::parse(&text, "x.toml", &[]).unwrap().host.mpi_roce;
            let copy = Duration::from_ps(1_000_000_000_000 / 1_024 / mebibytes);
            assert_eq!((ucx.eager_send_per_kib, ucx.eager_receive_per_kib), (copy, copy));
            assert!(ucx.eager_max < ucx_rendezvous_threshold(BitRate::from_gbps(100)));
            assert_eq!(ucx.collective_eager_max.map(Bytes::get), Some((256 << 10) - 1));
        }
    }
}
