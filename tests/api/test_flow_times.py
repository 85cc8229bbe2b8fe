"""Flows that arrive while a run goes on: ideal times, slowdowns, loads, lists."""

import itertools
import json
import math
import random
import tomllib
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import etherweave
from etherweave.api.flow_times import flow_lines, flow_times
from etherweave.api.overview import overview
from etherweave.api.results import GROUP, CoreTables, Result
from etherweave.api.units import amount, time_of
from support import command_line

HEAD = "source,destination,bytes,start_ns\n"
HEADERS = 20 + 18 + 4 + 20 + 8 + 12 + 4
"""Headers of RoCE v2 on the wire [B]: preamble and gap, Ethernet, 802.1Q, IPv4, UDP, BTH, ICRC."""
POST_NS, READ = 120, 64  # Overhead of a send; bytes that a switch reads before it sends a frame on.


def scenario(flows: dict[str, Any], hosts: int = 2, **keys: Any) -> dict[str, Any]:
    topology = {"single_switch": {"hosts": hosts, "rate": "100Gb/s"}}
    return {"topology": topology, **keys, "job": [{"name": "web", "workload": {"flows": flows}}]}


def listed(rows: list[tuple[int, int, int, float]]) -> dict[str, Any]:
    return {"text": HEAD + "".join(f"{a},{b},{size},{start}\n" for a, b, size, start in rows)}


def times(result: Result) -> etherweave.FlowTimes:
    (job,) = flow_times(result)
    return job


@pytest.mark.parametrize("forwarding", ["cut_through", "store_and_forward"])
def test_the_ideal_time_is_that_of_a_path_by_hand(forwarding: str) -> None:
    flows = listed([(0, 1, 10_000, 0), (1, 0, 64, 500_000)])
    result = etherweave.run(scenario(flows, switch={"forwarding": forwarding}))
    values = result.scenario
    path = [values["nic"]["transmit_latency"], values["nic"]["receive_latency"]]
    # Two cables of 3 m at 5 ns/m.
    delays = sum(map(time_of, [*path, values["switch"]["latency"]])) * 1e9 + 2 * 15 + POST_NS
    # Frames of up to 4,096 B; the first has an RETH (16 B) as well.
    full, last = 4_096 + HEADERS, 10_000 - 2 * 4_096 + HEADERS
    large, small = READ + 2 * full + 16 + last, READ + 64 + HEADERS + 16
    if forwarding == "store_and_forward":
        # Equal links: the last frame waits for those before it at the second.
        large, small = 2 * (full + 16) + full + last, 2 * (small - READ)
    expected = {10_000: delays + large * 0.08, 64: delays + small * 0.08}
    columns = (result.values("flow_times", name) for name in ("bytes", "ideal_ns"))
    assert dict(zip(*columns, strict=True)) == pytest.approx(expected, abs=0.01)


def test_the_ideal_time_of_hpcc_has_the_payload_of_a_packet_on_each_link() -> None:
    """Both definitions have the delays twice; of ABM only the bytes follow, at 0.08 ns each."""
    ideal = {}
    for name in ("hpcc", "abm"):
        result = etherweave.run(scenario(listed([(0, 1, 10_000, 0)]) | {"ideal": name}))
        (ideal[name],) = map(float, result.values("flow_times", "ideal_ns"))
    expected = (2 * 4_096 + 3 * HEADERS) * 0.08
    assert ideal["hpcc"] - ideal["abm"] == pytest.approx(expected, abs=0.01)


