"""Figures of a page can be hovered, zoomed and filtered, and the page is read without scripts."""

import base64
import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

import etherweave
from etherweave.pages import write_report
from etherweave.report import page
from etherweave.report.interactive import POINTS_MAX, figure_values
from etherweave.report.style import WholeNumbers
from support.documents import ROOT

MB = 1e6


def panel(draw: Any) -> dict[str, Any]:
    """Draw into a panel; give its values."""
    figure = Figure()
    draw(figure.subplots())
    values = figure_values(figure)
    assert values is not None
    (panel,) = values["panels"]
    return dict(panel)


def drawn(draw: Any) -> list[dict[str, Any]]:
    """Draw into a panel; give its series."""
    return list(panel(draw)["series"])


def test_a_line_keeps_its_points_name_and_colour() -> None:
    (line,) = drawn(lambda axes: axes.plot([1, 2], [3, np.nan], label="a", color="#0072b2"))
    assert (line["x"], line["y"]) == ([1, 2], [3, None])
    assert (line["name"], line["colour"], line["mode"]) == ("a", "#0072b2", "lines")


def test_the_title_of_a_legend_is_kept() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 2], [3, 4], label="2")
    axes.legend(title=r"a\$b")
    assert (figure_values(figure) or {})["legend"] == "a$b"
    axes.legend()
    assert "legend" not in (figure_values(figure) or {})


def test_many_points_keep_the_lowest_and_the_highest() -> None:
    values = np.zeros(100_000)
    values[[77, 54_321]] = -5, 9
    (line,) = drawn(lambda axes: axes.plot(np.arange(len(values)), values))
    assert len(line["x"]) <= POINTS_MAX
    assert {x: y for x, y in zip(line["x"], line["y"], strict=True) if y} == {77: -5, 54_321: 9}


def test_bars_keep_their_places_and_lengths() -> None:
    upright, lying = drawn(lambda axes: (axes.bar([1, 2], [3, 4]), axes.barh([5], [6], left=1)))
    assert (upright["at"], upright["length"], upright["upright"]) == ([1, 2], [3, 4], True)
    assert (lying["at"], lying["base"], lying["length"]) == ([5], [1], [6])


def test_a_line_across_the_panel_is_a_rule() -> None:
    _, rule = drawn(lambda axes: (axes.plot([0, 9], [0, 9]), axes.axvline(4, label="median")))
    assert (rule["kind"], rule["at"], rule["upright"]) == ("rule", [4], True)


def test_lines_keep_their_dashes() -> None:
    lines = drawn(
        lambda axes: (
            axes.plot([0, 1], [0, 1], "--"),
            axes.plot([0, 1], [1, 0]),
            axes.axvline(0.5, linestyle=":"),
        )
    )
    assert [line["dash"] for line in lines] == ["dash", "solid", "dot"]


def test_areas_keep_how_much_they_hide_and_lines_their_width() -> None:
    band, bars, messages = drawn(
        lambda axes: (
            axes.fill_between([0, 1], [0, 0], [1, 1], alpha=0.2, color="#0072b2"),
            axes.add_collection(PolyCollection([[(0, 0), (1, 0), (1, 1)]], facecolors="#d55e00")),
            axes.add_collection(LineCollection([[(0, 0), (1, 1)]], linewidths=0.3)),
        )
    )
    assert [trace["opacity"] for trace in (band, bars, messages)] == [0.2, 1, 1]
    # A point is 4/3 of a pixel of CSS.
    assert [trace["width"] for trace in (band, bars, messages)] == [0, 0, 0.4]


def test_a_map_keeps_its_cells_and_the_names_of_its_rows() -> None:
    def draw(axes: Any) -> None:
        axes.pcolormesh([0, 10, 20], [0, 1, 2], [[1, 2], [3, np.nan]])
        axes.yaxis.set_major_formatter(lambda place, _: f"leaf{int(place)}")

    (cells,) = drawn(draw)
    assert cells["z"] == [[1, 2], [3, None]]
    assert (cells["x"], cells["names"]) == ([5, 15], ["leaf0", "leaf1"])


def test_a_map_keeps_the_label_of_its_colour_scale() -> None:
    def draw(axes: Any) -> None:
        mesh = axes.pcolormesh([0, 10, 20], [0, 1], [[1, 2]])
        axes.figure.colorbar(mesh, ax=axes, label="communication")

    (cells,) = drawn(draw)
    assert cells["scale"] == "communication"


def test_an_axis_of_whole_numbers_is_known_as_such() -> None:
    values = panel(lambda axes: (axes.plot([0, 1]), axes.yaxis.set_major_locator(WholeNumbers())))
    assert (values["x"]["whole"], values["y"]["whole"]) == (False, True)


