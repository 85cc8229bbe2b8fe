"""Every reader of a file says which file is wrong and what it expects, in one line.

What readers there are follows from the command line and from the schema: a parameter or a key that
names a file and has no case here fails the test.
"""

import inspect
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import pytest
import typer.main

import etherweave
from etherweave.api import toml
from etherweave.cli import app
from etherweave.formats import family
from support import command_line, hostile
from support.launches import FakeLauncher, campaign, latencies, stored_campaign

pytestmark = pytest.mark.slow

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FIRST, NCCL = SCENARIOS / "first.toml", SCENARIOS / "nccl_tests.toml"
LAB = SCENARIOS / "lab/dragonfly_8.toml"
REWRITTEN = ("--set", "control.addresses=rewrite")
BINARY = bytes(range(256)) * 4
PLACES: Mapping[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "empty": lambda path: path.write_bytes(b""),
    "blank": lambda path: path.write_bytes(b"\n"),
    "binary": lambda path: path.write_bytes(BINARY),
    "directory": Path.mkdir,
}
"""Damages: what stands where the file should be."""
FILE = "@FILE"  # Name of the file in a command.


class Reader(NamedTuple):
    """A command that reads a file."""

    words: Sequence[object]  # Words of the command, with :data:`FILE`, and {home} of inputs.
    suffix: str = ".toml"
    may_be: tuple[str, ...] = ()  # Damages that are no mistake, as a file that is made anew.
    is_tls: bool = False  # Whether it needs a certificate.


def of_scenario(*verb: str, more: Sequence[object] = (), before: Sequence[object] = ()) -> Reader:
    """Make the case of a verb's scenario."""
    return Reader([*verb, *before, FILE, *more])


TLS = {"--tls-key": "x.key", "--tls-certificate": "x.pem", "--tls-ca": "x.pem"}


def of_tls(verb: Sequence[object], option: str) -> Reader:
    """Make the case of one of three files of TLS, of which the others are right."""
    files = {name: FILE if name == option else f"{{home}}/{file}" for name, file in TLS.items()}
    return Reader([*verb, *chain(*files.items())], ".pem", is_tls=True)


