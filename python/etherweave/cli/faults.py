"""A fault of Etherweave itself, no mistake of a scenario: what is kept, and where to send it."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import typer

import etherweave
from etherweave import _core
from etherweave.cli.exits import FAULT, print_error
from etherweave.cli.processes import launched
from etherweave.outputs import write_text
from etherweave.results import SCENARIO
from etherweave.simulation import FaultError

REPORT = "fault.txt"
"""File with version, command, message and place."""


@contextmanager
def reported(options: Mapping[str, Any]) -> Iterator[None]:
    """End with :data:`FAULT` where the core has a fault, once what there is has been written.

    Parameters
    ----------
    options
        Arguments of the verb by name: ``output`` is a directory, ``file`` and ``settings`` are a
        scenario.
    """
    try:
        yield
    except FaultError as fault:
        _report(options, fault, *fault.cause)
    except _core.PanicException as panic:
        _report(options, None, *(_core.take_fault() or (str(panic), "")))
        if launched() > 1:  # The others wait for this process.
            raise
    else:
        return
    raise typer.Exit(FAULT)


def _report(options: Mapping[str, Any], fault: FaultError | None, message: str, place: str) -> None:
    message = " ".join(message.split())
    home = _home(options.get("output"))
    files = [REPORT]
    lines = [
        f"version: {etherweave.__version__}",
        f"command: {' '.join(sys.argv)}",
        f"message: {message}",
        f"place: {place}",
    ]
    if fault is not None:
        summary = fault.result.summary
        lines += [f"seed: {summary['seed']}", f"simulated: {summary['end_ns'] / 1e6:.6f} ms"]
        files.append("the result until then")
        fault.result.save(home)
    elif (resolved := _resolved(options)) is not None:
        files.append(SCENARIO)
        write_text(home / SCENARIO, resolved)
    write_text(home / REPORT, "\n".join([*lines, ""]))
    print_error(
        f"This is a fault of Etherweave, not of the scenario: {message} ({place}). "
        f"{home} has {' and '.join(files)}; please open an issue of the project with these files, "
        "or, if they are confidential, a security advisory (SECURITY.md)."
    )


def _home(output: object) -> Path:
    """Return the directory of the verb's output, or a new one where it has none."""
    home = output if isinstance(output, Path) and not output.suffix else None
    if home is None or (home.exists() and not home.is_dir()):
        return Path(mkdtemp(prefix="etherweave-fault-"))
    home.mkdir(parents=True, exist_ok=True)
    return home


def _resolved(options: Mapping[str, Any]) -> str | None:
    """Resolve the scenario of a verb, if it has one that can be."""
    from etherweave.cli.parameters import overrides

    if not isinstance(file := options.get("file"), Path):
        return None
    with suppress(OSError, ValueError, typer.Exit, _core.PanicException):
        changes = overrides(options.get("settings"))
        if (seed := options.get("seed")) is not None:
            changes["seed"] = seed
        return etherweave.resolve(file, changes)
    return None
