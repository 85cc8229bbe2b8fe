"""A result as an archive that others can repeat: scenario, inputs, versions, seed, tables, digests.

The archive is a tar file compressed by gzip, equal for equal results. Its first member,
``manifest.json``, lists all others with their sizes and SHA-256: the files of the result, and the
traces that its scenario names, which a run finds beside it.
"""

import glob
import gzip
import hashlib
import io
import json
import shutil
import tarfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from etherweave.api.inputs import InputError, decoded
from etherweave.api.outputs import below, new_path
from etherweave.api.results import SCENARIO, SUMMARY, TABLES, Result
from etherweave.api.simulation import Progress, run
from etherweave.extend import load_extensions, source_file

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 16 * 2**20
CHUNK_BYTES = 2**20
OF_MACHINE = ("wall_s", "setup_s", "threads", "windows", "packets_max", "memory_bytes_estimated")
"""Figures of a summary that depend on the machine, or on the parts that it divides a run into."""
_TRACE_KEYS = ("file", "groups_file")
_CLASS_KEYS = ("prototype", "load_balancer", "port_choice", "driver")


@dataclass(frozen=True)
class PackedFile:
    """A member of an archive."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The first member of an archive."""

    format: int
    name: str  # Name of the scenario.
    seed: int
    versions: dict[str, str]
    """Versions of Etherweave, of its core and of the library that wrote the tables."""
    machine: dict[str, str]  # Machine that the result was computed on.
    files: dict[str, PackedFile]  # Other members by name.


class MismatchError(Exception):
    """A repeated run that differs; each line names a table or a figure."""


def pack(directory: str | Path, archive: str | Path, extend: Sequence[str] = ()) -> Manifest:
    """Pack a saved result into a file ``.tar.gz``.

    ``extend`` names each class that decided in place of the core, ``MODULE:CLASS``, whose file is
    packed. Raises ``InputError`` when the result is partial, or such a class is not named, so that
    no run repeats it; the errors of :meth:`Result.load`, also when a trace of the scenario is
    missing, and those of :func:`etherweave.extend.load_extensions`.
    """
    home = Path(directory)
    result = Result.load(home)
    if result.is_partial:
        reason = f"is {result.summary['finished']}; expected a result that a run can repeat"
        raise InputError(home, reason)
    _require(home, result.resolved, load_extensions(extend))
    own = (*home.glob(TABLES), home / SCENARIO, home / SUMMARY, *map(_file, extend))
    sources = _traces(home / SCENARIO, result.resolved) | {path.name: path for path in own}
    files = {name: PackedFile(*_measured(path)) for name, path in sorted(sources.items())}
    name, seed = result.summary["name"], result.summary["seed"]
    manifest = Manifest(FORMAT, name, seed, versions(home), dict(result.machine), files)
    with new_path(Path(archive)) as part, part.open("wb") as file:
        _write(file, manifest, sources)
    return manifest


def _file(name: str) -> Path:
    if (file := source_file(name)) is None:
        raise ValueError(f"extend: {name}: its module has no file; expected one to pack")
    return file


def _require(home: Path, resolved: str, classes: Mapping[str, type]) -> None:
    """Refuse a result that classes of the caller decided, where one of them is not at hand."""
    names = {own.__name__ for own in classes.values()}
    if missing := sorted(set(_classes(tomllib.loads(resolved))) - names):
        files = ", ".join(path.name for path in sorted(home.glob("*.py")))
        beside = f", of {files}, which is then executed" if files else ""
        reason = f"is decided by the class {missing[0]}, which no result contains"
        raise InputError(home, f"{reason}; expected --extend MODULE:{missing[0]}{beside}")


def _classes(value: object) -> Iterator[str]:
    """Name the classes of the caller that a resolved scenario asks for."""
    for key, member in value.items() if isinstance(value, dict) else ():
        if key in _CLASS_KEYS and isinstance(member, dict) and "class" in member:
            yield member["class"]
        yield from _classes(member)
    for member in value if isinstance(value, list) else ():
        yield from _classes(member)


def versions(directory: Path) -> dict[str, str]:
    """Name the versions of what computed a result, and of what wrote its tables."""
    from pyarrow import parquet

    result = Result.load(directory)
    tables = {parquet.read_metadata(path).created_by for path in directory.glob(TABLES)}
    named = {"etherweave": result.summary["version"], "tables": ", ".join(sorted(tables))}
    return named | {"core": result.machine.get("core", "")}


def _traces(scenario: Path, resolved: str) -> dict[str, Path]:
    """Find the files that a resolved scenario names, by their names beside it."""
    traces: dict[str, Path] = {}
    for text in _named(tomllib.loads(resolved)):
        pattern = glob.escape(Path(text).name).replace("{rank}", "*")
        # As a run finds it: where the scenario says, or else beside the scenario.
        folders = (Path(text).parent, scenario.parent)
        named = next(filter(None, (sorted(folder.glob(pattern)) for folder in folders)), [])
        if not named:
            raise FileNotFoundError(f"{text}: no such file; {scenario} names it")
        for path in named:
            is_own = path.match(TABLES) or path.name in (SCENARIO, SUMMARY, MANIFEST)
            if is_own or traces.setdefault(path.name, path) != path:
                raise InputError(path, "has the name of another file; expected different names")
    return traces


def _named(value: object) -> Iterator[str]:
    members = value.items() if isinstance(value, dict) else ()
    for key, member in members:
        if key in _TRACE_KEYS and isinstance(member, str) and Path(member).is_absolute():
            yield member
        yield from _named(member)
    for member in value if isinstance(value, list) else ():
        yield from _named(member)


def _measured(path: Path) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()