READERS: Mapping[str, Reader | Sequence[Reader]] = {
    "run file": of_scenario("run"),
    "run settings": Reader(["run", FIRST, "--set", f"@{FILE}"]),
    "run uncertain": Reader(["run", FIRST, "--samples", 8, "--uncertain", f"@{FILE}"]),
    "measure file": of_scenario("measure"),
    "measure site": Reader(["measure", FIRST, "--site", FILE]),
    "measure hostfile": Reader(
        ["measure", FIRST, "--launcher", "mpirun", "--hostfile", FILE, "-o", "{home}/out"], ""
    ),
    "schedule file": of_scenario("schedule", more=("-o", "{home}/out")),
    "replay recording": [
        Reader(["replay", FILE, "--on", FIRST], suffix)
        for suffix in ("", ".goal", ".bin", ".et", ".ewr", ".otf2")
    ],
    "replay scenario": Reader(["replay", SCENARIOS / "chakra", "--on", FILE]),
    "curve file": of_scenario("curve"),
    "sweep run file": of_scenario("sweep", "run"),
    "sweep status home": Reader(["sweep", "status", FILE], ""),
    "sweep plot home": Reader(["sweep", "plot", FILE, "x=seed", "y=seed"], ""),
    "sweep table home": Reader(["sweep", "table", FILE, "-o", "{home}/table.csv"], ""),
    "observe file": of_scenario("observe"),
    "design what": of_scenario("design"),
    "design load": Reader(["design", FIRST, "--load", FILE], ""),
    "import files": [
        *(
            Reader(["import", FILE], suffix)
            for suffix in (".conf", ".csv", ".gml", ".json", ".txt", ".xml", ".yaml")
        ),
        *(Reader(["import", FILE, "--form", name], ".txt") for name in family.READERS),
    ],
    "tables result": Reader(["tables", FILE, "-o", "{home}/out"], ""),
    "pack result": Reader(["pack", FILE, "-o", "{home}/packed.tar.gz"], ""),
    "unpack archive": Reader(["unpack", FILE, "-o", "{home}/unpacked"], ".tar.gz"),
    "advise run file": Reader(["advise", "run", FILE]),
    "advise quotes file": Reader(["advise", "quotes", FILE], ".csv"),
    "explain source": [Reader(["explain", FILE]), Reader(["explain", FILE], "")],
    "explore scenario": Reader(["explore", FILE, "--no-browser"]),
    "show file": of_scenario("show"),
    "report result": Reader(["report", FILE], ""),
    "report beside": Reader(["report", "{home}/simulated", "--beside", FILE], ""),
    "report simulation": Reader(["report", "{home}/measured", "--simulation", FILE], ""),
    "report topology": Reader(["report", "{home}/measured", "--topology", FILE]),
    "study name": Reader(["study", FILE], ""),
    "calibrate scenario": Reader(["calibrate", FILE, "--measured", "{home}/measured"]),
    "calibrate site": Reader(["calibrate", FIRST, "--site", FILE, "-o", "{home}/out"]),
    "calibrate measured": Reader(["calibrate", FIRST, "--measured", FILE], ""),
    "reference result": Reader(["reference", "--result", FILE], ".txt"),
    "bmwg file": of_scenario("bmwg", more=("-o", "{home}/bmwg")),
    "tune fabric": of_scenario("tune"),
    "tune file": [
        Reader(["tune", NCCL, "--library", name, "--file", FILE], ".conf")
        for name in ("nccl", "rccl", "ncclx")
    ],
    "uncertainty figures file": of_scenario("uncertainty", "figures"),
    "uncertainty rows directories": Reader(["uncertainty", "rows", FILE], ""),
    "uncertainty coverage directories": Reader(["uncertainty", "coverage", FILE], ""),
    "bench baseline add result": Reader(
        ["bench", "baseline", "add", FILE, "--name", "x", "--file", "{home}/kept.json"], ""
    ),
    "bench baseline add file": Reader(
        ["bench", "baseline", "add", "{home}/measured", "--name", "x", "--file", FILE],
        ".json",
        may_be=("missing",),
    ),
    "bench baseline list file": Reader(["bench", "baseline", "list", "--file", FILE], ".json"),
    "bench export reframe result": Reader(["bench", "export", "reframe", FILE], ""),
    "bench telemetry show path": Reader(["bench", "telemetry", "show", FILE], ""),
    "bench telemetry openmetrics path": Reader(["bench", "telemetry", "openmetrics", FILE], ""),
    "bench compare baseline": Reader(["bench", "compare", FILE, "{home}/measured"], ""),
    "bench compare candidate": Reader(["bench", "compare", "{home}/measured", FILE], ""),
    "bench environment before": Reader(["bench", "environment", "--before", FILE], ".json"),
    "bench environment other": Reader(["bench", "environment", "--other", FILE], ".json"),
    "bench environment root": Reader(["bench", "environment", "--root", FILE], ""),
    "bench environment site": Reader(["bench", "environment", "--site", FILE]),
    "bench history results": Reader(["bench", "history", FILE], ""),
    "bench history against": Reader(["bench", "history", "{home}", "--against", FILE], ""),
    "bench parse file": Reader(["bench", "parse", FILE], ".txt"),
    "bench run site": Reader(["bench", "run", "osu_bw", "--site", FILE, "-o", "{home}/out"]),
    "bench site file": Reader(["bench", "site", FILE]),
    "bench site import_reframe": Reader(["bench", "site", "--import-reframe", FILE], ".py"),
    "control dmp decode source": Reader(["control", "dmp", "decode", FILE], ".pcap"),
    "control agent file": of_scenario(
        *("control", "agent"),
        more=("--switch", "leaf0", "--connect", "unix:/no/socket", "--port", "1=lo"),
    ),
    "control diff file": of_scenario("control", "diff", more=(LAB,)),
    "control diff other": of_scenario("control", "diff", before=(LAB,)),
    "control diff factory": Reader(
        ["control", "diff", LAB, FIRST, "--factory", FILE, *REWRITTEN], ".csv"
    ),
    "control export file": of_scenario("control", "export", more=("--nos", "sonic")),
    "control export models": Reader(
        ["control", "export", FIRST, "--nos", "sonic", "--yang", FILE], ""
    ),
    "control export lookup": Reader(
        ["control", "export", FIRST, "--nos", "sonic", "--lookup", FILE], ".ini"
    ),
    "control export running": Reader(
        ["control", "export", FIRST, "--nos", "sonic", "--running", FILE], ""
    ),
    **{
        f"control learn {option[2:].replace('-', '_')}": of_tls(
            ["control", "learn", "--listen", "127.0.0.1:0", "-o", "{home}/x.toml"], option
        )
        for option in TLS
    },
    "control lint paths": [
        Reader(["control", "lint", FILE], suffix)
        for suffix in ("", ".json", ".cfg", ".yaml", ".sh", ".txt")
    ],
    "control lint off": Reader(["control", "lint", "{home}/x.json", "--off", FILE]),
    "control plan file": of_scenario("control", "plan"),
    "control plan factory": Reader(["control", "plan", LAB, "--factory", FILE, *REWRITTEN], ".csv"),
    "control serve file": of_scenario("control", "serve"),
    **{
        f"control serve {option[2:].replace('-', '_')}": of_tls(
            ["control", "serve", LAB, "--listen", "127.0.0.1:0"], option
        )
        for option in TLS
    },
    "control serve factory": Reader(
        ["control", "serve", LAB, "--factory", FILE, *REWRITTEN], ".csv"
    ),
    "control systems file": of_scenario("control", "systems"),
    "control verify file": of_scenario("control", "verify"),
    "control verify factory": Reader(
        ["control", "verify", LAB, "--factory", FILE, *REWRITTEN], ".csv"
    ),
    "lab up file": of_scenario("lab", "up"),
    "lab demo file": of_scenario("lab", "demo"),
    "lab announce file": of_scenario("lab", "announce"),
}
"""Cases by the verb and the name of its parameter."""
WRITTEN = (
    "output",
    "html",
    "draw",
    "heat",
    "animation",
    "figure",
    "keep",
    "ansible",
    "trace",
    "pcap",
)
"""Parameters that name what a verb writes."""
SHARED = ("settings", "uncertain")
"""Parameters of several verbs whose cases are those of ``run``."""
NAMES_FILE = re.compile(r"\b(?:FILE|SCENARIO|RESULT|RECORDING|DIRECTORY|DIR)\b")


