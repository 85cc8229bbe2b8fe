"""The verb ``explain``: what limits a job, and what it takes without that."""

import json
from pathlib import Path
from typing import Any

import pytest

import etherweave
from etherweave.limits import limits
from etherweave.report import write_report
from support import command_line

SCENARIOS = Path(__file__).parents[2] / "scenarios"
COPIES = {
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 2, "cores": 1, "links_per_core": 1}},
    "transport": {"tcp": {}},
    "observe": {"ranks": True},
    "host": {"cpu": {"send_per_kib": "2us", "receive_per_kib": "2us"}},
    "job": [
        {
            "name": "pair",
            "placement": {"hosts": [0, 2]},
            "workload": {"osu_latency": {"bytes": "64KiB", "iterations": 3, "warm_up": 0}},
        }
    ],
}
"""Two hosts whose kernels copy a KiB in as long as the link takes for 25."""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the scenario to a file."""
    path = tmp_path_factory.mktemp("explain") / "copies.toml"
    path.write_text(etherweave.resolve(COPIES))
    return path


def explained(*arguments: str | Path) -> dict[str, Any]:
    done = command_line.run_here("explain", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_job_is_limited_by_what_its_hosts_copy_and_parts_add_up() -> None:
    (job,) = limits(etherweave.run(COPIES))
    assert sum(job.parts_ns.values()) == pytest.approx(job.time_ns, rel=1e-12)
    assert next(iter(job.parts_ns)) == "socket_copy"
    assert job.parts_ns["socket_copy"] > 0.8 * job.time_ns
    assert job.sentence().startswith("pair: limited by the host, ")
    assert all(one.end_ns == two.start_ns for one, two in zip(job.path, job.path[1:], strict=False))


def test_without_copies_the_job_takes_as_much_less_as_the_path_says(scenario: Path) -> None:
    found = explained(scenario, "--what-if")
    (job,) = found["jobs"]
    answers = {answer["without"]: answer for answer in found["what_if"]}
    base = answers["copies"]["base_us"]
    assert 1 - answers["copies"]["time_us"] / base == pytest.approx(
        job["parts_us"]["socket_copy"] / job["time_us"], abs=0.1
    )
    assert answers["rate"]["time_us"] == pytest.approx(base, rel=0.05)
    assert answers["fabric"]["time_us"] < base
    assert (answers["paths"]["time_us"], answers["paths"]["reason"]) == (None, "nothing to change")


def test_a_result_is_explained_without_running_again(scenario: Path, tmp_path: Path) -> None:
    etherweave.run(scenario).save(tmp_path / "result")
    again = explained(tmp_path / "result")
    assert again == explained(scenario)
    text = command_line.run_here("explain", tmp_path / "result", "--longest", "1").stdout
    assert "copies between sockets and the program" in text
    assert text.count(" on host") == 1


def test_run_and_report_begin_with_what_limits_a_job(scenario: Path, tmp_path: Path) -> None:
    done = command_line.run_here("run", scenario, "-o", tmp_path / "result")
    assert done.stdout.splitlines()[1].startswith("pair: limited by the host, ")
    page = write_report(tmp_path / "result", tmp_path).read_text()
    assert "What limits each job" in page
    assert (tmp_path / "limits.svg").exists()


def test_a_report_of_two_results_says_which_part_differs(scenario: Path, tmp_path: Path) -> None:
    etherweave.run(scenario).save(tmp_path / "slow")
    etherweave.run(scenario, {"host.cpu.receive_per_kib": "1us"}).save(tmp_path / "fast")
    page = write_report(tmp_path / "slow", tmp_path, [tmp_path / "fast"]).read_text()
    assert "pair: results differ most by copies between sockets and the program" in page


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((SCENARIOS / "two_planes.toml", "--job", "fft"), "--job: fft; expected one of "),
        ((SCENARIOS / "dcqcn.toml",), "no rank took any time; expected a job with ranks"),
    ],
)
def test_what_cannot_be_explained_says_why(
    arguments: tuple[str | Path, ...], expected: str
) -> None:
    done = command_line.run_here("explain", *arguments)
    assert done.returncode == 2
    assert expected in done.stderr


def test_a_result_without_ranks_says_which_key_is_missing(tmp_path: Path) -> None:
    unseen = {key: COPIES[key] for key in COPIES if key != "observe"}
    etherweave.run(unseen).save(tmp_path / "result")
    done = command_line.run_here("explain", tmp_path / "result")
    assert done.returncode == 2
    assert "expected observe.ranks = true" in done.stderr
