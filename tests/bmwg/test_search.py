"""The search of the largest load without loss."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from etherweave.bmwg.model import Case, Trial
from etherweave.bmwg.search import LOAD, Key, searched


def trial(case: Case, is_lost: bool) -> Trial:
    result: Any = SimpleNamespace(summary={"packets_dropped": int(is_lost)})
    return Trial(case, result)


def test_the_largest_load_without_loss_is_found_to_a_tenth_of_a_percent() -> None:
    limits = {"a": 63.2, "b": 0.02, "c": 100.0, "d": 50.0}
    cases = {("5.1", f"case {name}"): Case({"case": name}, {}, is_searched=True) for name in limits}
    cases["5.1", "case e"] = Case({"case": "e"}, {})
    loads: list[int] = []

    def carry_out(attempts: Mapping[Key, Case]) -> Mapping[Key, Trial]:
        loads.append(len(attempts))
        return {
            key: trial(case, cast(float, case.labels[LOAD]) > limits[str(case.labels["case"])])
            for key, case in attempts.items()
        }

    first = {key: trial(case, case.labels["case"] != "c") for key, case in cases.items()}
    trials = {key[1][-1]: trial for key, trial in searched(first, 200, carry_out).items()}
    assert loads == [3] * 10, "whose first run loses nothing is not searched"
    assert 63.1 <= cast(float, trials["a"].label(LOAD)) <= 63.2
    assert trials["a"].case.changes["nic.shaper"] == {"rate": "126367187500b/s", "burst": "16KiB"}
    assert trials["b"].problem == "packets are lost at each load from 0.1 % on"
    assert (trials["c"].label(LOAD), trials["d"].label(LOAD), trials["e"].label(LOAD)) == (
        None,
        50,
        None,
    )
