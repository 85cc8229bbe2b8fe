"""Energy of a run: power under its own load, times its duration."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import etherweave
from etherweave.api.energy import energy
from etherweave.api.overview import overview
from etherweave.measurements.run_lines import run_lines

PROFILE = tomllib.loads(
    (Path(__file__).parents[2] / "profiles/power/ethernet-100g.toml").read_text()
)


def scenario(**design: str) -> dict[str, Any]:
    job = {"name": "all", "workload": {"all_to_all": {"ranks": 2, "bytes": "1MiB"}}}
    return {"topology": {"single_switch": {"hosts": 2}}, "design": design, "job": [job]}


def watts(family: str, name: str) -> float:
    return float(PROFILE[family][name]["value"].removesuffix("W"))


def test_energy_is_the_sum_of_the_parts_times_the_duration() -> None:
    result = etherweave.run(scenario(power="ethernet-100g"))
    used = energy(result)
    assert used is not None
    seconds = result.summary["end_ns"] / 1e9
    fixed = float(PROFILE["switch"]["fixed"]["value"].removesuffix("W"))
    # Two ports of the switch, and both ends of two cables.
    ports = 2 * watts("port", "100Gb/s copper") + 4 * watts("module", "100Gb/s copper")
    assert used.switches_j == pytest.approx((fixed + ports) * seconds)
    assert used.nics_j == pytest.approx(2 * watts("nic", "100Gb/s") * seconds)
    assert used.mean_w * seconds == pytest.approx(used.total_j)
    assert (used.profile, used.saving) == ("ethernet-100g", "always_on")
    assert any(line.startswith("energy: ") for line in run_lines(result, overview(result)))


def test_ports_that_sleep_use_less_power() -> None:
    idle = {"sleep": "2.88us", "wake": "4.48us"}
    keys = {"switch.low_power_idle": idle, "nic.low_power_idle": idle}
    awake = energy(etherweave.run(scenario(power="ethernet-100g")))
    asleep = energy(etherweave.run(scenario(power="ethernet-100g"), keys))
    assert awake and asleep
    assert asleep.saving == "low_power_idle"
    assert asleep.mean_w < awake.mean_w


def test_a_run_without_a_profile_of_power_has_no_energy() -> None:
    assert energy(etherweave.run(scenario())) is None


def test_a_fabric_of_25_gbps_has_a_profile() -> None:
    rates = {"topology": {"single_switch": {"hosts": 2, "rate": "25Gb/s"}}}
    used = energy(etherweave.run(scenario(power="ethernet-25g") | rates))
    assert used is not None
    # The switch, two of its ports, four ends of cables, and two cards.
    assert used.mean_w == pytest.approx(100 + 2 * 0.4 + 4 * 0.1 + 2 * 12.95)


@pytest.mark.parametrize(
    ("key", "name", "near"),
    [
        ("power", "ethernet-100gg", "; nearest is `ethernet-100g`"),
        ("prices", "exmple", "expected one of example"),
    ],
)
def test_a_misspelt_document_ends_the_run_at_its_start(key: str, name: str, near: str) -> None:
    with pytest.raises(etherweave.ScenarioError, match=f'design.{key}: no .* \\"{name}\\".*{near}'):
        etherweave.run(scenario(**{key: name}))


def test_a_profile_without_the_fabric_s_ports_is_named() -> None:
    rates = {"topology": {"single_switch": {"hosts": 2, "rate": "50Gb/s"}}}
    result = etherweave.run(scenario(power="ethernet-100g") | rates)
    with pytest.raises(etherweave.ScenarioError, match="has no port"):
        energy(result)
    assert any("energy: not known" in line for line in run_lines(result, overview(result)))
