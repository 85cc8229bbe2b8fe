"""Archives of results: what is in them, that a run repeats them, and damaged ones."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

import etherweave
from etherweave.api.inputs import InputError
from etherweave.api.packing import MismatchError, check, pack, unpack
from support import command_line
from support.measured_results import measured

SCENARIOS = Path(__file__).parents[2] / "scenarios"

PAIR: dict[str, object] = {
    "topology": {"single_switch": {"hosts": 2}},
    "job": [{"name": "j", "workload": {"osu_latency": {"iterations": 5}}}],
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return etherweave.run(PAIR).save(tmp_path_factory.mktemp("kept") / "result")


def test_equal_results_make_equal_archives_that_a_run_repeats(result: Path, tmp_path: Path) -> None:
    manifest = pack(result, tmp_path / "a.tar.gz")
    pack(result, tmp_path / "b.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    assert (manifest.seed, manifest.versions["etherweave"]) == (1, etherweave.__version__)
    assert unpack(tmp_path / "a.tar.gz", tmp_path / "c") == manifest
    equal = check(tmp_path / "c")
    assert "iterations: equal bytes" in equal
    assert len(equal) == len(list(result.glob("*.parquet")))


PING = """\
topology.single_switch.hosts = 2
[[job]]
name = "j"
workload.osu_latency.iterations = 5
"""
DEADLOCK = Path(__file__).parents[1] / "field/cases/27-deadlock-at-the-time-limit/limit.toml"
SWEEP = f"{PING}[[sweep.axis]]\nkey = 'switch.latency'\nvalues = ['1us', '2us']\n"
STUDY = """\
title = "Ping"
[[experiment]]
name = "ping"
scenario = "ping"
[[metric]]
check = "latency"
experiment = "ping"
table = "iterations"
column = "duration_ns"
"""
ROWS = "id,source,published,low,high,unit\nlatency,Table 1,2,1,9,us\n"


@pytest.mark.usefixtures("workers_of_this_process")
@pytest.mark.parametrize(
    ("command", "folder", "results"),
    [
        ("run ping.toml -o kept", "kept", 1),
        (f"run {DEADLOCK} -o kept", "kept", 1),
        ("run ping.toml --compare-fidelity -o kept", "kept", 1),
        ("run ping.toml --replications 2 -o kept", "kept", 2),
        # Each of 8 samples, and the run as it stands.
        ("run ping.toml --samples 8 -o kept", "kept", 9),
        ("sweep sweep.toml --tables -o kept", "kept", 2),
        ("study ./study -o kept", "kept/ping", 1),
        ("study ./study -o kept", "kept", 1),
        ("sweep sweep.toml -o kept", "kept", 0),
        ("curve sweep.toml -o kept", ".", 0),
    ],
)
def test_a_run_repeats_each_kind_of_result(
    command: str, folder: str, results: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study").mkdir()
    texts = {"ping": PING, "sweep": SWEEP, "study/ping": PING, "study/study": STUDY}
    for name, text in texts.items():
        Path(f"{name}.toml").write_text(text)
    Path("study/expected.csv").write_text(ROWS)
    command_line.invoke(*command.split())
    done = command_line.invoke("pack", folder, "-o", "a.tar.gz", code=2 if not results else 0)
    if not results:
        assert "expected" in done.stderr and "`sweep run --tables`" in done.stderr
        assert not Path("a.tar.gz").exists()
        return
    again = command_line.invoke("unpack", "a.tar.gz", "-o", "again", "--check", code=0).stdout
    assert "equal bytes" in again
    assert len(list(Path("again").rglob("summary.json"))) == results
    assert command_line.invoke("pack", "again", "-o", "b.tar.gz", code=0)
    with tarfile.open("a.tar.gz") as first, tarfile.open("b.tar.gz") as second:
        assert first.getnames() == second.getnames()
        # Tables that several runs have in common are stored once.
        assert len(set(first.getnames())) == len(first.getnames())


def test_a_run_on_other_threads_is_equal(tmp_path: Path) -> None:
    permutation = SCENARIOS / "permutation.toml"
    pack(etherweave.run(permutation, threads=1).save(tmp_path / "a"), tmp_path / "a.tar.gz")
    unpack(tmp_path / "a.tar.gz", tmp_path / "c")
    assert "ports: equal bytes" in check(tmp_path / "c", threads=2)


def test_traces_travel_with_the_archive(tmp_path: Path) -> None:
    # Larger than what a resolved scenario takes in: 1 MiB.
    lines = "".join(f"l{at}: send 8b to 1 tag {at}\n" for at in range(30_000))
    others = "".join(f"l{at}: recv 8b from 0 tag {at}\n" for at in range(30_000))
    folder = tmp_path / "there"
    folder.mkdir()
    text = f"num_ranks 2\nrank 0 {{\n{lines}}}\nrank 1 {{\n{others}}}\n"
    (folder / "trace.goal").write_text(text)
    scenario = folder / "s.toml"
    scenario.write_text(
        'topology.single_switch.hosts = 2\nrun.end = "10us"\n'
        '[[job]]\nname = "j"\nworkload.goal.file = "trace.goal"\n'
    )
    etherweave.run(scenario).save(folder / "result")
    assert "trace.goal" in pack(folder / "result", tmp_path / "a.tar.gz").files
    folder.rename(tmp_path / "moved")
    unpack(tmp_path / "a.tar.gz", tmp_path / "c")
    assert check(tmp_path / "c")
    pack(tmp_path / "c", tmp_path / "again.tar.gz")
    assert (tmp_path / "again.tar.gz").read_bytes() == (tmp_path / "a.tar.gz").read_bytes()


def test_a_changed_figure_and_a_changed_table_are_named(result: Path, tmp_path: Path) -> None:
    pack(result, tmp_path / "a.tar.gz")
    unpack(tmp_path / "a.tar.gz", tmp_path / "c")
    scenario = tmp_path / "c/scenario.toml"
    scenario.write_text(scenario.read_text().replace("seed = 1", "seed = 2", 1))
    with pytest.raises(MismatchError, match="seed: 1 packed, 2 now"):
        check(tmp_path / "c")


def test_measured_results_are_not_repeated(tmp_path: Path) -> None:
    measured([[1000.0, 1100.0], [1000.0, 1200.0]]).save(tmp_path / "result")
    pack(tmp_path / "result", tmp_path / "a.tar.gz")
    unpack(tmp_path / "a.tar.gz", tmp_path / "c")
    with pytest.raises(InputError, match="was measured; expected a simulated result"):
        check(tmp_path / "c")


Members = list[tuple[tarfile.TarInfo, bytes]]


def rewritten(archive: Path, change: Callable[[Members], Members]) -> Path:
    with tarfile.open(archive) as packed:
        members = [(member, packed.extractfile(member).read()) for member in packed]  # type: ignore[union-attr]
    copy = archive.with_name("changed.tar.gz")
    with tarfile.open(copy, "w:gz") as packed:
        for member, content in change(members):
            packed.addfile(member, io.BytesIO(content))
    return copy


def renamed(members: Members) -> Members:
    """Have a member's name leave the directory, in the manifest too."""
    manifest = json.loads(members[0][1])
    manifest["files"]["../escaped"] = manifest["files"].pop(members[1][0].name)
    members[1][0].name = "../escaped"
    content = json.dumps(manifest).encode()
    members[0][0].size = len(content)
    return [(members[0][0], content), *members[1:]]


