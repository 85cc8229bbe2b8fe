"""Exports, read by parsers that others wrote."""

import csv
import re
from collections import Counter
from io import StringIO
from pathlib import Path

import networkx
import pydot
import pytest

import etherweave
from support import command_line

FABRICS: dict[str, dict[str, object]] = {
    "tree": {"fat_tree": {"leaves": 3, "hosts_per_leaf": 4, "cores": 2, "links_per_core": 2}},
    "butterfly": {"flattened_butterfly": {"hosts_per_switch": 2, "sizes": [3, 2]}},
    "dragonfly": {"dragonfly": {"p": 2, "a": 2, "h": 1, "as_built": {"breakout": 2}}},
    "plus": {"dragonfly_plus": {"p": 2, "leaves": 2, "spines": 2, "h": 1, "groups": 3}},
    "odd": {
        "custom": {
            "graphml": """<graphml><key id="k" for="node" attr.name="kind"/><graph>
            <node id="log,in &lt;1&gt;"><data key="k">host</data></node>
            <node id="say &quot;n&quot;"><data key="k">host</data></node>
            <node id="back\\slash"/><node id="two, blanks "/>
            <edge source="log,in &lt;1&gt;" target="back\\slash"/>
            <edge source="say &quot;n&quot;" target="two, blanks "/>
            <edge source="back\\slash" target="two, blanks "/></graph></graphml>"""
        }
    },
}
PLAIN = [name for name in FABRICS if name != "odd"]


def exported(fabric: str, form: str) -> list[str]:
    return list(etherweave.export({"name": fabric, "topology": FABRICS[fabric]}, form).values())


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text, newline=""), strict=True))


def graph(fabric: str) -> networkx.MultiGraph:
    (text,) = exported(fabric, "graphml")
    return networkx.parse_graphml(text, force_multigraph=True)


def test_files_are_named_after_the_fabric_and_stay_where_they_are_written() -> None:
    scenario = {"name": "../a", "topology": FABRICS["tree"]}
    named = {form: list(etherweave.export(scenario, form)) for form, _ in etherweave.exports()}
    assert named == {
        "graphml": ["..-a.graphml"],
        "edges": ["..-a-edges.csv"],
        "dot": ["..-a.dot"],
        "cables": ["..-a-cables.csv"],
        "netbox": [f"..-a-netbox-{table}.csv" for table in ("devices", "interfaces", "cables")],
        "slurm": ["..-a-topology.conf"],
    }


def test_a_format_that_is_unknown_names_those_that_are() -> None:
    with pytest.raises(etherweave.ScenarioError, match=r"\"gml\"; expected one of graphml, edges"):
        exported("tree", "gml")


def test_given_names_are_used_and_unknown_ones_rejected() -> None:
    scenario = {"name": "a", "topology": FABRICS["tree"]}
    files = etherweave.export(scenario, "netbox", names={"site": "DC 1, east", "rack": "r-"})
    devices = rows(files["a-netbox-devices.csv"])
    assert {row["site"] for row in devices} == {"DC 1, east"}
    assert Counter(row["rack"] for row in devices) == {f"r-leaf{leaf}": 5 for leaf in range(3)} | {
        "": 2
    }
    with pytest.raises(etherweave.ScenarioError, match=r"export names\.sit: unknown key"):
        etherweave.export(scenario, "netbox", names={"sit": "DC"})


@pytest.mark.parametrize("fabric", FABRICS)
def test_networkx_reads_nodes_places_and_parallel_links(fabric: str) -> None:
    read = graph(fabric)
    kinds = Counter(kind for _, kind in read.nodes(data="kind"))
    plan = rows(exported(fabric, "cables")[0])
    assert read.number_of_edges() == len(plan)
    assert kinds["host"] == sum(row["class"] == "host" for row in plan)
    assert networkx.is_connected(read)
    levels = {level for _, level in read.nodes(data="level") if level is not None}
    assert levels == ({0, 1} if fabric in ("tree", "plus") else {0})
    if fabric == "dragonfly":
        groups = {group for _, group in read.nodes(data="axis:group") if group is not None}
        assert (groups, read.graph["breakout"]) == ({0, 1, 2}, 2)


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_graphml_export_is_a_scenario_with_the_same_exports(fabric: str, tmp_path: Path) -> None:
    (text,) = exported(fabric, "graphml")
    (tmp_path / "copy.graphml").write_text(text, encoding="utf-8", newline="")
    scenario = tmp_path / "copy.toml"
    scenario.write_text(
        f'name = "{fabric}"\n[topology.custom]\nfile = "copy.graphml"\n', encoding="utf-8"
    )
    for form in ("graphml", "cables", "dot"):
        assert list(etherweave.export(scenario, form).values()) == exported(fabric, form)