TWO = [{"size": 4, "rate": "100Gb/s", "cable": "20m"}] * 2
TREE = {"leaves": 2, "hosts_per_leaf": 8, "cores": 2, "uplink_rate": "25Gb/s"}
PATHS: dict[str, tuple[dict[str, Any], int, list[int], list[int]]] = {
    "single_switch": ({"hosts": 16}, 9, [3, 3], [100, 100]),
    "fat_tree": (TREE, 15, [3, 20, 20, 3], [100, 25, 25, 100]),
    "torus": ({"dimensions": TWO}, 10, [3, 20, 20, 20, 20, 3], [100] * 6),
    "hyperx": (
        {"dimensions": TWO, "host_rate": "400Gb/s"},
        20,
        [3, 20, 20, 3],
        [400, 100, 100, 400],
    ),
    "dragonfly": ({"a": 4, "p": 2, "h": 2, "local_rate": "50Gb/s"}, 7, [3, 8, 3], [100, 50, 100]),
}
"""Fabrics, a host, and lengths [m] and rates [Gb/s] of the links from host 0 to it."""


@pytest.mark.parametrize("name", PATHS)
def test_ideal_times_of_five_fabrics_are_those_of_paths_by_hand(name: str) -> None:
    """Cables at 5 ns/m, switches that read 64 B or, before faster links, all of a frame."""
    parameters, destination, metres, rates = PATHS[name]
    topology = {name: parameters}
    flows = listed([(0, destination, 1_000, 0)])
    result = etherweave.run({**scenario(flows), "topology": topology})
    values = result.scenario
    ends = [values["nic"]["transmit_latency"], values["nic"]["receive_latency"]]
    switches = [values["switch"]["latency"]] * (len(metres) - 1)
    delays = sum(map(time_of, ends + switches)) * 1e9 + 5 * sum(metres)
    frame = 1_000 + HEADERS + 16
    read = [READ if to <= rate else frame for rate, to in itertools.pairwise(rates)] + [frame]
    expected = (
        delays + POST_NS + sum(size * 8 / rate for size, rate in zip(read, rates, strict=True))
    )
    assert result.values("flow_times", "ideal_ns") == pytest.approx([expected], abs=0.01)
    assert times(result).below == 0


SIZES = [1, 1_000, 4_096, 4_097, 4_448, 4_449, 10_000, 1_000_000]
"""Flows [B], of which 4,096 B and 4,448 B are a packet of RoCE and a segment of TCP."""


@pytest.mark.parametrize("name", [name for name in PATHS if name != "hyperx"])
@pytest.mark.parametrize(
    ("transport", "fidelity"),
    [("roce", "packet"), ("uet", "packet"), ("tcp", "packet"), ("roce", "flow")],
)
def test_a_flow_alone_takes_the_ideal_time_on_each_of_four_fabrics(
    name: str, transport: str, fidelity: str
) -> None:
    """Over TCP a flow that one batch does not take has slow start, too."""
    parameters, destination, *_ = PATHS[name]
    flows = listed([(0, destination, size, at * 5e6) for at, size in enumerate(SIZES)])
    keys: dict[str, Any] = {"transport": {transport: {}}, "run": {"fidelity": fidelity}}
    result = etherweave.run({**scenario(flows, **keys), "topology": {name: parameters}})
    rows = result.to_polars("flow_times").select("bytes", "slowdown")
    for size, slowdown in rows.rows():
        assert slowdown == pytest.approx(1, abs=1e-6) or (transport, size) == ("tcp", SIZES[-1])
        assert slowdown >= 1 - 1e-9


def pairs_of(result: Result) -> list[tuple[int, int]]:
    ends = (result.values("streams", f"{end}_host") for end in ("source", "destination"))
    numbers = ([int(str(host).removeprefix("host")) for host in hosts] for hosts in ends)
    return list(zip(*numbers, strict=True))


