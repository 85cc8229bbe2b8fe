"""Output texts: which benchmark wrote which part, and the results in each part."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.programs.adapter import Adapter
from etherweave.bench.texts import abnormal_ends
from etherweave.bench.texts.draft import Draft, TextBlock, begins_with_digit
from etherweave.bench.texts.json_objects import JsonObject
from etherweave.bench.texts.line_prefixes import OBJECT, IsBeginning, streams
from etherweave.bench.texts.plausibility import with_warnings
from etherweave.measurements.benchmark_report import (
    BenchmarkReport,
    Completeness,
    Failure,
    GarbledError,
    TextLine,
)

TEXT_MAX = 64 * 2**20  # Longest text that is read [characters].
LINES_MAX = 1_000_000  # Most lines of a text that are read: some seconds' work.
_WORD = re.compile(r"\w")
_FLOOD = re.compile(r"\d{25,}|[ \t]{500,}")
"""No benchmark prints so many digits or blanks in a row; a sign in their place garbles the line."""
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
"""Control sequences of terminals and titles of windows (ECMA-48, 5.4 and 5.6)."""
_COMMA = re.compile(r"(?<![\w.,=])(?<!,-)\d{1,9},\d{1,9}(?:,\d{3})*(?:\.\d+)?(?![\w,])")
_LOGGED = ("log", "message", "msg", "MESSAGE", "textPayload", "line")
"""Keys under which log collectors keep a line: Docker, journals, clouds."""
_PROMPT = re.compile(r"(?:\[?[\w.-]+@[\w.-]+\b.*|\w+-\d[\d.]*)?[$%>#] ?|\S* ?[❯➜] ?")
"""Prompt that a shell puts after the text: no line that was cut."""
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
"""A digit of another script, which Python takes for one and no benchmark prints."""
_BLANKS = {0xA0: " ", 0x2007: " ", 0x202F: " ", 0x200B: None, 0xFEFF: None}
"""Blanks of pages and mail programs, and their signs without a width."""
_CACHED_MAX = 500  # Longest line that is kept while a text is read [characters].
_BEFORE_MAX = 30  # Lines before a part that its adapter may look at.
_BEGINS = re.compile("|".join(f"(?P<{name}>{tool.begins})" for name, tool in ADAPTERS.items()))
_TABLES = re.compile(
    "|".join(f"(?P<{name}>{adapter.table})" for name, adapter in ADAPTERS.items() if adapter.table)
)
_FRAGMENTS = re.compile(
    "|".join(f"(?P<{name}>{tool.fragment})" for name, tool in ADAPTERS.items() if tool.fragment)
)
_SIGNATURES = [(re.compile(adapter.json), adapter) for adapter in ADAPTERS.values() if adapter.json]


@dataclass(frozen=True)
class Document:
    """The results in a text."""

    reports: tuple[BenchmarkReport, ...]
    failures: tuple[Failure, ...]
    unknown_lines: tuple[tuple[int, str], ...]
    """Lines that belong to no benchmark, with their numbers; rules and empty lines are left out."""


class UnrecognisedError(ValueError):
    """No known benchmark wrote this text."""


class _Part(NamedTuple):
    adapter: Adapter | None
    block: TextBlock


def parse(text: str) -> Document:
    """Read a text that one benchmark or several wrote, one after the other.

    Raises ``UnrecognisedError`` when no known benchmark wrote any part of it.
    """
    if len(text) > TEXT_MAX:
        raise UnrecognisedError(f"more than {TEXT_MAX} characters, which no benchmark writes")
    if max(text.count("\n"), text.count("\r")) > LINES_MAX:
        raise UnrecognisedError(f"more than {LINES_MAX:,} lines, which no benchmark writes")
    parts = [part for lines, is_cut in _streams(text) for part in _parts(lines, is_cut)]
    results = _results(parts)
    unknown_lines = [line for part in parts if part.adapter is None for line in part.block.lines]
    if not results:
        raise UnrecognisedError(_unrecognised(unknown_lines))
    results.sort(key=lambda result: result.line)
    unknown_lines.sort()
    return Document(
        tuple(result for result in results if isinstance(result, BenchmarkReport)),
        tuple(result for result in results if isinstance(result, Failure)),
        tuple((line.number, line.text) for line in unknown_lines if _WORD.search(line.text)),
    )


def _unrecognised(lines: Sequence[TextLine]) -> str:
    reason = "no benchmark that is known writes such a text"
    fragments = filter(None, (_FRAGMENTS.match(line.text) for line in lines))
    if fragment := next(fragments, None):
        reason = f"a text of {fragment.lastgroup} without its first line: {fragment[0].strip()!r}"
    return "; ".join([reason, *map(abnormal_ends.sentence, abnormal_ends.deaths(lines)[:1])])


def _results(parts: Sequence["_Part"]) -> list[BenchmarkReport | Failure]:
    """Read each part; a message outside of all that a process died fails the part before it.

    Where there is one part, it fails that part wherever it is.
    """
    results: list[BenchmarkReport | Failure] = []
    stray: list[TextLine] = []
    for part in parts:
        if part.adapter is not None:
            results.append(read(part.adapter, part.block))
            continue
        stray += abnormal_ends.deaths(part.block.lines)
        stray += abnormal_ends.failures(part.block.lines) if results else []
    stray.sort()
    if len(results) == 1:
        return [_failed(results[0], line) for line in stray[:1]] or results
    for line in stray:
        before = [place for place, result in enumerate(results) if result.line < line.number]
        for place in before[-1:]:
            results[place] = _failed(results[place], line)
    return results


def read(adapter: Adapter, block: TextBlock) -> BenchmarkReport | Failure:
    """Read what one run of a benchmark wrote."""
    if block.is_object and block.data is None:
        return Failure(adapter.name, block.start, "the JSON object is cut or garbled")
    hole = next((line for line in block.lines if "\0" in line.text), None)
    if hole:
        return Failure(adapter.name, hole.number, "zero bytes: a part was never written to disk")
    messages = [] if block.is_object else abnormal_ends.deaths(block.lines[1:])
    if not messages:
        return _attempt(adapter, block)
    result = _attempt(adapter, _without(block, messages))
    if isinstance(result, Failure):
        # A backtrace may look like a row.
        until = tuple(line for line in block.lines if line.number < messages[0].number)
        result = _attempt(adapter, block._replace(lines=until, is_cut=False))
    return _failed(result, messages[0])


def _without(block: TextBlock, lines: Sequence[TextLine]) -> TextBlock:
    left_out = {line.number for line in lines}
    return block._replace(lines=tuple(line for line in block.lines if line.number not in left_out))


def _attempt(adapter: Adapter, block: TextBlock) -> BenchmarkReport | Failure:
    draft = Draft(adapter.name, block)
    try:
        _parse(adapter, draft)
        report = with_warnings(draft.report())
    except GarbledError as error:
        comma = "" if adapter.is_csv else _comma(block)
        return Failure(adapter.name, error.line, f"{error.reason}{comma}")
    if block.is_object:
        return report
    last = max(measured.line for measured in report.measurements)
    behind = [line for line in block.lines if line.number > last]
    messages = abnormal_ends.failures(behind)
    return _failed(report, messages[0]) if messages else report


def _comma(block: TextBlock) -> str:
    """Name the first number with a comma, which programs print in no locale of their own."""
    matches = (_COMMA.search(line.text) for line in block.lines if not block.is_object)
    match = next(filter(None, matches), None)
    return f"; {match[0]!r} has a comma: expected digits and a decimal point" if match else ""


def _failed(result: BenchmarkReport | Failure, line: TextLine) -> BenchmarkReport | Failure:
    said = abnormal_ends.sentence(line)
    if isinstance(result, Failure):
        return replace(result, reason=f"{said}; {result.reason}")
    warnings = tuple(dict.fromkeys((*result.warnings, said)))
    return replace(result, completeness=Completeness.PARTIAL, warnings=warnings)


def _parse(adapter: Adapter, draft: Draft) -> None:
    if draft.block.data is None:
        adapter.parse(draft)
        return
    assert adapter.parse_json, "only adapters that parse objects claim them"
    try:
        adapter.parse_json(draft, JsonObject(draft.block.data, draft.block.start))
    except (LookupError, TypeError, AttributeError, ArithmeticError):
        reason = f"a value of the JSON object is of another kind than {adapter.name} writes"
        raise GarbledError(draft.block.start, reason) from None
    draft.end(True, "")


def _streams(text: str) -> Iterator[tuple[list[TextLine], bool]]:
    """Split into lines without what terminals, launchers and mail programs add.

    Gives the lines of each source, and whether the last was cut. A last line without an end may
    have been cut: it does not count, unless it closes or begins an object.
    """
    parts = re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))
    last = parts[-1]
    is_cut = bool(last.strip())
    if last.rstrip().endswith("}") or _is_prompt(_COLOUR.sub("", last)):
        is_cut = False
    elif not is_cut:
        parts.pop()
    lines = [TextLine(number, _plain(part)) for number, part in enumerate(parts, 1)]
    for stream in streams(lines, _cached_is_beginning()):
        is_cut_here = is_cut and stream[-1].number == len(parts) and not _is_object(stream[-1])
        yield (stream[:-1] if is_cut_here else stream), is_cut_here


def _is_object(line: TextLine) -> bool:
    return bool(OBJECT.match(line.text))


def _cached_is_beginning() -> IsBeginning:
    """Return the question for one text: forms of prefixes ask it of each line several times."""
    cached = lru_cache(maxsize=4096)(_is_beginning)
    return lambda text: cached(text) if len(text) <= _CACHED_MAX else _is_beginning(text)


def _is_beginning(text: str) -> bool:
    return bool(_BEGINS.match(text) or _TABLES.match(text))


def _is_prompt(line: str) -> bool:
    """Whether a shell wrote it; the sign of root alone may also begin a comment that was cut."""
    return bool(_PROMPT.fullmatch(line)) and line.strip() != "#"


def _plain(line: str) -> str:
    if line.startswith("{") and line.endswith("}"):
        line = _logged(line)
    plain = _COLOUR.sub("", line) if "\x1b" in line else line
    known = plain if plain.isascii() else _FOREIGN_DIGIT.sub("#", plain.translate(_BLANKS))
    return _FLOOD.sub("#", known)


def _logged(line: str) -> str:
    """Return the line that an object of a log collector holds."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return line
    texts = (entry.get(key) for key in _LOGGED if isinstance(entry, dict))
    text = next((text for text in texts if isinstance(text, str)), line)
    return text.rstrip("\r\n").replace("\n", " ")


