"""The package's functions, and the libraries that take its tables."""

import pickle
import signal
from pathlib import Path

import polars
import pytest

import etherweave

SCENARIO: dict[str, object] = {
    "topology": {"single_switch": {"hosts": 2}},
    "job": [{"name": "j", "workload": {"osu_latency": {"iterations": 10, "warm_up": 0}}}],
}

ENDLESS: dict[str, object] = {
    "topology": {"single_switch": {"hosts": 2}},
    "run": {"end": "10s"},
    "job": [{"name": "j", "workload": {"incast": {"sources": 1}}}],
}


def test_a_mapping_runs_like_a_file() -> None:
    result = etherweave.run(SCENARIO, {"seed": 3})
    assert result.summary["seed"] == 3
    assert result.to_polars("iterations")["iteration"].to_list() == list(range(10))


def test_the_same_scenario_gives_the_same_tables_on_any_threads() -> None:
    first, second = (etherweave.run(SCENARIO, threads=threads) for threads in (1, 2))
    assert first.tables == second.tables
    assert first.summary["fingerprint"] == second.summary["fingerprint"]


def test_tables_go_to_polars_and_pandas_without_copies() -> None:
    result = etherweave.run(SCENARIO)
    column = result.tables["iterations"].column("duration_ns").chunk(0)
    address = column.buffers()[1].address
    frame = result.to_polars("iterations")
    assert isinstance(frame, polars.DataFrame)
    assert frame["duration_ns"].to_arrow().buffers()[1].address == address
    series = result.to_pandas("iterations")["duration_ns"]
    assert series.array.__arrow_array__().chunk(0).buffers()[1].address == address


def test_progress_may_stop_a_run_and_its_result_is_marked_partial() -> None:
    result = etherweave.run(ENDLESS, progress=lambda facts: facts["packet_hops"] < 1000)
    assert result.summary["finished"] == "interrupted"
    assert result.is_partial
    assert len(result.tables["streams"]) == 1


def test_ctrl_c_ends_a_run_and_carries_what_there_is() -> None:
    def press(facts: etherweave.Progress) -> bool:
        signal.raise_signal(signal.SIGINT)
        return True

    with pytest.raises(KeyboardInterrupt) as raised:
        etherweave.run(ENDLESS, progress=press)
    assert isinstance(raised.value, etherweave.Interrupted)
    assert raised.value.result.summary["finished"] == "interrupted"
    assert raised.value.result.summary["packet_hops"] > 0
    # Workers of a pool send exceptions to their parent.
    assert pickle.loads(pickle.dumps(raised.value)).result.tables == raised.value.result.tables


def test_an_error_of_the_progress_callback_is_raised() -> None:
    def fail(facts: etherweave.Progress) -> bool:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        etherweave.run(ENDLESS, progress=fail)


def test_a_capture_without_a_directory_is_rejected_before_the_run() -> None:
    def never(facts: etherweave.Progress) -> bool:
        raise AssertionError("the run began")

    with pytest.raises(FileNotFoundError, match="no directory nowhere for the capture"):
        etherweave.run(ENDLESS, pcap={"host0": "nowhere/host0.pcapng"}, progress=never)


def test_a_saved_result_loads_as_it_was(tmp_path: Path) -> None:
    result = etherweave.run(SCENARIO)
    loaded = etherweave.Result.load(result.save(tmp_path / "here"))
    assert loaded.summary == result.summary
    assert loaded.resolved == result.resolved
    for name, table in result.tables.items():
        assert loaded.tables[name].equals(table)


def test_mistakes_name_the_key() -> None:
    with pytest.raises(etherweave.ScenarioError, match=r"<scenario>:.*latencyy: unknown key"):
        etherweave.run({**SCENARIO, "switch": {"latencyy": "1ns"}})
