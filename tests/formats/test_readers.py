"""Files of other programs, with the counts that their formats' documents give."""

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from etherweave.api.inputs import InputError
from etherweave.formats import READERS, read
from etherweave.formats.family import reader
from etherweave.formats.hostlists import compact, expanded
from etherweave.formats.regular import Description, describe
from etherweave.formats.scenario import Answers, ImportedScenario, scenario_of
from etherweave.formats.texts import source
from support import command_line

DATA = Path(__file__).parents[1] / "data/fabrics"
NONE = Answers()


def imported(*names: str, answers: Answers = NONE) -> ImportedScenario:
    return scenario_of(read([DATA / name for name in names]), "fabric", answers)


def rates(description: Description) -> Counter[tuple[str, float]]:
    counts: Counter[tuple[str, float]] = Counter()
    for cables in description.cables:
        counts[cables.link_class, cables.rate_gbps] += cables.count
    return counts


CASES: list[tuple[tuple[str, ...], str, int, int, dict[tuple[str, float], int]]] = [
    (("topology.conf",), "slurm", 8, 3, {("host", 200): 8, ("local", 200): 2}),
    (("blocks.conf",), "slurm", 8, 3, {("host", 100): 8, ("local", 100): 2}),
    (("topology.yaml",), "slurm_yaml", 8, 3, {("host", 100): 8, ("local", 100): 2}),
    (("topograph.yaml",), "slurm_yaml", 7, 3, {("host", 100): 7, ("local", 100): 2}),
    # NDR is 100 Gb/s a SerDes lane: 4x 400, 2x 200 Gb/s.
    (
        ("ibnetdiscover.txt",),
        "ibnetdiscover",
        2,
        2,
        {("host", 400): 2, ("host", 200): 1, ("local", 400): 1},
    ),
    (("iblinkinfo.txt",), "iblinkinfo", 2, 1, {("host", 100): 2}),
    (
        ("cables.csv", "devices.csv", "interfaces.csv"),
        "netbox",
        2,
        2,
        {("host", 100): 2, ("local", 400): 2},
    ),
    (("all-data.csv",), "netbox", 2, 1, {("host", 100): 2}),
    (("fabric.clab.yml",), "containerlab", 2, 1, {("host", 25): 1, ("host", 100): 1}),
    (("leaf1.json", "leaf2.json"), "lldp", 2, 2, {("host", 100): 2, ("local", 100): 1}),
    (("tor1.txt",), "lldp", 1, 2, {("host", 100): 1, ("local", 100): 1}),
    (("graph.dot",), "dot", 5, 3, {("host", 100): 5, ("local", 400): 3}),
    (("ring.gml",), "gml", 2, 2, {("host", 100): 2, ("local", 2.5): 2}),
    (("infragraph.yaml",), "infragraph", 2, 1, {("host", 100): 3}),
    (("nccl.xml",), "nccl", 2, 1, {("host", 400): 2, ("host", 200): 2}),
    (("lstopo.xml",), "lstopo", 2, 1, {("host", 100): 4}),
    # 4 ToRs with 2 uplinks each.
    (("two-tier.topo",), "htsim", 16, 6, {("host", 100): 16, ("local", 100): 8}),
    # 4 pods of 2 ToRs and 2 switches above, whose 2 uplinks lead to 4 cores.
    (
        ("three-tier.topo",),
        "htsim",
        16,
        20,
        {("host", 100): 16, ("local", 200): 16, ("local", 400): 16},
    ),
    (("anynet.txt",), "booksim", 4, 2, {("host", 100): 4, ("local", 100): 1}),
    (("ns3.txt",), "ns3", 3, 2, {("host", 100): 3, ("local", 400): 2}),
    (("simai.txt",), "ns3", 4, 1, {("host", 400): 4}),
    # 4 leaves with 4 hosts, each to 2 spines by 2 links, at 125 MB/s.
    (("simgrid.xml",), "simgrid", 16, 6, {("host", 1): 16, ("local", 1): 16}),
    # A group: 3 rows of 3 pairs with 1 link, 3 columns of 3 pairs with 2; 3 pairs of groups with 4.
    (
        ("simgrid-dragonfly.xml",),
        "simgrid",
        54,
        27,
        {("host", 10): 54, ("local", 10): 3 * (9 + 18), ("global", 10): 12},
    ),
    # A backbone that three pairs of clusters share is a switch.
    (("simgrid-clusters.xml",), "simgrid", 12, 4, {("host", 10): 12, ("local", 40): 3}),
    (("simgrid-zone.xml",), "simgrid", 2, 1, {("host", 80): 1, ("host", 8.589934592): 1}),
    (("astra.yml",), "astra_sim", 8, 1, {("host", 400): 8}),
    # 3 rings of 4 at 100 GB/s, 4 full meshes of 3 at 50 GB/s.
    (
        ("astra-two.yml",),
        "astra_sim",
        12,
        12,
        {("host", 800): 12, ("local", 800): 12, ("local", 400): 12},
    ),
    (("names.csv",), "edge_list", 3, 3, {("host", 100): 3, ("local", 400): 2}),
    (
        ("node-link.json",),
        "node_link",
        3,
        2,
        {("host", 25): 2, ("host", 100): 1, ("local", 100): 1},
    ),
]


