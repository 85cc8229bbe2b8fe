"""The command line as its user meets it."""

import json
import subprocess
import sys
from pathlib import Path

from etherweave.results import Result

SCENARIOS = Path(__file__).parents[2] / "scenarios"
COMMAND = [str(Path(sys.executable).parent / "etherweave")]


def etherweave(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    words = [*COMMAND, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)


def test_run_prints_iteration_times_and_saves_a_result(tmp_path: Path) -> None:
    done = etherweave("run", SCENARIOS / "first.toml", "-o", tmp_path / "result", "--seed", "5")
    assert done.returncode == 0, done.stderr
    assert "latency: 1000 iterations, mean" in done.stdout
    result = Result.load(tmp_path / "result")
    assert result.summary["seed"] == 5
    assert len(result.tables["iterations"]) == 1000


def test_json_has_the_summary_and_the_times_of_each_job() -> None:
    done = etherweave("run", SCENARIOS / "first.toml", "--json", "--threads", "2")
    facts = json.loads(done.stdout)
    assert facts["finished"] == "complete"
    assert facts["packets_created"] == facts["packets_delivered"] + facts["packets_in_flight"]
    assert 1 < facts["jobs"]["latency"]["mean_us"] < 4


def test_a_mistake_is_one_line_with_its_place(tmp_path: Path) -> None:
    scenario = tmp_path / "wrong.toml"
    scenario.write_text("[switch]\nlatency = 300\n")
    done = etherweave("run", scenario)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{scenario}:2:1: switch.latency: ")
    assert done.stderr.count("\n") == 1


def test_what_show_prints_runs_alike(tmp_path: Path) -> None:
    shown = etherweave(
        "show", SCENARIOS / "first.toml", "--set", "job.0.workload.osu_latency.bytes='64B'"
    )
    assert 'bytes = "64B"' in shown.stdout
    resolved = tmp_path / "resolved.toml"
    resolved.write_text(shown.stdout)
    assert etherweave("show", resolved).stdout == shown.stdout


def test_a_stuck_run_says_who_waits_and_fails(tmp_path: Path) -> None:
    scenario = tmp_path / "stuck.toml"
    links = "".join(f"h{i},s{i},100Gb/s,3m\\ns{i},s{(i + 1) % 5},40Gb/s,20m\\n" for i in range(5))
    streams = "".join(
        f'[[job]]\nname = "j{i}"\nplacement.hosts = [{i}, {(i + 2) % 5}]\n'
        "[job.workload.permutation]\nranks = 2\nbytes = '10MB'\n"
        for i in range(1)
    )
    scenario.write_text(
        'routing = "shortest_path"\n[topology.custom]\nhosts = 5\n'
        f'links = "{links}"\n[run]\nstall_limit = "1ns"\n{streams}'
    )
    done = etherweave("run", scenario)
    assert done.returncode == 3, done.stderr
    assert "waits for" in done.stderr


def test_the_schema_is_json_and_names_the_topologies() -> None:
    schema = json.loads(etherweave("schema").stdout)
    assert "fat_tree" in json.dumps(schema)


def test_help_of_every_verb_has_an_example_or_a_sentence() -> None:
    for verb in ("run", "show", "schema", "study", "report", "calibrate"):
        assert len(etherweave(verb, "--help").stdout) > 100


def test_a_report_is_written_beside_its_result(tmp_path: Path) -> None:
    etherweave("run", SCENARIOS / "incast_roce.toml", "-o", tmp_path)
    done = etherweave("report", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").stat().st_size > 20_000
