"""Drawings of fabrics: pure layouts, every link accounted for, the same bytes twice."""

import json
import math
import re
import subprocess
import sys
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest

import etherweave
from etherweave.report import draw_fabric
from etherweave.report.drawing import (
    LAYOUTS,
    TooLargeError,
    circle,
    grid,
    picture_of,
    polygons,
    tree,
)
from etherweave.report.drawing.picture import STAND_IN, Line, Mark, Picture, drawable, short
from etherweave.report.drawing.render import box_of_mark, box_of_words, draw, extent, overlap, svg
from etherweave.report.drawing.spread import positions
from etherweave.report.drawing.wiring import Wiring
from etherweave.report.metrics import metrics_figure
from etherweave.report.style import house, short_number
from support import command_line

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"


def edges(*pairs: str) -> str:
    """List links for a custom fabric: ``h0-s0``."""
    return "".join(f"{pair.replace('-', ',')},100Gb/s,3m\n" for pair in pairs)


TWO_LEVELS = edges("h0-s0", "h1-s1", "s0-s2", "s1-s2", "s1-s3", "s0-s3")
RING = edges("h0-s0", "h1-s1", "h2-s2", "h3-s3", "s0-s1", "s1-s2", "s2-s3", "s3-s0", "s0-s2")

EXTRA = {"from": "leaf0", "to": "leaf1", "links": 2}

SMALL: dict[str, dict[str, object]] = {
    "one": {"single_switch": {"hosts": 8}},
    "tree": {"fat_tree": {"leaves": 4, "cores": 2, "links_per_core": 2}},
    "k-ary": {"k_ary_fat_tree": {"k": 4}},
    "stages": {
        "staged_fat_tree": {
            "hosts_per_leaf": 1,
            "stages": [{"down": 2, "up": 2}, {"down": 3, "up": 2, "links": 2}, {"down": 2}],
        }
    },
    "clos": {"folded_clos": {}},
    "rails": {"rail_optimised": {"rails": 4, "servers": 6, "servers_per_pod": 3, "spines": 2}},
    "line": {"flattened_butterfly": {"sizes": [5]}},
    "square": {"flattened_butterfly": {}},
    "cube": {"flattened_butterfly": {"sizes": [3, 3, 3]}},
    "4D": {"hyperx": {"dimensions": [{"size": 2, "lag": 2}, {"size": 3}, {"size": 2}, {}]}},
    "5D": {"torus": {"dimensions": [{"size": 3}, {"size": 2}, {"size": 3}, {"size": 2}, {}]}},
    "mesh": {"mesh": {}},
    "dragonfly": {"dragonfly": {}},
    "few groups": {"dragonfly": {"groups": 4, "arrangement": "consecutive"}},
    "one group": {"dragonfly": {"groups": 1}},
    "plus": {"dragonfly_plus": {}},
    "slim": {"slim_fly": {"q": 4}},
    "failed root": {
        "k_ary_fat_tree": {"k": 4, "as_built": {"failed": ["core0", "leaf3"], "extra": [EXTRA]}}
    },
    "failed corner": {"mesh": {"as_built": {"failed": ["switch0.0", "switch2.1"]}}},
    "failed group": {
        "dragonfly": {"as_built": {"failed": [f"group0.switch{n}" for n in range(4)]}}
    },
    "few hosts": {"flattened_butterfly": {"as_built": {"hosts": 5}}},
    "ring": {"custom": {"links": RING}},
    "two levels": {"custom": {"links": TWO_LEVELS}},
}
LARGE: dict[str, dict[str, object]] = {
    "hosts": {"single_switch": {"hosts": 500}},
    "k-ary": {"k_ary_fat_tree": {"k": 16}},
    "clos": {"folded_clos": {"radix": 16, "hosts": 3000, "uplinks": [{}, {}, {}]}},
    "wide": {"fat_tree": {"leaves": 200, "cores": 16, "links_per_core": 1}},
    "rails": {"rail_optimised": {"servers": 300, "spines": 32, "links_per_spine": 1}},
    "row": {"mesh": {"dimensions": [{"size": 40}]}},
    "4D": {"flattened_butterfly": {"sizes": [9, 10, 5, 3], "hosts_per_switch": 9}},
    "5D": {"torus": {"dimensions": [{"size": 4}] * 5}},
    "dragonfly": {"dragonfly": {"p": 7, "a": 14, "h": 7}},
    "plus": {"dragonfly_plus": {"p": 4, "leaves": 13, "spines": 13, "h": 3}},
}
ALL = SMALL | {f"large {name}": topology for name, topology in LARGE.items()}


