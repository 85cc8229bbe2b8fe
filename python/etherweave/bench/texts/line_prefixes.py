"""Prefixes of lines: what launchers, log collectors and mail programs put before each line.

A prefix is one of these, or up to three in a row:

- a time: ISO 8601, a clock, syslog, seconds of the kernel or since 1970
- a source: the rank of a launcher (``0: ``, ``[0] ``, ``[1,0]<stdout>:``), a host (``node1: ``),
  a container or a pod (``launcher-0  | ``, ``[pod/launcher/main] ``), a unit of a journal
  (``node1 osu_bw[912]: ``)
- the quotation mark of an email

Any other beginning of lines is a prefix too where further lines begin with it, numbers aside:
``I1120 10:11:12.345678 912 main.go:12] ``, ``11/20/2025 10:11:12 AM ``, ``first run:  ``.
Indented blocks lose their indent.

A text has a prefix only if the line with which a benchmark begins stands behind it. Lines of
several sources, each with a benchmark of its own, are read apart.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from etherweave.measurements.benchmark_report import TextLine

IsBeginning = Callable[[str], bool]  # Whether a benchmark's text begins with a line.
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
)
_TOKENS = (*_TIMES, *_SOURCES)
_TOKEN = re.compile("|".join(f"({pattern})" for pattern in _TOKENS))  # A group for each.
_TOKENS_MAX = 3
_WIDTHS = (0, 1, 2)  # Blanks that a prefix may add before the line.
_ALIKE_MIN = 3  # Lines that a prefix of no known form must begin, or all of a shorter text.
_TEMPLATE_MAX = 120  # Longest prefix of no known form [characters].
OBJECT = re.compile(r"\s*\{(?![\w.@-]+\})")
"""The beginning of a JSON object; in ``{0}`` and ``{node1}`` there is none."""
_LINES_MAX = 5_000
"""Lines in which prefixes of any benchmark are looked for; later ones must look like a title."""
_BOUNDARY = re.compile(r"\W")
"""Sign behind which a line may go on that has a prefix of no known form."""
_HINT = re.compile(
    r"OSU|OMB|HPLinpack|Benchmark|BENCHMARK|[Tt]est|TEST|#bytes|# Size|nThread|size +count|"
    r"[Cc]onnecting to|Accepted|listening|version #|T/V|Network|Device|Collective|Algorithm|"
    r"\(usec\)|usec/xfer|iperf3:|OVERALL|Running|Window:|requests|COMMS|Iozone|=====|"
    r"_(?:lat|bw):|bytes/|MB /|rw="
)


@dataclass(frozen=True)
class _Shape:
    """Forms of prefixes in a row, or a prefix of no known form."""

    tokens: tuple[int, ...] = ()
    template: str = ""  # Pattern of a prefix of no known form, in place of tokens.

    def pattern(self) -> re.Pattern[str]:
        if self.template:
            return re.compile(f"({self.template})")
        signs = ("(" if place >= len(_TIMES) else "(?:" for place in self.tokens)
        groups = (f"{sign}{_TOKENS[at]})" for sign, at in zip(signs, self.tokens, strict=True))
        return re.compile(r"[ \t]*".join(groups))


def streams(lines: Sequence[TextLine], is_beginning: IsBeginning) -> list[list[TextLine]]:
    """Take prefixes off, and part the lines of sources that have a benchmark each."""
    blocks = [list(block) for _, block in groupby(lines, lambda line: not line.text[:1].strip())]
    is_alone = len(blocks) == 1
    flush = [line for block in blocks for line in _flush(block, is_alone, is_beginning)]
    keyed: list[tuple[str | None, TextLine]] = [(None, line) for line in flush]
    for shape in _shapes(flush, is_beginning):
        keyed = _without(shape, keyed, is_beginning)
    return _apart(keyed, is_beginning)


def _flush(
    block: Sequence[TextLine], is_alone: bool, is_beginning: IsBeginning
) -> Sequence[TextLine]:
    """Drop the indent of a block if more benchmarks begin without it.

    Where all lines are indented, no fewer is enough: the columns stay below their names.
    """
    filled = [line.text for line in block if line.text.strip()]
    indents = [text[: len(text) - len(text.lstrip())] for text in filled]
    indent = min(indents, key=len, default="")
    while not all(other.startswith(indent) for other in indents):
        indent = indent[:-1]
    hinted = [text for text in filled if _HINT.search(text)] if indent else []
    narrowest = max(len(indent) - max(_WIDTHS), 1)
    counts = {
        cut: sum(is_beginning(text[cut:]) for text in hinted)
        for cut in (0, *range(narrowest, len(indent) + 1))
    }
    cut = max(counts, key=lambda cut: (counts[cut], cut if is_alone else -cut))
    if not counts[cut]:
        return block
    return [line._replace(text=line.text[cut:]) for line in block]


def _shapes(lines: Sequence[TextLine], is_beginning: IsBeginning) -> list[_Shape]:
    """Find the forms behind which benchmarks begin, the most frequent first."""
    first = lines[:_LINES_MAX]
    late = [line for line in lines[_LINES_MAX:] if _HINT.search(line.text)]
    known = _known((*first, *late), is_beginning)
    if any(_is_bare(line.text, is_beginning) for line in first):
        return known
    # Further objects may be within the first, behind their names.
    forms = (
        known or _known(first, _is_object)[:1],
        _templates(first, is_beginning) or _templates(first, _is_object)[:1],
    )
    return max(forms, key=lambda shapes: _reach(shapes, first))


def _known(lines: Sequence[TextLine], is_beginning: IsBeginning) -> list[_Shape]:
    shapes = (_shape(line.text, is_beginning) for line in lines)
    return [shape for shape, _ in Counter(filter(None, shapes)).most_common()]


def _reach(shapes: Sequence[_Shape], lines: Sequence[TextLine]) -> int:
    """Count the lines that have a prefix of one of these forms."""
    patterns = [shape.pattern() for shape in shapes]
    return sum(any(pattern.match(line.text) for pattern in patterns) for line in lines)


def _is_bare(text: str, is_beginning: IsBeginning) -> bool:
    return bool(OBJECT.match(text)) or is_beginning(text)


def _shape(text: str, is_beginning: IsBeginning) -> _Shape | None:
    """Return the tokens before the beginning of a benchmark; at each place the first that fits."""
    tokens: list[int] = []
    place = 0
    while len(tokens) < _TOKENS_MAX:
        token = _TOKEN.match(text, place)
        if token is None or token.end() == len(text):
            return None
        assert token.lastindex, "each form is a group"
        tokens.append(token.lastindex - 1)
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


def _templates(lines: Sequence[TextLine], is_beginning: IsBeginning) -> list[_Shape]:
    """Find prefixes of no known form, which other lines have as well but for their numbers."""
    filled = [line.text for line in lines if line.text.strip()]
    counts = Counter(
        template
        for index, text in enumerate(filled)
        for template in map(_template, _ends(text, is_beginning))
        if all(re.match(template, other) for other in filled[index:][:2])
    )
    reaches = {form: sum(bool(re.match(form, text)) for text in filled) for form in counts}
    usual = [template for template in counts if reaches[template] >= min(_ALIKE_MIN, len(filled))]
    usual.sort(key=lambda template: (reaches[template], counts[template], len(template)))
    return [_Shape(template=template) for template in reversed(usual)]


def _ends(text: str, is_beginning: IsBeginning) -> Iterator[str]:
    """Give the shortest prefix behind which a benchmark begins, without and with further blanks."""
    cuts = (match.end() for match in _BOUNDARY.finditer(text, 0, _TEMPLATE_MAX))
    if (cut := next((cut for cut in cuts if is_beginning(text[cut:])), None)) is not None:
        rest = text[cut:]
        blanks = len(rest) - len(rest.lstrip())
        yield from (text[:end] for end in range(cut, cut + blanks + 1) if is_beginning(text[end:]))


def _template(prefix: str) -> str:
    """Make a pattern of a prefix, with any number for a number.

    Blanks at its end may be missing where no text follows.
    """
    core = prefix.rstrip(" \t")
    pieces = (
        r"[ \t]*\d+" if piece.strip().isdecimal() else re.escape(piece)
        for piece in re.split(r"([ \t]*\d+)", core)
    )
    blanks = re.escape(prefix[len(core) :])
    return "".join(pieces) + rf"(?:{blanks}|[ \t]*$)"


def _without(
    shape: _Shape, keyed: Sequence[tuple[str | None, TextLine]], is_beginning: IsBeginning
) -> list[tuple[str | None, TextLine]]:
    """Take one form of prefix off."""
    pattern = shape.pattern()
    matches = [None if key is not None else pattern.match(line.text) for key, line in keyed]
    keys = _keys(matches)
    own = {
        key
        for key, match, (_, line) in zip(keys, matches, keyed, strict=True)
        if match and key and _begins_behind(line.text[match.end() :], is_beginning)
    }
    filled = sum(1 for _, line in keyed if line.text.strip())
    if shape.template and own != {key for key in keys if key}:
        # A time differs from line to line as well: all is of one source.
        keys = [None if match is None else "" for match in matches]
    is_usual = 2 * sum(match is not None for match in matches) >= filled
    taken = [
        match if match and (is_usual or not key or key in own) else None
        for key, match in zip(keys, matches, strict=True)
    ]
    rests = [line.text[hit.end() :] for hit, (_, line) in zip(taken, keyed, strict=True) if hit]
    width = 0 if shape.template else _width(rests, is_beginning)
    result: list[tuple[str | None, TextLine]] = []
    for (before, line), match, key in zip(keyed, taken, keys, strict=True):
        if match is None:
            result.append((before, line))
            continue
        rest = line.text[match.end() :]
        plain = rest[width:] if not rest[:width].strip() else rest
        result.append((key, line._replace(text=_whole_row(plain, match[0].strip()))))
    return result


def _keys(matches: Sequence[re.Match[str] | None]) -> list[str | None]:
    """Name the source of each line: ``0``, ``00`` and `` 0`` are one rank.

    What changes with most lines, as times and numbers of lines do, is part of no name.
    """
    rows = [match and tuple(map(_name, match.groups())) for match in matches]
    named = [row for row in rows if row]
    places = list(range(len(named[0]))) if named else []
    while len({tuple(row[place] for place in places) for row in named}) > len(named) / 2 + 1:
        places.remove(max(places, key=lambda place: len({row[place] for row in named})))
    return [None if row is None else " ".join(row[place] for place in places) for row in rows]


def _name(source: str) -> str:
    name = source.strip().rstrip(":").strip()
    return str(int(name)) if name.isdecimal() else name


def _width(rests: Sequence[str], is_beginning: IsBeginning) -> int:
    """Find how many blanks the prefix adds: as many as most beginnings of benchmarks stand."""
    filled = [rest for rest in rests if rest.strip()]
    widths = [width for width in _WIDTHS if all(not rest[:width].strip() for rest in filled)]
    counts = {
        width: sum(is_beginning(rest[width:]) or rest[width:] == "{" for rest in filled)
        for width in widths
    }
    return max(widths, key=lambda width: (counts[width], width))


def _whole_row(text: str, prefix: str) -> str:
    """Drop the prefix where a launcher put it before each piece of a row."""
    if not prefix.startswith("[") or prefix not in text:
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
