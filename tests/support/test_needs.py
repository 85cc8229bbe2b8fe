"""Needs of tests: missing things are named with their package; groups of tests stay together."""

import shutil
from pathlib import Path

import pytest

from support import needs
from support.needs import NEEDS, Need


def test_a_missing_program_is_named_with_its_package() -> None:
    need = Need(("no-such-program",), ("some-package",))
    assert need.missing() == "no-such-program not found; Debian: some-package"


def test_an_obstacle_is_named_when_all_programs_are_found() -> None:
    assert Need(("sh",), ("dash",), lambda: "not root").missing() == "not root"
    assert Need(("sh",), ("dash",)).missing() == ""


def test_an_unknown_need_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(LookupError, match=r"unknown need 'ofs'; known: .*ovs"):
        needs.all_missing(["ofs"])


def test_every_program_comes_with_a_package() -> None:
    assert [name for name, need in NEEDS.items() if need.programs and not need.packages] == []


def test_packages_of_missing_programs_are_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    listed = needs.packages()
    assert listed == sorted(set(listed))
    assert {"openvswitch-switch", "chromium", "mpich"} <= set(listed)
    assert "busybox-static" not in listed, "virtual machines are prepared by hand"


CONFTEST = Path(__file__).parents[1] / "conftest.py"
PLANTED = """
import pytest

@pytest.mark.needs("ovs", "perpetuum mobile")
def test_nothing(): ...
"""


def test_a_test_with_an_unknown_need_ends_the_session(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makepyfile(PLANTED)
    done = pytester.runpytest("-p", "no:cacheprovider")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines("*test_nothing: unknown need 'perpetuum mobile'; known: *")


def test_tests_of_a_group_stay_on_one_processor(request: pytest.FixtureRequest) -> None:
    """Guard what pytest-xdist does with groups: with some versions of pytest, nothing."""
    (mark,) = request.node.iter_markers("xdist_group")
    is_side_by_side = request.config.getoption("loadgroup", default=False)
    group = request.node.nodeid.rpartition("@")[2] if is_side_by_side else mark.args[0]
    assert group == mark.args[0]
