"""Mistakes of a scenario are structures, whose texts are the lines that errors print."""

import pickle

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
