"""Metrics of a controller for Prometheus, by HTTP on the loopback interface."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from etherweave.control.controller.switch import COUNTS

if TYPE_CHECKING:
    from etherweave.control.controller.app import Controller

_COUNTED = {
    "rules_installed": "Rules installed in a switch.",
    "rules_removed": "Entries removed because they are not in the plan.",
    "audits": "Readings of a switch's tables.",
    "drifts": "Audits that found a difference.",
    "refusals": "Changes that a switch rejected.",
}
_FACTS = {
    "connections": "Connections, of switches or not.",
    "master": "Whether this controller is the master.",
    "role_generation": "Generation of the latest claim.",
    "cables_failed": "Cables that the plan avoids.",
    "replans": "Plans made for failures.",
    "arp_replies": "ARP requests that the fabric manager has answered.",
}


class Exporter:
    """Serves metrics on ``http://127.0.0.1:PORT/metrics``.

    ``port`` 0 is any that is free; ``controller`` is read whenever metrics are requested.
    """

    def __init__(self, port: int, controller: "Controller") -> None:
        self._controller = controller
        registry = CollectorRegistry()
        registry.register(self)
        self._server, self._thread = start_http_server(port, "127.0.0.1", registry)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.server_port

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics as they are now."""
        switches = list(self._controller.switches.values())
        connected = self._controller.connected_switches()
        yield _gauge(
            "switch_connected",
            "Whether a switch is connected.",
            "switch",
            ((switch.name, switch.name in connected) for switch in switches),
        )
        entries = ((switch.name, switch.entries) for switch in switches)
        yield _gauge("rules", "Rules that a switch holds.", "switch", entries)
        for count in COUNTS:
            counter = CounterMetricFamily(f"etherweave_{count}", _COUNTED[count], labels=["switch"])
            for switch in switches:
                counter.add_metric([switch.name], switch.counts[count])
            yield counter
        for name, value in self._controller.facts.items():
            kind: Any = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            base = name.removesuffix("_total")
            yield kind(f"etherweave_{base}", _FACTS[base], value=value)
        faults = self._controller.discovery.findings.items()
        yield _gauge("wiring_findings", "Ports that are not wired as planned.", "fault", faults)


def _gauge(
    name: str, about: str, label: str, values: Iterable[tuple[str, float]]
) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(f"etherweave_{name}", about, labels=[label])
    for key, value in values:
        gauge.add_metric([key], value)
    return gauge
