"""Progress in a log, where no terminal can show a bar."""

import pytest

from etherweave.cli.progress import RunLines, StudyLines, share
from etherweave.simulation import Progress


def facts(wall_s: float, fraction: float | None = None, end_ns: float | None = None) -> Progress:
    return Progress(
        simulated_ns=2e6,
        end_ns=end_ns,
        packet_hops=30_000_000,
        wall_s=wall_s,
        fraction=fraction,
    )


def test_a_run_shorter_than_ten_seconds_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    report = RunLines("halo")
    assert all(report(facts(wall_s)) for wall_s in (0.1, 5.0, 9.9))
    assert capsys.readouterr() == ("", "")


def test_a_longer_run_prints_its_time_speed_and_rest_every_ten_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = RunLines("halo")
    # 30 million packet-hops in 10 s: 3 million per second. A quarter took 10 s, the rest takes 30.
    for wall_s in (10.0, 10.1, 19.9):
        report(facts(wall_s, fraction=0.25))
    printed = capsys.readouterr()
    assert printed == ("", "halo: 2.000 ms, 3.00 M packet-hops/s, 30 s left\n")


def test_the_rest_of_a_run_that_only_its_jobs_end_is_not_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    RunLines("halo")(facts(10.0))
    assert capsys.readouterr().err == "halo: 2.000 ms, 3.00 M packet-hops/s\n"


def test_without_a_fraction_the_end_gives_the_share() -> None:
    assert share(facts(1.0, end_ns=8e6)) == 2 / 8
    assert share(facts(1.0, fraction=0.5, end_ns=8e6)) == 0.5
    assert share(facts(1.0)) is None


def test_a_study_prints_how_many_experiments_are_done(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([100.0, 101.0, 112.0, 113.0])
    report = StudyLines("sandia", clock=lambda: next(times))
    for done in (1, 60, 61):
        report(done, 240, "p2p")
    # 60 of 240 took 12 s, so that 180 take 36 s.
    assert capsys.readouterr().err == "sandia: 60 of 240 experiments, 36 s left\n"
