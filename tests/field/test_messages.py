"""Refusals of people's files: each names the key, what is wrong, and one expectation."""

from pathlib import Path

import pytest

from support import command_line

CASES = Path(__file__).parent / "cases"
GRAPHS = CASES / "24-graph-without-kind"
TRACES = CASES / "29-replay-one-chakra-file"
NO_HOST = "no node has kind host; expected kind = host at each node that is a host"


def refusal(*words: object) -> str:
    """Return what a command says that ends with 2."""
    done = command_line.invoke(*words, code=2)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    return str(done.stderr)


@pytest.mark.parametrize("name", ["nodelink", "zoo"])
def test_a_graph_without_a_host_is_refused_with_how_a_node_becomes_one(name: str) -> None:
    said = refusal("design", GRAPHS / f"{name}.toml")
    assert "topology.custom.file: " in said and NO_HOST in said
    assert "at least 1" not in said and "or 0" not in said


def test_a_number_as_rate_is_refused_with_the_form_of_a_rate() -> None:
    said = refusal("design", GRAPHS / "number.toml")
    expected = 'integer `25000000000`; expected a text in quotes, as "25Gb/s" for a rate'
    assert expected in said and said.count("expected") == 1


def test_a_list_in_place_of_a_graph_has_one_expectation(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text('[{"nodes": []}]')
    scenario = tmp_path / "graph.toml"
    scenario.write_text('[topology.custom]\nfile = "graph.json"\n')
    said = refusal("design", scenario)
    assert said.endswith('file: "graph.json": a list; expected an object with nodes and links\n')


def test_replay_of_one_file_of_chakra_names_the_folder_and_the_pattern() -> None:
    said = refusal("replay", TRACES / "0.0.et", "--on", TRACES / "fab.toml")
    assert said == (
        f"{TRACES / '0.0.et'}: a Chakra execution trace of one rank; expected those of all ranks: "
        f"their folder, or {TRACES / '0.{rank}.et'}\n"
    )


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"schema": 1, "traceEvents": []}', "a trace of PyTorch's profiler"),
        (b'{"deviceProperties": []}', "JSON"),
        (b"# htor@localhost\nMPI_Init:1:-:2\n", "a trace of liballprof"),
        (b"EWSCHED\n\x02", "an executed schedule of `etherweave schedule`"),
        (b"\x1f\x8b\x08", "a file compressed by gzip"),
        (b"\x28\xb5\x2f\xfd", "a file compressed by zstd"),
    ],
)
def test_replay_says_what_a_file_of_others_is(content: bytes, kind: str, tmp_path: Path) -> None:
    (tmp_path / "trace").write_bytes(content)
    said = refusal("replay", tmp_path / "trace", "--on", TRACES / "fab.toml")
    assert f", {kind}" in said
    assert said.endswith("; expected a schedule in GOAL, text or binary\n")


def test_a_line_of_goal_is_shown_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a.goal").write_text("num_ranks 1\nrank 0 {\nl1: cacl 5ns, then more\n}\n")
    said = refusal("replay", tmp_path / "a.goal", "--on", TRACES / "fab.toml")
    assert "line 3: l1: cacl 5ns, then more; expected" in said


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            ["switch.model=input_queued", "flow_control.credits={}", "switch.buffer=1MiB"],
            "expected 16MiB, the default: nothing here has a shared buffer",
        ),
        (
            ["switch.forwarding=store_and_forward", "switch.header=32B"],
            "expected 64B, the default: nothing here cuts through",
        ),
        (["flow_control={none={}}", "switch.headroom=1KiB"], "expected none: nothing here pauses"),
    ],
)
def test_a_key_without_effect_is_refused_with_a_default(settings: list[str], expected: str) -> None:
    first = Path(__file__).parents[2] / "scenarios/first.toml"
    said = refusal("show", first, *(word for setting in settings for word in ("--set", setting)))
    assert f"{expected}, so that it cannot take effect" in said
