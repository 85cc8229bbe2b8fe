"""Counters of made-up hosts in tables and for Prometheus; the dashboard against its schema."""

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars
import pyarrow.parquet
import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from etherweave.bench.telemetry import openmetrics
from etherweave.bench.telemetry.counters import CounterRow, interface, priorities, processors, rdma
from etherweave.bench.telemetry.families import FAMILIES, PRIORITY
from etherweave.bench.telemetry.openmetrics import dashboard
from etherweave.bench.telemetry.recorder import SAMPLES_MAX, Recorder, Recording
from etherweave.bench.telemetry.sampling import Sample, Sampler, driver_counters
from etherweave.bench.telemetry.tables import save, tables
from support import needs

# proc(5): user nice system idle iowait irq softirq steal guest guest_nice.
STAT = """cpu  30 0 0 0 0 0 0 0 0 0
cpu0 1000 50 300 9000 77 20 400 8 0 0
cpu1 2000 0 100 8000 77 0 100 0 0 0
intr 12345 0
"""


def test_processor_time_is_read_by_kind() -> None:
    assert processors(STAT, 100) == [
        CounterRow(("0",), (10.5, 3.0, 4.0, 0.2, 0.08, 90.0)),
        CounterRow(("1",), (20.0, 1.0, 1.0, 0.0, 0.0, 80.0)),
    ]
    assert processors("", 100) == []


@pytest.mark.parametrize(
    "driver",
    [
        # Names of mlx5, bnxt_en, i40e, ice.
        {"rx_prio3_pause": 5, "tx_prio3_pause": 6},
        {"rx_pfc_ena_frames_pri3": 5, "tx_pfc_ena_frames_pri3": 6},
        {"port.rx_priority_3_xoff": 5, "port.tx_priority_3_xoff": 6},
        {"rx_priority_3_xoff.nic": 5, "tx_priority_3_xoff.nic": 6},
    ],
)
def test_pauses_by_priority_are_found_whatever_their_names(driver: dict[str, int]) -> None:
    assert counted(priorities("eth2", driver)) == {"received_pauses": 5, "sent_pauses": 6}


def counted(rows: list[CounterRow]) -> dict[str, float]:
    ((keys, values),) = rows
    assert keys == ("eth2", "3")
    names = [column.name for column in PRIORITY.columns]
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def test_traffic_by_priority_and_paused_time_are_in_base_units() -> None:
    mellanox = {
        "rx_prio3_bytes": 9,
        "tx_prio3_packets": 2,
        "rx_prio3_pause_duration": 2_000_000,
        "tx_prio3_pause_duration": 1_000_000,
    }
    # The driver counts microseconds.
    assert counted(priorities("eth2", mellanox | {"rx_prio3_pause_transition": 1})) == {
        "received_bytes": 9,
        "sent_packets": 2,
        "paused_s": 2.0,
        "pausing_s": 1.0,
    }
    assert counted(priorities("eth2", {"rx_bytes_pri3": 9})) == {"received_bytes": 9}
    assert priorities("eth2", {"rx_packets": 1, "rx_prio9_bytes": 1, "rx_prio3": 1}) == []


def test_what_nobody_counts_is_absent_rather_than_zero() -> None:
    row = interface("eth2", {"rx_bytes": 1, "tx_bytes": 2}, {"rx_pause_ctrl_phy": 3})
    assert row == CounterRow(("eth2",), (1, 2, None, None, None, None, None, 3, None))


def test_rdma_data_are_counted_in_words_of_four_bytes() -> None:
    row = rdma("mlx5_0", "1", {"port_rcv_data": 25, "np_cnp_sent": 7})
    assert row.keys == ("mlx5_0", "1")
    assert row.values[0] == 100 and 7 in row.values and row.values.count(None) == 9


