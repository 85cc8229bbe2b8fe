"""Names that others choose never lead out of a directory, and never become formulas."""

import ast
import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

import etherweave
from etherweave.api.outputs import OutputNameError, below, new_files, quoted_table
from support.command_line import invoke

CASES = Path(__file__).parent / "cases"
PACKAGE = Path(str(files("etherweave")))
HOSTILE = {
    "../../../outside/a": "has a slash",
    "/tmp/a": "has a slash",
    "a/b": "has a slash",
    "..": "is a directory",
    ".": "is a directory",
    "": "is empty",
    "a\nb": "has a control character",
    "a\u001b[2J": "has a control character",
    "a\u007f": "has a control character",
    "é" * 101: "is too long",
}


def fabric(switch: str) -> dict[str, object]:
    """Describe two hosts on a switch of this name, as NetworkX writes it."""
    nodes = [{"id": "h0", "kind": "host"}, {"id": "h1", "kind": "host"}, {"id": switch}]
    links = [{"source": f"h{host}", "target": switch} for host in range(2)]
    return {"nodes": nodes, "links": links}


def tree(directory: Path) -> dict[str, bytes]:
    """Return all files below a directory."""
    paths = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("scenario", ["s.toml", "g.toml"])
@pytest.mark.parametrize("verb", [("control", "plan"), ("design", "--export", "cables"), ("show",)])
def test_a_node_whose_name_leads_out_of_the_output_is_refused(
    scenario: str, verb: tuple[str, ...], tmp_path: Path
) -> None:
    for path in (CASES / "54-names-leave-the-directory").iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "outside").mkdir()
    output = tmp_path / "a" / "b" / "out"
    output.mkdir(parents=True)
    before = tree(tmp_path)
    done = invoke(
        *verb, tmp_path / scenario, *(() if verb == ("show",) else ("-o", output)), code=2
    )
    keys = {"s.toml": 'nodes.2.id: "t.json"', "g.toml": 'node.id: "g.graphml", line 1'}
    place = f"{scenario}:1:17: topology.custom.file.{keys[scenario]}: "
    assert place in done.stderr and '"../../../outside/PWN' in done.stderr, done.stderr
    assert "has a slash; expected a name that a file can have" in done.stderr
    assert tree(tmp_path) == before


def test_a_job_whose_name_leads_out_of_the_output_is_refused_before_it_runs(tmp_path: Path) -> None:
    done = invoke(
        "run", CASES / "57-job-name-with-slash" / "n1.toml", "-o", tmp_path / "out", code=2
    )
    assert "n1.toml:9:1: " in done.stderr and "job.0.name: " in done.stderr
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_of_nodes_and_jobs_are_names_of_files(name: str) -> None:
    workload = {"permutation": {"ranks": 2, "bytes": "10kB"}}
    escaped = "".join(f"&#{ord(sign)};" for sign in name)
    edges = "".join(f'<edge source="h{host}" target="{escaped}"/>' for host in range(2))
    hosts = "".join(f'<node id="h{host}"><data key="k">host</data></node>' for host in range(2))
    graphml = (
        '<graphml><key id="k" for="node" attr.name="kind"/><graph edgedefault="undirected">'
        f'{hosts}<node id="{escaped}"/>{edges}</graph></graphml>'
    )
    texts = [{"json": json.dumps(fabric(name))}]
    # XML cannot express other control characters.
    texts += [{"graphml": graphml}] if name.isprintable() else []
    for text in texts:
        with pytest.raises(etherweave.ScenarioError, match=HOSTILE[name]):
            etherweave.fabric({"topology": {"custom": text}})
    scenario = {
        "topology": {"single_switch": {"hosts": 2}},
        "job": [{"name": name, "workload": workload}],
    }
    with pytest.raises(etherweave.ScenarioError, match=rf"job\.0\.name: .*{HOSTILE[name]}"):
        etherweave.resolve(scenario)


@pytest.mark.parametrize("name", ["-rf", "=1+1", ".hidden", "leaf 0", "Ünï", "a\\b", "x" * 200])
def test_other_names_are_kept_and_stay_below_the_output(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(fabric(name)))
    (tmp_path / "s.toml").write_text('topology.custom.file = "t.json"\n')
    invoke("control", "plan", tmp_path / "s.toml", "-o", tmp_path / "out", code=0)
    kinds = ("flows", "groups", "meters")
    assert set(tree(tmp_path / "out")) == {"hosts.csv", *(f"{name}.{kind}" for kind in kinds)}


@pytest.mark.parametrize("name", [*HOSTILE, "x" * 256], ids=ascii)
def test_no_path_below_an_output_is_made_of_a_hostile_name(name: str, tmp_path: Path) -> None:
    if name == "é" * 101:
        assert below(tmp_path, name).parent == tmp_path
        return
    with pytest.raises(OutputNameError, match="expected a name of a file"):
        below(tmp_path, "a", name)


