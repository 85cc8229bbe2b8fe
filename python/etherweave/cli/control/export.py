"""The verb ``control export``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave.cli.control.yanglint import refusals
from etherweave.cli.exits import FAILED, alarm, refuse, told
from etherweave.cli.parameters import AsJson, File, Settings, directory, overrides
from etherweave.control.qos import derive, sonic_yang
from etherweave.control.qos.nos import SYSTEMS, files
from etherweave.control.qos.policy import Policy, PolicyError, Watchdog

EXAMPLES = """Examples:

etherweave control export scenarios/qos_ets.toml --nos onyx --mtu 4500 -o testbed

etherweave control export scenarios/qos_ets.toml --nos sonic -o fabric --yang sonic-yang-models

etherweave control export dragonfly.toml --nos sonic --routing dragonfly_minimal \
--set flow_control.pfc.priorities=[3,4] --dscp 3=26 --dscp 4=34 -o fabric"""


def export(
    file: File,
    system: Annotated[str, typer.Option("--nos", help=f"One of {', '.join(sorted(SYSTEMS))}.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Where to write; without it: a list."),
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(
            "--yang",
            metavar="DIR",
            help="YANG models of SONiC (sonic-buildimage, src/sonic-yang-models/yang-models): let "
            "`yanglint` of libyang check what is written.",
        ),
    ] = None,
    mtu: Annotated[
        int, typer.Option(help="Of hosts and switches, above Ethernet [B].")
    ] = derive.MTU_BYTES,
    dscps: Annotated[
        list[str] | None,
        typer.Option(
            "--dscp",
            metavar="PRIORITY=DSCP",
            help="The code point that hosts write for a priority; without it 8 PRIORITY + 2.",
        ),
    ] = None,
    cnp: Annotated[
        int, typer.Option(help="The code point of congestion notifications, with DCQCN.")
    ] = derive.CNP_DSCP,
    watchdog: Annotated[
        str,
        typer.Option(
            metavar="DETECT:RESTORE",
            help="When the PFC watchdog gives a queue up and tries it again [ms]; off: without.",
        ),
    ] = "200:200",
    routing: Annotated[
        str | None,
        typer.Option(help="The routing that must not deadlock; without it the scenario's."),
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Write what switches and hosts must be told to lose nothing: PFC, ETS, ECN, buffers, maps.

    Ends with 1 when `yanglint` refuses a file, and with 2 after a mistake.
    """
    if system not in SYSTEMS:
        refuse(f"--nos {system}: expected one of {', '.join(sorted(SYSTEMS))}")
    if models and system != "sonic":
        refuse(f"--yang: expected --nos sonic, for {system} has no models")
    options = derive.ExportOptions(mtu, _dscps(dscps or []), cnp, _watchdog(watchdog), routing)
    try:
        policy = derive.policy(file, overrides(settings), options)
        written = files(policy, system)
        if output:
            _write(written, directory(output))
        refused = refusals(written, models) if models else {}
    except (etherweave.ScenarioError, PolicyError, sonic_yang.YangError) as error:
        refuse(error)
    except OSError as error:
        refuse(told(error))
    for note in policy.notes:
        alarm(f"note: {note}")
    if as_json:
        print(json.dumps({"files": sorted(written), "refused": refused}))
    else:
        _print_summary(policy, system, written, output)
    for name, message in refused.items():
        alarm(f"{name}: yanglint refuses it: {message}")
    if refused:
        raise typer.Exit(FAILED)


def _dscps(texts: list[str]) -> dict[int, int]:
    pairs = {}
    for text in texts:
        priority, equals, dscp = text.partition("=")
        if not (equals and priority.isdecimal() and dscp.isdecimal()):
            refuse(f"--dscp {text}: expected PRIORITY=DSCP, as 3=26")
        if int(priority) in pairs:
            refuse(f"--dscp {text}: expected one code point for priority {priority}")
        pairs[int(priority)] = int(dscp)
    return pairs


def _watchdog(text: str) -> Watchdog | None:
    if text == "off":
        return None
    detect, colon, restore = text.partition(":")
    if colon and detect.isdecimal() and restore.isdecimal():
        times = int(detect), int(restore)
        # The ranges of SONiC's model; it polls between 100 and 1000 ms.
        if 100 <= times[0] <= 5000 and 100 <= times[1] <= 60_000:
            return Watchdog(*times, poll_ms=min(*times, 200))
    refuse(f"--watchdog {text}: expected off, or DETECT:RESTORE of 100-5000 and 100-60000 ms")


def _write(written: Mapping[str, str], output: Path) -> None:
    for name, text in written.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if path.suffix == ".sh":
            path.chmod(0o755)


def _print_summary(
    policy: Policy, system: str, written: Mapping[str, str], output: Path | None
) -> None:
    lossless = ", ".join(str(one.number) for one in policy.lossless) or "none"
    headrooms = sorted({port.headroom_bytes for one in policy.switches for port in one.ports})
    channels = sum(len(one.bundles()) for one in policy.switches)
    print(f"{policy.name} for {system}: {len(policy.switches)} switches, {len(policy.hosts)} hosts")
    print(f"  flow control  {policy.flow_control}, lossless priorities {lossless}")
    sizes = ", ".join(f"{size:,} B" for size in headrooms)
    print(f"  headroom      {sizes} at MTU {policy.mtu_bytes}")
    print(f"  deadlock      {policy.routing} needs {policy.routing_priorities} of them")
    print(f"  port channels {channels} ends")
    print(f"  files         {len(written)}{f' in {output}' if output else ''}")
    if output is None:
        for name in sorted(written):
            print(f"    {name}")
