"""Prefixes of lines: what launchers, log collectors and mail programs put before each line.

A prefix is one of these, or up to three in a row:

- a time: ISO 8601, a clock, syslog, seconds of the kernel or since 1970
- a source: the rank of a launcher (``0: ``, ``[0] ``, ``[1,0]<stdout>:``), a host (``node1: ``),
  a container or a pod (``launcher-0  | ``, ``[pod/launcher/main] ``), a unit of a journal
  (``node1 osu_bw[912]: ``), a title that the user chose (``s1:  ``)
- the quotation mark of an email

A text has a prefix only if the line with which a benchmark begins stands behind it. Lines of
several sources, each with a benchmark of its own, are read apart.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from etherweave.bench.measurements import TextLine

IsBeginning = Callable[[str], bool]
"""Whether a benchmark's text begins with a line."""
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_TIMES = (
    rf"\[?\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?\]?:?(?: \d\d[EO]\+?)?",
    rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?{_MONTH} [ \d]?\d {_CLOCK}(?: 20[0-3]\d(?![\w-]))?:?",
    rf"\[?{_CLOCK}\]?(?:[A-Z]?:)?",
    r"\[ *\d{1,9}\.\d{3,9}\]|\d{10}\.\d{1,9}",
    r" {0,7}\d{1,7}\t",
    r"(?:> ?)+",
)
"""They do not name the source: times, numbers of lines, quotes. *00O* after a time is GitLab's."""
_SOURCES = (
    r"\[[^\]\s]*\d,\d+\](?:\[[^\]]*\])?<std(?:out|err)>:?",
    r"[\w.-]+ [\w./@-]+\[\d+\]:",
    r"\[[\w./ @:-]{1,80}\]:?",
    r" {0,8}\d{1,7}:",
    r"[\w.@/-]{1,80}:",
    r"[\w./-]{1,80} *\|",
    r"\w[\w./@ -]{0,78}:(?=  )",
)
_TOKENS = [(re.compile(pattern), False) for pattern in _TIMES]
_TOKENS += [(re.compile(pattern), True) for pattern in _SOURCES]
_TOKENS_MAX = 3
_WIDTHS = (0, 1, 2)
"""Blanks that a prefix may add before the line."""
_EXACT_MIN = 3
"""Lines that a prefix of no known form must begin, or all of a shorter text."""
_LITERAL_MAX = 80
"""Longest prefix of no known form [characters]."""
_LINES_MAX = 5_000
"""Lines in which prefixes of any benchmark are looked for; later ones must look like a title."""
_HINT = re.compile(
    r"OSU|OMB|Benchmark|BENCHMARK|[Tt]est|TEST|#bytes|# Size|nThread|size +count|[Cc]onnecting to|"
    r"Accepted|listening|version #|T/V|Network|Device|Collective|Algorithm|\(usec\)|usec/xfer|"
    r"iperf3:|OVERALL|Running|Window:|requests|COMMS|Iozone|=====|_(?:lat|bw):|bytes/|MB /|rw="
)


@dataclass(frozen=True)
class _Shape:
    """Forms of prefixes in a row."""

    tokens: tuple[int, ...]
    literal: str = ""
    """Prefix of no known form, in place of tokens."""

    def pattern(self) -> re.Pattern[str]:
        if self.literal:
            return re.compile(re.escape(self.literal.rstrip()) + r"(?:(?=\s)|$)")
        parts = (f"(?:{_TOKENS[place][0].pattern})" for place in self.tokens)
        groups = [
            f"({part})" if _TOKENS[place][1] else part
            for place, part in zip(self.tokens, parts, strict=True)
        ]
        return re.compile(r"[ \t]*".join(groups))


def streams(lines: Sequence[TextLine], is_beginning: IsBeginning) -> list[list[TextLine]]:
    """Take prefixes off, and part the lines of sources that have a benchmark each.

    Parameters
    ----------
    lines
        Of the whole text.
    is_beginning
        Whether a benchmark's text begins with a line.
    """
    shapes = _shapes(lines, is_beginning)
    if not shapes:
        return [list(lines)]
    keyed: list[tuple[str | None, TextLine]] = [(None, line) for line in lines]
    for shape in shapes:
        keyed = _without(shape, keyed, is_beginning)
    return _apart(keyed, is_beginning)


def _shapes(lines: Sequence[TextLine], is_beginning: IsBeginning) -> list[_Shape]:
    """Find the forms behind which benchmarks begin, the most frequent first."""
    first = lines[:_LINES_MAX]
    late = [line for line in lines[_LINES_MAX:] if _HINT.search(line.text)]
    shapes = (_shape(line.text, is_beginning) for line in (*first, *late))
    counted = Counter(shape for shape in shapes if shape)
    if not counted and not any(_is_bare(line.text, is_beginning) for line in first):
        objects = (_shape(line.text, _is_object) for line in first)
        # Further ones may be objects within the first, behind their names.
        choices = (
            list(filter(None, objects))[:1],
            _literals(first, is_beginning),
            list(_literals(first, _is_object))[:1],
        )
        counted = next(filter(None, map(Counter, choices)), counted)
    return [shape for shape, _ in counted.most_common()]


def _is_bare(text: str, is_beginning: IsBeginning) -> bool:
    return text.lstrip().startswith("{") or is_beginning(text)


