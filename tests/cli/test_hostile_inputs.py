"""Damaged files and odd arguments end every verb with one sentence, never with a traceback."""

import gzip
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import etherweave
from etherweave.api import toml
from etherweave.bench.calibration import CalibratedConstant, Calibration, ComparedWorkload
from etherweave.bench.campaigns.baselines import add
from etherweave.bench.campaigns.store import Store
from etherweave.control.lab import state
from etherweave.control.lab.boot import BootRecord, HostAddress
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import files
from etherweave.measurements.files import CALIBRATION_FILE
from support import command_line, hostile, questions
from support.captured_texts import DATA
from support.hostile import Damage, damaged, offence
from support.launches import FakeLauncher, campaign, latencies, stored_campaign
from support.measured_results import measured
from support.recorded_campaigns import Speeds, keep_recording

pytestmark = [pytest.mark.slow, pytest.mark.fuzz, pytest.mark.usefixtures("quick_figures")]

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FEW = {"topology": {"single_switch": {"hosts": 2}}, "run": {"end": "1ms"}}
JOB = {"name": "j", "workload": {"osu_latency": {"iterations": 5}}}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One directory of each kind that verbs read."""
    home = tmp_path_factory.mktemp("whole")
    etherweave.run({**FEW, "job": [JOB]}).save(home / "simulated")
    measured([[1000.0, 1100.0], [1000.0, 1200.0]]).save(home / "measured")
    launcher = FakeLauncher(lambda number: latencies(10.0 + number % 3))
    stored_campaign(home / "benchmarks", campaign(), launcher)
    record = Store.open(home / "benchmarks").records()[0]
    keep_recording(home / "recording", record, "a", Speeds())
    (home / "file").mkdir()
    (home / "file" / "one.toml").write_text((SCENARIOS / "first.toml").read_text())
    return {path.name: path for path in home.iterdir()}


def damages(file: Path, seed: int) -> list[Damage]:
    usual = [*hostile.kinds(), *hostile.octets(seed)]
    if file.suffix == ".json":
        return usual + hostile.values(file, seed)
    if file.suffix in (".et", ".gz"):
        return [*hostile.kinds(), *hostile.octets(seed, 8)]
    if file.suffix == ".parquet":
        return usual + hostile.columns(file)
    return usual + hostile.lines(file, seed)


CASES_MAX = 25  # Cases of a verb with a directory: a sample of all damages.


def offences(
    inputs: Path,
    place: Path,
    words: Callable[[Path], Sequence[object]],
    pattern: str = "**/*",
    lines_max: int = 1,
    cases_max: int = CASES_MAX,
) -> list[str]:
    """Damage files of a directory, one at a time; return what a verb must not do then."""
    files = sorted(path for path in inputs.glob(pattern) if path.is_file())
    result = []
    for number, chance in enumerate(hostile.rounds(1)):
        seed = 1 + number * hostile.SEEDS
        cases = [
            (str(file.relative_to(inputs)), damage)
            for file in files
            for damage in damages(file, seed)
        ]
        for name, damage in chance.sample(cases, min(cases_max, len(cases))):
            if wrong := offence(*words(damaged(inputs, name, damage, place)), lines_max=lines_max):
                result.append(f"{name}, {damage.name}: {wrong}")
    return result


@pytest.mark.parametrize(
    ("kind", "words", "pattern"),
    [
        ("simulated", lambda copy, _: ["report", copy], "**/*"),
        ("measured", lambda copy, _: ["report", copy], "**/*"),
        (
            "simulated",
            lambda copy, inputs: ["report", inputs["measured"], "--beside", copy],
            "*.json",
        ),
        *(
            (
                kind,
                lambda copy, inputs: ["design", _scenario(inputs), "--load", copy, "--json"],
                "**/*",
            )
            for kind in ("simulated", "measured")
        ),
    ],
    ids=["simulated", "measured", "beside", "load simulated", "load measured"],
)
def test_a_damaged_result_is_refused_in_one_sentence(
    inputs: dict[str, Path],
    kind: str,
    words: Callable[[Path, dict[str, Path]], Sequence[object]],
    pattern: str,
    tmp_path: Path,
) -> None:
    texts = offences(inputs[kind], tmp_path / "copy", lambda copy: words(copy, inputs), pattern)
    assert texts == []


def _scenario(paths: dict[str, Path]) -> Path:
    return paths["file"] / "one.toml"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(lambda copy: ["report", copy], marks=pytest.mark.long),
        pytest.param(lambda copy: ["bench", "report", copy], marks=pytest.mark.long),
        lambda copy: ["bench", "compare", copy, copy],
        lambda copy: ["bench", "history", copy.parent],
        lambda copy: ["bench", "baseline", "add", copy, "--name", "x", "--file", copy / "b.json"],
        lambda copy: ["bench", "export", "reframe", copy],
    ],
    ids=["report", "bench report", "compare", "history", "baseline", "reframe"],
)
def test_damaged_benchmarks_are_reported_in_one_sentence(
    inputs: dict[str, Path], tmp_path: Path, words: Callable[[Path], Sequence[object]]
) -> None:
    assert offences(inputs["benchmarks"], tmp_path / "all" / "copy", words, "*.*") == []


@pytest.mark.parametrize("verb", ["show", "openmetrics"])
def test_damaged_recordings_are_named(inputs: dict[str, Path], tmp_path: Path, verb: str) -> None:
    words = lambda copy: ["bench", "telemetry", verb, copy]  # noqa: E731
    assert offences(inputs["recording"], tmp_path / "copy", words) == []


STUDY = """
title = "A ping"
experiment = [{ name = "ping", scenario = "ping" }]
metric = [{ check = "usual", experiment = "ping", table = "iterations", column = "duration_ns" }]

