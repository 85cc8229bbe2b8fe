"""The figures of a controller, for Prometheus."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from etherweave.control.controller.discovery import LinkDiscovery
from etherweave.control.controller.metrics import Figure, label
from etherweave.control.controller.session import SwitchSession
from etherweave.control.controller.switch import COUNTS, ManagedSwitch

_COUNTED = {
    "rules_installed": "Rules that a switch was told.",
    "rules_removed": "Entries that were removed because the plan does not know them.",
    "audits": "Readings of a switch's tables.",
    "drifts": "Audits that found a difference.",
    "refusals": "Changes that a switch has refused.",
}
_FACTS = {
    "connections": "Connections, of switches or not.",
    "master": "Whether this controller decides.",
    "role_generation": "Generation of the latest claim.",
    "cables_failed": "Cables that the plan goes round.",
    "replans_total": "Plans made for failures.",
}


class MetricsSource(Protocol):
    """What a controller shows of itself."""

    switches: dict[str, ManagedSwitch]
    discovery: LinkDiscovery

    @property
    def facts(self) -> Mapping[str, int]:
        """What is counted beside switches."""

    def connected_switches(self) -> Mapping[str, SwitchSession]:
        """Give the switches that are connected now."""


def figures(source: MetricsSource) -> Iterator[Figure]:
    """Give all figures as they are now."""
    labels = {name: label("switch", name) for name in source.switches}
    connected = {text: name in source.connected_switches() for name, text in labels.items()}
    yield _gauge("switch_connected", "Whether a switch is connected.", connected)
    told = {labels[one.name]: one.entries for one in source.switches.values()}
    yield _gauge("rules", "Rules that a switch reported or was told.", told)
    for count in COUNTS:
        values = {labels[one.name]: one.counts[count] for one in source.switches.values()}
        yield Figure(f"etherweave_{count}_total", "counter", _COUNTED[count], values)
    for name, value in source.facts.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        yield Figure(f"etherweave_{name}", kind, _FACTS[name], {"": value})
    wiring = {label("fault", fault): count for fault, count in source.discovery.findings.items()}
    yield _gauge("wiring_findings", "Ports that are not wired as planned.", wiring)


def _gauge(name: str, said: str, values: Mapping[str, float]) -> Figure:
    return Figure(f"etherweave_{name}", "gauge", said, values)
