"""Every export of a fabric is imported as the fabric that it lists."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars
import pytest

import etherweave
from etherweave.api import toml
from etherweave.formats import WRITERS, read
from etherweave.formats.regular import describe
from etherweave.formats.scenario import Answers, ImportedScenario, as_it_is, scenario_of
from support import command_line

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
    "netbox": (),
    "dot": ("from_port", "to_port"),
}
"""Exports, and the columns of links that each leaves out."""
CASES = [(fabric, form) for form in SAID for fabric in (PLAIN if form == "netbox" else FABRICS)]


@pytest.mark.parametrize(("fabric", "form"), CASES)
def test_cables_come_back_with_all_of_the_export(fabric: str, form: str, tmp_path: Path) -> None:
    built = etherweave.fabric({"name": fabric, "topology": FABRICS[fabric]})
    assert links(imported(fabric, form, tmp_path).fabric, *SAID[form]) == links(built, *SAID[form])


@pytest.mark.parametrize("fabric", FABRICS)
@pytest.mark.parametrize("form", ["graphml", "edges", "cables"])
def test_exports_of_an_import_are_the_same_bytes(fabric: str, form: str, tmp_path: Path) -> None:
    before = [path.read_text() for path in exported(fabric, form, tmp_path)]
    assert list(imported(fabric, form, tmp_path).fabric.export(form, []).values()) == before


LINKS = {  # One switch more than its tree in Slurm has, other rates; a root without hosts.
    "pair": "h0,s0,25Gb/s\nh1,s0,25Gb/s\nh2,s1\nh3,s1\ns0,s1,400Gb/s,10m\n",
    "star": "h0,s1\nh1,s1\nh2,s2\nh3,s2\ns0,s1\ns0,s2\n",
    "odd rates": "h0,s0,2.5Gb/s\nh1,s0,12.5Gb/s\nh2,s0,33.333333Gb/s\nh3,s0,100Mb/s\n",
    "fine rates": "h0,s0,33.333333333Gb/s\nh1,s0\nh2,s0\nh3,s0\n",
    "two NICs": "h0,s0\nh0,s1\nh1,s0\nh1,s1\nh2,s0\nh2,s1\nh3,s1\nh3,s0\ns0,s1\n",
}
CROSSED = {name: {"topology": FABRICS[name]} for name in FABRICS}
CROSSED |= {name: {"topology": {"custom": {"hosts": 4, "links": LINKS[name]}}} for name in LINKS}
CROSSED["single"] = {"topology": {"single_switch": {"hosts": 3}}}
CROSSED["planes"] = {"topology": FABRICS["tree"], "host_ports": {"planes": 2}}
FORMS = [*(name for name, _ in etherweave.exports()), *WRITERS]
SINGLE_HOMED = ("netbox", "slurm", "slurm_block", "ns3", "htsim")
REFUSED = {(form, name) for form in SINGLE_HOMED for name in ("two NICs", "planes")}
REFUSED |= {("htsim", name) for name in CROSSED if name not in ("tree", "pods", "star")}
REFUSED |= {("netbox", "fine rates"), ("slurm", "odd"), ("slurm_block", "odd")}
"""Exports that a format cannot express."""
UNREAD = {(form, "planes"): "planes are host_ports.planes of the fabric" for form in FORMS}
UNREAD |= {("netbox", "odd"): "2 devices of 1 names"}  # A comma parts names there.
"""Exports whose import says why it is refused."""


@pytest.mark.parametrize("name", CROSSED)
@pytest.mark.parametrize("form", FORMS)
def test_an_export_is_read_back_equal_or_refused_or_its_import_says_the_difference(
    form: str, name: str, tmp_path: Path
) -> None:
    scenario, folder = tmp_path / "f.toml", tmp_path / "out"
    scenario.write_text(toml.document({"name": "f", **CROSSED[name]}))
    done = command_line.invoke("design", scenario, "--export", form, "-o", folder)
    if (form, name) in REFUSED:
        assert done.exit_code == 2 and "expected" in done.stderr
        return
    done = command_line.invoke("import", folder, "--json")
    if (form, name) in UNREAD:
        assert done.exit_code == 2 and UNREAD[form, name] in done.stderr
        return
    again = json.loads(done.stdout)
    built = asdict(describe(etherweave.fabric(scenario)))

    def counts(of: dict[str, Any]) -> tuple[object, ...]:
        cables: Counter[tuple[object, ...]] = Counter()
        has_classes = not any("as none has a class" in sentence for sentence in again["assumed"])
        for kind in of["cables"]:
            link_class = kind["link_class"] if has_classes else ""
            cables[kind["rate_gbps"], link_class] += kind["count"]
        return of["hosts"], of["host_ports"], sum(of["levels"].values()), cables

    if form not in ("slurm", "slurm_block"):
        assert counts(again) == counts(built)
    said = any(note.startswith("the exported fabric has ") for note in again["notes"])
    assert said or counts(again) == counts(built)


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
def test_slurm_has_the_same_hosts_below_switches_by_an_import(fabric: str, tmp_path: Path) -> None:
    (path,) = exported(fabric, "slurm", tmp_path)
    (text,) = imported(fabric, "slurm", tmp_path).fabric.export("slurm", []).values()
    again = tmp_path / "again.conf"
    again.write_text(text, encoding="utf-8")
    assert below(again) == below(path)
    speeds = [line.split("LinkSpeed=")[1] for line in text.splitlines() if "LinkSpeed" in line]
    assert set(speeds) == {"100000"}
