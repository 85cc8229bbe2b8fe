"""Table I: the testbed, and what stands for it in the simulation."""

from collections.abc import Callable
from tomllib import loads
from typing import Any, TypeAlias

from etherweave.report.figures.sandia import PUBLICATION
from etherweave.report.published import published
from etherweave.report.section import MissingError, Section, Table
from etherweave.report.source import Study

CAPTION = "The testbed as published, and what stands for it in the resolved scenarios of Halo3D."

Look: TypeAlias = Callable[[str], str]
"""Finds the text at a dotted key."""

ROWS: dict[str, tuple[str, Callable[[Look, Look], str]]] = {
    "cpu": (
        "CPU",
        lambda tcp, roce: (
            f"costs of calls, bytes, frames and interrupts: a received KiB takes "
            f"{tcp('host.cpu.receive_per_kib')}, an interrupt {tcp('host.cpu.interrupt')}"
        ),
    ),
    "kernel": ("OS", lambda tcp, roce: f"timer slack of {tcp('host.timer_slack')}"),
    "nic": (
        "NIC",
        lambda tcp, roce: (
            f"receive buffer of {tcp('nic.receive_buffer')}, which pauses the switch at "
            f"{tcp('nic.xoff')}; {tcp('nic.transmit_latency')} to send, "
            f"{tcp('nic.receive_latency')} to receive"
        ),
    ),
    "nic_driver": ("NIC driver and firmware", lambda tcp, roce: "not modelled"),
    "switch": (
        "switches",
        lambda tcp, roce: (
            f"{_words(tcp('switch.forwarding'))}, {tcp('switch.latency')}, shared buffer of "
            f"{tcp('switch.buffer')}"
        ),
    ),
    "mtu": (
        "MTU [B]",
        lambda tcp, roce: (
            f"TCP segments of {tcp('transport.tcp.mss')}, RDMA path MTU of "
            f"{roce('transport.roce.path_mtu')}"
        ),
    ),
    "txqueuelen": ("txqueuelen", lambda tcp, roce: "not modelled"),
    "tcp_rmem": (
        "tcp_rmem [B]",
        lambda tcp, roce: (
            f"{tcp('transport.tcp.receive_buffer_initial')} at first, at most "
            f"{tcp('transport.tcp.receive_buffer')}"
        ),
    ),
    "tcp_wmem": ("tcp_wmem [B]", lambda tcp, roce: f"{tcp('transport.tcp.send_buffer')}"),
    "tcp_congestion_control": (
        "TCP congestion control",
        lambda tcp, roce: tcp("transport.tcp.congestion_control"),
    ),
}
"""By published case: a name, and words about the simulation."""


def section(study: Study) -> Section:
    """List the set-up of the testbed beside that of the simulation."""
    looks = (_look(study, "halo3d.tcp"), _look(study, "halo3d.roce_v2"))
    values = published(PUBLICATION, "I")
    rows = [[name, values[case].words, words(*looks)] for case, (name, words) in ROWS.items()]
    table = Table(("", "testbed", "simulation"), rows)
    return Section("table_1", "Table I: set-up", CAPTION, None, [table])


def _look(study: Study, experiment: str) -> Look:
    resolved = loads(study.result(experiment).resolved)

    def find(key: str) -> str:
        found: Any = resolved
        for part in key.split("."):
            if part not in found:
                raise MissingError(f"{key} in the scenario of {experiment}")
            found = found[part]
        return str(found)

    return find


def _words(name: str) -> str:
    return name.replace("_", "-")
