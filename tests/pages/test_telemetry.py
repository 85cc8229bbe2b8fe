"""Telemetry in the page of benchmarks: over time, as totals, and where there is none."""

import json
import re
from dataclasses import replace
from pathlib import Path
from shutil import copytree, rmtree

import numpy as np
import polars
import pytest

from etherweave.bench.campaigns.store import LaunchRecord, Store
from etherweave.bench.environment.snapshot import Snapshot
from etherweave.bench.statistics.launches import StoppingRule
from etherweave.bench.telemetry.epochs import Epoch
from etherweave.bench.telemetry.families import INTERFACE, PRIORITY, PROCESSOR, RDMA
from etherweave.pages import write_report
from etherweave.pages.benchmarks import recordings, telemetry, timelines
from etherweave.pages.benchmarks.data import load_benchmarks
from support.launches import FakeLauncher, campaign, latencies, stored_campaign
from support.recorded_campaigns import Speeds, keep_recording, keep_recordings

SIX = StoppingRule(0.5, launches_min=6, launches_max=6)
LAUNCH = recordings.RecordedLaunch("osu-001", "osu", False, 10**18, 10.0)
RECORD = LaunchRecord("osu", 1, "done", "", "", (), 10**18, 10**18 + 10**10, "fake", 1, "0", "x")
SPEEDS = Speeds(interface={"received_bytes": 1e6, "sent_bytes": 2e6, "received_drops": 0.0})


def recorded(home: Path, speeds: Speeds = SPEEDS, **words: object) -> recordings.HostRecording:
    keep_recording(home, RECORD, "n1", speeds, **words)  # type: ignore[arg-type]
    return recordings.track(home, LAUNCH)


def test_rises_of_a_host_are_in_the_time_of_who_started_the_launch(tmp_path: Path) -> None:
    """Ten seconds at 2 MB/s, on a host whose clock is 20 ± 5 ms ahead."""
    result = recorded(tmp_path, ahead_ms=(15.0, 25.0))
    steps = result.steps[recordings.CounterKey("interface", "", "sent_bytes")]
    assert steps.times[[0, -1]].tolist() == [0.0, 10.0]
    assert steps.risen[[0, 5, -1]].tolist() == [0.0, 1e7, 2e7]
    assert result.total(INTERFACE, "received_bytes", "sent_bytes") == 3e7


def test_a_host_whose_clock_is_not_known_begins_with_its_launch(tmp_path: Path) -> None:
    keep_recording(tmp_path, RECORD, "n1", SPEEDS, ahead_ms=None)
    later = recordings.track(tmp_path, LAUNCH._replace(start_ns=LAUNCH.start_ns - 10**12))
    assert later.steps[recordings.CounterKey("interface", "", "sent_bytes")].times[0] == 0.0


def test_processors_are_added_up_and_the_busiest_is_named(tmp_path: Path) -> None:
    """Two processors: 0.75 and 0.25 of their time."""
    busy = {"user_s": 0.5, "softirq_s": 0.25, "idle_s": 0.25}
    result = recorded(tmp_path, Speeds(cpus=[busy, {"user_s": 0.25, "idle_s": 0.75}]))
    assert result.total(PROCESSOR, "user_s") == pytest.approx(7.5)
    assert result.processors == 2
    assert result.busiest == pytest.approx(0.75)


def test_what_nobody_counts_has_no_total(tmp_path: Path) -> None:
    result = recorded(tmp_path)
    assert result.total(INTERFACE, "received_drops") == 0.0
    assert result.total(INTERFACE, "received_pauses") is None
    assert result.total(RDMA, "timeouts") is None


def test_only_the_tested_interface_counts(tmp_path: Path) -> None:
    result = recorded(tmp_path, replace(SPEEDS, other={"sent_bytes": 9e9, "received_bytes": 9e9}))
    assert result.total(INTERFACE, "sent_bytes") == 2e7


