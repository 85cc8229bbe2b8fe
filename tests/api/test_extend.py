"""Classes of Python in place of members of the core."""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import polars
import pyarrow.ipc
import pytest

import etherweave
from etherweave import extend
from support.command_line import invoke
from support.documents import ROOT
from support.prototypes import US, Dctcp, Mixed, Oblivious, Requests, Swift

SCENARIOS = ROOT / "scenarios"
SWIFT = SCENARIOS / "swift_roce.toml"


def scenario_without(file: str, key: str) -> dict[str, Any]:
    """Read a shipped scenario without its congestion control."""
    scenario = tomllib.loads((SCENARIOS / file).read_text())
    del scenario["transport"]["roce"][key]
    return {"name": Path(file).stem, **scenario}


def bytes_of(result: etherweave.Result) -> Mapping[str, object]:
    tables = {name: _bytes_of_table(table) for name, table in result.tables.items()}
    return {**tables, "fingerprint": result.summary["fingerprint"]}


def _bytes_of_table(table: pyarrow.Table) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    ("file", "key", "control"),
    [
        ("swift_roce.toml", "swift", partial(Swift, base_target=15 * US)),
        ("flows/incast_swift.toml", "swift", partial(Swift, base_target=15 * US)),
        ("dctcp_roce.toml", "dctcp", Dctcp),
    ],
)
def test_a_class_like_a_member_gives_its_tables_exactly(file: str, key: str, control: Any) -> None:
    observed = {"observe.period": "20us", "observe.until": "1ms", "observe.flows": ["* -> *"]}
    member = etherweave.run(SCENARIOS / file, observed)
    prototype = etherweave.run(
        scenario_without(file, key), observed, extend={"congestion": control}
    )
    assert bytes_of(prototype) == bytes_of(member)


def test_the_result_names_the_class_and_has_one_thread() -> None:
    scenario = scenario_without("swift_roce.toml", "swift")
    result = etherweave.run(scenario, {"run.end": "100us"}, threads=2, extend={"congestion": Swift})
    assert result.summary["threads"] == 1
    note = next(line for line in result.summary["warnings"] if "by Swift" in line)
    assert note.startswith("transport.roce.prototype: congestion by Swift, a class")
    assert 'class = "Swift"' in result.resolved


class Faulty(extend.CongestionControl):
    """Returns answers in place of those of its methods, and of the others what is right."""

    def __init__(self, connection: extend.FreshConnection, **answers: object) -> None:
        self.answers = answers
        self.acks = 0

    def acknowledged(self, now: int, feedback: extend.Feedback) -> None:
        self.acks += 1
        return self.answers.get("acknowledged")  # type: ignore[return-value]

    def window(self) -> Any:
        return self.answers.get("window") if self.acks > 3 else None

    def sent(self, now: int, wire: int) -> Any:
        return self.answers.get("sent", False)

    def is_open(self, now: int) -> Any:
        return self.answers.get("is_open", True)

    def next_at(self) -> Any:
        return self.answers.get("next_at", 0)

    def rate_at(self, now: int) -> Any:
        return self.answers.get("rate_at")


def run_faulty(control: Any) -> etherweave.Result:
    scenario = scenario_without("swift_roce.toml", "swift")
    return etherweave.run(scenario, extend={"congestion": control})


NUMBERS = (float("nan"), -1, 0, float("inf"), 0.5, "4KiB", True, [1])
ANSWERS: dict[str, tuple[tuple[object, ...], str]] = {
    "window": (NUMBERS, "bytes, 1 or more, or None"),
    "rate_at": (NUMBERS, "bits per second, more than 0, or None"),
    "next_at": (("soon", None, float("nan"), -1), "picoseconds, from 0 to 1e18"),
    "sent": (("yes", None, float("nan"), -1, 1), "True or False"),
    "is_open": (("yes", None, float("nan"), 1), "True or False"),
    "acknowledged": ((1, "yes"), "None"),
}


