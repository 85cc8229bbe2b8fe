"""Parameters that several verbs share."""

import os
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import refuse
from etherweave.scenario import Literal

File = Annotated[
    Path, typer.Argument(help="A scenario, TOML; `etherweave schema` says what it may hold.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Override a key, as often as needed, with its unit: switch.latency=1us. "
        "Lists count from 0: job.0.priority=3.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


def directory(output: Path) -> Path:
    """Refuse an output that cannot be a directory, before anything is simulated for it."""
    above = next(path for path in (output, *output.absolute().parents) if path.exists())
    if not above.is_dir():
        refuse(f"{output}: expected a directory, but {above} is a file")
    if not os.access(above, os.W_OK):
        refuse(f"{output}: no permission to write into {above}")
    return output


def overrides(settings: list[str] | None) -> dict[str, object]:
    """Split settings into keys and values.

    A value that is no TOML is a text: ``switch.latency=1us`` needs no quotes.
    """
    pairs = [(setting, *setting.partition("=")) for setting in settings or []]
    for setting, key, equals, _ in pairs:
        if not (key and equals):
            refuse(f"--set {setting}: expected KEY=VALUE")
    return {key: Literal(value) if _is_toml(value) else value for _, key, _, value in pairs}


def _is_toml(value: str) -> bool:
    try:
        return list(tomllib.loads(f"value = {value}")) == ["value"]
    except tomllib.TOMLDecodeError:
        return False
