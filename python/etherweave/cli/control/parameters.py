"""Parameters that several verbs of ``control`` share."""

import csv
from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import refuse
from etherweave.control.text import mac_value

Failed = Annotated[
    list[str] | None,
    typer.Option(
        "--failed",
        metavar="CABLE",
        help='A cable that is down, by its ends, repeatable: "leaf0 - core0"; of several '
        'parallel ones by the port of its first end: "leaf0:13 - core0".',
    ),
]
Factory = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.csv",
        help="Factory MAC addresses, with the columns host and mac, where control.addresses is "
        "rewrite.",
    ),
]


def factory_addresses(path: Path | None) -> dict[str, int]:
    """Read the addresses of a file; none without one."""
    if path is None:
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if not {"host", "mac"} <= set(rows.fieldnames or ()):
            refuse(f"{path}:1: expected the columns host and mac")
        return {row["host"]: _address(path, rows.line_num, row["mac"]) for row in rows}


def _address(path: Path, line: int, word: str | None) -> int:
    try:
        return mac_value(word or "")
    except ValueError as error:
        refuse(f"{path}:{line}: {error}")