def parameters_with_files() -> Iterator[str]:
    """Name the parameters of all verbs that read files, by type, value or help."""
    for words, command in _commands(typer.main.get_command(app), ()):
        hints = get_type_hints(inspect.unwrap(command.callback))
        for parameter in command.params:
            written = f"{parameter.metavar or ''} {getattr(parameter, 'help', '') or ''}"
            has_name = NAMES_FILE.search(parameter.metavar or "") or "@FILE" in written
            if parameter.name not in WRITTEN and (_is_path(hints[parameter.name]) or has_name):
                yield f"{' '.join(words)} {parameter.name}"


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if hasattr(command, "verbs"):
        for name in command.verbs:
            yield from _commands(command.load(name), (*words, name))
    elif hasattr(command, "commands"):
        for name, member in command.commands.items():
            yield from _commands(member, (*words, name))
    else:
        yield words, command


def _is_path(hint: Any) -> bool:
    return hint is Path or any(_is_path(part) for part in get_args(hint))


def test_every_parameter_that_names_a_file_has_a_case() -> None:
    readers = set(parameters_with_files())
    shared = {name for name in readers if name.rpartition(" ")[2] in SHARED}
    of_run = {f"run {name}" for name in SHARED}
    assert readers - shared | of_run | {"study name"} == set(READERS)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with inputs of commands beside the file that is wrong."""
    home = tmp_path_factory.mktemp("readers")
    few = {"topology": {"single_switch": {"hosts": 2}}, "run": {"end": "1ms"}}
    job = {"name": "j", "workload": {"osu_latency": {"iterations": 5}}}
    etherweave.run({**few, "job": [job]}).save(home / "simulated")
    launcher = FakeLauncher(lambda number: latencies(10.0 + number % 3))
    stored_campaign(home / "measured", campaign(), launcher)
    if shutil.which("openssl"):
        identity = ("-keyout", f"{home}/x.key", "-out", f"{home}/x.pem", "-subj", "/CN=x")
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *identity]
        subprocess.run(made, check=True, capture_output=True)
    (home / "x.json").write_text("{}")
    return home


def complaint(words: Sequence[object], name: str, lines_max: int = 1) -> str:
    """Run a command; return what is wrong with how it ends, nothing for one line about a file."""
    with hostile.bounded():
        done = command_line.invoke(*words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return repr(done.exception)
    errors = command_line.without_progress(done.stderr)
    if done.exit_code != 2 or not 1 <= errors.count("\n") <= lines_max:
        return f"ends with {done.exit_code}: {done.output[:300]}"
    has_reason = "expected" in errors or "No such file or directory" in errors
    return "" if name in errors and has_reason else errors


CASES = [
    pytest.param(
        *(reader, damage),
        id=f"{name}, {reader.suffix or 'no suffix'}, {damage}",
        marks=[pytest.mark.needs("openssl")] if reader.is_tls else [],
    )
    for name, readers in READERS.items()
    for reader in ([readers] if isinstance(readers, Reader) else readers)
    for damage in PLACES
    if damage not in reader.may_be
]


@pytest.mark.parametrize(("reader", "damage"), CASES)
def test_a_file_that_is_wrong_is_named_with_what_is_expected(
    reader: Reader, damage: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / f"wrong{reader.suffix}"
    PLACES[damage](file)
    words = [str(word).replace(FILE, str(file)).format(home=home) for word in reader.words]
    assert complaint(words, file.name) == ""


HOSTS: Mapping[str, object] = {"topology": {"single_switch": {"hosts": 8}}}
RANDOM = {"ranks": 8, "load": 0.1, "sizes": {"fixed": "1kB"}, "duration": "10us"}
POOL = {"workers": 1, "accelerators": 1}
WRONG = "wrong.{rank}.et"


def of_job(**workload: object) -> Mapping[str, object]:
    """Make a scenario with a workload."""
    return {**HOSTS, "job": [{"name": "j", "workload": workload}]}


def of_requests(requests: Mapping[str, object]) -> Mapping[str, object]:
    """Make a scenario that serves requests."""
    return of_job(inference={"prefill": POOL, "decode": POOL, "requests": requests})


KEYS: Mapping[str, Sequence[tuple[str, Mapping[str, object]]]] = {
    "Chakra.file": [("wrong.0.et", of_job(chakra={"file": WRONG}))],
    "Chakra.groups_file": [
        (
            "wrong.json",
            of_job(
                chakra={
                    "file": str(SCENARIOS / "chakra/step.{rank}.et.gz"),
                    "groups_file": "wrong.json",
                }
            ),
        )
    ],
    "Custom.file": [
        (f"wrong{end}", {"topology": {"custom": {"file": f"wrong{end}"}}})
        for end in (".csv", ".tsv", ".json", ".graphml", ".xml")
    ],
    "DesignSpec.power_file": [("wrong.toml", {**HOSTS, "design": {"power_file": "wrong.toml"}})],
    "DesignSpec.prices_file": [("wrong.toml", {**HOSTS, "design": {"prices_file": "wrong.toml"}})],
    "ExpertLoads.file": [
        ("wrong.txt", of_job(moe={"ranks": 8, "gate": {"loads": {"file": "wrong.txt"}}}))
    ],
    "Flows.file": [
        (f"wrong{end}", of_job(flows={"file": f"wrong{end}"}))
        for end in (".csv", ".txt", ".cm", ".parquet")
    ],
    "Goal.file": [
        (f"wrong{end}", of_job(goal={"file": f"wrong{end}"})) for end in (".goal", ".bin")
    ],
    "Hpl.file": [("wrong.dat", of_job(hpl={"file": "wrong.dat"}))],
    "InterconnectSpec.file": [
        ("wrong.toml", {**of_job(osu_latency={}), "interconnect": {"file": "wrong.toml"}})
    ],
    "ListedRequests.file": [("wrong.csv", of_requests({"listed": {"file": "wrong.csv"}}))],
    "Matrix.file": [
        ("wrong.txt", of_job(flows={**RANDOM, "pairs": {"matrix": {"file": "wrong.txt"}}}))
    ],
    "SizePoints.file": [
        ("wrong.txt", of_job(flows={**RANDOM, "sizes": {"points": {"file": "wrong.txt"}}}))
    ],
    "SweepSpec.scenario": [
        (
            "wrong.toml",
            {"sweep": {"scenario": "wrong.toml", "axis": [{"key": "seed", "values": [1]}]}},
        )
    ],
}
"""Scenarios by the key that names a file, each with the file's name."""


