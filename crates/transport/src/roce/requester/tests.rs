//! Boundaries of messages in packets, and the order in which packets go.

use super::*;

/// Where the packets of messages of these sizes begin, and which of them are the first and the last of theirs.
fn marks(sizes: &[u64]) -> Vec<(u64, bool, bool)> {
    let params = RoceParams::default();
    let mut requester = Requester::default();
    requester.open(&params, BitRate::from_gbps(100));
    for &bytes in sizes {
        requester.post(Time::ZERO, bytes, Operation::Write, &params);
    }
    let packets = std::iter::from_fn(|| requester.next_packet(Time::ZERO, &params));
    packets.map(|packet| (packet.offset, packet.is_first, packet.is_last)).collect()
}

#[test]
fn equal_messages_are_cut_where_each_ends_and_take_one_element() {
    let mtu = RoceParams::default().path_mtu.get();
    // A packet and a half, twice; one packet; half a packet.
    let sizes = [mtu + mtu / 2, mtu + mtu / 2, mtu, mtu / 2];
    let (second, third, last) = (sizes[0], 2 * sizes[0], 2 * sizes[0] + mtu);
    let expected = [
        (0, true, false),
        (mtu, false, true),
        (second, true, false),
        (second + mtu, false, true),
        (third, true, true),
        (last, true, true),
    ];
    assert_eq!(marks(&sizes), expected);
    let mut requester = Requester::default();
    for _ in 0..1_000 {
        requester.post(Time::ZERO, 64, Operation::Write, &RoceParams::default());
    }
    assert_eq!(requester.outgoing.iter().count(), 1);
}

/// Posts `messages`, each after so many packets, and answers where the number is negative: the packets, as their
/// offset and whether they are the first and the last of their message, and ends of answers.
fn turns(messages: &[(usize, i64)]) -> (Vec<(u64, bool, bool)>, Vec<u64>) {
    let params = RoceParams::default();
    let (mut requester, mut messages) = (Requester::default(), messages.iter().peekable());
    requester.open(&params, BitRate::from_gbps(100));
    let (mut packets, mut answers) = (Vec::new(), Vec::new());
    loop {
        while let Some(&&(_, bytes)) = messages.peek().filter(|&&&(after, _)| after == packets.len()) {
            let operation = if bytes < 0 { Operation::ReadResponse } else { Operation::Write };
            requester.post(Time::ZERO, bytes.unsigned_abs(), operation, &params);
            messages.next();
        }
        let Some(packet) = requester.next_packet(Time::ZERO, &params) else { return (packets, answers) };
        answers.extend(requester.answered());
        packets.push((packet.offset, packet.is_first, packet.is_last));
    }
}

#[test]
fn messages_go_between_packets_of_answers() {
    let mtu = RoceParams::default().path_mtu.get() as i64;
    let at = |packets: u64, bytes: u64| packets * mtu as u64 + bytes;
    // After two packets of an answer of four a request goes next, and one more behind a packet of the answer.
    let packets = vec![
        (0, true, false),
        (at(1, 0), false, false),
        (at(2, 0), true, true),
        (at(2, 16), false, false),
        (at(3, 16), true, true),
        (at(3, 32), false, true),
    ];
    assert_eq!(turns(&[(0, -4 * mtu), (2, 16), (2, 16)]), (packets, vec![at(4, 32)]));
    // A message of three packets goes before two answers, and the next message behind as much of them.
    let packets = vec![
        (0, true, false),
        (at(1, 0), false, false),
        (at(2, 0), false, true),
        (at(3, 0), true, true),
        (at(4, 0), true, false),
        (at(5, 0), false, false),
        (at(6, 0), true, true),
        (at(6, 16), false, true),
    ];
    assert_eq!(turns(&[(0, -mtu), (0, -3 * mtu), (0, 3 * mtu), (1, 16)]), (packets, vec![at(4, 0), at(7, 16)]));
}