def _parts(lines: Sequence[TextLine], is_cut: bool) -> Iterator["_Part"]:
    """Part the lines by the benchmarks that wrote them; ``None`` stands for unknown ones."""
    adapter: Adapter | None = None
    start = index = 0
    has_rows = False
    while index < len(lines):
        owner, block = _object(lines, index, is_cut)
        if owner is None:
            line = block.lines[0]
            begun = None
            if not block.is_object:
                before = lines[start], lines[max(index - 1, start)]
                begun = _begun(line, adapter, before, has_rows)
            if begun:
                yield from _part(adapter, lines, start, index)
                adapter, start, has_rows = begun, index, False
            has_rows = has_rows or begins_with_digit(line.text)
        else:
            yield from _part(adapter, lines, start, index)
            yield _Part(owner, block)
            adapter, start, has_rows = None, index + len(block.lines), False
        index += len(block.lines)
    yield from _part(adapter, lines, start, len(lines), is_cut)


def _part(
    adapter: Adapter | None, lines: Sequence[TextLine], start: int, end: int, is_cut: bool = False
) -> Iterator["_Part"]:
    if start < end:
        before = tuple(lines[max(start - _BEFORE_MAX, 0) : start])
        yield _Part(adapter, TextBlock(tuple(lines[start:end]), is_cut, before=before))