@pytest.mark.parametrize(
    ("names", "form", "hosts", "switches", "cables"), CASES, ids=[case[0][0] for case in CASES]
)
def test_a_file_has_the_counts_of_its_format(
    names: tuple[str, ...],
    form: str,
    hosts: int,
    switches: int,
    cables: dict[tuple[str, float], int],
) -> None:
    file = source(DATA / names[0])
    assert next(name for name in READERS if reader(name).recognises(file)) == form
    description = describe(imported(*names).fabric)
    assert description.hosts == hosts
    assert description.host_ports == sum(
        count for (kind, _), count in cables.items() if kind == "host"
    )
    assert sum(description.levels.values()) == switches
    assert rates(description) == cables
    paths = [DATA / name for name in names]
    assert read(paths, form).links == read(paths).links, "as by --form"


def test_every_reader_has_a_case_and_reads_its_own_files_alone() -> None:
    forms = {case[1] for case in CASES} | {"graphml"}
    assert forms == set(READERS)


def test_graphs_without_hosts_ask_for_them() -> None:
    with pytest.raises(InputError, match=r"no node is known to be a host; expected --hosts"):
        imported("zoo.graphml")
    description = describe(imported("zoo.graphml", answers=Answers(attach=2)).fabric)
    assert (description.hosts, description.levels) == (4, {0: 2})
    # Bern to Geneva is 129.5 km; LinkSpeedRaw is in bit/s.
    (between,) = (cables for cables in description.cables if cables.link_class == "local")
    assert (between.rate_gbps, round(between.length_m / 100)) == (10, 1295)


def test_labels_of_yed_are_names_and_groups_are_passed_over() -> None:
    scenario = imported("yed.graphml", answers=Answers(hosts="gpu*"))
    assert sorted(set(scenario.fabric.tables["hosts"].values("host"))) == ["gpu1", "gpu2"]
    assert rates(describe(scenario.fabric)) == {("host", 200): 3}


def test_what_a_file_does_not_say_is_assumed_by_its_key() -> None:
    rate, length, link_class = imported("anynet.txt").assumed
    assert rate == "rate 100Gb/s of all cables (--rate)"
    assert length == "length 3m of all cables (--length)"
    assert link_class.startswith("1 cable that may join groups or pods is local, as none has a ")
    answers = Answers(rate="400Gb/s", length="2m")
    (cables, *_) = describe(imported("anynet.txt", answers=answers).fabric).cables
    assert (cables.rate_gbps, cables.length_m) == (400, 2)


def test_names_of_hosts_at_switches_and_rates_of_numbered_lists_are_assumed(tmp_path: Path) -> None:
    file = tmp_path / "links.csv"
    file.write_text("From,To\nh0,a0\nh0,a1\nh1,a0\nh2,a1\na0,b\na1,b\n")
    done = command_line.invoke("import", file)
    assert "Assumed: 2 nodes with a single cable are hosts: h1, h2 (--hosts)" in done.stdout
    assert "Assumed: 1 node is a switch, though hosts have such names: h0 (--hosts)" in done.stdout
    file.write_text("From,To,Rate\nh0,s0,10G\nh1,s0,10G\nh2,s1,10G\ns0,s1,\n")
    done = command_line.invoke("import", file)
    assert "Assumed: rate 100Gb/s of 1 of 4 cables (--rate)" in done.stdout
    assert "Odd: hosts: s1 has 1, 1 of level 0 has 2" in done.stdout


