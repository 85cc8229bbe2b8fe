"""Output texts: which benchmark wrote which part, and the results in each part."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from etherweave.bench.adapter import Adapter
from etherweave.bench.adapters import ADAPTERS
from etherweave.bench.draft import Draft, TextBlock
from etherweave.bench.measurements import BenchmarkReport, Failure, GarbledError, TextLine
from etherweave.bench.plausibility import with_warnings

TEXT_MOST = 64 * 2**20
"""Longest text that is read [characters]."""
_WORD = re.compile(r"\w")
_FLOOD = re.compile(r"\d{25,}|[ \t]{500,}")
"""No benchmark prints so many digits or blanks in a row; a sign in their place garbles the line."""
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
"""Control sequences of terminals and titles of windows (ECMA-48, 5.4 and 5.6)."""
_PROMPT = re.compile(r"(?:\[?[\w.-]+@[\w.-]+\b.*|\w+-\d[\d.]*)?[$%>#] ?|\S* ?[❯➜] ?")
"""What a shell puts after the text: no line that was cut."""
_RANK = re.compile(r"\[\d+,\d+\]<(?:stdout|stderr)>:")
"""Prefix of lines by which launchers mark ranks; some add a blank."""
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
"""A digit of another script, which Python takes for one and no benchmark prints."""
_QUOTE = re.compile(r"(?:> ?)+")
"""Prefix of quoted lines in an email."""
_BEGINS = re.compile(
    "|".join(f"(?P<{name}>{adapter.begins})" for name, adapter in ADAPTERS.items())
)
_SIGNATURES = [(re.compile(one.json), one) for one in ADAPTERS.values() if one.json]


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

    Parameters
    ----------
    text
        As it was printed, or quoted in an email.

    Raises
    ------
    UnrecognisedError
        When no known benchmark wrote any part of it.
    """
    if len(text) > TEXT_MOST:
        raise UnrecognisedError(f"more than {TEXT_MOST} characters, which no benchmark writes")
    reports: list[BenchmarkReport] = []
    failures: list[Failure] = []
    unknown_lines: list[TextLine] = []
    for adapter, block in _parts(*_lines(text)):
        if adapter is None:
            unknown_lines += block.lines
            continue
        result = read(adapter, block)
        reports.append(result) if isinstance(result, BenchmarkReport) else failures.append(result)
    if not (reports or failures):
        raise UnrecognisedError("no benchmark that is known writes such a text")
    unknown = tuple((line.number, line.text) for line in unknown_lines if _WORD.search(line.text))
    return Document(tuple(reports), tuple(failures), unknown)


def read(adapter: Adapter, block: TextBlock) -> BenchmarkReport | Failure:
    """Read what one run of a benchmark wrote."""
    if block.is_object and block.data is None:
        return Failure(adapter.name, block.start, "the JSON object is cut or garbled")
    hole = next((line for line in block.lines if "\0" in line.text), None)
    if hole:
        return Failure(adapter.name, hole.number, "zero bytes: a part was never written to disk")
    draft = Draft(adapter.name, block)
    try:
        _parse(adapter, draft)
        return with_warnings(draft.report())
    except GarbledError as error:
        return Failure(adapter.name, error.line, error.reason)


def _parse(adapter: Adapter, draft: Draft) -> None:
    if draft.block.data is None:
        adapter.parse(draft)
        return
    assert adapter.parse_json, "only adapters that parse objects claim them"
    try:
        adapter.parse_json(draft, draft.block.data)
    except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
        reason = f"the JSON object is not {adapter.name}'s: {error!r}"
        raise GarbledError(draft.block.start, reason) from None
    draft.end(True, "")


def _lines(text: str) -> tuple[list[TextLine], bool]:
    """Split into lines without what terminals, launchers and mail programs add.

    A last line without an end may have been cut: it does not count, unless it closes an object.
    """
    parts = re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))
    last = parts.pop()
    if last.rstrip().endswith("}") or _is_prompt(_COLOUR.sub("", last)):
        parts.append(last)
        last = ""
    is_quoted = sum(part.startswith(">") for part in parts) * 2 > len(parts)
    if is_quoted:
        parts = [_QUOTE.sub("", part, count=1) for part in parts]
    rank = _rank_before(parts)
    lines = [TextLine(number, _plain(part, rank)) for number, part in enumerate(parts, 1)]
    return lines, bool(last.strip())


