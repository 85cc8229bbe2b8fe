"""The verb ``control export``."""

import json
import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave.api.inputs import read_text
from etherweave.api.outputs import new_files
from etherweave.api.units import counted
from etherweave.cli import parameters
from etherweave.cli.control.yang import refusals
from etherweave.cli.exits import FAILED, mistakes, print_error, reject
from etherweave.cli.progress import count_progress
from etherweave.control.lint import config_db
from etherweave.control.qos import derive, devices, front_panel, sonic_yang
from etherweave.control.qos.nos import HOSTS, NetworkSystem, Running, texts
from etherweave.control.qos.policy import HostPorts, Policy, PolicyError, SonicForm, Watchdog


def export(
    file: parameters.File,
    *,
    nos: NetworkSystem,
    output: Path | None = None,
    ansible: Path | None = None,
    models: Path | None = None,
    mtu: int = derive.MTU_BYTES,
    dscps: parameters.CodePoints = None,
    cnp: int = derive.CNP_DSCP,
    watchdog: str | None = None,
    ecn: bool = True,
    routing: str | None = None,
    device: str | None = None,
    lookup: Path | None = None,
    running: Path | None = None,
    is_whole: bool = False,
    dynamic: bool = False,
    panels: list[str] | None = None,
    host_ports: str | None = None,
    shared: Annotated[int, typer.Option(min=0, max=32)] = 0,
    settings: parameters.Settings = None,
    as_json: parameters.AsJson = False,
) -> None:
    """Write configurations of switches and hosts for lossless traffic: PFC, ETS, ECN, buffers.

    Exit code 1: yanglint rejects a file; 2: a mistake.

    Parameters
    ----------
    nos
        Operating system of the switches.
    output : -o DIR
        Directory for the files; default: only list them.
    ansible : DIR
        Write an inventory, a playbook and roles of Ansible here that apply the files of --output.
    models : --yang DIR
        Check SONiC's files with yanglint against the YANG models in this directory
        (sonic-buildimage, src/sonic-yang-models/yang-models).
    mtu : BYTES
        MTU of hosts and switches, without Ethernet's header.
    cnp : DSCP
        Code point of congestion notifications, with DCQCN.
    watchdog : DETECT:RESTORE
        Times after which the PFC watchdog drops and restores a queue [ms]; off: none; default: the
        scenario's, or 200:200.
    ecn : --ecn/--no-ecn
        Configure ECN and DCQCN for RoCE with PFC where the scenario has neither ets nor switch.ecn.
    routing
        Routing that must be free of deadlock; default: the scenario's.
    device : --switch PROFILE
        Profile of the switches, as sn4700 or tomahawk3; default: the scenario's, or a device with
        ports that are fast enough.
    lookup : FILE
        The device's own pg_profile_lookup.ini, of which headroom is taken.
    running : DIR
        Directory with SWITCH/config_db.json of running SONiC switches: write SWITCH/patch.json for
        `config apply-patch`.
    is_whole : --whole/--no-whole
        Write PORT, PORTCHANNEL and DEVICE_METADATA of SONiC, too.
    dynamic : --dynamic/--no-dynamic
        Use SONiC's dynamic buffer model: the switch computes headroom.
    panels : --front-panel [SWITCHES=]PANEL
        Cages of the front from the left, as leaf*=48x100G-2,8x400G: number, rate, and lanes where
        they are not the usual ones; ports take those of their rate, then parts of faster ones;
        repeatable; default: a cage for each port.
    host_ports : --host-ports KIND
        Kind of the ports of hosts: access:VLAN, or routed; default: not written.
    shared : --shared-headroom RATIO
        Share a pool of 1/RATIO of all headroom of a SONiC switch; 0: none is shared.
    """
    system = nos.value
    if ansible and not output:
        reject("--ansible: roles apply exported files; expected --output DIR beside it")
    if models and system != "sonic":
        reject(f"--yang: expected --nos sonic, for {system} has no models")
    if system != "sonic" and (running or is_whole or dynamic or shared):
        options_of_sonic = "--running, --whole, --dynamic and --shared-headroom"
        reject(f"{options_of_sonic}: expected --nos sonic, not {system}")
    with mistakes(etherweave.ScenarioError, PolicyError, sonic_yang.YangError):
        options = derive.ExportOptions(
            mtu_bytes=mtu,
            dscps=parameters.code_points(dscps),
            cnp_dscp=cnp,
            watchdog=_watchdog(watchdog),
            is_watched=watchdog != "off",
            marks=ecn,
            routing=routing,
            system=system,
            device=device,
            lookup=devices.read_lookup(str(lookup), read_text(lookup)) if lookup else None,
            sonic=SonicForm(is_whole, dynamic, shared),
            panels=front_panel.panels(panels or ()),
            host_ports=_host_ports(host_ports),
        )
        policy = derive.policy(file, parameters.overrides(settings), options)
        rejected = _rejected(policy, models) if models else {}
        names = [] if rejected else _write(policy, system, output, _running(policy, running))
        if ansible and output and not rejected:
            _write_roles(policy, system, output, ansible)
    for note in policy.notes:
        print_error(f"note: {note}")
    if as_json:
        print(json.dumps({"files": sorted(names), "rejected": rejected}))
    elif not rejected:
        _print_summary(policy, system, names, output)
    for name, message in rejected.items():
        print_error(f"{name}: yanglint rejects it: {message}")
    if rejected:
        raise typer.Exit(FAILED)


