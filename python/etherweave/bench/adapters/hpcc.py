"""HPC Challenge: the summary at the end of its report.

Bandwidth is in 10^9 bytes: of rings per rank and direction, slowest rank; -1 means that a test was
not run.
"""

import re

from etherweave.bench.adapters import hpl
from etherweave.bench.programs import plans
from etherweave.bench.programs.adapter import adapter
from etherweave.bench.texts.draft import Draft, find
from etherweave.measurements.benchmark_report import GarbledError, Labels
from etherweave.measurements.hpcc import RING_BANDWIDTH, RING_LATENCY
from etherweave.measurements.metrics import (
    BANDWIDTH,
    BANDWIDTH_RANK,
    BANDWIDTH_SUM,
    FLOP_RATE,
    LATENCY,
    MEMORY_BANDWIDTH,
    UPDATE_RATE,
    Metric,
)

_RATES: dict[str, tuple[Metric, str]] = {
    "HPL_Tflops": (FLOP_RATE, "T/s"),
    "PTRANS_GBs": (BANDWIDTH_SUM, "GB/s"),
    **{
        f"{scope}RandomAccess{kind}_GUPs": (UPDATE_RATE, "G/s")
        for scope in ("MPI", "Star", "Single")
        for kind in ("", "_LCG")
    },
    **{f"{scope}FFT_Gflops": (FLOP_RATE, "G/s") for scope in ("MPI", "Star", "Single")},
    **{f"{scope}DGEMM_Gflops": (FLOP_RATE, "G/s") for scope in ("Star", "Single")},
    **{
        f"{scope}STREAM_{kind}": (MEMORY_BANDWIDTH, "GB/s")
        for scope in ("Star", "Single")
        for kind in ("Copy", "Scale", "Add", "Triad")
    },
}
_NETWORK: dict[str, tuple[Metric, str, int, str]] = {
    **{
        f"{order}OrderedRing{what}": (metric, unit, size, "mean")
        for order in ("Randomly", "Naturally")
        for what, metric, unit, size in (
            ("Latency_usec", LATENCY, "us", RING_LATENCY),
            ("Bandwidth_GBytes", BANDWIDTH_RANK, "GB/s", RING_BANDWIDTH),
        )
    },
    **{
        f"{word}PingPong{what}": (metric, unit, size, statistic)
        for word, statistic in (("Min", "min"), ("Avg", "mean"), ("Max", "max"))
        for what, metric, unit, size in (
            ("Latency_usec", LATENCY, "us", RING_LATENCY),
            ("Bandwidth_GBytes", BANDWIDTH, "GB/s", RING_BANDWIDTH),
        )
    },
}
PARAMETERS = (
    *("CommWorldProcs", "HPL_N", "HPL_NB", "HPL_nprow", "HPL_npcol", "HPL_depth", "HPL_ctop"),
    *("PTRANS_n", "PTRANS_nb", "PTRANS_nprow", "PTRANS_npcol", "MPIRandomAccess_N", "MPIFFT_N"),
    *("StarDGEMM_Gflops", "StarSTREAM_Copy", "StarFFT_Gflops", "StarRandomAccess_GUPs"),
)
"""Names of the summary by which its tests can be simulated."""
_PAIR = re.compile(r"^(\w+)=(\S*)\s*$")
_HEAD = re.compile(r"HPC Challenge Benchmark version ([\d.]+\d)")


def _parse(draft: Draft) -> None:
    draft.program = "hpcc"
    lines = draft.block.lines
    draft.version = next((match[1] for _, match in find(_HEAD, lines)), None)
    places = {line.text.strip(): place for place, line in enumerate(lines)}
    begin, end = (places.get(f"{word} of Summary section.") for word in ("Begin", "End"))
    if begin is None:
        raise GarbledError(draft.block.start, "no summary: the run was cut, or did not end")
    seen: dict[str, str] = {}
    for line, match in find(_PAIR, lines[begin + 1 : end]):
        name, value = match.groups()
        if name in seen:
            raise GarbledError(line.number, f"{name} occurs twice")
        seen[name] = value
        if value != "-1":
            _take(draft, name, value, line.number)
            if name in PARAMETERS:
                draft.facts[name] = value
    draft.end(end is not None, "the line `End of Summary section.`")
    if draft.version is None and {"VersionMajor", "VersionMinor"} <= seen.keys():
        draft.version = f"{seen['VersionMajor']}.{seen['VersionMinor']}"
    for name in (*_RATES, *_NETWORK):
        if name not in seen:
            draft.miss(f"{name} is missing")
    if "Success" in seen:
        draft.check(seen["Success"] == "1", "HPCC does not report success")


def _take(draft: Draft, name: str, value: str, line: int) -> None:
    if name in _RATES:
        metric, unit = _RATES[name]
        labels: Labels = [("test", name.rpartition("_")[0] if "STREAM" not in name else name)]
        draft.add(metric, value, unit, line, labels=labels)
    elif name in _NETWORK:
        metric, unit, size, statistic = _NETWORK[name]
        test = re.split(r"Latency|Bandwidth", name)[0].removeprefix("Min")
        labels = [("test", test.removeprefix("Avg").removeprefix("Max"))]
        draft.add(metric, value, unit, line, size=size, statistic=statistic, labels=labels)
    elif name == "CommWorldProcs":
        draft.facts["ranks"] = value


def _plan(request: plans.BenchmarkRequest, fabric: plans.FabricEstimate) -> plans.BenchmarkPlan:
    plans.need_ranks(request, 2, "hpcc")
    of_hpl = hpl.ADAPTER.plan(request, fabric)
    ((_, text),) = of_hpl.command.files
    extra = (
        "ignored\n0 number of PTRANS sizes\n0 sizes\n0 number of PTRANS blockings\n0 blockings\n"
    )
    # Rings: 40 orders, some dozen messages each; RandomAccess is bound to 60 s, twice.
    rings = 40 * 2 * 3 * 2 * RING_BANDWIDTH * request.ranks_per_node
    forecast = plans.RunForecast(
        of_hpl.forecast.bytes + rings,
        of_hpl.forecast.seconds + rings / fabric.rate + 120,
        "HPL, rings, and 60 s for each RandomAccess",
    )
    files = (("hpccinf.txt", text + extra),)
    notes = ("hpcc appends to hpccoutf.txt: start in an empty directory",)
    return plans.all_ranks(
        request, ("hpcc",), forecast, files=files, output="hpccoutf.txt", notes=notes
    )


ADAPTER = adapter("hpcc", plan=_plan, parse=_parse)
