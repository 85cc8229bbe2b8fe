"""Progress in a log, where no terminal can show a bar."""

import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from etherweave.api.simulation import Estimate, Progress
from etherweave.api.work import Work
from etherweave.cli import progress


def facts(
    wall_s: float,
    fraction: float | None = None,
    end_ns: float | None = None,
    *,
    fraction_max: float | None = None,
) -> Progress:
    return Progress(
        simulated_ns=2e6,
        end_ns=end_ns,
        packet_hops=30_000_000,
        wall_s=wall_s,
        fraction=fraction,
        fraction_max=fraction_max,
    )


def test_a_run_shorter_than_ten_seconds_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    report = progress.RunLines("halo")
    assert all(report(facts(wall_s)) for wall_s in (0.1, 5.0, 9.9))
    assert capsys.readouterr() == ("", "")


def test_long_runs_print_time_speed_and_rest_at_times(capsys: pytest.CaptureFixture[str]) -> None:
    report = progress.RunLines("halo")
    # 30 million packet-hops in 10 s: 3 million per second. A quarter took 10 s, the rest takes 30.
    for wall_s in (10.0, 10.1, 19.9):
        report(facts(wall_s, fraction=0.25))
    assert capsys.readouterr() == ("", "halo: 2.000 ms, 3.00 M packet-hops/s, 30 s left\n")


def test_no_rest_is_printed_of_a_run_that_its_jobs_end(capsys: pytest.CaptureFixture[str]) -> None:
    progress.RunLines("halo")(facts(10.0))
    assert capsys.readouterr().err == "halo: 2.000 ms, 3.00 M packet-hops/s\n"


def test_the_rest_is_a_range_where_repetitions_may_be_skipped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Of what is left a third is simulated before most is skipped: half is done, if so.
    progress.RunLines("halo")(facts(10.0, fraction=0.25, fraction_max=0.5))
    text = "halo: 2.000 ms, 3.00 M packet-hops/s, between 10 s and 30 s left\n"
    assert capsys.readouterr().err == text


def test_a_bar_prints_the_same_range_as_a_line() -> None:
    def left(fraction: float | None, fraction_max: float | None = None) -> str:
        now = facts(10.0, fraction, fraction_max=fraction_max)
        return progress.run_left(SimpleNamespace(fields={"run": now}))

    assert left(0.25, 0.5) == "between 0:00:10 and 0:00:30"
    assert left(0.25, 0.25) == left(0.25) == "0:00:30"
    assert left(None, 0.5) == "-:--:--"


def test_without_a_fraction_the_end_gives_the_share() -> None:
    assert progress.share(facts(1.0, end_ns=8e6)) == 2 / 8
    assert progress.share(facts(1.0, fraction=0.5, end_ns=8e6)) == 0.5
    assert progress.share(facts(1.0)) is None


def test_a_line_says_how_far_items_are_that_run() -> None:
    report = progress.WorkLines("sandia", "samples")
    report(Work(["0", "1"], clock=lambda: 0.0, running=lambda: "3 of 8 experiments of 2 samples"))
    assert report.line(20.0) == "sandia: 0 of 2 samples, 3 of 8 experiments of 2 samples, 20 s"


def test_a_study_prints_how_many_experiments_are_done() -> None:
    report = progress.WorkLines("sandia", "experiments")
    assert report.line(20.0) == "sandia: no experiments yet, 20 s"
    now_s = 0.0
    work = Work([str(item) for item in range(240)], clock=lambda: now_s)
    for done in range(60):
        now_s = 0.2 * (done + 1)
        work.end(str(done))
    report(work)
    # 60 of 240 took 12 s, so that 180 take 36 s.
    assert report.line(12.0) == "sandia: 60 of 240 experiments, 12 s, 36 s left"


