"""Damaged inputs, made from whole ones with fixed seeds, and what a verb may do with them.

A verb ends with 0, with 1 when it judges its input, or with 2 and one line that says what is wrong.
Nothing else: no traceback, no hang, no memory without a bound.
"""

import json
import os
import random
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
from pyarrow import parquet

from support import command_line

LIMIT_S = 60  # Longest time of a verb on a busy machine [s]; what waits for a FIFO waits forever.
MEMORY = 4 * 2**30  # Largest growth of the address space [bytes].
ODD: list[Any] = [None, True, -1, 2**64, 1e300, "", "x", "nan", [], {}, [[]], {"x": 1}]
"""Values of other types than most keys expect."""
DEEP = "[" * 10_000

ROUNDS = int(os.environ.get("ETHERWEAVE_FUZZ_ROUNDS", "1"))
"""How often tests marked `fuzz` draw their input; `make fuzz` asks for more rounds."""
SEEDS = 1_000  # Seeds of a round, about.


def rounds(seed: int) -> Iterator[random.Random]:
    """Give random numbers for each round, those of the first from the seed as it is."""
    return (random.Random(seed + number * SEEDS) for number in range(ROUNDS))


class Damage(NamedTuple):
    name: str
    do: Callable[[Path], None]


def kinds() -> list[Damage]:
    """Return damages that put something else in a file's place."""
    return [
        Damage("missing", Path.unlink),
        Damage("empty", lambda file: _write(file, b"")),
        Damage("directory", lambda file: _instead(file, Path.mkdir)),
        Damage("fifo", lambda file: _instead(file, os.mkfifo)),
        Damage("dangling link", lambda file: _instead(file, lambda path: path.symlink_to("/no/x"))),
        Damage("/dev/zero", lambda file: _instead(file, lambda path: path.symlink_to("/dev/zero"))),
        Damage("deep", lambda file: _write(file, DEEP.encode())),
        Damage("no UTF-8", lambda file: _write(file, b"\xff\xfe" * 100)),
    ]


def octets(seed: int, count: int = 2) -> list[Damage]:
    """Return damages that cut a file or change some of its octets."""
    cuts = [Damage(f"cut to {share:g}", _cut(share)) for share in (0.25, 0.5, 0.9)]
    return cuts + [Damage(f"flipped {seed + at}", _flip(seed + at)) for at in range(count)]


def values(file: Path, seed: int, count: int = 8) -> list[Damage]:
    """Return damages that put odd values into a JSON file, or drop keys."""
    places = list(_places(json.loads(file.read_text())))
    chance = random.Random(seed)
    choices = [(chance.choice(places), chance.choice([*ODD, ...])) for _ in range(count)]
    return [Damage(f"{place} = {odd!r}", _put(place, odd)) for place, odd in choices]


def lines(file: Path, seed: int, count: int = 8) -> list[Damage]:
    """Return damages that put odd values behind the keys of a TOML or CSV file."""
    chance = random.Random(seed)
    numbers = [at for at, line in enumerate(file.read_text().splitlines()) if line.strip()]
    odd = ["= 1e999", "= true", '= "x"', "= [[[1]]]", "= {}", ",,,,", "= -9223372036854775808", "="]
    choices = [(chance.choice(numbers), chance.choice(odd)) for _ in range(count)]
    return [Damage(f"line {at + 1} {text}", _end_line(at, text)) for at, text in choices]


def columns(file: Path) -> list[Damage]:
    """Return damages of each column of a table: dropped, renamed, of text, without values."""
    damages = []
    for name in parquet.read_schema(file).names:
        damages += [
            Damage(f"{name} dropped", _column(name, lambda table, at: table.remove_column(at))),
            Damage(f"{name} renamed", _column(name, _renamed)),
            Damage(f"{name} of text", _column(name, _text)),
            Damage(f"{name} without values", _column(name, _null)),
        ]
    return damages


def offence(*arguments: object, lines_max: int = 1) -> str:
    """Run a verb; return what it must not do, empty if it does nothing of the kind.

    It may report ``lines_max`` mistakes, each on a line.
    """
    try:
        with bounded():
            done = command_line.invoke(*arguments)
    except BaseException as raised:  # A panic of a library in Rust is no Exception.
        return f"{type(raised).__name__}: {str(raised)[:200]}"
    error = done.exception
    if error is not None and not isinstance(error, SystemExit):
        return f"{type(error).__name__}: {str(error)[:200]}"
    if done.exit_code not in (0, 1, 2):
        return f"ends with {done.exit_code}"
    lines = done.stderr.splitlines()
    if done.exit_code == 2 and not 1 <= len(lines) <= lines_max:
        return f"ends with 2 and {len(lines)} lines: {lines[:3]}"
    return "a traceback" if "Traceback" in done.stderr else ""


class Hang(BaseException):
    """A verb does not end; nothing that handles errors of the system may take it for one."""


@contextmanager
def bounded() -> Iterator[None]:
    def end(number: int, frame: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, end)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, limits[1]))
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGALRM, before)


def damaged(path: Path, file: str, damage: Damage, place: Path) -> Path:
    """Copy a directory, and damage one of its files; gives the copy."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(path, place)
    damage.do(place / file)
    return place


def _write(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def _instead(file: Path, make: Callable[[Path], object]) -> None:
    file.unlink()
    make(file)


def _cut(share: float) -> Callable[[Path], None]:
    def do(file: Path) -> None:
        content = file.read_bytes()
        file.write_bytes(content[: int(share * len(content))])

    return do


def _flip(seed: int) -> Callable[[Path], None]:
    def do(file: Path) -> None:
        content = bytearray(file.read_bytes())
        chance = random.Random(seed)
        for _ in range(3):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)

    return do


Place = tuple[str | int, ...]


def _places(value: object, place: Place = ()) -> Iterator[Place]:
    """Give the keys that lead to each value of a JSON document."""
    items: Iterator[tuple[str | int, object]] = iter(())
    if isinstance(value, dict):
        items = iter(value.items())
    elif isinstance(value, list):
        items = iter(enumerate(value))
    for key, member in items:
        yield (*place, key)
        yield from _places(member, (*place, key))


def _put(place: Place, odd: object) -> Callable[[Path], None]:
    def do(file: Path) -> None:
        document = json.loads(file.read_text())
        *above, last = place
        holder: Any = document
        for key in above:
            holder = holder[key]
        if odd is ...:
            del holder[last]
        else:
            holder[last] = odd
        file.write_text(json.dumps(document))

    return do


def _end_line(at: int, text: str) -> Callable[[Path], None]:
    def do(file: Path) -> None:
        all_lines = file.read_text().splitlines()
        all_lines[at] = all_lines[at].split("=")[0].split(",")[0] + text
        file.write_text("\n".join(all_lines) + "\n")

    return do


def _column(
    name: str, change: Callable[[pyarrow.Table, int], pyarrow.Table]
) -> Callable[[Path], None]:
    def do(file: Path) -> None:
        table = parquet.read_table(file, partitioning=None)
        parquet.write_table(change(table, table.column_names.index(name)), file)

    return do


def _renamed(table: pyarrow.Table, at: int) -> pyarrow.Table:
    names = list(table.column_names)
    names[at] = "renamed"
    return table.rename_columns(names)


def _text(table: pyarrow.Table, at: int) -> pyarrow.Table:
    return table.set_column(at, table.column_names[at], pyarrow.array(["x"] * len(table)))


def _null(table: pyarrow.Table, at: int) -> pyarrow.Table:
    nulls = pyarrow.nulls(len(table), table.schema.field(at).type)
    return table.set_column(at, table.column_names[at], nulls)
