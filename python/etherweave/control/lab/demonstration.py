"""Demonstration of a planned fabric in a lab that is up, as plain numbers.

Addresses by DMP without floods, few rules, paths as planned and as simulated, and traffic that
avoids a paused port until it resumes. :func:`demonstrate` runs all steps.
"""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from etherweave.api.fabrics import design
from etherweave.api.scenario import Overrides, ScenarioSource
from etherweave.control.lab import state, status
from etherweave.control.lab.compare import CountProgress, PathComparison, compare
from etherweave.control.lab.layout import FACTORY, Layout
from etherweave.control.lab.lifecycle import Lab, down, up
from etherweave.control.lab.pauses import FRAMES, PauseResult, find_diversion, measure_pause
from etherweave.control.lab.probes import ProbeFrame, ProbeSender
from etherweave.control.lab.state import LabScope
from etherweave.control.rules import Purpose
from etherweave.control.text import mac_text
from etherweave.linux.namespaces import inside

UNASSIGNED = FACTORY + 0xFE  # A factory address that no host of a lab has.

StepResult: TypeAlias = Callable[[str, Any], object]
"""Takes the name of a step and its figures, as soon as they are known."""


@dataclass(frozen=True)
class AddressCheck:
    """Addresses that hosts got by DMP."""

    hosts: int
    addressed: int  # Hosts with the address of the plan.
    requests: int
    answers: int
    elsewhere: int  # Frames of DMP at other ports than that of the requesting host.
    round_trip_ms_median: float
    layout: str


@dataclass(frozen=True)
class UnknownDestinationCheck:
    """Frames to addresses that no host has."""

    addresses: tuple[str, ...]
    sent: int
    entered: int  # Captured at their port of entry.
    elsewhere: int  # Captured at any other port of a switch.


@dataclass(frozen=True)
class RuleCounts:
    """Numbers of rules in switches, compared with the model of figure 6."""

    installed: tuple[int, ...]
    """Rules of each switch that the design counts, read back from the switch."""
    alternatives: tuple[int, ...]  # Those of them that are alternatives.
    total: tuple[int, ...]  # All rules of each switch, with admission, DMP and broadcasts.
    design_min: int
    design_mean: float
    design_max: int  # Largest number of minimal rules, as ``etherweave design`` counts them.
    is_minimal: bool  # Whether minimal rules are installed, whose numbers must equal the model's.
    flat: int  # Rules of each switch if there was one per host.


@dataclass(frozen=True)
class Traffic:
    """Ordinary programs; this shows function, not speed."""

    source: str
    destination: str
    pings: int
    answered: int
    round_trip_ms: float
    tcp_gbps: float | None  # Goodput by iperf3; None: not installed.


@dataclass(frozen=True)
class Demonstration:
    """Figures of all steps."""

    fabric: str
    switches: int
    hosts: int
    plane: str
    addresses: AddressCheck
    unknown: UnknownDestinationCheck
    rules: RuleCounts
    paths: PathComparison
    pausing: PauseResult | None  # None: no conditional rule of this fabric has another port.
    traffic: Traffic | None  # None: ping is not installed, or hosts have no IPv4 addresses.


def demonstrate(
    lab: Lab, progress: StepResult = lambda *_: None, count: CountProgress = lambda *_: None
) -> Demonstration:
    """Run every step in a lab that is up and that nothing else uses at the same time.

    ``lab`` has conditional rules if the step with a paused port is wanted; ``count`` is called
    while the simulator works.
    """
    scenario = lab.directory / "scenario.toml"
    result: dict[str, Any] = {}

    def record(name: str, figures: Any) -> None:
        result[name] = figures
        progress(name, figures)

    record("addresses", check_addresses(lab))
    record("unknown", check_unknown_destinations(lab.layout))
    record("rules", count_rules(lab, scenario))
    is_whole = not lab.record.failed
    record("paths", compare(lab.layout, scenario if is_whole else None, progress=count))
    diversion = find_diversion(lab.layout)
    record("pausing", measure_pause(lab, diversion) if diversion else None)
    record("traffic", traffic(lab.layout))
    plan = lab.layout.plan
    return Demonstration(plan.name, len(plan.switches), len(plan.hosts), lab.record.plane, **result)


def demonstrate_in_lab(
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    plane: str = "ovs",
    where: LabScope | None = None,
) -> dict[str, Any]:
    """Bring a lab up, run the demonstration, and remove the lab.

    Parameters are as for :func:`etherweave.control.lab.lifecycle.up`, which also says what is
    raised; :func:`~etherweave.control.lab.lifecycle.missing` says beforehand what the machine
    lacks. Returns :class:`Demonstration` as plain values, and in ``failures`` what is not as
    expected.
    """
    scope, name = where or state.machine_scope(), f"demo-{os.getpid()}"
    lab = up(scope, name, scenario, overrides, plane=plane)
    try:
        result = demonstrate(lab)
    finally:
        down(scope, name)
    return {**asdict(result), "failures": failures(result)}


