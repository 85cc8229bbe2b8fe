"""Statements of the survey's text on its figures, and its Table 1: the runs, and each check.

A check is made of ratios or figures of runs at several sizes; its figure is the one that is nearest
to a bound of its row, or farthest beyond it.
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import etherweave
from etherweave.measurements.quantities import quantities
from etherweave.study.declared import Metric, Results
from etherweave.study.experiments import RunExperiment

EDR, HDR = "infiniband-edr", "infiniband-hdr"
OMNI_PATH, ROCE25 = "omni-path-100", "ethernet-25-roce"
TCP10, TCP25, IPOIB = "ethernet-10-tcp", "ethernet-25-tcp", "infiniband-hdr-ipoib"
KIB, MIB = 1 << 10, 1 << 20
PAIRS = (1, 2, 4, 8, 16)
VERBS = {
    "host.mpi_roce.send_overhead": "40ns",
    "host.mpi_roce.receive_overhead": "0ns",
    "host.mpi_roce.handling_overhead": "40ns",
    "host.mpi_roce.eager_send_per_kib": "0ns",
    "host.mpi_roce.eager_receive_per_kib": "0ns",
    "host.mpi_roce.eager_max": "16MiB",
    "host.mpi_roce.header": "1B",
    "host.mpi_tcp.send_overhead": "0ns",
    "host.mpi_tcp.receive_overhead": "0ns",
    "host.mpi_tcp.handling_overhead": "0ns",
    "host.mpi_tcp.eager_max": "16MiB",
}
"""Perftest and Netperf in place of MPI: no matching, no copies (see assumptions.csv)."""


PAIR_KINDS = ("latency", "rate", "stream", "put", "get", "write_rate", "read_rate")
"""Kinds of cases between two hosts."""


class Case(NamedTuple):
    """A run: what is measured, on which interconnect, with which messages."""

    kind: str  # One of :data:`PAIR_KINDS`, or the name of a collective operation.
    profile: str
    size: int
    pairs: int = 1
    is_mpi: bool = True

    @property
    def name(self) -> str:
        """Name of the experiment."""
        library = "mpi" if self.is_mpi else "verbs"
        return f"{library}_{self.kind}.{self.profile}.{self.size}.{self.pairs}"

    def experiment(self) -> RunExperiment:
        """Set interconnect and workload."""
        overrides: dict[str, object] = {"interconnect.profile": self.profile}
        if not self.is_mpi and self.kind != "stream":
            overrides |= VERBS
        overrides["job.0.ranks_per_host"] = self.pairs
        overrides["job.0.workload"] = self._workload()
        scenario = "pair" if self.kind in PAIR_KINDS else "eight"
        return RunExperiment(self.name, scenario, overrides)

    def _workload(self) -> dict[str, object]:
        size = {"bytes": f"{self.size}B"}
        few = 4 if self.size >= 64 * KIB else 20
        turns: dict[str, object] = {"iterations": few, "warm_up": 1}
        if not self.is_mpi:  # Perftest sends without a pause, and waits at the end alone.
            turns |= {"window": min(max(16 * MIB // self.size, 64), 4096), "iterations": 1}
        match self.kind:
            case "latency":
                return {"osu_latency": {**size, "pairs": self.pairs, "iterations": 5 * few}}
            case "rate":
                return {"osu_bw": {**size, "pairs": self.pairs, **turns}}
            case "put" | "get" as access:
                return {"osu_one_sided_latency": {**size, "access": access, "iterations": few}}
            case "write_rate" | "read_rate" as kind:
                access = "put" if kind == "write_rate" else "get"
                return {"osu_one_sided_bw": {**size, "access": access, **turns}}
            case "stream":
                messages = max(16 * MIB // self.size, 16)
                incast = {"sources": 1, "streams_per_source": 1, "messages": messages}
                return {"incast": {**incast, "message": f"{self.size}B"}}
        block = size | ({"root": 0} if self.kind == "bcast" else {})
        return {"osu_collective": {"ranks": 8, "operation": {self.kind: block}, "iterations": few}}


Figure = Callable[[Case], float]
"""Time [us] of a latency or an operation, messages a second, or bytes a second of a stream."""


def figure(results: Results, case: Case) -> float:
    """Measure a case as its tool does."""
    median = quantities(results[case.name])[0].median
    if case.kind.endswith("rate"):
        return median / case.size
    return median if case.kind == "stream" else 1e6 * median


def mpi(kind: str, profile: str, size: int, pairs: int = 1) -> Case:
    """Make a case of the OSU benchmarks."""
    return Case(kind, profile, size, pairs)


def verbs(kind: str, profile: str, size: int) -> Case:
    """Make a case of Perftest or Netperf."""
    return Case(kind, profile, size, is_mpi=False)


class Check(NamedTuple):
    """Cases, and figures from what they give, each of which should be within the row's bounds."""

    cases: tuple[Case, ...]
    figures: Callable[[Figure], list[float]]


