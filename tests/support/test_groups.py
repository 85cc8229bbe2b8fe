"""Tests that run side by side."""

import pytest


def test_tests_of_a_group_stay_on_one_processor(request: pytest.FixtureRequest) -> None:
    """Guard what pytest-xdist does with groups: with some versions of pytest, nothing."""
    (mark,) = request.node.iter_markers("xdist_group")
    is_side_by_side = request.config.getoption("loadgroup", default=False)
    group = request.node.nodeid.rpartition("@")[2] if is_side_by_side else mark.args[0]
    assert group == mark.args[0]