def test_a_figure_with_an_image_stays_a_picture() -> None:
    figure = Figure()
    figure.subplots().imshow(np.eye(2))
    assert figure_values(figure) is None


@pytest.fixture(scope="module")
def result() -> etherweave.Result:
    return etherweave.run(ROOT / "scenarios/incast_observed.toml")


@pytest.fixture(scope="module")
def report(result: etherweave.Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("report")
    result.save(home)
    return write_report(home, home)


def figures(text: str) -> dict[str, Any]:
    """Values of a page's figures by the names of sections."""
    matches = re.findall(
        r'<section id="(\w+)">(?:(?!</section>).)*?<script type="application/json">(.*?)</script>',
        text,
        re.DOTALL,
    )
    return {name: json.loads(values) for name, values in matches}


def test_a_page_has_every_figure_as_picture_and_values(report: Path) -> None:
    text = report.read_text()
    assert len(text) < 10 * MB
    assert {"port_series", "link_maps", "flow_series", "utilisation"} <= figures(text).keys()
    assert text.count("<img src=") == len(figures(text)) == len(list(report.parent.glob("*.svg")))
    assert "Licence of plotly.js" in text


def test_only_the_scripts_of_the_page_may_run(report: Path) -> None:
    text = report.read_text()
    (allowed,) = re.findall(r"script-src ([^\"]*)\"", text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    assert allowed.split() == [f"'sha256-{base64.b64encode(part).decode()}'" for part in digests]
    assert "default-src 'none'" in text


def test_maps_of_links_show_the_samples(result: etherweave.Result, report: Path) -> None:
    panels = figures(report.read_text())["link_maps"]["panels"]
    sent, queue = (panel["series"][0] for panel in panels[:2])
    row = sent["names"].index("leaf0 port 0 to host0")
    samples = result.to_polars("port_samples").filter(node="leaf0", peer="host0")
    # All links of this scenario have 100 Gb/s, so that Gb/s are per cent.
    assert sent["z"][row] == pytest.approx(samples["throughput_gbps"].to_list(), abs=1e-4)
    assert queue["z"][row] == pytest.approx((samples["occupancy_bytes"] / 1e3).to_list(), abs=1e-3)
    assert sent["x"][:2] == [5, 15], "the middles of periods of 10 us"


def test_a_page_without_room_keeps_pictures(
    result: etherweave.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "BYTES_MAX", 0)
    result.save(tmp_path)
    text = write_report(tmp_path, tmp_path).read_text()
    assert "<img src=" in text
    assert "<script" not in text


def shown_by_browser(page: Path, profile: Path) -> str:
    """Give the elements of a page when its scripts have run."""
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    options = [f"--user-data-dir={profile}", "--virtual-time-budget=20000"]
    return subprocess.check_output(
        [*words, *options, f"file://{page}"], stderr=subprocess.DEVNULL, text=True
    )


@pytest.mark.needs("chromium")
def test_ranks_have_ticks_at_whole_numbers_and_maps_their_labels(tmp_path: Path) -> None:
    scenario = {
        "topology": {"single_switch": {"hosts": 2}},
        "observe": {"ranks": True},
        "job": [{"name": "a", "workload": {"osu_latency": {}}}],
    }
    etherweave.run(scenario).save(tmp_path)
    shown = shown_by_browser(write_report(tmp_path, tmp_path), tmp_path / "profile")
    parts = {part.partition('"')[0]: part for part in shown.split('<section id="')[1:]}
    shown = parts["ranks_a"] + parts["iterations_a"]
    assert set(re.findall(r'<g class="ytick"><text[^>]*>([^<]*)</text>', shown)) == {"0", "1"}
    assert len(re.findall(r'<text class="ytitle"[^>]*>rank</text>', shown)) == 2
    assert len(re.findall(r"<text[^>]*>communication</text>", parts["ranks_a"])) == 1


@pytest.mark.needs("chromium")
def test_a_slider_shows_its_values(result: etherweave.Result, report: Path, tmp_path: Path) -> None:
    shown = shown_by_browser(report, tmp_path)
    assert shown.count('class="interactive"') == len(figures(report.read_text()))
    assert 'aria-valuetext="510 us"' in shown
    # The slider starts in the middle: of 100 periods of 10 us the 51st.
    samples = result.to_polars("port_samples").filter(node="leaf0", peer="host0", time_ns=510_000)
    queue = float(f"{samples['occupancy_bytes'][0] / 1e3:.5g}")
    row = '<th scope="row">leaf0 port 0 to host0</th><td class="number">'
    assert row + f"{queue:,}</td>" in shown