def keys_with_files() -> Iterator[str]:
    """Name the keys of scenarios that name files."""
    for name, table in json.loads(etherweave.schema())["$defs"].items():
        for member in (table, *table.get("oneOf", ()), *table.get("anyOf", ())):
            for key, about in member.get("properties", {}).items():
                is_beside = "a file beside this" in about.get("description", "")
                if key == "file" or key.endswith("_file") or is_beside:
                    yield f"{name}.{key}"


def test_every_key_that_names_a_file_has_a_case() -> None:
    assert set(keys_with_files()) == set(KEYS)


@pytest.mark.parametrize("damage", PLACES)
@pytest.mark.parametrize(
    ("name", "scenario"),
    [pytest.param(*case, id=f"{key}, {case[0]}") for key, cases in KEYS.items() for case in cases],
)
def test_a_file_of_a_scenario_that_is_wrong_is_named_with_what_is_expected(
    name: str, scenario: Mapping[str, object], damage: str, tmp_path: Path
) -> None:
    PLACES[damage](tmp_path / name)
    file = tmp_path / "scenario.toml"
    file.write_text(toml.document(scenario))
    verb = "run" if "job" in scenario else "sweep" if "sweep" in scenario else "design"
    words = [verb, file, *(["-o", tmp_path / "out"] if verb == "sweep" else [])]
    assert complaint(words, name.removesuffix("0.et")) == ""
