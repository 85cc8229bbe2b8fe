"""The verb ``control export``; checks SONiC's configurations with ``yanglint`` of libyang."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave.cli.exits import FAILED, mistakes, print_error, reject
from etherweave.cli.parameters import AsJson, File, Settings, directory, output_option, overrides
from etherweave.control.qos import derive, sonic_yang
from etherweave.control.qos.nos import files
from etherweave.control.qos.policy import Policy, PolicyError, Watchdog
from etherweave.inputs import read_text

EXAMPLES = """Examples:
etherweave control export scenarios/qos_ets.toml --nos onyx --mtu 4500 -o testbed
etherweave control export scenarios/qos_ets.toml --nos sonic -o fabric --yang sonic-yang-models
etherweave control export dragonfly.toml --nos sonic --routing minimal \
--set flow_control.pfc.priorities=[3,4] --dscp 3=26 --dscp 4=34 -o fabric"""


class NetworkSystem(StrEnum):
    """Operating system of switches: the keys of ``SYSTEMS``."""

    CUMULUS = "cumulus"
    EOS = "eos"
    ONYX = "onyx"
    SONIC = "sonic"


def export(
    file: File,
    nos: Annotated[
        NetworkSystem,
        typer.Option(
            "--nos",
            case_sensitive=False,
            help="Operating system of the switches.",
        ),
    ],
    output: Annotated[
        Path | None, output_option("Directory for the files; default: only list them.", "DIR")
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(
            "--yang",
            metavar="DIR",
            help="Check SONiC's files with yanglint against the YANG models in this directory "
            "(sonic-buildimage, src/sonic-yang-models/yang-models).",
        ),
    ] = None,
    mtu: Annotated[
        int,
        typer.Option(metavar="BYTES", help="MTU of hosts and switches, without Ethernet's header."),
    ] = derive.MTU_BYTES,
    dscps: Annotated[
        list[str] | None,
        typer.Option(
            "--dscp",
            metavar="PRIORITY=DSCP",
            help="Code point that hosts write for a priority; default: 8 PRIORITY + 2; repeatable.",
        ),
    ] = None,
    cnp: Annotated[
        int,
        typer.Option(metavar="DSCP", help="Code point of congestion notifications, with DCQCN."),
    ] = derive.CNP_DSCP,
    watchdog: Annotated[
        str,
        typer.Option(
            metavar="DETECT:RESTORE",
            help="Times after which the PFC watchdog drops and restores a queue [ms]; off: none.",
        ),
    ] = "200:200",
    routing: Annotated[
        str | None,
        typer.Option(help="Routing that must be free of deadlock; default: the scenario's."),
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Write configurations of switches and hosts for lossless traffic: PFC, ETS, ECN, buffers.

    Exit code 1: yanglint rejects a file; 2: a mistake.
    """
    system = nos.value
    if models and system != "sonic":
        reject(f"--yang: expected --nos sonic, for {system} has no models")
    options = derive.ExportOptions(mtu, _dscps(dscps or []), cnp, _watchdog(watchdog), routing)
    with mistakes(etherweave.ScenarioError, PolicyError, sonic_yang.YangError):
        policy = derive.policy(file, overrides(settings), options)
        written = files(policy, system)
        if output:
            _write(written, directory(output))
        rejected = refusals(written, models) if models else {}
    for note in policy.notes:
        print_error(f"note: {note}")
    if as_json:
        print(json.dumps({"files": sorted(written), "rejected": rejected}))
    else:
        _print_summary(policy, system, written, output)
    for name, message in rejected.items():
        print_error(f"{name}: yanglint rejects it: {message}")
    if rejected:
        raise typer.Exit(FAILED)


def _dscps(texts: list[str]) -> dict[int, int]:
    pairs = {}
    for text in texts:
        priority, equals, dscp = text.partition("=")
        if not (equals and priority.isdecimal() and dscp.isdecimal()):
            reject(f"--dscp {text}: expected PRIORITY=DSCP, as 3=26")
        if int(priority) in pairs:
            reject(f"--dscp {text}: expected one code point for priority {priority}")
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
    reject(f"--watchdog {text}: expected off, or DETECT:RESTORE of 100-5000 and 100-60000 ms")


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


LONGEST_S = 120
"""Time limit of a switch [s]."""
TEMPLATES = "*.yang.j2"
"""Models that SONiC's build renders, for a command line and for Python."""


def refusals(written: Mapping[str, str], models: Path) -> dict[str, str]:
    """Check every ``config_db.json``.

    Parameters
    ----------
    written
        Texts by path.
    models
        A directory with the models; templates in it, or in ``yang-templates`` beside it, are
        rendered.

    Returns
    -------
    dict
        Errors of those that are rejected, by path.

    Raises
    ------
    YangError
        When a model cannot be read, or no model has a table.
    """
    if shutil.which("yanglint") is None:
        reject("--yang: expected the program yanglint; Debian has it in libyang2-tools")
    with tempfile.TemporaryDirectory() as rendered:
        folders = (models, Path(rendered))
        _render(models, folders[1])
        known = sonic_yang.table_models(_texts(folders))
        answers = {
            name: refusal(json.loads(text), known, folders)
            for name, text in written.items()
            if name.endswith("config_db.json")
        }
    return {name: message for name, message in answers.items() if message}


def refusal(
    tables: Mapping[str, Mapping[str, Mapping[str, object]]],
    known: sonic_yang.TableModels,
    folders: tuple[Path, ...],
) -> str:
    """Return the errors of ``yanglint``; empty if it accepts the configuration."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.xml"
        data.write_text(sonic_yang.xml(tables, known), encoding="utf-8")
        paths = [word for one in folders for word in ("-p", str(one))]
        modules = [str(_model_file(name, folders)) for name in sonic_yang.modules(tables, known)]
        command = ["yanglint", *paths, "-t", "config", *modules, str(data)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LONGEST_S, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no answer in {LONGEST_S} s"
    return (done.stderr.strip() or f"status {done.returncode}") if done.returncode else ""


def _model_file(module: str, folders: tuple[Path, ...]) -> Path:
    name = f"{module}.yang"
    return next((one / name for one in folders if (one / name).exists()), folders[0] / name)


def _texts(folders: tuple[Path, ...]) -> list[tuple[str, str]]:
    paths = [path for folder in folders for path in sorted(folder.glob("*.yang"))]
    if not paths:
        reject(f"--yang {folders[0]}: expected a directory with *.yang")
    return [(path.name, read_text(path)) for path in paths]


def _render(models: Path, folder: Path) -> None:
    """Render templates as SONiC's build does for its Python tools."""
    from jinja2 import TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment()
    for path in (*models.glob(TEMPLATES), *models.parent.glob(f"yang-templates/{TEMPLATES}")):
        try:
            text = environment.from_string(read_text(path)).render(yang_model_type="py")
        except TemplateError as error:
            raise sonic_yang.YangError(f"{path}: {error}; expected a template") from None
        (folder / path.name.removesuffix(".j2")).write_text(text, encoding="utf-8")