# pydot calls its own parser library by old names.
@pytest.mark.filterwarnings("ignore:.* deprecated - use:DeprecationWarning")
@pytest.mark.parametrize("fabric", FABRICS)
def test_a_dot_parser_finds_every_node_and_every_joined_pair(fabric: str) -> None:
    (text,) = exported(fabric, "dot")
    parsed = pydot.graph_from_dot_data(text)
    assert parsed is not None and len(parsed) == 1
    pairs = {frozenset(pair) for pair in graph(fabric).edges(keys=False)}
    assert len(parsed[0].get_edges()) == len(pairs)
    clusters = [part for part in parsed[0].get_subgraphs() if "cluster" in str(part.get_name())]
    first_places = {"butterfly": 2, "dragonfly": 3, "plus": 3}
    assert len(clusters) == first_places.get(fabric, 0)


@pytest.mark.parametrize("fabric", FABRICS)
def test_the_cable_plan_joins_what_the_graph_joins(fabric: str) -> None:
    plan = rows(exported(fabric, "cables")[0])
    joined = Counter(frozenset((row["from_node"], row["to_node"])) for row in plan)
    assert joined == Counter(frozenset(pair) for pair in graph(fabric).edges(keys=False))


@pytest.mark.parametrize("fabric", FABRICS)
def test_netbox_finds_the_device_and_the_interface_of_every_cable(fabric: str) -> None:
    devices, interfaces, cables = (rows(text) for text in exported(fabric, "netbox"))
    known = [(row["device"], row["name"]) for row in interfaces]
    ends = [
        (row[f"side_{side}_device"], row[f"side_{side}_name"]) for row in cables for side in "ab"
    ]
    assert sorted(known) == sorted(ends)
    assert len(set(known)) == len(known)
    assert {device for device, _ in known} == {row["name"] for row in devices}
    assert all(row["side_a_type"] == row["side_b_type"] == "dcim.interface" for row in cables)
    assert all(re.fullmatch(r"\d{1,6}(\.\d{1,2})?", row["length"]) for row in cables)


NAME = r"[\w.-]+"
LIST = rf"{NAME}(\[[\d,-]+\])?(,{NAME}(\[[\d,-]+\])?)*"
LINE = rf"SwitchName={NAME} (Nodes={LIST} LinkSpeed=\d+|Switches={LIST})"


@pytest.mark.parametrize("fabric", PLAIN)
def test_slurm_gets_one_line_per_switch_and_every_host_once(fabric: str) -> None:
    (text,) = exported(fabric, "slurm")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(LINE, line) for line in lines), text
    names = [line.split()[0].removeprefix("SwitchName=") for line in lines]
    assert len(set(names)) == len(names)
    numbers = re.findall(r"Nodes=host\[(\d+)-(\d+)\]", text)
    hosts = [host for first, last in numbers for host in range(int(first), int(last) + 1)]
    kinds = Counter(kind for _, kind in graph(fabric).nodes(data="kind"))
    assert hosts == list(range(kinds["host"]))
    assert ("TopologyParam=dragonfly" in text) == (fabric in ("dragonfly", "plus"))


def test_the_verb_writes_every_export_that_is_asked_for(tmp_path: Path) -> None:
    scenario = tmp_path / "pair.toml"
    scenario.write_text("[topology.single_switch]\nhosts = 2\n", encoding="utf-8")
    verb = ["design", str(scenario), "--export", "dot", "--export", "slurm", "-o"]
    command_line.invoke(*verb, tmp_path / "out", code=0)
    written = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()}
    assert written == etherweave.export(scenario, "dot") | etherweave.export(scenario, "slurm")
    assert command_line.invoke(*verb, tmp_path / "out", "--json").exit_code == 2


def test_slurm_rejects_hosts_that_its_lists_cannot_name() -> None:
    with pytest.raises(etherweave.ScenarioError, match="Slurm cannot express the name"):
        exported("odd", "slurm")
