"""Texts as emails quote them: between prompts and warnings, in colours, with odd characters."""

import random
import re
from collections.abc import Callable

import pytest

from etherweave.bench.texts.document import parse
from etherweave.measurements.benchmark_report import Completeness
from support.captured_texts import (
    captured,
    failure,
    names,
    numbers,
    reports,
    without_sizes,
    without_titles,
)

BEFORE = """\
\x1b]0;user@n1: ~\x07\x1b[01;32muser@n1\x1b[00m:\x1b[01;34m~\x1b[00m$ module load openmpi
Loading openmpi/4.1.4
  Loading requirement: gcc/12.2.0 ucx/1.13.1

The following have been reloaded with a version change:
  1) gcc/11.2.0 => gcc/12.2.0

[user@login1 ~]$ mpirun -np 2 --host n1,n2 ./run
--------------------------------------------------------------------------
WARNING: There was an error initializing an OpenFabrics device.

  Local host:   n1
  Local device: mlx5_0
--------------------------------------------------------------------------
[n1:12345] mca_base_component_repository_open: unable to open mca_btl_openib: librdmacm.so.1
Warning: Permanently added 'n2' (ED25519) to the list of known hosts.
"""
AFTER = """\
[n1:12345] 1 more process has sent help message help-mpi-btl-openib.txt / error in device init

real\t0m3.105s
user\t0m1.004s
\x1b[?2004h[user@login1 ~]$ """


TEXTS = names()


def _quoted(text: str) -> str:
    return "Hello,\n\n" + "".join(f"> {line}\n" for line in text.split("\n"))


def _coloured(text: str) -> str:
    return re.sub(r"(?m)^(#.*)$", "\x1b[1;33m\\1\x1b[0m\x1b[K", text)


def _tagged(text: str, blank: str = "") -> str:
    return "".join(f"[1,0]<stdout>:{blank}{line}\n" for line in text.splitlines())


def _recorded(text: str) -> str:
    """Write it like ``script``, which ends lines as terminals do."""
    lines = text.replace("\n", "\r\n")
    return f"Script started on 2026-11-20\r\n\x1b[?2004l\r{lines}\r\nScript done on 2026-11-20\r\n"


LETTERS: dict[str, Callable[[str], str]] = {
    "behind a prompt": lambda text: BEFORE + text,
    "before a prompt": lambda text: text + AFTER,
    "between prompts": lambda text: BEFORE + text + AFTER,
    "quoted": lambda text: _quoted(BEFORE + text + AFTER),
    "coloured": _coloured,
    "tagged by rank": _tagged,
    "tagged by rank, with a blank": lambda text: _tagged(text, " "),
    "recorded": _recorded,
    "from Windows": lambda text: "\ufeff" + text.replace("\n", "\r\n"),
    "with carriage returns": lambda text: text.replace("\n", "\r"),
}


@pytest.mark.parametrize("kind", LETTERS)
def test_a_letter_around_a_text_changes_no_number(kind: str) -> None:
    letter = LETTERS[kind]
    for name in TEXTS:
        text = captured(name)
        alone, mailed = reports(text), reports(letter(text))
        assert numbers(mailed) == numbers(alone), name
        states = [report.completeness for report in alone]
        assert [report.completeness for report in mailed] == states, name


def test_warnings_in_the_middle_make_no_number_wrong() -> None:
    noise = ["[n1:04242] 1 more process has sent help message\n", "WARNING: shared memory\n"]
    for name in TEXTS:
        lines = captured(name).splitlines(keepends=True)
        own = set(numbers(reports(captured(name))))
        chance = random.Random(name)
        for _ in range(4):
            place = chance.randrange(len(lines) + 1)
            mixed = reports("".join([*lines[:place], *noise, *lines[place:]]))
            assert set(numbers(mixed)) <= own, (name, place)


@pytest.mark.parametrize("prompt", ["user@n1:~/run$ ", "[root@n1 run]# ", "bash-5.1$ ", "$ ", "❯ "])
def test_a_prompt_is_no_line_that_was_cut(prompt: str) -> None:
    text = captured("osu-micro-benchmarks/osu_bw-7.4.txt")
    (report,) = parse(text + prompt).reports
    assert report.completeness == Completeness.OPEN
    for cut in ("# ", "524288   11", "x@y"):
        (report,) = parse(text + cut).reports
        assert report.completeness == Completeness.PARTIAL


HOSTILE = ("nan", "NaN", "inf", "-inf", "Infinity", "1e400", "9" * 24 + ".0", "0x10", "١٢", "--")
ODD_LETTERS: dict[str, Callable[[str], str]] = {
    "UTF-16 read as UTF-8": lambda text: text.encode("utf-16").decode(errors="replace"),
    "UTF-16 without its mark": lambda text: text.encode("utf-16-le").decode(),
    "decimal commas": lambda text: re.sub(r"(?<=\d)\.(?=\d)", ",", text),
    "no-break blanks": lambda text: text.replace(" ", "\xa0"),
    "lines broken at 72": lambda text: "\n".join(
        line[at : at + 72] for line in text.split("\n") for at in range(0, max(len(line), 1), 72)
    ),
}


@pytest.mark.parametrize("kind", ODD_LETTERS)
def test_odd_letters_give_no_number_that_the_text_does_not(kind: str) -> None:
    for name in TEXTS:
        text = captured(name)
        result = set(numbers(reports(ODD_LETTERS[kind](text))))
        assert not without_titles(result, set(numbers(reports(text)))), name


@pytest.mark.slow
def test_a_hostile_number_in_the_place_of_another_gives_none_that_the_text_does_not() -> None:
    for name in TEXTS:
        text, chance = captured(name), random.Random(name)
        own = set(numbers(reports(text)))
        places = list(re.finditer(r"(?<![\w.:])\d+(?:\.\d+)?(?![\w:])", text))
        for _ in range(20):
            place, number = chance.choice(places), chance.choice(HOSTILE)
            garbled = text[: place.start()] + number + text[place.end() :]
            assert not {*numbers(reports(garbled))} - own - without_sizes(own), (name, number)


@pytest.mark.slow
def test_zero_bytes_in_a_text_give_no_number_that_the_text_does_not() -> None:
    """Zeros of a file whose machine stopped before it was written out."""
    for name in TEXTS:
        text, chance = captured(name), random.Random(name)
        for _ in range(6):
            place = chance.randrange(len(text))
            length = chance.randrange(1, 200)
            holed = text[:place] + "\0" * length + text[place + length :]
            result = {number[:4] for number in numbers(reports(holed))}
            full = {number[:4] for number in numbers(reports(text))}
            assert not without_titles(result, full), (name, place)


OSU = "osu-micro-benchmarks"


def test_a_time_or_a_rate_of_zero_is_left_out_and_reported() -> None:
    text = captured("netperf/tcp_stream.txt")
    assert failure(text.replace("1804.99", "   0.00")).reason.startswith("no measurement")
    text = captured("fi_pingpong/tcp-msg.txt")
    (report,) = parse(text.replace(" 0.01  ", " 0.00  ")).reports
    assert all(measured.value for measured in report.measurements)


def test_start_up_times_belong_to_no_other_test() -> None:
    start = captured("osu-micro-benchmarks/osu_init-7.4.txt").splitlines()[-1]
    (report,) = parse(captured("osu-micro-benchmarks/osu_bw-7.4.txt") + start + "\n").reports
    assert {measured.metric.name for measured in report.measurements} == {"bandwidth"}
    assert [text for _, text in report.leftover] == [start]
