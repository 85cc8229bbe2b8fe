"""Parameters that several verbs share."""

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from etherweave.cli.exits import refuse, told
from etherweave.scenario import Literal, literals

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
        "Lists count from 0: job.0.priority=3. @FILE: all that stand in a file, "
        "such as `calibrate` writes.",
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
    """Split settings into keys and values; later ones win.

    A value that is no TOML is a text: ``switch.latency=1us`` needs no quotes.
    """
    found: dict[str, object] = {}
    for setting in settings or []:
        if setting.startswith("@"):
            found |= _of_file(Path(setting[1:]))
            continue
        key, equals, value = setting.partition("=")
        if not (key and equals):
            refuse(f"--set {setting}: expected KEY=VALUE, or @FILE")
        found[key] = Literal(value) if _is_toml(value) else value
    return found


def _of_file(file: Path) -> dict[str, object]:
    """Read a TOML file whose tables, or dotted keys in quotes, are keys of a scenario."""
    try:
        found = dict(_flat("", tomllib.loads(file.read_text(encoding="utf-8"))))
        literals(found)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        refuse(f"--set @{file}: {error}; expected TOML")
    except TypeError as error:
        refuse(f"--set @{file}: {error}; expected numbers, texts, truths and lists of them")
    except OSError as error:
        refuse(f"--set @{told(error)}")
    return found


def _flat(before: str, table: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(f"{before}{key}.", value)
        else:
            yield f"{before}{key}", value


def _is_toml(value: str) -> bool:
    try:
        return list(tomllib.loads(f"value = {value}")) == ["value"]
    except tomllib.TOMLDecodeError:
        return False
