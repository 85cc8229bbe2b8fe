"""Choices of a site that a scenario leaves open."""

from collections.abc import Mapping

from etherweave import _core
from etherweave.api.scenario import literals, read
from etherweave.uncertainty import declared, unknowns
from etherweave.uncertainty.measured_by import measurement_of
from etherweave.uncertainty.sampling import HASHES, sampled_scenario, sampled_text

TREE = {"fat_tree": {"leaves": 2, "hosts_per_leaf": 2, "cores": 1, "links_per_core": 1}}
LATENCY = "nic.transmit_latency"
LIBRARY = "library of collectives: job.0.workload.osu_collective.library"


def drawn(
    scenario: Mapping[str, object], changes: Mapping[str, object] | None = None, *ranges: str
) -> dict[str, list[object]]:
    """Give the values at both ends of each choice of a site, in scenarios that are accepted."""
    text, origin = read(scenario)
    result = unknowns(text, origin, changes or {}, declared(ranges), has_site=True)
    ends = [result.at([share] * len(result.entries)) for share in (0.0, 1.0)]
    for end in ends:
        _core.resolve(text, origin, literals({**(changes or {}), **end}))
    own = [entry for entry in result.entries if entry.basis == "choice"]
    return {entry.name: [end[entry.keys[0]] for end in ends] for entry in own}


def job(**keys: object) -> dict[str, object]:
    workload = {"osu_collective": {"operation": {"allreduce": {"bytes": "1KiB"}}, "ranks": 4}}
    return {"name": "sum", "workload": workload, **keys}


def scenario(topology: Mapping[str, object], transport: str, **keys: object) -> dict[str, object]:
    return {"topology": topology, "transport": {transport: {}}, "job": [job(**keys)]}


def test_placement_and_the_library_are_drawn_where_a_scenario_states_neither() -> None:
    result = drawn(scenario(TREE, "roce"))
    assert result == {
        "placement: job.0.placement": [{"linear": {"first": 0}}, {"random": {}}],
        LIBRARY: ["open_mpi_4_0", "mpich_4"],
    }


def test_what_a_scenario_or_a_change_or_the_reader_states_is_no_choice() -> None:
    assert list(drawn(scenario(TREE, "roce", placement={"linear": {}}))) == [LIBRARY]
    assert list(drawn(scenario(TREE, "roce"), {"job.0.placement.linear.first": 0})) == [LIBRARY]
    key = "job.0.workload.osu_collective.library"
    stated = f'{key}=["open_mpi_4_1", "mpich_4"]'
    assert list(drawn(scenario(TREE, "roce"), {}, stated)) == ["placement: job.0.placement"]


def test_what_a_change_takes_out_is_not_stated() -> None:
    placed = scenario(TREE, "roce", placement={"linear": {}})
    assert list(drawn(placed, {"job.0.placement": None})) == [
        *("placement: job.0.placement", LIBRARY)
    ]


def test_a_range_is_set_again_and_hashes_have_seeds_where_a_change_takes_them_out() -> None:
    own = declared([f"{LATENCY}=100ns..200ns"])
    stated = {"nic": {"transmit_latency": "1us"}, "selection": {"ecmp_hash": {"seed": 7}}}
    stated = {**scenario(TREE, "roce"), **stated}
    assert LATENCY in sampled_scenario(stated, {"nic": None}, 8, own).drawn.keys
    assert not sampled_scenario(stated, {}, 8, own).seeded
    sampled = sampled_scenario(stated, {"selection": None}, 8, own)
    assert sampled.seeded == [HASHES]


def test_hosts_of_one_switch_have_one_placement_and_kernels_have_queues() -> None:
    result = drawn(scenario({"single_switch": {"hosts": 4}}, "tcp"))
    assert result.keys() == {LIBRARY, "receive queues of the kernel: host.receive.queues"}
    assert result["receive queues of the kernel: host.receive.queues"] == [16, 64]


def test_memory_that_ranks_share_is_drawn_where_a_host_has_several() -> None:
    def keys(ranks: int) -> list[str]:
        own = {**scenario(TREE, "roce", ranks_per_host=ranks)}
        text, origin = read({**own, "interconnect": {"profile": "ethernet-100-roce"}})
        return [key for key in unknowns(text, origin, {}, declared(())).keys if "shared" in key]

    assert keys(1) == []
    assert "host.shared_memory.latency" in keys(2)


def test_every_unknown_has_a_measurement() -> None:
    for profile in ("ethernet-100-roce", "ethernet-100-tcp", "infiniband-edr", "slingshot-11"):
        scenario = f'''interconnect.profile = "{profile}"
topology.fat_tree = {{}}
[[job]]
name = "a"
workload.fft.iterations = 1
ranks_per_host = 2
'''
        drawn = sampled_text(("x", scenario, "x.toml"), {}, 8, has_site=True).drawn
        assert [own.name for own in drawn.entries if not measurement_of(own)] == []
