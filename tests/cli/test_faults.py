"""A fault of the core ends a verb with a code of its own, and leaves what there is."""

import tomllib
from pathlib import Path

import pytest

import etherweave
from etherweave import _core, results
from etherweave.cli.exits import FAULT
from etherweave.results import Result
from support.command_line import invoke

SCENARIO = """
seed = 7
topology.single_switch.hosts = 2
[[job]]
name = "pair"
workload.osu_latency = { bytes = "8B", iterations = 10 }
[open_loop]
"""
MESSAGE, PLACE = "index out of bounds", "crates/switch/src/credits.rs:391"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "pair.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Has directories of faults made below the test's own."""
    home = tmp_path / "temporary"
    home.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(home))
    return home


@pytest.fixture
def faulty_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends runs as the core does where it has caught a panic in them."""

    def parse_summary(text: str) -> etherweave.Summary:
        summary = whole(text)
        summary["finished"] = "fault"
        summary["fault"] = {"message": MESSAGE, "place": PLACE}
        return summary

    whole = results.parse_summary
    monkeypatch.setattr("etherweave.simulation.parse_summary", parse_summary)


def _check(stderr: str, home: Path) -> str:
    """Check the sentence, and return the report of the fault."""
    assert f"This is a fault of Etherweave, not of the scenario: {MESSAGE} ({PLACE})." in stderr
    assert str(home) in stderr and "open an issue" in stderr and "SECURITY.md" in stderr
    report = (home / "fault.txt").read_text()
    assert f"version: {etherweave.__version__}\n" in report
    assert f"message: {MESSAGE}\nplace: {PLACE}\n" in report
    assert tomllib.loads((home / "scenario.toml").read_text())["seed"] == 7
    return report


@pytest.mark.usefixtures("faulty_run")
def test_a_run_leaves_its_result_until_the_fault_in_its_output(
    scenario: Path, tmp_path: Path
) -> None:
    home = tmp_path / "result"
    done = invoke("run", scenario, "-o", home)
    assert done.exit_code == FAULT, done.output
    assert "seed: 7\nsimulated: " in _check(done.stderr, home)
    result = Result.load(home)
    assert result.is_partial and result.values("iterations", "duration_ns")


@pytest.mark.usefixtures("faulty_run")
def test_without_an_output_the_result_is_in_a_new_directory(
    scenario: Path, temporary: Path
) -> None:
    done = invoke("run", scenario)
    assert done.exit_code == FAULT, done.output
    (home,) = temporary.glob("etherweave-fault-*")
    _check(done.stderr, home)
    assert (home / "summary.json").is_file()


@pytest.mark.usefixtures("faulty_run")
def test_python_raises_a_fault_with_the_result(scenario: Path) -> None:
    with pytest.raises(
        etherweave.FaultError, match="a fault of Etherweave: index out of bounds"
    ) as caught:
        etherweave.run(scenario)
    assert caught.value.cause == (MESSAGE, PLACE)
    assert caught.value.result.is_partial


@pytest.mark.parametrize(
    ("verb", "function"),
    [("run", "run"), ("show", "foresee"), ("curve", "Fabric"), ("observe", "Fabric")],
)
def test_a_panic_of_any_verb_leaves_the_scenario(
    scenario: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, verb: str, function: str
) -> None:
    class Panicking:
        def __call__(self, *_: object) -> None:
            raise _core.PanicException(MESSAGE)

        parse = __call__

    monkeypatch.setattr(_core, function, Panicking())
    monkeypatch.setattr(_core, "take_fault", lambda: (MESSAGE, PLACE))
    done = invoke(verb, scenario)
    assert done.exit_code == FAULT, done.output
    (home,) = temporary.glob("etherweave-fault-*")
    _check(done.stderr, home)
