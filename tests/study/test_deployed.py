"""Experiments of a study on switches: what they keep, and which metrics are computed from it."""

from pathlib import Path

import pytest

from etherweave.control.experiments import ReactionExperiment, RulesExperiment
from etherweave.study import load_study
from etherweave.study.deployments import DeploymentResult
from etherweave.study.results import load_result

STUDY = load_study("exascale-2017")
METRICS = {name: metric for name, metric in STUDY.metrics.items() if name.startswith("deployed.")}


def deployed(**figures: object) -> DeploymentResult:
    return DeploymentResult(figures, {})


def test_every_experiment_of_deployment_feeds_a_check() -> None:
    asked: set[str] = set()

    class Asked(dict[str, DeploymentResult]):
        def __missing__(self, name: str) -> DeploymentResult:
            asked.add(name)
            raise KeyError(name)

    for metric in METRICS.values():
        with pytest.raises(KeyError):
            metric(Asked())
    assert asked == {experiment.name for experiment in STUDY.module("experiments").deployments()}


def test_a_pause_is_counted_in_controllers_reactions() -> None:
    result = {"deployed.reaction_ovs": deployed(pause_us=700.0, frames_lost=0)}
    # Section V-A: a controller needs 70 ms.
    assert METRICS["deployed.reaction.controllers"](result) == 100
    hosts = {"deployed.lab": deployed(addresses={"hosts": 5, "addressed": 3})}
    assert METRICS["deployed.dmp.without"](hosts) == 2


def test_figures_of_a_deployment_are_kept(tmp_path: Path) -> None:
    kept = DeploymentResult({"frames": 3}, {"wall_s": 0.5})
    kept.save(tmp_path)
    assert load_result(tmp_path) == kept


def test_a_trial_without_the_privilege_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etherweave.linux.namespaces.is_privileged", lambda: False)
    assert "root" in ReactionExperiment("deployed.reaction_ebpf", "ebpf").missing()


@pytest.mark.needs("ovs")
def test_frames_are_traced_through_a_plan_without_a_difference(tmp_path: Path) -> None:
    overrides: dict[str, object] = {"topology.dragonfly.a": 2, "topology.dragonfly.h": 1}
    experiment = RulesExperiment("x", "deployed", overrides)
    assert experiment.missing() == ""
    experiment.carry_out(STUDY.home, tmp_path)
    figures = DeploymentResult.load(tmp_path).figures
    # 3 groups of 2 switches with 2 hosts, one global link each: equation 1 gives 2 + 1 + 2.
    assert (figures["rules_min"], figures["rules_max"]) == (5, 5)
    assert (figures["frames_wrong"], figures["switches_differing"]) == (0, 0)
    assert figures["frames"] > 12 * 11
