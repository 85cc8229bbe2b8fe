"""Exports of a fabric and of its flows, read back by the readers of their formats."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

import etherweave
from etherweave.api.inputs import InputError
from etherweave.api.results import Result
from etherweave.formats import WRITERS, read, write
from etherweave.formats.listing import listing
from etherweave.formats.scenario import Answers, scenario_of
from support import command_line

TREE: dict[str, object] = {
    "fat_tree": {"leaves": 3, "hosts_per_leaf": 4, "cores": 2, "links_per_core": 2}
}
PODS: dict[str, object] = {"k_ary_fat_tree": {"k": 4}}
DRAGONFLY: dict[str, object] = {"dragonfly": {"p": 2, "a": 2, "h": 1}}
LOADED = {
    "name": "loaded",
    "topology": TREE,
    "transport": {"roce": {}},
    "job": [
        {
            "name": "j",
            "workload": {"flows": {"ranks": 12, "load": 0.4, "sizes": "storage", "flows_max": 50}},
        }
    ],
}


def written(topology: dict[str, object], form: str, result: Result | None = None) -> dict[str, str]:
    return dict(write(etherweave.fabric({"name": "f", "topology": topology}), form, result))


def reread(texts: dict[str, str], folder: Path, suffix: str = "") -> object:
    names = [name for name in texts if name.endswith(suffix)]
    for name in names:
        (folder / name).write_text(texts[name])
    return scenario_of(read([folder / name for name in names]), "f", Answers()).fabric


def cables(fabric: object, has_ports: bool) -> Counter[tuple[object, ...]]:
    return Counter(
        (
            *sorted(end if has_ports else end[0] for end in cable.ends),
            cable.rate_gbps,
            cable.length_m,
        )
        for cable in listing(fabric).cables  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("topology", [TREE, PODS, DRAGONFLY], ids=["tree", "pods", "dragonfly"])
@pytest.mark.parametrize("form", ["containerlab", "infragraph", "ns3"])
def test_names_and_ports_come_back(topology: dict[str, object], form: str, tmp_path: Path) -> None:
    again = reread(written(topology, form), tmp_path)
    expected = etherweave.fabric({"name": "f", "topology": topology})
    assert cables(again, form != "ns3") == cables(expected, form != "ns3")


@pytest.mark.parametrize("topology", [TREE, PODS], ids=["tree", "pods"])
def test_htsim_builds_a_tree_of_equal_degrees(topology: dict[str, object], tmp_path: Path) -> None:
    again = reread(written(topology, "htsim"), tmp_path)
    expected = etherweave.fabric({"name": "f", "topology": topology})

    def shape(fabric: object) -> Counter[tuple[object, ...]]:
        listed = listing(fabric)  # type: ignore[arg-type]
        level = dict.fromkeys(listed.hosts, -1) | listed.levels
        counts: dict[str, Counter[object]] = {name: Counter() for name in level}
        for cable in listed.cables:
            (first, _), (second, _) = cable.ends
            counts[first][level[second], cable.rate_gbps, cable.length_m] += 1
            counts[second][level[first], cable.rate_gbps, cable.length_m] += 1
        return Counter((level[name], *sorted(of.items())) for name, of in counts.items())

    assert shape(again) == shape(expected)


def test_slurm_gets_a_block_for_each_leaf(tmp_path: Path) -> None:
    texts = written(TREE, "slurm_block")
    (topology,) = yaml.safe_load(texts["f-block-topology.yaml"])
    assert topology["block"] == {
        # 3 blocks of 4: 4 and 8 hosts.
        "block_sizes": [4, 8],
        "blocks": [
            {"block": f"leaf{at}", "nodes": f"host[{4 * at}-{4 * at + 3}]"} for at in range(3)
        ],
    }
    for suffix in (".yaml", ".conf"):
        again = reread(texts, tmp_path, suffix)
        leaves = Counter(listing(again).hosts.values())  # type: ignore[arg-type]
        assert leaves == {f"leaf{at}": 4 for at in range(3)}


def test_the_flows_of_a_run_are_the_same_experiment_there_and_here(tmp_path: Path) -> None:
    result = etherweave.run(LOADED)
    streams = result.to_polars("streams").select("source_host", "destination_host", "bytes").rows()
    starts = sorted(result.values("flow_times", "start_ns"))
    for form, suffix in (("ns3", "flows.txt"), ("htsim", ".cm")):
        texts = written(TREE, form, result)
        (name,) = (name for name in texts if name.endswith(suffix))
        (tmp_path / name).write_text(texts[name])
        job = {"name": "j", "workload": {"flows": {"ranks": 12, "file": name}}}
        path = tmp_path / f"{form}.toml"
        path.write_text(
            "[topology.fat_tree]\nleaves = 3\nhosts_per_leaf = 4\ncores = 2\nlinks_per_core = 2\n"
            f'[transport.roce]\n[[job]]\nname = "{job["name"]}"\n'
            f'workload.flows = {{ ranks = 12, file = "{name}" }}\n'
        )
        again = etherweave.run(path)
        rows = again.to_polars("streams").select("source_host", "destination_host", "bytes").rows()
        assert Counter(rows) == Counter(streams)
        now = sorted(again.values("flow_times", "start_ns"))
        assert len(now) == 50
        assert all(
            abs((a - now[0]) - (b - starts[0])) < 0.002 for a, b in zip(now, starts, strict=True)
        )


def test_what_a_format_cannot_express_is_refused() -> None:
    with pytest.raises(InputError, match=r"is joined to|expected a tree of two or three tiers"):
        written(DRAGONFLY, "htsim")
    plain = etherweave.run(
        {"topology": TREE, "job": [{"name": "j", "workload": {"osu_latency": {"iterations": 1}}}]}
    )
    with pytest.raises(InputError, match="has no table flow_times"):
        written(TREE, "ns3", plain)


def test_the_command_line_writes_each_format(tmp_path: Path) -> None:
    scenario = tmp_path / "f.toml"
    scenario.write_text("[topology.fat_tree]\nleaves = 2\nhosts_per_leaf = 2\ncores = 2\n")
    words = [word for form in WRITERS for word in ("--export", form)]
    command_line.invoke("design", scenario, *words, "-o", tmp_path / "out", code=0)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("f-block-topology.yaml", "f-block-topology.conf", "f.infragraph.yaml", "f.clab.yml"),
        *("f-ns3-topology.txt", "f-ns3-nodes.csv", "f.topo"),
    }


def test_flows_of_another_fabric_are_refused(tmp_path: Path) -> None:
    flows = {"ranks": 2, "text": "source,destination,bytes\n0,1,100\n"}
    job = [{"name": "f", "workload": {"flows": flows}}]
    etherweave.run({"topology": {"single_switch": {"hosts": 2}}, "job": job}).save(tmp_path / "r")
    for hosts, code in ((2, 0), (3, 2)):
        scenario = tmp_path / f"{hosts}.toml"
        scenario.write_text(f"topology.single_switch.hosts = {hosts}\n")
        options = ("--export", "ns3", "--load", tmp_path / "r", "-o", tmp_path / "out")
        done = command_line.invoke("design", scenario, *options, code=code)
    expected = "a run on another fabric (2 hosts, and this fabric has 3); expected one on this"
    assert done.stderr == f"--load {tmp_path / 'r'}: {expected}\n"
