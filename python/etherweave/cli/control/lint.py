"""The verb ``control lint``."""

import gc
import json
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path

import typer

from etherweave.api.inputs import InputError, read_text
from etherweave.api.units import counted
from etherweave.cli.exits import FAILED, USAGE, mistakes, os_error, print_error, reject
from etherweave.cli.parameters import AsJson
from etherweave.control import lint as linter
from etherweave.control.lint import sarif
from etherweave.control.lint.comparison import shown
from etherweave.control.qos.nos import FABRIC

SUFFIXES = (".json", ".sh", ".cfg", ".conf", ".yaml", ".yml")
"""Suffixes of files in a directory that may be configurations."""
SIZE_MAX = 64 * 2**20  # A configuration is smaller [B].
FABRIC_SIZE_MAX = 512 * 2**20  # The policy of a fabric is smaller: 225 MB for 300,000 hosts [B].
BROKEN_MAX = 20
"""Most files that cannot be read beside which others are checked: more are no configurations."""
COMMANDS_SHOWN = 8


class Format(StrEnum):
    """Forms of findings."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


def lint(
    paths: list[Path] | None = None,
    *,
    rules: bool = False,
    off: Path | None = None,
    form: Format = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Check configurations for lost packets: buffers, maps, weights, MTU, hosts.

    Exit code 1: there are findings; 2: a mistake, or a file that cannot be read, beside which all
    others are checked.

    Parameters
    ----------
    paths : DIR|FILE...
        Directories of `control export`, or files to check together: of SONiC, Onyx, EOS and NVUE,
        scripts of hosts; -: standard input.
    rules
        List the rules and their reasons; check nothing.
    off : FILE
        TOML file with a table [off] of rules that do not apply: RULE = "reason".
    form : --format
        Print findings as text, JSON or SARIF.
    """
    if rules:
        print("\n".join(f"{rule.name:15}{rule.severity:15}{rule.why}" for rule in linter.RULES))
        return
    if not paths:
        reject("no files to check; expected directories, files, or - for standard input")
    with mistakes(linter.ConfigError), _without_collection():
        names = _off(off) if off else {}
        broken: list[str] = []
        site = linter.read(_texts(paths, broken), broken)
        findings = linter.lint(site, names)
    if len(broken) > BROKEN_MAX:
        reject(f"{len(broken):,} files cannot be read, the first: {broken[0]}")
    for mistake in broken:
        print_error(mistake)
    if not (site.switches or site.hosts):
        if broken:
            raise typer.Exit(USAGE)
        _reject_all(site, paths[0])
    for text in site.unread:
        print_error(f"note: {text.file}: {_unread(text)}")
    match Format.JSON if as_json else form:
        case Format.JSON:
            print(json.dumps([_plain(finding) for finding in findings], indent=1))
        case Format.SARIF:
            print(json.dumps(sarif.document(findings, linter.RULES), indent=1))
        case Format.TEXT:
            _print(site, findings, len(broken))
    named = {"<stdin>" if str(path) == "-" else str(path) for path in paths}
    if broken or any(not document.commands and document.file in named for document in site.unread):
        raise typer.Exit(USAGE)
    if findings:
        raise typer.Exit(FAILED)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Spare the garbage collector millions of entries, none of them in a cycle."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _off(path: Path) -> dict[str, str]:
    """Read the rules that do not apply, and why."""
    known = [rule.name for rule in linter.RULES]
    try:
        document = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise linter.ConfigError(f"{path}: {error}; expected TOML") from None
    table = document.pop("off", None)
    if document or not isinstance(table, dict):
        raise linter.ConfigError(f'{path}: expected one table, [off], of RULE = "reason"')
    for name, reason in table.items():
        if name not in known:
            raise linter.ConfigError(f"{path}: no rule {name}; known: {', '.join(known)}")
        if not isinstance(reason, str) or not reason.strip():
            raise linter.ConfigError(f"{path}: {name}: expected the reason as a text")
    return table


def _texts(paths: list[Path], broken: list[str]) -> Iterator[tuple[str, str]]:
    """Read files one by one, each once: those of a fabric together do not fit the memory.

    The mistakes of files of a directory that are no text go to ``broken``.
    """
    seen = set()
    for name, text in _named_texts(paths, broken):
        if name not in seen:
            yield name, text
        seen.add(name)


def _named_texts(paths: list[Path], broken: list[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        if str(path) == "-":
            yield "<stdin>", _standard_input()
        elif path.is_dir():
            inside = (row for row in path.rglob("*") if row.suffix in SUFFIXES and row.is_file())
            for file in sorted(inside, key=str):
                most = FABRIC_SIZE_MAX if file.name == FABRIC else SIZE_MAX
                yield from _named_text(file, most, broken)
        else:
            yield from _named_text(path, SIZE_MAX, broken)


def _named_text(file: Path, most: int, broken: list[str]) -> Iterator[tuple[str, str]]:
    """Read a file, or keep the reason why it cannot be read."""
    try:
        yield str(file), read_text(file, most)
    except InputError as error:
        broken.append(str(error))
    except OSError as error:
        broken.append(f"{os_error(error)}; expected a configuration, or a directory of them")


def _standard_input() -> str:
    content = sys.stdin.buffer.read(SIZE_MAX + 1)
    if len(content) > SIZE_MAX:
        raise linter.ConfigError(f"<stdin>: more than {SIZE_MAX} B; expected a configuration")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise linter.ConfigError("<stdin>: expected UTF-8 text") from None


def _reject_all(site: linter.Configurations, path: Path) -> None:
    """End where nothing is a configuration, and say which command printed a state."""
    known = "a configuration of SONiC, Onyx, EOS or NVUE"
    states = [text for text in site.unread if text.shown_by]
    if states:
        expected = "show running-config, config_db.json, nv config show, or a script of a host"
        reject(f"{states[0].file}: {_unread(states[0])}; expected {expected}")
    others = [text for text in site.unread if text.system]
    if others:
        reject(f"{others[0].file}: {_unread(others[0])}; expected {known}")
    reject(f"{path}: no switch that can be read; expected {known}")


def _unread(file: linter.UnreadFile) -> str:
    """Say what is not read of a file: all of it, or some commands."""
    if file.shown_by:
        return f"not read: output of {file.shown_by}, a state and no configuration"
    if file.system:
        return f"not read: a configuration of {file.system}"
    if not file.commands:
        return "not read; the linter knows SONiC, Onyx, EOS, NVUE, and scripts of hosts"
    return f"not read: {shown(file.commands, COMMANDS_SHOWN)}"


def _plain(finding: linter.LintFinding) -> dict[str, object]:
    return {**asdict(finding), "places": [place._asdict() for place in finding.places]}


def _print(site: linter.Configurations, findings: list[linter.LintFinding], broken: int) -> None:
    for finding in findings:
        files = dict[str, list[str]]()
        for file, place in finding.places:
            files.setdefault(file, []).append(place)
        (first, places), *others = files.items()
        print(f"{first}: {shown(places)}: {finding.found}; expected {finding.expected}")
        for file, places in others:
            print(f"    also {file}: {shown(places)}")
        print(f"    {finding.severity}, {finding.rule}: {finding.why}")
    counts = f"{counted(len(site.switches), 'switch')}, {counted(len(site.hosts), 'host')}"
    lost = broken + sum(not text.commands for text in site.unread)
    counts += f"; not read: {counted(lost, 'file')}" if lost else ""
    number = counted(len(findings), "finding") if findings else "no findings"
    print(f"{number} in {counts}")
