"""The linter on a switch without its scenario: ports are compared with each other."""

import json
import re

import pytest

from etherweave.control import lint
from support.lint_mistakes import FILES, Mistake, exported, mistakes
from support.linted import found

SONIC = mistakes("sonic", scenario="none")
COMMANDS = mistakes(*FILES, scenario="none")


@pytest.mark.parametrize(("system", "file"), [*FILES.items(), ("sonic", "config_db.json")])
def test_what_is_exported_is_right_without_the_scenario(system: str, file: str) -> None:
    assert found({file: exported(system)}) == {}
    assert lint.read({file: exported(system)}).unread == ()


@pytest.mark.parametrize("case", SONIC, ids=[case.mistake for case in SONIC])
def test_a_mistake_in_tables_is_found_without_the_scenario(case: Mistake) -> None:
    tables = json.loads(exported("sonic"))
    case.spoil(tables)
    check(case, {"switch0/config_db.json": json.dumps(tables)})


@pytest.mark.parametrize(
    "case", COMMANDS, ids=[f"{case.system}-{case.mistake}" for case in COMMANDS]
)
def test_a_mistake_in_commands_is_found_without_the_scenario(case: Mistake) -> None:
    before = exported(case.system)
    place = re.sub(
        r"(?<=line )\+\d", lambda at: f"{before.count(chr(10)) + int(at[0])}", case.place
    )
    check(case._replace(place=place), {f"switch0/{FILES[case.system]}": f"{before}{case.lines}\n"})


def check(case: Mistake, written: dict[str, str]) -> None:
    result = found(written)
    places = {
        place
        for one in result.get(case.rule, [])
        if one.found == case.found
        for _, place in one.places
    }
    assert case.place in places, result
