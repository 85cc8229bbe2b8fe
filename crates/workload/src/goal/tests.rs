use etherweave_primitives::{Bytes, Duration, Rank};
use proptest::prelude::*;

use super::*;
use crate::collective::Collective;
use crate::{Fft, Halo3d, Op, OsuCollective, Traffic, Workload};

/// Rank 0 of the dissemination of LogGOPSim's examples, cut to four ranks: sends that wait for the receive before.
const DISSEMINATION: &str = "num_ranks 4
rank 0 {
l1: send 1b to 1 tag 0
l2: recv 1b from 3 tag 0
l3: send 1b to 2 tag 0
l3 requires l2
l4: recv 1b from 2 tag 0
}
rank 1 { // the same, one up
l1: send 1b to 2 tag 0
l2: recv 1b from 0 tag 0
l3: send 1b to 3 tag 0
l3 requires l2
l4: recv 1b from 3 tag 0
}
rank 2 {
l1: send 1b to 3 tag 0 cpu 0 nic 0
/* a comment
over two lines */ l2: recv 1 b from 1 tag 0
l3: send 1b to 0 tag 0
l3 requires l2
l4: recv 1b from 0 tag 0
}
rank 3 {
l1: send 1b to 0 tag 0
l2: recv 1b from 2 tag 0
l3: send 1b to 1 tag 0
l3 requires l2
l4: recv 1b from 1 tag 0
}
";

fn goal(text: &str) -> Goal {
    Goal { text: text.to_owned(), ..Goal::default() }
}

fn refused(text: &str) -> String {
    goal(text).programs().unwrap_err().to_string()
}

/// All operations one after another, without marks; a wait for nothing is none.
fn unrolled(program: &Program) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut open = 0;
    for op in program.ops().chain([&Op::WaitAll]) {
        match *op {
            Op::Copy { .. } | Op::IterationStart | Op::IterationEnd => continue,
            Op::WaitAll if open == 0 => continue,
            Op::WaitAll => open = 0,
            Op::Sleep { duration } => {
                ops.push(Op::Compute { duration });
                continue;
            }
            Op::Isend { .. } | Op::Irecv { .. } | Op::OneSided { .. } => open += 1,
            Op::Compute { .. } => {}
        }
        ops.push(*op);
    }
    ops
}

#[test]
fn what_is_written_is_read_back_as_the_same_sequence() {
    let small = |workload: Workload| match workload.traffic(3).unwrap() {
        Traffic::Ranks(programs) => programs,
        Traffic::Graphs { .. } | Traffic::Streams(_) => unreachable!("only rank schedules are listed"),
    };
    let bytes = Bytes::new(4096);
    for workload in [
        Workload::Halo3d(Halo3d { iterations: 3, ..Halo3d::default() }),
        Workload::Fft(Fft { iterations: 2, ..Fft::default() }),
        Workload::OsuCollective(OsuCollective {
            operation: Collective::Bcast { root: 3, bytes },
            warm_up: 1,
            iterations: 2,
            ..OsuCollective::default()
        }),
    ] {
        let programs = small(workload);
        let read = goal(&Goal::write(&programs).unwrap()).programs().unwrap();
        assert_eq!(read.iter().map(unrolled).collect::<Vec<_>>(), programs.iter().map(unrolled).collect::<Vec<_>>());
    }
}

#[test]
fn a_message_is_written_as_loggopsim_reads_it() {
    let send = Op::Isend { peer: Rank::new(1), tag: 7, bytes: 10 };
    let compute = Op::Compute { duration: Duration::from_us(2) };
    let program = Program::new([Block::unmeasured(vec![send, Op::WaitAll, compute])]);
    let text = Goal::write(&[program, Program::default()]).unwrap();
    let expected = "num_ranks 2\n\nrank 0 {\nl1: send 10b to 1 tag 7\nl2: calc 0\nl2 irequires l1\nl2 requires l1\n\
                    l3: calc 2000\nl3 requires l2\n}\n\nrank 1 {\n}\n";
    assert_eq!(text, expected);
}

#[test]
fn a_graph_that_waits_for_less_is_refused_unless_waits_may_be_added() {
    // l3 requires the receive l2; a wait for all waits for the send l1 too.
    let error = refused(DISSEMINATION);
    assert!(error.starts_with("text: line 5: an operation that may start before"), "{error}");
    let goal = Goal { added_waits: true, ..goal(DISSEMINATION) };
    let programs = goal.programs().unwrap();
    let kinds = |op: &Op| match op {
        Op::Isend { .. } => 's',
        Op::Irecv { .. } => 'r',
        Op::OneSided { .. } => 'o',
        Op::WaitAll => 'w',
        Op::IterationStart => '(',
        Op::IterationEnd => ')',
        Op::Copy { .. } | Op::Compute { .. } | Op::Sleep { .. } => 'c',
    };
    for program in &programs {
        assert_eq!(program.blocks[0].ops.iter().map(kinds).collect::<String>(), "(srwsrw)");
    }
}