def linked(members: Members) -> Members:
    members[1][0].type, members[1][0].linkname = tarfile.SYMTYPE, "/etc/passwd"
    return members


def bomb(members: Members) -> Members:
    manifest = json.loads(members[0][1])
    manifest["files"][members[1][0].name]["bytes"] = 2**60
    content = json.dumps(manifest).encode()
    members[0][0].size = len(content)
    return [(members[0][0], content), *members[1:]]


def damaged(members: Members) -> Members:
    member, content = members[1]
    return [members[0], (member, bytes([content[0] ^ 1]) + content[1:]), *members[2:]]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (renamed, "is a directory; expected a name of a file"),
        (linked, "is no file; expected files"),
        (bomb, "needs 1,152,921,504,606"),
        (damaged, "is damaged: its SHA-256 has changed"),
        (lambda members: members[:-1], "is missing"),
        (lambda members: members[1:], "is first; expected manifest.json"),
        (lambda members: [*members, members[1]], "is not as the manifest says"),
    ],
)
def test_a_wrong_archive_leaves_nothing(
    result: Path, tmp_path: Path, change: Callable[[Members], Members], expected: str
) -> None:
    pack(result, tmp_path / "a.tar.gz")
    with pytest.raises(InputError, match=expected):
        unpack(rewritten(tmp_path / "a.tar.gz", change), tmp_path / "deep/er/c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "changed.tar.gz"]


@pytest.mark.parametrize("content", [b"", b"no archive", gzip.compress(b"no tar", mtime=0)])
def test_what_is_no_archive_is_said_in_a_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(content)
    done = command_line.invoke("unpack", tmp_path / "a.tar.gz", "-o", tmp_path / "c", code=2)
    assert "expected an archive of etherweave pack" in done.stderr.replace("\n", " ")


def test_the_command_line_packs_and_repeats(result: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    assert command_line.invoke("pack", result, "-o", archive).exit_code == 0
    done = command_line.invoke("unpack", archive, "-o", tmp_path / "c", "--check", code=0)
    assert "iterations: equal bytes" in done.stdout
    again = command_line.invoke("unpack", archive, "-o", tmp_path / "c", code=2)
    assert "is not empty" in again.stderr
