"""A fault of the core ends a verb with a code of its own, and leaves what there is."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import etherweave
from etherweave import _core
from etherweave.api import results
from etherweave.api.results import Result
from etherweave.cli.exits import FAULT
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
        summary = original(text)
        summary["finished"] = "fault"
        summary["fault"] = {"message": MESSAGE, "place": PLACE}
        return summary

    original = results.parse_summary
    monkeypatch.setattr("etherweave.api.simulation.parse_summary", parse_summary)


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
def test_a_run_leaves_a_result_until_a_fault_in_its_output(scenario: Path, tmp_path: Path) -> None:
    home = tmp_path / "result"
    done = invoke("run", scenario, "-o", home, code=FAULT)
    assert "seed: 7\nsimulated: " in _check(done.stderr, home)
    result = Result.load(home)
    assert result.is_partial and result.values("iterations", "duration_ns")


@pytest.mark.usefixtures("faulty_run")
def test_without_output_the_result_is_in_a_new_directory(scenario: Path, temporary: Path) -> None:
    done = invoke("run", scenario, code=FAULT)
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


class _Faulty:
    """A fabric of the core whose curves and designs have a fault, as where a panic is caught."""

    def __init__(self, fabric: Any, panics: bool = False) -> None:
        self._fabric, self._panics = fabric, panics

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fabric, name)

    def curve(self, *options: Any) -> tuple[Any, tuple[str, str]]:
        points, _ = self._fabric.curve(*options)
        return points, (MESSAGE, PLACE)

    def design(self, *options: Any) -> Any:
        if self._panics:
            raise _core.PanicException(MESSAGE)
        return _FaultyDesign(self._fabric.design(*options))


class _FaultyDesign:
    """A design of the core from which a fault has taken a part."""

    fault = MESSAGE, PLACE

    def __init__(self, design: Any) -> None:
        self.design = design

    def to_json(self) -> str:
        text: str = self.design.to_json()
        return text


@pytest.fixture
def faulty_fabrics(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric, compare = _core.Fabric, _core.compare

    class Fabric:
        @staticmethod
        def parse(text: str, origin: str, changes: Any) -> _Faulty:
            return _Faulty(fabric.parse(text, origin, changes), "panics" in origin)

    monkeypatch.setattr(_core, "Fabric", Fabric)
    monkeypatch.setattr(_core, "compare", lambda all_: compare([fabric.design for fabric in all_]))
    monkeypatch.setattr(_core, "take_fault", lambda: (MESSAGE, PLACE))


@pytest.mark.usefixtures("faulty_fabrics")
def test_curves_leave_points_until_a_fault(scenario: Path, tmp_path: Path, temporary: Path) -> None:
    changes = ('open_loop.routings=["ecmp"]', "open_loop.loads=[0.1,0.2]")
    words = [word for change in changes for word in ("--set", change)]
    done = invoke("curve", scenario, *words, "-o", tmp_path / "points.csv", code=FAULT)
    assert done.stdout.count("uniform") == 2
    (home,) = temporary.glob("etherweave-fault-*")
    assert "points: 2\n" in _check(done.stderr, home)
    assert (home / "points.csv").read_text() == (tmp_path / "points.csv").read_text()
    with pytest.raises(etherweave.FaultError, match="index out of bounds") as caught:
        etherweave.curve(scenario, {"open_loop.routings": ["ecmp"], "open_loop.loads": [0.1]})
    assert caught.value.result.num_rows == 1


@pytest.mark.usefixtures("faulty_fabrics")
def test_designs_leave_what_the_fault_has_not_taken(scenario: Path, temporary: Path) -> None:
    panics = scenario.with_name("panics.toml")
    panics.write_text(SCENARIO)
    done = invoke("design", scenario)
    assert done.exit_code == FAULT and "hosts" in done.stdout, done.output
    (home,) = temporary.glob("etherweave-fault-*")
    _check(done.stderr, home)
    assert json.loads((home / "figures.json").read_text())["name"] == "pair"
    compared = invoke("design", "--compare", panics, scenario, "--json", code=FAULT)
    assert [design["name"] for design in json.loads(compared.stdout)["designs"]] == ["pair"]


@pytest.mark.usefixtures("faulty_fabrics")
def test_proposals_leave_what_the_fault_has_not_taken(temporary: Path) -> None:
    done = invoke("design", "--find", "hosts=16", "radix=8", "--json", code=FAULT)
    design = json.loads(done.stdout)["designs"]
    (home,) = temporary.glob("etherweave-fault-*")
    assert f"fabrics: {len(design)}\n" in (home / "fault.txt").read_text()
    assert design == json.loads((home / "figures.json").read_text())["designs"] != []


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
    done = invoke(verb, scenario, code=FAULT)
    (home,) = temporary.glob("etherweave-fault-*")
    _check(done.stderr, home)
