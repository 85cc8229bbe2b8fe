"""One point of synthetic traffic, watched: which links are busy, and when."""

import base64
import json
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow
import pytest

import etherweave
from etherweave.report.animation import animation_content, write_animation
from etherweave.report.heat import draw_heat
from support import command_line

pytestmark = pytest.mark.slow

GROUPS = 9
TURN_NS = 24_000
SMALL: dict[str, object] = {
    "topology": {
        "dragonfly": {
            **{f"{link}_rate": "40Gb/s" for link in ("host", "local", "global")},
            "host_cable": "8m",
            "local_cable": "8m",
            "global_cable": "80m",
        }
    },
    "switch": {"latency": "200ns", "output_queue": "10kB"},
    "open_loop": {
        "patterns": [
            {
                "switching": {
                    "from": {"uniform": {}},
                    "to": {"adversarial": {"offset": 1}},
                    "at": f"{TURN_NS}ns",
                }
            }
        ],
        "loads": [0.4],
    },
}
"""72 hosts: 9 groups of 4 switches with 2 hosts each; one link between any two groups."""


@pytest.fixture(scope="module")
def turn() -> etherweave.Observation:
    return etherweave.observe(SMALL)


def table_of(table: pyarrow.Table) -> pl.DataFrame:
    return pl.DataFrame(table)


IS_NEXT = (pl.col("group_from") + 1) % GROUPS == pl.col("group_to")
"""Whether a link leads to the group that adversarial traffic is for."""


def used(rows: pl.DataFrame) -> npt.NDArray[np.float64]:
    return rows["utilisation"].to_numpy()


def test_adversarial_traffic_by_minimal_paths_fills_the_links_to_the_next_group_alone() -> None:
    times = {"open_loop.warm_up": "20us", "open_loop.measured": "24us"}
    choice: dict[str, Any] = {"routing": "minimal", "pattern": "adversarial", "load": 0.5}
    seen = etherweave.observe(SMALL, times, **choice)
    links = table_of(seen.channels).filter(pl.col("class") == "global")
    assert len(links) == GROUPS * (GROUPS - 1)
    # The 8 hosts of a group want 8 · 0.5 of the one link to the next.
    assert used(links.filter(IS_NEXT)).min() == pytest.approx(1, abs=0.01)
    assert used(links.filter(~IS_NEXT)).max() == 0
    (interval,) = seen.intervals()
    assert interval.pattern == "adversarial+1"
    assert interval.start_ns >= 20_000
    assert interval.end_ns <= 44_000
    both = links.join(interval.pairs, on=["group_from", "group_to"])
    assert len(both) == len(links)
    assert np.abs(used(both) - both["utilisation_right"].to_numpy()).max() < 0.02


def test_a_pattern_change_is_recorded_as_long_after_as_before(turn: etherweave.Observation) -> None:
    (point,) = turn.points.to_pylist()
    assert (point["warm_up_ns"], point["measured_ns"]) == (0, 2 * TURN_NS)
    assert turn.patterns.to_pylist() == [
        {"start_ns": 0, "pattern": "uniform"},
        {"start_ns": TURN_NS, "pattern": "adversarial+1"},
    ]


def test_links_are_used_alike_before_the_change_and_only_those_to_the_next_group_after_it(
    turn: etherweave.Observation,
) -> None:
    before, after = turn.intervals()
    # A group's 8 hosts send 8 · 0.4 of a link, and 8/71 of it to each other group.
    share = 8 * 0.4 * 8 / 71
    assert used(before.pairs).mean() == pytest.approx(share, rel=0.1)
    assert used(before.pairs).max() < 2 * share
    assert used(after.pairs.filter(IS_NEXT)).min() > 0.95
    assert used(after.pairs.filter(~IS_NEXT)).max() < 0.1


def test_steps_and_series_have_every_batch(turn: etherweave.Observation) -> None:
    steps, series = table_of(turn.steps), table_of(turn.series)
    assert steps["time_ns"].unique(maintain_order=True).equals(series["time_ns"])
    assert (series["time_ns"].diff().drop_nulls() == series["duration_ns"][0]).all()
    assert len(steps) == len(series) * GROUPS * (GROUPS - 1)
    last = series.filter(pl.col("time_ns") > 2 * TURN_NS - 12_000)
    # One link carries what the 8 hosts of a group send: 1/8 of their links.
    assert last["load_accepted"].mean() == pytest.approx(1 / 8, abs=0.02)
    assert series["load_offered"].mean() == pytest.approx(0.4, abs=0.02)


def test_a_fabric_without_groups_is_shown_by_switches() -> None:
    butterfly: dict[str, object] = {
        "topology": {"flattened_butterfly": {}},
        "open_loop": {"routings": ["dimension_order"], "warm_up": "0ns", "measured": "6us"},
    }
    seen = etherweave.observe(butterfly)
    assert seen.area == "switch"
    (interval,) = seen.intervals()
    names = [f"{side}{end}" for side in ("group_", "") for end in ("from", "to")]
    links = table_of(seen.channels).select(names)
    # Between any two switches that are linked there is one link each way.
    assert links.select("group_from", "group_to").is_unique().all()
    assert len(interval.pairs) == len(links)
    assert links.n_unique(["group_from", "from"]) == links["from"].n_unique()


def test_threads_change_nothing(turn: etherweave.Observation) -> None:
    two = etherweave.observe(SMALL, threads=2)
    assert two.steps.equals(turn.steps)
    assert two.channels.equals(turn.channels)


