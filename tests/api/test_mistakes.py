"""Mistakes of a scenario are structures, whose texts are the lines that errors print."""

import pickle
from pathlib import Path

import pytest

import etherweave
from etherweave import _core

SCENARIO = 'seed = 1\n[topology.single_switch]\nhosts = "two"\n'


def mistakes(text: str, overrides: dict[str, str]) -> list[_core.Mistake]:
    with pytest.raises(etherweave.ScenarioError) as error:
        _core.resolve(text, "fabric.toml", list(overrides.items()))
    assert str(error.value) == "\n".join(map(str, error.value.mistakes))
    return list(error.value.mistakes)


def test_a_mistake_has_file_key_place_found_and_expected() -> None:
    (mistake,) = mistakes(SCENARIO, {})
    assert (mistake.file, mistake.key) == ("fabric.toml", "topology.single_switch.hosts")
    assert (mistake.line, mistake.column) == (3, 1)
    assert mistake.reason == f"{mistake.found}; expected {mistake.expected}"
    assert str(mistake) == f"fabric.toml:3:1: {mistake.key}: {mistake.reason}"


def test_a_mistake_of_an_override_has_no_line() -> None:
    (mistake,) = mistakes("topology.single_switch.hosts = 2\n", {"seed": "-1"})
    assert (mistake.file, mistake.key, mistake.line) == ("override", "seed", None)


def test_a_mistake_moves_to_another_file_without_its_place() -> None:
    (mistake,) = mistakes(SCENARIO, {})
    moved = mistake.at("question.toml", "fabric.0.hosts")
    assert str(moved) == f"question.toml: fabric.0.hosts: {mistake.reason}"
    assert str(mistake.at("")) == f"{mistake.key}: {mistake.reason}"


def test_a_mistake_and_its_error_survive_a_process() -> None:
    with pytest.raises(etherweave.ScenarioError) as error:
        _core.check_document("design.prices_text", 'about = "a"\ncurrency = 1\n')
    copy = pickle.loads(pickle.dumps(error.value))
    assert copy.mistakes == error.value.mistakes
    assert str(copy.mistakes[0]) == str(error.value)
    assert copy.mistakes[0].line == 2


def test_an_error_of_one_sentence_has_no_mistakes() -> None:
    assert list(etherweave.ScenarioError("text").mistakes) == []


def test_an_error_of_python_is_like_one_of_the_core() -> None:
    error = _core.scenario_error([_core.Mistake("a.goal", "", "no trace", "a trace")])
    assert isinstance(error, etherweave.ScenarioError)
    assert str(error) == "a.goal: no trace; expected a trace"


@pytest.mark.parametrize(
    ("key", "document"), [("design.prices", "example"), ("design.power", "exascale-2015")]
)
def test_a_document_that_is_right_is_no_mistake(key: str, document: str) -> None:
    _core.check_document(key, document)


def test_a_document_of_no_name_is_a_mistake_at_its_key() -> None:
    with pytest.raises(etherweave.ScenarioError) as error:
        _core.check_document("design.power", "nowhere")
    assert [mistake.key for mistake in error.value.mistakes] == ["design.power"]


ROCE, UET = "[transport.roce]\n", "[transport.uet]\n"
JOB = '[[job]]\nname = "incast"\nworkload.incast = { sources = 1, messages = 1 }\n'
REDUCTIONS = (
    '[[job]]\nname = "first"\n[job.workload.osu_collective]\nalgorithm = "in_network"\n'
    'operation.allreduce.bytes = "64kB"\nranks = 4\niterations = 1\nwarm_up = 0\n'
)
OTHER_REDUCTIONS = REDUCTIONS.replace("first", "second")


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            f"[switch]\ntrimming = {{}}\n[flow_control.none]\n{ROCE}{JOB}",
            "x.toml:2:1: switch.trimming: trimming beside transport.roce; expected transport.uet",
        ),
        (
            f"[flow_control.none]\n{UET}nscc = {{}}\n{JOB}",
            "x.toml:3:1: transport.uet.nscc: no switch.ecn; expected marking switches",
        ),
        (
            f"[flow_control.credits]\nwatchdog = {{}}\n{JOB}",
            "x.toml:2:1: flow_control.credits.watchdog: unknown key; expected",
        ),
        (
            f"[flow_control.none]\nwatchdog = {{}}\n{JOB}",
            "x.toml:2:1: flow_control.none.watchdog: unknown key; expected none",
        ),
        (
            f"[switch]\nreduction = {{ trees = 1 }}\n{REDUCTIONS}{OTHER_REDUCTIONS}",
            "x.toml:2:15: switch.reduction.trees: 1; expected at least 2, which leaf0 needs",
        ),
    ],
)
def test_parts_of_ultra_ethernet_without_what_they_need_are_errors(
    text: str, mistake: str, tmp_path: Path
) -> None:
    (path := tmp_path / "x.toml").write_text(text)
    with pytest.raises(etherweave.ScenarioError) as error:
        etherweave.run(path)
    assert str(error.value).startswith(f"{tmp_path}/{mistake}")


def test_credits_of_receivers_beside_pauses_are_a_warning(tmp_path: Path) -> None:
    text = f'routing = "ecmp"\n[flow_control.pfc]\npriorities = [0]\n{UET}rccc = {{}}\n{JOB}'
    (path := tmp_path / "x.toml").write_text(text)
    (warning,) = etherweave.run(path).summary["warnings"]
    assert warning.startswith("transport.uet.rccc: receivers grant credits in priority 0 of incast")