def ratios(pairs: Iterable[tuple[Case, Case]]) -> Check:
    """Check the ratio of the first over the second of each pair."""
    listed = list(pairs)
    cases = tuple(case for pair in listed for case in pair)
    return Check(cases, lambda figure: [figure(over) / figure(under) for over, under in listed])


def over(kind: str, first: str, second: str, sizes: Iterable[int], *, is_mpi: bool) -> Check:
    """Check one profile over another at several sizes."""
    make = mpi if is_mpi else verbs
    return ratios((make(kind, first, size), make(kind, second, size)) for size in sizes)


def joined(*checks: Check) -> Check:
    """Check all figures of several checks."""
    cases = tuple(case for check in checks for case in check.cases)
    return Check(
        cases, lambda figure: [value for check in checks for value in check.figures(figure)]
    )


def values(cases: Iterable[Case]) -> Check:
    """Check the figures themselves."""
    listed = tuple(cases)
    return Check(listed, lambda figure: [figure(case) for case in listed])


def saturated(cases: Iterable[Case], share: float, figure: Figure) -> int:
    """Find the smallest size whose bandwidth is a share of the largest."""
    bandwidths = {case.size: figure(case) * case.size for case in cases}
    least = share * max(bandwidths.values())
    return min(size for size, bandwidth in bandwidths.items() if bandwidth >= least)


def earlier(first: list[Case], second: list[Case], share: float) -> Check:
    """Check the size at which the first saturates over that of the second."""

    def sizes(figure: Figure) -> list[float]:
        return [saturated(first, share, figure) / saturated(second, share, figure)]

    return Check((*first, *second), sizes)


SIZES = [1 << power for power in range(6, 21, 2)]
FINE = [1 << power for power in range(7, 14)]


def checks() -> dict[str, Check]:
    """Every check that is simulated, by its id."""
    return {**perftest(), **osu(), **shmem(), **table()}