GUID, STATE = "0xec0d9a03003d62be", "==( 4X 25.78125 Gbps Active/ LinkUp)==>"
SWITCH_LINES = f"""Switch: {GUID} MF0;SB7700:MSB7700/U1:
  2 1[ ] ==( Down/ Polling)==> [ ] "" ( )
  2 17[ ] {STATE} 4 1[ ] "n02 HCA-1" ( )
  2 36[ ] {STATE} 3 1[ ] "mgt mlx5_0" ( )
"""
CA_LINES = "".join(
    f'CA: {name}:\n  {GUID} {lid} 1[ ] {STATE} 2 {port}[ ] "MF0;SB7700:MSB7700/U1" ( )\n'
    for name, lid, port in (("n02 HCA-1", 4, 17), ("mgt mlx5_0", 3, 36))
)
LINK_LINES = "".join(
    f'{GUID} "  leaf" 2 {port}[ ] {STATE} {GUID} {lid} 1[ ] "{name}" ( )\n'
    f'{GUID} "  {name}" {lid} 1[ ] {STATE} {GUID} 2 {port}[ ] "leaf" ( )\n'
    for name, lid, port in (("n02 HCA-1", 4, 17), ("mgt mlx5_0", 3, 36))
)


# As `-l` prints what stands in CA_LINES.
CA_LINKS = "".join(
    f'{GUID} "  {name}" {lid} 1[ ] {STATE} {GUID} 2 {port}[ ] "MF0;SB7700:MSB7700/U1" ( )\n'
    for name, lid, port in (("n02 HCA-1", 4, 17), ("mgt mlx5_0", 3, 36))
)


@pytest.mark.parametrize(
    "text", [CA_LINES + SWITCH_LINES, SWITCH_LINES, LINK_LINES, CA_LINKS, CA_LINES]
)
def test_iblinkinfo_prints_guids_switches_alone_or_a_line_a_link(tmp_path: Path, text: str) -> None:
    path = tmp_path / "links.txt"
    path.write_text(text)
    fabric = scenario_of(read([path]), "fabric", NONE).fabric
    assert rates(describe(fabric)) == {("host", 100): 2}
    assert set(fabric.tables["hosts"].values("host")) == {"n02", "mgt"}