def _shape(text: str, is_beginning: IsBeginning) -> _Shape | None:
    """Return the tokens before the beginning of a benchmark; at each place the first that fits."""
    tokens: list[int] = []
    place = 0
    while len(tokens) < _TOKENS_MAX:
        tries = ((index, form[0].match(text, place)) for index, form in enumerate(_TOKENS))
        index, token = next(((index, match) for index, match in tries if match), (0, None))
        if token is None or token.end() == len(text):
            return None
        tokens.append(index)
        rest = text[token.end() :]
        if _begins_behind(rest, is_beginning):
            return _Shape(tuple(tokens))
        place = token.end() + len(rest) - len(rest.lstrip(" \t"))
    return None


def _is_object(text: str) -> bool:
    return text.rstrip() == "{"


def _begins_behind(rest: str, is_beginning: IsBeginning) -> bool:
    blanks = len(rest) - len(rest.lstrip())
    return any(is_beginning(rest[width:]) for width in _WIDTHS if width <= blanks)


def _literals(lines: Sequence[TextLine], is_beginning: IsBeginning) -> Iterator[_Shape]:
    """Find prefixes of no known form, which other lines have as well: stern's, an indent."""
    filled = sum(1 for line in lines if line.text.strip())
    for line in lines:
        blanks = re.finditer(r"\s+", line.text[:_LITERAL_MAX])
        places = [place for blank in blanks for place in (blank.start() + 1, blank.end())]
        ends = (place for place in places if is_beginning(line.text[place:]))
        if (end := next(ends, None)) is None:
            continue
        literal = line.text[:end]
        alike = sum(other.text.startswith(literal.rstrip() or literal) for other in lines)
        if alike >= min(_EXACT_MIN, filled):
            yield _Shape((), literal)


def _without(
    shape: _Shape, keyed: Sequence[tuple[str | None, TextLine]], is_beginning: IsBeginning
) -> list[tuple[str | None, TextLine]]:
    """Take one form of prefix off."""
    if shape.literal.isspace():
        cut = len(shape.literal)
        return [
            (key, line._replace(text=line.text[cut:] if not line.text[:cut].strip() else line.text))
            for key, line in keyed
        ]
    pattern = shape.pattern()
    matches = [None if key is not None else pattern.match(line.text) for key, line in keyed]
    counter = _counter(matches)
    keys = [_key(match, shape, counter) if match else None for match in matches]
    own = {
        key
        for key, match, (_, line) in zip(keys, matches, keyed, strict=True)
        if match and key and _begins_behind(line.text[match.end() :], is_beginning)
    }
    filled = sum(1 for _, line in keyed if line.text.strip())
    is_usual = 2 * sum(match is not None for match in matches) >= filled
    taken = [
        match if match and (is_usual or not key or key in own) else None
        for key, match in zip(keys, matches, strict=True)
    ]
    rests = [
        line.text[match.end() :] for match, (_, line) in zip(taken, keyed, strict=True) if match
    ]
    width = _width(rests, is_beginning)
    result: list[tuple[str | None, TextLine]] = []
    for (before, line), match, key in zip(keyed, taken, keys, strict=True):
        if match is None:
            result.append((before, line))
            continue
        rest = line.text[match.end() :]
        plain = rest[width:] if not rest[:width].strip() else rest
        result.append((key, line._replace(text=_whole_row(plain, match, shape))))
    return result


def _counter(matches: Sequence[re.Match[str] | None]) -> int | None:
    """Find the source that is a number which rises from line to line, as ``grep -n`` prints."""
    groups = [match.groups() for match in matches if match]
    for place in range(len(groups[0]) if len(groups) >= _EXACT_MIN else 0):
        names = [group[place].strip(" :") for group in groups]
        if all(name.isdecimal() for name in names):
            numbers = [int(name) for name in names]
            if all(before < after for before, after in pairwise(numbers)):
                return place
    return None


def _key(match: re.Match[str], shape: _Shape, counter: int | None) -> str:
    """Name the source: ``0``, ``00`` and `` 0`` are one rank."""
    if shape.literal:
        return shape.literal.strip()
    groups = [text for place, text in enumerate(match.groups()) if place != counter]
    names = [text.strip().rstrip(":").strip() for text in groups]
    return " ".join(str(int(name)) if name.isdecimal() else name for name in names)


def _width(rests: Sequence[str], is_beginning: IsBeginning) -> int:
    """Find how many blanks the prefix adds: as many as most beginnings of benchmarks stand."""
    filled = [rest for rest in rests if rest.strip()]
    widths = [width for width in _WIDTHS if all(not rest[:width].strip() for rest in filled)]
    counts = {
        width: sum(is_beginning(rest[width:]) or rest[width:] == "{" for rest in filled)
        for width in widths
    }
    return max(widths, key=lambda width: (counts[width], width))


def _whole_row(text: str, match: re.Match[str], shape: _Shape) -> str:
    """Drop the prefix where a launcher put it before each piece of a row."""
    prefix = match[0].strip()
    if shape.literal or not prefix.startswith("[") or prefix not in text:
        return text
    return re.sub(rf"(?<=\d){re.escape(prefix)}(?=\s)", " ", text)


def _apart(
    keyed: Sequence[tuple[str | None, TextLine]], is_beginning: IsBeginning
) -> list[list[TextLine]]:
    """Give the lines of each source with a benchmark, in one list if there is one such source."""
    owners = dict.fromkeys(key for key, line in keyed if is_beginning(line.text))
    if len(owners) < 2:
        return [[line for _, line in keyed]]
    others = [line for key, line in keyed if key not in owners]
    apart = [[line for key, line in keyed if key == owner] for owner in owners]
    return [*apart, *([others] if others else [])]
