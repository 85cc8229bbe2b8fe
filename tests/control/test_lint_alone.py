"""The linter on a switch without its scenario: ports are compared with each other."""

import json
import re

import pytest

from etherweave.control import lint
from support.lint_mistakes_alone import COMMANDS, FILES, SONIC, Appended, Changed, exported
from support.linted import found


@pytest.mark.parametrize("system", FILES)
def test_what_is_exported_is_right_without_the_scenario(system: str) -> None:
    assert found({FILES[system]: exported(system)}) == {}
    assert lint.read({FILES[system]: exported(system)}).unread == ()


@pytest.mark.parametrize("case", SONIC, ids=[case.mistake for case in SONIC])
def test_a_mistake_in_tables_is_found_without_the_scenario(case: Changed) -> None:
    tables = json.loads(exported("sonic"))
    case.change(tables)
    check(case, {"switch0/config_db.json": json.dumps(tables)})


APPENDED = [(system, case) for system, some in COMMANDS.items() for case in some]


@pytest.mark.parametrize(
    ("system", "case"), APPENDED, ids=[f"{system}-{case.mistake}" for system, case in APPENDED]
)
def test_a_mistake_in_commands_is_found_without_the_scenario(system: str, case: Appended) -> None:
    before = exported(system)
    place = re.sub(
        r"(?<=line )\+\d", lambda at: f"{before.count(chr(10)) + int(at[0])}", case.place
    )
    check(case._replace(place=place), {f"switch0/{FILES[system]}": f"{before}{case.lines}\n"})


def check(case: Changed | Appended, written: dict[str, str]) -> None:
    result = found(written)
    places = {
        place
        for one in result.get(case.rule, [])
        if one.found == case.found
        for _, place in one.places
    }
    assert case.place in places, result
