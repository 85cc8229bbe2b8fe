//! The suite that every member of the family passes, run over the list of members.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_primitives::Bytes;
use etherweave_workload::collective::{Algorithm, Collective, Library, TAG_BASE};
use etherweave_workload::{
    AllToAll, Boundary, Fft, Halo3d, Npb, NpbBenchmark, NpbCg, NpbClass, Op, Openfoam, OsuCollective, Program,
    RankWorkload, Traffic, Workload, check, check_graphs, check_progress,
};

/// Defaults, and what stresses a member beyond them.
fn members() -> Vec<Workload> {
    let mut members = Workload::defaults();
    for (pex, pey, pez) in [(1, 1, 2), (2, 2, 2), (1, 3, 1), (5, 2, 1), (3, 4, 5)] {
        for boundary in [Boundary::Periodic, Boundary::Open] {
            for corners in [false, true] {
                let halo = Halo3d { pex, pey, pez, nx: 7, ny: 11, nz: 13, boundary, corners, ..Halo3d::default() };
                members.push(Workload::Halo3d(halo));
            }
        }
        members.push(Workload::Fft(Fft { pex, pey, pez, ..Fft::default() }));
    }
    for ranks in [2, 4, 8, 128, 512] {
        members.extend(
            [NpbClass::S, NpbClass::A, NpbClass::F]
                .map(|class| Workload::NpbCg(NpbCg { ranks, class, ..NpbCg::default() })),
        );
    }
    members.extend(collectives());
    members.extend(libraries());
    members
}

/// Every collective on both sides of every threshold, on sizes of all kinds.
fn collectives() -> Vec<Workload> {
    let mut members = Vec::new();
    for ranks in [2, 3, 4, 6, 7, 13, 16, 48] {
        for text in ["0B", "8B", "2kB", "2999B", "50kB", "400kB", "4MiB"] {
            let bytes = text.parse().unwrap();
            let root = ranks / 2;
            members.push(Workload::AllToAll(AllToAll { ranks, bytes, ..AllToAll::default() }));
            for operation in
                [Collective::Allgather { bytes }, Collective::Allreduce { bytes }, Collective::Bcast { root, bytes }]
            {
                members.push(Workload::OsuCollective(OsuCollective { ranks, operation, ..OsuCollective::default() }));
            }
        }
    }
    members
}

/// Every collective by every library, and a named algorithm in every workload that takes one.
fn libraries() -> Vec<Workload> {
    let bytes = Bytes::new(20_000);
    let operations = [
        Collective::Barrier,
        Collective::Alltoall { bytes },
        Collective::Alltoallv { bytes: vec![bytes, Bytes::ZERO, Bytes::new(7)] },
        Collective::Allgather { bytes },
        Collective::Allgatherv { bytes: vec![bytes, Bytes::ZERO, Bytes::new(7)] },
        Collective::Allreduce { bytes },
        Collective::Bcast { root: 1, bytes },
        Collective::Gather { root: 1, bytes },
        Collective::Scatter { root: 1, bytes },
        Collective::Reduce { root: 1, bytes },
        Collective::ReduceScatter { bytes },
        Collective::Scan { bytes },
    ];
    let algorithm = Some(Algorithm::Linear);
    let mut members = vec![
        Workload::AllToAll(AllToAll { algorithm, ..AllToAll::default() }),
        Workload::Fft(Fft { algorithm, ..Fft::default() }),
    ];
    for &library in Library::ALL {
        for ranks in [3, 8, 13] {
            let collective = |operation| OsuCollective { ranks, operation, library, ..OsuCollective::default() };
            members.extend(operations.iter().cloned().map(|operation| Workload::OsuCollective(collective(operation))));
        }
    }
    members
}

fn programs() -> Vec<(Workload, Vec<Program>)> {
    let programs = |member: Workload| match member.traffic(7).unwrap() {
        Traffic::Ranks(programs) => Some((member, programs)),
        Traffic::Graphs { .. } | Traffic::Streams(_) => None,
    };
    members().into_iter().filter_map(programs).collect()
}

#[test]
fn what_is_sent_is_received() {
    for (member, programs) in programs() {
        assert_eq!(check(&programs), Ok(()), "{member:?}");
    }
    for member in members() {
        if let Traffic::Graphs { ranks, .. } = member.traffic(7).unwrap() {
            assert_eq!(check_graphs(&ranks), Ok(()), "{member:?}");
        }
    }
}

#[test]
fn every_program_ends_even_if_no_send_completes_before_its_receive() {
    for (member, programs) in programs() {
        assert_eq!(check_progress(&programs), Ok(()), "{member:?}");
    }
}

#[test]
fn ranks_that_record_iterations_record_equally_many() {
    for (member, programs) in programs() {
        let counts: Vec<_> = programs.iter().map(Program::iterations).filter(|&count| count > 0).collect();
        assert!(!counts.is_empty() && counts.iter().all(|count| *count == counts[0]), "{member:?}");
    }
}

#[test]
fn a_schedule_does_not_grow_with_its_iterations() {
    for (member, programs) in programs() {
        let ops: usize = programs[0].blocks.iter().map(|block| block.ops.len()).sum();
        assert!(ops < 10_000, "{member:?} holds {ops} operations");
    }
}