def _begun(
    line: TextLine, adapter: Adapter | None, before: tuple[TextLine, TextLine], has_rows: bool
) -> Adapter | None:
    """Return the adapter whose text begins with this line; ``None`` within a text.

    ``adapter`` is that of the part that precedes the line, ``before`` the first and the last line
    of that part, and ``has_rows`` whether it has rows.
    """
    match = _BEGINS.match(line.text)
    if not match:
        return _begun_by_table(line, adapter, before[0], has_rows)
    assert match.lastgroup
    begun = ADAPTERS[match.lastgroup]
    if adapter is None:
        return begun
    is_above = not (has_rows and adapter.is_inside_above_rows)
    if adapter.inside and is_above and re.match(adapter.inside, line.text):
        return None
    goes_on = begun is adapter and begun.is_row and _BEGINS.match(before[1].text)
    return None if goes_on else begun


def _begun_by_table(
    line: TextLine, adapter: Adapter | None, first: TextLine, has_rows: bool
) -> Adapter | None:
    """Return the adapter whose table begins with this header, where its title is missing.

    Below a title the header belongs to it. Without one, each header with rows is a run.
    """
    match = _TABLES.match(line.text)
    if not match or (adapter and adapter.inside and re.match(adapter.inside, line.text)):
        return None
    assert match.lastgroup
    begun = ADAPTERS[match.lastgroup]
    if begun is not adapter:
        return begun
    assert begun.table
    is_untitled = bool(re.match(begun.table, first.text))
    return begun if is_untitled and has_rows and not begun.is_one_run else None


