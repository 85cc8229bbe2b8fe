"""Results side by side, over time, and against what a user keeps."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from etherweave.bench.campaigns.campaign import Campaign
from etherweave.bench.campaigns.comparisons import (
    DifferenceVerdict,
    differences,
    entries,
    numbers_of,
    steps,
)
from etherweave.bench.campaigns.points import DataPoint
from etherweave.bench.campaigns.runner import launch_until_decided
from etherweave.bench.campaigns.store import Store, StoreError, write_json
from etherweave.bench.statistics.launches import StoppingRule
from support import command_line
from support.launches import FakeLauncher, campaign, latencies

TEN = StoppingRule(0.5, launches_min=10, launches_max=10)


etherweave = partial(command_line.invoke, "bench")


def measured(path: Path, us: float, wanted: Campaign | None = None, start_ns: int = 0) -> Store:
    """A result with medians near ``us``, which jitter a little from launch to launch."""
    store = Store.create(path, wanted or campaign(rule=TEN))
    fabric = store.campaign.networks[0].name
    launcher = FakeLauncher(lambda number: latencies(us + 0.01 * (number % 5)))
    assert launch_until_decided(store, {fabric: launcher}, 1)
    for record in store.records() if start_ns else ():
        store.add(replace(record, start_ns=start_ns, end_ns=start_ns + record.round))
    return store


def test_slower_is_worse_and_faster_is_better(tmp_path: Path) -> None:
    slow, fast = measured(tmp_path / "slow", 12.0), measured(tmp_path / "fast", 10.0)
    worse = differences(numbers_of(fast), numbers_of(slow))
    assert [row.verdict for row in worse] == [DifferenceVerdict.WORSE] * 3
    assert worse[0].comparison.shift == pytest.approx(2e-6)
    better = differences(numbers_of(slow), numbers_of(fast))
    assert [row.verdict for row in better] == [DifferenceVerdict.BETTER] * 3
    same = differences(numbers_of(slow), numbers_of(slow))
    assert [port.verdict for port in same] == [DifferenceVerdict.UNDECIDED] * 3


def test_more_bandwidth_is_better() -> None:
    (point,) = [
        replace(point, metric="bandwidth", unit="B/s", better="higher") for point in _points()[:1]
    ]
    low, high = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [2.0, 2.1, 2.2, 2.3, 2.4, 2.5]
    (difference,) = differences({point: low}, {point: high})
    assert difference.verdict is DifferenceVerdict.BETTER


def _points() -> list[DataPoint]:
    return [
        DataPoint("osu", "p", "lan", "a,b", 1, "latency", "s", "lower", "mean", size, "")
        for size in range(1, 41)
    ]


def test_many_points_share_one_confidence() -> None:
    """Four against four launches, all apart: by chance 2 in 70, 2.9 %.

    One point is decided at 95 %; of forty, each has to be rarer than 5 % / 40.
    """
    low, high = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    points = _points()
    (single,) = differences({points[0]: low}, {points[0]: high})
    many = differences(dict.fromkeys(points, low), dict.fromkeys(points, high))
    assert single.verdict is DifferenceVerdict.WORSE
    assert {row.verdict for row in many} == {DifferenceVerdict.UNDECIDED}


def test_compare_ends_with_1_on_a_regression_only_if_strict(tmp_path: Path) -> None:
    measured(tmp_path / "slow", 12.0)
    measured(tmp_path / "fast", 10.0)
    done = etherweave("compare", tmp_path / "fast", tmp_path / "slow", code=0)
    assert done.stdout.splitlines()[-1] == "0 better, 3 worse, 0 undecided"
    row = next(line for line in done.stdout.splitlines() if " 1 B " in line)
    assert row.split()[6:11] == ["10.02", "us", "+2", "us", "+20.0%"], row
    assert etherweave("compare", tmp_path / "fast", tmp_path / "slow", "--strict").exit_code == 1
    assert etherweave("compare", tmp_path / "slow", tmp_path / "fast", "--strict").exit_code == 0
    facts = json.loads(etherweave("compare", tmp_path / "fast", tmp_path / "slow", "--json").stdout)
    assert [fact["verdict"] for fact in facts] == ["worse"] * 3


def test_compare_says_how_sites_differ(tmp_path: Path) -> None:
    network = campaign().networks[0]
    other = replace(network, kind=f"{network.kind} over copper", rate=62.5e6, latency=3e-5)
    measured(tmp_path / "before", 10.0)
    measured(tmp_path / "now", 12.0, replace(campaign(networks=(other,), rule=TEN), site="hall2"))
    done = etherweave("compare", tmp_path / "before", tmp_path / "now")
    kinds = f"{network.name}.kind {network.kind} and {other.kind}"
    rates = f"{network.name}.rate {network.rate * 8 / 1e9:g} Gb/s and 0.5 Gb/s"
    times = f"{network.name}.latency {network.latency * 1e6:g} us and 30 us"
    differing = f"site test and hall2; {kinds}; {rates}; {times}"
    assert done.stderr == f"WARNING: the sites differ: {differing}\n"
    assert etherweave("compare", tmp_path / "now", tmp_path / "now").stderr == ""


def test_fabrics_and_hosts_differ_unless_they_are_ignored(tmp_path: Path) -> None:
    network = replace(campaign().networks[0], name="roce")
    measured(tmp_path / "tcp", 12.0)
    measured(tmp_path / "roce", 10.0, campaign(networks=(network,), rule=TEN))
    done = etherweave("compare", tmp_path / "tcp", tmp_path / "roce", code=2)
    assert "no point in common" in done.stderr
    done = etherweave("compare", tmp_path / "tcp", tmp_path / "roce", "--ignore", "fabric")
    assert "3 better" in done.stdout
    both = campaign(networks=(*campaign().networks, network), rule=TEN)
    store = Store.create(tmp_path / "both", both)
    launcher = FakeLauncher(lambda number: latencies(10.0))
    launch_until_decided(store, {"lan": launcher, "roce": launcher}, 1)
    done = etherweave("compare", tmp_path / "tcp", tmp_path / "both", "--ignore", "fabric", code=2)
    assert "several without regard to fabric" in done.stderr
    assert etherweave("compare", tmp_path, tmp_path, "--ignore", "size").exit_code == 2


def test_a_baseline_is_kept_in_the_users_file(tmp_path: Path) -> None:
    measured(tmp_path / "slow", 12.0)
    measured(tmp_path / "fast", 10.0)
    file = tmp_path / "mine.json"
    for name in ("slow", "fast"):
        added = etherweave(
            "baseline", "add", tmp_path / name, "--name", name, "--file", file, code=0
        )
        assert added.stdout == f"{name}: 3 points of test\n"
    assert "3 worse" in etherweave("compare", f"{file}:fast", tmp_path / "slow").stdout
    assert "slow" in etherweave("baseline", "list", "--file", file).stdout
    unknown = etherweave("compare", f"{file}:summer", tmp_path / "slow", code=2)
    assert "expected slow, fast" in unknown.stderr


@pytest.mark.parametrize("text", ["", "[]", '{"baselines": 3}', '{"format": 99}', "[" * 99_999])
def test_a_file_without_baselines_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    measured(tmp_path / "fast", 10.0)
    file = tmp_path / "thesis.tex"
    file.write_text(text)
    done = etherweave("baseline", "add", tmp_path / "fast", "--name", "one", "--file", file, code=2)
    assert file.read_text() == text
    assert "bench baseline add" in done.stderr


def test_a_history_warns_when_a_cluster_became_worse(tmp_path: Path) -> None:
    day = 86_400 * 10**9
    for number, us in enumerate((10.0, 10.0, 12.0, 12.0), 1):
        measured(tmp_path / f"all/{5 - number}", us, start_ns=number * day)
    result = entries(tmp_path / "all")
    assert [campaign.start_ns // day for campaign in result] == [1, 2, 3, 4]
    assert [len(step.regressions) for step in steps(result)] == [0, 3, 0]
    done = etherweave("history", tmp_path / "all", "--strict", code=0)
    assert "1970-01-04" in done.stdout, "the last step is no worse"
    assert f"{tmp_path / 'all/2'}: worse than {tmp_path / 'all/3'}" in done.stdout
    etherweave("history", tmp_path / "all", "--against", tmp_path / "all/4", "--strict", code=1)
    reported = json.loads(etherweave("history", tmp_path / "all", "--json").stdout)
    assert [Path(launch["before"]).name for launch in reported] == ["4", "3", "2"]
    assert [Path(launch["directory"]).name for launch in reported] == ["3", "2", "1"]
    verdicts = [[difference["verdict"] for difference in step["differences"]] for step in reported]
    assert [words.count("worse") for words in verdicts] == [0, 3, 0]


def test_clusters_have_histories_of_their_own(tmp_path: Path) -> None:
    measured(tmp_path / "all/one", 10.0)
    measured(tmp_path / "all/two", 12.0, replace(campaign(rule=TEN), site="other"))
    assert steps(entries(tmp_path / "all")) == []
    assert [entry.site for entry in entries(tmp_path / "all", "other")] == ["other"]
    assert json.loads(etherweave("history", tmp_path / "all", "--json").stdout) == []
    wrong = etherweave("history", tmp_path / "all", "--site", "third", code=2)
    assert "expected other, test" in wrong.stderr


def test_a_damaged_history_is_reported(tmp_path: Path) -> None:
    write_json(measured(tmp_path / "all/one", 10.0).directory / "campaign.json", {})
    with pytest.raises(StoreError, match=r"campaign\.json"):
        entries(tmp_path / "all")
    assert etherweave("history", tmp_path / "all").exit_code == 2
    (tmp_path / "empty").mkdir()
    assert etherweave("history", tmp_path / "empty").exit_code == 2
    assert etherweave("history", tmp_path / "nowhere").exit_code == 2
