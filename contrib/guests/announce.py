"""Announcements of guests: all hosts of a lab as virtual machines."""

from typing import Any

from etherweave.control.lab.announcement_trials import (
    GuestRecorder,
    ipv4_addresses,
    plane_of,
    services,
)
from etherweave.control.lab.announcements import AnnouncedService, RecordedFrom, Recording
from etherweave.control.lab.boot import StepProgress
from etherweave.control.lab.lifecycle import Lab
from etherweave.control.rules import HostPlan
from guests import machines, reports
from guests.image import GuestKernel, build


def recorder(kernel: GuestKernel) -> GuestRecorder:
    """Make the function that boots the guests of a lab, and returns what they recorded."""

    def record(lab: Lab, progress: StepProgress) -> list[Recording]:
        layout = lab.layout
        image = build(lab.directory, kernel)
        common = {"hosts": ipv4_addresses(layout), "services": services(layout.planned)}

        def announcing(host: HostPlan) -> dict[str, Any]:
            return {"number": layout.plan.hosts.index(host), "plane": plane_of(layout, host)}

        def order(ports: list[HostPlan]) -> dict[str, Any]:
            announces = {**common, "ports": [announcing(host) for host in ports]}
            return machines.boot_order(layout, ports) | {"announces": announces}

        guests = machines.ports_of_guests(lab).items()
        orders = {name: reports.option(order(ports)) for name, ports in guests}
        with machines.running(lab, kernel, image, orders) as started:
            received = machines.await_reports(started, progress)
        steps = (report for each in received for report in each if report["step"] == "announced")
        return [
            Recording(AnnouncedService(row[0]), RecordedFrom(row[1]), *row[2:])
            for report in steps
            for row in report["recordings"]
        ]

    return record
