"""Dispatch and combine of experts by DeepEP's kernels, which several tests measure."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from etherweave.api.results import Result
from etherweave.api.simulation import moe_loads
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.formulas import dispatch_bytes, dispatch_egress_bytes, percentile, ratio
from etherweave.bmwg.kpis import BOUNDARY, SETTING, SOFTWARE, flow_sums, health, iterations_us
from etherweave.bmwg.model import Case, Included, Metric, labelled
from etherweave.bmwg.settings import sized
from etherweave.bmwg.traffic import Job, experts

AXES = ("model", "EP", "batch")
COUNTS = (8, 16, 32, 48, 64, 96)  # Accelerators of a group of experts (I 7.1).
NODE = 8  # Accelerators of a node, which links of their own join.
EXPERTS = (256, 288)  # Numbers of experts, of which the first that is a multiple of EP is taken.
FORMATS = {1: "fp8", 2: "bf16"}  # Formats of a dispatch by bytes of a value.


class ExpertModel(NamedTuple):
    """Sizes that decide the bytes of a token."""

    top_k: int
    hidden: int
    element_bytes: int


MODELS = {
    "k 2, H 4096, 2 B": ExpertModel(2, 4096, 2),
    "k 8, H 7168, 1 B": ExpertModel(8, 7168, 1),
    "k 8, H 7168, 2 B": ExpertModel(8, 7168, 2),
}
"""Models whose payload of a pair is that of rows M1, M2 and M4 (I 7.1)."""


def widest(fabric: BenchFabric) -> int:
    """Return the most accelerators of a group of experts that the fabric has, 8 at least."""
    return max((count for count in COUNTS if count <= fabric.hosts), default=COUNTS[0])


def exchange(
    fabric: BenchFabric,
    count: int,
    model: ExpertModel,
    batch: int,
    layers: int,
    mode: str = "normal",
    **keys: object,
) -> Job:
    """Dispatch and combine the tokens of layers on the first hosts, a node after the other.

    Nodes of a fabric with fewer than two have one accelerator, so that tokens cross the fabric.
    """
    moe = {
        "ranks": count,
        "mode": mode,
        "tokens": batch,
        "hidden": model.hidden,
        "experts": next((number for number in EXPERTS if number % count == 0), count),
        "top_k": model.top_k,
        "format": FORMATS[model.element_bytes],
        "node": {"accelerators": NODE if fabric.hosts >= 2 * NODE else 1},
        "iterations": layers,
    }
    return experts(range(count), moe, **keys)


def dispatch_cases(
    fabric: BenchFabric,
    models: Sequence[str],
    counts: Sequence[int],
    batches: Sequence[int],
    layers: int,
) -> list[Case]:
    """Make a case for each model, number of participants and batch."""
    return [
        sized(
            *(fabric, count, labelled(AXES, name, count, batch)),
            {"job": [exchange(fabric, count, MODELS[name], batch, layers)]},
        )
        for name in models
        for count in counts
        for batch in batches
    ]


def dispatches_us(result: Result) -> list[float]:
    """Read how long dispatches took, each until its last rank was done [us]."""
    return iterations_us(result, "experts")[0::2]


def combines_us(result: Result) -> list[float]:
    """Read how long combines took, each until its last rank was done [us]."""
    return iterations_us(result, "experts")[1::2]


def dispatched_bytes(result: Result) -> float:
    """Compute the payload that an accelerator dispatches to other nodes in a layer [B].

    Acknowledged payload of all connections is divided between dispatch and combine by the bytes of
    a copy, as each copy that was dispatched comes back once.
    """
    scenario = result.scenario
    moe = scenario["job"][0]["workload"]["moe"]
    dispatch, combine = moe_loads(moe, scenario["seed"])["token_bytes"]
    of_layers: float = flow_sums(result)[3] * dispatch / (dispatch + combine)
    return of_layers / int(moe["ranks"] * moe["iterations"])


def dispatch_metrics(fabric: BenchFabric) -> list[Metric]:
    """Return payload by formula and as observed, latency of dispatch and combine, and rate."""

    def pair(case: Case, _: Result) -> float:
        name, count, batch = (case.labels[axis] for axis in AXES)
        model = MODELS[str(name)]
        size = dispatch_bytes(int(str(batch)), *model, int(str(count)))
        return math.floor(size + 0.5)

    def sent(case: Case, result: Result) -> float:
        return dispatch_egress_bytes(pair(case, result), int(str(case.labels["EP"])))

    def rate(result: Result) -> float | None:
        return ratio(dispatched_bytes(result) / 1e3, percentile(dispatches_us(result), 50))

    return [
        BOUNDARY.metric("S_fabric of a dispatch [B]", dispatched_bytes),
        SETTING.case_metric("T_dispatch by formula [B]", pair),
        SETTING.case_metric("T_egress by formula [B]", sent),
        SOFTWARE.metric("dispatch P50 [us]", lambda run: percentile(dispatches_us(run), 50)),
        SOFTWARE.metric("dispatch P99 [us]", lambda run: percentile(dispatches_us(run), 99)),
        SOFTWARE.metric("combine P50 [us]", lambda run: percentile(combines_us(run), 50)),
        SOFTWARE.metric("dispatch to other nodes [GB/s]", rate),
        *health(fabric),
    ]


EXCHANGED = (
    "By formula: batch x k x H x bytes of a value / EP for a pair, EP - 1 times as much for an "
    "accelerator. S_fabric: payload that an accelerator sends to other nodes in a dispatch, of "
    "which normal kernels send a token once to a node, and low-latency kernels once to an expert."
)
"""Manner of reading tables of dispatches."""


def efficiency(trials: Included, reference: int) -> list[tuple[Case, float | None]]:
    """Compare the median latency at a reference number of participants with that of each."""
    known = {
        (case.labels["model"], case.labels["batch"]): percentile(dispatches_us(result), 50)
        for case, result in trials
        if case.labels["EP"] == reference
    }
    return [
        (case, ratio(known.get(key), percentile(dispatches_us(result), 50)))
        for case, result in trials
        for key in [(case.labels["model"], case.labels["batch"])]
    ]