#[test]
fn a_tree_of_calculations_and_messages_is_a_sequence() {
    let text = "num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: calc 5\nb requires a\nc: send 8b to 1\nc requires b\n}\n\
                rank 1 {\nc: send 8b to 0\nd: recv 8b from 0\n}\n";
    let programs = goal(text).programs().unwrap();
    let peer = Rank::new(1);
    let [receive, send] = [Op::Irecv { peer, tag: 0, bytes: 8 }, Op::Isend { peer, tag: 0, bytes: 8 }];
    let compute = Op::Compute { duration: Duration::from_ns(5) };
    assert_eq!(
        programs[0].blocks[0].ops[..],
        [Op::IterationStart, receive, Op::WaitAll, compute, send, Op::WaitAll, Op::IterationEnd]
    );
}

#[test]
fn a_calculation_beside_a_receive_keeps_its_place() {
    // The send must not start before the calculation ends: nothing in the graph says so.
    let text = "num_ranks 2\nrank 0 {\nb: calc 5\nc: send 8b to 1\n}\nrank 1 {\nd: recv 8b from 0\n}\n";
    assert!(refused(text).starts_with("text: line 4: an operation that may start before"));
    assert!(goal(&text.replace("c: send 8b to 1", "c: send 8b to 1\nc requires b")).programs().is_ok());
}

#[test]
fn mistakes_are_reported_with_their_line() {
    let rank = |line: &str| format!("num_ranks 2\nrank 0 {{\n{line}\n}}\nrank 1 {{\n}}\n");
    for (text, message) in [
        (String::new(), "line 1: nothing; expected `num_ranks`"),
        ("num_ranks 99999999999".into(), "line 1: num_ranks 99999999999; expected `num_ranks` and a number from 1 to"),
        ("num_ranks 2\nl1: calc 5".into(), "line 2: l1 : calc 5; expected `rank N {`"),
        ("num_ranks 2\nrank 2 {\n}".into(), "line 2: rank 2; expected a number up to 1"),
        ("num_ranks 2\nrank 1 {\n}\nrank 1 {\n}".into(), "line 4: rank 1 twice"),
        ("num_ranks 2\nrank 1 {\n".into(), "line 2: the text ends inside of rank 1; expected `}`"),
        (rank("l1: send 10 to 1"), "line 3: l1 : send 10 to 1; expected `send`"),
        (rank("l1: recv 10b from -1"), "line 3: a message from any rank; expected the number of a rank"),
        (rank("l1: recv 10b from 1 tag -1"), "line 3: any tag; expected"),
        (rank("l1: recv 10b from 1 tag 3 cpu 1"), "line 3: cpu 1; expected cpu 0"),
        (rank("l1: send 10b to 0"), "line 3: a message of rank 0 to itself; expected another rank"),
        (rank("l1: send 9999999999999b to 1"), "line 3: message 9999999999999; expected a number up to"),
        (rank("l1: calc 99999999999999999999"), "line 3: calculation 99999999999999999999; expected"),
        (rank("l1 requires l2"), "line 3: no operation l1 so far; expected a label of this rank"),
        (rank("l1: calc 1\nl1: calc 1"), "line 4: label l1 twice"),
        (rank("l1: calc 1\nl1 requires l1"), "line 3: an operation that waits for itself"),
        (rank("l1: send 10b to 1"), "rank0 sends a message of 10 B under tag 0 that rank1 does not receive"),
    ] {
        let error = refused(&text);
        assert!(error.starts_with(&format!("text: {message}")), "{text}: {error}");
    }
}

#[test]
fn ranks_that_wait_for_each_other_for_ever_are_refused() {
    let half = |peer| format!("a: recv 8b from {peer}\nb: send 8b to {peer}\nb requires a\n");
    let text = format!("num_ranks 2\nrank 0 {{\n{}}}\nrank 1 {{\n{}}}\n", half(1), half(0));
    assert!(
        refused(&text).contains("2 ranks wait for ever, rank0 first, for rank1 to send under tag 0"),
        "{}",
        refused(&text)
    );
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(
        words in prop::collection::vec(
            prop_oneof![
                Just("num_ranks 2\n"), Just("rank 0 {\n"), Just("rank 1 {\n"), Just("}\n"), Just("l1: "), Just("l2: "),
                Just("send 8b to 1"), Just("recv 8b from 0"), Just("calc 0"), Just("calc 7"), Just(" tag 1"),
                Just("\n"),
                Just("l1 requires l2\n"), Just("l2 irequires l1\n"), Just("/*"), Just("*/"), Just("//"), Just("ß"),
            ],
            0..30,
        ),
        noise in "\\PC{0,20}",
        added_waits: bool,
    ) {
        let text = format!("num_ranks 2\n{}{noise}", words.concat());
        if let Ok(programs) = (Goal { text, iterations: 1, added_waits }).programs() {
            prop_assert_eq!(check(&programs), Ok(()));
        }
    }
}
