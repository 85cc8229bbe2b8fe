"""Results as an archive that others can repeat: scenario, inputs, versions, seed, tables, digests.

The archive is a tar file compressed by gzip, equal for equal results. Its first member,
``manifest.json``, lists all others with their sizes and SHA-256: the files of each result, and the
traces that its scenario names, which a run finds beside it. Files of equal digests are one member.
A directory of many results, such as that of replications or of a study, has its own tables too.
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
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from etherweave.api.inputs import InputError, check_type, decoded
from etherweave.api.outputs import below, new_directory, new_path
from etherweave.api.results import SCENARIO, SUMMARY, TABLES, Result
from etherweave.api.simulation import Progress, run
from etherweave.extend import load_extensions, source_file

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 16 * 2**20
CHUNK_BYTES = 2**20
OF_MACHINE = ("wall_s", "setup_s", "threads", "windows", "packets_max", "memory_bytes_estimated")
"""Figures of a summary that depend on the machine, or on the parts that it divides a run into."""
OWN = ("*.json", "*.jsonl", "*.parquet")  # Files of a directory of many results.
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
    name: str  # Name of the scenario, or of the directory of many results.
    seed: int  # Seed of the first result.
    versions: dict[str, str]
    """Versions of Etherweave, of its core and of the library that wrote the tables."""
    machine: dict[str, str]  # Machine that the result was computed on.
    files: dict[str, PackedFile]  # Other members by name.


class MismatchError(Exception):
    """A repeated run that differs; each line names a table or a figure."""


def results_in(directory: Path) -> list[Path]:
    """List the directories of results: the directory itself, or all below it.

    Raises ``FileNotFoundError`` when there is none.
    """
    summaries = [directory / SUMMARY] if (directory / SUMMARY).exists() else []
    homes = sorted(path.parent for path in summaries or directory.rglob(SUMMARY))
    if homes:
        return homes
    if (directory / "sweep.json").exists():
        reason = "figures of runs without their tables; expected those of `sweep run --tables`"
    else:
        reason = "no result here; expected a directory of `run -o`, `sweep run --tables` or `study`"
    raise FileNotFoundError(f"{directory}: {reason}")


def pack(directory: str | Path, archive: str | Path, extend: Sequence[str] = ()) -> Manifest:
    """Pack a saved result, or a directory of many, into a file ``.tar.gz``.

    ``extend`` names each class that decided in place of the core, ``MODULE:CLASS``, whose file is
    packed. Raises ``InputError`` when a result was interrupted or ended by a fault, or such a class
    is not named, so that no run repeats it; ``FileNotFoundError`` when there is no result, the
    errors of :meth:`Result.load`, also when a trace of a scenario is missing, and those of
    :func:`etherweave.extend.load_extensions`.
    """
    home, classes = Path(directory), load_extensions(extend)
    homes = results_in(home)
    sources = {path.name: path for path in map(_file, extend)}
    if homes != [home]:
        others = (path for ending in OWN for path in home.rglob(ending))
        sources |= {str(path.relative_to(home)): path for path in others if _is_own(path, home)}
    results = list[Result]()
    for kept in homes:
        result = Result.load(kept)
        results.append(replace(result, tables={}))
        if (ended := result.summary["finished"]) in ("interrupted", "fault"):
            raise InputError(kept, f"is {ended}; expected a result that a run can repeat")
        _require(kept, result.resolved, classes)
        own = (*kept.glob(TABLES), kept / SCENARIO, kept / SUMMARY)
        inputs = _traces(kept / SCENARIO, result.resolved) | {path.name: path for path in own}
        sources |= {str(kept.relative_to(home) / name): path for name, path in inputs.items()}
    files = {name: PackedFile(*_measured(path)) for name, path in sorted(sources.items())}
    first = results[0]
    name = first.summary["name"] if homes == [home] else home.absolute().name
    made = (name, first.summary["seed"], versions(homes, results), dict(first.machine))
    manifest = Manifest(FORMAT, *made, files)
    with new_path(Path(archive)) as part, part.open("wb") as file:
        _write(file, manifest, sources)
    return manifest


def _is_own(path: Path, home: Path) -> bool:
    is_hidden = any(name.startswith(".") for name in path.relative_to(home).parts)
    return path != home / MANIFEST and not is_hidden


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


def versions(homes: Sequence[Path], results: Sequence[Result]) -> dict[str, str]:
    """Name the versions of what computed results, and of what wrote their tables."""
    from pyarrow import parquet

    paths = (path for home in homes for path in home.glob(TABLES))
    named = {
        "etherweave": {result.summary["version"] for result in results},
        "tables": {parquet.read_metadata(path).created_by for path in paths},
        "core": {result.machine.get("core", "") for result in results},
    }
    return {name: ", ".join(sorted(texts)) for name, texts in named.items()}


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
    """Write members in order, without times and owners; of equal files, the first."""
    described = json.dumps(manifest, default=vars, indent=2).encode() + b"\n"
    with (
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        _add(archive, MANIFEST, len(described), io.BytesIO(described))
        for name in _copies(manifest):
            with sources[name].open("rb") as content:
                _add(archive, name, manifest.files[name].bytes, content)


def _copies(manifest: Manifest) -> dict[str, list[str]]:
    """List the members of an archive, each with the files that are equal to it."""
    first = dict[PackedFile, str]()
    copies = dict[str, list[str]]()
    for name, file in manifest.files.items():
        copies.setdefault(first.setdefault(file, name), []).append(name)
    return copies


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
    with (
        new_directory(home),
        TemporaryDirectory(prefix=".unpacking-", suffix=".part", dir=home) as collected,
    ):
        folder = Path(collected)
        check_type(source)
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
    left: dict[str, list[str]] = {}
    for member in packed:
        content = packed.extractfile(member) if member.isfile() else None
        if content is None:
            raise InputError(source, f"{member.name[:60]!r} is no file; expected files")
        if manifest is None:
            manifest = _manifest(source, member, content)
            left = _copies(manifest)
            needed = sum(other.bytes for other in manifest.files.values())
            if needed > room:
                reason = f"needs {needed:,} bytes; {folder.parent} has {room:,}"
                raise InputError(source, reason)
            (folder / MANIFEST).write_text(json.dumps(manifest, default=vars, indent=2) + "\n")
            continue
        copies = left.pop(member.name, [])
        if not copies or member.size != manifest.files[member.name].bytes:
            reason = f"{member.name[:60]!r} is not as the manifest says"
            raise InputError(source, reason)
        path, *others = (below(folder, *name.split("/")) for name in copies)
        for place in (path, *others):
            place.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            shutil.copyfileobj(content, file, CHUNK_BYTES)
        if PackedFile(*_measured(path)) != manifest.files[member.name]:
            raise InputError(source, f"{member.name} is damaged: its SHA-256 has changed")
        for place in others:
            shutil.copyfile(path, place)
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
    """Run each unpacked scenario again, and compare its tables and figures.

    Tables are compared by the bytes of their files, or by their values where another version of
    Etherweave or pyarrow writes the files. Returns the names of the tables, each with how it was
    compared. Raises ``MismatchError`` when a table or a figure differs, ``InputError`` when a
    result was measured, or a class that decided it is not at hand.
    """
    equal, different = list[str](), list[str]()
    for home in results_in(Path(directory)):
        kept = Result.load(home)
        if "measured" in kept.summary:
            raise InputError(home, "was measured; expected a simulated result")
        _require(home, kept.resolved, extend or {})
        own: dict[str, Any] = {"threads": threads, "progress": progress}
        again = run(home / SCENARIO, extend=extend, memory_limit=memory_limit, **own)
        place = "" if home == Path(directory) else f"{home.relative_to(directory)}/"
        with TemporaryDirectory(prefix="etherweave-") as folder:
            saved = again.save(folder)
            for name in sorted({*kept.tables, *again.tables}):
                how = _compared(home, saved, name, kept, again)
                (equal if how else different).append(f"{place}{name}: {how or 'differs'}")
        different += [f"{place}{figure}" for figure in _figures(kept.summary, again.summary)]
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
    """List figures that differ, but for those of the machine, the version and a run beside it."""
    names = [name for name in kept if name not in (*OF_MACHINE, "version", "fidelity_errors")]
    return [
        f"{name}: {kept[name]!s:.60} packed, {again.get(name)!s:.60} now"
        for name in names
        if kept[name] != again.get(name)
    ]