def perftest() -> dict[str, Check]:
    """Figures 2 to 5."""
    small, large = (8, 64), (4 * KIB, 64 * KIB, MIB)
    rdma = (ROCE25, HDR)

    def latency(first: str, second: str, sizes: Iterable[int]) -> Check:
        return over("latency", first, second, sizes, is_mpi=False)

    def rate(first: str, second: str, sizes: Iterable[int]) -> Check:
        return over("rate", first, second, sizes, is_mpi=False)

    def read_over(kind: str) -> Check:
        pairs = (
            (verbs("read_rate", each, 4 * KIB), verbs(kind, each, 4 * KIB)) for each in (HDR, EDR)
        )
        return ratios(pairs)

    above = {
        name: joined(*(latency(profile, other, small) for other in rdma))
        for name, profile in (("tcp10", TCP10), ("tcp25", TCP25), ("ipoib200", IPOIB))
    }
    streams = [(tcp, size) for tcp in (TCP10, TCP25) for size in (4 * KIB, MIB)]
    return {
        "fig2.rdma_hdr_lowest": latency(HDR, ROCE25, small),
        "fig2.roce25_above_hdr": latency(ROCE25, HDR, (*small, 4 * KIB)),
        **{f"fig2.{name}_above_rdma": check for name, check in above.items()},
        "fig2.order_bandwidth": joined(
            latency(TCP10, TCP25, (64, 64 * KIB)), latency(TCP25, IPOIB, (64, 64 * KIB))
        ),
        "fig3.hdr_highest": joined(
            *(rate(HDR, other, large) for other in (ROCE25, TCP10, TCP25, IPOIB))
        ),
        "fig3.hdr_saturates_4k": Check(
            (verbs("rate", HDR, 4 * KIB), verbs("rate", HDR, MIB)),
            lambda figure: [
                figure(verbs("rate", HDR, 4 * KIB)) / 256 / figure(verbs("rate", HDR, MIB))
            ],
        ),
        "fig3.roce_saturates_earlier": earlier(
            [verbs("rate", ROCE25, size) for size in FINE],
            [verbs("rate", HDR, size) for size in FINE],
            0.85,
        ),
        "fig3.roce_saturated_1k": Check(
            (verbs("rate", ROCE25, 2 * KIB), verbs("rate", ROCE25, MIB)),
            lambda figure: [
                figure(verbs("rate", ROCE25, 2 * KIB)) / 512 / figure(verbs("rate", ROCE25, MIB))
            ],
        ),
        "fig3.tcp_saturates": Check(
            tuple(verbs("stream", tcp, size) for tcp, size in streams),
            lambda figure: [
                figure(verbs("stream", tcp, 4 * KIB)) / figure(verbs("stream", tcp, MIB))
                for tcp in (TCP10, TCP25)
            ],
        ),
        "fig3.ipoib_not": Check(
            (verbs("stream", IPOIB, MIB),),
            lambda figure: [figure(verbs("stream", IPOIB, MIB)) / 25e9],
        ),
        "fig4.hdr_2x_edr": rate(HDR, EDR, (8 * KIB, 64 * KIB, MIB)),
        "fig4.read_below_send_4k": read_over("rate"),
        "fig4.read_below_write_4k": read_over("write_rate"),
        "fig5.edr_below_hdr": rate(EDR, HDR, (2, *SIZES)),
        "fig5.ratio": rate(HDR, EDR, (64, 512, 4 * KIB, 64 * KIB)),
    }


def osu() -> dict[str, Check]:
    """Figures 6 and 7."""
    per_pairs = {
        profile: {pairs: [mpi("rate", profile, size, pairs) for size in SIZES] for pairs in (1, 16)}
        for profile in (HDR, EDR)
    }
    two_times = ratios(
        (mpi("rate", HDR, MIB, pairs), mpi("rate", EDR, MIB, pairs)) for pairs in PAIRS
    )
    return {
        "fig6.mpi_above_verbs": ratios(
            (mpi("latency", HDR, size), verbs("latency", HDR, size)) for size in (8, 64)
        ),
        "fig6.hdr_below_edr": ratios(
            (mpi("latency", HDR, size, pairs), mpi("latency", EDR, size, pairs))
            for size in (8, 4 * KIB, 64 * KIB)
            for pairs in (1, 16)
        ),
        "fig6.grows_with_pairs": ratios(
            (mpi("latency", HDR, size, 2 * pairs), mpi("latency", HDR, size, pairs))
            for size in (8, 64 * KIB)
            for pairs in PAIRS[:-1]
        ),
        "fig7.hdr_2x_edr": two_times,
        "fig7.more_saturate_earlier": earlier(per_pairs[HDR][16], per_pairs[HDR][1], 0.9),
        "fig7.small_same": ratios(
            (mpi("rate", HDR, size, pairs), mpi("rate", EDR, size, pairs))
            for size in (1, 8, 64)
            for pairs in (1, 16)
        ),
        "fig7.falls_fast": ratios(
            (mpi("rate", profile, 64, 16), mpi("rate", profile, 64 * KIB, 16))
            for profile in (HDR, EDR)
        ),
        "fig7.large_2x": ratios(
            (mpi("rate", HDR, size, 16), mpi("rate", EDR, size, 16)) for size in (64 * KIB, MIB)
        ),
    }


