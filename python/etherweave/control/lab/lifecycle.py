"""Brings labs up and down. ``down`` removes everything of a lab, after any failure."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from etherweave._core import Fabric
from etherweave.api.fabrics import fabric
from etherweave.api.scenario import Overrides, ScenarioSource
from etherweave.control.lab import state
from etherweave.control.lab.boot import BootRecord, StepProgress, boot
from etherweave.control.lab.layout import (
    Layout,
    LayoutError,
    cables,
    check_size,
    factory_mac,
    guest_interface,
    has_room,
    hosts_file,
    interface,
    is_name,
    is_of_lab,
    layout,
)
from etherweave.control.lab.smaller import as_options, smaller_fabric
from etherweave.control.lab.state import LabRecord, LabScope, StateError
from etherweave.control.ovs import bridges, daemons, load
from etherweave.control.ovs.daemons import Daemons, Datapath, start
from etherweave.control.plan import PlannedDeployment, plan
from etherweave.linux import namespaces, processes
from etherweave.linux.links import Links


class LabError(Exception):
    """A lab cannot be brought up; the message says why."""


@dataclass(frozen=True)
class Lab:
    """A lab that is up."""

    directory: Path
    layout: Layout
    record: LabRecord

    @property
    def boot(self) -> BootRecord:
        """Addresses and frames of its boot, which a lab that is up has passed."""
        assert self.record.boot is not None
        return self.record.boot

    @property
    def daemons(self) -> Daemons:
        """Its Open vSwitch, where it has one."""
        return Daemons(self.directory / "ovs", Datapath.NETDEV)

    @property
    def supervisor(self) -> processes.Process | None:
        """The process that obeys pauses, while it runs."""
        return processes.read(self.directory / "supervisor.pid")


def missing(plane: str) -> str:
    """Return what this machine lacks for a lab; empty: nothing."""
    if why := namespaces.missing():
        return why
    if plane == "ovs":
        absent = daemons.missing()
        return f"{', '.join(absent)}: not found; expected openvswitch-switch" if absent else ""
    from etherweave.control.ebpf import attach

    return attach.missing() or ""


def up(
    scope: LabScope,
    name: str,
    scenario: ScenarioSource,
    overrides: Overrides | None = None,
    *,
    failed: Sequence[str] = (),
    plane: str = "ovs",
    guests: Sequence[str] = (),
    progress: StepProgress = lambda _: None,
) -> Lab:
    """Bring a lab up, from a scenario to hosts that can ping each other.

    ``scenario``, ``overrides`` and ``failed`` are those of :func:`etherweave.control.plan.plan`;
    ``plane`` implements the switches: "ovs", bridges of Open vSwitch, or "ebpf", programs in the
    kernel. ``guests`` are hosts that get a port for a virtual machine, and no namespace.
    ``progress`` is called before each step, and with each warning of the plan.
    Raises ``ScenarioError``, ``FabricPlanError`` or ``LayoutError`` if the scenario is wrong, or
    not suitable for a lab; ``LabError``, ``StateError``, ``NamespaceError``, ``OvsError`` or
    ``BootError`` if it cannot be brought up; everything of it is removed.
    """
    if lacking := missing(plane):
        raise LabError(lacking)
    resolved, planned = prepare(scenario, overrides, failed)
    for warning in planned.warnings:
        progress(f"WARNING: {warning}")
    paper = layout(scope.prefix, name, planned, guests)
    if taken := set(paper.namespaces) & set(namespaces.existing()):
        raise LabError(
            f"namespace {min(taken)} exists already; expected `etherweave lab down --all` first"
        )
    directory = _create_directory(scope, name)
    with state.locked(directory):
        try:
            (directory / "scenario.toml").write_text(resolved, encoding="utf-8")
            record = LabRecord(tuple(failed), plane, tuple(guests))
            (directory / "hosts").write_text(hosts_file(paper), encoding="utf-8")
            state.write(directory, record)
            booted = _create(directory, paper, record, progress)
            done = replace(record, boot=booted)
            state.write(directory, done)
        except BaseException:
            progress("removing the incomplete lab")
            _remove(scope, name)
            raise
    return Lab(directory, paper, done)


def prepare(
    scenario: ScenarioSource, overrides: Overrides | None, failed: Sequence[str]
) -> tuple[str, PlannedDeployment]:
    """Resolve and plan a scenario that is small enough; hosts have made-up factory addresses."""
    import polars

    built = fabric(scenario, overrides)
    ports = polars.DataFrame(built.tables["hosts"])
    what = "ports of hosts" if ports["host"].is_duplicated().any() else "hosts"
    try:
        check_size(built.name, *_size(built), what)
    except LayoutError as error:
        raise LayoutError(f"{error}{_with_room(built, scenario, overrides)}") from None
    names = {name: factory_mac(number) for number, name in enumerate(ports["name"])}
    return built.resolved, plan(scenario, overrides, failed=failed, factory=names)


def _size(built: Fabric) -> tuple[int, int]:
    """Count the switches of a fabric, and the ports of its hosts."""
    return len(built.tables["switches"]), len(built.tables["hosts"])


def _with_room(built: Fabric, scenario: ScenarioSource, overrides: Overrides | None) -> str:
    """Name a smaller fabric of the same shape that a lab has room for; nothing without one."""
    known = smaller_fabric(built, scenario, overrides, lambda own: has_room(*_size(own)))
    if known is None:
        return ""
    keys, candidate = known
    switches, ports = _size(candidate)
    return f"; with {as_options(keys)} it has {switches} and {ports}"


def planned_from(directory: Path, record: LabRecord) -> PlannedDeployment:
    """Plan a lab again from its files."""
    return prepare(directory / "scenario.toml", None, record.failed)[1]


def find(scope: LabScope, name: str | None) -> Lab:
    """Return a lab that is up: that of a name, or the only one.

    Raises ``StateError`` if there is none, or it was not brought up completely.
    """
    chosen = state.choose(scope, name)
    directory = state.lab_directory(scope, chosen)
    record = state.read(directory)
    incomplete = f"lab {chosen} is incomplete; expected `etherweave lab down` first"
    if record is None or record.boot is None:
        raise StateError(incomplete)
    planned = planned_from(directory, record)
    lab = Lab(directory, layout(scope.prefix, chosen, planned, record.guests), record)
    if {host.name for host in lab.layout.hosts} - {host.host for host in lab.boot.hosts}:
        raise StateError(incomplete)
    return lab


def down(scope: LabScope, name: str) -> None:
    """Remove a lab, complete or not.

    Raises ``StateError`` if another process is bringing it up or down.
    """
    directory = state.lab_directory(scope, name)
    with state.locked(directory) if directory.is_dir() else contextlib.nullcontext():
        _remove(scope, name)


def all_labs(scope: LabScope) -> list[str]:
    """Return the names of all labs with a directory or a namespace."""
    there = (name for name in namespaces.existing() if name.startswith(scope.prefix))
    by_prefix = {rule.removeprefix(scope.prefix).partition(".")[0] for rule in there}
    return sorted({*state.names(scope), *filter(is_name, by_prefix)})


def _create_directory(scope: LabScope, name: str) -> Path:
    directory = state.lab_directory(scope, name)
    scope.directory.mkdir(parents=True, exist_ok=True)
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        raise StateError(
            f"lab {name} exists already; expected another --name, "
            f"or `etherweave lab down --name {name}` first"
        ) from None
    return directory


def _create(home: Path, paper: Layout, record: LabRecord, progress: StepProgress) -> BootRecord:
    """Make everything, in an order in which slow parts overlap."""
    plan, is_ovs = paper.plan, record.plane == "ovs"
    hosts = len({host.host for host in plan.hosts})
    progress(f"{hosts} hosts, {len(plan.switches)} switches: namespaces and cables")
    namespaces.create(paper.namespaces)
    with namespaces.inside(paper.fabric), contextlib.ExitStack() as stack:
        namespaces.disable_ipv6()
        links = stack.enter_context(Links())
        # For the connections of switches to a controller.
        links.set_up("lo")
        for near, far in cables(paper):
            links.add_veth(near, far)
        for host in plan.hosts:
            if host.host in paper.guests:
                links.add_tap(guest_interface(paper, host))
        supervisor = _start_supervisor(home, stack) if _needs_supervisor(paper, record) else None
        for end in paper.across:
            if is_ovs:
                links.disable_checksum_offload(interface(end))
            links.set_up(interface(end))
        if is_ovs:
            progress("Open vSwitch")
            daemons = start(home / "ovs", Datapath.NETDEV)
            bridges.build(daemons, plan, paper.wiring)
            load.load(daemons, plan, paper.wiring)
        if supervisor:
            progress("switches in the kernel" if not is_ovs else "agents for pauses")
            _release_supervisor(supervisor, home)
    progress("hosts boot")
    return boot(paper, completes_checksums=is_ovs)


def _needs_supervisor(paper: Layout, record: LabRecord) -> bool:
    has_manager = paper.planned.spec.resolution == "manager"
    has_agents = any(switch.pause_bits for switch in paper.plan.switches)
    return record.plane == "ebpf" or has_agents or has_manager


def _start_supervisor(directory: Path, stack: contextlib.ExitStack) -> "subprocess.Popen[str]":
    """Start the supervisor, which waits for a line on its standard input."""
    log = stack.enter_context((directory / "supervisor.log").open("w", encoding="utf-8"))
    command = [sys.executable, "-m", "etherweave.control.lab.supervisor", str(directory)]
    # Temporary files of the supervisor are in the directory that ``down`` removes.
    environment = os.environ | {"TMPDIR": str(directory)}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
    supervisor = subprocess.Popen(
        command, env=environment, cwd="/", start_new_session=True, text=True, **pipes
    )
    stack.callback(_detach_supervisor, supervisor)
    processes.write(directory / "supervisor.pid", supervisor.pid)
    return supervisor


def _detach_supervisor(supervisor: "subprocess.Popen[str]") -> None:
    for pipe in (supervisor.stdin, supervisor.stdout):
        if pipe:
            pipe.close()
    # It outlives this process on purpose.
    supervisor.returncode = supervisor.poll() or 0


def _release_supervisor(supervisor: "subprocess.Popen[str]", directory: Path) -> None:
    assert supervisor.stdin and supervisor.stdout, "both are pipes"
    with contextlib.suppress(BrokenPipeError):
        supervisor.stdin.write("begin\n")
        supervisor.stdin.flush()
    if supervisor.stdout.readline() != "ready\n":
        lines = (directory / "supervisor.log").read_text(encoding="utf-8").strip().splitlines()
        raise LabError(f"the lab's supervisor ends: {lines[-1] if lines else 'no message'}")


def _remove(scope: LabScope, name: str) -> None:
    """Remove everything that a lab may have left, in the order of dependencies."""
    directory = state.lab_directory(scope, name)
    own = [own for own in namespaces.existing() if is_of_lab(own, scope.prefix, name)]
    supervisor = processes.read(directory / "supervisor.pid")
    # First by SIGTERM: it removes its switches from the kernel.
    processes.terminate([supervisor] if supervisor else [])
    identities = filter(None, map(namespaces.identity, own))
    processes.terminate(processes.inhabitants(identities))
    namespaces.remove(own)
    _unmount_below(directory)
    shutil.rmtree(directory, ignore_errors=True)
    if directory.exists():
        raise LabError(f"{directory}: cannot be removed; expected that no process uses it")
    _remove_empty_directories(scope)


def _unmount_below(directory: Path) -> None:
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        place = Path(line.split()[1])
        if directory in place.parents:
            subprocess.run(["umount", str(place)], check=False, capture_output=True)


def _remove_empty_directories(scope: LabScope) -> None:
    for directory in (scope.directory, scope.directory.parent):
        with contextlib.suppress(OSError):
            directory.rmdir()
