"""Sentences on the worth of a fabric, a transport and a placement."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from etherweave.advise import AdviseError, Answer, answer, load_question, prepare
from etherweave.advise.answer import without_technologies
from etherweave.advise.contrasts import Aspects, _paths
from etherweave.sweeps import executor
from support.questions import SETTINGS, write

pytestmark = pytest.mark.usefixtures("workers_of_this_process", "undrawn_figures")

TREE = "topology.fat_tree = { leaves = 2, hosts_per_leaf = 4, cores = 1, links_per_core = 1 }\n"
HALO = """
[[job]]
name = "halo"
workload.halo3d = { pex = 4, pey = 2, pez = 1, iterations = 1 }
"""


def fabric(name: str, transport: str, *keys: str) -> str:
    profile = f'interconnect.profile = "ethernet-100-{transport}"\n'
    return f'\n[[fabric]]\nname = "{name}"\n{profile}{TREE}' + "".join(f"{key}\n" for key in keys)


@pytest.fixture(scope="module")
def ranking(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    home = tmp_path_factory.mktemp("question")
    fabrics = (
        fabric("RoCE", "roce"),
        fabric("TCP", "tcp"),
        fabric("in order", "roce", "placement.linear = {}"),
    )
    question = load_question(write(home, SETTINGS, *fabrics, HALO))
    return answer(prepare(question), home / "out", executor("local", 1))


def ratio(result: Answer, name: str) -> float:
    times = {standing.fabric: standing.jobs[0].time_us.value for standing in result.standings}
    return times[name] / times["RoCE"]


def test_every_fabric_has_a_sentence_against_the_baseline(ranking: Answer) -> None:
    assert {contrast.partition(" does ")[0] for contrast in ranking.against} == {"TCP", "in order"}
    assert all("of the mix than RoCE (most by halo" in contrast for contrast in ranking.against)


def test_roce_is_compared_with_tcp_and_hosts_that_limit_it_are_named(ranking: Answer) -> None:
    (line,) = (contrast for contrast in ranking.contrasts if contrast.startswith("RoCE or TCP: "))
    assert f"on TCP jobs take, over RoCE: halo {ratio(ranking, 'TCP'):.2f} times" in line
    assert re.search(r"; hosts take \d+% of halo on TCP, with 1 rank a host\.$", line)


def test_a_placement_of_a_fabric_is_that_of_all_jobs_there(ranking: Answer) -> None:
    (line,) = (contrast for contrast in ranking.contrasts if contrast.startswith("Placement: "))
    worth = ratio(ranking, "in order")
    # In order, a leaf has whole rows of ranks, so that fewer faces cross the core.
    assert worth < 1
    assert line == f"Placement: on in order jobs take, over RoCE: halo {worth:.2f} times."


def test_what_no_fabric_tries_is_named_with_its_key(tmp_path: Path) -> None:
    question = load_question(
        write(tmp_path, SETTINGS, fabric("RoCE", "roce"), fabric("TCP", "tcp"), HALO)
    )
    result = answer(prepare(question), tmp_path / "out", executor("local", 1))
    tried = [contrast.partition(" if ")[0] for contrast in result.contrasts[1:]]
    assert tried == [
        'Paths: not compared; a fabric with `routing = "spray"` shows what it is worth',
        "Placement: not compared; a fabric with `placement.linear = {}` shows what it is worth",
    ]


def test_paths_of_each_fabric_are_named_where_entropy_values_spread_packets(tmp_path: Path) -> None:
    many = TREE.replace("cores = 1", "cores = 2")
    other = fabric("Ultra Ethernet", "roce").replace("ethernet-100-roce", "ultra-ethernet-400")
    fabrics = [text.replace(TREE, many) for text in (fabric("RoCE", "roce"), other)]
    question = load_question(write(tmp_path, SETTINGS, *fabrics, HALO))
    result = answer(prepare(question), tmp_path / "out", executor("local", 1))
    (line,) = (text for text in result.contrasts if text.startswith("Paths"))
    assert line == (
        "Paths for a pair of hosts: RoCE one path (up_down), Ultra Ethernet several (ecmp by "
        "entropy values); no two fabrics differ in them alone; a copy of a fabric with another "
        "`routing` shows what it is worth."
    )


def test_paths_of_a_single_switch_are_not_named() -> None:
    fabrics = {
        name: Aspects("roce", routing, "linear", topology, 1)
        for name, routing, topology in (
            ("switch", "up_down hash", "{'single_switch': {}}"),
            ("tree", "up_down hash", "{'fat_tree': {}}"),
            ("sprayed", "spray None", "{'fat_tree': {}}"),
        )
    }
    (line,) = _paths(fabrics)
    assert "tree one path (up_down), sprayed several (spray)" in line
    assert "switch" not in line
    assert _paths({name: fabrics[name] for name in ("switch", "tree")}) == []


def test_what_no_two_fabrics_differ_in_alone_is_named_with_its_key(tmp_path: Path) -> None:
    """Ranks are in order already, so that no other placement is known to be better."""
    fabrics = [fabric(name, name, "placement.linear = {}") for name in ("roce", "tcp")]
    question = load_question(write(tmp_path, SETTINGS, *fabrics, HALO))
    result = answer(prepare(question), tmp_path / "out", executor("local", 1))
    copy = "a copy of a fabric with another"
    assert result.contrasts[1:] == [
        f"Paths: not compared; {copy} `routing` shows what it is worth.",
        f"Placement: not compared; {copy} `placement` shows what it is worth.",
    ]


def test_hosts_of_one_switch_have_no_paths_or_placement_to_compare(tmp_path: Path) -> None:
    switch = "topology.single_switch.hosts = 8\n"
    fabrics = [fabric(name, name).replace(TREE, switch) for name in ("roce", "tcp")]
    question = load_question(write(tmp_path, SETTINGS, *fabrics, HALO))
    result = answer(prepare(question), tmp_path / "out", executor("local", 1))
    assert [line.partition(":")[0] for line in result.contrasts] == ["RoCE or TCP"]


def test_the_example_book_knows_no_technology(tmp_path: Path) -> None:
    fabrics = [fabric("RoCE", "roce"), fabric("TCP", "tcp")]
    own = load_question(write(tmp_path, SETTINGS, *fabrics, HALO))
    example = replace(own, settings=replace(own.settings, prices="example"))
    assert without_technologies(own) == []
    (sentence,) = without_technologies(example)
    assert sentence.endswith("are by rate, ports and cables alone.")


def test_a_placement_that_is_none_is_a_mistake_with_its_key(tmp_path: Path) -> None:
    path = write(tmp_path, SETTINGS, fabric("a", "roce", "placement = 3"), HALO)
    with pytest.raises(AdviseError, match=r"fabric\.0\.placement: 3; expected a placement"):
        load_question(path)