def test_a_counter_that_was_set_back_counts_from_zero(tmp_path: Path) -> None:
    """Counter from 1000 on, by 100 each second; set back to 40 at the third, by 100 again."""
    recorded(tmp_path, Speeds(interface={"sent_bytes": 100.0, "received_bytes": 1.0}))
    file = tmp_path / "telemetry_interface.parquet"
    table = polars.read_parquet(file)
    counts = [1000, 1100, 40, *(140 + 100 * at for at in range(8))]
    table.with_columns(sent_bytes=polars.Series(counts, dtype=polars.UInt64)).write_parquet(file)
    assert recordings.track(tmp_path, LAUNCH).total(INTERFACE, "sent_bytes") == 100 + 40 + 8 * 100


def test_rates_are_those_of_the_part_that_was_recorded() -> None:
    """A counter rises by 10 each second from 1 s to 3 s: cells of 2 s from 0 s on."""
    steps = recordings.CounterSteps(np.array([1.0, 2.0, 3.0]), np.array([0.0, 10.0, 20.0]))
    result = recordings.rates(steps, np.array([0.0, 2.0, 4.0, 6.0]))
    assert result[:2].tolist() == [10.0, 10.0]
    assert np.isnan(result[2])


@pytest.mark.parametrize("name", ["epoch.json", "telemetry_interface.parquet"])
@pytest.mark.parametrize("octets", [b"", b"PAR1", b"[" * 100_000, b'{"run": 1}'])
def test_what_is_damaged_is_reported(tmp_path: Path, name: str, octets: bytes) -> None:
    recorded(tmp_path)
    (tmp_path / name).write_bytes(octets)
    host_recording = recordings.track(tmp_path, LAUNCH)
    assert host_recording.failure.startswith("cannot be read: ") and not host_recording.steps


def test_columns_that_lack_or_are_of_another_kind_are_reported(tmp_path: Path) -> None:
    recorded(tmp_path)
    file = tmp_path / "telemetry_processor.parquet"
    polars.DataFrame({"time_ns": ["soon"]}).write_parquet(file)
    assert recordings.track(tmp_path, LAUNCH).failure.startswith("cannot be read: ")


def test_launches_stand_beside_each_other(tmp_path: Path) -> None:
    """Two launches of ten seconds, in cells of one, with 2 % of both between them."""
    kept = recorded(tmp_path)
    other = replace(kept, launch=LAUNCH._replace(name="osu-002"))
    where = timelines.lay([kept.launch, other.launch], [kept, other])
    assert [len(edges) for edges in where.edges] == [11, 11]
    assert where.places == [0.0, pytest.approx(10.4)]


def test_long_launches_are_cut_into_few_cells() -> None:
    many = [LAUNCH._replace(name=f"osu-{at:03}", seconds=1e4 + at) for at in range(12)]
    where = timelines.lay(many, [recordings.HostRecording(many[0], "n1", "")])
    assert sum(len(edges) - 1 for edges in where.edges) <= timelines.CELLS_MAX


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven launches of osu_latency on a and b, and as many of osu_bw, without telemetry."""
    chosen = campaign("osu_latency", "osu_bw", rule=SIX)
    rows = "".join(f"{size:<10d}{99.0:>15.2f}\n" for size in (1, 2, 4))
    bandwidths = f"# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n{rows}"

    def answer(number: int) -> str:
        is_latency = launcher.jobs[number].command.arguments[0] == "osu_latency"
        return latencies(10.0) if is_latency else bandwidths

    launcher = FakeLauncher(answer)
    return stored_campaign(tmp_path_factory.mktemp("bare") / "out", chosen, launcher)


def records(out: Path) -> list[LaunchRecord]:
    return Store.open(out).records()


def test_without_telemetry_a_page_has_none(bare: Path) -> None:
    assert telemetry.builders(load_benchmarks(bare)) == []


@pytest.fixture
def out(tmp_path: Path, bare: Path) -> Path:
    """All with telemetry: b counts pauses of priority 3, RDMA and drops."""
    place = copytree(bare, tmp_path / "out")
    calm = {"received_bytes": 1e6, "sent_bytes": 1e6, "received_drops": 0.0}
    lossy = Speeds(
        interface={**calm, "received_drops": 0.5},
        priorities={"3": {"sent_bytes": 1e6, "received_pauses": 2.0, "paused_s": 0.01}},
        rdma={"sent_bytes": 1e6, "received_bytes": 1e6, "handled_cnps": 3.0, "timeouts": 0.0},
    )
    speeds = {"a": Speeds(interface=calm), "b": lossy}
    keep_recordings(place, records(place), ["a", "b"], speeds.__getitem__)
    return place


def drawn(out: Path) -> list[str]:
    """Labels of the rows of the first experiment's figure."""
    benchmarks = load_benchmarks(out)
    section = telemetry.builders(benchmarks)[0](benchmarks)
    assert section is not None and section.figure is not None
    return [text for axes in section.figure.axes if (text := axes.get_ylabel())]


