"""Parameters that several verbs of ``control`` share."""

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etherweave.api.inputs import check_type, read_text
from etherweave.cli.exits import mistakes, print_warnings, reject
from etherweave.cli.parameters import overrides
from etherweave.control.plan import PlannedDeployment, plan
from etherweave.control.rules import FabricPlan, SwitchPlan
from etherweave.control.text import mac_value

if TYPE_CHECKING:
    from etherweave.control.controller.server import ControllerOptions

Failed = Annotated[
    list[str] | None,
    typer.Option(
        "--failed",
        metavar="CABLE",
        help='Cable that is down, by its ends, as in "leaf0 - core0"; one of several parallel '
        'cables by the port of its first end, as in "leaf0:13 - core0"; repeatable.',
    ),
]
Factory = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.csv",
        help="Table of factory MAC addresses with the columns host and mac; required if "
        "control.addresses is rewrite.",
    ),
]

Listen = Annotated[
    str,
    typer.Option(
        "--listen",
        metavar="ADDRESS:PORT",
        help="Address for the connections of switches; port 0: any that is free.",
    ),
]
Probe = Annotated[
    str, typer.Option("--probe", metavar="TIME", help="Time between two LLDP probes of a port.")
]
TlsKey = Annotated[
    Path | None,
    typer.Option("--tls-key", metavar="FILE.pem", help="Private key of the controller."),
]
TlsCertificate = Annotated[
    Path | None,
    typer.Option("--tls-certificate", metavar="FILE.pem", help="Certificate of the controller."),
]
TlsAuthority = Annotated[
    Path | None,
    typer.Option(
        "--tls-ca",
        metavar="FILE.pem",
        help="Certificates of the authority that signs those of switches.",
    ),
]


def controller_options(
    listen: str, files: tuple[Path | None, Path | None, Path | None]
) -> "ControllerOptions":
    """Read the address and the TLS files of a controller, or end with the mistake."""
    from etherweave.control.controller.server import ControllerOptions, TlsFiles

    host, port = _listening_address(listen)
    if not any(files):
        return ControllerOptions(host, port)
    key, certificate, authority = files
    if key is None or certificate is None or authority is None:
        reject("TLS: expected all of --tls-key, --tls-certificate and --tls-ca")
    for path in (key, certificate, authority):
        check_type(path)
        path.open("rb").close()
    return ControllerOptions(host, port, TlsFiles(key, certificate, authority))


def _listening_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and port.isascii() and port.isdigit() and int(port) < 65536):
        reject(f"--listen {text}: expected ADDRESS:PORT, such as 127.0.0.1:6653 or [::1]:6653")
    return host.removeprefix("[").removesuffix("]"), int(port)


def factory_addresses(path: Path | None) -> dict[str, int]:
    """Read the addresses of a file; empty without a file."""
    if path is None:
        return {}
    rows = csv.DictReader(io.StringIO(read_text(path)))
    try:
        if not {"host", "mac"} <= set(rows.fieldnames or ()):
            reject(f"{path}:1: expected the columns host and mac")
        return {row["host"]: _address(path, rows.line_num, row["mac"]) for row in rows}
    except csv.Error as error:
        reject(f"{path}:{rows.line_num}: {error}; expected comma-separated values")


def warned_plan(
    file: Path,
    settings: list[str] | None,
    failed: list[str] | None = None,
    factory: dict[str, int] | None = None,
) -> PlannedDeployment:
    """Plan a scenario, and print how pauses or failed cables can stop what the plan deploys."""
    planned = plan(file, overrides(settings), failed=failed or (), factory=factory)
    print_warnings(planned.warnings, set())
    return planned


def switch_of(plan: FabricPlan, name: str) -> SwitchPlan:
    """Find the switch of ``--switch``, or end with the mistake."""
    for switch in plan.switches:
        if switch.name == name:
            return switch
    first, last = plan.switches[0].name, plan.switches[-1].name
    reject(f"--switch {name}: no such switch; expected one of {first} to {last}")


def _address(path: Path, line: int, word: str | None) -> int:
    with mistakes(ValueError, before=f"{path}:{line}: "):
        return mac_value(word or "")