def test_hcas_of_a_host_are_its_ports_and_chips_of_a_chassis_are_switches(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    ends = (("n1 mlx5_0", 11, "L01", 1), ("n1 mlx5_1", 12, "L02", 2), ("n2 mlx5_0", 13, "L01", 1))
    hosts = [
        f'{GUID} "{name}" {lid} 1[ ] {STATE} {GUID} {at} {lid}[ ] "MF0;top:CS8500/{chip}/U1" ( )'
        for name, lid, chip, at in ends
    ]
    between = (
        f'{GUID} "MF0;top:CS8500/L01/U1" 1 9[ ] {STATE} {GUID} 2 9[ ] "MF0;top:CS8500/L02/U1" ( )'
    )
    path.write_text("\n".join([*hosts, between]))
    fabric = scenario_of(read([path]), "fabric", NONE).fabric
    assert rates(describe(fabric)) == {("host", 100): 3, ("local", 100): 1}
    assert fabric.tables["hosts"].values("host") == ["n1", "n1", "n2"]
    assert fabric.tables["switches"].values("switch") == ["top LID 1", "top LID 2"]


KEYS = """\
<graphml><key id="x" for="edge" yfiles.type="edgegraphics"/>
<key id="r" for="edge" attr.name="LinkSpeedRaw"><default>1e11</default></key>
<key id="s" for="edge" attr.name="rate"/>
<key id="k" for="node" attr.name="kind"><default>switch</default></key>
<graph><node id="a"><data key="k">host</data></node><node id="b"/><node id="c"/>
<edge source="a" target="b">{}</edge><edge source="b" target="c"/></graph></graphml>
"""
LABEL = "<y:PolyLineEdge><y:EdgeLabel>400G</y:EdgeLabel></y:PolyLineEdge>"
DOT = 'graph {{ edge [rate="100G"]; node [kind=switch]; a [kind=host]; {} }}'
# What a node is may be said after its edges.
LATE = """\
graph { node [kind=switch] edge [label="100G"] a -- b [rate="400G"] b -- c
a [kind=host] }
"""
GML = """\
graph [ node [ id 0 label "a" kind "host" ] node [ id 1 label "b" kind "switch" ]
node [ id 2 label "c" kind "switch" ]
edge [ source 0 target 1 rate "400G" ] edge [ source 1 target 2 ] ]
"""
LAB = """\
topology:
  defaults: {kind: sonic-vs}
  groups: {g: {kind: linux}}
  nodes:
    a: {group: g}
    b: {group: g, kind: srl}
    c: {}
  links:
  - {endpoints: ["a:1", "b:1"], labels: {rate: 400G}}
  - endpoints: ["b:2", "c:1"]
"""
NETBOX = {
    "d.csv": "name,role,device_type\na,server,x\nb,leaf,x\nc,spine,x\n",
    "i.csv": "device,name,type,speed\na,e1,100gbase-x-qsfp28,400000000\nb,e2,100gbase-x-qsfp28,\n",
    "c.csv": "side_a_device,side_a_name,side_b_device,side_b_name\na,e1,b,e1\nb,e2,c,e1\n",
}


@pytest.mark.parametrize(
    "texts",
    [
        {"g.dot": DOT.format('a -- b [label="400G"]; b -- c')},
        {"g.dot": DOT.format('a -- b [bandwidth="400G"]; b -- c [label=x]')},
        {"g.dot": DOT.format("subgraph { edge [speed=400G] a -- b } b -- c")},
        {"g.dot": LATE},
        {"g.graphml": KEYS.format("<data key='s'>400G</data>")},
        {"g.graphml": KEYS.format("<data key='r'>4e11</data>")},
        {"g.graphml": KEYS.format(f"<data key='x'>{LABEL}</data>")},
        {"g.gml": GML},
        {"f.clab.yml": LAB},
        NETBOX,
        {"l.csv": "from,to,rate,class\na,b,400G,host\nb,c,,local\n"},
    ],
)
def test_what_an_edge_or_node_says_replaces_defaults(texts: dict[str, str], tmp_path: Path) -> None:
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    made = scenario_of(read([tmp_path / name for name in texts]), "fabric", Answers(rate="100Gb/s"))
    assert rates(describe(made.fabric)) == {("host", 400): 1, ("local", 100): 1}


@pytest.mark.parametrize(
    "names", [("cables.csv", "devices.csv", "interfaces.csv"), ("all-data.csv",)]
)
@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_signs_capitals_and_byte_order_marks_of_netbox_change_nothing(
    names: tuple[str, ...], sign: str, tmp_path: Path
) -> None:
    for name in names:
        head, *rows = csv.reader((DATA / name).read_text().splitlines())
        with (tmp_path / name).open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, delimiter=sign).writerows([map(str.upper, head), *rows])
    changed = read([tmp_path / name for name in names])
    original = read([DATA / name for name in names])
    both = ([replace(link, file="") for link in network.links] for network in (changed, original))
    assert next(both) == next(both)


def test_a_second_file_of_a_format_that_has_a_fabric_in_one_is_refused() -> None:
    with pytest.raises(InputError, match=r"a second fabric beside topology\.conf"):
        read([DATA / "topology.conf", DATA / "blocks.conf"])


