"""State and texts of the page, without a page."""

import re
from pathlib import Path
from threading import Timer

import pytest

import etherweave
from etherweave.api.scenario import ScenarioText
from etherweave.explore import figures
from etherweave.explore.changes import Changes
from etherweave.explore.session import Session, examples
from support.command_line import run_here
from support.documents import ROOT

WIDE = 1280  # Width of a screen [px].
INCAST = """\
[topology.fat_tree]
leaves = 2
hosts_per_leaf = 4
[[job]]
name = "incast"
workload.incast = { sources = 4, messages = 2 }
[[job]]
name = "ping"
workload.osu_latency = { iterations = 4 }
"""


def session(text: str) -> Session:
    return Session(ScenarioText(text))


def silent(_: float | None) -> None:
    """Take progress, and show none."""


def test_a_mistake_has_its_line() -> None:
    (mistake,) = session(INCAST.replace("leaves", "leafs")).check().mistakes
    assert mistake.line == 2
    assert mistake.text.startswith("topology.fat_tree.leafs: unknown key; expected one of `leaves`")


def test_text_that_is_no_toml_has_its_line() -> None:
    (mistake,) = session("[switch]\nbuffer = \n").check().mistakes
    assert mistake.line == 2


def test_a_mistake_of_a_change_has_no_line() -> None:
    user = session(INCAST)
    user.changes = Changes(routing="dimension_order")
    check = user.check()
    (mistake,) = check.mistakes
    assert mistake.line is None
    assert mistake.text.startswith("routing: ")
    assert check.controls is not None, "the change can be taken back"


def test_a_file_that_a_scenario_lacks_is_a_mistake() -> None:
    (mistake,) = session('[topology.custom]\nfile = "missing.json"\n').check().mistakes
    assert "missing.json" in mistake.text


def test_the_last_run_stands_beside_the_new_one() -> None:
    user = session(INCAST)
    first = user.run({}, silent)
    second = user.run({"topology.fat_tree.host_rate": "200Gb/s"}, silent)
    third = user.run({"transport": {"tcp": {}}}, silent)
    assert user.trials == [second, third]
    assert [trial.words for trial in (first, second, third)] == [
        "as written",
        "topology.fat_tree.host_rate = 200Gb/s",
        "transport = tcp",
    ]
    rows = {figure.name: figure for figure in figures.compared(second.result, first.result)}
    goodput = rows["incast: goodput [Gb/s]"]
    assert goodput.before is not None
    assert goodput.change == f"{goodput.value / goodput.before - 1:+.1%}"
    latency = rows["ping: osu_latency latency [us]"]
    assert latency.before is not None
    assert latency.cells()["before"] == f"{latency.before:,.5g}"


def test_observations_of_the_page_leave_the_run_as_it_is() -> None:
    trial = session(INCAST).run({}, silent)
    plain = etherweave.run(ScenarioText(INCAST))
    assert trial.result.summary["fingerprint"] == plain.summary["fingerprint"]


def test_the_longest_queues_are_sampled_and_drawn() -> None:
    user = session(INCAST)
    result = user.run({}, silent).result
    rows = result.to_polars("port_samples")
    assert ("leaf0", "host0") in set(rows.select("node", "peer").iter_rows())
    assert b"<svg" in (figures.queue_picture(result, WIDE) or b"")
    assert figures.queue_picture(user.run({}, silent, has_queues=False).result, WIDE) is None


def test_the_drawing_names_and_colours_the_busiest_links() -> None:
    user = session(INCAST)
    loads = figures.loads_of(user.run({}, silent, has_queues=False).result)
    assert figures.busiest(loads)[0].startswith("leaf0 to host0: ")
    drawn = figures.fabric_picture(user.source, {}, loads)
    assert isinstance(drawn, bytes)
    assert b'id="loads-copper' in drawn
    assert drawn != figures.fabric_picture(user.source, {})


def test_what_limits_a_job_is_said_and_drawn() -> None:
    result = session(INCAST).run({}, silent, has_queues=False).result
    (text,) = figures.job_texts(result)
    assert text.startswith("ping: limited by ")
    assert b"<svg" in (figures.limit_picture(result, WIDE) or b"")


def test_figures_of_a_narrow_screen_are_as_wide_as_it() -> None:
    result = session(INCAST).run({}, silent).result
    for draw in (figures.limit_picture, figures.queue_picture):
        narrow, wide = (draw(result, width) or b"" for width in (390, WIDE))
        # Points of 1/72 inch: the window of 390 px, drawn 1.15 times as large, at 96 px an inch.
        (width,) = re.findall(rb'<svg [^>]*width="([0-9.]+)pt"', narrow)
        assert float(width) == pytest.approx(390 * 1.15 * 72 / 96, abs=0.01)
        assert width not in re.findall(rb'width="([0-9.]+)pt"', wide)


def test_a_stopped_run_ends_with_what_it_has() -> None:
    user = session(INCAST.replace("messages = 2", 'messages = 400000, message = "64B"'))
    timer = Timer(0.5, user.stop)
    timer.start()
    trial = user.run({}, silent)
    timer.join()
    assert trial.result.summary["finished"] == "interrupted"


def test_a_scenario_is_saved_as_written_or_with_its_changes(tmp_path: Path) -> None:
    user, file = session(f"# Mine.\n{INCAST}"), tmp_path / "mine.toml"
    user.save(file, {})
    assert file.read_text() == user.source.text
    user.save(file, {"transport": {"tcp": {}}})
    user.run({}, silent, has_queues=False)
    user.open(file)
    assert user.trials == [], "runs of another file are not compared"
    again = Session()
    again.open(file)
    controls = again.check().controls
    assert controls is not None
    assert list(controls.resolved["transport"]) == ["tcp"]


def test_files_that_a_scenario_names_are_found_beside_it(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("h0,s0,100Gb/s,3m\nh1,s0,100Gb/s,3m\n")
    file = tmp_path / "mine.toml"
    file.write_text('[topology.custom]\nfile = "links.csv"\n')
    user = Session()
    user.open(file)
    assert user.check().mistakes == ()


def test_every_example_has_a_sentence() -> None:
    known = examples()
    assert str(ROOT / "scenarios/first.toml") in known
    assert all(": " in text for text in known.values())


def test_the_page_stays_open_where_no_browser_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = "http://127.0.0.1:1/token/"
    monkeypatch.setattr("etherweave.explore.serve", lambda session, port, ready: ready(address))
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    done = run_here("explore", code=0)
    assert done.stdout == f"{address}\n"
    assert done.stderr == "no browser was found: open the address above in one\n"
    assert run_here("explore", "--no-browser", code=0).stderr == ""


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"missing\.toml"):
        Session().open(tmp_path / "missing.toml")