def _rank_before(parts: Sequence[str]) -> re.Pattern[str]:
    """Return the prefix of ranks, with a blank if the launcher adds one to each row."""
    after = [part[match.end() :] for part in parts if (match := _RANK.search(part))]
    bare = [rest.removeprefix(" ") for rest in after]
    is_indented = all(not rest or rest.startswith(" ") for rest in after)
    adds_blank = is_indented and sum(map(_is_title, bare)) >= sum(map(_is_title, after))
    return re.compile(f"{_RANK.pattern} ?") if adds_blank else _RANK


def _is_title(text: str) -> bool:
    return bool(_BEGINS.match(text))


def _is_prompt(line: str) -> bool:
    """Whether a shell wrote it; the sign of root alone may also begin a comment that was cut."""
    return bool(_PROMPT.fullmatch(line)) and line.strip() != "#"


def _plain(line: str, rank: re.Pattern[str]) -> str:
    plain = rank.sub("", _COLOUR.sub("", line)) if "\x1b" in line or "<std" in line else line
    known = plain if plain.isascii() else _FOREIGN_DIGIT.sub("#", plain)
    return _FLOOD.sub("#", known)


def _parts(lines: Sequence[TextLine], is_cut: bool) -> Iterator[_Part]:
    """Part the lines by the benchmarks that wrote them; ``None`` stands for unknown ones."""
    adapter: Adapter | None = None
    gathered: list[TextLine] = []
    index = 0
    while index < len(lines):
        owner, block = _object(lines, index, is_cut)
        if owner is None:
            begun = None if block.is_object else _begun(block.lines[0], adapter, gathered)
            if begun:
                yield from _part(adapter, gathered)
                adapter, gathered = begun, []
            gathered += block.lines
        else:
            yield from _part(adapter, gathered)
            yield _Part(owner, block)
            adapter, gathered = None, []
        index += len(block.lines)
    yield from _part(adapter, gathered, is_cut)


def _part(
    adapter: Adapter | None, gathered: list[TextLine], is_cut: bool = False
) -> Iterator[_Part]:
    if gathered:
        yield _Part(adapter, TextBlock(tuple(gathered), is_cut))


def _begun(line: TextLine, adapter: Adapter | None, gathered: list[TextLine]) -> Adapter | None:
    """Return the adapter whose text begins with this line; ``None`` within a text."""
    match = _BEGINS.match(line.text)
    if not match:
        return None
    assert match.lastgroup
    begun = ADAPTERS[match.lastgroup]
    if adapter is None:
        return begun
    if adapter.inside and re.match(adapter.inside, line.text):
        return None
    goes_on = begun is adapter and begun.is_row and _BEGINS.match(gathered[-1].text)
    return None if goes_on else begun


def _object(
    lines: Sequence[TextLine], index: int, is_cut: bool
) -> tuple[Adapter | None, TextBlock]:
    """Take the object that begins here, with the adapter that wrote it; else a single line."""
    if not lines[index].text.lstrip().startswith("{"):
        return None, TextBlock((lines[index],), False)
    end = _object_end(lines, index)
    after = end or _next_beginning(lines, index)
    within = tuple(lines[index:after])
    text = "\n".join(line.text for line in within)
    owner = next((adapter for sign, adapter in _SIGNATURES if sign.search(text)), None)
    data = _decoded_object(text) if end else None
    return owner, TextBlock(within, is_cut and end is None, is_object=True, data=data)


def _next_beginning(lines: Sequence[TextLine], index: int) -> int:
    beginnings = (at for at in range(index + 1, len(lines)) if _BEGINS.match(lines[at].text))
    return next(beginnings, len(lines))


DEPTH_MOST = 32
"""No benchmark's result nests deeper."""
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
        if depth > DEPTH_MOST:
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