@pytest.mark.parametrize(
    ("method", "answer"),
    [(name, answer) for name, (answers, _) in ANSWERS.items() for answer in answers],
)
def test_an_answer_of_a_wrong_type_is_named(method: str, answer: object) -> None:
    expected = f"Faulty.{method} returned {answer!r}; expected {ANSWERS[method][1]}"
    # Whether and when the next packet may go is asked where it must wait.
    others: dict[str, Any] = {"sent": method in ("is_open", "next_at"), "is_open": False}
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}") as raised:
        run_faulty(partial(Faulty, **{**others, method: answer}))
    (note,) = raised.value.__notes__
    pattern = rf"raised by Faulty\.{method} at \d+ ps of simulated time, which ended the run"
    assert re.fullmatch(pattern, note)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("heeds_marks", "yes"),
        ("needs_echoes", None),
        ("notification_gap", 4),
        ("telemetry_switches", float("nan")),
        ("telemetry_switches", True),
    ],
)
def test_an_attribute_of_a_wrong_type_is_named(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=rf"congestion: Own\.{name}: {value!r}; expected "):
        run_faulty(type("Own", (extend.CongestionControl,), {name: value}))


class Raising(extend.CongestionControl):
    """Divides by zero at the first acknowledgement."""

    def acknowledged(self, now: int, feedback: extend.Feedback) -> None:
        1 / (feedback.acked - feedback.acked)


class Late(extend.CongestionControl):
    """Names a time that no timer reaches."""

    def sent(self, now: int, wire: int) -> bool:
        return True

    def next_at(self) -> float:
        return -1.0


class Closed(extend.CongestionControl):
    """Never opens, and names no later time."""

    def sent(self, now: int, wire: int) -> bool:
        return True

    def is_open(self, now: int) -> bool:
        return False


class Stopped(extend.CongestionControl):
    """Has no constructor that takes a connection."""

    def __init__(self) -> None:
        pass


class Misspelt(extend.CongestionControl):
    """Writes a method that nothing calls, beside helpers that it calls."""

    def acknowleged(self, now: int, feedback: extend.Feedback) -> None:
        self.helper()

    def helper(self) -> None:
        self._own()

    def _own(self) -> None:
        pass


def test_an_exception_of_the_class_ends_the_run_with_its_line() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        run_faulty(Raising)
    assert raised.traceback[-1].name == "acknowledged"
    assert Path(raised.traceback[-1].path).name == "test_extend.py"


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        (Late, r"Late\.next_at returned -1\.0; expected picoseconds, from 0 to 1e18"),
        (Closed, r"Closed\.is_open returned False; expected True, or a later time from next_at"),
        (Stopped, r"takes 1 positional argument but 2 were given"),
        (Misspelt, r"Misspelt\.acknowleged: a method that nothing calls; expected acknowledged, "),
    ],
)
def test_other_faults_of_a_class_are_named(control: Any, expected: str) -> None:
    with pytest.raises((ValueError, TypeError), match=expected):
        run_faulty(control)


def test_what_is_no_class_of_a_congestion_control_is_refused() -> None:
    number: Any = 5
    with pytest.raises(TypeError, match="extend: congestion: 5; expected a subclass of"):
        etherweave.run(SWIFT, extend={"congestion": number})
    with pytest.raises(ValueError, match="extend: 'congestoin'; expected 'congestion' or"):
        etherweave.run(SWIFT, extend={"congestoin": Swift})


def test_a_class_stands_in_place_of_the_scenarios_own_control() -> None:
    with pytest.raises(etherweave.ScenarioError, match=r"prototype.*one congestion control"):
        etherweave.run(SWIFT, extend={"congestion": Swift})


def test_a_scenario_that_asks_for_a_class_needs_it() -> None:
    scenario = scenario_without("swift_roce.toml", "swift")
    scenario["transport"]["roce"]["prototype"] = {"class": "Timely"}
    expected = r"transport.roce.prototype.class: Timely; expected the class from the caller"
    with pytest.raises(etherweave.ScenarioError, match=expected):
        etherweave.run(scenario)
    assert 'class = "Timely"' in etherweave.resolve(scenario)


LIST = SCENARIOS / "flows/list.toml"


class OfList(extend.FlowArrivals):
    """The flows of ``scenarios/flows/list.toml``, in two batches."""

    def batches(self) -> Iterator[list[extend.Flow]]:
        yield [(0, 0, 3, 100_000), (0, 1, 3, 100_000)]
        yield [(1_000_000, 2, 3, 1_000), (2_000_000, 3, 0, 1_000_000)]


