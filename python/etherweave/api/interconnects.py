"""Profiles of interconnects: their figures, and what they yield in simulation."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from tomllib import loads as loads_toml
from typing import NamedTuple

from etherweave.api.simulation import Figure, figures, resolve, run, schema
from etherweave.api.slowdown import slowdowns
from etherweave.api.units import rate_of

PAIRS, WINDOW, HOSTS = 16, 64, 64
RANKS = 4  # Ranks of each of GPCNeT's congestors on a host; its tests have one there.
START_US = 500  # Start of GPCNeT's tests, when congestors run.
TURNS = 512  # Messages of a rank to the root of an incast between two synchronisations.
PASSES = 2
"""Passes of such an incast, at the rate of its link, for which tests run: pauses come and go with
them, some for a pass."""
CONGESTORS = ("alltoall", "incast", "put_incast", "get_broadcast")  # Kinds of GPCNeT's congestors.
ALONE_US = 2_000  # Time for which they run without congestors, and at least
ALONE_LATENCIES = 100  # so many latencies, which are 40 turns and more.
BLOCK = 4_096  # Message of a congestor [B].
PRODUCT = "product."  # Beginning of keys of a profile that no scenario has.
MIB = 1 << 20
SCHEMES = {
    "dcqcn": "DCQCN",
    "dctcp": "DCTCP",
    "hpcc": "HPCC",
    "injection_delay": "injection delay",
    "nscc": "NSCC",
    "swift": "Swift",
    "timely": "TIMELY",
}
"""Congestion control of senders, by the table of a transport that switches it on."""


class Benchmark(NamedTuple):
    """A benchmark whose mean iteration is a figure of an interconnect."""

    workload: Mapping[str, Mapping[str, object]]
    amount: float  # Figure times the mean of an iteration [ns], or that mean over the figure.
    is_rate: bool = False
    hosts: int | None = 2  # Hosts at one switch; None for the profile's fabric.
    ranks_per_host: int = 1

    def scenario(self, profile: str) -> dict[str, object]:
        """Make the scenario of the benchmark on an interconnect, with one job."""
        own = {"name": "job", "workload": self.workload, "ranks_per_host": self.ranks_per_host}
        scenario = {"interconnect": {"profile": profile}, "job": [own]}
        hosts = {"topology": {"single_switch": {"hosts": self.hosts}}} if self.hosts else {}
        return {**scenario, **hosts}

    def figure(self, mean_ns: float) -> float:
        """Return the figure of a mean of an iteration [ns]."""
        return self.amount / mean_ns if self.is_rate else mean_ns / self.amount

    def mean_ns(self, figure: float) -> float:
        """Return the mean of an iteration of a figure [ns]."""
        return self.amount / figure if self.is_rate else figure * self.amount


BENCHMARKS = {
    "latency_us": Benchmark({"osu_latency": {"bytes": "8B", "warm_up": 20, "iterations": 50}}, 2e3),
    "bandwidth_gbps": Benchmark(
        {"osu_bw": {"bytes": "1MiB", "window": WINDOW, "warm_up": 1, "iterations": 2}},
        8 * WINDOW * MIB,
        is_rate=True,
    ),
    "messages_per_us": Benchmark(
        {"osu_bw": {"bytes": "8B", "pairs": PAIRS, "window": WINDOW, "iterations": 4}},
        1e3 * PAIRS * WINDOW,
        is_rate=True,
        ranks_per_host=PAIRS,
    ),
    "all_to_all_us": Benchmark(
        {"all_to_all": {"ranks": HOSTS, "bytes": "1KiB", "iterations": 2}}, 1e3, hosts=None
    ),
}
"""Benchmarks by the figure of :class:`Interconnect` that they give."""


@dataclass(frozen=True)
class Interconnect:
    """A profile, and what it yields."""

    name: str
    keys: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Dotted keys that differ from the profile, with values."""
    gpcnet: bool = True
    """Whether GPCNeT, which takes seconds of a processor, belongs to what it yields."""

    @cached_property
    def sources(self) -> list[Figure]:
        """Every figure of the profile with its source."""
        return figures({"interconnect": {"profile": self.name}})

    @property
    def fitted(self) -> int:
        """How many of the profile's own figures are fitted to measurements of the interconnect."""
        own = [source for source in self.sources if source["profile"] == self.name]
        texts = {row["source"] for row in own if row["basis"] == "fitted"}
        return len({text for text in texts if "SONiC" not in text})

    @cached_property
    def rate_gbps(self) -> float:
        """Rate of a link between switches [Gb/s]."""
        (rate,) = [source["value"] for source in self.sources if source["key"] == "link.rate"]
        return rate_of(str(rate)) * 8e-9

    @cached_property
    def latency_us(self) -> float:
        """Half a round trip of 8 B between two hosts at a switch, as of osu_latency [us]."""
        return self._simulated("latency_us")

    @cached_property
    def bandwidth_gbps(self) -> float:
        """One pair with messages of 1 MiB, as of osu_bw [Gb/s]."""
        return self._simulated("bandwidth_gbps")

    @cached_property
    def messages_per_us(self) -> float:
        """16 pairs on two hosts with messages of 8 B, as of osu_mbw_mr [million a second]."""
        return self._simulated("messages_per_us")

    @cached_property
    def all_to_all_us(self) -> float:
        """An all-to-all of 1 KiB for each pair of 64 hosts, on the profile's fabric [us]."""
        return self._simulated("all_to_all_us")

    @cached_property
    def congestion_impact(self) -> float:
        """Factor of latency in a random ring beside the four congestors of GPCNeT, a fifth each."""
        tests = {"tests": ["latency"], "rings": 300, "latency_turns": 40}
        jobs = [_on_a_fifth("tests", "gpcnet", tests, 1) | {"start": f"{START_US}us"}]
        for kind in CONGESTORS:
            job = _on_a_fifth(kind, "gpcnet_congestor", {"kind": kind, "bytes": f"{BLOCK}B"}, RANKS)
            jobs.append(job | {"background": True})
        scenario = {"interconnect": {"profile": self.name}, "job": jobs}
        alone_us = round(max(ALONE_US, ALONE_LATENCIES * self.latency_us))
        alone, together = ({"run.end": f"{START_US + us}us"} for us in (alone_us, self._passes_us))
        by_itself = run(scenario, {**self.keys, **alone, "run.jobs": ["tests"]})
        (slowdown,) = slowdowns(run(scenario, {**self.keys, **together}), {"tests": by_itself})
        return slowdown.factor

    @property
    def yielded_impact(self) -> float | None:
        """The factor of GPCNeT where GPCNeT belongs to what the profile yields."""
        return self.congestion_impact if self.gpcnet else None

    @property
    def _passes_us(self) -> int:
        """Time of passes of an incast at the rate of a host [us]."""
        rates = [
            rate_of(str(source["value"]))
            for source in self.sources
            if source["key"] in ("link.rate", "link.host_rate")
        ]
        received = PASSES * RANKS * TURNS * (HOSTS // 5 - 1) * BLOCK
        return round(1e6 * received / min(rates))

    @cached_property
    def product(self) -> dict[str, object]:
        """Facts for a buyer: manufacturer, whether proprietary, congestion control, RDMA, year."""
        keys = (source for source in self.sources if source["key"].startswith(PRODUCT))
        return {row["key"].removeprefix(PRODUCT): row["value"] for row in keys}

    @cached_property
    def simulated_control(self) -> str:
        """Congestion control of senders that simulations of the profile have, or ``none``."""
        scenario = loads_toml(resolve({"interconnect": {"profile": self.name}}, self.keys))
        (transport,) = scenario["transport"].values()
        if "congestion_control" in transport:
            return str(transport["congestion_control"]).upper()
        return next((SCHEMES[key] for key in SCHEMES if key in transport), "none")

    def _simulated(self, figure: str) -> float:
        benchmark = BENCHMARKS[figure]
        rows = run(benchmark.scenario(self.name), self.keys).to_polars("iterations")
        return benchmark.figure(float(rows["duration_ns"].to_numpy().mean()))


def _on_a_fifth(name: str, kind: str, keys: Mapping[str, object], ranks: int) -> dict[str, object]:
    """Make a job of GPCNeT at random places of a fifth of the hosts."""
    job = {kind: {"ranks": ranks * (HOSTS // 5), "groups": ranks, **keys}}
    return {"name": name, "workload": job, "placement": {"random": {}}, "ranks_per_host": ranks}


def names() -> list[str]:
    """List the profiles that come with Etherweave, as the schema has them."""
    definitions: Mapping[str, dict[str, dict[str, dict[str, list[str]]]]]
    definitions = json.loads(schema())["$defs"]
    return definitions["InterconnectSpec"]["properties"]["profile"]["enum"]


def differing(chosen: Sequence[Interconnect]) -> list[tuple[str, list[str]]]:
    """List keys whose figures differ between profiles with the figures, empty where it has none."""
    by_key = [{row["key"]: json.dumps(row["value"]) for row in each.sources} for each in chosen]
    keys = sorted(set().union(*by_key))
    rows = [(key, [figures.get(key, "") for figures in by_key]) for key in keys]
    return [(key, values) for key, values in rows if len(set(values)) > 1]
