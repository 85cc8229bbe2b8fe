"""Parameters that several verbs share."""

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import refuse
from etherweave.simulation import Literal

File = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A scenario, TOML.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Override a key, as often as needed; lists count from 0: job.0.priority=3.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


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
