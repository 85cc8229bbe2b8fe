"""The verb ``show`` prints every scenario that comes with Etherweave."""

import tomllib
from pathlib import Path

import pytest

import etherweave
from support import command_line

ROOT = Path(__file__).parents[2]
NO_SCENARIOS = {"namespaces-site.toml", "study.toml"}  # A site, and the declarations of studies.
QUESTIONS = "advise"  # The folder of questions of advice and their price books.
SCENARIOS = sorted(
    path.relative_to(ROOT)
    for folder in ("scenarios", "studies")
    for path in (ROOT / folder).rglob("*.toml")
    if path.name not in NO_SCENARIOS and path.parent.name != QUESTIONS
)


@pytest.mark.parametrize("path", SCENARIOS, ids=str)
def test_a_scenario_that_is_resolved_is_a_scenario_with_the_same_defaults(path: Path) -> None:
    resolved = etherweave.resolve(ROOT / path)
    values = tomllib.loads(resolved)
    assert "topology" in values
    document = tomllib.loads((ROOT / path).read_text())
    assert len(values["job"]) == len(document.get("job", []))
    if "file" not in str(values["topology"]):
        assert etherweave.resolve(values) == resolved


@pytest.mark.parametrize("kind", ["first", "design/clos_300k", "open_loop/reaction", "lab/clos_16"])
def test_the_verb_shows_scenarios_with_and_without_jobs(kind: str) -> None:
    done = command_line.run_here("show", ROOT / f"scenarios/{kind}.toml", code=0)
    assert tomllib.loads(done.stdout)["topology"]


def test_keys_that_others_decide_follow_as_comments() -> None:
    done = command_line.run_here("show", ROOT / "scenarios" / "uet.toml", code=0)
    lines = done.stdout.split("# By other keys:\n")[1].splitlines()
    assert lines[0] == (
        '# transport.uet.nscc.target_delay = "4500ns": three quarters of base_round_trip'
    )
    assert lines[1].startswith("# transport.uet.reordering_packets = 26: ")
    assert tomllib.loads(done.stdout)["transport"]["uet"]["nscc"]["base_round_trip"] == "6us"


def test_keys_of_jobs_that_others_decide_begin_with_the_job() -> None:
    scenario = tomllib.loads((ROOT / "scenarios" / "uet.toml").read_text())
    (job,) = scenario["job"]
    own = [{"uet": {"nscc": {"base_round_trip": trip}}} for trip in ("6us", "8us")]
    job |= {"shared_hosts": True}
    jobs = [{**job, "name": f"own{number}", "transport": own[number]} for number in range(2)]
    estimate = etherweave.foresee({**scenario, "job": [{**job, "name": "common"}, *jobs]})
    assert estimate
    delays = [line.split(":")[0] for line in estimate["derived"] if "target_delay" in line]
    assert delays == [
        'transport.uet.nscc.target_delay = "4500ns"',
        'job.1.transport.uet.nscc.target_delay = "4500ns"',
        'job.2.transport.uet.nscc.target_delay = "6us"',
    ]


def test_a_mistake_of_a_scenario_without_jobs_is_one_line_with_its_place(tmp_path: Path) -> None:
    scenario = tmp_path / "wrong.toml"
    scenario.write_text("[topology.mesh]\n\n[open_loop]\nloads = 1\n")
    done = command_line.run_here("show", scenario, code=2)
    assert done.stderr.startswith(f"{scenario}:4:")
    assert done.stderr.count("\n") == 1


def test_figures_of_an_interconnect_are_shown_with_their_sources_unless_replaced() -> None:
    scenario = ROOT / "scenarios/interconnect.toml"
    done = command_line.run_here("show", scenario)
    assert tomllib.loads(done.stdout)["flow_control"]["credits"]["unit"] == "64B"
    unit = '# flow_control.credits.unit = "64B": published: InfiniBand Architecture volume 1, 7.9.4'
    assert unit in done.stdout.splitlines()
    keys = {figure["key"] for figure in etherweave.figures(scenario)}
    replaced = {"switch.latency": "1us"}
    assert keys - {figure["key"] for figure in etherweave.figures(scenario, replaced)} == {
        "switch.latency"
    }
    assert etherweave.figures(ROOT / "scenarios/first.toml") == []


def test_a_key_that_a_scenario_states_itself_has_no_source(tmp_path: Path) -> None:
    scenario = tmp_path / "racks.toml"
    job = '[[job]]\nname = "ping"\nworkload.osu_latency = {}\n'
    scenario.write_text(
        'interconnect.profile = "ethernet-100-roce"\n[topology.fat_tree]\ncores = 2\n' + job
    )
    sources = command_line.run_here("show", scenario).stdout.partition("# Figures")[2]
    assert "# nic." in sources and "fat_tree.cores" not in sources