def flows(**keys: object) -> dict[str, Any]:
    return {
        "name": "list",
        "topology": {"single_switch": {"hosts": 4}},
        "job": [{"name": "list", "workload": {"flows": {"ranks": 4, **keys}}}],
    }


def test_flows_of_a_class_are_those_of_a_list_and_stand_in_the_result() -> None:
    result = etherweave.run(flows(load=0.3), extend={"arrivals": OfList})
    assert bytes_of(result) == bytes_of(etherweave.run(LIST))
    assert bytes_of(etherweave.run(result.scenario)) == bytes_of(result)
    assert result.summary["warnings"] == []


class Drawn(extend.FlowArrivals):
    """Draw as many flows as ranks, from the seed."""

    def batches(self) -> Iterator[Any]:
        draws = Random(self.seed)
        for source in range(self.ranks):
            yield [(draws.randrange(10**6), source, (source + 1) % self.ranks, 1_000)]


def test_flows_follow_the_seed_of_the_run() -> None:
    def listed(seed: int) -> str:
        result = etherweave.run(flows(), {"seed": seed}, extend={"arrivals": Drawn})
        return str(result.scenario["job"][0]["workload"]["flows"]["text"])

    assert listed(1) == listed(1) != listed(2)


class Given(extend.FlowArrivals):
    """Return what is no list of flows."""

    def __init__(self, ranks: int, seed: int, answer: object = None) -> None:
        self.answer = answer

    def batches(self) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, " returned None; expected batches of flows"),
        ([[], []], " returned no flow; expected at least one"),
        ("flows", " returned 'flows'; expected batches of flows"),
        ([None], ": batch None; expected flows"),
        ([[], [(0, 0, 1)]], ": flow 1: (0, 0, 1); expected start, source, destination and bytes"),
        *(
            ([[(0, 0, 1, 9), (0, 0, 1, size)]], f": flow 2: bytes {size!r}; expected bytes from 1")
            for size in (0, -5, 1.5, "1kB", float("nan"), None, True)
        ),
        *(
            ([[(start, 0, 1, 9)]], f": flow 1: start {start!r}; expected picoseconds, from 0 to")
            for start in ("1us", -1, float("nan"), float("inf"), None)
        ),
        *(
            ([[(0, rank, 1, 9)]], f": flow 1: source {rank!r}; expected a rank from 0 to 3")
            for rank in ("h0", 4, -1, 0.0, None)
        ),
    ],
)
def test_what_is_no_flow_is_named_by_class_method_and_number(answer: object, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape('Given.batches' + expected)}"):
        etherweave.run(flows(), extend={"arrivals": partial(Given, answer=answer)})


def test_a_class_of_arrivals_needs_a_job_of_flows() -> None:
    with pytest.raises(ValueError, match=r"0 jobs with workload\.flows; expected one"):
        etherweave.run(SWIFT, extend={"arrivals": Drawn})


def test_load_balancing_of_a_class_gives_the_tables_of_the_scheme_to_the_byte() -> None:
    file, scheme = SCENARIOS / "uet.toml", "transport.uet.load_balancing"
    member = etherweave.run(file, {scheme: "oblivious"})
    prototype = etherweave.run(file, extend={"load_balancing": Oblivious})
    assert bytes_of(prototype) == bytes_of(member)
    (note,) = (line for line in prototype.summary["warnings"] if "Oblivious" in line)
    assert note.startswith("transport.uet.load_balancer: load balancing by Oblivious, a class")
    assert bytes_of(etherweave.run(file, extend={"load_balancing": Mixed})) != bytes_of(member)


class Outside(extend.LoadBalancing):
    """Gives a value that there is not."""

    def next(self) -> int:
        return 64