def _rejected(policy: Policy, models: Path) -> dict[str, str]:
    """Check whole configurations: the models require the ports that settings name."""
    complete = replace(policy, sonic=replace(policy.sonic, is_whole=True), hosts=())
    return refusals(texts(complete, "sonic"), models)


def _running(policy: Policy, folder: Path | None) -> Running:
    if folder is None:
        return {}
    places = {switch.name: folder / switch.name / "config_db.json" for switch in policy.switches}
    known = {name: path for name, path in places.items() if path.exists()}
    if not known:
        reject(
            f"--running {folder}: expected SWITCH/config_db.json, as {next(iter(places.values()))}"
        )
    with mistakes(config_db.ConfigError, before="--running: "):
        return {name: config_db.tables(str(path), read_text(path)) for name, path in known.items()}


def _write_roles(policy: Policy, system: str, output: Path, ansible: Path) -> None:
    """Write roles of Ansible that apply what was exported."""
    from etherweave.control.qos import ansible as roles

    exported = os.path.relpath(output, ansible)
    with new_files(parameters.directory(ansible)) as files:
        for name, text in roles.files(policy, system, exported):
            files.add(name, text)


def _watchdog(text: str | None) -> Watchdog | None:
    if text is None or text == "off":
        return None
    detect, colon, restore = text.partition(":")
    if colon and detect.isdecimal() and restore.isdecimal():
        times = int(detect), int(restore)
        # The ranges of SONiC's model; it polls between 100 and 1000 ms.
        if 100 <= times[0] <= 5000 and 100 <= times[1] <= 60_000:
            return Watchdog(*times, poll_ms=min(*times, 200))
    reject(f"--watchdog {text}: expected off, or DETECT:RESTORE of 100-5000 and 100-60000 ms")


def _host_ports(text: str | None) -> HostPorts | None:
    if text is None or text == "routed":
        return None if text is None else HostPorts(None)
    kind, _, vlan = text.partition(":")
    if kind == "access" and vlan.isdecimal() and 1 <= int(vlan) <= 4094:
        return HostPorts(int(vlan))
    reject(f"--host-ports {text}: expected routed, or access:VLAN of 1 to 4094")


def _write(policy: Policy, system: str, output: Path | None, running: Running) -> list[str]:
    """Write all files, or none; without a directory, name them."""
    names: dict[str, None] = {}
    collected = new_files(parameters.directory(output)) if output else nullcontext()
    with collected as files, count_progress(policy.name, "devices") as progress:
        total = 1 + len(policy.hosts) + len(policy.switches)
        done, device = 0, ""
        for name, text in texts(policy, system, running):
            if files:
                files.add(name, text)
            names[name] = None
            if device != (device := name if name.startswith(HOSTS) else name.partition("/")[0]):
                done += 1
                progress(done, total, name)
    return list(names)


def _print_summary(policy: Policy, system: str, names: list[str], output: Path | None) -> None:
    lossless = ", ".join(str(level.number) for level in policy.lossless) or "none"
    headrooms = sorted({port.headroom_bytes for switch in policy.switches for port in switch.ports})
    channels = sum(len(switch.bundles()) for switch in policy.switches)
    hosts = {port.peer for switch in policy.switches for port in switch.ports if port.is_host}
    several = f" with {len(policy.hosts)} ports" if len(policy.hosts) > len(hosts) else ""
    size = f"{counted(len(policy.switches), 'switch')}, {counted(len(hosts), 'host')}{several}"
    print(f"{policy.name} for {system}: {size}")
    print(f"  flow control  {policy.flow_control}, lossless priorities {lossless}")
    sizes = ", ".join(f"{size:,} B" for size in headrooms)
    print(f"  headroom      {sizes} of {policy.device} at MTU {policy.mtu_bytes}")
    print(f"  deadlock      {policy.routing} needs {policy.routing_priorities} of them")
    print(f"  port channels {counted(channels, 'end')}")
    print(f"  files         {len(names)}{f' in {output}' if output else ''}")
    if output is None:
        for name in sorted(names):
            print(f"    {name}")