def _write(file: IO[bytes], manifest: Manifest, sources: Mapping[str, Path]) -> None:
    """Write members in order, without times and owners."""
    described = json.dumps(manifest, default=vars, indent=2).encode() + b"\n"
    with (
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        _add(archive, MANIFEST, len(described), io.BytesIO(described))
        for name, member in manifest.files.items():
            with sources[name].open("rb") as content:
                _add(archive, name, member.bytes, content)


def _add(archive: tarfile.TarFile, name: str, size: int, content: IO[bytes]) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    archive.addfile(member, content)


def unpack(archive: str | Path, directory: str | Path) -> Manifest:
    """Unpack what :func:`pack` wrote into a directory, and check the digest of every member.

    The directory is empty or missing, and made when all is right. Raises ``InputError`` for what is
    no such archive, damaged, or has members that its manifest does not list.
    """
    source, home = Path(archive), Path(directory)
    if home.exists() and any(home.iterdir()):
        raise InputError(home, "is not empty; expected an empty or a new directory")
    home.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".unpacking-", suffix=".part", dir=home) as collected:
        folder = Path(collected)
        try:
            with tarfile.open(source, "r|gz") as packed:
                manifest = _extracted(source, packed, folder, shutil.disk_usage(home).free)
        except (tarfile.TarError, EOFError, gzip.BadGzipFile, UnicodeError) as error:
            raise InputError(source, f"{error}; expected an archive of etherweave pack") from None
        for path in folder.iterdir():
            path.replace(home / path.name)
    return manifest


def _extracted(source: Path, packed: tarfile.TarFile, folder: Path, room: int) -> Manifest:
    """Write members to a directory; none has another name or size than the manifest says."""
    manifest: Manifest | None = None
    left: dict[str, PackedFile] = {}
    for member in packed:
        content = packed.extractfile(member) if member.isfile() else None
        if content is None:
            raise InputError(source, f"{member.name[:60]!r} is no file; expected files")
        if manifest is None:
            manifest = _manifest(source, member, content)
            left = dict(manifest.files)
            needed = sum(other.bytes for other in left.values())
            if needed > room:
                reason = f"needs {needed:,} bytes; {folder.parent} has {room:,}"
                raise InputError(source, reason)
            (folder / MANIFEST).write_text(json.dumps(manifest, default=vars, indent=2) + "\n")
            continue
        expected = left.pop(member.name, None)
        if expected is None or member.size != expected.bytes:
            reason = f"{member.name[:60]!r} is not as the manifest says"
            raise InputError(source, reason)
        path = below(folder, *member.name.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            shutil.copyfileobj(content, file, CHUNK_BYTES)
        if _measured(path) != (expected.bytes, expected.sha256):
            raise InputError(source, f"{member.name} is damaged: its SHA-256 has changed")
    if manifest is None or left:
        missing = next(iter(left), MANIFEST)
        raise InputError(source, f"{missing} is missing; expected an archive of etherweave pack")
    return manifest


def _manifest(source: Path, member: tarfile.TarInfo, content: IO[bytes]) -> Manifest:
    if member.name != MANIFEST or member.size > MANIFEST_BYTES_MAX:
        raise InputError(source, f"{member.name[:60]!r} is first; expected {MANIFEST}")
    try:
        manifest = decoded(Manifest, json.loads(content.read()), MANIFEST)
    except (ValueError, RecursionError) as error:
        raise InputError(source, f"{error}") from None
    if manifest.format != FORMAT:
        raise InputError(source, f"format {manifest.format}; expected {FORMAT}")
    for name in manifest.files:
        below(source, *name.split("/"))
    return manifest


def check(
    directory: str | Path,
    *,
    threads: int = 1,
    progress: Callable[[Progress], bool] | None = None,
    memory_limit: str | None = None,
    extend: Mapping[str, type] | None = None,
) -> list[str]:
    """Run an unpacked scenario again, and compare its tables and figures.

    Tables are compared by the bytes of their files, or by their values where another version of
    Etherweave or pyarrow writes the files. Returns the names of the tables, each with how it was
    compared. Raises ``MismatchError`` when a table or a figure differs, ``InputError`` when the
    result was measured, or a class that decided it is not at hand.
    """
    home = Path(directory)
    kept = Result.load(home)
    if "measured" in kept.summary:
        raise InputError(home, "was measured; expected a simulated result")
    _require(home, kept.resolved, extend or {})
    own: dict[str, Any] = {"threads": threads, "progress": progress, "memory_limit": memory_limit}
    again = run(home / SCENARIO, extend=extend, **own)
    equal: list[str] = []
    different: list[str] = []
    with TemporaryDirectory(prefix="etherweave-") as folder:
        saved = again.save(folder)
        for name in sorted({*kept.tables, *again.tables}):
            how = _compared(home, saved, name, kept, again)
            (equal if how else different).append(f"{name}: {how or 'differs'}")
    different += _figures(kept.summary, again.summary)
    if different:
        raise MismatchError("\n".join(different))
    return equal


def _compared(first: Path, second: Path, name: str, kept: Result, again: Result) -> str:
    """Say how a table of two results is equal; empty when it differs."""
    if name not in kept.tables or name not in again.tables:
        return ""
    paths = [below(home, f"{name}.parquet") for home in (first, second)]
    if _measured(paths[0]) == _measured(paths[1]):
        return "equal bytes"
    tables = [result.to_polars(name) for result in (kept, again)]
    return "equal values" if tables[0].equals(tables[1], null_equal=True) else ""


def _figures(kept: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """List figures that differ, but for those of the machine and the version."""
    names = [name for name in kept if name not in (*OF_MACHINE, "version")]
    return [
        f"{name}: {kept[name]!s:.60} packed, {again.get(name)!s:.60} now"
        for name in names
        if kept[name] != again.get(name)
    ]