[[bars]]
name = "latency"
title = "Latency"
axis = "latency [ns]"
unit = "ns"
published = "Table 1"
bars = [{ label = "usual", check = "usual", published = "usual" }]
"""
TABLES = {
    "expected.csv": "id,source,published,low,high,unit\nusual,Table 1,1500,1,9999,ns\n",
    "published.csv": "figure,case,low,high,unit,words\nTable 1,usual,1500,1500,ns,1.5 us\n",
    "assumptions.csv": "subject,open,reading\nping,its size,8 B\n",
}


@pytest.mark.long
def test_a_damaged_study_is_reported_in_one_sentence(tmp_path: Path) -> None:
    home = tmp_path / "whole"
    home.mkdir()
    (home / "study.toml").write_text(STUDY)
    (home / "ping.toml").write_text(toml.document({**FEW, "job": [JOB]}))
    for name, text in TABLES.items():
        (home / name).write_text(text)

    def words(copy: Path) -> list[object]:
        return ["study", copy, "-o", tmp_path / "out"]

    assert offence(*words(home)) == ""
    assert (tmp_path / "out" / "report.html").exists()
    assert offences(home, tmp_path / "copy", words) == []


def test_a_damaged_trace_is_reported_in_one_sentence(tmp_path: Path) -> None:
    home = tmp_path / "whole"
    home.mkdir()
    for trace in (SCENARIOS / "chakra").iterdir():
        (home / trace.stem).write_bytes(gzip.decompress(trace.read_bytes()))
        (home / trace.name).write_bytes(trace.read_bytes())
    (home / "groups.json").write_text('{"1": [0, 3]}')

    def words(copy: Path) -> list[object]:
        def job(name: str) -> dict[str, object]:
            traces = {"file": str(copy / name), "groups_file": str(copy / "groups.json")}
            return {"name": name, "workload": {"chakra": traces}}

        jobs = [job("step.{rank}.et"), job("step.{rank}.et.gz")]
        scenario = {"topology": {"single_switch": {"hosts": 8}}, "job": jobs}
        file = tmp_path / "step.toml"
        file.write_text(toml.document(scenario))
        return ["run", file]

    assert offence(*words(home)) == ""
    # Each of the jobs may find a mistake.
    assert offences(home, tmp_path / "copy", words, lines_max=2) == []


def test_a_damaged_question_is_reported_in_one_sentence(tmp_path: Path) -> None:
    home = tmp_path / "whole"
    home.mkdir()
    questions.write(home)
    (home / "quotes.csv").write_text(
        "kind,part,price,currency,date,source\nnic,25Gb/s,1,USD,2026,x\n"
    )

    def words(copy: Path) -> list[object]:
        return ["advise", copy / "question.toml", "--dry-run", "--json"]

    assert offence(*words(home)) == ""
    assert offences(home, tmp_path / "copy", words, "*.toml", lines_max=3) == []
    quotes = lambda copy: ["advise", "quotes", copy / "quotes.csv"]  # noqa: E731
    assert offences(home, tmp_path / "copy", quotes, "*.csv") == []


@pytest.mark.long
@pytest.mark.parametrize("kind", ["measured", "benchmarks"])
def test_a_damaged_measurement_is_unfit(inputs: dict[str, Path], tmp_path: Path, kind: str) -> None:
    scenario = tmp_path / "fabric.toml"
    scenario.write_text(toml.document({**FEW, "job": [JOB]}))

    def words(copy: Path) -> list[object]:
        return ["calibrate", scenario, "--measured", copy]

    pattern = "*.*" if kind == "measured" else "[bm]*.*"
    # Most damages leave something that is fitted to, which takes a second.
    assert offences(inputs[kind], tmp_path / "copy", words, pattern, cases_max=20) == []


def test_a_damaged_calibration_is_reported_in_one_sentence(tmp_path: Path) -> None:
    home = tmp_path / "whole"
    home.mkdir()
    constant = CalibratedConstant(
        "host.cpu.send_call", "a call", "s", 8e-7, *(1e-7, 1e-6), 9e-7, *(8e-7, 9.5e-7), 0.1, True
    )
    workload = ComparedWorkload("osu", True, 3, 1.0, 0.9, 1.1, 1.0, 0.9, 1.1, 1.0, 1.0, (1.0,))
    facts = Calibration((constant,), (workload,), (workload,)).facts()
    (home / CALIBRATION_FILE).write_text(json.dumps(facts))
    assert offences(home, tmp_path / "copy", lambda copy: ["report", copy]) == []


def test_damaged_baselines_give_one_sentence(inputs: dict[str, Path], tmp_path: Path) -> None:
    home = tmp_path / "whole"
    home.mkdir()
    add(home / "baselines.json", "spring", Store.open(inputs["benchmarks"]))

    def compared(copy: Path) -> list[object]:
        return ["bench", "compare", f"{copy}/baselines.json:spring", inputs["benchmarks"]]

    def listed(copy: Path) -> list[object]:
        return ["bench", "baseline", "list", "--file", copy / "baselines.json"]

    for words in (compared, listed):
        assert offence(*words(home)) == ""
        assert offences(home, tmp_path / "copy", words) == []


ADDRESSES = tuple(
    HostAddress(f"host{n}", f"00:00:5e:00:53:0{n}", f"02:00:00:00:00:0{n}", "10.0.0.1/24", 1, 0.1)
    for n in range(8)
)


@pytest.mark.needs("root")
def test_a_damaged_lab_gives_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lab was brought up once, and its namespaces are gone."""
    inputs, copy = tmp_path / "whole", tmp_path / "copy"
    home = inputs / "lab" / "hostile"
    home.mkdir(parents=True)
    shown = command_line.invoke("show", SCENARIOS / "lab/dragonfly_8.toml").stdout
    (home / "scenario.toml").write_text(shown)
    state.write(home, state.LabRecord((), "ebpf", boot=BootRecord(ADDRESSES, 8, 8, 0)))
    monkeypatch.setenv(state.RUNTIME, str(copy))
    wrong = []
    for words in (["lab", "status"], ["lab", "check"]):
        wrong += offences(inputs, copy, lambda copy, words=words: words)  # type: ignore[misc]
    assert wrong == []


