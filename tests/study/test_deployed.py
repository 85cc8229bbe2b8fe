"""Experiments of a study that need switches: what they keep, and what is measured in it."""

from pathlib import Path

import pytest

from etherweave.study.deployed import Followed, Reacted, Told
from etherweave.study.exascale import PLAN, load
from etherweave.study.exascale.deployment import deployments, measures


def told(**figures: object) -> Told:
    return Told(figures, {})


def test_every_experiment_of_deployment_feeds_a_check() -> None:
    asked: set[str] = set()

    class Asked(dict[str, Told]):
        def __missing__(self, name: str) -> Told:
            asked.add(name)
            raise KeyError(name)

    for measure in measures().values():
        with pytest.raises(KeyError):
            measure(Asked())
    assert asked == {experiment.name for experiment in deployments()}


def test_a_pause_is_counted_in_controllers_reactions() -> None:
    found = {"deployed.reaction_ovs": told(pause_us=700.0, frames_lost=0)}
    # Section V-A: a controller needs 70 ms.
    assert measures()["deployed.reaction.controllers"](found) == 100
    hosts = {"deployed.lab": told(addresses={"hosts": 5, "addressed": 3})}
    assert measures()["deployed.dmp.without"](hosts) == 2


def test_what_was_found_is_kept(tmp_path: Path) -> None:
    kept = Told({"frames": 3}, {"wall_s": 0.5})
    kept.save(tmp_path)
    assert load(tmp_path) == kept


def test_a_trial_without_the_privilege_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etherweave.control.ebpf.attach.is_powerful", lambda: False)
    assert "root" in Reacted("deployed.reaction_ebpf", "ebpf").missing()


@pytest.mark.needs("ovs")
def test_frames_are_followed_through_a_plan_without_a_difference(tmp_path: Path) -> None:
    overrides: dict[str, object] = {"topology.dragonfly.a": 2, "topology.dragonfly.h": 1}
    experiment = Followed("x", "told", overrides)
    assert experiment.missing() == ""
    experiment.carry_out(PLAN.home, tmp_path)
    found = Told.load(tmp_path).figures
    # 3 groups of 2 switches with 2 hosts, one global link each: equation 1 gives 2 + 1 + 2.
    assert (found["rules_min"], found["rules_max"]) == (5, 5)
    assert (found["frames_wrong"], found["switches_differing"]) == (0, 0)
    assert found["frames"] > 12 * 11
