"""The way of a frame, read from texts that Open vSwitch 3.1 printed."""

from pathlib import Path

import pytest

from etherweave.control.ovs.trace import EmittedFrame, Hit, SentFrame, parse
from etherweave.control.rules import CONTROLLER, IN_PORT

HEAD = "Flow: in_port=1,vlan_tci=0x0000,dl_src=02:00:00:00:00:01,dl_type=0x0000\n\n"


def written(name: str) -> str:
    return (Path(__file__).parents[1] / "data" / "ovs_trace" / name).read_text()


PATH = written("path.txt")
TREE = written("tree.txt")
GROUP = written("group.txt")
REFLECTED = """\
bridge("s0")
------------
 0. in_port=1,dl_type=0x88b5, priority 1000
    set_field:02:00:00:00:00:01->eth_src
    IN_PORT

Final flow: in_port=1,dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff,dl_type=0x88b5
Megaflow: recirc_id=0,eth,in_port=1,dl_src=02:77:00:00:00:01,dl_type=0x88b5
Datapath actions: set(eth(src=02:00:00:00:00:01)),4
"""
LATER = written("later.txt")


def with_actions(actions: str) -> str:
    return f'bridge("s0")\n------------\n 0. priority 0\n    drop\n\nDatapath actions: {actions}\n'


def test_a_path_has_its_rules_ports_and_rewritten_frame() -> None:
    trace = parse(HEAD + PATH)
    first, second = trace.visits
    forward = Hit(2, "metadata=0/0x4,dl_dst=02:00:00:00:00:00/ff:ff:ff:ff:00:00", 10)
    assert (first.bridge, first.came_from) == ("s0", None)
    assert first.hits == [Hit(0, "", 0), forward]
    assert first.sent == [SentFrame(2, forward)]
    assert (second.bridge, second.came_from) == ("s1", (0, 2))
    assert second.sent == [SentFrame(1, Hit(2, "dl_dst=02:00:00:00:00:00/ff:00:ff:ff:00:00", 10))]
    assert trace.frames == (EmittedFrame(1, {"eth.dst": "02:99:00:00:00:02"}),)
    assert trace.remarks == ()


def test_a_tree_goes_on_in_the_first_bridge_after_the_second() -> None:
    trace = parse(HEAD + TREE)
    everybody = Hit(0, "dl_dst=ff:ff:ff:ff:ff:ff", 10)
    assert [visit.bridge for visit in trace.visits] == ["s0", "s1"]
    assert trace.visits[0].sent == [SentFrame(2, everybody), SentFrame(3, everybody)]
    assert trace.visits[1].sent == [SentFrame(1, everybody)]
    assert [visit.suppressed for visit in trace.visits] == [
        [SentFrame(1, everybody)],
        [SentFrame(2, everybody)],
    ]
    assert trace.visits[1].came_from == (0, 2)
    assert trace.frames == (EmittedFrame(1, {}), EmittedFrame(3, {}))
    assert trace.remarks == (), "an output back to where a frame came from is suppressed as usual"


def test_a_group_sends_and_a_miss_at_a_later_bridge_is_a_miss() -> None:
    trace = parse(HEAD + GROUP)
    assert trace.visits[0].sent == [
        SentFrame(2, Hit(2, "dl_dst=02:00:01:00:00:00/ff:ff:ff:ff:00:00", 8))
    ]
    assert trace.visits[1].came_from == (0, 2)
    assert trace.visits[1].hits == [Hit(0, "", 0), Hit(2, "", None)]
    assert trace.frames == ()


def test_a_frame_that_comes_back_is_an_error_with_the_written_frame() -> None:
    trace = parse(HEAD + REFLECTED)
    assert [sent.port for sent in trace.visits[0].sent] == [IN_PORT]
    assert trace.frames == (EmittedFrame(4, {"eth.src": "02:00:00:00:00:01"}),)


def test_a_miss_at_the_first_bridge_is_a_miss() -> None:
    text = with_actions("drop").replace("0. priority 0", "2. No match.")
    assert parse(text).visits[0].hits == [Hit(2, "", None)]


def test_an_output_that_is_not_made_is_taken_back_and_remarked() -> None:
    text = with_actions("drop").replace("drop\n\n", "output:9\n     >> Nonexistent output port\n\n")
    trace = parse(text)
    assert trace.visits[0].sent == []
    assert trace.remarks == (">> Nonexistent output port",)


def test_an_output_after_the_last_table_is_that_of_the_rule_that_wrote_it() -> None:
    first, second = parse(HEAD + LATER).visits
    match = "dl_dst=02:00:00:00:00:01"
    assert first.sent == [SentFrame(2, Hit(0, match, 2))]
    assert second.came_from == (0, 2)
    assert (second.sent, second.suppressed) == ([], [SentFrame(3, Hit(0, match, 3))])
    assert [hit.table for hit in second.hits] == [0, 4]


def test_what_follows_an_output_does_not_take_it_back() -> None:
    result = "output:9\n    goto_table:2\n     >>>> over max translation depth 64 <<<<\n\n"
    trace = parse(with_actions("3").replace("drop\n\n", result))
    assert [sent.port for sent in trace.visits[0].sent] == [9]
    assert len(trace.remarks) == 1


def test_frames_carry_what_was_written_before_them_and_not_after() -> None:
    actions = (
        "3,set(eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02)),4,"
        "clone(set(eth(dst=02:00:00:00:00:03)),5),push_vlan(vid=0,pcp=5),6"
    )
    both = {"eth.src": "02:00:00:00:00:01", "eth.dst": "02:00:00:00:00:02"}
    assert parse(with_actions(actions)).frames == (
        EmittedFrame(3, {}),
        EmittedFrame(4, both),
        EmittedFrame(5, both | {"eth.dst": "02:00:00:00:00:03"}),
        EmittedFrame(6, both | {"vlan": "vid=0,pcp=5"}),
    )


def test_a_frame_for_the_controller_is_a_frame_and_a_meter_is_none() -> None:
    actions = "meter(0),userspace(pid=0,controller(reason=1,dont_send=0,continuation=0))"
    trace = parse(with_actions(actions))
    assert trace.frames == (EmittedFrame(CONTROLLER, {}),)
    assert trace.remarks == ()


def test_a_frame_that_is_rewritten_slowly_is_still_rewritten() -> None:
    text = with_actions("set(arp(op=2,sha=02:00:00:00:00:02)),4") + (
        "This flow is handled by the userspace slow path because it:\n"
        "  - Uses action(s) not supported by datapath.\n"
    )
    trace = parse(text)
    assert trace.frames == (EmittedFrame(4, {"arp.op": "2", "arp.sha": "02:00:00:00:00:02"}),)
    assert trace.remarks == ()


def test_an_action_that_nobody_follows_is_remarked() -> None:
    assert parse(with_actions("hash(sym_l4(0)),recirc(0x1)")).remarks == (
        "hash(sym_l4(0))",
        "recirc(0x1)",
    )


@pytest.mark.parametrize("text", ["", "bridge", HEAD, HEAD + PATH.split("Datapath")[0]])
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a trace that ends with"):
        parse(text)


def test_an_output_without_a_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a table's rule before"):
        parse('bridge("s0")\n    output:1\nDatapath actions: 1\n')