def test_an_entropy_value_that_there_is_not_is_named() -> None:
    expected = r"Outside\.next returned 64; expected an entropy value, from 0 to less than the"
    with pytest.raises(ValueError, match=expected):
        etherweave.run(SCENARIOS / "uet.toml", extend={"load_balancing": Outside})
    with pytest.raises(TypeError, match="load_balancing: LoadBalancing has no method next"):
        etherweave.run(SCENARIOS / "uet.toml", extend={"load_balancing": extend.LoadBalancing})
    with pytest.raises(etherweave.ScenarioError, match="scheme; expected mixed, the default"):
        etherweave.run(
            SCENARIOS / "uet.toml",
            {"transport.uet.load_balancing": "reps"},
            extend={"load_balancing": Mixed},
        )


TREE = {
    "name": "tree",
    "topology": {"fat_tree": {"leaves": 2, "cores": 3, "hosts_per_leaf": 3}},
    "job": [{"name": "all", "workload": {"permutation": {"ranks": 6, "bytes": "32KiB"}}}],
}


class Sprayed(extend.PortChoice):
    """Takes the port that the bits of a packet draw."""

    def choose(self, now: int, source: int, destination: int, bits: int, ports: Any) -> int:
        return ports[bits * len(ports) >> 32][0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("routing", ["spray", "flowlet", "ecmp"])
def test_ports_chosen_by_a_class_give_the_tables_of_the_routing_to_the_byte(routing: str) -> None:
    scenario = {**TREE, "routing": routing}
    prototype = etherweave.run(scenario, extend={"port_choice": Sprayed})
    assert bytes_of(prototype) == bytes_of(etherweave.run(scenario))


class Astray(extend.PortChoice):
    """Names a port that does not lead on."""

    def choose(self, now: int, source: int, destination: int, bits: int, ports: Any) -> int:
        return 0


def test_a_port_that_does_not_lead_on_and_a_routing_without_a_choice_are_named() -> None:
    expected = r"Astray\.choose returned 0; expected the number of one of the ports"
    with pytest.raises(ValueError, match=expected):
        etherweave.run({**TREE, "routing": "spray"}, extend={"port_choice": Astray})
    with pytest.raises(TypeError, match="port_choice: PortChoice has no method choose"):
        etherweave.run({**TREE, "routing": "spray"}, extend={"port_choice": extend.PortChoice})
    expected = "routing: up_down; expected ecmp, spray, flowlet, adaptive_up.* beside port_choice"
    with pytest.raises(etherweave.ScenarioError, match=expected):
        etherweave.run(TREE, extend={"port_choice": Sprayed})


FIRST = """from etherweave.extend import LoadBalancing


class First(LoadBalancing):
    def next(self):
        return 0
"""


def test_the_command_line_names_a_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "balancers.py").write_text(FIRST)
    monkeypatch.chdir(tmp_path)
    file, name = SCENARIOS / "uet.toml", ("--extend", "balancers:First")
    invoke("run", file, *name, "-o", "out", code=0)
    tables = etherweave.Result.load("out").tables
    from balancers import First  # type: ignore[import-not-found]

    assert (
        tables["streams"]
        == etherweave.run(file, extend={"load_balancing": First}).tables["streams"]
    )
    swept = tmp_path / "swept.toml"
    swept.write_text(
        f'sweep = {{ scenario = "{file}", axis = [{{ key = "seed", values = [1] }}] }}'
    )
    invoke("sweep", swept, *name, "--tables", code=0)
    (kept,) = (tmp_path / "results" / "swept" / "tables").iterdir()
    assert etherweave.Result.load(kept).tables["streams"] == tables["streams"]
    decided = "is decided by the class First, which no result contains; expected --extend"
    assert decided in invoke("pack", "out", code=2).output
    invoke("pack", "out", *name, code=0)
    check = ("unpack", "out.tar.gz", "--check", "-o")
    expected = "MODULE:First, of balancers.py, which is then executed"
    assert expected in invoke(*check, "bare", columns=400, code=2).output
    assert "streams: equal bytes" in invoke(*check, "again", *name, code=0).output


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("return 1 // 0", "ZeroDivisionError: integer division or modulo by zero"),
        ("raise SystemExit(0)", "SystemExit: 0"),
    ],
)
def test_an_exception_is_three_lines_of_the_command_line_and_of_a_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, fault: str
) -> None:
    (tmp_path / "faulty.py").write_text(FIRST.replace("return 0", statement))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "faulty", raising=False)
    name = ("--extend", "faulty:First")
    lines = invoke("run", SCENARIOS / "uet.toml", *name, code=2).stderr.splitlines()
    assert lines[-3] == fault
    assert re.fullmatch(r"  raised by First\.next at \d+ ps of simulated time, .*", lines[-2])
    assert lines[-1].endswith(f"faulty.py:6: {statement}")
    axis = 'axis = [{ key = "seed", values = [1] }]'
    Path("swept.toml").write_text(f'sweep = {{ scenario = "{SCENARIOS}/uet.toml", {axis} }}')
    invoke("sweep", "swept.toml", *name, code=1)
    runs = polars.read_parquet("results/swept/runs/**/*.parquet")
    assert runs.select("ended", "message").row(0) == ("mistake", "\n".join(lines[-3:]))
    other = invoke("run", SCENARIOS / "incast_tcp.toml", *name, code=2).output
    assert "load_balancing: First: beside transport.tcp; expected transport.uet" in other


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("timely", "'timely'; expected MODULE:CLASS"),
        ("no_such_module:Timely", "No module named 'no_such_module'; expected a class of a module"),
        ("pathlib:Path", "pathlib:Path; expected a subclass of one of CongestionControl"),
    ],
)
def test_a_name_of_no_class_is_refused(name: str, expected: str) -> None:
    assert expected in invoke("run", SWIFT, "--extend", name, code=2).output