def test_the_map_has_a_panel_for_each_pattern(turn: etherweave.Observation, tmp_path: Path) -> None:
    drawing = draw_heat(turn, tmp_path / "map.svg")
    ids = [element.get("id", "") for element in ElementTree.parse(drawing).getroot().iter()]
    # Two panels and the scale of colours.
    assert sum(bool(re.fullmatch(r"axes_\d+", name)) for name in ids) == 3
    assert draw_heat(turn, tmp_path / "again.svg").read_bytes() == drawing.read_bytes()


def content(page: Path) -> dict[str, Any]:
    text = page.read_text(encoding="utf-8")
    match = re.search(
        r'<script type="application/json" id="animation">(.*?)</script>', text, re.DOTALL
    )
    assert match is not None
    parsed: dict[str, Any] = json.loads(match[1])
    return parsed


def test_the_page_holds_all_steps_itself(turn: etherweave.Observation, tmp_path: Path) -> None:
    page = write_animation(turn, tmp_path / "turn.html")
    text = page.read_text(encoding="utf-8")
    assert "http:" not in text
    assert "https:" not in text
    assert "src=" not in text
    animation = content(page)
    pairs = np.frombuffer(base64.b64decode(animation["pairs"]), "<u4")
    cells = np.frombuffer(base64.b64decode(animation["steps"]), np.uint8).reshape(-1, len(pairs))
    steps = table_of(turn.steps)
    assert cells.size == len(steps)
    assert (steps["group_from"] * GROUPS + steps["group_to"])[: len(pairs)].to_list() == list(pairs)
    # A byte has 255 steps.
    expected = used(steps)
    assert np.abs(cells.ravel() / 255 - expected).max() <= 0.5 / 255 + 1e-9


def test_a_page_that_would_be_too_large_averages_neighbours(turn: etherweave.Observation) -> None:
    links = GROUPS * (GROUPS - 1)
    animation = animation_content(turn, bytes_max=7 * links)
    # 20 batches, three at a time.
    assert (len(turn.series), animation["merged"]) == (20, 3)
    cells = np.frombuffer(base64.b64decode(animation["steps"]), np.uint8).reshape(-1, links)
    assert len(cells) == 7
    batches = turn.steps["utilisation"].to_numpy().reshape(20, links)
    expected = batches[:3].mean(axis=0)
    assert np.abs(cells[0] / 255 - expected).max() <= 0.5 / 255 + 1e-9
    assert animation["edges_us"][-1] == 2 * TURN_NS / 1e3


@pytest.mark.needs("chromium")
def test_the_animation_plays_in_a_browser(turn: etherweave.Observation, tmp_path: Path) -> None:
    page = write_animation(turn, tmp_path / "turn.html")
    with page.open("a", encoding="utf-8") as script:
        script.write('<script type="module">document.getElementById("play").click()</script>')
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", "--no-first-run"]
    # 20 steps of 400 ms; the browser does not really wait.
    flags += ["--virtual-time-budget=20000", "--dump-dom"]
    words = ["chromium", *flags, f"--user-data-dir={tmp_path}", f"{page.as_uri()}#step=2"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    # What the page says of the last steps: one link in eight of a group is full.
    assert "38.4 to 48 us, adversarial+1: mean 0.1" in done.stdout


run = partial(command_line.run_here, "observe")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text('[topology.dragonfly]\n[open_loop]\nwarm_up = "0ns"\nmeasured = "12us"\n')
    return file


def test_the_verb_prints_writes_and_draws(small: Path, tmp_path: Path) -> None:
    drawing, page, tables = tmp_path / "map.svg", tmp_path / "turn.html", tmp_path / "tables"
    words = ("--load", "0.2", "--pattern", "adversarial", "--heat", drawing, "--animation", page)
    done = run(small, *words, "-o", tables, code=0)
    assert command_line.without_progress(done.stderr) == ""
    assert done.stdout.startswith("minimal, adversarial+1, load 0.2: accepted 0.")
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")
    assert content(page)["title"] == "small: minimal, load 0.2"
    names = {path.stem for path in tables.iterdir()}
    assert names == {"points", "patterns", "channels", "steps", "series"}
    printed = json.loads(run(small, *words[:4], "--json").stdout)
    assert printed["point"]["pattern"] == "adversarial+1"
    assert len(printed["series"]) == 5
    (links,) = printed["links"]
    assert (links["group_from"] + 1) % GROUPS == links["group_to"]
    assert links["utilisation_mean"] < links["utilisation_max"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--routing", "best"], "routing: unknown name `best`; expected one of `up_down`"),
        (["--pattern", "unifrom"], "pattern: unknown name `unifrom`; expected one of `uniform`"),
        (["--load", "2"], "load: 2; expected 0.000001 to 1"),
        (["--set", "open_loop.loads=[]"], "load: none given; expected one"),
        (["--set", "open_loop.measured=1us"], "open_loop.measured: 1000ns; expected a whole batch"),
        (["--heat", "map.gif"], "--heat map.gif: expected a file name that ends in .svg or .pdf"),
        (["--animation", "a.svg"], "--animation a.svg: expected a file name that ends in .html"),
    ],
)
def test_mistakes_are_a_line_that_names_a_key(small: Path, words: list[str], message: str) -> None:
    done = run(small, *words, code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