def wiring(topology: dict[str, object]) -> Wiring:
    return Wiring.of(etherweave.fabric({"name": "drawn", "topology": topology}))


def switches(picture: Picture) -> dict[str, Mark]:
    return {mark.key: mark for mark in picture.marks if mark.shape == "switch"}


def test_every_family_has_a_layout_and_a_case_here() -> None:
    # The error for an unknown family names them all.
    with pytest.raises(etherweave.ScenarioError) as error:
        etherweave.fabric({"topology": {"hamster": {}}})
    families = set(re.findall(r"`(\w+)`", str(error.value))) - {"hamster"}
    assert set(LAYOUTS) == {wiring(topology).shape for topology in SMALL.values()}
    assert families == {family for topology in SMALL.values() for family in topology}


@cache
def drawn(name: str) -> tuple[Wiring, Picture]:
    """Draw one of all cases, once for the tests that look at it."""
    plan = wiring(ALL[name])
    return plan, picture_of(plan)


@pytest.mark.parametrize("name", ALL)
def test_every_link_ends_somewhere_and_no_two_things_meet(name: str) -> None:
    plan, picture = drawn(name)
    assert picture.links == plan.links.height
    boxes = [(box_of_mark(mark), mark.key) for mark in picture.marks]
    upright = [words for words in picture.words if words.text and not words.turn]
    boxes += [(box_of_words(words), words.text) for words in upright]
    for (box, name), (other, other_name) in combinations(boxes, 2):
        assert not overlap(box, other), (name, other_name)


@pytest.mark.parametrize("name", SMALL)
def test_small_fabrics_are_drawn_switch_by_switch(name: str) -> None:
    plan, picture = drawn(name)
    # Groups of a dragonfly are boxes, too, but none has the name of a switch.
    seen = switches(picture).keys() & {switch.name for switch in plan.switches}
    first = plan.switches[0].name.split(".")[0]
    wanted = [s for s in plan.switches if "group" not in plan.axes or f"{first}." in s.name]
    assert seen == {switch.name for switch in wanted}
    assert not [mark for mark in picture.marks if mark.shape == "folded"]
    assert len({mark.place for mark in picture.marks}) == len(picture.marks)


@pytest.mark.parametrize("name", LARGE)
def test_large_fabrics_are_folded(name: str) -> None:
    plan, picture = drawn(f"large {name}")
    assert len(picture.marks) <= 320
    assert any(mark.shape == "folded" for mark in picture.marks) or plan.family == "single_switch"
    assert picture.notes


def test_a_tree_stands_in_rows_by_level_with_pods_side_by_side() -> None:
    plan = wiring({"k_ary_fat_tree": {"k": 4}})
    picture = tree.layout(plan)
    heights = [
        {switches(picture)[s.name].place[1] for s in plan.switches if s.level == level}
        for level in range(3)
    ]
    assert [len(row) for row in heights] == [1, 1, 1]
    assert max(heights[0]) < min(heights[1])
    assert max(heights[1]) < min(heights[2])
    pods = sorted((area.low[0], area.high[0]) for area in picture.areas)
    assert len(pods) == 4
    assert all(first[1] < other[0] for first, other in pairwise(pods))
    hosts = [mark for mark in picture.marks if mark.shape == "host"]
    assert {mark.place[1] for mark in hosts} == {min(heights[0]) - 24}


def test_links_of_a_butterfly_over_several_columns_are_arcs_and_one_switch_stands_out() -> None:
    picture = grid.layout(wiring({"flattened_butterfly": {"sizes": [4, 4]}}))
    between = [line for line in picture.lines if line.link_class != "host"]
    # Of the 6 links in each of 8 rows and columns, 3 join neighbours.
    assert [len(line.path) for line in between].count(2) == 8 * 3
    assert [len(line.path) for line in between].count(4) == 8 * 3
    assert sum(line.is_highlighted for line in between) == 2 * 3
    rows = [line for line in between if line.link_class == "local" and len(line.path) == 4]
    assert all(line.at(0.5)[1] > line.path[0][1] for line in rows)
    assert len(picture.areas) == 4