def driven(**keys: object) -> dict[str, Any]:
    return {
        "name": "requests",
        "topology": {"single_switch": {"hosts": 4}},
        "job": [{"name": "requests", "workload": {"driver": keys}}],
    }


def test_drivers_of_a_class_ask_and_answer_as_those_of_the_core() -> None:
    result = etherweave.run(driven(ranks=4), extend={"driver": Requests})
    requests = {"clients": 3, "service": "3us", "request": "64B", "response": "4096B"}
    requests |= {"requests": 19, "warm_up": 1}
    own = {**driven(), "job": [{"name": "requests", "workload": {"request_response": requests}}]}
    member = etherweave.run(own)
    assert _bytes_of_table(result.tables["ports"]) == _bytes_of_table(member.tables["ports"])
    assert result.summary["fingerprint"] == member.summary["fingerprint"]
    assert 'class = "Requests"' in result.resolved


class Misdirected(extend.Driver):
    """Sends what a keyword says."""

    def __init__(self, rank: int, ranks: int, seed: int, **send: Any) -> None:
        self.send = {"peer": 1 - rank, "bytes": 8, **send}

    def on_event(self, now: int, event: extend.DriverEvent, next: extend.NextOperations) -> None:  # noqa: A002
        next.send(**self.send)


@pytest.mark.parametrize(
    ("send", "expected"),
    [
        ({"peer": 2}, r"peer: 2; expected another rank than 0, from 0 to 1"),
        ({"peer": 0}, r"peer: 0; expected another rank than 0, from 0 to 1"),
        ({"bytes": -1}, r"bytes: -1; expected a payload from 0 to 2\^40"),
        ({"bytes": float("nan")}, r"bytes: nan; expected a payload"),
        ({"tag": 2**32 - 1}, r"tag: 4294967295; expected a number from 0 to 2\^32 - 2"),
        ({"stream": 1}, r"stream: 1; expected a stream from 0 to 0"),
        ({"bytes": "8B"}, r"bytes: '8B'; expected a payload"),
    ],
)
def test_an_impossible_operation_is_named_at_its_line(send: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected) as raised:
        etherweave.run(driven(ranks=2), extend={"driver": partial(Misdirected, **send)})
    assert raised.traceback[-1].name == "on_event"


def test_a_job_of_a_driver_needs_its_class() -> None:
    expected = r"job\.0\.workload\.driver\.class: Requests; expected the class from the caller"
    with pytest.raises(etherweave.ScenarioError, match=expected):
        etherweave.run(driven(**{"class": "Requests"}))
    with pytest.raises(etherweave.ScenarioError, match="nothing asks for the caller's driver"):
        etherweave.run(SCENARIOS / "uet.toml", extend={"driver": Requests})
