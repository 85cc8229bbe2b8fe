"""Every export of a fabric is imported as the fabric that it lists."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars
import pytest

import etherweave
from etherweave.formats import read
from etherweave.formats.scenario import Answers, ImportedScenario, as_it_is, scenario_of

FABRICS: dict[str, dict[str, object]] = {
    "tree": {"fat_tree": {"leaves": 3, "hosts_per_leaf": 4, "cores": 2, "links_per_core": 2}},
    "pods": {"k_ary_fat_tree": {"k": 4}},
    "butterfly": {"flattened_butterfly": {"hosts_per_switch": 2, "sizes": [3, 2]}},
    "dragonfly": {"dragonfly": {"p": 2, "a": 2, "h": 1}},
    "plus": {"dragonfly_plus": {"p": 2, "leaves": 2, "spines": 2, "h": 1, "groups": 3}},
    "odd": {
        "custom": {
            "json": """{"nodes": [{"id": "log,in <1>", "kind": "host"}, {"id": "back\\\\slash"},
            {"id": "say \\"n\\"", "kind": "host"}, {"id": "two, blanks "}],
            "links": [{"source": "log,in <1>", "target": "back\\\\slash"},
            {"source": "say \\"n\\"", "target": "two, blanks "},
            {"source": "back\\\\slash", "target": "two, blanks "}]}"""
        }
    },
    "torus": {"torus": {"dimensions": [{"size": 3}, {"size": 4}]}},
}


PLAIN = [name for name in FABRICS if name != "odd"]
"""Fabrics whose names NetBox and Slurm can express."""


def exported(fabric: str, form: str, folder: Path) -> list[Path]:
    files = etherweave.export({"name": fabric, "topology": FABRICS[fabric]}, form)
    paths = []
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
        paths.append(folder / name)
    return paths


def imported(fabric: str, form: str, folder: Path) -> ImportedScenario:
    paths = exported(fabric, form, folder)
    taken = as_it_is(paths[0], fabric, Answers()) if len(paths) == 1 else None
    return taken or scenario_of(read(paths), fabric, Answers())


def test_the_scenario_is_the_fabric_and_takes_further_tables(tmp_path: Path) -> None:
    scenario = imported("tree", "dot", tmp_path)
    for name, text in scenario.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "tree.toml"
    path.write_text(path.read_text() + 'rate = "25Gb/s"\n[switch]\nlatency = "1us"\n')
    assert links(etherweave.fabric(path)) == links(scenario.fabric)


def links(fabric: Any, *without: str) -> Counter[tuple[object, ...]]:
    """Cables by what a format says of them, whichever end is first."""
    table: polars.DataFrame = polars.DataFrame(fabric.tables["links"]).drop(without)
    rows = []
    for row in table.rows(named=True):
        ends = [(row.pop("from"), row.pop("from_port", 0)), (row.pop("to"), row.pop("to_port", 0))]
        rows.append((*sorted(ends), *row.values()))
    return Counter(rows)


SAID: dict[str, tuple[str, ...]] = {
    "graphml": (),
    "cables": (),
    "netbox": ("class",),
    "dot": ("class", "from_port", "to_port"),
}
"""Exports, and the columns of links that each leaves out."""
CASES = [(fabric, form) for form in SAID for fabric in (PLAIN if form == "netbox" else FABRICS)]


@pytest.mark.parametrize(("fabric", "form"), CASES)
def test_cables_come_back_with_all_that_the_export_says(
    fabric: str, form: str, tmp_path: Path
) -> None:
    built = etherweave.fabric({"name": fabric, "topology": FABRICS[fabric]})
    again = imported(fabric, form, tmp_path).fabric
    assert links(again, *SAID[form]) == links(built, *SAID[form])


@pytest.mark.parametrize("fabric", FABRICS)
@pytest.mark.parametrize("form", ["graphml", "edges", "cables"])
def test_these_exports_of_an_import_are_the_same_bytes(
    fabric: str, form: str, tmp_path: Path
) -> None:
    before = [path.read_text() for path in exported(fabric, form, tmp_path)]
    after = imported(fabric, form, tmp_path).fabric.export(form, [])
    assert list(after.values()) == before


def below(path: Path) -> set[frozenset[str]]:
    """Hosts below every switch of a tree."""
    network = read([path])
    children: dict[str, list[str]] = {}
    for link in network.links:
        children.setdefault(link.ends[1], []).append(link.ends[0])

    def hosts(name: str) -> frozenset[str]:
        parts = [hosts(child) for child in children.get(name, [])]
        return frozenset().union(*parts) if parts else frozenset({name})

    return {hosts(name) for name in children}


@pytest.mark.parametrize("fabric", PLAIN)
def test_slurm_has_the_same_hosts_below_its_switches_in_the_export_of_an_import(
    fabric: str, tmp_path: Path
) -> None:
    (path,) = exported(fabric, "slurm", tmp_path)
    scenario = imported(fabric, "slurm", tmp_path)
    (text,) = scenario.fabric.export("slurm", []).values()
    again = tmp_path / "again.conf"
    again.write_text(text, encoding="utf-8")
    assert below(again) == below(path)
    speeds = [line.split("LinkSpeed=")[1] for line in text.splitlines() if "LinkSpeed" in line]
    assert set(speeds) == {"100000"}
