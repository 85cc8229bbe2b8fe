"""The verb ``import``: what it writes, and what it leaves as it is."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import Result

import etherweave
import etherweave.formats
from support import command_line

DATA = Path(__file__).parents[1] / "data/fabrics"
STAR = "a,s,100G,3m\nb,s,100G,3m\n"


def imported(
    folder: Path, files: Mapping[str, str], *options: object, code: int | None = 0
) -> Result:
    """Write files into a folder, and import them as those of one fabric."""
    for name, text in files.items():
        (folder / name).write_text(text)
    return command_line.invoke("import", *(folder / name for name in files), *options, code=code)


def test_an_import_keeps_a_scenario_to_which_a_job_was_added(tmp_path: Path) -> None:
    (tmp_path / "star.csv").write_text(STAR)
    command = ("import", tmp_path / "star.csv", "-o", tmp_path / "fabric")
    command_line.invoke(*command, code=0)
    command_line.invoke(*command, code=0)  # Equal files are no loss.
    scenario = tmp_path / "fabric/star.toml"
    text = scenario.read_text()
    scenario.write_text(text + '[[job]]\nname = "all"\n')
    done = command_line.invoke(*command, code=2)
    assert "star.toml: exists with other contents, which stay; expected another -o" in done.stderr
    assert scenario.read_text().endswith('name = "all"\n')
    command_line.invoke(*command, "--overwrite", code=0)
    assert scenario.read_text() == text


NETBOX = {
    "d.csv": "name,role,device_type\na,server,x\nb,server,x\ns,leaf,x\nspare,server,x\n",
    "c.csv": "side_a_device,side_a_name,side_b_device,side_b_name\na,e1,s,p1\nb,e1,s,p2\n",
}
LAB = """\
topology:
  nodes:
    s: {kind: sonic-vs}
    a: {kind: linux}
    b: {kind: linux}
    br: {kind: bridge}
  links:
  - endpoints: ["s:e1", "a:eth1"]
  - endpoints: ["s:e2", "b:eth1"]