@pytest.mark.parametrize("verb", [["run"], ["show"], ["design"], ["schedule"], ["curve"]], ids=str)
def test_a_damaged_scenario_is_reported_in_one_sentence(
    inputs: dict[str, Path], tmp_path: Path, verb: list[str]
) -> None:
    def words(copy: Path) -> list[object]:
        out = ["-o", copy / "out"] if verb == ["schedule"] else []
        return [*verb, copy / "one.toml", *out]

    # Every mistake of a scenario is reported, each on a line.
    assert offences(inputs["file"], tmp_path / "copy", words, lines_max=50) == []


TEXTS = {
    "parse": ("osu-micro-benchmarks/osu_bw-7.4.txt", ["bench", "parse"]),
    "reference": ("hpcc/hpccoutf-4ranks.txt", ["reference", "--result"]),
    "site": (None, ["bench", "site"]),
    "reframe": (None, ["bench", "site", "--import-reframe"]),
    "environment": (None, ["bench", "environment", "--before"]),
    "lint": (None, ["control", "lint"]),
}


@pytest.mark.parametrize(("source", "verb"), TEXTS.values(), ids=TEXTS.keys())
def test_damaged_text_is_one_sentence(tmp_path: Path, source: str | None, verb: list[str]) -> None:
    home = tmp_path / "whole"
    home.mkdir()
    text = (DATA / source).read_bytes() if source else b'launcher = "ssh"\nhosts = { a = {} }\n'
    (home / "one.txt").write_bytes(text)
    assert offences(home, tmp_path / "copy", lambda copy: [*verb, copy / "one.txt"]) == []


