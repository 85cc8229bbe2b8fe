"""Texts that were cut or garbled: a part that is marked so, or an error, never a wrong number."""

import random
import string
import tracemalloc
from pathlib import Path

import pytest

from etherweave.bench.texts.document import UnrecognisedError, parse
from etherweave.measurements.benchmark_report import Completeness
from support.captured_texts import (
    Number,
    captured,
    names,
    numbers,
    reports,
    without_sizes,
    without_titles,
)
from support.hostile import ROUNDS

CUTS = 15 * ROUNDS  # Places within lines at which each text is cut.
ENDS = 25 * ROUNDS  # Line ends at which each text is cut, all of short ones.
MISHAPS = 20 * ROUNDS  # Garbled versions of each text.
NOISE = string.ascii_letters + string.punctuation.replace(".", "").replace("-", "") + "\x00\x1bé"
"""Damages of texts; a digit in the place of another cannot be detected."""

NAMES = names()


def wrong(result: set[Number], full: set[Number]) -> set[Number]:
    """Return figures that are not in the full text; a size or a title that is lost is not wrong."""
    return without_titles(result, full) - without_sizes(full)


def test_nearly_all_captured_texts_give_numbers() -> None:
    assert len(NAMES) > 100


@pytest.mark.fuzz
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_cut_text_gives_a_part_that_says_so_or_an_error(name: str) -> None:
    text = captured(name)
    full = reports(text)
    chance = random.Random(Path(name).name)
    ends = [place + 1 for place, letter in enumerate(text) if letter == "\n"][:-1]
    places = chance.sample(ends, min(ENDS, len(ends)))
    places += [chance.randrange(len(text)) for _ in range(CUTS)]
    for place in places:
        parts = reports(text[:place])
        assert not wrong({*numbers(parts)}, {*numbers(full)}), place
        for report, complete in zip(parts, full, strict=False):
            reported = report.completeness != Completeness.COMPLETE
            assert reported or len(report.measurements) == len(complete.measurements), place


@pytest.mark.fuzz
@pytest.mark.parametrize("name", NAMES)
def test_a_garbled_text_gives_no_wrong_number(name: str) -> None:
    text = captured(name)
    full = {*numbers(reports(text))}
    chance = random.Random(Path(name).name)
    for _ in range(MISHAPS):
        mishap = chance.choice(MISHAP_KINDS)
        odd = wrong({*numbers(reports(mishap(text, chance)))}, full)
        assert not odd, (mishap.__name__, odd)


def _replace(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text))
    return text[:place] + chance.choice(NOISE) + text[place + 1 :]


def _insert(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text))
    noise = "".join(chance.choices(NOISE, k=chance.randrange(1, 9)))
    return text[:place] + noise + text[place:]


def _lose_line(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return "".join(lines)


def _repeat_line(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    return "".join(lines)


def _lose_line_end(text: str, chance: random.Random) -> str:
    """Two lines become one, as when two processes write at once."""
    ends = [place for place, letter in enumerate(text[:-1]) if letter == "\n"]
    if not ends:
        return text
    place = chance.choice(ends)
    return text[:place] + text[place + 1 :]


def _lose_middle(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    first = chance.randrange(len(lines))
    return "".join(lines[:first] + lines[first + chance.randrange(1, 9) :])


MISHAP_KINDS = (_replace, _insert, _lose_line, _repeat_line, _lose_line_end, _lose_middle)


@pytest.mark.parametrize(
    "text", ["", "\n", "\x00" * 99, "{" * 5000, "{\n" * 5000, "> " * 5000, "5" * 99]
)
def test_what_nobody_wrote_is_unrecognised(text: str) -> None:
    with pytest.raises(UnrecognisedError):
        parse(text)


def test_hostile_numbers_are_rejected() -> None:
    head = "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n"
    for row in ("1  " + "9" * 5000 + ".00", "9" * 5000 + "  1.00", "1  1e999.00", "1  ١.00"):
        assert not parse(head + row + "\n").reports


@pytest.mark.parametrize("line", ["a b: c, " * 40 + "{}", "  a b: c, " * 50_000 + "{}"])
def test_the_memory_of_a_text_is_freed_and_proportional_to_its_length(line: str) -> None:
    """Lines are many, or long."""
    count = 1 + 400_000 // len(line)
    head = "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n1  1.00\n"
    text = head + "".join(f"{line.format(number)}\n" for number in range(count))
    parse(head)
    tracemalloc.start()
    assert parse(text).reports
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < len(text) / 4
    assert peak < 8 * len(text)