def failures(result: Demonstration) -> list[str]:
    """List what is not as expected."""
    hosts, unknown, paths = result.addresses, result.unknown, result.paths
    pausing, rules = result.pausing, result.rules
    claims = {
        "hosts without the address of the plan": hosts.addressed == hosts.hosts,
        "frames of DMP were captured elsewhere": hosts.elsewhere == 0,
        "frames to unknown addresses were lost before their switch": unknown.entered
        == unknown.sent,
        "frames to unknown addresses were captured elsewhere": unknown.elsewhere == 0,
        "numbers of rules differ from the model": not rules.is_minimal or _as_modelled(rules),
        "paths differ": not paths.differences,
        "pings were lost": result.traffic is None
        or result.traffic.answered == result.traffic.pings,
    }
    if pausing:
        claims |= {
            "frames were lost around a pause": pausing.lost == 0,
            "ports under a pause are not those of the tables": all(
                phase.as_tables for phase in (pausing.before, pausing.paused, pausing.resumed)
            ),
            "a paused port has sent": pausing.paused.by_default == 0,
            "the alternative port has not sent": pausing.paused.by_alternative >= FRAMES,
        }
    return [wrong for wrong, holds in claims.items() if not holds]


def _as_modelled(rules: RuleCounts) -> bool:
    counts = rules.installed
    counted = (min(counts), sum(counts) / len(counts), max(counts))
    return counted == (rules.design_min, rules.design_mean, rules.design_max)


def check_addresses(lab: Lab) -> AddressCheck:
    """Check the addresses and the frames of DMP of the boot."""
    boot = lab.boot
    planned = {host.name: mac_text(host.mac) for host in lab.layout.plan.hosts}
    trips = [host.round_trip_ms for host in boot.hosts]
    return AddressCheck(
        len(planned),
        sum(host.mac == planned[host.host] for host in boot.hosts),
        boot.requests,
        boot.answers,
        boot.elsewhere,
        median(trips) if trips else 0.0,
        lab.layout.plan.layout,
    )


def check_unknown_destinations(layout: Layout) -> UnknownDestinationCheck:
    """Send from every host to unused addresses: a factory's, and one next to those of hosts."""
    targets = (UNASSIGNED, max(host.mac for host in layout.plan.hosts) + 1)
    probes = [ProbeFrame(host, mac) for host in range(len(layout.plan.hosts)) for mac in targets]
    with ProbeSender(layout) as walker:
        # Five times the silence after which known addresses are settled.
        walks = list(walker.follow(probes, quiet_s=0.1, arrive=False))
    entered = sum(walk.entered for walk in walks)
    elsewhere = sum(len(walk.hops) + walk.strays for walk in walks)
    return UnknownDestinationCheck(tuple(map(mac_text, targets)), len(probes), entered, elsewhere)


def count_rules(lab: Lab, scenario: Path) -> RuleCounts:
    """Count the rules in switches and in the design."""
    tables = design(scenario, {"design.routings": []})["tables"]
    compacted = tables["compacted"]
    switches, spec = lab.layout.plan.switches, lab.layout.planned.spec
    return RuleCounts(
        tuple(status.installed_rules(lab)),
        tuple(sum(rule.purpose is Purpose.ALTERNATIVE for rule in node.rules) for node in switches),
        tuple(len(switch.rules) for switch in switches),
        compacted["rules_min"],
        compacted["rules_mean"],
        compacted["largest"]["entries"],
        (spec.rules, spec.protocol) == ("minimal", "openflow13"),
        tables["exact"]["entries"],
    )


PINGS = 5
PATIENCE_S = 5.0  # Longest wait for a server to listen [s].
_LISTENING = "0A"  # State of a socket in ``/proc/net/tcp``, proc(5).


def traffic(layout: Layout) -> Traffic | None:
    """Ping from the first host to the last, and send by TCP for a second.

    None without ping, or without IPv4 addresses.
    """
    first = layout.plan.hosts[0]
    last = [host for host in layout.plan.hosts if host.plane == first.plane][-1]
    address = layout.address(last).partition("/")[0]
    if shutil.which("ping") is None or not address:
        return None
    enter = ["ip", "netns", "exec", layout.host(first.host)]
    ping = [*enter, "ping", "-q", "-c", str(PINGS), "-i", "0.05", "-w", "5", address]
    done = subprocess.run(ping, capture_output=True, text=True, timeout=30)
    received = re.search(r"(\d+) received", done.stdout)
    times = re.search(r"= [\d.]+/([\d.]+)/", done.stdout)
    return Traffic(
        first.name,
        last.name,
        PINGS,
        int(received[1]) if received else 0,
        float(times[1]) if times else float("nan"),
        _tcp_gbps(enter, layout.host(last.host), address),
    )


def _tcp_gbps(enter: list[str], server: str, address: str) -> float | None:
    if shutil.which("iperf3") is None:
        return None
    listen = ["ip", "netns", "exec", server, "iperf3", "--server", "--one-off"]
    with subprocess.Popen(listen, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as waiting:
        try:
            _await_listener(server)
            send = [*enter, "iperf3", "--client", address, "--time", "1", "--json"]
            done = subprocess.run(send, capture_output=True, text=True, timeout=30)
            output = json.loads(done.stdout)
            return float(output["end"]["sum_received"]["bits_per_second"]) / 1e9
        except (ValueError, KeyError):
            return None
        finally:
            waiting.kill()


def _await_listener(namespace: str) -> None:
    """Wait for a listening socket in a namespace."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        with inside(namespace):
            tables = [Path(f"/proc/thread-self/net/{name}").read_text() for name in ("tcp", "tcp6")]
        if any(line.split()[3] == _LISTENING for text in tables for line in text.splitlines()[1:]):
            return
        time.sleep(0.01)
