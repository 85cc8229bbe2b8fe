"""Completion at the cursor: what the schema of a scenario allows there."""

import pytest

from etherweave.explore.completion import completion


@pytest.mark.parametrize(
    ("before", "typed", "expected"),
    [
        ("", "", "topology"),
        ("[", "", "switch"),
        ("[topology.fat", "fat", "fat_tree"),
        ("topology.fat_tree.up", "up", "uplink_rate"),
        ("[topology.fat_tree]\nle", "le", "leaves"),
        ('[switch]\necn = { queue_min = "50kB", q', "q", "queue_max"),
        ("[[job]]\nworkload.", "", "halo3d"),
        ('[[job]]\nname = "a"\n[job.workload.incast]\n', "", "sources"),
        ("topology.folded_clos.uplinks = [{ ports = 4 }, { r", "r", "rate"),
        ("# [switch]\ntr", "tr", "transport"),
        ("name = '[switch]'\ntr", "tr", "transport"),
        ("routing = ", "", '"ugal_local"'),
        ('routing = "ug', "ug", "ugal_local"),
        ("[observe]\nranks = t", "t", "true"),
    ],
)
def test_keys_and_values_of_the_schema_are_offered(before: str, typed: str, expected: str) -> None:
    offered = completion(before)
    assert expected in [option.label for option in offered.options]
    assert offered.typed == len(typed)


@pytest.mark.parametrize("before", ["# a comment", "x.y.z", '[[job]]\nname = "', "seed = 1"])
def test_nothing_is_offered_where_anything_may_stand(before: str) -> None:
    assert completion(before).options == []


def test_a_header_names_tables_only() -> None:
    labels = [option.label for option in completion("[").options]
    assert "switch" in labels
    assert "seed" not in labels


def test_an_option_has_its_default_and_its_meaning() -> None:
    options = {option.label: option for option in completion("[topology.fat_tree]\n").options}
    words = {"label": "cores", "detail": "1", "info": "Cores, at least 1. Default 1."}
    assert options["cores"].words() == words
