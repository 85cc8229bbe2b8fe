"""The first screen of a run's page answers what a reader asks; machine data stand at its end."""

import re
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure

import etherweave
from etherweave.pages import write_report
from etherweave.report import page
from etherweave.report.run import limits
from etherweave.report.run import page as run_page
from etherweave.report.run.hosts import iterations
from etherweave.report.run.ports import busiest, link_loads, spread
from etherweave.report.section import Section
from support.browser import chromium

TAPERED: dict[str, Any] = {
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 8, "cores": 2, "links_per_core": 2}},
    "flow_control": {"pfc": {}},
    "transport": {"roce": {}},
    "job": [
        {
            "name": "halo",
            "workload": {"halo3d": {"pex": 4, "pey": 2, "pez": 2, "iterations": 2}},
            "placement": {"random": {}},
        }
    ],
}


@pytest.fixture(scope="module")
def result() -> etherweave.Result:
    return etherweave.run(TAPERED)


@pytest.fixture(scope="module")
def text(result: etherweave.Result, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(result, tmp_path_factory.mktemp("page")).read_text()


def written(result: etherweave.Result, home: Path) -> Path:
    result.save(home)
    return write_report(home, home)


def test_the_first_screen_says_what_limits_the_job_and_machine_data_come_last(text: str) -> None:
    first, _, rest = text.partition("<section")
    assert re.search(
        r'class="lead">Complete after [\d.]+ ms. halo is limited by the \w+, \d+%', first
    )
    assert "halo: limited by the" in first
    assert "busiest link: " in first
    assert "fingerprint" not in first
    assert rest.startswith(' id="limits">'), "the picture of what limits the job"
    assert rest.index('<section id="about">') > rest.index("Transports</h2>")
    assert "in a second, equal run" in rest


def test_texts_have_neither_backticks_nor_powers_of_ten(text: str) -> None:
    prose = re.sub(r"<script.*?</script>|<pre>.*?</pre>", "", text, flags=re.DOTALL)
    prose = re.sub(r'src="[^"]*"', "", prose)
    assert "<code>rank_order</code>" in prose
    assert "`" not in prose
    assert not re.search(r"\de[+-]\d", re.sub(r"[tpkl]:[0-9a-f]+", "", prose))


def test_a_long_run_is_not_repeated_and_its_page_names_the_keys(
    result: etherweave.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_page, "SIMULATED", [])
    monkeypatch.setattr(limits, "HOPS_MAX", result.summary["packet_hops"] - 1)
    first = written(result, tmp_path).read_text().partition("<section")[0]
    assert "<code>-s observe.ranks=true -s observe.waits=true</code>" in first
    assert "limited by" not in first


def test_links_loaded_unevenly_by_hashes_name_the_command(result: etherweave.Result) -> None:
    (sentence,) = spread(result)
    (leaf, ratio), *_ = re.findall(r"busiest of (leaf\d) sends ([\d.]+) times", sentence)
    uplinks = result.to_polars("ports").filter(pl.col("node") == leaf, pl.col("class") != "host")
    sent = uplinks.group_by("port").agg(pl.col("tx_bytes").sum())["tx_bytes"].to_numpy()
    assert float(ratio) == pytest.approx(sent.max() / sent.mean(), abs=0.051)
    assert "`etherweave explain --what-if`" in sentence


def test_packets_that_take_any_path_load_links_evenly(result: etherweave.Result) -> None:
    roce = {"reliability": "selective_repeat"}
    sprayed = etherweave.run({**TAPERED, "routing": "spray", "transport": {"roce": roce}})
    assert spread(sprayed) == []


def test_no_link_carries_more_than_its_rate_where_a_run_has_a_warm_up() -> None:
    run = etherweave.run("scenarios/incast_tcp.toml")
    (line,) = busiest(run)
    # 40 streams fill the link to host0 from the first round trips on, in the warm-up too.
    name, percent = re.fullmatch(r"busiest link: (.*), (\d+) % of its rate", line).groups()  # type: ignore[union-attr]
    assert name == "leaf0 port 0 to host0"
    assert 95 <= int(percent) <= 100
    assert max(link_loads(run).values()) <= 1


@pytest.mark.needs("chromium")
def test_a_table_says_on_a_narrow_screen_that_it_scrolls(
    result: etherweave.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_page, "SIMULATED", [iterations])
    monkeypatch.setattr(page, "BYTES_MAX", 0)  # without plotly.js, which takes seconds
    own = written(result, tmp_path / "page")
    frame = tmp_path / "frame.html"
    frame.write_text(
        f"""<iframe src="{own.as_uri()}" width="390" height="2000"></iframe><p id="all"></p><script>
        const all_in = (place, kind) => [...place.querySelectorAll(kind)];
        const display = (hint) => getComputedStyle(hint).display;
        const shown = () => all_in(frames[0].document, "section").map(
          (one) => [one.id, ...all_in(one, ".more").map(display)]);
        setTimeout(() => {{ all.textContent = JSON.stringify(shown()); }}, 3000);</script>"""
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    flags += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=8000", "--dump-dom"]
    done = subprocess.check_output(
        ["chromium", *flags, frame.as_uri()], stderr=subprocess.DEVNULL, text=True, timeout=120
    )
    assert '["iterations","block"]' in done, "eight columns"
    assert '["limits","none"]' in done, "four columns"


@pytest.mark.needs("chromium")
def test_a_legend_is_in_view_on_a_narrow_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_page, "SIMULATED", [limits.job_limits])
    own = written(etherweave.run("scenarios/collectives.toml"), tmp_path / "page")
    with chromium(tmp_path / "profile") as browser:
        browser.open(own.as_uri(), width=390)
        browser.wait_for("document.querySelectorAll('#limits .legend .traces').length == 6")
        bars = "[...document.querySelectorAll('.legend .scrollbar')]"
        assert browser.value(f"{bars}.every(bar => bar.getBBox().height === 0)")
        assert browser.value("document.querySelectorAll('.modebar-btn').length") == 0


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("width", [390, 1280])
def test_a_legend_has_its_title_above_the_panel(width: int, tmp_path: Path) -> None:
    figure = Figure()
    axes = figure.subplots()
    for hosts in (2, 4, 8):
        axes.plot([0, 1], [0, hosts], label=f"{hosts}")
    axes.legend(title="job.0.workload.incast.sources")
    written_page = page.Page(tmp_path)
    written_page.show([lambda _: Section("lines", "Lines", "", figure)], None)
    own = written_page.write(page.Front("lines", "Three lines."), [])
    with chromium(tmp_path / "profile") as browser:
        browser.open(own.as_uri(), width=width)
        browser.wait_for("document.querySelectorAll('.legend .traces').length == 3")
        title = "document.querySelector('.legendtitletext')"
        assert browser.value(f"{title}.textContent") == "job.0.workload.incast.sources"
        boxes = ", ".join(
            f"{box}.getBoundingClientRect()"
            for box in (
                "document.querySelector('.legend')",
                "document.querySelector('.plot .nsewdrag')",
            )
        )
        assert browser.value(f"(([legend, panel]) => legend.bottom <= panel.top)([{boxes}])")


@pytest.mark.needs("chromium")
def test_a_long_name_of_a_section_is_in_view_on_a_narrow_screen(tmp_path: Path) -> None:
    written_page = page.Page(tmp_path)
    title = "benchmarks.requests.request_response.mean.round_trip [us]"
    written_page.show([lambda _: Section("trips", title, "", tables=[])], None)
    own = written_page.write(page.Front("trips", "A long name."), [])
    with chromium(tmp_path / "profile") as browser:
        browser.open(own.as_uri(), width=390)
        browser.wait_for("document.querySelectorAll('h2').length > 0")
        assert browser.value("document.documentElement.scrollWidth") <= 390


@pytest.mark.needs("chromium")
def test_panels_below_each_other_have_the_names_of_the_first(tmp_path: Path) -> None:
    figure = Figure(figsize=(9, 2))
    for axes, names in zip(figure.subplots(1, 2), (["a", "b"], ["", ""]), strict=True):
        axes.barh([0, 1], [1, 2])
        axes.set_yticks([0, 1], names)
    written_page = page.Page(tmp_path)
    written_page.show([lambda _: Section("bars", "Bars", "", figure)], None)
    own = written_page.write(page.Front("bars", "Two panels."), [])
    script = "[...document.querySelectorAll('.ytick, .y2tick')].map(tick => tick.textContent)"
    with chromium(tmp_path / "profile") as browser:
        for width, shown in ((390, ["a", "b", "a", "b"]), (1280, ["a", "b"])):
            browser.open(own.as_uri(), width=width)
            browser.wait_for("document.querySelectorAll('.ytick').length == 2")
            assert [name for name in browser.value(script) if name] == shown
