"""Recorders as processes: what they write, how they end, and what the verb makes of it."""

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from etherweave.bench.telemetry.openmetrics import dashboard
from etherweave.bench.telemetry.process import RecordingOptions, record
from etherweave.bench.telemetry.recorder import Recording, risen
from etherweave.bench.telemetry.stream import EARLY, StreamError, stream
from etherweave.bench.telemetry.tables import ReadingError, recordings, save
from support import command_line

FILES = {
    "proc/stat": "cpu0 1000 50 300 9000 77 20 400 8 0 0\n",
    "proc/net/dev": "  eth2: 1000 9 0 0 0 0 0 0 2000 9 0 0 0 0 0 0\n",
    "sys/class/net/eth2/operstate": "up\n",
    "sys/class/net/eth2/statistics/rx_bytes": "1000\n",
    "sys/class/net/eth2/statistics/tx_bytes": "2000\n",
    "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data": "25\n",
}


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host on which nothing moves but 500 bytes that a recording makes arrive."""
    for name, text in FILES.items():
        file = tmp_path / "host" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "host"


def recorded(host: Path) -> tuple[Recording, str]:
    out = io.StringIO()

    def ended(limit_s: float) -> None:
        time.sleep(0.002)  # A history has a sample a millisecond, and no less.
        (host / "sys/class/net/eth2/statistics/rx_bytes").write_text("1500\n")
        (host / "proc/net/dev").write_text("  eth2: 1500 9 0 0 0 0 0 0 2000 9 0 0 0 0 0 0\n")

    return record(
        RecordingOptions("run 1", "n1", root=host, period_s=60.0), out, ended
    ), out.getvalue()


def test_what_a_recorder_writes_is_read_as_it_was(host: Path) -> None:
    made, text = recorded(host)
    result = stream(text)
    assert result.recording == made
    assert (made.run, made.host, len(made.samples), made.failure) == ("run 1", "n1", 2, "")
    assert result.after
    assert (result.before.traffic, result.after.traffic) == ({"eth2": 3000}, {"eth2": 3500})
    assert result.after.interfaces["eth2"].counters == {"rx_bytes": 1500, "tx_bytes": 2000}


def test_a_recording_that_was_cut_keeps_what_was_written(host: Path) -> None:
    made, text = recorded(host)
    starts = [at for at, letter in enumerate(text) if letter == "\n"]
    for end in (*range(0, len(text), 7), *starts, *(at + 1 for at in starts)):
        try:
            result = stream(text[:end])
        except StreamError:
            assert text[:end].count("\n") < 2, "two lines are whose it is, and a sample"
        else:
            assert result.recording.samples == made.samples[: len(result.recording.samples)]
            assert (result.after is None) == (result.recording.failure == EARLY)


@pytest.mark.slow
def test_garbled_recordings_are_refused_or_read_and_never_crash(host: Path) -> None:
    _, text = recorded(host)
    chance = random.Random(6)
    letters = '{}[]",:0123456789-.eE\nNaI'
    for _ in range(2000):
        at = chance.randrange(len(text))
        garbled = text[:at] + chance.choice(letters) + text[at + chance.randrange(3) :]
        try:
            result = stream(garbled)
        except StreamError:
            continue
        times = [sample.time_ns for sample in result.recording.samples]
        assert times == sorted(times)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"format":1,"run"', '"format":2,"run"', "line 1: format 2; expected 1"),
        ("[1000,2000", "[-1,2000", "line 2: '-1' is no counter; expected rows"),
        ("[1000,2000", "[1e30,2000", "is no counter"),
        ("[1000,2000", "[0.5,2000", "is no whole number"),
        ("[1000,2000", "[1000", "a row of interface has other columns"),
        ('"interface":[[', '"card":[[', "line 2: 'interface'; expected rows"),
        ('"period_s":60.0', '"period_s":"x"', 'line 1.period_s: "x"; expected a number'),
    ],
)
def test_a_recording_says_what_is_wrong_in_it(host: Path, old: str, new: str, message: str) -> None:
    _, text = recorded(host)
    if old.startswith("["):
        old, new = f'[["eth2"],{old}', f'[["eth2"],{new}'
    assert old in text
    with pytest.raises(StreamError) as refused:
        stream(text.replace(old, new))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", "\n", "[]\n[]\n", "[" * 100_000 + "\n", '{"format": 1}\n{}\n']
)
def test_what_is_no_recording_is_rejected(text: str) -> None:
    with pytest.raises(StreamError):
        stream(text)


def process(*words: str) -> subprocess.Popen[bytes]:
    """Start a recorder of the loopback; it has written its first sample when this returns."""
    started = subprocess.Popen(
        [sys.executable, "-m", "etherweave.bench.telemetry", "--interface=lo", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert started.stdout
    assert os.read(started.stdout.fileno(), 1)
    return started


@pytest.mark.parametrize("end", ["input", signal.SIGTERM, signal.SIGINT, "limit"])
def test_a_recorder_ends_with_its_input_and_closes_its_recording(end: str | int) -> None:
    limit = ["--limit=0.3"] if end == "limit" else ["--limit=60"]
    with process("--host=n1", "--period=0.05", *limit) as started:
        assert started.stdin and started.stdout
        if end == "input":
            started.stdin.close()
        elif end != "limit":
            started.send_signal(int(end))
        text = "{" + started.stdout.read().decode()
        assert started.wait(20) == 0
    result = stream(text)
    assert result.after
    assert (result.recording.host, result.recording.failure) == ("n1", "")
    if end == "limit":
        assert 0.3 <= result.recording.duration_s < 20


def test_a_recorder_that_is_killed_leaves_its_samples() -> None:
    with process("--period=0.02") as started:
        assert started.stdin and started.stdout
        lines = [started.stdout.readline() for _ in range(3)]
        started.kill()
        text = "{" + b"".join([*lines, started.stdout.read()]).decode()
    result = stream(text)
    assert (result.after, result.recording.failure) == (None, EARLY)
    assert len(result.recording.samples) >= 2


def test_a_recorder_to_which_nobody_listens_ends_without_a_word() -> None:
    words = [sys.executable, "-m", "etherweave.bench.telemetry", "--interface=lo", "--period=0.01"]
    with subprocess.Popen(
        [*words, "--limit=0.2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as started:
        assert started.stdout and started.stderr
        started.stdout.close()
        assert started.stderr.read() == b""
        assert started.wait(20) == 0


def test_a_counter_that_was_set_back_counts_from_zero() -> None:
    assert risen([5, 9, 2, 3]) == 4 + 2 + 1
    assert risen([]) == risen([7]) == 0


# The verb


telemetry = partial(command_line.invoke, "bench", "telemetry")


@pytest.mark.parametrize("is_table", [False, True])
def test_a_kept_recording_is_shown(host: Path, tmp_path: Path, is_table: bool) -> None:
    made, text = recorded(host)
    kept = tmp_path / "kept"
    if is_table:
        save(made, kept / "n1")
    else:
        kept.write_text(text)
    assert recordings(kept) == [made]
    done = telemetry("show", kept)
    assert done.stdout.startswith("run 1 n1: 2 samples in ")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[:5] for row in rows if row[:1] == ["interface"]] == [
        ["interface", "eth2", "received", "500", "B"]
    ]
    (facts,) = json.loads(telemetry("show", kept, "--json").stdout)
    rises = {(ris["thing"], ris["column"]): ris["amount"] for ris in facts["rises"]}
    assert rises["eth2", "received_bytes"] == 500
    assert rises["mlx5_0 1", "received_bytes"] == 0
    assert ("eth2", "sent_pauses") not in rises, "nobody counts them"
    assert (facts["cost"], facts["samples"]) == (made.cost, 2)


def test_a_kept_recording_goes_to_prometheus(host: Path, tmp_path: Path) -> None:
    made, text = recorded(host)
    kept = tmp_path / "kept.jsonl"
    kept.write_text(text)
    for words, count in (((), 1), (("--history",), 2)):
        said = telemetry("openmetrics", kept, *words).stdout
        result = text_string_to_metric_families(said)  # type: ignore[no-untyped-call]
        families = {family.name: family for family in result}
        received = families["etherweave_interface_received_bytes"].samples
        assert [sample.value for sample in received] == [1000, 1500][-count:]
    file = tmp_path / "etherweave.prom"
    assert telemetry("openmetrics", kept, "-o", file).exit_code == 0
    assert file.read_text() == telemetry("openmetrics", kept).stdout
    save(made, tmp_path / "many/a")
    save(made, tmp_path / "many/b")
    done = telemetry("openmetrics", tmp_path / "many", code=2)
    assert "many: 2 recordings of " in done.stderr
    assert "; expected one" in done.stderr


def test_the_dashboard_is_printed() -> None:
    assert telemetry("dashboard").stdout == dashboard()


@pytest.mark.slow
def test_the_verb_records_this_host(tmp_path: Path) -> None:
    start = [*command_line.COMMAND, "bench", "telemetry"]
    out = tmp_path / "out"
    times = ("--period", "50ms", "--time-limit", "300ms")
    words = [*start, "record", "-i", "lo", *times, "--run", "r"]
    with subprocess.Popen(
        [*words, "-o", str(out)], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        assert started.stderr
        said = started.stderr.read().decode()
        assert started.wait(30) == 0, said
    (one,) = recordings(out)
    assert one.run == "r"
    assert f"{one.host}: {len(one.samples)} samples in " in said
    assert said.endswith("% of a processor\n")
    # Two samples at least, each later than the one before.
    assert all(a.time_ns < b.time_ns for a, b in pairwise(one.samples)) and len(one.samples) > 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "none"), "none: holds no recording; expected what `bench run`"),
        (("record", "--period", "1us"), "expected 0.01 s or more"),
        (("record", "--time-limit", "soon"), "expected a time"),
        (
            ("record", "--interface", "no0", "--time-limit", "1s"),
            "--interface no0: is not of this host",
        ),
        (("openmetrics", "none", "--history", "-o", "x.prom"), "expected --history > FILE"),
    ],
)
def test_mistakes_end_with_2(words: tuple[str, ...], message: str) -> None:
    assert message in telemetry(*words, code=2).stderr


@pytest.mark.parametrize(
    ("text", "message"), [("", "empty"), ("\n\n", "empty"), ("{", "line 1: no JSON")]
)
def test_a_file_that_is_no_recording_says_why(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "recording.jsonl"
    file.write_text(text)
    done = telemetry("show", str(file))
    assert f"{file}: {message}; expected a recording" in done.stderr


def test_tables_that_are_none_are_rejected(host: Path, tmp_path: Path) -> None:
    made, _ = recorded(host)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/telemetry_processor.parquet").write_text("PAR1")
    with pytest.raises(ReadingError, match=r"bad: .*; expected tables of telemetry"):
        recordings(tmp_path / "bad")
    save(made, tmp_path / "mixed")
    shutil.copy(
        tmp_path / "mixed/telemetry_interface.parquet",
        tmp_path / "mixed/telemetry_processor.parquet",
    )
    with pytest.raises(ReadingError, match=r"mixed: .*no column cpu; expected tables"):
        recordings(tmp_path / "mixed")