def test_shares_of_flows_stay_in_leaves_and_pods_of_the_fabric() -> None:
    """A k-ary fat tree of 8 ports: leaves of 4 hosts, pods of 16."""
    pairs = {"group_local": {"share": 0.8, "leaf_share": 0.5}}
    drawn = {"ranks": 128, "load": 0.5, "sizes": {"fixed": "10kB"}, "duration": "20us"}
    flows = scenario({**drawn, "pairs": pairs}, 128)
    result = etherweave.run({**flows, "topology": {"k_ary_fat_tree": {"k": 8}}})
    spec = result.scenario["job"][0]["workload"]["flows"]
    assert (spec["pairs"]["group_local"]["leaf_hosts"], spec["group"]) == (4, 16)
    ends = pairs_of(result)
    for hosts, share in ((4, 0.5), (16, 0.8)):
        local = sum(source // hosts == destination // hosts for source, destination in ends)
        error = math.sqrt(share * (1 - share) / len(ends))
        assert local / len(ends) == pytest.approx(share, abs=4 * error), hosts
    tree = {"fat_tree": {"leaves": 16, "hosts_per_leaf": 8, "cores": 2}}
    with pytest.raises(etherweave.ScenarioError, match=r"share: 0.8 where there is one group"):
        etherweave.run({**flows, "topology": tree})
    flows["job"][0]["workload"]["flows"]["pairs"] = {"group_local": {}}
    spec = tomllib.loads(etherweave.resolve({**flows, "topology": tree}))["job"][0]["workload"]
    assert spec["flows"]["group"] == 8


def test_flows_go_where_a_matrix_in_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "matrix.csv").write_text("source,destination,share\n0,1,3\n0,2,1\n1,2,1\n2,0,9\n")
    file = tmp_path / "a.toml"
    file.write_text(
        '[topology.single_switch]\nhosts = 3\n[[job]]\nname = "web"\nworkload.flows = { '
        'ranks = 3, sizes = { fixed = "10kB" }, duration = "1ms", pairs = { '
        'matrix = { file = "matrix.csv" } } }\n'
    )
    result = etherweave.run(file)
    ends = pairs_of(result)
    assert set(ends) == {(0, 1), (0, 2), (1, 2), (2, 0)}
    own = ends.count((0, 1)) + ends.count((0, 2))
    assert ends.count((0, 1)) / own == pytest.approx(0.75, abs=4 * math.sqrt(0.1875 / own))
    (tmp_path / "matrix.csv").write_text("source,destination,share\n0,1,3\n1,3,1\n")
    expected = r'pairs.matrix.file: "matrix.csv", line 3: 3; expected a host from 0 to 2'
    with pytest.raises(etherweave.ScenarioError, match=expected):
        etherweave.run(file)


def test_incasts_alone_draw_no_sizes() -> None:
    incast = {"senders": 2, "bytes": "10kB", "load": 0.1}
    run = etherweave.run(scenario({"ranks": 4, "load": 0, "duration": "1ms", "incast": incast}, 4))
    assert (times(run).sizes, times(run).size_mean) == (None, None)


@pytest.mark.parametrize(
    "sizes", ["web_search", "facebook_hadoop", "storage", "hadoop", "data_mining"]
)
def test_the_mean_of_a_distribution_is_printed_as_its_points_have_it(sizes: str) -> None:
    """The documented mean against the printed one; a test of the core has both by the points."""
    page = (Path(__file__).parents[2] / "docs/models/workload/flows.md").read_text()
    page = page.split("## Sizes")[1]
    mean = float(page.split(f'| `"{sizes}"` | ')[1].split(" |")[0].replace(",", ""))
    flows = {
        "ranks": 2,
        "sizes": sizes,
        "duration": "10ms",
        "flows_max": 1,
        "load": 1,
        "rate": "100Gb/s",
    }
    job = times(etherweave.run(scenario(flows, run={"end": "20us"})))
    assert job.size_mean == pytest.approx(mean, abs=0.5)
    assert job.figures()["size_bytes_mean"] == job.size_mean
    assert f"sizes {sizes}: mean {amount(mean, 'B')}, {job.size_source}" in flow_lines(job)[1]


