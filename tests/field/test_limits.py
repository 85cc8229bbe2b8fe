"""Sizes, signals and full disks: what a run may take, how it ends, and which files it leaves."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import etherweave
from etherweave.api.outputs import new_file, written
from etherweave.api.overview import overview
from etherweave.api.results import Result
from etherweave.bench.texts.document import LINES_MAX, UnrecognisedError, parse
from etherweave.linux.processes import MARK, marked
from support.command_line import invoke
from support.waiting import until

CASES = Path(__file__).parent / "cases"
PACKAGE = Path(str(files("etherweave")))
ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios"
WAIT_S = 60.0  # Time in which a process ends that was asked to, however busy the machine is [s].
MIB = 1 << 20


def memory_and_time_of(scenario: str, changes: tuple[tuple[str, str], ...], call: str) -> str:
    """Carry out a call of the core in a process with little memory; returns how it ended."""
    program = f"""
import resource, sys
from etherweave import _core
resource.setrlimit(resource.RLIMIT_AS, ({700 * MIB}, {700 * MIB}))
text, changes = sys.stdin.read(), {changes!r}
try:
    {call}
    print("done")
except _core.ScenarioError as error:
    print(error)
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(
        words, input=scenario, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0, (changes, done.stderr[-500:])
    return done.stdout.strip()


SHOW = '_core.foresee(text, "a.toml", list(changes))'
RUN = '_core.run(text, "a.toml", list(changes), 1, [], lambda at: at["wall_s"] < 1, "100MiB")'


@pytest.mark.parametrize("case", ["cg_inner.toml", "4205.toml"])
@pytest.mark.parametrize("call", [SHOW, RUN], ids=["show", "run"])
def test_sizes_of_workloads_are_refused_before_anything_is_built(case: str, call: str) -> None:
    result = memory_and_time_of((CASES / "55-no-forecast" / case).read_text(), (), call)
    assert result.startswith("a.toml:"), result
    assert "job.0.workload." in result and "expected" in result, result


def schema() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(etherweave.schema())
    return document


HUGE = {
    "integer": ("255", "5000", "1000000", "2147483647", "9223372036854775807"),
    "Bytes": ('"1GB"', '"1TB"', '"1000TB"'),
    "Duration": ('"1ps"', '"1000s"'),
    "BitRate": ('"1Mb/s"', '"100Tb/s"'),
}
"""Values of keys by type; the largest are refused by their range, those between cost most."""


class Keys:
    """The keys of a part of a scenario, and values that are far too large for them."""

    def __init__(self) -> None:
        self.definitions = schema()["$defs"]

    def kind(self, shape: dict[str, Any]) -> str:
        """Name the type of a value, or its definition."""
        if "$ref" in shape:
            return str(shape["$ref"].rsplit("/", 1)[-1])
        for option in shape.get("anyOf", ()):
            if option.get("type") != "null":
                return self.kind(option)
        kinds = shape.get("type", "")
        return str(kinds if isinstance(kinds, str) else next(k for k in kinds if k != "null"))

    def members(self, union: str) -> list[tuple[str, str]]:
        """Name the members of a closed family, each with its definition."""
        options = self.definitions[union].get("oneOf", ())
        pairs = (pair for option in options for pair in option.get("properties", {}).items())
        return [(name, self.kind(shape)) for name, shape in pairs]

    def values(self, key: str, definition: str, depth: int = 0) -> list[tuple[str, str]]:
        """List changes of all keys of a definition, and of those within them."""
        pairs: list[tuple[str, str]] = []
        for name, shape in self.definitions.get(definition, {}).get("properties", {}).items():
            kind = self.kind(shape)
            pairs += [(f"{key}.{name}", value) for value in HUGE.get(kind, ())]
            if kind == "array" and self.kind(shape.get("items", {})) == "integer":
                pairs.append((f"{key}.{name}", f"[{', '.join(['2'] * 20_000)}]"))
            if kind in self.definitions and depth < 3:
                pairs += self.values(f"{key}.{name}", kind, depth + 1)
                for member, inner in self.members(kind):
                    pairs += self.values(f"{key}.{name}.{member}", inner, depth + 1)
        return pairs


SWITCH = "topology.single_switch.hosts = 64\n"
SMALL = {"training": "ranks = 32\nbatch = 4\nmodel.layers = 8\n"}
"""Keys of workloads whose defaults take long to write out."""
JOB = '[[job]]\nname = "a"\nworkload.permutation = {ranks = 2, bytes = "10kB"}\n'
WALK = """
import json, resource, sys
from etherweave import _core

resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
GROWN_MAX_KB = 400 << 10

def is_short(at):
    return at["wall_s"] < 0.02

def memory_kb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

for text, change in json.load(sys.stdin):
    # Where the process dies, this is the last line.
    print(change, flush=True)
    changes, before_kb = [tuple(change)], memory_kb()
    try:
        _core.foresee(text, "a.toml", changes)
        _core.run(text, "a.toml", changes, 1, [], is_short, "100MiB")
    except _core.ScenarioError as error:
        if ": " not in str(error) or "expected" not in str(error):
            print(change, "no key:", error, file=sys.stderr)
    if memory_kb() - before_kb > GROWN_MAX_KB:
        print(change, memory_kb() - before_kb >> 10, "MiB", file=sys.stderr)
"""


def changes() -> list[tuple[str, tuple[str, str]]]:
    """List scenarios with one key that is far too large."""
    keys = Keys()
    cases = []
    for family, definition in keys.members("TopologyKind"):
        text = f"[topology.{family}]\n{JOB}"
        cases += [(text, change) for change in keys.values(f"topology.{family}", definition)]
    for workload, definition in keys.members("Workload"):
        smaller = SMALL.get(workload, "")
        text = f"{SWITCH}[[job]]\nname = 'a'\n[job.workload.{workload}]\n{smaller}"
        changed = keys.values(f"job.0.workload.{workload}", definition)
        cases += [(text, change) for change in changed]
    text = f"topology.single_switch.hosts = 4\n{JOB}"
    others = {"topology", "job", "open_loop", "design", "control", "sweep", "interconnect"}
    for key, shape in schema()["properties"].items():
        kind = keys.kind(shape)
        if key not in others:
            changed = [(key, value) for value in HUGE.get(kind, ())]
            changed += keys.values(key, kind)
            for member, inner in keys.members(kind) if kind in keys.definitions else ():
                changed += keys.values(f"{key}.{member}", inner)
            cases += [(text, change) for change in changed]
    return cases + [(text, change) for change in keys.values("job.0", "JobSpec")]


def test_every_size_of_the_schema_is_refused_with_its_key_or_stays_within_the_memory() -> None:
    cases = changes()
    assert len(cases) > 1000
    done = subprocess.run(
        [sys.executable, "-c", WALK],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
    )
    *_, last = done.stdout.splitlines()
    assert (done.stderr, done.returncode, len(done.stdout.splitlines())) == ("", 0, len(cases)), (
        last
    )


DRIVER = """
import os, signal, sys, threading, time
from etherweave.cli import main, progress

number = getattr(signal, sys.argv.pop(1))
moment = sys.argv.pop(1)
if number == signal.SIGHUP:
    signal.signal(number, signal.SIG_DFL)  # Tests may run under nohup.

def send(*_):
    os.kill(os.getpid(), number)

if moment == "run":
    heard = progress.RunLines.__call__
    progress.RunLines.__call__ = lambda self, at: (send(), heard(self, at))[1]
elif moment == "point":
    heard = progress.WorkLines.__call__

    def call(self, work):
        if work.done == 1:
            send()
        heard(self, work)

    progress.WorkLines.__call__ = call
else:
    threading.Timer(float(moment), send).start()
main()
"""


def interrupted(number: str, moment: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line, which gets a signal at some moment of its work."""
    words = [sys.executable, "-c", DRIVER, number, moment, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S, check=False)


CURVE = """
topology.dragonfly.h = 2
[open_loop]
routings = ["minimal"]
patterns = [{ uniform = {} }]
loads = [0.1, 0.2, 0.3, 0.4]
warm_up = "1us"
measured = "1us"
"""
SIGNALS = pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
OF_BATCH_SYSTEMS = pytest.mark.parametrize("number", ["SIGXCPU", "SIGUSR1", "SIGUSR2"])


@SIGNALS
def test_a_signal_during_a_run_leaves_its_partial_result(number: str, tmp_path: Path) -> None:
    scenario = SCENARIOS / "incast_roce.toml"
    done = interrupted(number, "run", "run", scenario, "-s", "run.end=100s", "-o", tmp_path / "r")
    assert done.returncode == 130, done.stderr
    assert "Interrupted: the result in" in done.stderr
    assert Result.load(tmp_path / "r").summary["finished"] == "interrupted"


@OF_BATCH_SYSTEMS
def test_a_warning_of_a_batch_system_leaves_the_partial_result(number: str, tmp_path: Path) -> None:
    """Slurm and Grid Engine send SIGUSR1 before the end, LSF SIGUSR2, limits of time SIGXCPU."""
    test_a_signal_during_a_run_leaves_its_partial_result(number, tmp_path)


@SIGNALS
def test_a_signal_during_a_curve_leaves_its_points_so_far(number: str, tmp_path: Path) -> None:
    output, fabric = tmp_path / "points.csv", tmp_path / "a.toml"
    fabric.write_text(CURVE)
    done = interrupted(number, "point", "curve", fabric, "-o", output)
    assert done.returncode == 130, done.stderr
    assert "Interrupted: " in done.stderr
    assert len(output.read_text().splitlines()) == 2


@SIGNALS
def test_a_signal_ends_the_building_of_a_large_fabric(number: str, tmp_path: Path) -> None:
    """Its routes take minutes; the process ends long before."""
    case = CASES / "56-building-ignores-ctrl-c" / "dragonfly_plus_h255.toml"
    done = interrupted(number, "2.0", "run", case, "-o", tmp_path / "r")
    assert done.returncode == 130, done.stderr
    assert not (tmp_path / "r").exists()


def test_the_time_of_building_is_known_before() -> None:
    case = CASES / "56-building-ignores-ctrl-c" / "dragonfly_plus_h255.toml"
    done = invoke("show", case, code=0)
    assert "to build before" in done.stderr, done.stderr


def test_what_a_process_has_started_ends_with_it_even_if_it_is_killed(tmp_path: Path) -> None:
    program = """
import os, subprocess, sys
from etherweave.linux.processes import ended_with
with ended_with() as mark:
    child = subprocess.Popen(["setsid", "sleep", "1000"], env=os.environ | mark)
    print(*mark.values(), flush=True)
    child.wait()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as owner:
        assert owner.stdout
        mark = owner.stdout.readline().decode().strip()
        until(lambda: marked(MARK, mark))
        owner.kill()
    until(lambda: not marked(MARK, mark))


RECORD = """
from etherweave.bench.measure import mpi_recorder
from etherweave.cli import main

# Compiled by no MPI: what is started need not record.
mpi_recorder.variables = lambda *_: {}
mpi_recorder.library = lambda _: None
main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_what_is_recorded_ends_with_record(number: signal.Signals, tmp_path: Path) -> None:
    """The program begins a session of its own, as daemons of MPI do."""
    token, started = f"{os.getpid()}.{int(number)}", tmp_path / "started"
    command = ["sh", "-c", f"setsid sleep 1000 & touch {started}; wait"]
    words = [sys.executable, "-c", RECORD, "record", "-o", str(tmp_path / "rec"), "--", *command]
    environment = os.environ | {"ETHERWEAVE_FIELD_TEST": token}
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as done:
        until(started.exists)
        done.send_signal(number)
        assert done.stderr
        printed = done.stderr.read()
    until(lambda: not marked("ETHERWEAVE_FIELD_TEST", token))
    if number is signal.SIGKILL:
        return
    assert done.returncode == 130, printed
    assert "Interrupted: all that sh started has ended" in printed


FULL = 'ulimit -f $LIMIT; exec "$@"'
"""Larger files cannot be written, as on a full disk; in blocks of 512 B."""
WRITES = {
    "trace": ("run", "incast_observed.toml", "--trace", "{out}/t.json"),
    "capture": ("run", "incast_observed.toml", "--pcap", "host0={out}/h.pcapng"),
    "result": ("run", "incast_observed.toml", "-o", "{out}/r"),
    "schedule": ("schedule", "halo3d_roce.toml", "--goal", "-o", "{out}"),
    "plan": ("control", "plan", "adaptive_dragonfly.toml", "-o", "{out}"),
    "configuration": ("control", "export", "qos_ets.toml", "--nos", "sonic", "-o", "{out}"),
    "export": ("design", "adaptive_dragonfly.toml", "--export", "graphml", "-o", "{out}"),
    "drawing": ("design", "adaptive_dragonfly.toml", "--draw", "{out}/d.svg"),
}


@pytest.mark.parametrize("case", WRITES)
def test_a_full_disk_leaves_no_file_that_is_cut(case: str, tmp_path: Path) -> None:
    verb, *rest = WRITES[case]
    words = [str(SCENARIOS / word) if word.endswith(".toml") else word for word in rest]
    words = [word.format(out=tmp_path) for word in words]
    command = ["sh", "-c", FULL, "sh", sys.executable, "-m", "etherweave", verb, *words]
    limit = 2 if case == "plan" else 16
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "LIMIT": str(limit)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert done.returncode == 2, done.stderr
    assert "File too large" in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert [
        path.name for path in left if path.stat().st_size >= 512 * limit or path.name[0] == "."
    ] == []
    assert case == "schedule" or left == []


def test_a_file_is_there_complete_or_as_before(tmp_path: Path) -> None:
    file, link = tmp_path / "a", tmp_path / "b"
    file.write_text("before")
    file.chmod(0o640)
    link.symlink_to(file)
    with pytest.raises(RuntimeError), new_file(link) as opened:
        opened.write("half")
        raise RuntimeError
    assert file.read_text() == "before"
    written(link, lambda path: path.write_text("after"))
    assert link.is_symlink() and file.read_text() == "after"
    assert (file.stat().st_mode & 0o777, len(list(tmp_path.iterdir()))) == (0o640, 2)


def test_a_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        with new_file(pipe) as opened:
            opened.write("text")
        assert reader.communicate()[0] == "text"


def test_a_pipe_that_a_shell_names_by_its_descriptor_is_written_as_it_is() -> None:
    end, pipe = os.pipe()  # Read by another program, as with `--trace >(gzip > ranks.json.gz)`.
    with new_file(Path(f"/dev/fd/{pipe}")) as opened:
        opened.write("text")
    os.close(pipe)
    with os.fdopen(end, encoding="utf-8") as reader:
        assert reader.read() == "text"


WRITERS = {
    "archives/recorder_files.py": 2,  # a recording that is cut is refused when it is read
    "bench/environment/inspections.py": 1,  # a temporary directory
    "bench/launchers/monitors.py": 1,  # the directory of a launch, which is read when it has ended
    "bench/launchers/mpirun.py": 1,  # likewise
    "bench/launchers/netns.py": 1,  # likewise
    "bench/launchers/processes.py": 2,  # likewise
    "bench/launchers/sbatch.py": 2,  # likewise
    "bench/launchers/site_launcher.py": 1,  # likewise
    "bench/launchers/srun.py": 1,  # likewise
    "bench/measure/executor.py": 1,  # sources in a temporary directory
    "bench/measure/measurement.py": 1,  # the directory of a launch
    "bench/campaigns/tables.py": 2,  # into memory
    "cli/bench/telemetry.py": 1,  # the null device
    "cli/control/yang.py": 2,  # a temporary directory
    "control/lab/lifecycle.py": 3,  # the directory of a lab that is not up
    "control/lab/supervisor.py": 1,  # the directory of a lab
    "control/reaction.py": 1,  # a temporary directory
    "control/reaction_trials.py": 1,  # the kernel
    "linux/links.py": 1,  # the kernel
    "linux/namespaces.py": 1,  # the kernel
    "linux/processes.py": 1,  # a process number
    "pages/bmwg.py": 1,  # into memory
    "report/drawing/render.py": 1,  # into memory
    "report/flow_page.py": 1,  # into memory
    "report/page.py": 4,  # into memory; by `new_files`
    "report/style.py": 1,  # into memory
    "api/flow_lists.py": 2,  # into a file of `new_path`
    "api/packing.py": 4,  # into a file of `new_path`; a directory that is moved when it is complete
    "api/results.py": 3,  # a directory that replaces the result when it is complete
    "sweeps/executors.py": 3,  # work of an array; lines that are cut are left out
    "sweeps/store.py": 1,  # a directory that replaces the dataset when it is complete
    "uncertainty/studies.py": 1,  # an octet for each experiment that ended: its size alone is read
}
"""Files that write without :mod:`etherweave.api.outputs`, how often, and why they may."""
OPENED = re.compile(r"(?<!Part)File::create\(|fs::write\(|OpenOptions|File::options")
CALLS = {"write_text", "write_bytes", "write_parquet", "write_csv", "write_table", "savefig"}


def writes(path: Path) -> list[str]:
    result = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        words = [*node.args, *(keyword.value for keyword in node.keywords)]
        modes = [word.value for word in words if isinstance(word, ast.Constant)]
        is_opened = node.func.attr == "open" and any(
            isinstance(mode, str) and len(mode) < 4 and set(mode) & set("wax") for mode in modes
        )
        if is_opened or node.func.attr in CALLS:
            result.append(ast.unparse(node))
    return result


def test_every_writer_of_files_is_known() -> None:
    result = {
        str(path.relative_to(PACKAGE)): writes(path)
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "outputs.py"
    }
    counts = Counter({name: len(calls) for name, calls in result.items() if calls})
    new = {name: result[name] for name, count in counts.items() if count > WRITERS.get(name, 0)}
    assert not new, "expected etherweave.api.outputs"
    assert not {name for name, count in WRITERS.items() if counts[name] < count}, "stale entries"
    crates = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "crates").rglob("src/**/*.rs")
        # Tools of the tests, not of the product.
        if "crates/fuzz" not in str(path)
        and path.name != "testing.rs"
        and OPENED.search(path.read_text().partition("#[cfg(test)]")[0])
    ]
    # Rows of many flows are in a file that has no name once it is open.
    assert crates == ["crates/python/src/part_file.rs", "crates/scenario/src/result/flow_rows.rs"]


def test_streams_that_end_before_the_warm_up_are_complete_with_their_times() -> None:
    result = etherweave.run(CASES / "60-stream-ends-before-start" / "s1979.toml")
    rows = result.to_polars("streams")
    assert (rows["end_ns"] >= rows["start_ns"]).all()
    (figures,) = overview(result)["streams"].values()
    assert figures["complete"] == figures["streams"] == len(rows)
    taken_ns = [end - start for start, end in rows.select("start_ns", "end_ns").rows()]
    assert figures["mean_us"] == pytest.approx(sum(taken_ns) / len(taken_ns) / 1e3)
    before = rows.filter(rows["end_ns"] < 12_779)
    assert len(before) > 0
    assert (before["goodput_gbps"].sum(), before["bytes"].sum()) == (0, 0)


def test_times_of_streams_count_from_their_start_and_rates_from_the_warm_up() -> None:
    """One stream of 1 MB; the warm-up ends when half of it has come."""
    scenario = {
        "topology": {"single_switch": {"hosts": 2}},
        "job": [
            {
                "name": "a",
                "workload": {"incast": {"sources": 1, "message": "100kB", "messages": 100}},
            }
        ],
    }
    plain = etherweave.run(scenario)
    middle_ns = round(plain.to_polars("streams")["end_ns"][0] / 2)
    warm = etherweave.run(scenario, {"run.warm_up": f"{middle_ns}ns"})
    (before,), (after,) = (result.to_polars("streams").rows(named=True) for result in (plain, warm))
    assert (after["start_ns"], after["end_ns"]) == (before["start_ns"], before["end_ns"])
    assert after["bytes"] == pytest.approx(before["bytes"] / 2, rel=0.02)
    assert after["goodput_gbps"] == pytest.approx(
        after["bytes"] * 8 / (after["end_ns"] - middle_ns)
    )
    (of_job,) = overview(warm)["streams"].values()
    assert of_job["goodput_gbps"] == pytest.approx(after["goodput_gbps"])
    assert of_job["mean_us"] == pytest.approx(before["end_ns"] / 1e3)


def test_frames_that_find_no_buffer_in_a_ring_are_called_so() -> None:
    result = etherweave.run(CASES / "61-ring-drop-called-headroom" / "s2348.toml")
    lost = [text for text in result.summary["warnings"] if "in lossless priority" in text]
    assert lost
    assert all(
        "the ring of its receive queue was full (host.receive.ring)" in warning for warning in lost
    )
    assert not any("headroom" in warning for warning in lost)
    wider = etherweave.run(
        CASES / "61-ring-drop-called-headroom" / "s2348.toml", {"host.receive.ring": 65536}
    )
    assert not [text for text in wider.summary["warnings"] if "in lossless priority" in text]


def all_to_all(flow_control: dict[str, Any]) -> dict[str, Any]:
    """Describe 16 hosts on a switch, all of which send to all others at 400 Gb/s."""
    workload = {"all_to_all": {"ranks": 16, "bytes": "300kB", "algorithm": {"linear": {}}}}
    return {
        "topology": {"single_switch": {"hosts": 16, "rate": "400Gb/s"}},
        "nic": {"drain_rate": "428Gb/s"},
        "flow_control": flow_control,
        "job": [{"name": "a", "workload": workload}],
    }


@pytest.mark.parametrize("kind", ["pfc", "global_pause"])
def test_a_pause_that_ends_before_its_refresh_is_a_warning_before_the_run(kind: str) -> None:
    """Frames of 4,096 B of payload and headers: half of a pause of N quanta is 32 N bytes."""

    def warnings(quanta: int) -> list[str]:
        estimate = etherweave.api.simulation.foresee(all_to_all({kind: {"quanta": quanta}}))
        assert estimate
        return [warning for warning in estimate["warnings"] if ".quanta: " in warning]

    (text,) = warnings(16)
    assert text.startswith(f"flow_control.{kind}.quanta: 16; ")
    least = int(text.rpartition("; ")[2].split()[0])
    assert 4_096 / 32 < least < 4_400 / 32
    assert (len(warnings(least - 1)), warnings(least)) == (1, [])

    def dropped(quanta: int) -> int:
        return etherweave.run(all_to_all({kind: {"quanta": quanta}})).summary["packets_dropped"]

    assert dropped(16) > 0
    assert dropped(least) == 0


def test_a_text_of_more_lines_than_a_benchmark_writes_is_refused_at_once() -> None:
    title = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n"
    with pytest.raises(UnrecognisedError, match="more than 1,000,000 lines"):
        parse(title + "1\t1.25\n" * (LINES_MAX + 1))
