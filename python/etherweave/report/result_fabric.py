"""Fabric of a result, in the words of publications."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from etherweave import _core
from etherweave.api.fabrics import fabric as build
from etherweave.api.results import Result
from etherweave.report.bounds import TCP_HEADERS, Medium, Wire


@dataclass(frozen=True)
class Fabric:
    """Fabric as a scenario describes it."""

    transport: str  # ``roce``, ``tcp`` or ``uet``.
    version: str  # Version of RoCE: ``v1``, ``v2``; else empty.
    is_paused: bool  # Whether PFC protects it.
    medium: Medium  # Medium of a host's link.

    @property
    def words(self) -> str:
        """Name it as publications do."""
        name = f"{_NAMES[self.transport]} {self.version}".strip()
        return f"{name}+PFC" if self.is_paused else name


_NAMES = {"roce": "RoCE", "tcp": "TCP", "uet": "Ultra Ethernet"}


def fabric(result: Result) -> Fabric:
    """Read the fabric from a result's scenario."""
    scenario = result.scenario
    kind, facts = next(iter(scenario["transport"].items()))
    wire = Wire(*_core.full_frame(result.resolved))
    version = str(facts.get("version", ""))
    name = f"{_NAMES[kind]} {version}".strip()
    units = {"roce": f"path MTU {wire.payload}", "tcp": f"MTU {wire.payload + TCP_HEADERS}"}
    note = f"{name}, {units.get(kind, f'payload {wire.payload}')} B"
    medium = Medium(_rate(scenario), wire, note)
    return Fabric(kind, version, "pfc" in scenario.get("flow_control", {}), medium)


def _rate(scenario: Mapping[str, Any]) -> float:
    """Find the rate of a host's link, the slowest if they differ [bytes/s]."""
    links = pl.DataFrame(build({"topology": scenario["topology"]}).tables["links"])
    rates = links.filter(pl.col("class") == "host")["rate_gbps"]
    return float(rates.to_numpy().min()) / 8e-9