def test_groups_of_a_dragonfly_stand_on_a_circle_and_the_first_below_it() -> None:
    picture = circle.layout(wiring({"dragonfly": {}}))
    groups = {key: mark for key, mark in switches(picture).items() if re.fullmatch(r"G\d", key)}
    assert sorted(groups) == [f"G{n}" for n in range(1, 9)]
    radii = {round(math.hypot(*mark.place), 6) for mark in groups.values()}
    assert len(radii) == 1
    first = [mark for key, mark in switches(picture).items() if key.startswith("group0.")]
    assert len(first) == 4
    assert max(mark.place[1] for mark in first) < -radii.pop()
    # Each of the eight global links of the first group names the group it leads to.
    assert sorted([words.text for words in picture.words if words.turn]) == sorted(groups)


def test_nics_of_a_server_stand_together_when_a_leaf_has_failed() -> None:
    rails = {"rails": 2, "servers": 3, "spines": 2, "as_built": {"failed": ["leaf0.0"]}}
    picture = picture_of(wiring({"rail_optimised": rails}))
    names = sorted(words.text for words in picture.words if words.text.startswith("server"))
    assert names == ["server 0", "server 1", "server 2"]


def test_hosts_of_a_single_switch_stand_around_it() -> None:
    picture = polygons.star(wiring({"single_switch": {"hosts": 12}}))
    hosts = [mark for mark in picture.marks if mark.shape == "host"]
    assert len(hosts) == 12
    assert len({round(math.hypot(*mark.place), 6) for mark in hosts}) == 1


def test_distances_on_paper_follow_distances_in_links() -> None:
    names = [f"s{n}" for n in range(6)]
    places = positions(names, list(pairwise(names)))
    # A chain has a drawing without any stress: a straight line of equal steps. It unbends slowly:
    # what is left of the bend is a hundredth.
    steps = [math.dist(places[a], places[b]) for a, b in pairwise(names)]
    assert math.dist(places["s0"], places["s5"]) == pytest.approx(sum(steps), rel=2e-2)
    assert steps == pytest.approx([steps[0]] * 5, rel=2e-2)


def test_parallel_links_are_one_line_with_their_number() -> None:
    picture = picture_of(wiring({"custom": {"links": (RING + edges("s0-s1", "s0-s1"))}}))
    assert [line.count for line in picture.lines if line.count > 1] == [3]
    assert "×3" in [words.text for words in picture.words]
    tree_picture = picture_of(wiring({"fat_tree": {"links_per_core": 4}}))
    assert any(words.text.endswith("4 links per line") for words in tree_picture.words)


def test_the_title_counts() -> None:
    texts = [words.text for words in picture_of(wiring({"dragonfly": {}})).words]
    assert "drawn" in texts
    assert "dragonfly, 36 switches, 72 hosts, 162 links" in texts


@pytest.mark.parametrize("name", ALL)
def test_the_file_has_a_path_for_every_line(name: str) -> None:
    _, picture = drawn(name)
    with house():
        figure = draw(picture)
    paths = [len(lines.get_paths()) for lines in figure.axes[0].collections]
    assert sum(paths) == len(picture.lines)
    low, high = extent(picture)
    assert all(low[n] < mark.edge(-1, -1)[n] for mark in picture.marks for n in (0, 1))
    assert all(mark.edge(1, 1)[n] < high[n] for mark in picture.marks for n in (0, 1))


