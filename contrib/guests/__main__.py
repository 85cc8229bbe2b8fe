"""Commands ``roce`` and ``announce``: labs whose hosts are virtual machines."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from etherweave.cli.exits import FAILED, mistakes, print_error, reject
from etherweave.cli.lab.announce import FOUR_HOSTS, print_trials
from etherweave.cli.lab.parameters import FAILURES, MISTAKES, PlaneOption, root_only, step_printer
from etherweave.cli.parameters import AsJson, File, Settings, overrides
from etherweave.control.lab import lifecycle, state
from etherweave.control.lab.announcement_trials import announce_in_labs
from etherweave.control.lab.layout import LayoutError
from etherweave.control.reaction import DataPlane
from guests import image
from guests.announce import recorder
from guests.roce import RoceResult, measure_roce

KernelOption = Annotated[
    Path, typer.Option(metavar="DIR", help="Unpacked package of a kernel: boot/, lib/modules/.")
]

app = typer.Typer(add_completion=False)


@contextmanager
def _kernel(directory: Path) -> Iterator[image.GuestKernel]:
    """Check privileges and programs, find the kernel, and report the errors of the block."""
    root_only()
    if why := image.missing():
        reject(f"guests: {why}")
    with mistakes(*MISTAKES, failures=(*FAILURES, image.ImageError)):
        try:
            kernel = image.find_kernel(directory)
        except image.ImageError as error:
            raise LayoutError(str(error)) from None
        yield kernel


@app.command()
def roce(
    file: File,
    hosts: Annotated[
        list[str], typer.Argument(metavar="HOST HOST", help="Two hosts that become guests.")
    ],
    kernel: KernelOption,
    plane: PlaneOption = DataPlane.OVS,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Measure RoCEv2 between two hosts as virtual machines, then remove the lab.

    Each guest requests its address by DMP, adds Soft-RoCE, and runs perftest with the other.
    Without KVM processors are emulated, so that the figures show function, not speed. Exit code 1:
    a failure; 2: a mistake.
    """
    if len(set(hosts)) != 2:
        reject(f"guests {', '.join(hosts)}: expected two different hosts")
    scope, progress = state.machine_scope(), step_printer()
    with _kernel(kernel) as guest_kernel:
        lab = lifecycle.up(
            scope, "guests", file, overrides(settings), plane=plane, guests=hosts, progress=progress
        )
        try:
            result = measure_roce(lab, guest_kernel, progress)
        finally:
            progress("removing everything")
            lifecycle.down(scope, "guests")
    print(json.dumps(result.as_json(), indent=2)) if as_json else _print(result)
    if result.dmp_elsewhere or not all(guest.is_planned for guest in result.guests):
        print_error("addresses are not as planned")
        raise typer.Exit(FAILED)


@app.command()
def announce(
    kernel: KernelOption,
    file: Annotated[
        Path | None, typer.Argument(metavar="SCENARIO", help="Scenario; default: four hosts.")
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Carry out `etherweave lab announce` with all hosts as virtual machines."""
    with _kernel(kernel) as guest_kernel:
        trials = announce_in_labs(
            file or FOUR_HOSTS,
            overrides(settings),
            record_guests=recorder(guest_kernel),
            progress=step_printer(),
        )
    print_trials(trials, as_json)


def _print(result: RoceResult) -> None:
    print("Addresses by DMP")
    for guest in result.guests:
        has = f"{guest.mac} instead of {guest.factory}"
        print(f"  {guest.host}: {has}, after {guest.seconds:.0f} s")
    print(f"  {result.dmp_elsewhere} frames of DMP at other ports")
    for measured in result.measured:
        latency, bandwidth = measured.latency, measured.bandwidth
        print(f"RoCEv2 from {' to '.join(measured.ports)}, on the processors of guests")
        print(f"  ib_send_lat: {latency.iterations} of {latency.octets} B", end="")
        print(f", {latency.typical_us:.0f} us")
        print(f"  ib_write_bw: {bandwidth.iterations} of {bandwidth.octets} B", end="")
        print(f", {bandwidth.mean_gbps:.3f} Gb/s")
    print("Frames sent by the ports on the planned paths")
    for port, frames in result.paths.items():
        print(f"  {port:<18} {frames:>8,}")
    print(f"  {'all other links':<18} {result.off_path_frames:>8,}")


if __name__ == "__main__":
    app()
