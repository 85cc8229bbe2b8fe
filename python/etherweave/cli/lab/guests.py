"""The verb ``lab guests``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import FAILED, print_error, reject
from etherweave.cli.lab.parameters import (
    PlaneOption,
    reported_errors,
    root_only,
    step_printer,
)
from etherweave.cli.parameters import AsJson, File, Settings, overrides
from etherweave.control.lab import lifecycle, state
from etherweave.control.lab.guests import image
from etherweave.control.lab.guests.roce import RoceResult, measure_roce
from etherweave.control.lab.layout import LayoutError
from etherweave.control.reaction import DataPlane

NAME = "guests"

EXAMPLES = """Examples:
apt-get download linux-image-6.1.0-56-amd64 && dpkg -x linux-image-*.deb kernel
etherweave lab guests scenarios/lab/dragonfly_8.toml --kernel kernel host0 host7"""


def guests_verb(
    file: File,
    hosts: Annotated[
        list[str], typer.Argument(metavar="HOST HOST", help="Two hosts that become guests.")
    ],
    kernel: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Unpacked package of a kernel: boot/, lib/modules/."),
    ],
    plane: PlaneOption = DataPlane.OVS,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Measure RoCEv2 between two hosts as virtual machines, then remove the lab.

    Each guest requests its address by DMP, adds Soft-RoCE, and runs perftest with the other.
    Without KVM processors are emulated, so that the figures show function, not speed. Exit code 1:
    a failure; 2: a mistake.
    """
    root_only()
    if why := image.missing():
        reject(f"lab guests: {why}")
    if len(set(hosts)) != 2:
        reject(f"guests {', '.join(hosts)}: expected two different hosts")
    scope, progress = state.machine_scope(), step_printer()
    with reported_errors():
        try:
            guest_kernel = image.find_kernel(kernel)
        except image.ImageError as error:
            raise LayoutError(str(error)) from None
        lab = lifecycle.up(
            scope, NAME, file, overrides(settings), plane=plane, guests=hosts, progress=progress
        )
        try:
            result = measure_roce(lab, guest_kernel, progress)
        finally:
            progress("removing everything")
            lifecycle.down(scope, NAME)
    print(json.dumps(result.as_json(), indent=2)) if as_json else _print(result)
    if result.dmp_elsewhere or not all(guest.is_planned for guest in result.guests):
        print_error("addresses are not as planned")
        raise typer.Exit(FAILED)


def _print(result: RoceResult) -> None:
    print("Addresses by DMP")
    for guest in result.guests:
        has = f"{guest.mac} instead of {guest.factory}"
        print(f"  {guest.host}: {has}, after {guest.seconds:.0f} s")
    print(f"  {result.dmp_elsewhere} frames of DMP at other ports")
    latency, bandwidth = result.latency, result.bandwidth
    print("RoCEv2, on the processors of guests")
    print(f"  ib_send_lat: {latency.iterations} of {latency.octets} B, {latency.typical_us:.0f} us")
    print(f"  ib_write_bw: {bandwidth.iterations} of {bandwidth.octets} B, ", end="")
    print(f"{bandwidth.mean_gbps:.3f} Gb/s")
    print("Frames sent by the ports on the planned paths")
    for port, frames in result.paths.items():
        print(f"  {port:<18} {frames:>8,}")
    print(f"  {'all other links':<18} {result.off_path_frames:>8,}")