def test_the_order_of_lines_does_not_depend_on_the_process() -> None:
    script = (
        "import etherweave; from etherweave.report.drawing import picture_of; "
        "from etherweave.report.drawing.wiring import Wiring; "
        "wiring = Wiring.of(etherweave.fabric({'topology': {'dragonfly': {}}})); "
        "print(picture_of(wiring).lines)"
    )
    printed = {
        subprocess.check_output([sys.executable, "-c", script], env={"PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    }
    assert len(printed) == 1


@pytest.mark.parametrize("family", ["dragonfly", "flattened_butterfly", "custom"])
def test_equal_fabrics_are_equal_bytes(tmp_path: Path, family: str) -> None:
    topology = {family: {"links": RING} if family == "custom" else {}}
    fabric = etherweave.fabric({"name": "twice", "topology": topology})
    files = [draw_fabric(fabric, tmp_path / name) for name in ("a.svg", "b.svg")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert ElementTree.parse(files[0]).getroot().tag == f"{SVG}svg"
    assert b"T00:00" not in files[0].read_bytes()
    assert "<dc:date>" not in files[0].read_text()


def test_odd_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    names = ["$x^2$", "<text><script>", "a & b", "漢字", 'n"' + "long" * 20]
    nodes = [{"id": name} for name in names]
    nodes += [{"id": "h0", "kind": "host"}]
    links = [{"source": a, "target": b} for a, b in pairwise(names)]
    links.append({"source": "h0", "target": names[0]})
    graph = json.dumps({"nodes": nodes, "links": links})
    case: dict[str, object] = {"name": "<b>&</b>$a$\x01漢", "topology": {"custom": {"json": graph}}}
    root = ElementTree.parse(draw_fabric(etherweave.fabric(case), tmp_path / "odd.svg")).getroot()
    assert root.find(f".//{SVG}script") is None
    assert "<b>&</b>" in "".join(root.itertext())


def test_letters_that_no_font_has_are_replaced_and_long_names_cut() -> None:
    assert drawable("a漢\x1bé") == f"a{STAND_IN}{STAND_IN}é"
    assert short("x" * 28) == "x" * 28
    assert short("a" * 20 + "b" * 20) == "a" * 14 + "…" + "b" * 14


def test_what_cannot_be_read_is_refused_with_the_limit(tmp_path: Path) -> None:
    fabric = etherweave.fabric({"topology": {"slim_fly": {"q": 13}}})
    with pytest.raises(TooLargeError, match="up to 300 switches of a slim fly; this one has 338"):
        draw_fabric(fabric, tmp_path / "slim.svg")
    chain = edges("h0-s0", "h1-s300", *(f"s{n}-s{n + 1}" for n in range(300)))
    fabric = etherweave.fabric({"topology": {"custom": {"links": chain}}})
    with pytest.raises(TooLargeError, match="up to 300 switches of a custom fabric; this one has"):
        draw_fabric(fabric, tmp_path / "chain.svg")
    assert not list(tmp_path.iterdir())


def test_numbers_beside_bars_are_as_short_as_three_digits_allow() -> None:
    values = (0, 0.4567, 31.98, 999.6, 241_264, 6_929_284)
    assert [short_number(value) for value in values] == ["0", "0.457", "32", "1k", "241k", "6.93M"]


def test_a_users_style_changes_nothing() -> None:
    picture = Picture(lines=[Line(((0, 0), (9, 9)), "local", "copper", 100.0)])
    before = svg(picture, "plain")
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30, "savefig.dpi": 300}):
        assert svg(picture, "plain") == before


def test_the_verb_draws_one_scenario(tmp_path: Path) -> None:
    scenario, drawing = tmp_path / "small.toml", tmp_path / "small.svg"
    scenario.write_text("[topology.mesh]\n[design]\nroutings = []\n")
    done = command_line.run_here("design", scenario, "--draw", drawing, code=0)
    assert command_line.without_progress(done.stderr) == ""
    assert ElementTree.parse(drawing).getroot().tag == f"{SVG}svg"


def test_the_verb_draws_the_metrics_of_several(tmp_path: Path) -> None:
    scenario, drawing = tmp_path / "small.toml", tmp_path / "metrics.svg"
    scenario.write_text("[topology.mesh]\n[design]\nroutings = []\n")
    done = command_line.run("design", "--compare", scenario, scenario, "--draw", drawing, code=0)
    assert command_line.without_progress(done.stderr) == ""
    assert ElementTree.parse(drawing).getroot().tag == f"{SVG}svg"
    first = drawing.read_bytes()
    command_line.invoke("design", "--compare", scenario, scenario, "--draw", drawing)
    assert drawing.read_bytes() == first


def test_a_merit_that_is_not_known_is_said_above_its_panel() -> None:
    known = {"name": "a", "is_efficient": True, "hosts": 4, "bisection_gbps_per_host": 5.0}
    unknown = {"table_entries": 9, "watts_per_host": None, "price_per_host": 2.0}
    figure = metrics_figure([{**known, **unknown}])
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]
    assert titles == ["not known of 1 of 1", "", "", ""]
    assert [len(axes.lines) for axes in figure.axes] == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        (["small.toml", "--draw", "a.png"], "--draw a.png: expected a file name that ends in .svg"),
        (["small.toml", "--draw", "a.svg", "--export", "dot"], "--draw: expected to be without"),
        (["--compare", "small.toml", "small.toml", "--draw", "none/a.svg"], "none/a.svg: No such"),
        (["small.toml", "--draw", "none/a.svg"], "none/a.svg: No such file or directory"),
        (
            ["small.toml", "--draw", "a.svg", "--set", "topology={slim_fly={q=13}}"],
            "--draw a.svg: a drawing shows up to 300 switches of a slim fly; this one has 338",
        ),
    ],
)
def test_the_verb_refuses_what_it_cannot_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], mistake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text("[topology.mesh]\n")
    done = command_line.invoke("design", *arguments, code=2)
    assert mistake in done.stderr
    assert done.stderr.count("\n") == 1
