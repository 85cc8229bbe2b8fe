"""Profiles of interconnects: their figures, and what they yield in simulation."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from etherweave.api.simulation import Figure, figures, run, schema
from etherweave.api.slowdown import slowdowns
from etherweave.api.units import rate_of

PAIRS, WINDOW, HOSTS = 16, 64, 64
RANKS = 4
"""Of GPCNeT's tests, and of each congestor, on a host."""
CONGESTORS = ("alltoall", "incast", "put_incast", "get_broadcast")
"""Kinds of GPCNeT's congestors."""
MIB = 1 << 20


@dataclass(frozen=True)
class Interconnect:
    """A profile, and what it yields."""

    name: str
    keys: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Dotted keys that differ from the profile, with values."""

    @cached_property
    def sources(self) -> list[Figure]:
        """Every figure of the profile with its source."""
        return figures({"interconnect": {"profile": self.name}})

    @property
    def fitted(self) -> int:
        """How many of the profile's own figures are fitted to measurements of the interconnect."""
        own = [source for source in self.sources if source["profile"] == self.name]
        texts = {one["source"] for one in own if one["basis"] == "fitted"}
        return len({text for text in texts if "SONiC" not in text})

    @cached_property
    def rate_gbps(self) -> float:
        """Rate of a link between switches [Gb/s]."""
        (rate,) = [source["value"] for source in self.sources if source["key"] == "link.rate"]
        return rate_of(str(rate)) * 8e-9

    @cached_property
    def latency_us(self) -> float:
        """Half a round trip of 8 B between two hosts at a switch, as of osu_latency [us]."""
        ping = {"osu_latency": {"bytes": "8B", "warm_up": 5, "iterations": 50}}
        return self._mean_ns(ping, 2) / 2e3

    @cached_property
    def bandwidth_gbps(self) -> float:
        """One pair with messages of 1 MiB, as of osu_bw [Gb/s]."""
        stream = {"osu_bw": {"bytes": "1MiB", "window": WINDOW, "warm_up": 1, "iterations": 2}}
        return 8 * WINDOW * MIB / self._mean_ns(stream, 2)

    @cached_property
    def messages_per_us(self) -> float:
        """16 pairs on two hosts with messages of 8 B, as of osu_mbw_mr [million a second]."""
        many = {"osu_bw": {"bytes": "8B", "pairs": PAIRS, "window": WINDOW, "iterations": 4}}
        return 1e3 * PAIRS * WINDOW / self._mean_ns(many, 2, PAIRS)

    @cached_property
    def all_to_all_us(self) -> float:
        """An all-to-all of 1 KiB for each pair of 64 hosts, on the profile's fabric [us]."""
        all_to_all = {"all_to_all": {"ranks": HOSTS, "bytes": "1KiB", "iterations": 2}}
        return self._mean_ns(all_to_all) / 1e3

    @cached_property
    def congestion_impact(self) -> float:
        """Factor of latency in a random ring beside the four congestors of GPCNeT, a fifth each."""
        tests = {"tests": ["latency"], "rings": 2, "latency_turns": 40}
        jobs = [_on_a_fifth("tests", "gpcnet", tests) | {"start": "500us"}]
        for kind in CONGESTORS:
            job = _on_a_fifth(kind, "gpcnet_congestor", {"kind": kind})
            jobs.append(job | {"background": True})
        scenario = {"interconnect": {"profile": self.name}, "job": jobs}
        alone = run(scenario, {**self.keys, "run.jobs": ["tests"]})
        (found,) = slowdowns(run(scenario, self.keys), {"tests": alone})
        return found.factor

    def _mean_ns(self, workload: object, hosts: int | None = None, ranks: int = 1) -> float:
        job = {"name": "job", "workload": workload, "ranks_per_host": ranks}
        scenario = {"interconnect": {"profile": self.name}, "job": [job]}
        if hosts:
            scenario["topology"] = {"single_switch": {"hosts": hosts}}
        rows = run(scenario, self.keys).to_polars("iterations")
        return float(rows["duration_ns"].to_numpy().mean())

    @property
    def support(self) -> str:
        """Say what it rests on: measurements of this interconnect, or declarations only."""
        return f"{self.fitted} measured" if self.fitted else "declared"


def _on_a_fifth(name: str, kind: str, keys: Mapping[str, object]) -> dict[str, object]:
    """Make a job of GPCNeT at random places of a fifth of the hosts."""
    workload = {kind: {"ranks": RANKS * (HOSTS // 5), "groups": RANKS, **keys}}
    return {
        "name": name,
        "workload": workload,
        "placement": {"random": {}},
        "ranks_per_host": RANKS,
    }


def names() -> list[str]:
    """List the profiles that come with Etherweave, as the schema has them."""
    definitions: Mapping[str, dict[str, dict[str, dict[str, list[str]]]]]
    definitions = json.loads(schema())["$defs"]
    return definitions["InterconnectSpec"]["properties"]["profile"]["enum"]


def differing(chosen: Sequence[Interconnect]) -> list[tuple[str, list[str]]]:
    """List keys whose figures differ between profiles with the figures, empty where it has none."""
    by_key = [
        {source["key"]: json.dumps(source["value"]) for source in each.sources} for each in chosen
    ]
    keys = sorted(set().union(*by_key))
    rows = [(key, [figures.get(key, "") for figures in by_key]) for key in keys]
    return [(key, values) for key, values in rows if len(set(values)) > 1]
