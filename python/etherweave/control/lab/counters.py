"""What ports have carried and what switches were told, asked of the lab itself."""

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

from etherweave.control.lab.keeper import PINS
from etherweave.control.lab.layout import End, interface
from etherweave.control.lab.lifecycle import Lab, LabError
from etherweave.control.ovs.load import differences
from etherweave.control.plan import CARRIED

_TIMEOUT_S = 60.0


class Carried(NamedTuple):
    """What a port has carried since it was made [frames]."""

    received: int
    sent: int


def ports(lab: Lab) -> dict[End, Carried]:
    """Read the counters of all ports, from the kernel's interfaces."""
    command = ["ip", "-n", lab.layout.fabric, "-json", "-statistics", "link", "show"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
    if done.returncode:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip()}")
    counted = {link["ifname"]: link["stats64"] for link in json.loads(done.stdout)}
    return {
        end: Carried(counted[name]["rx"]["packets"], counted[name]["tx"]["packets"])
        for end in lab.layout.across
        if (name := interface(end)) in counted
    }


def installed(lab: Lab) -> list[int]:
    """Count, in each switch, the rules that the design counts.

    Raises
    ------
    LabError
        If a switch holds anything else than it was told.
    """
    return _in_kernel(lab) if lab.record.plane == "ebpf" else _in_bridges(lab)


def _in_bridges(lab: Lab) -> list[int]:
    bridges = lab.layout.wiring.bridges
    for switch in lab.layout.plan.switches:
        if different := differences(lab.daemons, bridges[switch.name], switch):
            raise LabError(f"{switch.name}: {different[0]}; expected what the plan says")
    # Nothing differs, so that the bridges hold as many as the plan.
    return [
        sum(rule.purpose in CARRIED for rule in switch.rules) for switch in lab.layout.plan.switches
    ]


def _in_kernel(lab: Lab) -> list[int]:
    from etherweave.control.ebpf.attach import Attached

    pins = json.loads((lab.directory / PINS).read_text(encoding="utf-8"))
    counted = []
    for switch in lab.layout.plan.switches:
        numbers = Attached(switch.name, Path(pins[switch.name])).rules()
        counted.append(sum(switch.rules[number].purpose in CARRIED for number in numbers))
    return counted
