"""A fault of Etherweave itself, no mistake of a scenario: what is kept, and where to send it."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

import typer

import etherweave
from etherweave import _core
from etherweave.api.outputs import quoted_table, write_text, written
from etherweave.api.simulation import FaultError
from etherweave.cli.exits import FAULT, print_error
from etherweave.cli.processes import launched

T = TypeVar("T")

REPORT = "fault.txt"  # File with version, command, message and place.
POINTS, FIGURES = "points.csv", "figures.json"  # Files of the rows of a curve, and of designs.


def until_fault(compute: Callable[[], T]) -> tuple[T, FaultError | None]:
    """Compute a result; what a fault has left of it comes with the fault, to raise in the end."""
    try:
        return compute(), None
    except FaultError as fault:
        return fault.result, fault


@contextmanager
def reported(options: Mapping[str, Any]) -> Iterator[None]:
    """End with :data:`FAULT` where the core has a fault, once what there is has been written.

    Options are arguments of the verb by name: ``output`` is a directory, ``file`` (or ``what``,
    which may be several) and ``settings`` are a scenario.
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
    from etherweave.api.results import SCENARIO

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
        lines += _save(fault.result, home)
        files.append("the result until then")
    if not (home / SCENARIO).exists() and (resolved := _resolved(options)) is not None:
        files.append(SCENARIO)
        write_text(home / SCENARIO, resolved)
    write_text(home / REPORT, "\n".join([*lines, ""]))
    print_error(
        f"This is a fault of Etherweave, not of the scenario: {message} ({place}). "
        f"{home} has {' and '.join(files)}; please open an issue of the project with these files, "
        "or, if they are confidential, a security advisory (SECURITY.md)."
    )


def _save(result: Any, home: Path) -> list[str]:
    """Write what a fault has left, and return lines about it."""
    import polars

    from etherweave.api.fabrics import Proposals
    from etherweave.api.results import Result

    match result:
        case Result():
            result.save(home)
            summary = result.summary
            return [f"seed: {summary['seed']}", f"simulated: {summary['end_ns'] / 1e6:.6f} ms"]
        case Proposals():
            write_text(home / FIGURES, json.dumps(result.comparison, indent=2))
            return [f"fabrics: {len(result.comparison['designs'])}"]
        case dict():
            write_text(home / FIGURES, json.dumps(result, indent=2))
            return []
    points = polars.DataFrame(result)
    written(home / POINTS, quoted_table(points).write_csv)
    return [f"points: {len(points)}"]


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

    files = [options.get("file"), *(options.get("what") or ())]
    named = [file for file in files if isinstance(file, Path | str)]
    if len(named) != 1:
        return None
    with suppress(OSError, ValueError, typer.Exit, _core.PanicException):
        changes = overrides(options.get("settings"))
        if (seed := options.get("seed")) is not None:
            changes["seed"] = seed
        return etherweave.resolve(Path(named[0]), changes)
    return None