def test_a_study_prints_the_step_that_follows_its_experiments() -> None:
    now_s = 0.0
    work = Work(["a", "b"], clock=lambda: now_s)
    work.expect_step("checks", 1.0)
    work.expect_step("page", 0.0, items=2.0)
    report = progress.WorkLines("sandia", "experiments")
    report(work)
    now_s = 10.0
    work.end("a")
    now_s = 20.0
    work.end("b")
    now_s = 24.0
    # An experiment takes 10 s, and so do the checks, of which 4 s are over; the page takes 20 s.
    assert report.line(24.0) == "sandia: 2 of 2 experiments, checks, 24 s, 26 s left"
    now_s = 30.0
    work.end("checks")
    assert report.line(30.0) == "sandia: 2 of 2 experiments, page, 30 s, 20 s left"
    work.end("page")
    assert report.line(50.0) == "sandia: 2 of 2 experiments, 50 s, 0 s left"


def test_a_step_that_takes_long_is_printed_while_it_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("etherweave.cli.progress.LINE_EVERY_S", 0.01)
    with progress.step_progress() as report:
        report("torus", "measuring")
        time.sleep(0.1)
    assert "torus: measuring, 0 s\n" in capsys.readouterr().err


def test_a_launch_is_printed_beside_the_time_that_it_is_expected_to_take(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("etherweave.cli.progress.LINE_EVERY_S", 0.01)
    facts: Any = SimpleNamespace(launch=0, launches=6, elapsed_s=12.0, expected="about 4 s")
    with progress.measure_progress("halo") as report:
        report(facts)
        time.sleep(0.1)
    assert "halo: launch 1 of 6 (12 s, expected about 4 s), 0 s\n" in capsys.readouterr().err


def test_a_count_that_is_first_reported_at_the_first_end_has_begun_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    works: list[Work] = []
    monkeypatch.setattr(progress, "work_progress", lambda *_: nullcontext(works.append))
    with progress.count_progress("calibrate", "launches") as report:
        time.sleep(0.1)
        report(1, 4, "hpcc")
        assert works[0].elapsed_s >= 0.1
        left_s = works[0].left_s()
    assert left_s is not None
    assert left_s >= 0.2


def test_the_time_left_of_a_step_follows_from_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    steps = progress.Steps(lines.append)
    clock_s = iter((100.0, 100.0, 110.0, 110.0, 200.0, 200.0))
    monkeypatch.setattr("etherweave.cli.progress.time.monotonic", lambda: next(clock_s))
    steps("torus", "measuring", 0.0)
    # A quarter took 10 s, so that the rest takes 30 s.
    steps("torus", "measuring, 250 of 1000 switches done", 0.25)
    steps("torus", "planning tables", 0.0)
    assert lines == [
        "torus: measuring",
        "torus: measuring, 250 of 1000 switches done, 30 s left",
        "torus: planning tables",
    ]


def estimate(
    memory_bytes: int, packet_hops: int | None, *warnings: str, run_s: float | None = None
) -> Estimate:
    return Estimate(
        memory_bytes=memory_bytes,
        memory_parts=[],
        disk_bytes=0,
        packet_hops=packet_hops,
        run_s=run_s,
        setup_s=0.0,
        warnings=list(warnings),
        derived=[],
    )


def test_needs_of_a_large_run_are_printed_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    progress.print_start("halo", set(), estimate(3 << 29, 1_234_567, run_s=0.13))
    expected = (
        "halo: expected to take about 1.5 GiB of memory at most, 1,234,567 packet-hops, "
        "about 0.1 s on a thread\n"
    )
    assert capsys.readouterr() == ("", expected)


@pytest.mark.parametrize(
    ("span_s", "text"),
    [
        (0.04, "less than 0.1 s"),
        (1.26, "about 1.3 s"),
        (119, "about 119 s"),
        (185, "about 3 min"),
        (7_200, "about 2 h"),
        (1e6, "about 12 days"),
    ],
)
def test_a_time_is_written_in_its_largest_unit(span_s: float, text: str) -> None:
    assert progress.span_text(span_s) == text


def test_a_small_run_prints_warnings_only(capsys: pytest.CaptureFixture[str]) -> None:
    progress.print_start("halo", set(), estimate(1 << 20, None))
    assert capsys.readouterr() == ("", "")
    progress.print_start(
        "halo", set(), estimate(1 << 20, None, "routing: shortest_path may deadlock")
    )
    assert capsys.readouterr().err == "WARNING: routing: shortest_path may deadlock\n"