@pytest.mark.slow
def test_only_counters_that_rose_are_drawn(out: Path) -> None:
    assert drawn(out) == [
        "processors busy",
        "link [Gb/s]",
        "lost [1/s]",
        "priorities [Gb/s]",
        "PFC [1/s]",
        "paused [share]",
        "RDMA [Gb/s]",
        "RDMA congestion [1/s]",
    ]


def totals(out: Path) -> dict[tuple[str, str], dict[str, str]]:
    benchmarks = load_benchmarks(out)
    section = telemetry.builders(benchmarks)[-1](benchmarks)
    assert section is not None
    found_of: dict[tuple[str, str], dict[str, str]] = {}
    for table in section.tables:
        for row in table.rows:
            values = dict(zip(table.head, row, strict=True))
            found_of.setdefault((values["launch"], values["host"]), {}).update(values)
    return found_of


def test_totals_are_listed_for_each_launch_and_host(out: Path) -> None:
    """Ten seconds at 1 MB/s, 0.5 drops, 2 pauses each second; 0.75 of one processor."""
    texts = totals(out)
    assert len(texts) == 28
    first = next(value for (_, host), value in texts.items() if host == "b")
    assert (
        first
        | {
            "processors busy": "0.75 of 1",
            "the busiest": "75%",
            "received [MB]": "10",
            "drops": "5",
            "PFC received": "20",
            "paused [s]": "0.1",
            "RDMA losses": "0",
            "cost": "0.200%",
            "clock ahead [ms]": "-5.0 to +5.0",
        }
        == first
    )
    other = next(value for (_, host), value in texts.items() if host == "a")
    assert (other["drops"], other["PFC received"], other["RDMA losses"]) == ("0", "–", "–")
    assert "pauses received" not in first  # Nobody counts global pauses.


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_figures")
def test_gaps_are_listed_once_for_each_reason_under_the_results(tmp_path: Path, out: Path) -> None:
    own = records(out)
    for record in own[:3]:
        home = out / "telemetry" / record.name / "b"
        for table in home.glob("*.parquet"):
            table.unlink()
        facts = json.loads((home / "epoch.json").read_text())
        (home / "epoch.json").write_text(json.dumps(facts | {"failure": "no <b>Python</b>"}))
    rmtree(out / "telemetry" / own[-1].name)
    benchmarks = load_benchmarks(out)
    section = telemetry.builders(benchmarks)[-1](benchmarks)
    assert section is not None
    assert section.tables[-1].rows == [("b", "no <b>Python</b>", "3", own[0].name)]
    assert "1 launches have no recording" in section.caption
    page = write_report(out, tmp_path / "page").read_text()
    assert "no &lt;b&gt;Python" in page and "<b>Python" not in page
    sections = re.findall(r'<section id="(\w+)">', page)
    under = sections[sections.index("points") + 1 : sections.index("about")]
    drawn = ["telemetry_osu_latency", "telemetry_osu_bw", "telemetry"]
    assert [re.sub(r"_lan_\w+", "", section) for section in under] == drawn


