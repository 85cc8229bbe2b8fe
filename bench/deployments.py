"""Rows about deployment: a plan of 2,064 switches, rules into one Open vSwitch, frames followed.

Rules go in by ``ovs-ofctl``, by messages of our own and of os-ken, and by the whole controller.

Open vSwitch runs with its dummy datapath, which needs no privilege. Time is the wall's: most of the
work is done by other processes.
"""

from typing import Any

from rows import Row, child

REPEATS = 3
AIMS = {"plan_s": 10.0, "rules_per_s": 20_000, "frames_per_s": 1_000}
PLAN = """
import json, sys, time
from etherweave.control import text
from etherweave.control.plan import plan
start = time.monotonic()
made = plan({"topology": {"dragonfly": {"p": 8, "a": 16, "h": 8}}}).plan
octets = sum(len(line) + 1 for switch in made.switches for line in text.flows(switch.rules))
print(json.dumps({
    "plan_s": time.monotonic() - start,
    "switches": len(made.switches),
    "hosts": len(made.hosts),
    "rules": sum(len(switch.rules) for switch in made.switches),
    "text_mb": octets / 1e6,
}))
"""
LARGE = """
import json, time
from dataclasses import replace
from etherweave.control.ovs.bridges import build, bridge_names
from etherweave.control.ovs.daemons import Datapath, running
from etherweave.control.plan import plan
from etherweave.control.rules import Purpose
made = plan({"topology": {"single_switch": {"hosts": 32_768}}}).plan
switch = made.switches[0]
# Only the flow table: a switch has no 32,768 ports, and the meters of each are not rules.
rules = tuple(rule for rule in switch.rules if rule.purpose is Purpose.FORWARD)
switch = replace(switch, ports=(), rules=rules, meters=())
made = replace(made, switches=(switch,), hosts=())
wires = bridge_names(made)
bridge = wires.bridges[switch.name]
def report(took, **more):
    figures = {"rules": len(rules), "install_s": took, "rules_per_s": len(rules) / took}
    print(json.dumps({**figures, **more}))
"""
INSTALL = f"""{LARGE}
from etherweave.control.ovs.load import install
with running(Datapath.DUMMY) as daemons:
    build(daemons, made, wires)
    start = time.monotonic()
    install(daemons, bridge, switch)
    report(time.monotonic() - start)
"""
SERVE = f"""{LARGE}
import io, threading
from etherweave.control.controller.app import Controller
from etherweave.control.controller.log import EventLog
from etherweave.control.controller.server import ControllerOptions
log = io.StringIO()
controller = Controller(lambda _: made, made, ControllerOptions(port=0), EventLog(log))
stop = threading.Event()
thread = threading.Thread(target=controller.run, args=(stop,))
thread.start()
try:
    with running(Datapath.DUMMY) as daemons:
        build(daemons, made, wires)
        start = time.monotonic()
        daemons.configure("set-controller", bridge, f"tcp:127.0.0.1:{{controller.port}}")
        one = controller.switches[switch.name]
        while one.installed is not controller.desired[switch.name]:
            time.sleep(0.002)
        programmed_s = time.monotonic() - start
finally:
    stop.set()
    thread.join()
# The time in its log: from writing the rules to their acknowledgement. Before that the controller
# waits for another one and reads the table, afterwards it reads the table back.
events = map(json.loads, log.getvalue().splitlines())
(install_s,) = (one["seconds"] for one in events if one["event"] == "installed")
report(install_s, programmed_s=programmed_s)
"""
ENCODE = f"""{LARGE}
import socket
from etherweave.control import messages
from etherweave.control.messages import BundleStep, FlowCommand, MessageType
from etherweave.control.pause.rule_writer import MessageDecoder
from os_ken.ofproto.ofproto_protocol import ProtocolDesc
osken = ProtocolDesc(version=4)
def bundled():
    yield messages.bundle_step(1, BundleStep.OPEN, xid=1)
    for xid, rule in enumerate(rules, start=9):
        yield messages.bundle_add(1, messages.flow_mod(rule, FlowCommand.ADD, xid=xid))
    yield messages.bundle_step(1, BundleStep.COMMIT, xid=2)
def by_os_ken():
    parser, numbers = osken.ofproto_parser, osken.ofproto
    for rule in rules:
        actions = [parser.OFPActionOutput(step.port) for step in rule.actions]
        apply = parser.OFPInstructionActions(numbers.OFPIT_APPLY_ACTIONS, actions)
        match = parser.OFPMatch(**{{test.field: (test.value, test.mask) for test in rule.match}})
        made = parser.OFPFlowMod(
            osken, table_id=rule.table, priority=rule.priority, match=match, instructions=[apply]
        )
        made.serialize()
        yield bytes(made.buf)
def rate(octets):
    with running(Datapath.DUMMY) as daemons, socket.socket(socket.AF_UNIX) as peer:
        build(daemons, made, wires)
        peer.connect(daemons.management(bridge).removeprefix("unix:"))
        start = time.monotonic()
        peer.sendall(messages.message(MessageType.HELLO, b"", 1))
        sent = threading.Thread(target=lambda: peer.sendall(b"".join(octets) + messages.barrier(3)))
        sent.start()
        inbox, is_done = MessageDecoder(), False
        while not is_done:
            said = list(inbox.take(peer.recv(1 << 16)))
            assert not any(one.kind == MessageType.ERROR for one in said)
            is_done = any(one.kind == MessageType.BARRIER_REPLY for one in said)
        sent.join()
        return len(rules) / (time.monotonic() - start)
import threading
print(json.dumps({{
    "rules": len(rules), "rules_per_s": rate(bundled()), "os_ken_rules_per_s": rate(by_os_ken())
}}))
"""
VERIFY = """
import json
from etherweave.control.ovs.verify import VerifyOptions, verify
from etherweave.control.plan import plan
report = verify(plan({"topology": {"dragonfly": {}}}), VerifyOptions(pairs=None))
print(json.dumps({
    "switches": 36,
    "frames": sum(report.followed.values()),
    "wrong": len(report.findings),
    "frames_per_s": report.traces_per_s,
}))
"""


def rows() -> list[Row]:
    """Name every row, with what measures it."""
    programs = {
        "plan_16512": PLAN,
        "install_32768": INSTALL,
        "encode_32768": ENCODE,
        "serve_32768": SERVE,
        "verify_36": VERIFY,
    }
    return [
        Row(f"control_{name}", lambda name=name, program=program: measure(name, program))
        for name, program in programs.items()
    ]


def measure(name: str, program: str) -> dict[str, Any]:
    """Run a program several times; gives the figures of the fastest."""
    runs = [child(program) for _ in range(REPEATS)]
    aimed = next(key for key in AIMS if key in runs[0])
    best = min(runs, key=lambda run: run[aimed] if aimed == "plan_s" else -run[aimed])
    is_within = best[aimed] <= AIMS[aimed] if aimed == "plan_s" else best[aimed] >= AIMS[aimed]
    rounded = {
        key: round(value, 2) if isinstance(value, float) else value for key, value in best.items()
    }
    return {"row": f"control_{name}", **rounded, "is_within_aims": is_within}