def test_what_is_left_out_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "switches:\n  S1:\n    switches: [S2, S3]\nblocks:\n- switch: S2\n  nodes: [a, b]\n"
    )
    assert read([path]).notes == ["the switch S3 has no nodes and is left out"]
    path = tmp_path / "t.txt"
    path.write_text("3 1 2\n2\n0 2 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n0 1 1Gbps 1ns 0\n")
    assert read([path]).notes == ["1 line after the links is left out"]
    path = tmp_path / "t.gml"
    path.write_text(
        "graph [ node [ id 0 Longitude 0 Latitude 0 ] node [ id 1 Longitude 90 Latitude 0 ]\n"
        "edge [ source 0 target 1 ] ]"
    )
    network = read([path])
    # A quarter of the equator.
    assert network.links[0].length == "1000000m"
    assert "longer than 1,000 km" in network.notes[0]
    path = tmp_path / "several.yaml"
    path.write_text(
        "- topology: a\n  tree: {switches: [{switch: s, nodes: n1}]}\n"
        "- topology: b\n  tree: {switches: [{switch: s, nodes: n2}]}\n"
    )
    left_out = "the topology b is left out: the cluster's default is read, or the first"
    assert left_out in read([path]).notes
    path = tmp_path / "cables.csv"
    path.write_text(
        "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,type,status\n"
        "h1,dcim.interface,e0,s1,dcim.interface,p1,smf,decommissioning\n"
    )
    (note,) = [note for note in read([path]).notes if "decommissioning" in note]
    assert note.startswith("1 cable is there and will be taken out")


def test_the_inside_of_a_server_is_noted() -> None:
    assert imported("nccl.xml").notes == [
        "a server has 1 GPU, 2 NICs, 18 NVLinks",
        "GPU 0 is nearest to mlx5_0: PIX",
    ]


def test_a_cable_that_is_missing_against_the_regular_fabric_is_named(tmp_path: Path) -> None:
    rows = [f"h{leaf}{host},leaf{leaf}" for leaf in range(4) for host in range(2)]
    joined = [f"leaf{leaf},spine{spine}" for leaf in range(4) for spine in range(3)]
    joined.remove("leaf2,spine1")
    path = tmp_path / "links.csv"
    path.write_text("\n".join(rows + joined))
    description = describe(scenario_of(read([path]), "fabric", NONE).fabric)
    assert description.missing == (("leaf2", "spine1"),)
    expected = "fat_tree: leaves = 4, hosts_per_leaf = 2, cores = 3, links_per_core = 1"
    assert description.resembles == expected
    assert description.odd == (
        "cables of 100 Gb/s to level 1: leaf2 has 2, most of level 0 have 3",
        "cables of 100 Gb/s to level 0: spine1 has 3, most of level 1 have 4",
    )
    # 8 hosts below, 11 cables above.
    assert [round(taper.ratio, 3) for taper in description.tapers] == [0.727]


@pytest.mark.parametrize(
    "text", ["a[0-2,7]", "b[01-10]", "rack[1-2]n[1-3]", "login", "x[008-011],y"]
)
def test_lists_of_names_come_back(text: str) -> None:
    names = expanded(text)
    assert expanded(compact(names)) == names


