"""Scenarios that are built in code mean what the same file means, and name what is wrong."""

import copy
import json
import pickle
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import etherweave
from etherweave import Scenario
from etherweave.api.key_descriptions import description
from etherweave.api.scenario_schema import Schema, keys_of, schema_root, table_schema

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "scenarios").glob("*.toml"))
SCHEMA = json.loads(etherweave.schema())


def pair() -> Scenario:
    """Two hosts on a switch, one of which sends to the other."""
    scenario = Scenario(name="pair")
    scenario.topology.single_switch.hosts = 2
    scenario.job.add(name="incast").workload.incast = {"sources": 1, "messages": 4}
    return scenario


def test_a_scenario_in_code_runs_as_the_same_file_does(tmp_path: Path) -> None:
    scenario = pair()
    path = tmp_path / "pair.toml"
    path.write_text(
        'name = "pair"\n[topology.single_switch]\nhosts = 2\n'
        '[[job]]\nname = "incast"\nworkload.incast = { sources = 1, messages = 4 }\n'
    )
    assert etherweave.resolve(scenario) == etherweave.resolve(path)
    first, second = etherweave.run(scenario).summary, etherweave.run(path).summary
    assert first["fingerprint"] == second["fingerprint"]
    assert Scenario(path) == scenario


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_file_is_the_same_when_it_was_read(path: Path) -> None:
    scenario = Scenario(path)
    assert dict(scenario) == tomllib.loads(path.read_text())
    assert tomllib.loads(repr(scenario)) == dict(scenario)
    assert Scenario(scenario) == scenario


def test_keys_of_the_schema_are_completed() -> None:
    scenario = Scenario()
    assert set(dir(scenario)) == set(SCHEMA["properties"])
    assert set(dir(scenario.switch)) == set(SCHEMA["$defs"]["SwitchParams"]["properties"])
    assert {"fat_tree", "torus", "dragonfly"} <= set(dir(scenario.topology))
    assert dict(scenario) == {}, "reading sets nothing"


def test_tables_describe_their_keys() -> None:
    text = Scenario().switch.__doc__
    for key in SCHEMA["$defs"]["SwitchParams"]["properties"]:
        assert f"switch.{key}: " in text
    assert 'One of "store_and_forward", "cut_through".' in text


def test_a_key_that_is_not_set_has_its_default() -> None:
    scenario = Scenario()
    assert scenario.seed == SCHEMA["properties"]["seed"]["default"]
    assert scenario.switch.buffer == "16MiB"
    scenario.switch.buffer = "1MiB"
    assert scenario.switch.buffer == "1MiB"
    del scenario.switch.buffer
    assert scenario.switch.buffer == "16MiB"


def test_another_kind_replaces_the_kind_before() -> None:
    scenario = pair()
    scenario.topology.fat_tree.leaves = 4
    scenario.topology.fat_tree.cores = 2
    assert dict(scenario)["topology"] == {"fat_tree": {"leaves": 4, "cores": 2}}
    scenario.flow_control.none = {}
    scenario.flow_control.pfc.priorities = [3]
    assert dict(scenario)["flow_control"] == {"pfc": {"priorities": [3]}}


def test_jobs_are_counted_and_changed() -> None:
    scenario = pair()
    scenario.job.add(name="second", priority=3).workload.incast.sources = 1
    assert len(scenario.job) == 2
    assert [job.name for job in scenario.job] == ["incast", "second"]
    scenario.job[-1].priority = 4
    assert scenario.job[1].priority == 4
    with pytest.raises(IndexError, match=r"^job\.2: there are 2$"):
        scenario.job[2]


def test_copies_are_apart() -> None:
    case = pair()
    for other in (Scenario(case), copy.deepcopy(case), pickle.loads(pickle.dumps(case))):
        assert other == case
        assert isinstance(other, Scenario)
        other.job[0].workload.incast.sources = 9
        assert other != case


def test_a_table_of_one_scenario_may_be_given_to_another() -> None:
    scenario, other = pair(), Scenario()
    other.topology = scenario.topology
    other.topology.single_switch.hosts = 5
    assert scenario.topology.single_switch.hosts == 2


def _set(path: str, value: object) -> Callable[[Scenario], None]:
    *steps, last = path.split(".")

    def change(scenario: Scenario) -> None:
        at: Any = scenario
        for step in steps:
            at = at[int(step)] if step.isdigit() else getattr(at, step)
        setattr(at, last, value)

    return change


