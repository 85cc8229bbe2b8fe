"""The list of tests: all of both drafts, each with a file or a reason."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

import etherweave
from etherweave.api.scenario import ScenarioText
from etherweave.bmwg import DRAFTS, SelectionError, entries, load_fabric, selected
from etherweave.bmwg.family import bench_test
from support import command_line

ROOT = Path(__file__).parents[2]
FABRIC = ROOT / "scenarios/bmwg/leaf_spine.toml"
COUNTS = {"training": 30, "inference": 33}
RUN = [(draft, part) for draft in DRAFTS for part, row in entries(draft).items() if row.is_run]


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_test_of_a_draft_is_listed_with_its_code_or_a_reason(draft: str) -> None:
    known = entries(draft)
    assert len(known) == COUNTS[draft]
    run = {section for section, entry in known.items() if entry.is_run}
    names = {f"chapter_{section.partition('.')[0]}" for section in run}
    folder = ROOT / f"python/etherweave/bmwg/{draft}"
    assert {path.stem for path in folder.glob("chapter_*.py")} == names
    chapters = [import_module(f"etherweave.bmwg.{draft}.{name}") for name in names]
    assert {section for chapter in chapters for section in chapter.TESTS} == run
    assert not [entry for entry in known.values() if entry.reason and entry.reduction]


@pytest.mark.parametrize(("draft", "section"), RUN)
def test_every_case_is_a_scenario_of_the_shipped_fabric(draft: str, section: str) -> None:
    fabric, test = load_fabric(FABRIC), bench_test(draft, section)
    cases = test.cases(fabric, False)
    assert cases and len({case.name for case in cases}) == len(cases)
    source = ScenarioText(fabric.text, fabric.origin)
    for case in cases:
        if not case.excluded:
            etherweave.resolve(source, case.changes)


@pytest.mark.parametrize(("draft", "section"), RUN)
def test_a_full_sweep_has_no_fewer_cases_than_a_short_one(draft: str, section: str) -> None:
    fabric, test = load_fabric(FABRIC), bench_test(draft, section)
    assert len(test.cases(fabric, True)) >= len(test.cases(fabric, False))


def test_the_list_says_why_a_test_does_not_run() -> None:
    done = command_line.run_here("bmwg", "--list", "--draft", "inference")
    assert "33 tests of the draft for inference, of which 26 run" in done.stdout
    facts = json.loads(command_line.run_here("bmwg", "--list", "--json").stdout)
    assert len(facts) == 30
    (soak,) = [test for test in facts if test["section"] == "12.1"]
    assert soak["state"] == "not run" and "deterministic" in soak["reason"]


@pytest.mark.parametrize("draft", DRAFTS)
def test_programs_that_run_a_test_on_hosts_are_known_to_bench(draft: str) -> None:
    texts = " ".join(entry.hosts for entry in entries(draft).values())
    programs = set(re.findall(r"`etherweave bench run (\w+)`", texts))
    assert programs
    for program in programs:
        assert command_line.run_here("bench", "plan", program).returncode == 0


def test_an_unknown_section_and_one_that_does_not_run_are_named() -> None:
    with pytest.raises(SelectionError, match=r"no test '5\.9'; expected some of 5\.1"):
        selected("training", ["5.9"])
    with pytest.raises(SelectionError, match="does not run: software of switches"):
        selected("training", ["12.2"])
    done = command_line.run_here("bmwg", FABRIC, "--tests", "5.1,x", code=2)
    assert "no test 'x'" in done.stderr
    done = command_line.run_here("bmwg", FABRIC, "--draft", "storage", code=2)
    assert "expected training or inference" in done.stderr
    assert "missing" in command_line.run_here("bmwg").stderr


def test_a_fabric_with_few_hosts_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pair.toml"
    file.write_text("[topology.single_switch]\nhosts = 2\n\n[transport.roce]\n")
    done = command_line.run_here("bmwg", file, "-o", tmp_path / "out", code=2)
    assert "2 hosts; expected 4 or more" in done.stderr


def test_a_file_without_a_topology_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bare.toml"
    file.write_text("seed = 1\n")
    done = command_line.run_here("bmwg", file, "--tests", "9.1", "-o", tmp_path / "out", code=2)
    assert "bare.toml: no [topology] or [interconnect]" in done.stderr