def test_flows_of_one_size_are_a_bucket() -> None:
    flows = {"ranks": 4, "sizes": {"fixed": "10kB"}, "duration": "100us", "rate": "100Gb/s"}
    result = etherweave.run(scenario(flows, 4))
    assert [part.flows for part in times(result).buckets()] == [times(result).flows]
    assert len(etherweave.plot(result).data["slowdown_by_size"]) == 1


def test_a_list_that_is_too_long_is_refused_by_its_length(tmp_path: Path) -> None:
    with (tmp_path / "list.csv").open("wb") as file:
        file.truncate(3 << 30)
    flows = {"job.0.workload.flows.file": str(tmp_path / "list.csv")}
    with pytest.raises(
        etherweave.ScenarioError, match=r"a list of 3,221,225,472 bytes; .*\(1 GiB\)"
    ):
        etherweave.run(scenario({}), flows)


def test_a_link_that_flows_share_is_a_queue_of_processor_sharing() -> None:
    """M/G/1 with processor sharing: a mean slowdown of 1 / (1 - load), whatever the sizes."""
    draw, load, sources, size = random.Random(5), 0.5, 48, 100_000
    rate = load * 12.5 / size  # flows/ns
    start, rows = 0.0, []
    for number in range(6_000):
        start += draw.expovariate(rate)
        rows.append((number % sources, sources, draw.choice([size // 2, 3 * size // 2]), start))
    keys = {"run": {"fidelity": "flow"}}
    job = times(etherweave.run(scenario(listed(rows), sources + 1, **keys)))
    assert job.all is not None
    assert (job.flows, job.all.flows, job.below) == (6_000, 6_000, 0)
    frames = {size: size + math.ceil(size / 4_096) * HEADERS + 16 for size, _, _ in job.rows}
    slowdowns = []
    for size, slowdown, time_us in job.rows:
        service_us = frames[size] * 8e-5
        # Delays and overheads, which do not queue, are in both times.
        assert slowdown is not None
        fixed_us = time_us / slowdown - service_us
        slowdowns.append((time_us - fixed_us) / service_us)
    # Frames' headers add 2 % to the load.
    assert sum(slowdowns) / len(slowdowns) == pytest.approx(1 / (1 - load * 1.02), rel=0.06)


@pytest.mark.parametrize(
    ("transport", "fidelity"),
    [("roce", "packet"), ("uet", "packet"), ("tcp", "packet"), ("roce", "flow")],
)
def test_a_waiting_flow_starts_as_another_is_sent_or_arrives(transport: str, fidelity: str) -> None:
    head = "id,source,destination,bytes,start_us,after\n"
    rows = "last,2,0,900,0.25,there\nsent,0,2,900,0.25,all\nthere,1,2,10,3,all\nall,0,1,9000,7,\n"
    keys = {"transport": {transport: {}}, "run": {"fidelity": fidelity}}
    waiting = scenario({"text": head + rows}, 3, **keys)
    result = etherweave.run(waiting)
    flows = result.to_polars("flow_times").sort("bytes").rows(named=True)
    there, sent, last, all_of_it = sorted(flows, key=lambda flow: (flow["bytes"], flow["start_ns"]))
    assert all_of_it["start_ns"] == 7_000
    assert there["start_ns"] == pytest.approx(all_of_it["end_ns"] + 3_000)
    assert last["start_ns"] == pytest.approx(there["end_ns"] + 250)
    # An acknowledgement crosses two cables of 15 ns and a switch after the last byte is there.
    assert sent["start_ns"] - 250 > all_of_it["end_ns"] + 30 * (fidelity == "packet")
    assert result.summary["finished"] == "complete"
    several = etherweave.run(waiting, threads=3).to_polars("flow_times")
    assert several.equals(result.to_polars("flow_times"))


def test_jobs_take_flows_of_a_list_by_priority() -> None:
    text = "source,destination,bytes,priority\n0,1,900,0\n1,0,800,3\n0,1,700,3\n"
    urgent = {"name": "urgent", "priority": 3, "shared_hosts": True}
    urgent["workload"] = {"flows": {"text": text, "priority": 3}}
    lossless: dict[str, Any] = {"flow_control": {"pfc": {"priorities": [0, 3]}}}
    both = scenario({"text": text, "priority": 0}, **lossless)
    result = etherweave.run({**both, "job": [*both["job"], urgent]})
    rows = result.to_polars("flow_times").select("job", "bytes").rows()
    assert sorted(rows) == [("urgent", 700), ("urgent", 800), ("web", 900)]
    with pytest.raises(etherweave.ScenarioError, match=r"priority: beside no list; expected none"):
        etherweave.run(scenario({"ranks": 2, "priority": 0}))


@pytest.mark.parametrize("load_of", ["host_links", "uplinks"])
def test_the_load_is_of_host_links_or_of_uplinks(load_of: str) -> None:
    flows = {"ranks": 16, "load": 0.3, "load_of": load_of, "sizes": "storage", "duration": "2ms"}
    tree = {"fat_tree": {"leaves": 2, "hosts_per_leaf": 8, "cores": 2, "links_per_core": 1}}
    taper = {**tree["fat_tree"], "host_rate": "100Gb/s", "uplink_rate": "100Gb/s"}
    resolved = tomllib.loads(
        etherweave.resolve({**scenario(flows), "topology": {"fat_tree": taper}})
    )
    rate = {"host_links": "100Gb/s", "uplinks": "25Gb/s"}[load_of]
    assert resolved["job"][0]["workload"]["flows"]["rate"] == rate


def test_flows_before_the_end_of_the_warm_up_are_left_out() -> None:
    rows = [(0, 1, 1_000, 0.0), (1, 0, 1_000, 30_000.0), (0, 1, 1_000, 60_000.0)]
    job = times(etherweave.run(scenario(listed(rows), run={"warm_up": "20us"})))
    assert (job.flows, len(job.rows)) == (2, 2)


def test_flows_that_the_end_of_the_run_cuts_are_counted_and_later_ones_are_not() -> None:
    rows = [(0, 1, 1_000, 0.0), (1, 0, 4_000_000, 50_000.0), (0, 1, 1_000, 150_000.0)]
    job = times(etherweave.run(scenario(listed(rows), run={"end": "100us"})))
    assert (job.flows, len(job.rows), job.unfinished_mean) == (2, 1, 4_000_000)
    assert flow_lines(job)[0].startswith("web: 2 flows, 1 complete, 1 unfinished of mean 4 MB; ")
    drawn = {"ranks": 8, "load": 0.5, "sizes": {"fixed": "10kB"}, "duration": "10ms"}
    cut = times(etherweave.run(scenario(drawn, 8, run={"end": "2ms"})))
    assert cut.load == pytest.approx(0.5, rel=0.05)


def test_slowdowns_are_given_by_classes_and_by_buckets_and_only_with_flows_beyond() -> None:
    flows = {"ranks": 16, "load": 0.6, "sizes": "storage", "duration": "200us", "rate": "100Gb/s"}
    job = times(etherweave.run(scenario(flows, 16)))
    assert job.below == 0
    assert job.load == pytest.approx(0.6, rel=0.35)
    assert sum(part.flows for part in job.classes()) == job.flows == len(job.rows)
    buckets = job.buckets(10)
    counts = [part.flows for part in buckets]
    assert len(buckets) == 10
    assert max(counts) - min(counts) <= 1
    assert all("p999" not in part.quantiles for part in buckets)
    text = "\n".join(flow_lines(job))
    assert text.startswith(f"web: {job.flows} flows, load {job.load:.3f} of 100 Gb/s (0.6 asked)")


def test_the_verb_prints_slowdowns_and_gives_them_as_json(tmp_path: Any) -> None:
    (tmp_path / "list.csv").write_text(HEAD + "0,1,5000,0\n1,0,5000,0\n")
    file = tmp_path / "a.toml"
    file.write_text(
        '[topology.single_switch]\nhosts = 2\n[[job]]\nname = "web"\n'
        'workload.flows = { file = "list.csv" }\n'
    )
    text = command_line.run_here("run", file).stdout
    assert "  web: 2 flows; slowdown mean 1." in text
    assert "5 kB to 5 kB: 2 flows, mean " in text
    flows = json.loads(command_line.run_here("run", file, "--json").stdout)["flows"]["web"]
    assert (flows["flows"], flows["complete"], flows["load"]) == (2, 2, None)
    (tmp_path / "list.csv").write_text(HEAD + "0,1,5000,0\n1,x,5000,0\n")
    failed = command_line.run_here("run", file, code=2)
    expected = "expected the number of a rank from 0 to 1, as the fabric has: ranks are numbered"
    assert f'flows.file: "list.csv", line 3: x; {expected}' in failed.stderr
    (tmp_path / "list.csv").write_text(HEAD + "0,1,5000,0\n1,9,5000,0\n")
    failed = command_line.run_here("run", file, code=2)
    assert f'"list.csv", line 3: 9; {expected}' in failed.stderr


LISTED: dict[str, Any] = {"source": [0, 1, 1], "destination": [1, 0, 0], "bytes": [5_000, 700, 64]}
LISTED |= {"start_us": [0.0, 1.5, 0.25], "id": [4, 5, 6], "after": [None, None, 4]}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def of_parquet(folder: Path, columns: dict[str, Any]) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "list.parquet")
    file = folder / "a.toml"
    file.write_text(
        '[topology.single_switch]\nhosts = 2\n[[job]]\nname = "web"\n'
        'workload.flows = { file = "list.parquet" } # not file = "b.parquet"\n'
    )
    return file


@pytest.mark.usefixtures("workers_of_this_process")
def test_a_list_in_parquet_is_that_of_its_rows_and_stands_in_the_result(tmp_path: Path) -> None:
    result = etherweave.run(of_parquet(tmp_path, LISTED))
    text = f"{','.join(LISTED)}\n0,1,5000,0,4,\n1,0,700,1.5,5,\n1,0,64,0.25,6,4\n"
    expected = etherweave.run({**scenario({"text": text}), "name": "a"})
    assert result.scenario["job"][0]["workload"]["flows"]["text"] == text
    assert result.to_polars("flow_times").equals(expected.to_polars("flow_times"))
    replicated = command_line.run_here("run", tmp_path / "a.toml", "--replications", 2)
    assert "slowdown" in replicated.stdout


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"source": ["x"]}, "list.parquet: column source of type string; expected numbers"),
        (
            {"source": pyarrow.repeat(pyarrow.scalar(0, "u1"), 2**24 + 1)},
            "16,777,217 rows; expected at most 16,777,216",
        ),
        ({"source": [0], "bytes": [1]}, "line 1: no column destination"),
        ({**LISTED, "after": [None, None, 9]}, "line 4: after 9; expected the id of a flow"),
    ],
)
def test_what_is_no_list_is_refused(tmp_path: Path, columns: dict[str, Any], expected: str) -> None:
    assert expected in command_line.run_here("run", of_parquet(tmp_path, columns), code=2).stderr