@pytest.mark.parametrize(
    ("path", "value", "error", "message"),
    [
        ("switch.bufer", "1MiB", AttributeError, r"^switch\.bufer: unknown key; nearest: buffer"),
        ("switch.buffer", 4, TypeError, r'^switch\.buffer: 4; expected a size such as "64KiB"'),
        ("switch.buffer", "4", TypeError, r"^switch\.buffer: '4'; expected a size"),
        ("topology.fat_tree.host_rate", "1GB", TypeError, r"expected a rate such as"),
        ("switch", 3, TypeError, r"^switch: 3; expected a table of .*buffer"),
        ("routing", "minimall", TypeError, r"^routing: 'minimall'; nearest: minimal"),
        ("job.0.prio", 1, AttributeError, r"^job\.0\.prio: unknown key; nearest: priority"),
        (
            "job",
            [{"name": "x", "workload": {"incast": {"message": 3}}}],
            TypeError,
            r"^job\.0\.workload\.incast\.message: 3; expected a size",
        ),
        ("faults", {"links": [{"fom": 1}]}, AttributeError, r"^faults\.links.*unknown key"),
    ],
)
def test_a_mistake_is_named_where_it_is_made(
    path: str, value: object, error: type[Exception], message: str
) -> None:
    scenario = pair()
    with pytest.raises(error, match=message):
        _set(path, value)(scenario)
    assert scenario == pair(), "and changes nothing"


def test_a_file_with_a_mistake_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text("[switch]\nbufer = 3\n")
    with pytest.raises(etherweave.ScenarioError, match=r"wrong\.toml:2:.*bufer"):
        Scenario(path)


@pytest.mark.usefixtures("workers_of_this_process")
def test_a_sweep_in_code_is_kept_and_drawn(tmp_path: Path) -> None:
    scenario = pair()
    scenario.sweep.axis.add(key="switch.buffer", values=["1MiB", "2MiB"])
    scenario.sweep.seeds = 2
    table = etherweave.sweep(scenario, tmp_path, etherweave.executor("local", 1)).to_polars()
    assert table["switch.buffer"].to_list() == ["1MiB", "1MiB", "2MiB", "2MiB"]
    assert table["ended"].to_list() == ["complete"] * 4
    figure = etherweave.plot(table, x="switch.buffer", y="end_ns", by="seed")
    assert figure._repr_svg_().count("<svg") == 1
    assert [line.get_label() for line in figure.axes[0].lines] == ["1", "2"]


@pytest.mark.parametrize("convert", ["to_polars", "to_pandas"])
def test_a_table_of_a_result_is_drawn_by_one_call(convert: str) -> None:
    table = getattr(etherweave.run(pair()), convert)("ports")
    axes = etherweave.plot(table, x="node", y="tx_bytes").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("node", "tx [B]")


def test_a_column_that_is_none_is_named() -> None:
    table = etherweave.run(pair()).to_polars("ports")
    with pytest.raises(ValueError, match=r"^y=tx_byte: no such column; nearest: .*tx_bytes"):
        etherweave.plot(table, x="node", y="tx_byte")


def test_a_description_has_meaning_names_and_default_of_each_key() -> None:
    lines = description("job.workload.fft").splitlines()
    assert "job.workload.fft.pex: Ranks along x, 1 or more. Default: 4." in lines
    assert description("job.0.start") == description("job.start")
    for key, others in (
        ("workload", "job.workload"),
        ("switch.nscc", "job.transport.uet.nscc or transport.uet.nscc"),
    ):
        with pytest.raises(ValueError, match=f"^{key}: unknown key; expected {others}$"):
            description(key)
    for key, near in (("switch.bufer", "nearest: buffer"), ("switch.header.x", "expected none")):
        with pytest.raises(ValueError, match=f"{key}: unknown key; {near}"):
            description(key)
    for key in (".", "transport..roce"):
        with pytest.raises(ValueError, match=f"'{re.escape(key)}': expected names with a dot"):
            description(key)


def _paths(schema: Schema, above: str = "", within: tuple[Schema, ...] = ()) -> Iterator[str]:
    """List the keys of a table and of those below it, with each table once on the path."""
    for name, field in keys_of(schema).items():
        yield above + name
        inner = table_schema(field)
        table = table_schema(inner.get("items", inner))
        if table not in within:
            yield from _paths(table, f"{above}{name}.", (*within, table))


def test_no_description_is_empty_or_has_ranges_of_rust() -> None:
    paths = [*_paths(schema_root())]
    assert {"flow_control.none", "job.placement.hosts", "job.workload.fft.pex"} <= {*paths}
    for path in paths:
        for line in description(path).splitlines():
            assert not line.endswith(":"), f"{path} has {line!r}"
        assert description(path).splitlines()[0].strip(), path
        assert "..=" not in description(path), path