"""
BRIDGE, OUTSIDE = '  - endpoints: ["a:eth2", "br:e1"]\n', '  - endpoints: ["b:eth2", "host:e2"]\n'
STUB = '  - endpoints: ["s:e3", "br:e1"]\n  - endpoints: ["s:e4", "br:e2"]\n'
JSON = '{"nodes": [{"id": "a"}, {"id": "b"}, {"id": "s", "kind": "switch"}, {"id": "x", \
"kind": "host"}], "links": [{"source": "a", "target": "s"}, {"source": "b", "target": "s"}]}'
APART = "a,s\nb,s\nt,u\nt,v\nu,v\n"
BY_CLASS = "from,to,class\na,s,host\nb,s,host\nc,t,host\n"
LEFT_OUT = [
    (NETBOX, "1 node has no cable and is left out: spare"),
    ({"f.clab.yml": LAB}, "1 node has no cable and is left out: br"),
    # A bridge at which a single host ends carries nothing between hosts.
    ({"f.clab.yml": LAB + BRIDGE}, "1 switch joins no two hosts and is left out, with 1 cable: br"),
    ({"f.clab.yml": LAB + STUB}, "1 switch joins no two hosts and is left out, with 2 cables: br"),
    ({"f.clab.yml": LAB + OUTSIDE}, "1 link that leaves the laboratory is left out"),
    ({"g.dot": "graph { a -- s; b -- s; legend; }"}, "1 node has no cable and is left out: legend"),
    ({"g.dot": "graph { a -- s; b -- s; x; y }"}, "2 nodes have no cable and are left out: x, y"),
    ({"f.json": JSON}, "1 node has no cable and is left out: x"),
    ({"l.csv": APART}, "3 switches join no two hosts each and are left out, with 3 cables: t, u"),
    ({"l.csv": BY_CLASS}, "1 host has no other cable and is left out: c"),
]


@pytest.mark.parametrize(("texts", "note"), LEFT_OUT)
def test_what_joins_no_host_is_left_out(texts: dict[str, str], note: str, tmp_path: Path) -> None:
    done = imported(tmp_path, texts)
    assert ": 2 hosts, 1 switch, 2 cables" in done.stdout
    assert f"Note: {note}" in done.stdout


def test_a_pattern_of_hosts_decides_what_the_file_does_not_say(tmp_path: Path) -> None:
    tree = {"t.conf": "SwitchName=s0 Nodes=n[1-4]\n"}
    done = imported(tmp_path, tree, "--hosts", "n[12]")
    assert "t: 4 hosts, 1 switch" in done.stdout
    assert "Note: the file has 2 hosts that --hosts does not match: n3, n4" in done.stdout
    done = imported(tmp_path, tree, "--hosts", "zz*", code=2)
    assert "--hosts 'zz*' matches no node; expected some of n1, n2, n3, n4, …" in done.stderr
    # Routers of Linux have the kind of hosts, so that the kind is an assumption.
    lab = {"f.clab.yml": LAB.replace("sonic-vs", "linux")}
    done = imported(tmp_path, lab, "--hosts", "[ab]")
    assert "f: 2 hosts, 1 switch" in done.stdout


def test_a_switch_of_the_file_stays_one(tmp_path: Path) -> None:
    graph = {"g.dot": 'graph { a -- s; b -- s; s [kind="switch"] }'}
    done = imported(tmp_path, graph, "--hosts", "*")
    assert "g: 2 hosts, 1 switch" in done.stdout
    assert "Note: the file has 1 switch that --hosts matches: s" in done.stdout


LATENCIES = "Note: latencies of links are left out: they hold more than the cable (--length)"
DELAYS = "Assumed: delays are cables of 5 ns a metre"
DELAYED = (
    (DATA / "infragraph.yaml").read_text().replace("{bandwidth:", "{latency: {ns: 50}, bandwidth:")
)
CABLES = "{endpoints: ['a:e', 's:1']}, {endpoints: ['b:e', 's:2']}"
FLOW_STYLE: list[dict[str, str]] = [
    {"f.yaml": "switches: {s: {switches: [l]}}\nblocks: [{switch: l, nodes: ['n[1-2]']}]\n"},
    {"f.yaml": "- {topology: t, tree: {switches: [{switch: s, nodes: 'n[1-2]'}]}}\n"},
    {"f.yml": f"topology: {{nodes: {{s: {{kind: ceos}}, a: , b: }},\n links: [{CABLES}]}}\n"},
]
SAID: list[tuple[Path | dict[str, str], str]] = [
    (DATA / "simgrid.xml", LATENCIES),
    (DATA / "simgrid-zone.xml", LATENCIES),
    (DATA / "astra.yml", LATENCIES),
    ({"g.dot": "graph { a -- s [latency=1us]; b -- s }"}, LATENCIES),
    ({"f.json": JSON.replace('"target"', '"delay": 1, "target"')}, LATENCIES),
    (DATA / "two-tier.topo", DELAYS),
    ({"f.yaml": DELAYED}, DELAYS),
    (DATA / "ns3.txt", DELAYS),
    ({"l.csv": "from,to,Rack Unit,latency\na,s,1,5us\nb,s,2,5us\n"}, "columns Rack Unit, latency"),
    ({"l.csv": "h0,s0,100Gbps\nh1,s0,1G\n"}, "Assumed: length 3m of all cables (--length)"),
    ({"l.csv": "h0,s0,100Gbps\nh1,s0,1G\n"}, "Assumed: h and a number are hosts, s and a number"),
    ({"l.csv": "h0,s,10G,3m\nh1,s,10G,1000km\n"}, "1 host, 10 Gb/s, optical, 1,000,000 m"),
    *((file, "f: 2 hosts, ") for file in FLOW_STYLE),
]


@pytest.mark.parametrize(("file", "sentence"), SAID)
def test_what_is_read_and_assumed_is_shown(
    file: Path | dict[str, str], sentence: str, tmp_path: Path
) -> None:
    files = file if isinstance(file, dict) else {file.name: file.read_text()}
    assert sentence in imported(tmp_path, files).stdout


@pytest.mark.parametrize("suffix", ["csv", "json", "yaml", "xml", "conf"])
@pytest.mark.parametrize("form", [(), ("--form", "edge_list")])
def test_an_empty_file_is_called_so(suffix: str, form: tuple[str, ...], tmp_path: Path) -> None:
    done = imported(tmp_path, {f"f.{suffix}": "\n"}, *form, code=2)
    assert done.stderr == f"{tmp_path}/f.{suffix}: empty; expected a file of a fabric\n"


INFRA = (DATA / "infragraph.yaml").read_text()
TIERS = "Nodes 16\nTiers 2\nPodsize 17\nTier 0\nRadix_Down 4\nRadix_Up 2\nTier 1\nRadix_Down 4\n"
SLICE = (
    "devices: [{name: n, components: [{name: nic, count: 2, choice: nic}]}]\n"
    "links: []\ninstances: [{name: h, device: n, count: 2}]\n"
    "edges: [{ep1: {instance: 'h[7]', component: nic}, ep2: {instance: h, component: nic}}]\n"
)
MISTAKES = [
    ("f.json", "[" * 200_000, "too many brackets in each other; expected fewer"),
    ("f.json", '{"a": ', "expected JSON"),
    ("f.yaml", "a: [", "expected YAML"),
    ("f.xml", "<a><b>", "line 1: no element found; expected XML"),
    ("f.json", "{}", "of no known format; expected --form slurm"),
    (
        "f.csv",
        "side_a_device,side_a_nme,side_b_device,side_b_name\na,e,b,e\n",
        "line 1: no column side_a_name; there is side_a_nme",
    ),
    ("f.csv", "frm,to,rate\na,s,1G\n", "line 1: 'frm,to,rate' names no two ends; expected columns"),
    (
        "t.topo",
        "Nodes 17\nTiers 2\nPodsize 16\nTier 0\nRadix_Down 4\nTier 1\nRadix_Down 2\n",
        "Nodes: 17 nodes, 4 a ToR; expected multiples of each other",
    ),
    ("f.yaml", INFRA.replace("link: ", "link: no-"), "is not listed; expected"),
    ("f.yaml", INFRA.replace("gigabits_per_second", "megabits"), "bandwidth in megabits; expected"),
    ("a.txt", "router 0 node 0\nrouter 1 node 0 router 0\n", "line 2: node0 is at router0 already"),
    ("t.topo", TIERS, "Podsize: 17 of 16 nodes; expected equal pods"),
    ("f.clab.yml", LAB.replace('"s:e1", ', ""), "topology.links[0].endpoints: 1 end; expected two"),
    ("f.clab.yml", LAB.replace("kind: linux", "group: rak"), "the group rak is not listed"),
    ("f.yml", "- topology: t\n  tree: {switches: [{switch: s, nodez: a}]}\n", "there is nodez"),
    ("l.csv", "a,s\nb,s\n", "no node; expected some of a, b, s", "--hosts", ""),
    ("l.csv", STAR, '--rate: "100" is not a bit rate', "--rate", "100", "--name", "other"),
    ("l.csv", "a,s\nb,s\nc,t\nd,t\n", "c cannot be reached from a; expected a connected fabric"),
    ("f.yaml", SLICE, "edges[0]: h[7] is beyond h; expected 0 to 1"),
]


@pytest.mark.parametrize(
    ("name", "text", "expected", "options"), [(*case[:3], case[3:]) for case in MISTAKES]
)
def test_what_is_wrong_in_a_file_is_named(
    name: str, text: str, expected: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    assert expected in imported(tmp_path, {name: text}, *options, code=2).stderr


def test_a_name_that_leads_out_of_the_output_is_that_of_the_option(tmp_path: Path) -> None:
    done = imported(tmp_path, {"star.csv": STAR}, "--name", "../../x", code=2)
    assert done.stderr == "--name ../../x: expected a name of a file, without slashes\n"


def test_a_directory_with_an_imported_scenario_is_its_list_of_links(tmp_path: Path) -> None:
    home = tmp_path / "fabric"
    imported(tmp_path, {"star.dot": "graph { a -- s; b -- s }"}, "-o", home)
    (home / "results").mkdir()
    done = command_line.invoke("import", home, code=0)
    assert "fabric: 2 hosts, 1 switch, 2 cables" in done.stdout
    assert "Note: star.toml is left out: it is a scenario of Etherweave" in done.stdout
    assert "Note: 1 folder inside is left out: results" in done.stdout
    done = command_line.invoke("import", home / "star.toml", code=2)
    assert "it is a scenario of Etherweave; expected a file of a fabric beside it" in done.stderr
    done = command_line.invoke("import", tmp_path, code=0)
    assert "Note: 1 folder inside is left out: fabric" in done.stdout


def test_two_exports_in_a_directory_are_named_by_their_formats(tmp_path: Path) -> None:
    (tmp_path / "f-ns3-flows.txt").write_text("1\n0 1 3 100 1000 0\n")
    (tmp_path / "f-ns3-nodes.csv").write_text("id,name\n0,a\n1,b\n2,s\n")
    (tmp_path / "f-ns3-topology.txt").write_text("3 1 2\n2\n0 2 1Gbps 5ns 0\n1 2 1Gbps 5ns 0\n")
    (tmp_path / "f.cm").write_text("Nodes 2\nConnections 0\n")
    done = command_line.invoke("import", tmp_path, code=0)
    for name in ("f-ns3-flows.txt", "f.cm"):
        assert f"Note: {name} is left out: it is a list of flows" in done.stdout
    (tmp_path / "f.topo").write_text("Nodes 4\nTiers 2\n")
    done = command_line.invoke("import", tmp_path, code=2)
    expected = "htsim, and f-ns3-nodes.csv is ns3; expected files of a single format, by their"
    assert f"f.topo: {expected} names\n" in done.stderr


PANELS = "1 cable to patch panels or circuits is left out, as NetBox traces paths from interfaces"
POWERED = """\
side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,type
s,dcim.interface,p1,a,dcim.interface,e1,smf
s,dcim.interface,p2,b,dcim.interface,e1,smf
s,dcim.powerport,PSU1,pdu,dcim.poweroutlet,o1,power
s,dcim.consoleport,con,cs,dcim.consoleserverport,p1,cat5e
s,dcim.interface,p3,panel,dcim.frontport,f1,smf
"""
ALL_DATA = """\
Termination A,Termination B,Device A,Device B,Type
p1,e1,s,a,SMF
p2,e1,s,b,SMF
PSU1,o1,s,pdu,Power
"""


def _termination(kind: str, device: str, name: str) -> list[dict[str, object]]:
    of = {"display": name, "name": name, **({"device": {"name": device}} if device else {})}
    return [{"object_type": kind, "object": of}]


def _rest(*sides: tuple[tuple[str, str, str], tuple[str, str, str]]) -> str:
    ends = ([_termination(*end) for end in both] for both in sides)
    cables = [{"a_terminations": first, "b_terminations": second} for first, second in ends]
    return json.dumps({"results": cables})


PORT, POWER = "dcim.interface", ("dcim.powerport", "s", "PSU1")
REST = _rest(
    ((PORT, "s", "p1"), (PORT, "a", "e1")),
    ((PORT, "s", "p2"), (PORT, "b", "e1")),
    (POWER, ("dcim.powerfeed", "", "feed 1")),
    ((PORT, "s", "p3"), ("circuits.circuittermination", "", "circuit 7")),
)


@pytest.mark.parametrize(
    ("name", "text", "notes"),
    [
        (
            "c.csv",
            POWERED,
            ["2 cables of power and consoles are left out", f"{PANELS}: s p3 - panel f1"],
        ),
        ("c.csv", ALL_DATA, ["1 cable of power and consoles is left out"]),
        (
            "c.json",
            REST,
            ["1 cable of power and consoles is left out", f"{PANELS}: s p3 - circuit 7"],
        ),
    ],
)
def test_cables_of_netbox_that_join_no_interfaces_are_left_out(
    name: str, text: str, notes: list[str], tmp_path: Path
) -> None:
    done = imported(tmp_path, {name: text})
    assert "c: 2 hosts, 1 switch, 2 cables" in done.stdout
    listed = [line.strip() for line in done.stdout.splitlines() if line.startswith("  Note: ")]
    assert listed == [f"Note: {note}" for note in notes]


def _neighbours(*seen: tuple[str, str, str, str]) -> str:
    """Write neighbours as lldpd does: own port, device, its port, its capability if any."""
    interfaces = [
        {
            port: {
                "chassis": {
                    device: {"capability": [{"type": kind, "enabled": True}]} if kind else {}
                },
                "port": {"id": {"type": "ifname", "value": peer}},
            }
        }
        for port, device, peer, kind in seen
    ]
    return json.dumps({"lldp": {"interface": interfaces}})


def test_a_neighbour_without_capabilities_beside_one_with_is_a_host(tmp_path: Path) -> None:
    leaf = _neighbours(("e1", "a", "eth0", "Station"), ("e2", "b", "eth0", ""))
    done = imported(tmp_path, {"leaf.json": leaf})
    assert "leaf: 2 hosts, 1 switch" in done.stdout
    assert "Assumed: 1 neighbour without capabilities is a host: b (--hosts)" in done.stdout


def test_a_node_without_a_kind_beside_hosts_is_named(tmp_path: Path) -> None:
    graph = {"g.dot": "graph { a [kind=host]; b [kind=host]; a -- s; b -- s }"}
    done = imported(tmp_path, graph)
    assert "Assumed: 1 node without a kind is a switch: s (--hosts)" in done.stdout
    done = imported(tmp_path, graph, "--hosts", "[ab]")
    assert "without a kind" not in done.stdout


def test_an_alias_of_a_port_is_the_port_of_its_device(tmp_path: Path) -> None:
    first = _neighbours(("Ethernet0", "l2", "Ethernet4", "Router"), ("Ethernet8", "a", "eth0", ""))
    second = _neighbours(("Ethernet4", "l1", "etp1", "Router"), ("Ethernet8", "b", "eth0", ""))
    done = imported(tmp_path, {"l1.json": first, "l2.json": second})
    assert "l1: 2 hosts, 2 switches, 3 cables" in done.stdout
    assert "Note: aliases of ports: etp1 is Ethernet0 of l1" in done.stdout


def test_two_cables_at_a_port_are_named_with_the_file_of_the_second(tmp_path: Path) -> None:
    files = {
        "a.csv": "from,from_port,to,to_port\na,e1,s,p1\nb,e1,s,p2\n",
        "b.csv": "from,from_port,to,to_port\nc,e1,s,p2\n",
    }
    done = imported(tmp_path, files, code=2)
    expected = "port p2 of s has two cables, to b e1 and to c e1; expected one cable per port"
    assert done.stderr == f"{tmp_path / 'b.csv'}: line 2: {expected}\n"


def test_a_speed_of_infiniband_that_is_not_known_is_noted(tmp_path: Path) -> None:
    text = (DATA / "ibnetdiscover.txt").read_text()
    speed = next(line.rsplit(maxsplit=1)[1] for line in text.splitlines() if line.endswith("DR"))
    done = imported(tmp_path, {"f.txt": text.replace(speed, "4xERD")})
    assert "Note: the speed 4xERD is not known and left out (line " in done.stdout


def test_a_host_of_another_rate_is_odd(tmp_path: Path) -> None:
    lines = [f"h{at},s{at % 3},{'25G' if at == 4 else '100G'}" for at in range(12)]
    lines += [f"s{at},c{core},100G" for at in range(3) for core in range(2)]
    done = imported(tmp_path, {"l.csv": "\n".join(lines)}, "--hosts", "h*")
    assert "Odd: cables of 25 Gb/s to hosts: s1 has 1, most of level 0 have 0" in done.stdout
    assert done.stdout.count("Odd: ") == 1


def test_fabrics_are_read_and_written_from_python(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(STAR)
    assert len(etherweave.formats.read(str(tmp_path / "l.csv")).links) == 2
    fabric = etherweave.fabric({"name": "f", "topology": {"single_switch": {"hosts": 2}}})
    assert "f-ns3-topology.txt" in etherweave.formats.write(fabric, "ns3")
    with pytest.raises(ValueError, match="nonsense: no such format; expected one of slurm_block"):
        etherweave.formats.write(fabric, "nonsense")
