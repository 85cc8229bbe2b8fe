"""Distributions that a reader states, and what is wrong with others."""

import math
import re
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from etherweave.api.units import time_of
from etherweave.uncertainty import UncertaintyError, declared
from etherweave.uncertainty.sampling import sobol

FILE = """\
[[unknown]]
key = "switch.latency"
from = "100ns"
to = "400ns"
scale = "log"

[[unknown]]
key = "nic.transmit_latency"
from = "100ns"
to = "200ns"

[[unknown]]
key = "transport.roce.path_mtu"
values = ["1KiB", "4KiB"]
weights = [1, 3]

[[correlation]]
keys = ["switch.latency", "nic.transmit_latency"]
coefficient = {coefficient}
"""


def test_a_file_states_ranges_weights_and_correlations(tmp_path: Path) -> None:
    path = tmp_path / "unknowns.toml"
    path.write_text(FILE.format(coefficient=1))
    result = declared([f"@{path}", "host.mpi_roce.send_overhead=100ns..300ns"])
    assert list(result.dimensions) == [
        "switch.latency and nic.transmit_latency",
        "transport.roce.path_mtu",
        "host.mpi_roce.send_overhead",
    ]
    middle = result.at(dict(zip(result.dimensions, (0.5, 0.25, 0.5), strict=True)))
    assert middle == {
        "switch.latency": "200ns",  # sqrt(100 * 400)
        "nic.transmit_latency": "150ns",
        "transport.roce.path_mtu": "4KiB",  # Drawn from a quarter of the weights on.
        "host.mpi_roce.send_overhead": "200ns",
    }


@pytest.mark.parametrize("coefficient", [-1, -0.5, 0.8])
def test_keys_have_the_correlation_that_a_file_states(tmp_path: Path, coefficient: float) -> None:
    path = tmp_path / "unknowns.toml"
    path.write_text(FILE.format(coefficient=coefficient))
    result = declared([f"@{path}"])
    rows = [result.at(dict(zip(result.dimensions, row, strict=True))) for row in sobol(3, 512, 1)]
    amounts = [
        [float(str(row[key]).removesuffix("ns")) for row in rows]
        for key in ("switch.latency", "nic.transmit_latency")
    ]
    # Of ranks: (6 / pi) asin(r / 2) of normal scores that have r.
    exact = 6 / math.pi * math.asin(coefficient / 2)
    assert spearmanr(*amounts).statistic == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("switch.latency", "expected KEY=LOW..HIGH"),
        ("switch.latency=200ns", "one value; expected LOW..HIGH"),
        ("switch.latency=200ns..400us", "expected the unit of 200ns"),
        ("switch.latency=200ns..200ns", "expected the lower end, then the higher one"),
        ("switch.latency=400ns..200ns", "expected the lower end, then the higher one"),
        ("switch.latency=low..high", "expected a number, or one with a unit"),
        ("switch.latency=['200ns']", "expected a list of two or more"),
        ("switch.latency=[", "expected a list, as in TOML"),
        ("switch.latency=[200ns,abc]", 'with texts in quotes: \'["200ns", "400ns"]\''),
    ],
)
def test_a_range_that_is_none_is_named(text: str, words: str) -> None:
    with pytest.raises(UncertaintyError, match=r"switch\.latency") as error:
        declared([text])
    assert words in str(error.value)


def test_an_end_without_a_unit_is_named_as_it_is_written() -> None:
    with pytest.raises(UncertaintyError) as error:
        declared(["switch.latency=200ns..400"])
    assert str(error.value) == "switch.latency=200ns..400: 400; expected the unit of 200ns"


def test_a_file_that_is_missing_is_named_with_what_is_expected() -> None:
    with pytest.raises(UncertaintyError, match=r"none\.toml: No such file.*; expected a file with"):
        declared(["@none.toml"])