def shmem() -> dict[str, Check]:
    """Figures 8 and 9: operations of MPI in place of OpenSHMEM's (see assumptions.csv)."""
    large = (16 * KIB, 64 * KIB, 512 * KIB)

    def against(kind: str, sizes: Iterable[int]) -> Check:
        return over(kind, OMNI_PATH, EDR, sizes, is_mpi=True)

    def both(sizes: Iterable[int]) -> Check:
        return joined(against("put", sizes), against("get", sizes))

    def most(figure: Figure) -> list[float]:
        return sorted(against("bcast", sizes).figures(figure))[1:]

    sizes = (8, KIB, 16 * KIB, 256 * KIB)
    return {
        "fig8.comparable": both((8, 64, KIB, 8 * KIB)),
        "fig8.get_1k": against("get", (KIB,)),
        "fig8.put_large": against("put", large),
        "fig8.get_large": against("get", large),
        "fig9.bcast": Check(against("bcast", sizes).cases, most),
        "fig9.alltoall_large": against("alltoall", (4 * KIB, 64 * KIB)),
        "fig9.alltoall_small": against("alltoall", (8, 64)),
    }


def table() -> dict[str, Check]:
    """Latencies of Table 1."""
    rdma = {"edr": EDR, "hdr": HDR, "opa": OMNI_PATH, "bxi": "bxi-2"}
    others = {
        "roce": ("ethernet-100-roce",),
        "slingshot": ("slingshot-11",),
        "aries": ("aries",),
        "tofud": ("tofu-d",),
        "ethernet": (TCP25, "ethernet-100-tcp"),
    }
    return {
        **{
            f"table1.latency.rdma.{name}": values([verbs("latency", profile, 8)])
            for name, profile in rdma.items()
        },
        **{
            f"table1.latency.{name}": values(mpi("latency", profile, 8) for profile in profiles)
            for name, profiles in others.items()
        },
    }


RATES = {
    "tcp25": "ethernet-25-tcp",
    "tcp100": "ethernet-100-tcp",
    "roce100": "ethernet-100-roce",
    "ndr": "infiniband-ndr",
    "opa100": OMNI_PATH,
    "slingshot200": "slingshot-11",
    "aries": "aries",
    "tofud": "tofu-d",
    "bxi": "bxi-2",
}
"""Profiles of the rows of Table 1 that are rates of a link."""


def experiments(full: bool) -> Iterator[RunExperiment]:
    """List every case once; a complete study has no more."""
    del full
    cases = dict.fromkeys(case for check in checks().values() for case in check.cases)
    return (case.experiment() for case in cases)


def metrics() -> dict[str, Metric]:
    """Every check by its id."""
    file = Path(__file__).with_name("expected.csv").read_text().splitlines()
    bounds = {row["id"]: (float(row["low"]), float(row["high"])) for row in csv.DictReader(file)}

    def of(check: Check, low: float, high: float) -> Metric:
        def nearest(results: Results) -> float:
            candidates = check.figures(lambda case: figure(results, case))
            return min(candidates, key=lambda value: min(value - low, high - value))

        return nearest

    return {
        **{name: of(check, *bounds[name]) for name, check in checks().items()},
        **{f"table1.rate.{name}": rate(profile) for name, profile in RATES.items()},
    }


def rate(profile: str) -> Metric:
    """Return the rate of a link between switches, as the profile has it [Gb/s]."""

    def read(results: Results) -> float:
        del results
        scenario = {"interconnect": {"profile": profile}}
        (row,) = [entry for entry in etherweave.figures(scenario) if entry["key"] == "link.rate"]
        return float(str(row["value"]).removesuffix("Gb/s"))

    return read