def test_a_parquet_file_that_is_none_is_refused(tmp_path: Path) -> None:
    file = of_parquet(tmp_path, LISTED)
    (tmp_path / "list.parquet").write_bytes(b"PAR1" + bytes(99))
    expected = "list.parquet: damaged, or of another format; expected a table in Parquet"
    failed = command_line.run_here("run", file).stderr
    assert f"{expected} (key file at {file}:" in failed
    key = {"job.0.workload.flows.file": str(tmp_path / "list.parquet")}
    with pytest.raises(etherweave.ScenarioError, match="a table in Parquet, which Python reads"):
        etherweave.run(scenario({}), key)
    (tmp_path / "list.parquet").unlink()
    assert "list.parquet: No such file" in command_line.run_here("run", file).stderr


FLOWS = sorted((Path(__file__).parents[2] / "scenarios/flows").glob("*.toml"))


def test_rows_of_many_flows_are_written_in_groups_as_those_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"fixed": "100B"}
    flows = {"ranks": 8, "load": 0.3, "sizes": sizes, "duration": "230us", "rate": "100Gb/s"}
    # A shard keeps rows of flows that are over in a file; two shards keep all rows in memory.
    late, early = (etherweave.run(scenario(flows, 8), threads=threads) for threads in (1, 2))
    assert isinstance(late.tables, CoreTables)
    groups = {name: late.tables.groups_of(name) for name in ("streams", "flows", "flow_times")}
    counts = {name: [len(group) for group in groups or ()] for name, groups in groups.items()}
    assert all(first == GROUP and 0 < last < GROUP for first, last in counts.values()), counts
    for result, name in ((late, "late"), (early, "early")):
        result.save(tmp_path / name)
    for path in (tmp_path / "early").glob("*.parquet"):
        assert path.read_bytes() == (tmp_path / "late" / path.name).read_bytes(), path.name
    monkeypatch.setattr("etherweave.api.results.LONG_MIN", GROUP)
    loaded = Result.load(tmp_path / "late")
    assert overview(loaded) == overview(late) == overview(early)
    assert loaded.to_polars("flows").equals(early.to_polars("flows"))