CYCLE = "SwitchName=a Switches=b\nSwitchName=b Switches=a\n"
BOMB = "".join(f"<!ENTITY e{at} '&e{at - 1};&e{at - 1};'>" for at in range(1, 30))
ENDS, LINK = '[{"id": "a", "kind": "host"}, {"id": "s"}]', '"source": "a", "target": "s"'
MISTAKES = [
    ("t.conf", "SwitchName=a Nodes=n[1-2]\nSwitchName=b Switches=c\n", "line 2: c is not known"),
    ("t.conf", CYCLE, "is below itself; expected a tree"),
    ("t.conf", "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", "line 2: n1 is below b and a"),
    ("t.conf", "SwitchName=a Nodes=n[1-99999999]\n", "line 1: .*more than 1,048,576 names"),
    ("t.conf", "SwitchName=a Nodes=n[3-1]\n", r"line 1: \[3-1\]; expected ranges"),
    ("t.yaml", "- topology: t\n  tree: {switches: [{switch: a, nodes: [n, m]}]}\n", "in quotes"),
    ("t.yaml", "- topology: &x t\n  tree: *x\n", "line 2: an alias; expected values written out"),
    ("t.yaml", "- topology: t\n  tree: {switches: [\n", "line .*; expected YAML"),
    (
        "p.xml",
        f"<!DOCTYPE x [<!ENTITY e0 'a'>{BOMB}]><platform version='4.1'/>",
        "declares the entity 'e0'",
    ),
    ("p.xml", "<platform><host id='a'>", "line 1: no element found; expected XML"),
    ("p.xml", "<platform>" + "<zone>" * 1000, "elements in each other; expected fewer"),
    ("p.xml", "<platform><cluster id='a' radical='0-999999999' bw='1Bps'/></platform>", "hosts"),
    ("p.xml", "<platform><cluster id='a' radical='0-3' bw='1'/></platform>", "with its unit"),
    ("n.txt", "3 1 2\n2\n0 2 1Gbps 1ns 0\n7 2 1Gbps 1ns 0\n", "line 4: 7; expected 0 to 2"),
    (
        "p.xml",
        "<platform><host id='a'/><host id='b'/><link id='l' bandwidth='1Bps'/></platform>",
        "hosts and paths between them alone",
    ),
    ("i.yaml", "infrastructure:\n  instances: []\n  connections: []\n", "an older grammar"),
    ("n.txt", "3 1 9\n2\n0 2 1Gbps 1ns 0\n", "line 1: 9 links; 1 lines follow"),
    ("g.dot", "graph { a -- b [label=x", "line 1: 'the end'; expected"),
    ("g.dot", "graph { a -- a }", "line 1: a is joined to itself"),
    ("g.dot", "graph " + "{ subgraph " * 100 + "}", "subgraphs in each other"),
    ("g.gml", "graph [ node [ id 0 ] edge [ source 0 target 5 ] ]", "line 1: '5' is no node"),
    ("g.gml", "graph [ node [", r"line 1: the end; expected '\]'"),
    ("l.csv", "a,b\nc\n", "line 2: 'c'; expected two names"),
    # Mistakes of cables come before the question for hosts, at their lines.
    ("l.csv", "from,to,rate\na,s,100G\nb,s,100X\n", 'line 3: "100X" is not a bit rate'),
    ("l.csv", "b,s,100G\na,s,100X\n", 'line 2: "100X" is not a bit rate'),
    ("l.csv", "from,to,length\na,s,3m\nb,s,3\n", 'line 3: "3" is not a length'),
    ("l.csv", "from,to,medium\na,s,glass\n", 'line 2: "glass" is not a medium'),
    ("l.csv", "from,to,from_port\na,s,1\na,s,1\n", "line 3: port 1 of a has two cables"),
    ("l.csv", "from,to,class\na,s,hosts\n", "line 2: the class 'hosts'; expected host, local or"),
    ("g.dot", 'graph { a -- s\nb -- s [rate="100X"] }', 'line 2: "100X" is not a bit rate'),
    ("n.txt", "3 1 2\n2\n0 2 1Gbps 1ns 0\n1 2 1X 1ns 0\n", 'line 4: "1X" is not a bit rate'),
    ("l.csv", "from,to,links\na,b,9999\n", "line 2: 9999 parallel cables; expected 1 to 1,024"),
    ("c.csv", "side_a_name,side_b_name\nx\n", "line 2: expected 2 cells"),
    ("f.json", '{"nodes": [{"id": "a"}], "links": [{"source": "a", "target": "b"}]}', "b is not"),
    (
        "f.json",
        f'{{"nodes": {ENDS}, "links": [{{{LINK}, "rate": NaN}}]}}',
        '"nan" is not a bit rate',
    ),
    ("f.json", f'{{"nodes": {ENDS}, "links": [{{{LINK}, "rate": 1e400}}]}}', '"inf" is not a bit'),
    ("f.clab.yml", "topology:\n  nodes:\n    a: {}\n  links:\n  - endpoints: [x]\n", "NODE:INTERF"),
    ("t.topo", "Nodes 10\nTiers 2\nTier 0\nRadix_Down 4\nTier 1\nRadix_Down 2\n", "multiples"),
    ("a.txt", "router 0 node 0 router x\n", "expected a whole number"),
    ("x.bin", "nothing known\n", "of no known format; expected --form slurm, "),
]


@pytest.mark.parametrize(("name", "text", "expected"), MISTAKES)
def test_mistakes_are_named_by_place(name: str, text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=expected) as caught:
        scenario_of(read([path]), "fabric", NONE)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 600


def test_a_file_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(3 * 2**30)
    with pytest.raises(InputError, match="Larger than 67,108,864 bytes"):
        read([path])