/// Memory of the program of a rank [B].
fn program_bytes(program: &Program) -> usize {
    let bodies: BTreeMap<_, _> = program.blocks.iter().map(|block| (block.ops.as_ptr(), &block.ops)).collect();
    let ops: usize = bodies.values().map(|ops| size_of_val(&ops[..])).sum();
    size_of_val(program) + size_of_val(&program.blocks[..]) + size_of_val(&program.loops[..]) + ops
}

/// Every member that repeats something, at 10 and at 10,000 repetitions.
#[test]
fn ten_thousand_iterations_take_the_memory_of_ten() {
    let repeated = |member: &Workload, iterations: i64| {
        let mut table = toml::Table::try_from(member).unwrap();
        let (_, parameters) = table.iter_mut().next().unwrap();
        let parameters = parameters.as_table_mut().unwrap();
        let key = ["iterations", "measurements"].into_iter().find(|&key| parameters.contains_key(key))?;
        parameters.insert(key.to_owned(), iterations.into());
        let Traffic::Ranks(programs) = table.try_into::<Workload>().unwrap().traffic(7).unwrap() else { return None };
        let bytes: Vec<_> = programs.iter().map(program_bytes).collect();
        Some((bytes, programs[0].iterations()))
    };
    let mut members = 0;
    for member in Workload::defaults() {
        let (Some(few), Some(many)) = (repeated(&member, 10), repeated(&member, 10_000)) else { continue };
        assert_eq!((few.0, 1_000 * few.1), many, "{}", member.name());
        members += 1;
    }
    assert!(members > 8, "most members repeat something");
}

/// Stencils, transposes, solvers and reductions: what a rank does once, whatever their number.
#[test]
fn the_program_of_a_rank_takes_four_kib_beyond_its_connections() {
    let mpi = |ranks, bytes, library| {
        let operation = Collective::Allreduce { bytes: Bytes::new(bytes) };
        Workload::OsuCollective(OsuCollective { ranks, operation, library, ..OsuCollective::default() })
    };
    let members = [
        Workload::Halo3d(Halo3d { pex: 16, pey: 16, pez: 16, corners: true, ..Halo3d::default() }),
        Workload::Fft(Fft { pex: 16, pey: 16, pez: 16, ..Fft::default() }),
        Workload::AllToAll(AllToAll { ranks: 1_024, bytes: Bytes::new(2_048), ..AllToAll::default() }),
        mpi(4_096, 8, Library::OpenMpi40),
        mpi(4_096, 1 << 20, Library::OpenMpi41),
        mpi(4_096, 1 << 20, Library::Mpich4),
        Workload::Npb(Npb { benchmark: NpbBenchmark::Lu, ranks: 64, ..Npb::default() }),
    ];
    // Ten levels of a mesh, each with messages of its own.
    let multigrid = Workload::Openfoam(Openfoam { ranks: 256, cells: 1_900_000, ..Openfoam::default() });
    let bounded = members.into_iter().map(|member| (member, 4_096)).chain([(multigrid, 8_192)]);
    for (member, own_max) in bounded {
        let Traffic::Ranks(programs) = member.traffic(7).unwrap() else { panic!("ranks") };
        for program in [&programs[0], &programs[programs.len() / 2 + 1]] {
            let peers: BTreeSet<_> = program.ops().filter_map(peer).collect();
            // A send, a receive and a wait per peer, in each direction.
            let connections = 2 * 3 * size_of::<Op>() * peers.len();
            let bytes = program_bytes(program);
            assert!(bytes <= own_max + connections, "{member:?}: {bytes} B, {} peers", peers.len());
        }
    }
}

fn peer(op: &Op) -> Option<u32> {
    if let Op::Isend { peer, .. } | Op::Irecv { peer, .. } = op { Some(peer.get()) } else { None }
}

#[test]
fn the_same_seed_gives_the_same_traffic() {
    for member in members() {
        let [first, second] = [member.traffic(1).unwrap(), member.traffic(1).unwrap()];
        match (&first, &second) {
            // A driver is equal to itself only.
            (Traffic::Graphs { ranks, .. }, _) if ranks.iter().any(|graph| graph.is_driven()) => {
                assert_eq!(format!("{first:?}"), format!("{second:?}"));
            }
            _ => assert_eq!(first, second),
        }
    }
}

#[test]
fn applications_stay_below_the_tags_of_collectives() {
    let halo = Halo3d { corners: true, ..Halo3d::default() };
    let block = &halo.programs(1).unwrap()[0].blocks[1];
    let below = |op: &Op| !matches!(op, Op::Isend { tag, .. } | Op::Irecv { tag, .. } if *tag >= TAG_BASE);
    assert!(block.ops.iter().all(below));
}

#[test]
fn every_member_is_written_and_read_under_its_name() {
    for (member, name) in Workload::defaults().into_iter().zip(Workload::NAMES) {
        assert_eq!(member.name(), *name);
        let read: Workload = toml::from_str(&format!("[{name}]\n")).unwrap();
        assert_eq!(read, member, "an empty table means the defaults");
        let written = toml::to_string(&member).unwrap();
        assert_eq!(toml::from_str::<Workload>(&written).unwrap(), member, "{written}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_those_that_exist() {
    let error = toml::from_str::<Workload>("[halo4d]\n").unwrap_err().to_string();
    assert!(error.contains("unknown variant `halo4d`") && error.contains("`halo3d`"), "{error}");
    let error = toml::from_str::<Workload>("[halo3d]\nsleep_ns = 216\n").unwrap_err().to_string();
    assert!(error.contains("unknown field `sleep_ns`") && error.contains("`sleep`"), "{error}");
}