@pytest.mark.parametrize("file", FLOWS, ids=lambda file: file.stem)
def test_flows_of_shipped_scenarios_are_complete_and_no_faster_than_the_fabric(file: Path) -> None:
    keys = {"job.0.workload.flows.ideal": "fabric"}
    job = times(etherweave.run(file, keys))
    assert job.flows == len(job.rows) > 0
    assert job.below == 0


def test_a_path_in_place_of_a_result_is_named() -> None:
    with pytest.raises(TypeError, match=r"'DIR'; expected a Result, as etherweave.Result.load"):
        flow_times("DIR")  # type: ignore[arg-type]


def test_flows_of_hosts_with_several_ports_are_complete_without_slowdowns() -> None:
    flows = {**listed([(0, 1, 10_000, 0), (1, 0, 64, 500_000)]), "ranks": 2}
    result = etherweave.run(scenario(flows, host_ports={"planes": 2}))
    job = times(result)
    alone = times(etherweave.run(scenario(flows)))
    assert [time for _, _, time in job.rows] == [time for _, _, time in alone.rows]
    assert job.unfinished_mean is None
    assert not job.has_slowdowns
    first, small, large = flow_lines(job)
    assert first == (
        f"web: 2 flows; mean {sum(time for _, _, time in job.rows) / 2:.2f} us "
        "(no slowdowns, since hosts have several ports)"
    )
    assert "1 flow, mean" in small
    assert "slowdown" not in small + large
    figures = overview(result)["flows"]["web"]
    assert (figures["flows"], figures["complete"]) == (2, 2)
    assert figures["mean_us"] > 0
    cut = times(etherweave.run(scenario(flows, host_ports={"planes": 2}), {"run.end": "500100ns"}))
    assert (cut.flows, cut.complete.height, cut.unfinished_mean) == (2, 1, 64)


def test_flows_below_their_ideal_time_on_the_fabric_are_counted_in_the_text() -> None:
    """Over TCP the interrupt of the first flow serves the second, which comes 8 us later."""
    flows = {**listed([(0, 2, 3_000, 0), (1, 2, 3_000, 8_000)]), "ranks": 3}
    job = times(etherweave.run(scenario(flows, 3, transport={"tcp": {}})))
    assert job.below == 1
    assert "; slowdown (1 below 1) mean" in flow_lines(job)[0]
