"""Fabric of a result, in the words of publications."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from etherweave.api.fabrics import fabric as build
from etherweave.api.results import Result
from etherweave.api.units import size_of
from etherweave.report.bounds import TCP_HEADERS, Medium, roce, tcp


@dataclass(frozen=True)
class Fabric:
    """Fabric as a scenario describes it."""

    transport: str  # ``roce`` or ``tcp``.
    version: str  # Version of RoCE: ``v1``, ``v2``; else empty.
    is_paused: bool  # Whether PFC protects it.
    medium: Medium  # Medium of a host's link.

    @property
    def words(self) -> str:
        """Name it as publications do."""
        name = f"RoCE {self.version}" if self.transport == "roce" else "TCP"
        return f"{name}+PFC" if self.is_paused else name


def fabric(result: Result) -> Fabric:
    """Read the fabric from a result's scenario."""
    scenario = tomllib.loads(result.resolved)
    kind, facts = next(iter(scenario["transport"].items()))
    rate = _rate(scenario)
    if kind == "roce":
        version = str(facts["version"])
        wire = roce(size_of(facts["path_mtu"]), int(version.removeprefix("v")))
        medium = Medium(rate, wire, f"RoCE {version}, path MTU {wire.payload} B")
    else:
        mtu = size_of(facts["mss"]) + TCP_HEADERS
        version, medium = "", Medium(rate, tcp(mtu), f"TCP, MTU {mtu} B")
    return Fabric(kind, version, "pfc" in scenario.get("flow_control", {}), medium)


def _rate(scenario: Mapping[str, Any]) -> float:
    """Find the rate of a host's link, the slowest if they differ [bytes/s]."""
    links = pl.DataFrame(build({"topology": scenario["topology"]}).tables["links"])
    rates = links.filter(pl.col("class") == "host")["rate_gbps"]
    return float(rates.to_numpy().min()) / 8e-9