CONFIGURATIONS = ["sonic", "onyx", "eos", "cumulus"]


@pytest.mark.parametrize("system", CONFIGURATIONS)
def test_a_damaged_configuration_is_reported_in_one_sentence(tmp_path: Path, system: str) -> None:
    home = tmp_path / "whole"
    marking = {"queue_min": "50kB", "queue_max": "200kB", "share_max": 0.1}
    roce: dict[str, object] = {"transport": {"roce": {"dcqcn": {}}}}
    scenario = {"topology": FEW["topology"], "switch": {"ecn": marking}, **roce}
    for name, text in files(policy(scenario, options=ExportOptions(system=system)), system).items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    assert offence("control", "lint", home) == ""
    assert offences(home, tmp_path / "copy", lambda copy: ["control", "lint", copy]) == []


ODD_WORDS = {"no UTF-8": os.fsdecode(b"\xff\xfe.toml"), "long": "x" * 5000, "empty": ""}


@pytest.mark.parametrize(
    "verb",
    [
        ["run"],
        ["show"],
        ["design"],
        ["curve"],
        ["observe"],
        ["report"],
        ["study"],
        ["bench", "parse"],
        ["bench", "history"],
        ["control", "lint"],
        ["control", "export", "--nos", "sonic"],
        ["calibrate"],
    ],
    ids=" ".join,
)
def test_odd_names_of_files_are_reported_in_one_sentence(verb: list[str]) -> None:
    result = [f"{name}: {offence(*verb, word)}" for name, word in ODD_WORDS.items()]
    assert [text for text in result if not text.endswith(": ")] == []


def test_a_damaged_fabric_of_another_program_is_reported_in_one_sentence(tmp_path: Path) -> None:
    fabrics = Path(__file__).parents[1] / "data/fabrics"
    result = []
    for number, chance in enumerate(hostile.rounds(7)):
        cases = [
            (path.name, damage)
            for path in sorted(fabrics.iterdir())
            for damage in damages(path, 100 + number * hostile.SEEDS)
        ]
        for name, damage in chance.sample(cases, 3 * CASES_MAX):
            copy = damaged(fabrics, name, damage, tmp_path / "copy")
            if wrong := offence("import", copy / name, "--attach", 1):
                result.append(f"{name}, {damage.name}: {wrong}")
    assert result == []
