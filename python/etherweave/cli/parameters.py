"""Parameters that several verbs share."""

import os
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from etherweave.api.inputs import read_text
from etherweave.api.machine import usable_processors
from etherweave.api.scenario import Literal, dotted, literals
from etherweave.api.units import time_of
from etherweave.cli.exits import mistakes, os_error, reject
from etherweave.cli.extras import require

VALUE_MAX = 4096  # Longest value of ``--set`` [characters]; a file has room for more.
THREADS_MAX = 1024  # Largest number of threads that ``--threads`` accepts.

Positive = Annotated[int, typer.Option(min=1)]
Natural = Annotated[int, typer.Option(min=0)]
File = Annotated[
    Path,
    typer.Argument(
        metavar="SCENARIO", help="Scenario file, TOML; `etherweave schema` describes its keys."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Override a key of the scenario, as in switch.latency=1us or job.0.priority=3 (lists "
        "count from 0), take it out with KEY=, or with @FILE override all keys of "
        "a TOML file; repeatable.",
    ),
]
Extend = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE:CLASS",
        help="Let a class of Python decide in place of the core, a subclass of one of "
        "etherweave.extend; modules of the working directory are known; repeatable.",
    ),
]
CodePoints = Annotated[
    list[str] | None,
    typer.Option(
        "--dscp",
        metavar="PRIORITY=DSCP",
        help="Code point that hosts write for a priority; default: 8 PRIORITY + 2; repeatable.",
    ),
]
Uncertain = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=LOW..HIGH",
        help="Draw a key in samples evenly between two values, KEY=[VALUE, ...] one of several "
        "values, or with @FILE keys, weights and correlations of a TOML file; repeatable.",
    ),
]
Seed = Annotated[
    int | None, typer.Option(min=0, max=2**63 - 1, metavar="N", help="Seed of all random streams.")
]
Threads = Annotated[
    int,
    typer.Option(
        min=1,
        max=THREADS_MAX,
        metavar="N",
        show_default=False,
        help="Number of threads, by default the processors that this process may use; results do "
        "not depend on it.",
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Refuse to start if the estimated memory exceeds this size, such as 4GiB; by default "
        "what the machine and the limits of the process leave.",
    ),
]
ExecutorName = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Carry out the work in processes of this machine (local), on a cluster of Dask by its "
        "address or scheduler file (dask=ADDRESS; dask starts one here), or in an array of Slurm "
        "with options of sbatch (slurm=OPTIONS).",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=4096,
        metavar="N",
        help="Number of processes, by default the processors of this machine, or of tasks of an "
        "array, by default 32.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Print how many runs there are, and what time and memory they need."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]

ALL_PROCESSORS = usable_processors()  # Default of :data:`Threads`.


def is_given(context: typer.Context, parameter: str) -> bool:
    """Return whether the command line names a parameter of the verb that runs."""
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


OF_FILES = (
    *(".csv", ".html", ".json", ".md", ".parquet", ".pdf", ".png", ".svg", ".toml"),
    *(".dot", ".gml", ".graphml", ".topo", ".txt", ".xlsx", ".xml", ".yaml", ".yml"),
)
"""Ends of names that no directory is made with."""


def directory(output: Path) -> Path:
    """Reject an output that cannot be a directory, before anything is simulated for it."""
    above = next(path for path in (output, *output.absolute().parents) if os.path.lexists(path))
    if not above.exists():
        reject(f"{output}: expected a directory, but {above} is a link to a missing file")
    if not above.is_dir():
        reject(f"{output}: expected a directory, but {above} is a file")
    if not os.access(above, os.W_OK):
        reject(f"{output}: no permission to write into {above}")
    if output.suffix.lower() in OF_FILES and not os.path.lexists(output):
        reject(f"{output}: expected a directory, but {output.suffix} ends the name of a file")
    return output


def output_file(option: str, path: Path | None, *suffixes: str) -> Path | None:
    """Reject an option's file that cannot be written, before anything is simulated for it.

    Its name ends in one of the suffixes, if there are any.
    """
    if path is None:
        return None
    if suffixes and path.suffix.lower() not in suffixes:
        expected = " or ".join(suffixes)
        reject(f"{option} {path}: expected a file name that ends in {expected}")
    if not path.parent.is_dir():
        reject(f"{option} {path}: No such file or directory")
    if path.is_dir():
        reject(f"{option} {path}: expected a file, but it is a directory")
    return path


FIGURES = (".svg", ".pdf", ".png")
"""Ends of the names of figures."""


def drawing(option: str, path: Path | None, *suffixes: str) -> Path | None:
    """Reject a drawing that cannot be written, or drawn, before anything is simulated for it."""
    if path:
        require("report")
    return output_file(option, path, *suffixes)


def seconds(option: str, text: str, bounds_s: tuple[float, float] | None = None) -> float:
    """Read the time of an option [s], within bounds or above zero, or end with the mistake."""
    with mistakes(ValueError, before=f"{option} "):
        value_s = time_of(text)
    if bounds_s is None and not value_s:
        reject(f"{option} {text}: expected more than zero")
    if bounds_s and not bounds_s[0] <= value_s <= bounds_s[1]:
        reject(f"{option} {text}: expected {bounds_s[0]:g}s to {bounds_s[1]:g}s")
    return value_s


def code_points(texts: list[str] | None) -> dict[int, int]:
    """Read the code points of priorities."""
    pairs: dict[int, int] = {}
    for text in texts or []:
        priority, equals, dscp = text.partition("=")
        if not (equals and priority.isdecimal() and dscp.isdecimal()):
            reject(f"--dscp {text}: expected PRIORITY=DSCP, as 3=26")
        if int(priority) in pairs:
            reject(f"--dscp {text}: expected one code point for priority {priority}")
        pairs[int(priority)] = int(dscp)
    return pairs


def overrides(settings: list[str] | None) -> dict[str, object]:
    """Split settings into keys and values; later ones win.

    A value that is no TOML is a text: ``switch.latency=1us`` needs no quotes. Without a value the
    key is taken out.
    """
    values: dict[str, object] = {}
    for setting in settings or []:
        if setting.startswith("@"):
            values |= _of_file(setting[1:])
            continue
        key, equals, value = setting.partition("=")
        if not (key and equals):
            reject(f"--set {setting}: expected KEY=VALUE, or @FILE")
        values[key] = _value(key, value) if value else None
    return values


def _value(key: str, text: str) -> object:
    if any("\ud800" <= letter <= "\udfff" for letter in f"{key}{text}"):
        reject(f"--set: {key!a}: expected UTF-8 text")
    if len(text) > VALUE_MAX:
        reject(f"--set {key}: expected a value of at most {VALUE_MAX:,} characters")
    try:
        return Literal(text) if list(tomllib.loads(f"value = {text}")) == ["value"] else text
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError) as error:
        reject(f"--set {key}: {error}; expected a number, a text, true, false or a list of them")


def _of_file(file: str) -> dict[str, object]:
    """Read a TOML file whose tables, or dotted keys in quotes, are keys of a scenario."""
    try:
        text = read_text(file)
        values = dotted(tomllib.loads(text))
        literals(values)
        if not text.strip():
            raise ValueError("no key")
    except TypeError as error:
        reject(f"--set @{file}: {error}; expected numbers, texts, true, false and lists of them")
    except OSError as error:
        reject(f"--set @{os_error(error)}")
    except (ValueError, RecursionError) as error:
        reject(f"--set @{file}: {error}; expected TOML")
    return values