def test_files_whose_names_are_one_for_the_file_system_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError), new_files(tmp_path) as made:
        made.add("a", "1")
        # As a file system that takes small letters and capitals for equal would have it.
        made._names.clear()
        made.add("a", "2")
    assert list(tmp_path.iterdir()) == []


def test_texts_of_csv_that_begin_like_formulas_are_shown_as_texts(tmp_path: Path) -> None:
    names = ["=HYPERLINK(1)", "+1", "-1", "@A1"]
    nodes = [{"id": name, "kind": "host"} for name in names] + [{"id": "=s"}]
    links = [{"source": name, "target": "=s"} for name in names]
    (tmp_path / "t.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    (tmp_path / "s.toml").write_text('topology.custom.file = "t.json"\n')
    out = tmp_path / "out"
    exports = ("--export", "cables", "--export", "netbox")
    assert invoke("design", tmp_path / "s.toml", *exports, "-o", out).exit_code == 0
    assert invoke("control", "plan", tmp_path / "s.toml", "-o", out).exit_code == 0
    cells = [
        cell
        for path in out.glob("*.csv")
        for row in csv.reader(io.StringIO(path.read_text(), newline=""))
        for cell in row
    ]
    assert len(list(out.glob("*.csv"))) == 5
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert {f"'{name}" for name in names} <= set(cells)


def test_a_name_of_the_field_case_is_refused_for_its_slash() -> None:
    assert "has a slash" in invoke("show", CASES / "59-csv-formula" / "k1.toml", code=2).stderr


def test_tables_are_quoted_by_column() -> None:
    import polars

    assert quoted_table(
        polars.DataFrame({"a": ["=1", "b", None, "\t="], "n": [-1, 2, 3, 4]})
    ).to_dict(as_series=False) == {"a": ["'=1", "b", None, "'\t="], "n": [-1, 2, 3, 4]}


PATHS = {"directory", "output", "home", "folder", "place", "root", "fresh", "workplace"}
"""Last words of what paths of directories are called."""
JOINED = {
    "archives/recorder_files.py": 1,  # a number
    "bench/environment/inspections.py": 1,  # a path of the host's own, in a temporary directory
    "bench/environment/readers/files.py": 3,  # read
    "bench/launchers/site_launcher.py": 1,  # read
    "bench/measure/executor.py": 4,  # sources of the package
    "bench/measure/measurement.py": 1,  # a number
    "bench/campaigns/store.py": 1,  # a number
    "bench/telemetry/tables.py": 1,  # read
    "cli/bench/environment.py": 1,  # a fabric of a site: letters, digits, dots and hyphens
    "cli/control/export.py": 1,  # read
    "cli/manual.py": 1,  # returned; written by `new_files`
    "cli/control/yang.py": 3,  # templates, in a temporary directory; models that code names
    "control/lab/state.py": 1,  # checked in the line before
    "control/ovs/daemons.py": 2,  # programs
    "pages/benchmarks/data.py": 1,  # read
    "pages/benchmarks/recordings.py": 1,  # read
    "api/packing.py": 1,  # moved, by a name that `below` made
    "api/result_schema.py": 1,  # named in an error
    "api/results.py": 1,  # moved, by a name that `below` made
    "study/experiments.py": 2,  # read
    "study/folder.py": 2,  # read
    "study/results.py": 4,  # read
    "sweeps/executors.py": 3,  # numbers
    "sweeps/store.py": 3,  # a number, and names of our own
}
"""Files that join a name to a directory without :func:`below`, how often, and why they may."""


def joins(path: Path) -> Iterator[str]:
    """Yield the joins of a directory and a name that is neither written out nor a constant."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
            continue
        left, right = ast.unparse(node.left), ast.unparse(node.right)
        word = left.rsplit(".", 1)[-1].strip("_()")
        is_fixed = isinstance(node.right, ast.Constant) or right.rsplit(".", 1)[-1].isupper()
        if (word in PATHS or isinstance(node.right, ast.JoinedStr)) and not is_fixed:
            yield f"{left} / {right}"


def test_no_other_place_joins_a_name_to_a_directory() -> None:
    result = {
        str(path.relative_to(PACKAGE)): list(joins(path))
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "outputs.py"
    }
    others = Counter({name: len(texts) for name, texts in result.items() if texts})
    new = {name: result[name] for name, count in others.items() if count > JOINED.get(name, 0)}
    assert not new, "expected etherweave.api.outputs.below"
    assert not {name for name, count in JOINED.items() if others[name] < count}, "stale entries"