def test_of_many_hosts_the_worst_is_named(tmp_path: Path) -> None:
    """Host n3 sends least, and is the busiest."""
    hosts = tuple(f"n{at}" for at in range(6))
    text = "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n4      9.00\n"
    chosen = campaign("osu_allreduce", hosts=hosts, rule=SIX)
    place = stored_campaign(tmp_path / "out", chosen, FakeLauncher(lambda number: text))

    def of(host: str) -> Speeds:
        busy = 0.9 if host == "n3" else 0.1
        sent = {"sent_bytes": 1e6 * (1 - busy), "received_bytes": 1e6}
        return Speeds(cpus=[{"user_s": busy, "idle_s": 1 - busy}], interface=sent)

    keep_recordings(place, records(place), hosts, of)
    benchmarks = load_benchmarks(place)
    section = telemetry.builders(benchmarks)[0](benchmarks)
    assert section is not None and section.figure is not None
    words = [text.get_text() for axes in section.figure.axes for text in axes.texts]
    assert [word for word in words if "dotted" in word] == [
        "dotted: n3, the most",
        "dotted: n3, the least",
    ]
    values = np.asarray(section.figure.axes[0].lines[0].get_ydata(), dtype=float)
    assert values[np.isfinite(values)] == pytest.approx(0.1)


def test_what_is_left_out_is_counted(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in [("READ_MAX", 20), ("EXPERIMENTS_MAX", 1), ("LAUNCHES_MAX", 2)]:
        monkeypatch.setattr(telemetry, name, most)
    monkeypatch.setattr(telemetry, "ROWS_MAX", 3)
    benchmarks = load_benchmarks(out)
    first, last = (make(benchmarks) for make in telemetry.builders(benchmarks))
    assert first is not None and last is not None
    assert re.search(r"2 of \d launches are drawn", first.caption)
    assert "1 of 2 experiments are drawn" in last.caption
    assert "Of 4 launches, evenly over time, nothing was read" in last.caption
    assert "20 recordings, 3 shown" in last.tables[0].caption
    # Hosts that lost something go first.
    assert {row[1] for row in last.tables[0].rows} == {"b"}


def test_launches_are_in_the_order_of_time(bare: Path) -> None:
    recorded_launches = recordings.launches(load_benchmarks(bare).launches)
    assert [recorded_launch.start_ns for recorded_launch in recorded_launches] == sorted(
        recorded_launch.start_ns for recorded_launch in recorded_launches
    )
    assert sum(recorded_launch.is_warm_up for recorded_launch in recorded_launches) == 2


def test_priorities_and_rdma_devices_are_shown_apart(tmp_path: Path) -> None:
    speeds = Speeds(
        interface={"sent_bytes": 1.0, "received_bytes": 1.0},
        priorities={"3": {"sent_bytes": 5.0}, "4": {"sent_bytes": 7.0}},
        rdma={"sent_bytes": 3.0},
    )
    result = recorded(tmp_path, speeds)
    assert {key.thing for key in result.steps if key.family == PRIORITY.name} == {"3", "4"}
    assert result.steps[recordings.CounterKey("priority", "4", "sent_bytes")].risen[-1] == 70
    assert (
        result.steps[recordings.CounterKey("rdma", "mlx5_0 port 1", "sent_bytes")].risen[-1] == 30
    )


def test_segments_sent_again_are_those_of_the_whole_host() -> None:
    before, after = (Snapshot(1, "n1", "", 0.0, tcp_counters={"RetransSegs": at}) for at in (7, 12))
    values = Epoch("osu-001", "n1", "eth0", "", before=before, after=after)
    host_recording = recordings.HostRecording(LAUNCH, "n1", "", values)
    assert (host_recording.sent_again, host_recording.trouble) == (5, 5.0)
    assert (
        recordings.HostRecording(LAUNCH, "n1", "", replace(values, after=None)).sent_again is None
    )