@pytest.fixture
def host(tmp_path: Path) -> Path:
    port = "sys/class/infiniband/mlx5_0/ports/1"
    for name, text in {
        "proc/stat": STAT,
        "sys/class/net/eth2/statistics/rx_bytes": "1000\n",
        "sys/class/net/eth2/statistics/tx_bytes": "2000\n",
        f"{port}/counters/port_rcv_data": "25\n",
        f"{port}/hw_counters/np_cnp_sent": "7\n",
        f"{port}/hw_counters/lifespan": "no number\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def look(root: Path) -> Sampler:
    driver = {"rx_prio3_pause": 5, "tx_prio3_bytes": 70}
    return Sampler(["eth2"], root, lambda _: driver)


def test_a_sample_holds_all_families_of_a_host(host: Path) -> None:
    rows = look(host)().rows
    assert {name: len(row) for name, row in rows.items()} == {
        "processor": 2,
        "interface": 1,
        "priority": 1,
        "rdma": 1,
        "energy": 0,
    }
    assert rows["interface"][0].values[:2] == (1000, 2000)


def test_metered_energy_is_power_by_time(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 W for 2 s, then up to 300 W within 4 s: 400 and 1,000 J; other sensors are left out."""
    for number, name in enumerate(("power_meter", "nct6775")):
        home = host / f"sys/class/hwmon/hwmon{number}"
        home.mkdir(parents=True)
        (home / "name").write_text(f"{name}\n")
        (home / "power1_average").write_text("200000000\n")
    clock = iter([10, 12, 16])
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(clock) * 10**9)
    sample = Sampler(["eth2"], host, lambda _: {})
    rows = [sample().rows["energy"]]
    (host / "sys/class/hwmon/hwmon0/power1_average").write_text("300000000\n")
    rows.append(sample().rows["energy"])
    assert rows == [[CounterRow(("meter hwmon0",), (joules,))] for joules in (400.0, 1400.0)]


def test_energy_goes_on_where_its_counter_returns_to_zero(host: Path) -> None:
    zone = host / "sys/class/powercap/intel-rapl:0"
    zone.mkdir(parents=True)
    for name, text in {"name": "package-0", "max_energy_range_uj": "4000000"}.items():
        (zone / name).write_text(f"{text}\n")
    counter = zone / "energy_uj"
    counter.write_text("1500000\n")
    sampler = look(host)
    rows = [sampler().rows["energy"]]
    for text in ("3500000", "500000", "no number"):
        counter.write_text(f"{text}\n")
        rows.append(sampler().rows["energy"])
    # From 3.5 J over the end at 4 J to 0.5 J: 1 J more.
    assert rows == [[CounterRow(("0 package-0",), (joules,))] for joules in (1.5, 3.5, 4.5)] + [[]]


def test_a_host_without_anything_gives_a_sample_without_counters(tmp_path: Path) -> None:
    rows = Sampler(["eth2"], tmp_path, lambda _: {})().rows
    assert rows["processor"] == rows["priority"] == rows["rdma"] == []
    assert rows["interface"] == [CounterRow(("eth2",), (None,) * 9)]


def recording(host: Path, run: str = "run 1", count: int = 3) -> Recording:
    rows = look(host)().rows
    samples = tuple(Sample(10**18 + at * 500_000_000, rows) for at in range(count))
    return Recording(run, 'n"1\\', 0.5, samples, 0, 0.004)


def test_the_cost_is_a_share_of_one_processor(host: Path) -> None:
    kept = recording(host)
    assert (kept.duration_s, kept.cost) == (1.0, 0.004)


def test_tables_have_a_row_for_each_thing_and_time_and_units_in_columns(host: Path) -> None:
    made = tables(recording(host))
    assert {name: table.num_rows for name, table in made.items()} == {
        "processor": 6,
        "interface": 3,
        "priority": 3,
        "rdma": 3,
    }
    first = made["priority"].to_pylist()[0]
    assert first | {"time_ns": 0} == {
        "run": "run 1", "host": 'n"1\\', "time_ns": 0, "interface": "eth2", "priority": "3",
        "received_bytes": None, "sent_bytes": 70, "received_packets": None, "sent_packets": None,
        "received_pauses": 5, "sent_pauses": None, "paused_s": None, "pausing_s": None,
    }  # fmt: skip
    schema = made["processor"].schema
    assert schema.field("user_s").metadata == {b"unit": b"s"}
    assert schema.field("time_ns").metadata == {b"unit": b"ns"}


def test_epochs_on_disk_differ_by_their_run(host: Path, tmp_path: Path) -> None:
    for name in ("run 1", "run 2"):
        paths = save(recording(host, name), tmp_path / name)
        assert sorted(path.name for path in paths) == sorted(
            path.name for path in (tmp_path / name).iterdir()
        )
    both = polars.read_parquet(tmp_path / "run *" / "telemetry_interface.parquet")
    assert both["run"].cast(polars.String).to_list() == ["run 1"] * 3 + ["run 2"] * 3
    table = pyarrow.parquet.read_table(tmp_path / "run 1" / "telemetry_rdma.parquet")
    assert table.schema.metadata[b"period_s"] == b"0.5"
    assert table["received_bytes"].to_pylist() == [100] * 3


def parsed(text: str) -> dict[str, Metric]:
    result = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return {family.name: family for family in result}


def test_the_last_sample_is_openmetrics_to_an_independent_parser(host: Path) -> None:
    families = parsed(openmetrics.latest(recording(host)))
    paused = families["etherweave_priority_received_pauses"]
    assert (paused.type, paused.unit) == ("counter", "")
    (sample,) = paused.samples
    assert (sample.name, sample.value) == ("etherweave_priority_received_pauses_total", 5)
    assert sample.labels == {
        "run": "run 1", "host": 'n"1\\', "interface": "eth2", "priority": "3"
    }  # fmt: skip
    assert sample.timestamp is None
    assert families["etherweave_processor_softirq_seconds"].unit == "seconds"
    assert [row.value for row in families["etherweave_processor_softirq_seconds"].samples] == [4, 1]
    assert families["etherweave_run"].type == "info"
    assert families["etherweave_run_started_timestamp_seconds"].samples[0].value == 1e9


def test_of_two_samples_in_a_millisecond_a_history_has_the_later(host: Path) -> None:
    made = recording(host, count=1)
    early = made.samples[0]._replace(time_ns=made.samples[0].time_ns + 1)
    (host / "sys/class/net/eth2/statistics/rx_bytes").write_text("1234567\n")
    late = look(host)()._replace(time_ns=early.time_ns + 1)
    text = openmetrics.history(replace(made, samples=(early, late)))
    (line,) = re.findall("etherweave_interface_received_bytes_total.*", text)
    assert [float(word) for word in line.split()[-2:]] == [1234567, 1e9 + 0.001]


def test_a_history_is_openmetrics_with_the_times_of_its_samples(host: Path) -> None:
    families = parsed(openmetrics.history(recording(host)))
    received = families["etherweave_interface_received_bytes"].samples
    assert [float(sample.timestamp or 0) for sample in received] == [1e9, 1e9 + 0.5, 1e9 + 1]
    names = {sample.name for family in families.values() for sample in family.samples}
    assert names <= set(openmetrics.metrics())


def test_an_exposition_keeps_the_order_that_the_format_demands(host: Path) -> None:
    # OpenMetrics 1.0.0, "Overall Structure" and "Metric Families": no blank line, families not
    # interleaved, metadata before samples, a unit ends its family's name, the last line is EOF.
    lines = openmetrics.history(recording(host)).split("\n")
    assert lines[-2:] == ["# EOF", ""] and "" not in lines[:-1] and "# EOF" not in lines[:-2]
    seen: list[str] = []
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            seen.append(line.split()[2])
        elif line.startswith("# UNIT "):
            _, _, name, unit = line.split()
            assert name == seen[-1] and name.endswith(f"_{unit}")
        elif not line.startswith("# HELP "):
            name = re.split(r"[{ ]", line)[0]
            assert name in (seen[-1], f"{seen[-1]}_total", f"{seen[-1]}_info")
    assert len(set(seen)) == len(seen)


def test_a_text_file_takes_its_place_at_once_by_a_fitting_name(host: Path, tmp_path: Path) -> None:
    folder = tmp_path / "textfile"
    folder.mkdir()
    openmetrics.write_textfile(recording(host), folder / "etherweave.prom")
    assert [path.name for path in folder.iterdir()] == ["etherweave.prom"]
    assert (folder / "etherweave.prom").read_text().endswith("# EOF\n")
    with pytest.raises(ValueError, match=r"expected a name that ends in \.prom"):
        openmetrics.write_textfile(recording(host), folder / "x.txt")


def test_names_of_counters_differ_and_are_well_formed() -> None:
    names = openmetrics.metrics()
    assert len(set(names)) == len(names) == 5 + sum(len(family.columns) for family in FAMILIES)
    assert all(re.fullmatch(r"etherweave_[a-z_]+", name) for name in names)


# What the data source for Prometheus adds to an annotation; the schema leaves it open.
PROMETHEUS_ONLY = {"useValueForTime", "titleFormat", "textFormat", "step"}


def lost(own: object, theirs: object, where: str = "") -> Iterator[str]:
    """Name what of our dashboard did not survive the schema."""
    if isinstance(own, dict) and isinstance(theirs, dict):
        for name, value in own.items():
            if name not in theirs:
                yield f"{where}.{name}"
            else:
                yield from lost(value, theirs[name], f"{where}.{name}")
    elif isinstance(own, list) and isinstance(theirs, list) and len(own) == len(theirs):
        for at, (first, other) in enumerate(zip(own, theirs, strict=True)):
            yield from lost(first, other, f"{where}[{at}]")
    elif own != theirs:
        yield where


def test_the_dashboard_is_one_to_grafanas_own_types() -> None:
    register_default_plugins()
    own = json.loads(dashboard())
    theirs = json.loads(JSONEncoder().encode(Dashboard.from_json(own)))
    unknown = list(lost(own, theirs))
    assert [name for name in unknown if name.rpartition(".")[2] not in PROMETHEUS_ONLY] == []
    assert all(name.startswith(".annotations.list[") for name in unknown)
    assert list(lost({**own, "panel": 1}, theirs)) == [*unknown, ".panel"]


def test_the_dashboard_has_what_grafanas_documentation_requires() -> None:
    page = json.loads(dashboard())
    assert page["title"] and page["uid"] and page["schemaVersion"] >= 36
    numbers = [panel["id"] for panel in page["panels"]]
    assert len(set(numbers)) == len(numbers)
    places = [panel["gridPos"] for panel in page["panels"]]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert len({(place["x"], place["y"]) for place in places}) == len(places)
    for panel in page["panels"]:
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters) > 0


def test_every_query_of_the_dashboard_names_what_is_written_and_all_is_shown() -> None:
    written = set(openmetrics.metrics())
    asked = set(re.findall(r"etherweave_[a-z_]+", dashboard()))
    assert asked <= written, asked - written
    unseen = {
        "etherweave_sampling_period_seconds",
        "etherweave_processor_idle_seconds_total",
        "etherweave_rdma_received_packets_total",
        "etherweave_rdma_sent_packets_total",
    }
    assert written - asked == unseen


def test_a_recorder_keeps_its_period_and_states_its_cost(host: Path) -> None:
    recorder = Recorder("r", "n1", look(host), period_s=0.02)
    with recorder:
        time.sleep(0.5)
    telemetry = recorder.recording()
    # One before and one after; between them no more than there are periods, on a busy machine less.
    assert 3 <= len(telemetry.samples) <= telemetry.duration_s / 0.02 + 2
    assert 0 < telemetry.cost < 1 and telemetry.failure == ""
    times = [sample.time_ns for sample in telemetry.samples]
    assert times == sorted(times) and telemetry.duration_s >= 0.5


def test_a_recorder_that_is_late_skips_periods_instead_of_hurrying(host: Path) -> None:
    slow = look(host)

    def lazy() -> Sample:
        time.sleep(0.1)
        return slow()

    recorder = Recorder("r", "n1", lazy, period_s=0.02)
    with recorder:
        time.sleep(0.5)
    telemetry = recorder.recording()
    assert telemetry.late >= 4 * (len(telemetry.samples) - 3)


def test_a_recording_ends_with_its_reason_and_the_run_goes_on(host: Path) -> None:
    fine, calls = look(host), iter(range(100))

    def breaks() -> Sample:
        if next(calls) >= 2:
            raise OSError("the card is gone")
        return fine()

    recorder = Recorder("r", "n1", breaks, period_s=0.01)
    with recorder:
        time.sleep(0.2)
    telemetry = recorder.recording()
    assert (len(telemetry.samples), telemetry.failure) == (2, "the card is gone")
    assert "telemetry r" not in [thread.name for thread in threading.enumerate()]


def test_a_recorder_does_not_fill_the_memory(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etherweave.bench.telemetry.recorder.SAMPLES_MAX", 3)
    recorder = Recorder("r", "n1", look(host), period_s=0.01)
    with recorder:
        time.sleep(0.3)
    assert len(recorder.recording().samples) == 4 < SAMPLES_MAX
    assert recorder.recording().failure == "full: 3 samples"


@pytest.mark.parametrize("period_s", [0.0, -1.0, 0.001, float("inf"), float("nan")])
def test_a_period_that_makes_no_sense_is_rejected(host: Path, period_s: float) -> None:
    with pytest.raises(ValueError, match=r"expected 0\.01 s or more"):
        Recorder("r", "n1", look(host), period_s)


def test_an_interface_that_is_not_there_has_no_driver() -> None:
    assert driver_counters("lo") == driver_counters("no such card") == driver_counters("") == {}
    assert driver_counters("x" * 40) == driver_counters("a\0b") == {}


@pytest.mark.needs("ethtool", "driver-counters")
def test_the_drivers_counters_are_those_that_ethtool_prints() -> None:
    name = needs.interfaces_with_driver_counters()[0]
    before = driver_counters(name)
    text = subprocess.run(
        ["ethtool", "-S", name], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    after = driver_counters(name)
    printed = {
        word.strip(): int(value)
        for word, _, value in (line.partition(":") for line in text.splitlines()[1:])
    }
    assert list(printed) == list(before)
    assert all(before[word] <= printed[word] <= after[word] for word in printed)


def test_samples_of_a_short_period_keep_the_rate_of_each_millisecond() -> None:
    ends = [openmetrics._milliseconds(number * 100_000) for number in range(41)]
    assert [ends.count(end) for end in range(5)] == [1, 10, 10, 10, 10]
