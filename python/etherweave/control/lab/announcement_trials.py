"""Announcements in labs of both ways to hierarchical addresses: DMP, and rewriting switches.

Each lab is brought up, its hosts announce themselves and send to what they have recorded, and it is
removed. Hosts are namespaces, or guests that a caller starts.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, TypeAlias

from etherweave.api.scenario import Overrides, ScenarioSource
from etherweave.control.lab import announcements, state
from etherweave.control.lab.boot import StepProgress
from etherweave.control.lab.layout import Layout, host_interface
from etherweave.control.lab.lifecycle import Lab, down, prepare, up
from etherweave.control.lab.state import LabScope
from etherweave.control.plan import PlannedDeployment
from etherweave.control.rules import HostPlan
from etherweave.linux.namespaces import inside

ADDRESSES = ("dmp", "rewrite")  # Values of ``control.addresses``, in the order of the trials.
ROUNDS = 3  # Rounds after all hosts are reached, in which others could still be.
LIMIT_S = 20.0
"""Longest time for a trial between namespaces [s]; an idle machine takes a hundredth of it."""


@dataclass(frozen=True)
class AnnouncementTrial:
    """Announcements in one lab."""

    addresses: str  # Value of ``control.addresses``.
    protocol: str  # Version of OpenFlow of its switches.
    hosts: int
    machines: int  # Virtual machines among the hosts; the others are namespaces.
    recordings: tuple[announcements.Recording, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self) | {"recordings": [row._asdict() for row in self.recordings]}


TrialProgress: TypeAlias = Callable[[AnnouncementTrial], object]
"""Called with each trial as soon as it is done."""
GuestRecorder: TypeAlias = Callable[[Lab, StepProgress], list[announcements.Recording]]
"""Starts the guests of a lab, lets them announce themselves, and returns what they recorded."""


def announce_in_labs(
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    record_guests: GuestRecorder | None = None,
    where: LabScope | None = None,
    progress: StepProgress = lambda _: None,
    on_trial: TrialProgress = lambda _: None,
) -> list[AnnouncementTrial]:
    """Bring up a lab for each kind of addresses, let its hosts announce themselves, and remove it.

    ``scenario`` and ``overrides`` are those of :func:`etherweave.control.lab.lifecycle.up`, which
    also says what is raised. ``record_guests`` starts all hosts as guests; ``None``: they are
    namespaces. ``where`` is directory and prefix; by default those of this machine. ``progress`` is
    called before each step, ``on_trial`` with each trial as soon as it is done.
    """
    scope, trials = where or state.machine_scope(), []
    for addresses in ADDRESSES:
        name = f"announce-{addresses}-{os.getpid()}"
        changes = {**(overrides or {}), "control.addresses": addresses}
        hosts = prepare(scenario, changes, ())[1].plan.hosts if record_guests else ()
        guests = list(dict.fromkeys(host.host for host in hosts))
        lab = up(scope, name, scenario, changes, guests=guests, progress=progress)
        try:
            trials.append(announce(lab, record_guests, progress))
        finally:
            down(scope, name)
        on_trial(trials[-1])
    return trials


def announce(
    lab: Lab, record_guests: GuestRecorder | None = None, progress: StepProgress = lambda _: None
) -> AnnouncementTrial:
    """Let all hosts of a lab announce themselves, and send to what they have recorded."""
    spec = lab.layout.planned.spec
    progress("hosts announce themselves")
    counted = record_guests(lab, progress) if record_guests else _of_namespaces(lab.layout)
    count = len({host.host for host in lab.layout.plan.hosts})
    summed = tuple(
        announcements.Recording(*kind, *map(sum, zip(*(row[2:] for row in rows), strict=True)))
        for kind, rows in groupby(sorted(counted), lambda row: row[:2])
    )
    return AnnouncementTrial(spec.addresses, spec.protocol, count, len(lab.layout.guests), summed)


def failures(trials: Iterable[AnnouncementTrial]) -> list[str]:
    """List what is not as section IV says of announcements."""
    return [
        f"{trial.addresses}: {row.service}, recorded from its {row.source}: {row.reached} of "
        f"{row.pairs} pairs reached; expected {expected}"
        for trial in trials
        for row in trial.recordings
        if (expected := row.pairs if is_right(trial, row) else 0) != row.reached
        or row.recorded != row.pairs
    ]


def is_right(trial: AnnouncementTrial, recording: announcements.Recording) -> bool:
    """Return whether the recorded address is one that rules lead to.

    Of a payload this is so where hosts have their hierarchical addresses, and of ARP, whose payload
    the switches rewrite.
    """
    is_known = recording.service is announcements.AnnouncedService.ARP
    is_header = recording.source is announcements.RecordedFrom.HEADER
    return is_header or is_known or trial.addresses == "dmp"


def services(planned: PlannedDeployment) -> list[announcements.AnnouncedService]:
    """Return the services whose announcements the rules of a plan send to all hosts."""
    spec = planned.spec
    has = {
        announcements.AnnouncedService.OPEN_MX: True,
        announcements.AnnouncedService.ARP: spec.network is not None
        and spec.resolution == "broadcast",
        # OpenFlow 1.0 has no match of all multicasts of IPv6.
        announcements.AnnouncedService.NEIGHBOUR: spec.protocol == "openflow13",
    }
    return [service for service in announcements.AnnouncedService if has[service]]


def _of_namespaces(layout: Layout) -> list[announcements.Recording]:
    own = services(layout.planned)
    addresses = ipv4_addresses(layout)
    with ExitStack() as stack:
        hosts = []
        for number, host in enumerate(layout.plan.hosts):
            with inside(layout.host(host.host)):
                plane = plane_of(layout, host)
                announcing = announcements.AnnouncingHost(
                    host_interface(host), number, addresses, plane, own
                )
                hosts.append(stack.enter_context(announcing))
        announcements.exchange(hosts, ROUNDS, LIMIT_S)
        return [row for host in hosts for row in host.recordings()]


def plane_of(layout: Layout, host: HostPlan) -> list[int]:
    """Return the indices of all ports of hosts in the plane of a port."""
    return [index for index, other in enumerate(layout.plan.hosts) if other.plane == host.plane]


def ipv4_addresses(layout: Layout) -> list[int]:
    """Return the address of each port of a host, 0 for none."""
    return [host.ipv4 or 0 for host in layout.plan.hosts]
