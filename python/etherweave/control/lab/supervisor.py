"""The process that runs while a lab is up: it obeys pauses and keeps the kernel's switches.

::

    python -m etherweave.control.lab.supervisor DIRECTORY     in the namespace of the switches

It plans while the rest of the lab is made, starts when it reads a line from standard input, prints
"ready", and ends on SIGTERM. With Open vSwitch it is the agent of every switch that has conditional
rules, and the fabric manager of a plan that resolves addresses by one; with eBPF it keeps the
switches loaded, which obey pauses themselves.
"""

import json
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from etherweave.control.lab.layout import LabPort, interface
from etherweave.control.lab.lifecycle import planned_from
from etherweave.control.lab.state import LabRecord, read
from etherweave.control.ovs import bridges
from etherweave.control.ovs.daemons import Daemons, Datapath
from etherweave.control.rules import FabricPlan, SwitchPlan

RATE = 100_000_000  # Rate of a lab's cables for pause quanta [b/s]: 65,535 quanta last 0.34 s.

_LOOK_S = 0.05  # Between two looks at what is installed [s].

PINS = "pins.json"  # File in a lab's directory with the pinned maps of each switch in the kernel.


def main() -> None:
    """Supervise a lab."""
    directory = Path(sys.argv[1])
    record = read(directory)
    if record is None:
        raise SystemExit(f"{directory}: expected a lab")
    planned = planned_from(directory, record)
    with _termination() as stop, ExitStack() as cleanup:
        if not sys.stdin.readline():
            return
        if record.plane == "ovs" and planned.spec.resolution == "manager":
            _begin_manager(directory, record, planned.plan, cleanup)
        begin = _begin_ebpf if record.plane == "ebpf" else _begin_ovs
        wait = begin(directory, planned.plan.switches, stop, cleanup)
        print("ready", flush=True)
        wait()


WaitForEnd = Callable[[], object]


def _begin_ovs(
    directory: Path, switches: tuple[SwitchPlan, ...], stop: socket.socket, cleanup: ExitStack
) -> WaitForEnd:
    from etherweave.control.pause.agent import serve
    from etherweave.control.pause.frame import RatedInterface

    daemons = Daemons(directory / "ovs", Datapath.NETDEV)

    def agent(index: int, switch: SwitchPlan) -> None:
        ears = {
            port: RatedInterface(interface(LabPort(index, port)), RATE)
            for port in sorted(switch.pause_bits)
        }
        try:
            serve(switch, ears, daemons.management(f"s{index}"), stop)
        except Exception:
            traceback.print_exc()
            # A switch without its agent would ignore pauses: end the lab's supervisor.
            os.kill(os.getpid(), signal.SIGTERM)

    threads = [
        threading.Thread(target=agent, args=job, name=job[1].name)
        for job in enumerate(switches)
        if job[1].pause_bits
    ]
    for thread in threads:
        thread.start()
        cleanup.callback(thread.join)
    return lambda: stop.recv(1, socket.MSG_PEEK)


def _begin_manager(home: Path, record: LabRecord, plan: FabricPlan, cleanup: ExitStack) -> None:
    """Connect all bridges to a controller, and wait until it has installed their rules again.

    Open vSwitch empties the tables of a bridge that gets its first controller.
    """
    from etherweave.control.controller.app import Controller
    from etherweave.control.controller.log import EventLog
    from etherweave.control.controller.server import ControllerOptions

    def planner(failed: Sequence[str]) -> FabricPlan:
        around = replace(record, failed=(*record.failed, *failed))
        return planned_from(home, around).plan

    controller = Controller(planner, plan, ControllerOptions(port=0), EventLog())
    ends = threading.Event()
    thread = threading.Thread(target=controller.run, args=(ends,), name="controller")
    thread.start()
    cleanup.callback(thread.join)
    cleanup.callback(ends.set)
    daemons = Daemons(home / "ovs", Datapath.NETDEV)
    bridges.connect(daemons, bridges.bridge_names(plan), controller.port)
    while not controller.is_settled and not ends.wait(_LOOK_S):
        pass


def _begin_ebpf(
    directory: Path, switches: tuple[SwitchPlan, ...], stop: socket.socket, cleanup: ExitStack
) -> WaitForEnd:
    from etherweave.control.ebpf.attach import attached, kernel_program
    from etherweave.control.pause.frame import RatedInterface

    loaded = cleanup.enter_context(kernel_program())

    def attach(index: int, switch: SwitchPlan) -> Path:
        ports = (port.number for port in switch.ports)
        plugs = {port: RatedInterface(interface(LabPort(index, port)), RATE) for port in ports}
        return cleanup.enter_context(attached(loaded, switch, plugs)).pins

    # Loading waits for the kernel's verifier most of the time.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        pins = pool.map(attach, range(len(switches)), switches)
        places = {switch.name: str(place) for switch, place in zip(switches, pins, strict=True)}
    (directory / PINS).write_text(json.dumps(places), encoding="utf-8")
    return lambda: stop.recv(1, socket.MSG_PEEK)


@contextmanager
def _termination() -> Iterator[socket.socket]:
    """Return a socket that becomes readable on SIGTERM or SIGINT."""
    stop, bell = socket.socketpair()
    with stop, bell:
        bell.setblocking(False)
        signal.set_wakeup_fd(bell.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        yield stop
        signal.set_wakeup_fd(-1)


if __name__ == "__main__":
    main()