def test_a_directory_in_place_of_a_file_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(UncertaintyError, match=f"^{tmp_path}: Is a directory; expected a file$"):
        declared([f"@{tmp_path}"])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("coefficient = 1", "coefficient = -1.5", "-1.5 is no correlation of 2 keys; expected -1"),
        ("coefficient = 1", "coefficient = 'high'", "'high' is no correlation"),
        ("coefficient = 1", "weight = 1", "correlation.0.weight: unknown; known: coefficient"),
        ('"nic.transmit_latency"]', "]", "expected two or more different keys"),
        ('["switch.latency",', '["switch.buffer",', "switch.buffer, which has no range"),
        ("weights = [1, 3]", "weights = [1, -3]", "expected 2 numbers above 0"),
        ('scale = "log"', 'scale = "cubic"', "unknown.0.scale: 'cubic'"),
        ('from = "100ns"\nto = "400ns"', 'from = "0ns"\nto = "400ns"', "expected ends above 0"),
        ('key = "nic.transmit_latency"', 'key = "switch.latency"', "uncertain twice"),
        ("[[unknown]]\nkey", "[[unknwon]]\nkey", "unknwon: expected [[unknown]]"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "unknowns.toml"
    path.write_text(FILE.format(coefficient=1).replace(old, new))
    with pytest.raises(UncertaintyError) as error:
        declared([f"@{path}"])
    assert words in str(error.value)


def test_an_empty_file_and_a_correlation_without_a_range_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "ranges.toml"
    file.write_text("")
    with pytest.raises(UncertaintyError, match=r"ranges\.toml: empty; expected \[\[unknown\]\]"):
        declared([f"@{file}"])
    file.write_text('[[correlation]]\nkeys = ["nic.drain_rate", "switch.latency"]\n')
    with pytest.raises(UncertaintyError, match=r"ranges\.toml: correlation\.0: correlation of nic"):
        declared([f"@{file}"])


def test_three_keys_cannot_all_oppose_each_other(tmp_path: Path) -> None:
    path = tmp_path / "unknowns.toml"
    three = '"switch.latency", "nic.transmit_latency", "transport.roce.path_mtu"'
    two = '"switch.latency", "nic.transmit_latency"'
    path.write_text(FILE.format(coefficient=-0.6).replace(f"[{two}]", f"[{three}]"))
    with pytest.raises(
        UncertaintyError, match=r"-0.6 is no correlation of 3 keys; expected -0.5 to 1"
    ):
        declared([f"@{path}"])


QUANTILES = """\
[[unknown]]
key = "switch.latency"
quantiles = ["100ns", "200ns", "400ns"]

[[unknown]]
key = "nic.transmit_latency"
quantiles = ["1us", "2us"]

[[unknown]]
key = "nic.receive_latency"
quantiles = ["1us", "2us"]

[[correlation]]
keys = ["switch.latency", "nic.transmit_latency", "nic.receive_latency"]
matrix = [[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]]
"""


def test_a_file_states_quantiles_and_a_correlation_of_each_pair(tmp_path: Path) -> None:
    path = tmp_path / "posterior.toml"
    path.write_text(QUANTILES)
    result = declared([f"@{path}"])
    rows = [result.at(dict(zip(result.dimensions, row, strict=True))) for row in sobol(3, 512, 1)]
    latency, transmit, receive = (
        [1e9 * time_of(str(row[key])) for row in rows] for key in result.dimensions
    )
    # A half lies below the middle value, evenly.
    assert sorted(latency)[128:512:256] == pytest.approx([150, 300], rel=0.02)
    exact = 6 / math.pi * math.asin(0.9 / 2)
    assert spearmanr(latency, transmit).statistic == pytest.approx(exact, abs=0.03)
    assert spearmanr(latency, receive).statistic == pytest.approx(0, abs=0.06)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('["1us", "2us"]', '["1us"]', "quantiles: ['1us']; expected a list of two or more"),
        ('["1us", "2us"]', '["2us", "1us"]', "expected values of one unit that ascend"),
        ('["1us", "2us"]', '["1ns", "2us"]', "expected values of one unit that ascend"),
        ('["1us", "2us"]', '["1us", "2us"]\nfrom = "1us"', "from: beside quantiles"),
        ("[0, 0, 1]]", "[0, 0]]", "matrix: expected 3 rows of 3 numbers"),
        ("[0, 0, 1]]", "[0.1, 0, 1]]", "no correlations of 3 keys; expected a symmetric matrix"),
        ("[0.9, 1, 0]", "[0.9, 2, 0]", "no correlations of 3 keys; expected a symmetric matrix"),
        (
            "[[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]]",
            "[[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]",
            "no negative eigenvalue",
        ),
        ("matrix = ", "coefficient = 1\nmatrix = ", "coefficient: beside a matrix"),
    ],
)
def test_impossible_tables_are_refused(tmp_path: Path, before: str, after: str, words: str) -> None:
    path = tmp_path / "posterior.toml"
    path.write_text(QUANTILES.replace(before, after, 1))
    with pytest.raises(UncertaintyError, match=re.escape(words)):
        declared([f"@{path}"])


def test_values_between_ends_are_no_finer_than_the_core_knows() -> None:
    result = declared(["host.cpu.send_call=50.5ns..51.7ns"])
    assert result.at({"host.cpu.send_call": 1 / 3}) == {"host.cpu.send_call": "50.9ns"}
    assert declared(["a=1ns..2ns"]).at({"a": 1 / 3}) == {"a": "1.333ns"}