def _object(lines: Sequence[TextLine], at: int, is_cut: bool) -> tuple[Adapter | None, TextBlock]:
    """Take the object that begins here, with the adapter that wrote it; else a single line."""
    if not _is_object(lines[at]):
        return None, TextBlock((lines[at],), False)
    end = _object_end(lines, at)
    after = end or _next_beginning(lines, at)
    within = tuple(lines[at:after])
    text = "\n".join(line.text for line in within)
    owner = next((adapter for sign, adapter in _SIGNATURES if sign.search(text)), None)
    data = _decoded_object(text) if end else None
    return owner, TextBlock(within, is_cut and end is None, is_object=True, data=data)


def _next_beginning(lines: Sequence[TextLine], index: int) -> int:
    beginnings = (at for at in range(index + 1, len(lines)) if _BEGINS.match(lines[at].text))
    return next(beginnings, len(lines))


DEPTH_MAX = 32  # No benchmark's result nests deeper.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_BARE_KEY = re.compile(r"([{,]\s*)([A-Za-z_][\w.]*)(\s*:)")
_BARE_WORD = re.compile(r"(:\s*)(-?[A-Za-z_]\w*)(?=\s*[,}])")
_LAST_COMMA = re.compile(r",(?=\s*})")


def _object_end(lines: Sequence[TextLine], index: int) -> int | None:
    """Find the line after the object that begins at an index; ``None`` if it never ends."""
    depth = 0
    for after in range(index, len(lines)):
        for token in _TOKEN.findall(lines[after].text):
            depth += (token in ("{", "[")) - (token in ("}", "]"))
        if depth <= 0:
            return after + 1
        if depth > DEPTH_MAX:
            return None
    return None


def _decoded_object(text: str) -> dict[str, Any] | None:
    """Decode an object; ``None`` if the text is none."""
    for attempt in (text, _quoted(text)):
        try:
            data = json.loads(attempt, parse_constant=_reject_constant, object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            continue
        return data if isinstance(data, dict) else None
    return None


def _quoted(text: str) -> str:
    """Add what perftest 4.5 leaves out: quotes around names and words; and drop last commas."""
    named = _BARE_KEY.sub(r'\1"\2"\3', text)
    # Where names are quoted, a bare word is no such program's: it came there on the way.
    return named if named == text else _LAST_COMMA.sub("", _BARE_WORD.sub(r'\1"\2"', named))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object in which no name has two values; some programs write a line twice."""
    known: dict[str, Any] = {}
    for name, value in pairs:
        if known.setdefault(name, value) != value:
            raise ValueError(f"{name} occurs twice")
    return known


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no measurement")
